// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is a unit is encoded again as it was, except for the bytes that are not used.
func FuzzUnit(f *testing.F) {
	f.Add(AppendUnit(nil, &Unit{Prev: NoPos, Magic: MagicDefault | MagicDelete, WriteTime: begin, Delay: 7, PhyOffset: 1 << 40, Size: 9}))
	f.Add(appendBlank(nil, 1000))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < UnitSize {
			return
		}
		u, ok := ParseUnit(b)
		if ok && !bytes.Equal(AppendUnit(nil, &u)[:44], b[:44]) {
			t.Errorf("%x", b)
		}
	})
}

// Whatever the files hold, recovery ends, finds lists that end, and the files can be used.
func FuzzRecover(f *testing.F) {
	unit := func(prev int64, delay int32) []byte {
		return AppendUnit(nil, &Unit{Prev: prev, Magic: 1, WriteTime: begin, Delay: delay, PhyOffset: 10, Size: 9})
	}
	slot := Slot{Time: begin / 1000, First: 0, Last: 52, Num: 2}
	f.Add(append(unit(-1, 0), unit(0, 0)...), slot.append(nil), uint16(0), (&Checkpoint{ReadTime: begin}).Append(nil))
	f.Add(append(unit(52, 0), unit(0, 0)...), slot.append(nil), uint16(0), (&Checkpoint{ReadTime: begin, FlushPos: 104}).Append(nil))
	f.Add(append(unit(-1, -5), unit(-7, 1)...), slot.append(nil), uint16(3), (&Checkpoint{ReadTime: -1, FlushPos: -1}).Append(nil))
	f.Fuzz(func(t *testing.T, log, slots []byte, at uint16, check []byte) {
		dir := t.TempDir()
		put := func(path string, size int64, b []byte, at int64) {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			w, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.WriteAt(b[:min(int64(len(b)), size-at)], at); err != nil {
				t.Fatal(err)
			}
			if err := w.Truncate(size); err != nil {
				t.Fatal(err)
			}
		}
		if n := min(len(log), smallFile); n > 0 {
			put("timerlog/00000000000000000000", smallFile, log[:n], 0)
			put("timerlog/00000000000000000287", smallFile, log[n:], 0)
		}
		place := (begin/1000 + int64(at)) % Slots * SlotSize
		put("timerwheel", WheelSize, slots, place)
		put("config/timercheck", 4096, check, 0)
		files := open(t, dir, smallFile)
		readTime := max(files.Check.Read().ReadTime, begin)
		if _, err := files.Recover(readTime, 1000); err != nil {
			t.Fatal(err)
		}
		files.Count(readTime, func(*Unit) {})
		for range 8 {
			if err := files.Enter(&Unit{Magic: MagicDefault, WriteTime: readTime, Delay: 1000, PhyOffset: 10, Size: 10}); err != nil {
				t.Fatal(err)
			}
		}
		if err := files.Log.Write(); err != nil {
			t.Fatal(err)
		}
		n := 0
		if whole := files.List(readTime+1000, func(*Unit) { n++ }); whole && n < 8 {
			t.Fatalf("%d units", n)
		}
	})
}
