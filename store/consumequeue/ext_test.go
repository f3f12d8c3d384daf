// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"rocketmq-go/store/segment"
)

const (
	extFile   = 4096
	queueFile = 100 * UnitSize
)

// extQueue opens a queue with extension files in dir.
func extQueue(t *testing.T, dir string, readOnly bool) *Queue {
	t.Helper()
	q, err := Open(Options{
		Dir: filepath.Join(dir, "cq"), FileSize: queueFile, FDs: segment.NewFDs(4), Log: slog.New(slog.DiscardHandler),
		Ext: &ExtOptions{Dir: filepath.Join(dir, "ext"), FileSize: extFile, ReadOnly: readOnly},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	if err := q.Recover(false); err != nil {
		t.Fatal(err)
	}
	return q
}

// extOf is the extension of the message with a queue offset.
func extOf(n int64) ExtUnit {
	return ExtUnit{TagsCode: n * 31, StoreTime: 1000 + n, BitMap: bytes.Repeat([]byte{byte(n)}, int(n)%20)}
}

// collect adds the units of the messages [from, to), 100 bytes of log each.
func collect(t *testing.T, q *Queue, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		if !q.CollectExt(Unit{PhyOffset: n * 100, Size: 100, TagsCode: n * 31}, n, extOf(n)) {
			t.Fatalf("unit %d refused", n)
		}
	}
	if err := q.Write(); err != nil {
		t.Fatal(err)
	}
}

// checkExt compares the units [from, to) with what was collected. plain tells of which the extension is not to be there.
func checkExt(t *testing.T, q *Queue, from, to int64, plain func(n int64) bool) {
	t.Helper()
	var r ExtReader
	for n := from; n < to; n++ {
		u, ok := q.Unit(n)
		if !ok {
			t.Fatalf("no unit %d", n)
		}
		x, ok := r.Read(q, u.TagsCode)
		if plain != nil && plain(n) {
			if ok {
				t.Errorf("unit %d has an extension: %+v", n, x)
			}
			continue
		}
		want := extOf(n)
		if !ok || x.TagsCode != want.TagsCode || x.StoreTime != want.StoreTime || !bytes.Equal(x.BitMap, want.BitMap) {
			t.Fatalf("unit %d: %+v %v", n, x, ok)
		}
	}
}

func TestExtLayout(t *testing.T) {
	dir := t.TempDir()
	q := extQueue(t, dir, false)
	first := ExtUnit{TagsCode: -5, StoreTime: 7, BitMap: []byte{1, 2}}
	large := ExtUnit{TagsCode: 9, StoreTime: 8, BitMap: make([]byte, extFile-4-22-20)} // ends where four bytes are left
	for n, x := range []ExtUnit{first, large, {TagsCode: 1, StoreTime: 9}, {TagsCode: 3, StoreTime: 9, BitMap: make([]byte, extFile)}} {
		q.CollectExt(Unit{PhyOffset: int64(n) * 10, Size: 10, TagsCode: x.TagsCode}, int64(n), x)
	}
	if err := errors.Join(q.Write(), q.Sync()); err != nil {
		t.Fatal(err)
	}
	var addresses []int64
	for n := range int64(4) {
		u, _ := q.Unit(n)
		addresses = append(addresses, u.TagsCode)
	}
	const base = -1 << 63
	if want := []int64{base, base + 22, base + extFile, 3}; !slices.Equal(addresses, want) {
		t.Errorf("%d, expected %d", addresses, want)
	}
	b, err := os.ReadFile(filepath.Join(dir, "ext", segment.Name(0)))
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0, 22, 255, 255, 255, 255, 255, 255, 255, 251, 0, 0, 0, 0, 0, 0, 0, 7, 0, 2, 1, 2}; !bytes.Equal(b[:22], want) {
		t.Errorf("% x", b[:22])
	}
	if !bytes.Equal(b[extFile-4:], []byte{255, 255, 0, 0}) || len(b) != extFile {
		t.Errorf("the file ends with % x", b[extFile-4:])
	}
	if len(q.ext.seq.Files()) != 2 {
		t.Error("one file was expected for the large unit and one for the next")
	}
}

