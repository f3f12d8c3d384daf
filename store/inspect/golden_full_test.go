// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package inspect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// These tests need the full golden sets, and some of them Java: see the package rocketmq-go/store/inspect for what the
// tools print. ROCKETMQ_GOLDEN is the directory golden; the Java tools are found beside it.

func goldenRoot(t *testing.T) string {
	t.Helper()
	root := os.Getenv("ROCKETMQ_GOLDEN")
	if root == "" {
		t.Fatal("ROCKETMQ_GOLDEN is not set")
	}
	return filepath.Join(root, "store")
}

var fullSets = []goldenSet{
	{name: "497-main", feed: []string{"compatVersion=4.9.7"}, dump: []string{"compatVersion=4.9.7", "allkeys=true"}},
	{name: "533-main", dump: []string{"allkeys=true"}, batch: []string{"GBcq"}},
	{name: "497-kill", feed: []string{"compatVersion=4.9.7"}, dump: []string{"compatVersion=4.9.7", "allkeys=true", "mode=start", "enableLmq=false"}},
	{name: "533-kill", dump: []string{"allkeys=true", "mode=start", "enableLmq=false"}},
	{name: "533-cqext", dump: []string{"allkeys=true"}},
	{name: "feed-497", feed: []string{"compatVersion=4.9.7", "flushDiskType=SYNC_FLUSH"}},
	{name: "feed-533", feed: []string{"flushDiskType=SYNC_FLUSH"}},
}

// unpack extracts a set's store.tar.gz.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
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
			return filepath.Join(dir, "store")
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGoldenFeedWritesJavasBytes(t *testing.T) {
	root := goldenRoot(t)
	for _, set := range fullSets {
		t.Run(set.name, func(t *testing.T) {
			var m manifest
			loadJSON(t, filepath.Join(root, set.name, "manifest.json"), &m)
			dir := feedSet(t, root, set)
			var skip []string
			switch {
			case strings.HasSuffix(set.name, "-kill"): // a crash leaves a prepared file
				skip = append(skip, "commitlog/00000000000003145728")
			case set.name == "533-cqext": // made with other options: ext queues and record CRCs
				skip = append(skip, "consumequeue/", "commitlog/", "index/")
			}
			checkFiles(t, dir, &m, skip...)
		})
	}
}

func TestGoldenFeedWithRecordCRC(t *testing.T) {
	root := goldenRoot(t)
	var m manifest
	loadJSON(t, filepath.Join(root, "feed-533-crc", "manifest.json"), &m)
	dir := feedSet(t, root, goldenSet{name: "feed-533", feed: []string{"enabledAppendPropCRC=true"}})
	checkFiles(t, dir, &m)
	if _, ok := dumpLines(t, dir, "forceVerifyPropCRC=true"); !ok {
		t.Error("not opened with forceVerifyPropCRC")
	}
}

func TestGoldenDumpPrintsJavasLines(t *testing.T) {
	root := goldenRoot(t)
	for _, set := range fullSets {
		if set.dump == nil {
			continue
		}
		t.Run(set.name, func(t *testing.T) {
			got, ok := dumpLines(t, unpack(t, filepath.Join(root, set.name, "store.tar.gz")), set.dump...)
			if !ok {
				t.Fatal("directory refused")
			}
			want := gzLines(t, filepath.Join(root, set.name, "java-dump.jsonl.gz"))
			if strings.HasSuffix(set.name, "-kill") {
				// Java's time is that of the last message it dispatched in the recovery; ours waits until that is on disk
				logics := regexp.MustCompile(`"checkpointLogics":\d+`)
				want[0], got[0] = logics.ReplaceAllString(want[0], ""), logics.ReplaceAllString(got[0], "")
			}
			compareLines(t, want, got)
		})
	}
}

