// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rocketmq-go/store"
)

// lean is the part of the golden store directories that is kept here: written by Java's store code.
const lean = "../testdata/golden"

// goldenSet says how a set was made, so that it can be made again and read.
type goldenSet struct {
	name string
	feed []string // options for Feed
	dump []string // options for Dump

	batch []string // topics with batch queues
}

// nameBatchTopics writes the attributes of topics where Feed and Dump look for them, as Java's tools.
func nameBatchTopics(t *testing.T, dir string, topics ...string) {
	t.Helper()
	if len(topics) == 0 {
		return
	}
	var entries []string
	for _, name := range topics {
		entries = append(entries, fmt.Sprintf(`%q:{"attributes":{"queue.type":"BatchCQ"},"topicName":%q}`, name, name))
	}
	put(t, dir, "config/topics.json", `{"topicConfigTable":{`+strings.Join(entries, ",")+`}}`)
}

var leanSets = []goldenSet{
	{name: "feed-533"},
	{name: "497-main", feed: []string{"compatVersion=4.9.7"}, dump: []string{"compatVersion=4.9.7", "allkeys=true"}},
	{name: "feed-533-batch", dump: []string{"allkeys=true"}, batch: []string{"B"}},
}

// manifest is what is used of a set's manifest.json.
type manifest struct {
	Walk struct {
		MaxPhyOffset int64
		Queues       map[string]struct{ Min, Max int64 }
	}
	Files []struct {
		Path   string
		SHA256 string `json:"sha256"`
	}
}

func loadJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T, args []string) Options {
	t.Helper()
	o, err := ParseOptions(args)
	if err != nil {
		t.Fatal(err)
	}
	o.Store.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	return o
}

