// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"rocketmq-go/store/segment"
)

const perFile = 500 // units

func open(t *testing.T, dir string) *Queue {
	t.Helper()
	q, err := Open(Options{Dir: dir, FileSize: perFile * UnitSize, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// phy is the physical offset of the record of unit n in these tests.
func phy(n int64) int64 { return 1000 + 100*n }

func add(t *testing.T, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		q.Collect(Unit{PhyOffset: phy(n), Size: 100, TagsCode: n}, n)
	}
	if err := q.Write(); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, q *Queue, lo, hi int64) {
	t.Helper()
	if q.Min() != lo || q.Max() != hi {
		t.Fatalf("[%d,%d), expected [%d,%d)", q.Min(), q.Max(), lo, hi)
	}
	for n := lo; n < hi; n++ {
		if u, ok := q.Unit(n); !ok || u != (Unit{phy(n), 100, n}) {
			t.Fatalf("unit %d: %+v %v", n, u, ok)
		}
	}
	if _, ok := q.Unit(hi); ok {
		t.Fatal("there is a unit behind the last one")
	}
	if lo > 0 {
		if _, ok := q.Unit(lo - 1); ok {
			t.Fatal("there is a unit before the first one")
		}
	}
}

func TestUnitsSurvive(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 0, 1234)
	check(t, q, 0, 1234)
	if q.MaxPhy() != phy(1234) || q.Unsynced() != 1234 {
		t.Errorf("max phy %d, %d unsynced", q.MaxPhy(), q.Unsynced())
	}
	if err := q.Sync(); err != nil || q.Unsynced() != 0 {
		t.Errorf("%v, %d unsynced", err, q.Unsynced())
	}
	// what it has is not taken again
	if q.Collect(Unit{PhyOffset: phy(1233), Size: 100}, 1233) || q.Collect(Unit{PhyOffset: phy(7), Size: 100}, 7) {
		t.Error("a unit was taken twice")
	}
	for _, clean := range []bool{true, false} {
		q := open(t, dir)
		if err := q.Recover(clean); err != nil {
			t.Fatal(err)
		}
		check(t, q, 0, 1234)
		if q.MaxPhy() != phy(1234) {
			t.Errorf("max phy %d", q.MaxPhy())
		}
	}
}

// The first unit of a queue may be any; Java puts blanks before it.
func TestQueueBeginsInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 1700, 1750)
	check(t, q, 1700, 1750)
	raw, err := os.ReadFile(filepath.Join(dir, segment.Name(3*perFile*UnitSize)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		if u := ParseUnit(raw[n*UnitSize:]); u != (Unit{0, BlankSize, 0}) {
			t.Fatalf("unit %d: %+v", n, u)
		}
	}
	q = open(t, dir)
	if err := q.Recover(false); err != nil {
		t.Fatal(err)
	}
	q.CorrectMin(0)
	check(t, q, 1700, 1750)
}

func TestHoleIsFilled(t *testing.T) {
	q := open(t, t.TempDir())
	add(t, q, 0, 10)
	add(t, q, 1010, 1020)
	if q.Min() != 0 || q.Max() != 1020 {
		t.Fatalf("[%d,%d)", q.Min(), q.Max())
	}
	for n, want := range map[int64]Unit{9: {phy(9), 100, 9}, 10: {0, BlankSize, 0}, 1009: {0, BlankSize, 0}, 1010: {phy(1010), 100, 1010}} {
		if u, _ := q.Unit(n); u != want {
			t.Errorf("unit %d: %+v", n, u)
		}
	}
	q.CorrectMin(0)
	if q.Min() != 0 {
		t.Errorf("min %d", q.Min())
	}
}

func TestTruncate(t *testing.T) {
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
		q := open(t, dir)
		add(t, q, 0, c.units)
		if err := q.Truncate(c.cut); err != nil {
			t.Fatal(err)
		}
		check(t, q, 0, c.want)
		again := open(t, dir)
		if err := again.Recover(false); err != nil {
			t.Fatal(err)
		}
		check(t, again, 0, c.want)
		add(t, again, c.want, c.want+10)
		check(t, again, 0, c.want+10)
	}
}