// Files of the extension end where those of the queue end, however that came about.
func TestExtRecovery(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(t *testing.T, dir string, q *Queue) // before it is opened again
		end  int64                                    // then
		lost func(position, last int64) bool          // whether an extension is; last is where the newest file begins
	}{
		{"nothing", func(*testing.T, string, *Queue) {}, 450, nil},
		{"extensions without units", func(t *testing.T, _ string, q *Queue) {
			for n := range int64(50) {
				q.ext.put(extOf(1000 + n))
			}
			if err := q.ext.write(); err != nil {
				t.Fatal(err)
			}
		}, 450, nil},
		{"a shorter log", func(t *testing.T, _ string, q *Queue) {
			if err := q.Truncate(33_300); err != nil {
				t.Fatal(err)
			}
		}, 333, nil},
		{"the newest file is gone", func(t *testing.T, dir string, q *Queue) {
			files := q.ext.seq.Files()
			if err := os.Remove(files[len(files)-1].Path()); err != nil {
				t.Fatal(err)
			}
		}, 450, func(position, last int64) bool { return position >= last }},
		{"all files are gone", func(t *testing.T, dir string, q *Queue) {
			if err := os.RemoveAll(filepath.Join(dir, "ext")); err != nil {
				t.Fatal(err)
			}
		}, 450, func(int64, int64) bool { return true }},
		{"a page was not written", func(t *testing.T, dir string, q *Queue) {
			f := q.ext.seq.Acquire(2 * extFile)
			defer f.Release()
			if err := f.Zero(0, extFile); err != nil {
				t.Fatal(err)
			}
		}, 450, func(position, _ int64) bool { return position >= 2*extFile && position < 3*extFile }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			q := extQueue(t, dir, false)
			collect(t, q, 0, 450)
			bare := map[int64]bool{}
			last := q.ext.seq.Files()[len(q.ext.seq.Files())-1].Base()
			for n := range int64(450) {
				u, _ := q.Unit(n)
				bare[n] = c.lost != nil && c.lost(ExtPosition(u.TagsCode), last)
			}
			c.harm(t, dir, q)
			q.Close()
			q = extQueue(t, dir, false)
			if q.Max() != c.end {
				t.Fatalf("%d units", q.Max())
			}
			isBare := func(n int64) bool { return bare[n] }
			checkExt(t, q, 0, c.end, isBare)
			collect(t, q, c.end, c.end+200)
			checkExt(t, q, 0, c.end+200, isBare)
		})
	}
}

// The key is switched: read-only files are read, units have plain tags meanwhile, and none leads to another's extension.
func TestExtSwitched(t *testing.T) {
	dir := t.TempDir()
	end := int64(0)
	plain := map[int64]bool{}
	for i := range 12 {
		readOnly := i%2 == 1
		q := extQueue(t, dir, readOnly)
		n := int64(70)
		if i == 3 {
			n = 600 // more than the last three files
		}
		collect(t, q, end, end+n)
		for m := end; m < end+n; m++ {
			plain[m] = readOnly
		}
		end += n
		checkExt(t, q, 0, end, func(n int64) bool { return plain[n] })
		q.Close()
	}
}

