// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commitlog

import (
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

const fileSize = 64 << 10

func open(t testing.TB, dir string) *Log {
	t.Helper()
	l, err := Open(Options{Dirs: []string{dir}, FileSize: fileSize, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// record is a record of n bytes.
func record(n int) []byte {
	h := netip.MustParseAddrPort("127.0.0.1:1")
	m := &message.Message{Topic: "T", BornHost: h, StoreHost: h}
	m.Body = make([]byte, n-message.RecordSize(m, 0))
	for i := range m.Body {
		m.Body[i] = byte(i)
	}
	return message.AppendRecord(nil, m, message.BodyCRC(m.Body), message.Position{StoreTimestamp: 1700000000000})
}

func appendBytes(t testing.TB, l *Log, b []byte) int64 {
	t.Helper()
	l.Lock()
	defer l.Unlock()
	dst, off, err := l.Reserve(len(b))
	if err != nil {
		t.Fatal(err)
	}
	copy(dst, b)
	l.Commit(len(b))
	return off
}

func TestFilesEndWithBlanks(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	if off := appendBytes(t, l, record(1000)); off != 0 {
		t.Fatal(off)
	}
	// one that leaves exactly the blank, then one that does not fit
	exact := fileSize - 8 - 1000
	if off := appendBytes(t, l, record(exact)); off != 1000 {
		t.Fatal(off)
	}
	if off := appendBytes(t, l, record(100)); off != fileSize {
		t.Fatalf("offset %d", off)
	}
	raw, err := os.ReadFile(filepath.Join(dir, segment.Name(0)))
	if err != nil {
		t.Fatal(err)
	}
	if left := binary.BigEndian.Uint32(raw[fileSize-8:]); left != 8 || binary.BigEndian.Uint32(raw[fileSize-4:]) != message.MagicBlank {
		t.Errorf("blank %x", raw[fileSize-8:])
	}
	l.Lock()
	if _, _, err := l.Reserve(fileSize - 7); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, off, err := l.Reserve(fileSize - 8); err != nil || off != 2*fileSize {
		t.Errorf("largest: %d %v", off, err)
	}
	l.Unlock()
	res, err := l.Scan(0, l.End(), CheckBody, func(int64, *message.Record, []byte) error { return nil })
	if err != nil || res.Records != 3 || res.Blanks != 1 || res.End != fileSize+100 || res.Stop != "" {
		t.Errorf("%+v %v", res, err)
	}
}

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	var offs []int64
	for range 300 {
		offs = append(offs, appendBytes(t, l, record(1000)))
	}
	end := l.End()
	if err := l.Flush(0); err != nil || l.Flushed() != end || l.Dirty() {
		t.Fatal(err, l.Flushed())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// a prepared file is gone after a clean stop, and comes back as nothing after a crash
	if err := os.WriteFile(filepath.Join(dir, segment.Name(end-end%fileSize+fileSize)), make([]byte, fileSize), 0o644); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir)
	res, err := l.Scan(0, math.MaxInt64, CheckBody, func(int64, *message.Record, []byte) error { return nil })
	if err != nil || res.End != end || res.Records != 300 {
		t.Fatalf("%+v %v", res, err)
	}
	if err := l.SetEnd(res.End); err != nil {
		t.Fatal(err)
	}
	r := Reader{Log: l}
	defer r.Close()
	for _, off := range offs {
		if b, ok := r.Record(off); !ok || len(b) != 1000 {
			t.Fatalf("record at %d: %v", off, ok)
		}
		if ts := r.StoreTime(off); ts != 1700000000000 {
			t.Fatalf("store time %d", ts)
		}
	}
	for _, bad := range []int64{-1, 1, offs[1] + 4, end, end + 1000, math.MaxInt64 - 1} {
		if _, ok := r.Record(bad); ok {
			t.Errorf("there is a record at %d", bad)
		}
	}
	if off := appendBytes(t, l, record(1000)); off != end {
		t.Errorf("next record at %d", off)
	}
	if n := len(l.Sequence().Files()); n != int(end/fileSize)+1 {
		t.Errorf("%d files", n)
	}
}

// U023 (R#3459, R#3460): an append that fails changes nothing, and the next one works.
func TestFailedAppend(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	appendBytes(t, l, record(fileSize-5000))
	// the next file cannot be created where something else has its name
	blocker := filepath.Join(dir, segment.Name(fileSize))
	l.Lock()
	l.nextMu.Lock()
	if l.next != nil { // the helper was first
		_ = l.next.file.Discard()
		l.next = nil
	}
	if err := os.Mkdir(blocker, 0o755); err != nil {
		t.Fatal(err)
	}
	l.nextMu.Unlock()
	end := l.End()
	if _, _, err := l.Reserve(6000); !errors.Is(err, ErrCreate) {
		t.Errorf("error %v", err)
	}
	l.Unlock()
	if l.End() != end {
		t.Error("the log grew")
	}
	if off := appendBytes(t, l, record(1000)); off != end {
		t.Errorf("a small one at %d, expected %d", off, end)
	}
	if err := os.Remove(blocker); err != nil {
		t.Fatal(err)
	}
	if off := appendBytes(t, l, record(6000)); off != fileSize {
		t.Errorf("next at %d", off)
	}
}

func TestColdReads(t *testing.T) {
	l := open(t, t.TempDir())
	off := appendBytes(t, l, record(5000))
	l.end.Store(l.End()) // the same bytes both ways
	r := Reader{Log: l}
	defer r.Close()
	hot, ok := r.Bytes(off, 5000)
	if !ok {
		t.Fatal("not read")
	}
	f := l.seq.Acquire(off)
	defer f.Release()
	data, err := f.Map()
	if err != nil {
		t.Fatal(err)
	}
	if !r.resident(data, f.Base(), off, 5000) {
		t.Error("what was just written is not in memory")
	}
	cold := make([]byte, 5000)
	if _, err := f.ReadAt(cold, off); err != nil || string(cold) != string(hot) {
		t.Error("mapping and file differ", err)
	}
}

func FuzzScan(f *testing.F) {
	one := record(200)
	f.Add(append(one[:len(one):len(one)], one...), uint16(0))
	f.Add(binary.BigEndian.AppendUint32(append([]byte{0, 0, 1, 0}, 0xCB, 0xD4, 0x31, 0x94), 7), uint16(0))
	f.Fuzz(func(t *testing.T, content []byte, from uint16) {
		dir := t.TempDir()
		file := make([]byte, fileSize)
		copy(file, content)
		if err := os.WriteFile(filepath.Join(dir, segment.Name(0)), file, 0o644); err != nil {
			t.Fatal(err)
		}
		l := open(t, dir)
		var size int64
		res, err := l.Scan(int64(from), math.MaxInt64, CheckBody, func(off int64, r *message.Record, raw []byte) error {
			if len(raw) != int(r.Size) || off < int64(from) {
				t.Fatalf("record at %d of %d bytes, raw %d", off, r.Size, len(raw))
			}
			size += int64(r.Size)
			return nil
		})
		if err != nil || res.End != int64(from)+size || res.End > fileSize {
			t.Fatalf("%+v %v, %d bytes in records", res, err, size)
		}
		if err := l.SetEnd(res.End); err != nil {
			t.Fatal(err)
		}
		again, err := l.Scan(int64(from), math.MaxInt64, CheckBody, func(int64, *message.Record, []byte) error { return nil })
		if err != nil || again.End != res.End || again.Records != res.Records {
			t.Fatalf("then %+v %v, before %+v", again, err, res)
		}
	})
}