func TestCorrectMin(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 0, 1234)
	for _, c := range []struct{ phy, want int64 }{{0, 0}, {phy(20), 20}, {phy(20) + 1, 21}, {phy(10), 21}, {phy(499), 499}, {phy(1233) + 1, 1234}} {
		q.CorrectMin(c.phy)
		if q.Min() != c.want {
			t.Errorf("log begins at %d: min %d, expected %d", c.phy, q.Min(), c.want)
		}
	}
}

func TestDropTorn(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 0, 205) // unit 204 lies across the first page boundary
	again := open(t, dir)
	if err := again.Recover(false); err != nil {
		t.Fatal(err)
	}
	if err := again.DropTorn(phy(204) + 1); err != nil || again.Max() != 205 {
		t.Fatalf("%v: a unit whose record is not read again was dropped", err)
	}
	if err := again.DropTorn(phy(204)); err != nil || again.Max() != 204 {
		t.Fatalf("%v: max %d", err, again.Max())
	}
	add(t, again, 204, 300)
	check(t, again, 0, 300)
}

func FuzzRecover(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add(Unit{5, 100, 7}.append(nil), false)
	f.Fuzz(func(t *testing.T, content []byte, clean bool) {
		dir := t.TempDir()
		file := make([]byte, perFile*UnitSize)
		copy(file, content)
		if err := os.WriteFile(filepath.Join(dir, segment.Name(0)), file, 0o644); err != nil {
			t.Fatal(err)
		}
		q := open(t, dir)
		if err := q.Recover(clean); err != nil {
			t.Fatal(err)
		}
		q.CorrectMin(50)
		if err := q.Truncate(1000); err != nil {
			t.Fatal(err)
		}
		if q.Min() < 0 || q.Min() > q.Max() || q.Max() > perFile {
			t.Fatalf("[%d,%d)", q.Min(), q.Max())
		}
	})
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 0, 3*perFile+10)
	files := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	for _, c := range []struct {
		minPhy, min int64
		deleted     int
	}{
		{0, 0, 0},
		{phy(0), 0, 0},
		{phy(0) + 1, 1, 0},
		{phy(77), 77, 0},
		{phy(perFile - 1), perFile - 1, 0},
		{phy(perFile), perFile, 1},
		{phy(5), perFile, 0},
		{phy(3*perFile - 1), 3*perFile - 1, 1},
		{phy(3*perFile + 3), 3*perFile + 3, 1},
		{phy(3*perFile + 10), 3*perFile + 10, 0},
	} {
		was := files()
		n, err := q.Clean(c.minPhy)
		if err != nil || n != c.deleted || was-files() != n {
			t.Fatalf("%+v: deleted %d, %v; %d files", c, n, err, files())
		}
		check(t, q, c.min, 3*perFile+10)
	}
	add(t, q, 3*perFile+10, 3*perFile+12)
	check(t, q, 3*perFile+10, 3*perFile+12)
	q.Close()
	q = open(t, dir)
	if err := q.Recover(false); err != nil {
		t.Fatal(err)
	}
	q.CorrectMin(phy(3*perFile + 11))
	check(t, q, 3*perFile+11, 3*perFile+12)
}

// A file that cannot be deleted is tried again.
func TestCleanTriesAgain(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	add(t, q, 0, perFile+10)
	path := filepath.Join(dir, segment.Name(0))
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := q.Clean(phy(perFile + 5)); err == nil || n != 0 {
			t.Fatal(n, err)
		}
		check(t, q, perFile+5, perFile+10)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Clean(phy(perFile + 5)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
}

// Blanks, before the first unit and in a hole, neither count as minimum nor hide what is before them.
func TestCorrectMinPassesBlanks(t *testing.T) {
	for minPhy := int64(0); minPhy <= phy(101); minPhy += 50 {
		q := open(t, t.TempDir())
		for _, n := range []int64{40, 41, 42, 60, 61, 99, 100} {
			q.Collect(Unit{PhyOffset: phy(n), Size: 100, TagsCode: n}, n)
		}
		if err := q.Write(); err != nil {
			t.Fatal(err)
		}
		q.CorrectMin(minPhy)
		want := int64(101)
		for _, n := range []int64{100, 99, 61, 60, 42, 41, 40} {
			if phy(n) >= minPhy {
				want = n
			}
		}
		if q.Min() != want {
			t.Errorf("minPhy %d: %d, expected %d", minPhy, q.Min(), want)
		}
	}
}