func TestGoldenManifests(t *testing.T) {
	root := goldenRoot(t)
	for _, set := range []string{"feed-497", "feed-533", "feed-533-crc", "497-main", "533-main", "533-cqext"} {
		t.Run(set, func(t *testing.T) {
			var m manifest
			loadJSON(t, filepath.Join(root, set, "manifest.json"), &m)
			var args []string
			if strings.Contains(set, "497") {
				args = append(args, "compatVersion=4.9.7")
			}
			got := judge(t, unpack(t, filepath.Join(root, set, "store.tar.gz")), args...)
			if got.MaxPhyOffset != m.Walk.MaxPhyOffset {
				t.Errorf("log ends at %d, expected %d", got.MaxPhyOffset, m.Walk.MaxPhyOffset)
			}
			for q, w := range m.Walk.Queues {
				if g := got.Queues[q]; g != [2]int64{w.Min, w.Max} {
					t.Errorf("queue %s: %v, expected %v", q, g, w)
				}
			}
		})
	}
}

func TestGoldenCorruptDirectories(t *testing.T) {
	root := goldenRoot(t)
	files, err := filepath.Glob(filepath.Join(root, "corrupt", "*.json"))
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), "cases", err)
	}
	for _, file := range files {
		var c corruption
		loadJSON(t, file, &c)
		for version, want := range c.Java {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+version, func(t *testing.T) {
				dir := unpack(t, filepath.Join(root, c.Base, "store.tar.gz"))
				undamaged := judge(t, copyDir(t, dir), "compatVersion="+version)
				c.apply(t, dir)
				got := judge(t, dir, "compatVersion="+version)
				duplicates := indexedTwice[c.Kind]
				switch {
				case c.Kind == "cq-behind": // 5.3.3 loses a unit there
					want.Queues, want.IndexHits = undamaged.Queues, undamaged.IndexHits+duplicates
				case c.Kind == "empty-last" && !want.Load: // 4.9.7 refuses what 5.3.3 repairs
					want = undamaged
				case c.Kind == "bad-magic-old" && version == "4.9.7":
					duplicates++ // its decoder does not look at the magic code: the damaged message is found by its key
				case c.Kind == "cq-lost-abort": // Java makes only those units again that a crash alone can have taken
					want.Queues, want.IndexHits = undamaged.Queues, undamaged.IndexHits+duplicates
					want.IndexSamples = undamaged.IndexSamples
				}
				compareJudgements(t, want, got, duplicates)
			})
		}
	}
}

// javaTool runs one of the Java tools; its standard output.
func javaTool(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("ROCKETMQ_GOLDEN"), "../peer/store-tools/run.sh"), args...)
	var errw bytes.Buffer
	cmd.Stderr = &errw
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run.sh %s: %v\n%s", strings.Join(args, " "), err, errw.String())
	}
	return out
}

// javaLines are the lines of Java's StoreDump.
func javaLines(t *testing.T, release, dir string, args ...string) []string {
	t.Helper()
	var out []string
	for _, l := range lines(t, bytes.NewReader(javaTool(t, append([]string{release, "StoreDump", dir}, args...)...))) {
		if strings.HasPrefix(l, `{"t"`) {
			out = append(out, l)
		}
	}
	return out
}

func TestGoldenJavaReadsOurDirectories(t *testing.T) {
	root := goldenRoot(t)
	for _, c := range []struct{ set, release, compat string }{
		{"feed-533", "v5", "5.3.3"},
		{"497-main", "v5", "5.3.3"},
		{"feed-497", "v4", "4.9.7"},
		{"497-main", "v4", "4.9.7"},
	} {
		t.Run(c.set+"-"+c.release, func(t *testing.T) {
			set := goldenSet{name: c.set, feed: []string{"compatVersion=" + c.compat}}
			dir := feedSet(t, root, set)
			want := javaLines(t, c.release, copyDir(t, dir), "allkeys=true")
			got, ok := dumpLines(t, copyDir(t, dir), "allkeys=true", "compatVersion="+c.compat)
			if !ok {
				t.Fatal("directory refused")
			}
			compareLines(t, want, got)
		})
	}
}