func TestExtClean(t *testing.T) {
	dir := t.TempDir()
	q := extQueue(t, dir, false)
	collect(t, q, 0, 450)
	before := len(q.ext.seq.Files())
	if _, err := q.Clean(30_000); err != nil {
		t.Fatal(err)
	}
	u, _ := q.Unit(300)
	files := q.ext.seq.Files()
	if first := files[0].Base(); first != ExtPosition(u.TagsCode)/extFile*extFile || len(files) >= before {
		t.Errorf("files from %d on, %d of %d", first, len(files), before)
	}
	checkExt(t, q, 300, 450, nil)
	if _, err := q.Clean(1_000_000); err != nil || len(q.ext.seq.Files()) != 1 {
		t.Errorf("%d files, %v", len(q.ext.seq.Files()), err)
	}
	collect(t, q, 450, 500)
	checkExt(t, q, 450, 500, nil)
	q.Close()
	q = extQueue(t, dir, false)
	q.CorrectMin(45_000)
	checkExt(t, q, 450, 500, nil)
	if err := q.Delete(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cq", "ext"} {
		if left, err := os.ReadDir(filepath.Join(dir, name)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v %v", name, left, err)
		}
	}
}

// Extension files of a queue that was removed are not those of the next one.
func TestExtOfAnotherQueue(t *testing.T) {
	dir := t.TempDir()
	q := extQueue(t, dir, false)
	collect(t, q, 0, 300)
	q.Close()
	if err := os.RemoveAll(filepath.Join(dir, "cq")); err != nil {
		t.Fatal(err)
	}
	q = extQueue(t, dir, false)
	if left, err := os.ReadDir(filepath.Join(dir, "ext")); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	collect(t, q, 0, 10)
	checkExt(t, q, 0, 10, nil)
}

// With the key off another size of the files does not keep a broker from starting.
func TestExtOfAnotherSize(t *testing.T) {
	dir := t.TempDir()
	q := extQueue(t, dir, false)
	collect(t, q, 0, 10)
	q.Close()
	o := Options{
		Dir: filepath.Join(dir, "cq"), FileSize: queueFile, FDs: segment.NewFDs(4), Log: slog.New(slog.DiscardHandler),
		Ext: &ExtOptions{Dir: filepath.Join(dir, "ext"), FileSize: 2 * extFile},
	}
	var size *segment.SizeError
	if _, err := Open(o); !errors.As(err, &size) {
		t.Errorf("error %v", err)
	}
	o.Ext.ReadOnly = true
	q, err := Open(o)
	if err != nil || q.ext != nil {
		t.Fatal(q, err)
	}
	q.Close()
	if _, err := os.Stat(filepath.Join(dir, "ext", segment.Name(0))); errors.Is(err, fs.ErrNotExist) {
		t.Error("the file was removed")
	}
}

func FuzzParseExtUnit(f *testing.F) {
	for n := range int64(4) {
		x := extOf(n)
		f.Add(x.append(nil))
	}
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, size, ok := ParseExtUnit(b)
		if !ok {
			return
		}
		if again := u.append(nil); size != u.Size() || !bytes.Equal(again, b[:size]) {
			t.Errorf("% x is read as %+v, which is % x", b, u, again)
		}
	})
}

// BenchmarkExt is what the extension adds to a message when it is dispatched, and when it is read again.
func BenchmarkExt(b *testing.B) {
	dir := b.TempDir()
	q, err := Open(Options{
		Dir: filepath.Join(dir, "cq"), FileSize: 6_000_000, FDs: segment.NewFDs(4), Log: slog.New(slog.DiscardHandler),
		Ext: &ExtOptions{Dir: filepath.Join(dir, "ext"), FileSize: 48 << 20},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	x := ExtUnit{TagsCode: 7, StoreTime: 1, BitMap: make([]byte, 14)}
	n := int64(0)
	b.Run("collect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q.CollectExt(Unit{PhyOffset: n * 100, Size: 100}, n, x)
			if n++; n%512 == 0 {
				if err := q.Write(); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	if err := q.Write(); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		var r ExtReader
		at := int64(0)
		for b.Loop() {
			if _, ok := r.Read(q, extAddress(at)); !ok {
				b.Fatal(at)
			}
			if at += 34; at+34 > 1<<20 {
				at = 0
			}
		}
	})
}
