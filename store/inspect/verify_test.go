// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rocketmq-go/store"
)

func verify(t *testing.T, dir string) *Report {
	t.Helper()
	before := sums(t, dir, func(string) bool { return true })
	r, err := Verify(Place{Dir: dir}, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, dir, before)
	return r
}

// unchanged compares a directory with what it was.
func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	if after := sums(t, dir, func(string) bool { return true }); !maps.Equal(before, after) {
		t.Errorf("the directory was changed")
	}
}

func text(r *Report) string {
	var b bytes.Buffer
	r.Print(&b)
	return b.String()
}

// damage is what Verify must say of corrupt/KIND.json: how many damages, and some of them, as they are printed; and what
// of Repair makes it well.
type damage struct {
	count  int
	say    []string
	repair RepairOptions
}

var damages = map[string]damage{
	"bad-crc": {3, []string{
		"commitlog/00000000000004194304+637336: log 4831640..4831792 (152 bytes) cannot be read: CRC of the body",
		"consumequeue/S11MANY/0/00000000000000000000+21140: unit 1057: ",
		"+30260: unit 1411: log 4831640",
	}, RepairOptions{FillDamage: true, RebuildQueues: true, RebuildIndex: true}},
	"bad-magic-old": {2, []string{
		"commitlog/00000000000001048576+532216: log 1580792..1631489 (50697 bytes) cannot be read: magic code deadbeef",
		"consumequeue/S11ROLL/2/00000000000000000000+140: unit 7: ",
	}, RepairOptions{FillDamage: true, RebuildQueues: true, RebuildIndex: true}},
	"bad-magic-old-nocp": {2, []string{
		"checkpoint: is missing", "commitlog/00000000000001048576+532216: log 1580792..1631489 ",
	}, RepairOptions{FillDamage: true, RebuildQueues: true, RebuildIndex: true}},
	"cl-last-lost": {4, []string{
		"consumequeue/S11MANY/0/00000000000000000000+0: units 0 to 2149 lead behind the end of the log (4193589)",
		"consumequeue/S11ROLLB/0/00000000000000000000+1200: units 60 to 95 ", "+8400: units 318 to 1999: ",
	}, RepairOptions{TruncateTail: true, RebuildIndex: true}},
	"cl-lost": {32, []string{
		"commitlog: is gone", "consumequeue/S11A/0/00000000000000000000+0: units 0 to 16 ", "+2060: units 1 to 1999: ",
	}, RepairOptions{RebuildQueues: true, RebuildIndex: true, Sizes: Sizes{CommitLogFile: 1 << 20}}},
	"cq-behind":       {1, []string{"S11MANY-0: units 1421 to 2149 missing: 729 messages in the log at 4880760..4979155"}, RepairOptions{RebuildQueues: true}},
	"cq-behind-abort": {1, []string{"abort: ", "S11MANY-0: units 1421 to 2149 missing"}, RepairOptions{RebuildQueues: true}},
	"cq-lost":         {29, []string{"%LMQ%a-0: units 0 to 8 missing: 9 messages", "S11A-0: units 0 to 16 missing: 17 messages in the log at 0..27657"}, RepairOptions{RebuildQueues: true, Sizes: Sizes{ConsumeQueueFile: 40000}}},
	"cq-lost-abort":   {29, []string{"abort: ", "SCHEDULE_TOPIC_XXXX-17: units 0 to 1 missing"}, RepairOptions{RebuildQueues: true, Sizes: Sizes{ConsumeQueueFile: 40000}}},
	"empty-last":      {1, []string{"commitlog/00000000000005242880: is empty"}, RepairOptions{TruncateTail: true}},
	"nocp-abort":      {0, []string{"abort: ", "checkpoint: is missing"}, RepairOptions{}},
	"torn-tail": {3, []string{
		"commitlog/00000000000004194304+784699: log 4979003: ",
		"consumequeue/S11MANY/0/00000000000000040000+2980: units 2149 to 2149 lead behind the end of the log (4979003)",
		"+12120: unit 504: ",
	}, RepairOptions{TruncateTail: true, RebuildIndex: true}},
	"wrong-size": {1, []string{"commitlog/00000000000004194304: has 1044480 bytes, the file size is 1048576"}, RepairOptions{TruncateTail: true}},
}

// corrupted are all damaged directories.
func corrupted(t *testing.T, visit func(t *testing.T, kind, dir string)) {
	base := feedSet(t, lean, leanSets[0])
	files, err := filepath.Glob(filepath.Join(lean, "corrupt", "*.json"))
	if err != nil || len(files) != len(damages) {
		t.Fatal(len(files), "cases", err)
	}
	for _, file := range files {
		var c corruption
		loadJSON(t, file, &c)
		t.Run(c.Kind, func(t *testing.T) {
			t.Parallel()
			dir := copyDir(t, base)
			c.apply(t, dir)
			visit(t, c.Kind, dir)
		})
	}
}

