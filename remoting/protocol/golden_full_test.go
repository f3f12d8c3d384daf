// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package protocol

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/frames.txt.gz anew")

// TestGoldenFull checks all recorded frames. ROCKETMQ_GOLDEN is the folder of the recordings.
func TestGoldenFull(t *testing.T) {
	root := os.Getenv("ROCKETMQ_GOLDEN")
	var files []string
	for _, p := range []string{"wire/*.jsonl", "wire/admin/*.jsonl", "ha/*remoting.jsonl", "ha/*rpc.jsonl", "ha/*remoting.jsonl"} {
		m, _ := filepath.Glob(filepath.Join(root, p))
		files = append(files, m...)
	}
	if len(files) == 0 {
		t.Fatalf("no recordings in ROCKETMQ_GOLDEN=%q", root)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	lean := newExtract()
	var count goldenCount
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<26)
		for sc.Scan() {
			var r struct {
				goldenFrame
				Seq  int
				Kind string
				Len  int
			}
			if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
				t.Fatal(name, err)
			}
			if r.Kind == "" || len(r.Frame) != r.Len+4 || !slices.Contains([]string{"wire", "admin", "ha"}, filepath.Base(filepath.Dir(name))) {
				continue
			}
			r.Where = fmt.Sprintf("%s:%d", strings.TrimSuffix(filepath.Base(name), ".jsonl"), r.Seq)
			checkGolden(t, r.goldenFrame, &count)
			lean.add(r.goldenFrame)
		}
		if err := sc.Err(); err != nil {
			t.Fatal(name, err)
		}
		f.Close()
	}
	t.Logf("%d files: %+v", len(files), count)
	if *rewrite {
		lean.write(t, "testdata/frames.txt.gz")
	}
}

// extract keeps two frames of each shape: sender, code and set of fields.
type extract struct {
	seen  map[string]int
	lines []string
}

func newExtract() *extract { return &extract{seen: map[string]int{}} }

func (x *extract) add(g goldenFrame) {
	if len(g.Frame) > 4096 {
		return
	}
	var c Command
	frame := slices.Clone(g.Frame)
	if c.Decode(frame) != nil {
		return
	}
	shape := fmt.Sprint(c.Version, c.Language, c.Serialize, c.Flag, c.Code, g.ReqCode, g.Link, g.Dir, c.Remark.Set)
	for _, f := range c.Fields.List {
		shape += " " + f.Key
	}
	if x.seen[shape]++; x.seen[shape] > 2 {
		return
	}
	b64, _ := json.Marshal(g.Frame)
	x.lines = append(x.lines, fmt.Sprintf("%s %s %s %d %s\n", g.Where, g.Link, g.Dir, g.ReqCode, strings.Trim(string(b64), `"`)))
}

func (x *extract) write(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression)
	for _, l := range x.lines {
		fmt.Fprint(z, l)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d frames written", len(x.lines))
}