// feedSet feeds a set's inputs into a new directory.
func feedSet(t *testing.T, root string, set goldenSet) string {
	t.Helper()
	f, err := os.Open(filepath.Join(root, set.name, "inputs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := filepath.Join(t.TempDir(), "store")
	nameBatchTopics(t, dir, set.batch...)
	res, err := Feed(f, dir, options(t, set.feed), func(i int, status store.PutStatus) {
		t.Errorf("record %d refused: status %d", i, status)
	})
	if err != nil || res.Fed == 0 {
		t.Fatalf("fed %d records: %v", res.Fed, err)
	}
	return dir
}

// sums are the hashes of the files below dir whose path passes.
func sums(t *testing.T, dir string, pass func(path string) bool) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if !pass(rel) {
			return nil
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		out[rel] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkFiles compares commit log, consume queues and index with the files of the manifest, except for those under skip.
func checkFiles(t *testing.T, dir string, m *manifest, skip ...string) {
	t.Helper()
	pass := func(path string) bool {
		for _, s := range skip {
			if strings.HasPrefix(path, s) {
				return false
			}
		}
		root, _, _ := strings.Cut(path, "/")
		return slices.Contains([]string{"commitlog", "consumequeue", "batchconsumequeue", "index"}, root)
	}
	got := sums(t, dir, pass)
	var index []string // their names are creation times: compare in order
	for _, f := range m.Files {
		if !pass(f.Path) {
			continue
		}
		if strings.HasPrefix(f.Path, "index/") {
			index = append(index, f.SHA256)
			continue
		}
		if got[f.Path] != f.SHA256 {
			t.Errorf("%s differs from Java's", f.Path)
		}
		delete(got, f.Path)
	}
	var names []string
	for path := range got {
		if strings.HasPrefix(path, "index/") {
			names = append(names, path)
		} else {
			t.Errorf("%s: Java has no such file", path)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		if i >= len(index) || got[name] != index[i] {
			t.Errorf("%s differs from Java's index file %d", name, i)
		}
	}
	if len(names) != len(index) {
		t.Errorf("%d index files, Java has %d", len(names), len(index))
	}
}

func TestFeedWritesJavasBytes(t *testing.T) {
	for _, set := range leanSets {
		t.Run(set.name, func(t *testing.T) {
			var m manifest
			loadJSON(t, filepath.Join(lean, set.name, "manifest.json"), &m)
			dir := feedSet(t, lean, set)
			checkFiles(t, dir, &m)
			if set.name == "feed-533" { // an asynchronous flush may leave other times
				checkpoint := sums(t, dir, func(path string) bool { return path == "checkpoint" })["checkpoint"]
				if !slices.ContainsFunc(m.Files, func(f struct {
					Path   string
					SHA256 string `json:"sha256"`
				},
				) bool {
					return f.Path == "checkpoint" && f.SHA256 == checkpoint
				}) {
					t.Error("checkpoint differs from Java's")
				}
			}
		})
	}
}

// gzLines reads a .jsonl.gz.
func gzLines(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return lines(t, z)
}

func lines(t *testing.T, r io.Reader) []string {
	t.Helper()
	var out []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		out = append(out, s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// dumpLines dumps a directory. A refused one is reported in ok.
func dumpLines(t *testing.T, dir string, args ...string) (out []string, ok bool) {
	t.Helper()
	var b bytes.Buffer
	err := Dump(dir, options(t, args), &b)
	return lines(t, &b), err == nil
}

// compareLines reports the first differences.
func compareLines(t *testing.T, want, got []string) {
	t.Helper()
	for i, shown := 0, 0; i < max(len(want), len(got)) && shown < 5; i++ {
		w, g := "", ""
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			shown++
			t.Errorf("line %d\nJava %.600s\nGo   %.600s", i, w, g)
		}
	}
}

func TestDumpPrintsJavasLines(t *testing.T) {
	for _, set := range leanSets[1:] {
		t.Run(set.name, func(t *testing.T) {
			got, ok := dumpLines(t, feedSet(t, lean, set), set.dump...)
			if !ok {
				t.Fatal("directory refused")
			}
			want := gzLines(t, filepath.Join(lean, set.name, "java-dump.jsonl.gz"))
			// the broker that wrote the golden directory had another checkpoint
			want[0], got[0] = cutCheckpoint(want[0]), cutCheckpoint(got[0])
			compareLines(t, want, got)
		})
	}
}

func cutCheckpoint(s string) string { s, _, _ = strings.Cut(s, `,"checkpoint`); return s }

// corruption is one corrupt/*.json: a patch to a base set, and what Java makes of the result.
type corruption struct {
	Kind, Base string
	Patch      []struct {
		Op, Path, Hex        string
		Offset, Length, Size int64
	}
	Java map[string]*judgement
}

// judgement is what a release makes of a directory.
type judgement struct {
	Load            bool
	MinPhyOffset    int64
	MaxPhyOffset    int64
	Queues          map[string][2]int64
	ReadableRecords int64
	WalkEnds        string
	IndexHits       int
	IndexSamples    map[string][]int64
}

func (c *corruption) apply(t *testing.T, dir string) {
	t.Helper()
	for _, p := range c.Patch {
		path := filepath.Join(dir, p.Path)
		data, err := hex.DecodeString(p.Hex)
		if err == nil {
			switch p.Op {
			case "write", "zero":
				if p.Op == "zero" {
					data = make([]byte, p.Length)
				}
				var f *os.File
				if f, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
					_, err = f.WriteAt(data, p.Offset)
					f.Close()
				}
			case "truncate":
				err = os.Truncate(path, p.Size)
			case "remove":
				err = os.RemoveAll(path)
			case "create":
				err = os.WriteFile(path, data, 0o644)
			case "mkdir":
				err = os.MkdirAll(path, 0o755)
			default:
				err = fmt.Errorf("operation %s", p.Op)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// judge is what we make of a directory.
func judge(t *testing.T, dir string, args ...string) *judgement {
	t.Helper()
	out, ok := dumpLines(t, dir, append(args, "allkeys=true", "what=queues,phy,index")...)
	return judgeLines(t, out, ok)
}

// judgeLines reads a judgement from the lines of a dump.
func judgeLines(t *testing.T, out []string, ok bool) *judgement {
	t.Helper()
	j := &judgement{Load: ok, Queues: map[string][2]int64{}, IndexSamples: map[string][]int64{}}
	for _, l := range out {
		var o struct {
			T                          string
			MinPhyOffset, MaxPhyOffset int64
			Topic, Stop, Key           string
			QueueID                    int32
			Min, Max, Records          int64
			Offsets                    []int64
		}
		if err := json.Unmarshal([]byte(l), &o); err != nil {
			t.Fatal(err)
		}
		switch o.T {
		case "store":
			j.MinPhyOffset, j.MaxPhyOffset = o.MinPhyOffset, o.MaxPhyOffset
		case "queue":
			j.Queues[fmt.Sprintf("%s-%d", o.Topic, o.QueueID)] = [2]int64{o.Min, o.Max}
		case "phy":
			j.ReadableRecords, j.WalkEnds = o.Records, o.Stop
		case "index":
			j.IndexHits += len(o.Offsets)
			j.IndexSamples[o.Key] = o.Offsets
		}
	}
	return j
}

// compareJudgements allows for what is decided otherwise: queues that lost everything need not be listed, and a message
// is not indexed twice (duplicates is how many hits Java has more for that).
func compareJudgements(t *testing.T, want, got *judgement, duplicates int) {
	t.Helper()
	if want.Load != got.Load {
		t.Fatalf("load %v, Java %v", got.Load, want.Load)
	}
	if !want.Load {
		return
	}
	if got.MinPhyOffset != want.MinPhyOffset || got.MaxPhyOffset != want.MaxPhyOffset ||
		got.ReadableRecords != want.ReadableRecords || got.WalkEnds != want.WalkEnds {
		t.Errorf("log %d..%d, %d records, %s; Java %d..%d, %d records, %s", got.MinPhyOffset, got.MaxPhyOffset,
			got.ReadableRecords, got.WalkEnds, want.MinPhyOffset, want.MaxPhyOffset, want.ReadableRecords, want.WalkEnds)
	}
	for q, w := range want.Queues {
		if g := got.Queues[q]; g != w {
			t.Errorf("queue %s: %v, Java %v", q, g, w)
		}
	}
	for q, g := range got.Queues {
		if _, ok := want.Queues[q]; !ok && g != [2]int64{} {
			t.Errorf("queue %s: %v, Java has none", q, g)
		}
	}
	if got.IndexHits != want.IndexHits-duplicates {
		t.Errorf("%d index hits, Java %d", got.IndexHits, want.IndexHits)
	}
	for key, w := range want.IndexSamples {
		if g := got.IndexSamples[key]; !slices.Equal(slices.Compact(slices.Clone(w)), g) {
			t.Errorf("index %s: %v, Java %v", key, g, w)
		}
	}
}

// indexedTwice are the kinds after which Java's index has one message twice; see store-format, "Index recovery": the
// record at the index's end is dispatched and indexed again.
var indexedTwice = map[string]int{
	"torn-tail": 1, "cq-behind": 1, "cq-behind-abort": 1, "cq-lost": 1, "cq-lost-abort": 1, "bad-magic-old": 1,
}

func TestCorruptDirectories(t *testing.T) {
	base := feedSet(t, lean, leanSets[0])
	undamaged := judge(t, copyDir(t, base))
	files, err := filepath.Glob(filepath.Join(lean, "corrupt", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		var c corruption
		loadJSON(t, file, &c)
		t.Run(c.Kind, func(t *testing.T) {
			dir := copyDir(t, base)
			c.apply(t, dir)
			want := c.Java["5.3.3"]
			switch c.Kind {
			case "cq-behind": // 5.3.3 loses a unit: do as 4.9.7
				want.Queues, want.IndexHits = undamaged.Queues, undamaged.IndexHits+indexedTwice[c.Kind]
			case "cq-lost-abort": // Java makes only those units again that a crash alone can have taken
				want.Queues, want.IndexHits = undamaged.Queues, undamaged.IndexHits+indexedTwice[c.Kind]
				want.IndexSamples = undamaged.IndexSamples
			}
			compareJudgements(t, want, judge(t, dir), indexedTwice[c.Kind])
		})
	}
}

func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}
