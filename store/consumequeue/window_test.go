// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"rocketmq-go/store/segment"
)

// The end of a queue is found wherever it is: around the ends of pages and files, by bisection and unit by unit.
func TestEndIsFoundAnywhere(t *testing.T) {
	const page = pageSize / UnitSize
	for _, n := range []int64{1, 2, page - 1, page, page + 1, page + 2, 2*page - 1, 2 * page, 2*page + 1, perFile - 1, perFile, perFile + 1, 3 * perFile, 4*perFile + page} {
		dir := t.TempDir()
		add(t, open(t, dir), 0, n)
		for _, whole := range []bool{true, false} {
			q := open(t, dir)
			if err := q.Recover(whole); err != nil {
				t.Fatal(err)
			}
			q.CorrectMin(0)
			check(t, q, 0, n)
			if q.MaxPhy() != phy(n) {
				t.Errorf("%d units: max phy %d", n, q.MaxPhy())
			}
		}
	}
	const large = 100_000 // more than one block of a scan, and than one step of a bisection
	dir := t.TempDir()
	o := Options{Dir: dir, FileSize: 300_000 * UnitSize}
	q, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	add(t, q, 0, large)
	q.Close()
	for _, whole := range []bool{true, false} {
		if q, err = Open(o); err != nil {
			t.Fatal(err)
		}
		if err := q.Recover(whole); err != nil || q.Max() != large || q.MaxPhy() != phy(large) {
			t.Errorf("%v: %d units, max phy %d", err, q.Max(), q.MaxPhy())
		}
		q.Close()
	}
}

// After a power failure whatever is behind the end of a queue goes, in its page and far from it.
func TestRewindClearsWhatIsBehind(t *testing.T) {
	const page = pageSize / UnitSize
	for _, n := range []int64{1, 10, page - 1, page, page + 1} {
		for _, at := range []int64{0, n*UnitSize + UnitSize, page * UnitSize, pageSize - 1, pageSize + 100, perFile*UnitSize - 1} {
			if at > 0 && at < n*UnitSize+UnitSize { // that would be a unit
				continue
			}
			t.Run(fmt.Sprint(n, " units, byte ", at), func(t *testing.T) {
				dir := t.TempDir()
				add(t, open(t, dir), 0, n)
				path := filepath.Join(dir, segment.Name(0))
				if at > 0 {
					f, err := os.OpenFile(path, os.O_WRONLY, 0)
					if err != nil {
						t.Fatal(err)
					}
					_, err = f.WriteAt([]byte{1}, at)
					if f.Close(); err != nil {
						t.Fatal(err)
					}
				}
				q := open(t, dir)
				if err := q.Recover(false); err != nil {
					t.Fatal(err)
				}
				check(t, q, 0, n)
				if changed, err := q.Rewind(phy(n)); err != nil || changed != (at > 0) {
					t.Errorf("changed: %v, %v", changed, err)
				}
				raw, err := os.ReadFile(path)
				if err != nil || raw[at] != 0 && at > 0 {
					t.Errorf("the byte is %d, %v", raw[at], err)
				}
			})
		}
	}
}