func TestVerifyFindsEachDamage(t *testing.T) {
	corrupted(t, func(t *testing.T, kind, dir string) {
		r, want := verify(t, dir), damages[kind]
		got := text(r)
		n := 0
		for _, f := range r.Findings {
			if f.Damage {
				n++
			}
		}
		if n != want.count || r.Damaged() != (n > 0) {
			t.Errorf("%d damages, expected %d\n%s", n, want.count, got)
		}
		for _, s := range want.say {
			if !strings.Contains(got, s) {
				t.Errorf("missing: %s\n%s", s, got)
			}
		}
	})
}

func TestVerifySoundDirectories(t *testing.T) {
	for _, set := range leanSets {
		r := verify(t, feedSet(t, lean, set))
		if len(r.Findings) > 0 || r.Records == 0 || r.Units < r.Records/2 || r.IndexEntries == 0 {
			t.Errorf("%s\n%s", set.name, text(r))
		}
	}
}

func repair(t *testing.T, dir string, o RepairOptions) string {
	t.Helper()
	var said bytes.Buffer
	if err := Repair(Place{Dir: dir}, o, &said); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	return said.String()
}

func TestRepairMakesThemWell(t *testing.T) {
	corrupted(t, func(t *testing.T, kind, dir string) {
		before := sums(t, dir, func(string) bool { return true })
		said := repair(t, dir, damages[kind].repair)
		if r := verify(t, dir); r.Damaged() {
			t.Fatalf("%s\nafter\n%s", text(r), said)
		}
		checkBackup(t, dir, before)
		want, got := judge(t, copyDir(t, dir)), verify(t, dir)
		if !want.Load || want.MaxPhyOffset != got.End || want.ReadableRecords != got.Records {
			t.Errorf("the store reads %+v, Verify %+v", want, got)
		}
	})
}

// checkBackup wants each file that was replaced to be in the backup, whole, or in the part that was.
func checkBackup(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	saved := map[string]bool{}
	backups, err := filepath.Glob(filepath.Join(dir, "bak-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range backups {
		for path, sum := range sums(t, b, func(string) bool { return true }) {
			name, _, part := strings.Cut(path, "+")
			saved[name] = true
			if !part && sum != before[path] {
				t.Errorf("backup of %s differs", path)
			}
		}
	}
	after := sums(t, dir, func(string) bool { return true })
	for path, sum := range before {
		if path != "lock" && after[path] != sum && !saved[path] && !strings.HasSuffix(path, "4194304") {
			t.Errorf("%s was changed and is not in the backup", path)
		}
	}
}

// A sound store's queues and index come out as they were, byte for byte.
func TestRebuildsWhatWasThere(t *testing.T) {
	for _, set := range leanSets {
		dir := feedSet(t, lean, set)
		data := func(path string) bool { return strings.HasPrefix(path, "consumequeue/") }
		before := sums(t, dir, data)
		oldIndex := contents(t, dir, "index")
		repair(t, dir, RepairOptions{TruncateTail: true, FillDamage: true, RebuildQueues: true, RebuildIndex: true})
		if after := sums(t, dir, data); !maps.Equal(before, after) {
			t.Errorf("%s: consume queues differ", set.name)
		}
		if now := contents(t, dir, "index"); !slices.EqualFunc(oldIndex, now, bytes.Equal) {
			t.Errorf("%s: index differs", set.name)
		}
	}
}

// contents are the files of a directory in the order of their names.
func contents(t *testing.T, dir, name string) (out [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, name, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// Damage in the index itself: units, slots and header are checked.
func TestVerifyIndex(t *testing.T) {
	base := feedSet(t, lean, leanSets[0])
	name := filepath.Base(firstFile(t, filepath.Join(base, "index")))
	for pos, want := range map[int64]string{
		36:                    "index/" + name + "+36: header counts",
		24:                    "index/" + name + "+24: header ends at log",
		40 + 4*7:              "index/" + name + "+68: 1 slots do not lead to their newest unit",
		40 + 2000 + 20*9:      "index/" + name + "+2220: unit 9: log ",
		40 + 2000 + 20*9 + 5:  "index/" + name + "+2220: unit 9: log ",
		40 + 2000 + 20*9 + 17: "index/" + name + "+2220: 1 units have the wrong previous unit",
	} {
		t.Run(strconv.FormatInt(pos, 10), func(t *testing.T) {
			dir := copyDir(t, base)
			f, err := os.OpenFile(filepath.Join(dir, "index", name), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte{0x11}, pos); err != nil {
				t.Fatal(err)
			}
			r := verify(t, dir)
			if got := text(r); !r.Damaged() || !strings.Contains(got, want) {
				t.Errorf("missing: %s\n%s", want, got)
			}
			repair(t, dir, RepairOptions{RebuildIndex: true})
			if r := verify(t, dir); r.Damaged() {
				t.Error(text(r))
			}
		})
	}
}

func firstFile(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	return filepath.Join(dir, entries[0].Name())
}

func BenchmarkVerify(b *testing.B) {
	f, err := os.Open(filepath.Join(lean, "feed-533", "inputs.jsonl.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	o, err := ParseOptions(nil)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	res, err := Feed(f, dir, o, func(int, store.PutStatus) {})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(res.MaxPhyOffset)
	for b.Loop() {
		if _, err := Verify(Place{Dir: dir}, VerifyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
