// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/store/consumequeue"
)

// batchSet has two batch queues of topic B: B-0 with 4271 messages in 1253 units and two files, B-1 with 336.
var batchSet = leanSets[2]

const batchFile = "batchconsumequeue/B/0/00000000000000000000"

// change overwrites a part of a file.
func change(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		t.Fatal(err)
	}
}

// What Java 5.3.3's StoreDump told of the same damaged directories.
func TestDamagedBatchQueuesAsJava(t *testing.T) {
	base := feedSet(t, lean, batchSet)
	whole := [4]int64{4271, 336, 141, 10}
	for _, c := range []struct {
		name    string
		damage  func(dir string)
		end     int64
		records int64
		max     [4]int64 // of B-0, B-1, S-0, S-1
	}{
		{"torn tail", func(dir string) {
			put(t, dir, "abort", "")
			change(t, filepath.Join(dir, "commitlog/00000000000000000000"), 648181-150, make([]byte, 150))
		}, 647983, 1499, [4]int64{4270, 336, 141, 10}},
		{"queues ahead", func(dir string) {
			put(t, dir, "abort", "")
			change(t, filepath.Join(dir, "commitlog/00000000000000000000"), 400000, make([]byte, 648181-400000))
		}, 399200, 912, [4]int64{2588, 186, 93, 8}},
		{"queue behind", func(dir string) {
			put(t, dir, "abort", "")
			change(t, filepath.Join(dir, "batchconsumequeue/B/0/00000000000000046000"), 46*150, make([]byte, 46000-46*150))
		}, 648181, 1500, whole},
		{"queues lost", func(dir string) {
			os.RemoveAll(filepath.Join(dir, "batchconsumequeue"))
			os.RemoveAll(filepath.Join(dir, "consumequeue"))
		}, 648181, 1500, whole},
		{"batch queues lost, after a crash", func(dir string) {
			put(t, dir, "abort", "")
			os.RemoveAll(filepath.Join(dir, "batchconsumequeue"))
		}, 648181, 1500, whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			c.damage(dir)
			j := judge(t, dir)
			if !j.Load || j.MaxPhyOffset != c.end || j.ReadableRecords != c.records {
				t.Errorf("%v, log ends at %d, %d records", j.Load, j.MaxPhyOffset, j.ReadableRecords)
			}
			for i, q := range []string{"B-0", "B-1", "S-0", "S-1"} {
				if j.Queues[q] != [2]int64{0, c.max[i]} {
					t.Errorf("%s: %v, Java's ends at %d", q, j.Queues[q], c.max[i])
				}
			}
		})
	}
}

func TestVerifyBatchQueues(t *testing.T) {
	base := feedSet(t, lean, batchSet)
	if r := verify(t, base); r.Damaged() || r.Units != 1500 || r.Records != 1500 {
		t.Fatal(text(r))
	}
	for _, c := range []struct {
		name   string
		damage func(dir string)
		say    string
	}{
		{"count", func(dir string) { change(t, filepath.Join(dir, batchFile), 46*7+36, []byte{0, 99}) }, "stands for 99 messages, its record at"},
		{"queue offset", func(dir string) { change(t, filepath.Join(dir, batchFile), 46*7+34, []byte{0, 0}) }, "unit 0 is that of the message with queue offset"},
		{"tags", func(dir string) { change(t, filepath.Join(dir, batchFile), 46*7+12, []byte{1}) }, "wrong tagsCode"},
		{"size", func(dir string) { change(t, filepath.Join(dir, batchFile), 46*7+8, []byte{1}) }, "has size"},
		{"unit lost", func(dir string) {
			change(t, filepath.Join(dir, "batchconsumequeue/B/0/00000000000000046000"), 46*252, make([]byte, 46))
		}, "B-0: unit 4270 missing: 1 messages in the log"},
		{"queues lost", func(dir string) { os.RemoveAll(filepath.Join(dir, "batchconsumequeue")) }, "B-0: units 0 to 4270 missing: 1253 messages in the log"},
		{"log lost its end", func(dir string) {
			change(t, filepath.Join(dir, "commitlog/00000000000000000000"), 400000, make([]byte, 648181-400000))
		}, "lead behind the end of the log (399200)"},
		{"queues of both kinds", func(dir string) {
			put(t, dir, "consumequeue/B/0/00000000000000000000", strings.Repeat("\x00", 40000))
		}, "consumequeue/B/0: the topic has queues of the other kind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			c.damage(dir)
			if r := verify(t, dir); !r.Damaged() || !strings.Contains(text(r), c.say) {
				t.Errorf("%s\nwithout: %s", text(r), c.say)
			}
		})
	}
}

// Batch queues made anew are the old ones, byte for byte.
func TestRepairBatchQueues(t *testing.T) {
	base := feedSet(t, lean, batchSet)
	queues := func(path string) bool {
		return strings.HasPrefix(path, "batchconsumequeue") || strings.HasPrefix(path, "consumequeue")
	}
	want := sums(t, base, queues)
	for name, damage := range map[string]func(dir string){
		"lost":    func(dir string) { os.RemoveAll(filepath.Join(dir, "batchconsumequeue")) },
		"damaged": func(dir string) { change(t, filepath.Join(dir, batchFile), 46*7, bytes.Repeat([]byte{7}, 5000)) },
		"whole":   func(string) {},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyDir(t, base)
			damage(dir)
			var said bytes.Buffer
			sizes := Sizes{BatchQueueFile: 46000}
			if err := Repair(Place{Dir: dir}, RepairOptions{RebuildQueues: true, Sizes: sizes}, &said); err != nil {
				t.Fatal(err)
			}
			if got := sums(t, dir, queues); !maps.Equal(got, want) {
				t.Errorf("the queues are not what they were\n%s", said.String())
			}
			if r := verify(t, dir); r.Damaged() {
				t.Error(text(r))
			}
		})
	}
	dir := copyDir(t, base)
	change(t, filepath.Join(dir, "commitlog/00000000000000000000"), 400000, make([]byte, 648181-400000))
	said := repair(t, dir, RepairOptions{TruncateTail: true, RebuildIndex: true, Sizes: goldenSizes})
	if r := verify(t, dir); r.Damaged() || !strings.Contains(said, "B-0: dropped 495 units that led behind the end of the log; the next queue offset is 2588") {
		t.Errorf("%s\nafter\n%s", text(r), said)
	}
}

func TestStatOfBatchQueues(t *testing.T) {
	dir := feedSet(t, lean, batchSet)
	s, err := ReadStat(Place{Dir: dir}, Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Queues); got != "[{B 0 0 4271} {B 1 0 336} {S 0 0 141} {S 1 0 10}]" || s.Sizes.BatchQueueFile != 1000*consumequeue.BatchUnitSize {
		t.Error(got, s.Sizes)
	}
}
