// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package index

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func options(dir string) Options {
	return Options{Dir: dir, Slots: 7, Units: 20, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func open(t testing.TB, o Options) *Index {
	t.Helper()
	x, err := Open(o, func(Header) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

func find(t testing.TB, x *Index, topic, key string) []int64 {
	t.Helper()
	var out []int64
	if _, _, err := x.Query(topic, key, 0, math.MaxInt64, func(off int64) bool { out = append(out, off); return true }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRollOver(t *testing.T) {
	o := options(t.TempDir())
	x := open(t, o)
	for i := range int64(100) {
		if err := x.Add("T", fmt.Appendf(nil, "u%d", i), []byte("all  odd"[:3+i%2*5]), 100*i, 1700000000000+i*1000); err != nil {
			t.Fatal(err)
		}
	}
	check := func(x *Index) {
		t.Helper()
		if got := find(t, x, "T", "all"); len(got) != 100 || got[0] != 9900 || got[99] != 0 {
			t.Errorf("all: %v", got)
		}
		if got := find(t, x, "T", "odd"); len(got) != 50 || got[0] != 9900 {
			t.Errorf("odd: %v", got)
		}
		if got := find(t, x, "T", "u42"); len(got) != 1 || got[0] != 4200 {
			t.Errorf("u42: %v", got)
		}
		if got := find(t, x, "T2", "u42"); len(got) != 0 {
			t.Errorf("other topic: %v", got)
		}
	}
	check(x)
	if n := len(x.Headers()); n != 14 { // 250 keys, 19 in a file
		t.Errorf("%d files", n)
	}
	for range 2 {
		var ends []int64
		for phyEnd := range int64(3) {
			if err := x.SyncFull(phyEnd, func(int64) { t.Error("synced before the log") }); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.SyncFull(math.MaxInt64, func(end int64) { ends = append(ends, end) }); err != nil {
			t.Fatal(err)
		}
		if len(ends) != 13 {
			t.Errorf("%d full files were synced", len(ends))
		}
		for i, end := range ends {
			if end != x.Headers()[i].EndTimestamp {
				t.Errorf("%d: %d", i, end)
			}
		}
		x.Unsynced(0) // what comes after a crash
	}
	// all is dispatched once more, as after a crash
	x.Close()
	x = open(t, o)
	for i := range int64(100) {
		if err := x.Add("T", fmt.Appendf(nil, "u%d", i), []byte("all  odd"[:3+i%2*5]), 100*i, 1700000000000+i*1000); err != nil {
			t.Fatal(err)
		}
	}
	check(x)
	var got []int64
	if _, _, err := x.Query("T", "all", 1700000050000, 1700000052999, func(off int64) bool { got = append(got, off); return true }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[5200 5100 5000]" {
		t.Errorf("by time: %v", got)
	}
	if _, err := x.DeleteBefore(5000); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, "T", "all"); len(got) >= 100 || len(got) < 50 || got[0] != 9900 {
		t.Errorf("after deleting: %v", got)
	}
}

func TestFileOfOtherSizeIsNotUsed(t *testing.T) {
	o := options(t.TempDir())
	path := filepath.Join(o.Dir, "20240101000000000")
	if err := os.WriteFile(path, make([]byte, 5000), 0o644); err != nil {
		t.Fatal(err)
	}
	x := open(t, o)
	if len(x.Headers()) != 0 {
		t.Error("it is used")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("it was deleted")
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte{}, "k")
	f.Fuzz(func(t *testing.T, content []byte, key string) {
		o := options(t.TempDir())
		file := make([]byte, headerSize+7*slotSize+20*unitSize)
		copy(file, content)
		if err := os.WriteFile(filepath.Join(o.Dir, "20240101000000000"), file, 0o644); err != nil {
			t.Fatal(err)
		}
		x := open(t, o)
		if n := len(find(t, x, "T", key)); n > 20 {
			t.Fatalf("%d hits", n)
		}
		for i := range int64(30) {
			if err := x.Add("T", []byte(key), nil, math.MaxInt64-100+i, 1700000000000); err != nil {
				t.Fatal(err)
			}
		}
		find(t, x, "T", key)
	})
}
