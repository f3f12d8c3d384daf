// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"rocketmq-go/store/segment"
)

const (
	// Slots is the number of slots in the file: two weeks of seconds.
	Slots = 2 * 7 * 86400
	// SlotSize is the size of one slot in bytes.
	SlotSize = 32
	// WheelSize is the size of the file in bytes.
	WheelSize = Slots * SlotSize

	wheelPage = 4096
	chunkSize = 64 << 10
)

// Slot is the list of messages that are due at one time.
type Slot struct {
	Time  int64 // in ticks: ms divided by the precision
	First int64 // position of the oldest unit
	Last  int64 // position of the newest unit
	Num   int32 // units that deliver less those that delete
	Magic int32 // 0 in all files seen
}

func (s *Slot) append(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(s.Time))
	dst = be.AppendUint64(dst, uint64(s.First))
	dst = be.AppendUint64(dst, uint64(s.Last))
	dst = be.AppendUint32(dst, uint32(s.Num))
	return be.AppendUint32(dst, uint32(s.Magic))
}

func parseSlot(b []byte) Slot {
	be := binary.BigEndian
	_ = b[SlotSize-1]
	return Slot{
		Time:  int64(be.Uint64(b)),
		First: int64(be.Uint64(b[8:])),
		Last:  int64(be.Uint64(b[16:])),
		Num:   int32(be.Uint32(b[24:])),
		Magic: int32(be.Uint32(b[28:])),
	}
}

// Wheel is the table of slots. In memory are one bit for each slot that has messages, and the slots that changed since
// they were last written; all else stays in the file, which is made when it is first written to. Safe for concurrent
// use; only one goroutine may call Freeze and Flush.
type Wheel struct {
	path      string
	precision int64 // ms of a tick
	sync      *segment.Syncer
	missing   bool // there was no file, or an empty one

	mu     sync.Mutex
	file   *os.File        // nil: not opened, or not there
	used   []uint64        // a bit for each slot with messages, nil if there is none
	dirty  map[int32]Slot  // by index; newer than the file
	frozen map[int32]Slot  // being written
	page   [wheelPage]byte // scratch of Flush
}

