// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/store"
)

var everything = RepairOptions{TruncateTail: true, FillDamage: true, RebuildQueues: true, RebuildIndex: true, Sizes: goldenSizes}

// A log whose first files have expired: units and index entries that lead there are no damage, and queues that have
// nothing else keep their offsets when the others are made anew.
func TestExpiredFiles(t *testing.T) {
	dir := feedSet(t, lean, leanSets[0])
	for _, name := range []string{"00000000000000000000", "00000000000001048576", "00000000000002097152", "00000000000003145728"} {
		if err := os.Remove(filepath.Join(dir, "commitlog", name)); err != nil {
			t.Fatal(err)
		}
	}
	r := verify(t, dir)
	if r.Damaged() || r.Begin != 4<<20 || r.Units == 0 {
		t.Fatal(text(r))
	}
	want := judge(t, copyDir(t, dir))
	said := repair(t, dir, everything)
	if r := verify(t, dir); r.Damaged() {
		t.Error(text(r))
	}
	got := judge(t, copyDir(t, dir))
	for q, w := range want.Queues {
		if got.Queues[q] != w {
			t.Errorf("queue %s: %v, was %v", q, got.Queues[q], w)
		}
	}
	if !strings.Contains(said, "S11A-0: has no messages any more; kept as it is for its queue offset 17") {
		t.Error(said)
	}
}

// Topics that were deleted, and that were created again, are told apart from damage.
func TestDeletedTopics(t *testing.T) {
	dir := feedSet(t, lean, leanSets[0])
	put(t, dir, "config/topics.json", topics533) // S11A only
	os.RemoveAll(filepath.Join(dir, "consumequeue", "S11B"))
	if r := verify(t, dir); r.Damaged() || !strings.Contains(text(r), "note    S11B: 43 messages in the log") {
		t.Error(text(r))
	}
	os.RemoveAll(filepath.Join(dir, "consumequeue", "S11A"))
	if r := verify(t, dir); !r.Damaged() {
		t.Error(text(r))
	}
	put(t, dir, "deletedTopics", fmt.Sprintf("%d S11A\n", 100000))
	if r := verify(t, dir); r.Damaged() {
		t.Error(text(r))
	}

	// created again by another life of the store
	o := options(t, nil)
	o.Store.Dir = dir
	s, err := store.Open(o.Store)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Topic: "S11A", BornHost: "127.0.0.1|1", StoreHost: "127.0.0.1|2"}
	if status, err := feedGroup(s, []Input{in}, o.dialect()); err != nil || status != store.PutOK {
		t.Fatal(status, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "deletedTopics")); err != nil { // as if Java had deleted it
		t.Fatal(err)
	}
	r := verify(t, dir)
	if got := text(r); !strings.Contains(got, "note    S11A-0: 17 older messages in the log have no units") {
		t.Error(got)
	}
	said := repair(t, dir, everything)
	if !strings.Contains(said, "S11A-0: numbering begins anew") {
		t.Error(said)
	}
	if got := judge(t, dir); got.Queues["S11A-0"] != [2]int64{0, 1} {
		t.Error(got.Queues["S11A-0"])
	}
}

// The commit log in two directories.
func TestSeveralCommitLogDirectories(t *testing.T) {
	dir := feedSet(t, lean, leanSets[0])
	other := t.TempDir()
	if err := os.Rename(filepath.Join(dir, "commitlog/00000000000001048576"), filepath.Join(other, "00000000000001048576")); err != nil {
		t.Fatal(err)
	}
	p := Place{Dir: dir, CommitLogDirs: []string{filepath.Join(dir, "commitlog"), other}}
	if r := verify(t, dir); !r.Damaged() {
		t.Error("a file is missing")
	}
	r, err := Verify(p, VerifyOptions{})
	if err != nil || r.Damaged() || r.End != 4979155 {
		t.Error(err, text(r))
	}
	if s, err := ReadStat(p, Sizes{}); err != nil || s.Parts[0].Files != 5 {
		t.Error(err, s)
	}
}

// hit damages a store at random places.
func hit(t testing.TB, dir string, random *rand.Rand) {
	var files []string
	for _, pattern := range []string{"commitlog/*", "consumequeue/*/*/*", "index/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for range 1 + random.IntN(4) {
		path := files[random.IntN(len(files))]
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		switch size := info.Size(); random.IntN(8) {
		case 0:
			err = f.Truncate(random.Int64N(size + 1))
		case 1:
			_, err = f.WriteAt(make([]byte, random.Int64N(5000)), random.Int64N(size))
		case 2: // into the tables of an index, the first units of a queue
			_, err = f.WriteAt([]byte{byte(random.Uint32()), byte(random.Uint32())}, random.Int64N(min(size, 400)))
		default:
			_, err = f.WriteAt([]byte{byte(random.Uint32()), byte(random.Uint32())}, random.Int64N(size))
		}
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is damaged: Verify ends and changes nothing, and after a full repair of files with their sizes all is sound
// and the store opens.
func FuzzRepair(f *testing.F) {
	base := f.TempDir()
	fed := ""
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Add(uint64(168)) // a queue is cut and made anew: both want to save it
	f.Fuzz(func(t *testing.T, seed uint64) {
		if fed == "" {
			fed = filepath.Join(base, "store")
			if err := os.CopyFS(fed, os.DirFS(feedSet(t, lean, leanSets[0]))); err != nil {
				t.Fatal(err)
			}
		}
		dir := copyDir(t, fed)
		hit(t, dir, rand.New(rand.NewPCG(seed, 1)))
		first := verify(t, dir)
		said := repair(t, dir, everything)
		if r := verify(t, dir); r.Damaged() {
			t.Fatalf("seed %d\n%s\nthen\n%s\nthen\n%s", seed, text(first), said, text(r))
		}
		if j := judge(t, dir); !j.Load || j.WalkEnds != "maxPhyOffset" {
			t.Errorf("seed %d: %+v\n%s", seed, j, said)
		}
	})
}
