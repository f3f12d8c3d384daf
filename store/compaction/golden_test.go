// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// testdata/java533.tar.gz is the topic Compact of Apache's broker 5.3.3 (files of 20 units): its records in the commit
// log, the directory compaction when they were all appended (raw), when they were compacted, with more appended (raw2), and
// compacted again; and what it answered to pulls in between.
func javaFiles(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/java533.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func options(t *testing.T, dir string, queueID int32) Options {
	t.Helper()
	queue := QueueFileSize(920)
	return Options{
		Dir: dir, Topic: "Compact", QueueID: queueID, QueueFileSize: queue, LogFileSize: LogFileSize(8192, queue),
		KeyMemory: 1 << 20, Log: testLog(t),
	}
}

func open(t *testing.T, o Options) *Log {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// records are those of a queue in the commit log.
func records(t *testing.T, dir string, queueID int32) (list [][]byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "records"))
	if err != nil {
		t.Fatal(err)
	}
	for len(data) > 0 {
		r, err := message.ParseRecord(data)
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Topic) == "Compact" && r.QueueID == queueID {
			list = append(list, slices.Clone(data[:r.Size]))
		}
		data = data[r.Size:]
	}
	return list
}

// same compares two directories.
func same(t *testing.T, want, got string) {
	t.Helper()
	read := func(root string) map[string][]byte {
		files := map[string][]byte{}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(root, path)
				files[rel], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	a, b := read(want), read(got)
	for name, data := range a {
		if !bytes.Equal(data, b[name]) {
			t.Errorf("%s differs (%d and %d bytes)", name, len(data), len(b[name]))
		}
	}
	for name := range b {
		if a[name] == nil {
			t.Errorf("%s is not Java's", name)
		}
	}
}

// The files are Java's, byte for byte, at each step.
func TestFilesAreJavas(t *testing.T) {
	java, ours := javaFiles(t), t.TempDir()
	l := open(t, options(t, ours, 0))
	compare := func(step string) {
		t.Helper()
		for _, part := range []string{"compactionLog", "compactionCq"} {
			same(t, filepath.Join(java, step, part, "Compact", "0"), filepath.Join(ours, part, "Compact", "0"))
		}
	}
	all := records(t, java, 0)
	add := func(list [][]byte) {
		t.Helper()
		for _, r := range list {
			if err := l.Append(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(all[:70])
	compare("raw")
	position, err := l.Compact(t.Context(), -1)
	if err != nil || position != 56 {
		t.Fatal(position, err)
	}
	compare("compacted1")
	add(all[70:])
	compare("raw2")
	if position, err = l.Compact(t.Context(), position); err != nil || position != 113 {
		t.Fatal(position, err)
	}
	compare("compacted2")
	if again, err := l.Compact(t.Context(), position); err != nil || again != position {
		t.Error("there was nothing to do, but", again, err)
	}
	compare("compacted2")
}

// Directories of Java are read, and pulls find in them what they found there. (Pulls with a filter are not among them: Java
// answers them unfiltered.)
func TestReadsJavas(t *testing.T) {
	java := javaFiles(t)
	var pulls []struct {
		Name, Dir              string
		QueueID                int32
		Offset, Next, Min, End int64
		Max                    int
		Offsets                []int64
	}
	data, err := os.ReadFile(filepath.Join(java, "pulls.json"))
	if err == nil {
		err = json.Unmarshal(data, &pulls)
	}
	if err != nil || len(pulls) != 19 {
		t.Fatal(len(pulls), err)
	}
	for _, p := range pulls {
		l := open(t, options(t, filepath.Join(java, p.Dir), p.QueueID))
		body, res, err := l.Get(nil, store.GetRequest{Offset: p.Offset, MaxCount: p.Max})
		if err != nil {
			t.Fatal(err)
		}
		if got := offsets(t, body); !slices.Equal(got, p.Offsets) || res.NextBeginOffset != p.Next || res.MinOffset != p.Min || res.MaxOffset != p.End {
			t.Errorf("%s: %v %+v\nJava: %+v", p.Name, got, res, p)
		}
	}
}

func offsets(t *testing.T, body []byte) (list []int64) {
	t.Helper()
	for len(body) > 0 {
		r, err := message.ParseRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r.QueueOffset)
		body = body[r.Size:]
	}
	return list
}