// OpenWheel finds the file. Its size must be right if it is there and not empty.
func OpenWheel(path string, precisionMs int64, sync *segment.Syncer) (*Wheel, error) {
	if precisionMs <= 0 {
		return nil, fmt.Errorf("timerlog: precision of %d ms", precisionMs)
	}
	w := &Wheel{path: path, precision: precisionMs, sync: sync, dirty: map[int32]Slot{}}
	unsure(sync, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		w.missing = true
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != 0 && info.Size() != WheelSize {
		err = fmt.Errorf("%s has %d bytes, a timer wheel has %d", path, info.Size(), WheelSize)
	}
	if err == nil && info.Size() == 0 {
		w.missing = true
		err = f.Truncate(WheelSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	w.file = f
	return w, nil
}

func (w *Wheel) index(ms int64) int32 { return int32(ms / w.precision % Slots) }

// Slot finds the slot of a time. False: it has no messages.
func (w *Wheel) Slot(ms int64) (Slot, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slot(ms)
}

func (w *Wheel) slot(ms int64) (Slot, bool) {
	if ms < 0 {
		return Slot{}, false
	}
	i := w.index(ms)
	if w.used == nil || w.used[i/64]&(1<<(i%64)) == 0 {
		return Slot{}, false
	}
	s, ok := w.dirty[i]
	if !ok {
		s, ok = w.frozen[i]
	}
	if !ok {
		var b [SlotSize]byte
		if w.file == nil {
			return Slot{}, false
		}
		if _, err := w.file.ReadAt(b[:], int64(i)*SlotSize); err != nil {
			return Slot{}, false
		}
		s = parseSlot(b[:])
	}
	return s, s.Time == ms/w.precision
}

// Add enters a unit that stands at a position into the slot of its time.
func (w *Wheel) Add(pos int64, u *Unit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ms := u.Time()
	s, ok := w.slot(ms)
	if !ok {
		s = Slot{Time: ms / w.precision, First: pos}
	}
	s.Last = pos
	s.Num += u.Weight()
	w.put(s)
}

func (w *Wheel) put(s Slot) {
	i := int32(s.Time % Slots)
	w.use(i)
	w.dirty[i] = s
}

func (w *Wheel) use(i int32) {
	if w.used == nil {
		w.used = make([]uint64, Slots/64)
	}
	w.used[i/64] |= 1 << (i % 64)
}

// Clear empties the slot of a time. Java leaves delivered slots as they are; but then a clock that is set back would
// deliver them again after a restart.
func (w *Wheel) Clear(ms int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.slot(ms); ok {
		i := w.index(ms)
		w.used[i/64] &^= 1 << (i % 64)
		w.dirty[i] = Slot{}
	}
}

// Next finds the first slot with messages whose time is not before ms, and returns its time in ms.
func (w *Wheel) Next(ms int64) (next int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.used == nil || ms < 0 {
		return 0, false
	}
	from := ms / w.precision
	if ms%w.precision != 0 {
		from++
	}
	i := int(from % Slots)
	word := w.used[i/64] >> (i % 64) << (i % 64)
	for n := 0; n <= len(w.used); n++ {
		if word != 0 {
			at := int64((i/64+n)%len(w.used))*64 + int64(bits.TrailingZeros64(word))
			distance := (at - from%Slots + Slots) % Slots
			return (from + distance) * w.precision, true
		}
		word = w.used[(i/64+n+1)%len(w.used)]
	}
	return 0, false
}

// load finds the slots with messages in the file: those whose time is not before ms and within one turn of the wheel.
// One that visit refuses is emptied. fits is false if the file was written with another precision.
func (w *Wheel) load(ms int64, visit func(Slot) (keep bool)) (fits bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used, w.frozen = nil, nil
	clear(w.dirty)
	if w.file == nil {
		return true, nil
	}
	fits = true
	from := ms / w.precision
	err = w.scan(func(i int32, s Slot) {
		switch {
		case s.Time < from/2 || s.Time > from+from/2 || s.Time%Slots != int64(i):
			fits = false
		case s.Time < from || s.Time >= from+Slots:
		case visit(s):
			w.use(i)
		default:
			w.dirty[i] = Slot{}
		}
	})
	return fits, err
}

// scan visits the slots of the file that were ever written. It reads the file's data, not its holes.
func (w *Wheel) scan(visit func(i int32, s Slot)) error {
	buf := make([]byte, chunkSize)
	for pos := int64(0); pos < WheelSize; {
		data, hole := extent(w.file, pos)
		if data >= WheelSize {
			return nil
		}
		for pos = data / SlotSize * SlotSize; pos < hole; {
			n, err := w.file.ReadAt(buf[:min(chunkSize, WheelSize-pos)], pos)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			n = n / SlotSize * SlotSize
			if n == 0 {
				return nil
			}
			for k := 0; k < n; k += SlotSize {
				if s := parseSlot(buf[k:]); s.Time != 0 {
					visit(int32((pos+int64(k))/SlotSize), s)
				}
			}
			pos += int64(n)
		}
	}
	return nil
}

// extent is the first part of a file from pos on that is not a hole.
func extent(f *os.File, pos int64) (data, hole int64) {
	raw, err := f.SyscallConn()
	if err != nil {
		return pos, WheelSize
	}
	data, hole = pos, WheelSize
	_ = raw.Control(func(fd uintptr) {
		d, err := unix.Seek(int(fd), pos, unix.SEEK_DATA)
		if err == unix.ENXIO {
			data = WheelSize
			return
		}
		if err != nil {
			return
		}
		if h, err := unix.Seek(int(fd), d, unix.SEEK_HOLE); err == nil {
			data, hole = d, h
		}
	})
	return data, hole
}

// Freeze takes the changes so far: Flush writes these.
func (w *Wheel) Freeze() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.frozen) > 0 { // an earlier Flush failed
		for i, s := range w.frozen {
			if _, newer := w.dirty[i]; !newer {
				w.dirty[i] = s
			}
		}
	}
	w.frozen, w.dirty = w.dirty, map[int32]Slot{}
}

// Flush writes what Freeze took, and waits until it is on disk. After a failure Freeze and Flush can be called again.
func (w *Wheel) Flush() error {
	w.mu.Lock()
	frozen, f := w.frozen, w.file
	w.mu.Unlock()
	if len(frozen) == 0 {
		return nil
	}
	if f == nil {
		var err error
		if f, err = w.create(); err != nil {
			return err
		}
	}
	if err := w.write(f, frozen); err != nil {
		return err
	}
	w.mu.Lock()
	w.frozen = nil
	w.mu.Unlock()
	return nil
}

func (w *Wheel) create() (*os.File, error) {
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(WheelSize); err != nil {
		f.Close()
		return nil, err
	}
	w.sync.Changed(filepath.Dir(w.path))
	w.mu.Lock()
	w.file = f
	w.mu.Unlock()
	return f, nil
}

// write changes the slots page by page: messages of the next minutes share few.
func (w *Wheel) write(f *os.File, slots map[int32]Slot) error {
	order := make([]int32, 0, len(slots))
	for i := range slots {
		order = append(order, i)
	}
	slices.Sort(order)
	const perPage = wheelPage / SlotSize
	for len(order) > 0 {
		page := order[0] / perPage
		b := w.page[:min(wheelPage, WheelSize-int(page)*wheelPage)]
		if _, err := f.ReadAt(b, int64(page)*wheelPage); err != nil {
			return err
		}
		for len(order) > 0 && order[0]/perPage == page {
			s := slots[order[0]]
			at := int(order[0]%perPage) * SlotSize
			s.append(b[at:at])
			order = order[1:]
		}
		if _, err := f.WriteAt(b, int64(page)*wheelPage); err != nil {
			return err
		}
	}
	return syncFile(w.sync, f)
}

// reset forgets everything, in the file too.
func (w *Wheel) reset() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used, w.frozen = nil, nil
	clear(w.dirty)
	if w.file == nil {
		return nil
	}
	if err := w.file.Truncate(0); err != nil {
		return err
	}
	return w.file.Truncate(WheelSize)
}

// Close closes the file. What was not flushed is lost.
func (w *Wheel) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return f.Close()
}
