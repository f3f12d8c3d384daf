// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"rocketmq-go/store/segment"
)

const batchesPerFile = 500

func openBatch(t testing.TB, dir string) *Queue {
	t.Helper()
	q, err := Open(Options{
		Dir: dir, FileSize: batchesPerFile * BatchUnitSize, Batch: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// unitOf is unit n of the test queues: 1, 2 … 7, 1, 2 … messages, 28 in seven units.
func unitOf(n int64) BatchUnit {
	return BatchUnit{
		Unit: Unit{PhyOffset: phy(n), Size: 100, TagsCode: -n}, StoreTime: 1700000000000 + n,
		Offset: n/7*28 + (n%7)*(n%7+1)/2, Count: int16(n%7 + 1),
	}
}

func addBatches(t testing.TB, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		if !q.CollectBatch(unitOf(n)) {
			t.Fatalf("unit %d was refused", n)
		}
	}
	if err := q.Write(); err != nil {
		t.Fatal(err)
	}
}

// checkBatches looks at everything of a queue whose units are those from lo up to hi.
func checkBatches(t *testing.T, q *Queue, lo, hi int64) {
	t.Helper()
	if first, end := q.Min(), q.Max(); first != unitOf(lo).Offset || end != unitOf(hi).Offset {
		t.Fatalf("offsets [%d,%d), expected [%d,%d)", first, end, unitOf(lo).Offset, unitOf(hi).Offset)
	}
	for n := lo; n < hi; n += 1 + n%5 {
		u := unitOf(n)
		for _, off := range []int64{u.Offset, u.Offset + int64(u.Count) - 1} {
			if got, ok := q.Span(off); !ok || got != u.Span() {
				t.Fatalf("queue offset %d: %+v %v, expected %+v", off, got, ok, u.Span())
			}
			if got, ok := q.Unit(off); !ok || got != u.Unit {
				t.Fatalf("queue offset %d: %+v %v", off, got, ok)
			}
		}
	}
	if _, ok := q.Span(unitOf(hi).Offset); ok {
		t.Error("there is a unit behind the last one")
	}
	if _, ok := q.Span(unitOf(lo).Offset - 1); ok {
		t.Error("there is a unit before the first one")
	}
}

// The bytes of a unit that Java wrote (golden set 533-main, topic GBcq, queue 0).
func TestBatchUnit(t *testing.T) {
	java, _ := hex.DecodeString("00000000000183f2000005cb0000000000000000000001a2293ad7ea00000000000000040006ffffffff00000000")
	u := ParseBatchUnit(java)
	if u != (BatchUnit{Unit{99314, 1483, 0}, 1795988051946, 4, 6}) || !u.InUse() || u.Span().End() != 10 {
		t.Errorf("%+v", u)
	}
	if got := u.append(nil); !bytes.Equal(got, java) {
		t.Errorf("%x", got)
	}
	for _, u := range []BatchUnit{{}, {Unit{0, 100, 0}, 1, 0, 0}, {Unit{0, 100, 0}, 1, -1, 2}, {Unit{0, 100, 0}, 1, 5, -2}, {Unit{-1, 0, 0}, 0, 0, 0}} {
		if u.InUse() {
			t.Errorf("%+v is in use", u)
		}
	}
}

func TestBatchesSurvive(t *testing.T) {
	dir := t.TempDir()
	q := openBatch(t, dir)
	if q.Min() != 0 || q.Max() != 0 {
		t.Error("an empty queue has messages")
	}
	addBatches(t, q, 0, 1234)
	checkBatches(t, q, 0, 1234)
	if q.CollectBatch(unitOf(1233)) || q.CollectBatch(unitOf(7)) {
		t.Error("a unit was taken twice")
	}
	again := unitOf(1234)
	again.Offset--
	if q.CollectBatch(again) {
		t.Error("a message has two units")
	}
	if err := q.Sync(); err != nil || q.Unsynced() != 0 {
		t.Errorf("%v, %d unsynced", err, q.Unsynced())
	}
	for _, clean := range []bool{true, false} {
		q := openBatch(t, dir)
		if err := q.Recover(clean); err != nil {
			t.Fatal(err)
		}
		q.CorrectMin(0)
		checkBatches(t, q, 0, 1234)
		if q.MaxPhy() != phy(1234) {
			t.Errorf("max phy %d", q.MaxPhy())
		}
	}
	if err := q.Delete(); err != nil || q.Min() != 0 || q.Max() != 0 {
		t.Error(err, q.Min(), q.Max())
	}
}

// Nothing is put into a hole: it is passed over.
func TestBatchQueueBeginsAndGoesOnAnywhere(t *testing.T) {
	dir := t.TempDir()
	q := openBatch(t, dir)
	addBatches(t, q, 700, 710)
	addBatches(t, q, 720, 730)
	for range 2 {
		if q.Min() != unitOf(700).Offset || q.Max() != unitOf(730).Offset {
			t.Fatalf("[%d,%d)", q.Min(), q.Max())
		}
		for _, c := range []struct{ off, unit int64 }{{unitOf(709).Offset, 709}, {unitOf(710).Offset, 720}, {unitOf(720).Offset - 1, 720}, {unitOf(720).Offset, 720}} {
			if s, ok := q.Span(c.off); !ok || s != unitOf(c.unit).Span() {
				t.Errorf("%d: %+v %v", c.off, s, ok)
			}
		}
		if _, ok := q.Unit(unitOf(715).Offset); ok {
			t.Error("a message in the hole has a unit")
		}
		q = openBatch(t, dir)
		if err := q.Recover(false); err != nil {
			t.Fatal(err)
		}
		q.CorrectMin(0)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, segment.Name(0))); err != nil || ParseBatchUnit(raw) != unitOf(700) {
		t.Error("the first unit is not the first of the file", err)
	}
}

func TestTruncateBatches(t *testing.T) {
	for _, c := range []struct{ units, cut, want int64 }{
		{1234, phy(1100), 1100},
		{1234, phy(1000), 1000},
		{1234, phy(999), 999},
		{1234, phy(500) + 1, 501},
		{1234, phy(3), 3},
		{1234, 0, 0},
		{1234, phy(5000), 1234},
		{500, phy(500), 500},
	} {
		dir := t.TempDir()
		q := openBatch(t, dir)
		addBatches(t, q, 0, c.units)
		if err := q.Truncate(c.cut); err != nil {
			t.Fatal(err)
		}
		checkBatches(t, q, 0, c.want)
		again := openBatch(t, dir)
		if err := again.Recover(false); err != nil {
			t.Fatal(err)
		}
		checkBatches(t, again, 0, c.want)
		addBatches(t, again, c.want, c.want+10)
		checkBatches(t, again, 0, c.want+10)
	}
}

// Old messages go; what is left keeps its queue offsets, also when nothing is left.
func TestCleanBatches(t *testing.T) {
	dir := t.TempDir()
	q := openBatch(t, dir)
	addBatches(t, q, 0, 1234)
	for _, c := range []struct{ phy, first, files int64 }{
		{0, 0, 3}, {phy(20), 20, 3}, {phy(20) + 1, 21, 3}, {phy(10), 21, 3}, {phy(500), 500, 2}, {phy(1001), 1001, 1}, {phy(1234), 1234, 1},
	} {
		if _, err := q.Clean(c.phy); err != nil {
			t.Fatal(err)
		}
		checkBatches(t, q, c.first, 1234)
		if n := len(q.Sequence().Files()); n != int(c.files) {
			t.Errorf("log begins at %d: %d files", c.phy, n)
		}
	}
	q = openBatch(t, dir)
	if err := q.Recover(true); err != nil {
		t.Fatal(err)
	}
	q.CorrectMin(phy(1234))
	checkBatches(t, q, 1234, 1234)
	addBatches(t, q, 1234, 1240)
	checkBatches(t, q, 1234, 1240)
	if err := q.Truncate(phy(1000)); err != nil { // the log lost its end: all that is left of the queue
		t.Fatal(err)
	}
	addBatches(t, q, 1234, 1236)
	if q.Max() != unitOf(1236).Offset {
		t.Errorf("the queue goes on at %d", q.Max())
	}
}

func TestDropTornBatch(t *testing.T) {
	dir := t.TempDir()
	q := openBatch(t, dir)
	addBatches(t, q, 0, 90) // unit 89 lies across the first page boundary
	again := openBatch(t, dir)
	if err := again.Recover(false); err != nil {
		t.Fatal(err)
	}
	if err := again.DropTorn(phy(89) + 1); err != nil {
		t.Fatal(err)
	}
	checkBatches(t, again, 0, 90)
	if err := again.DropTorn(phy(89)); err != nil {
		t.Fatal(err)
	}
	checkBatches(t, again, 0, 89)
	addBatches(t, again, 89, 95)
	checkBatches(t, again, 0, 95)
}

// Whatever is in the files, offsets can be looked for.
func FuzzBatchQueue(f *testing.F) {
	good := unitOf(0).append(nil)
	f.Add(unitOf(3).append(unitOf(2).append(good)), int64(5))
	f.Add(unitOf(1).append(unitOf(500).append(good)), int64(-1))
	f.Add(bytes.Repeat([]byte{0x7f}, 10*BatchUnitSize), int64(1<<62))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		for _, clean := range []bool{true, false} {
			dir := t.TempDir()
			file := make([]byte, batchesPerFile*BatchUnitSize)
			copy(file, data)
			if err := os.WriteFile(filepath.Join(dir, segment.Name(0)), file, 0o600); err != nil {
				t.Fatal(err)
			}
			q := openBatch(t, dir)
			if err := q.Recover(clean); err != nil {
				t.Fatal(err)
			}
			q.CorrectMin(at)
			for _, off := range []int64{at, q.Min(), q.Max(), q.Max() - 1} {
				first, end := q.Units()
				if n, err := q.Find(off, make([]byte, 500)); err != nil || n < first || n > end {
					t.Fatalf("unit %d of [%d,%d): %v", n, first, end, err)
				}
			}
			if err := q.Truncate(at); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	q := openBatch(b, b.TempDir())
	addBatches(b, q, 0, 100000)
	scratch := make([]byte, 640)
	for name, off := range map[string]int64{"tail": q.Max() - 5, "middle": q.Max() / 2} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := q.Find(off, scratch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
