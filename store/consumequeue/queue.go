// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package consumequeue is the index of one topic's queue into the commit log: a sequence of units of fixed size, one per
// message, addressed by queue offset.
//
//	unit n at byte 20·n:  phyOffset int64 | size int32 | tagsCode int64
//
// Units of all zeros are unused; where the first file of a queue does not begin with its first message, the units before
// it are blanks: phyOffset 0, size 2147483647, tagsCode 0.
//
// In a batch queue a unit stands for several messages: see batch.
//
// A queue has one writer (the dispatcher, or recovery); anybody may read.
package consumequeue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	"rocketmq-go/store/segment"
)

// UnitSize is the size of a unit in bytes.
const UnitSize = 20

// BlankSize is the size field of a blank unit.
const BlankSize = math.MaxInt32

// Unit is one entry.
type Unit struct {
	PhyOffset int64
	Size      int32
	TagsCode  int64
}

func (u Unit) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.PhyOffset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(u.Size))
	return binary.BigEndian.AppendUint64(dst, uint64(u.TagsCode))
}

// ParseUnit decodes the unit at the start of b.
func ParseUnit(b []byte) Unit {
	_ = b[UnitSize-1]
	return Unit{
		PhyOffset: int64(binary.BigEndian.Uint64(b)),
		Size:      int32(binary.BigEndian.Uint32(b[8:])),
		TagsCode:  int64(binary.BigEndian.Uint64(b[12:])),
	}
}

// Options of a queue.
type Options struct {
	Dir      string
	FileSize int64       // a multiple of UnitSize, or BatchUnitSize
	Batch    bool        // a batch queue
	Ext      *ExtOptions // nil: without extension files
	FDs      *segment.FDs
	Log      *slog.Logger
}

// Queue is one consume queue.
type Queue struct {
	seq  *segment.Sequence
	dir  string
	log  *slog.Logger
	unit int64 // bytes of a unit
	size int64 // units per file

	min    atomic.Int64 // first valid unit
	max    atomic.Int64 // behind the last visible unit
	maxPhy atomic.Int64 // behind the record of the last unit; -1 if the queue never had one

	synced  atomic.Int64 // units before are on disk
	syncing sync.Mutex   // held while units are written to disk, and while units are dropped of which that may be said

	// for recovery
	firstPhy int64 // of the first unit, -1 if it is not known
	clear    bool  // there is nothing behind the end

	end     int64  // behind the last collected unit
	pending []byte // collected units, not yet written

	ext   *ext   // nil: without
	batch *batch // nil: each unit stands for one message
}

// Open opens a queue without looking into its files: see Recover.
func Open(o Options) (*Queue, error) {
	seq, err := segment.Load(segment.Options{Dirs: []string{o.Dir}, Size: o.FileSize, FDs: o.FDs, Log: o.Log})
	if err != nil {
		return nil, err
	}
	q := &Queue{seq: seq, dir: o.Dir, log: o.Log, unit: UnitSize, firstPhy: -1}
	if o.Batch {
		q.unit, q.batch = BatchUnitSize, new(batch)
	}
	q.size = o.FileSize / q.unit
	q.maxPhy.Store(-1)
	if o.Ext != nil {
		if q.ext, err = openExt(o.Ext, o.FDs, o.Log); err == nil && len(seq.Files()) == 0 {
			err = q.fitExt()
		}
		if err != nil {
			q.Close()
			return nil, err
		}
	}
	return q, nil
}

// Min and Max are the queue offsets of the first message and behind the last one.
func (q *Queue) Min() int64 {
	if q.batch != nil {
		return q.batch.min.Load()
	}
	return q.min.Load()
}

// Max is the queue offset behind the last message that can be read.
func (q *Queue) Max() int64 {
	if q.batch != nil {
		return q.batch.max.Load()
	}
	return q.max.Load()
}

// MaxPhy is the physical offset behind the newest record the queue knows, -1 if it never knew one.
func (q *Queue) MaxPhy() int64 { return q.maxPhy.Load() }

// Sequence gives access to the files.
func (q *Queue) Sequence() *segment.Sequence { return q.seq }

// Collect takes a unit for the message with the given queue offset; Write makes the collected units visible. A unit whose
// record the queue knows already is ignored: false. The writer only.
func (q *Queue) Collect(u Unit, offset int64) bool {
	if !q.accepts(u, offset) {
		return false
	}
	q.take(u)
	return true
}

// CollectExt is Collect with an extension, whose address takes the place of the tags code; without extension files, or if
// it is too large for them, the tags code stays.
func (q *Queue) CollectExt(u Unit, offset int64, x ExtUnit) bool {
	if !q.accepts(u, offset) {
		return false
	}
	if q.ext != nil && !q.ext.readOnly {
		if address, ok := q.ext.put(x); ok {
			u.TagsCode = address
		}
	}
	q.take(u)
	return true
}

func (q *Queue) take(u Unit) {
	q.pending = u.append(q.pending)
	q.end++
	q.maxPhy.Store(u.PhyOffset + int64(u.Size))
}

// accepts tells whether a unit is new, and makes room for it.
func (q *Queue) accepts(u Unit, offset int64) bool {
	if u.PhyOffset+int64(u.Size) <= q.maxPhy.Load() {
		return false
	}
	switch {
	case offset == q.end:
	case offset < q.end:
		q.log.Warn("store: consume-queue unit exists already", "queue", q.dir, "offset", offset, "end", q.end, "phyOffset", u.PhyOffset)
		return false
	default:
		q.fill(offset)
	}
	return true
}

// fill makes offset the next one. An empty queue begins there (units before it in the same file are blanks); a hole in
// a queue, which only damage can make, is filled with blanks so that later units keep their places. Java appends them
// in the wrong place.
func (q *Queue) fill(offset int64) {
	if len(q.seq.Files()) == 0 && len(q.pending) == 0 {
		from := offset - offset%q.size
		q.end = from
		q.min.Store(offset)
		q.max.Store(from)
		q.synced.Store(from)
	} else {
		q.log.Error("store: consume queue has a hole", "queue", q.dir, "from", q.end, "to", offset)
	}
	for ; q.end < offset; q.end++ {
		q.pending = Unit{Size: BlankSize}.append(q.pending)
	}
}

// Pending tells whether units were collected since the last Write.
func (q *Queue) Pending() bool { return len(q.pending) > 0 }

// Write writes what was collected and makes it visible. After an error (disk full) it can be called again.
func (q *Queue) Write() error {
	if q.ext != nil { // what units lead to must be there
		if err := q.ext.write(); err != nil {
			return err
		}
	}
	for at := q.max.Load(); len(q.pending) > 0; at = q.max.Load() {
		f := q.seq.Acquire(at * q.unit)
		if f == nil {
			base := at - at%q.size
			created, err := q.seq.Create(base * q.unit)
			if err != nil {
				return err
			}
			if !created.Acquire() {
				return errors.New("consumequeue: closed")
			}
			f = created
		}
		n := min(int64(len(q.pending)), f.End()-at*q.unit)
		_, err := f.WriteAt(q.pending[:n], at*q.unit-f.Base())
		f.Release()
		if err != nil {
			return err
		}
		q.max.Store(at + n/q.unit)
		if q.batch != nil {
			q.batch.max.Store(ParseBatchUnit(q.pending[n-q.unit:]).Span().End())
		}
		q.pending = q.pending[:copy(q.pending, q.pending[n:])]
	}
	return nil
}

// Buffer is the memory of collected units.
type Buffer struct{ units, ext []byte }

// TakeBuffer and GiveBuffer move the buffer of collected units between queues: only those that are being written to
// need one. False: there is none.
func (q *Queue) TakeBuffer() (b Buffer, ok bool) {
	b.units, q.pending = q.pending[:0], nil
	if q.ext != nil {
		b.ext, q.ext.pending = q.ext.pending[:0], nil
	}
	return b, b.units != nil
}

// GiveBuffer lends a buffer to a queue without pending units.
func (q *Queue) GiveBuffer(b Buffer) {
	if q.pending == nil {
		q.pending = b.units[:0]
	}
	if q.ext != nil && q.ext.pending == nil {
		q.ext.pending = b.ext[:0]
	}
}

// Read reads units from number first on into dst, as many as fit, exist and lie in one file. The result is dst, cut. Except in
// a batch queue the number of a unit is its queue offset.
func (q *Queue) Read(dst []byte, first int64) ([]byte, error) {
	units := min(int64(len(dst))/q.unit, q.max.Load()-first)
	if units <= 0 || first < 0 {
		return nil, nil
	}
	f := q.seq.Acquire(first * q.unit)
	if f == nil {
		return nil, nil
	}
	defer f.Release()
	n := min(units*q.unit, f.End()-first*q.unit)
	if _, err := f.ReadAt(dst[:n], first*q.unit-f.Base()); err != nil {
		if errors.Is(err, fs.ErrNotExist) { // being deleted
			err = nil
		}
		return nil, err
	}
	return dst[:n], nil
}

// FileEnd is the number of the first unit that lies in a later file than unit n.
func (q *Queue) FileEnd(n int64) int64 { return n - n%q.size + q.size }

// Unit reads the unit of the message with a queue offset.
func (q *Queue) Unit(offset int64) (Unit, bool) {
	s, ok := q.Span(offset)
	return s.Unit, ok && s.Offset <= offset
}

// Unsynced is how many units were written but not yet to disk.
func (q *Queue) Unsynced() int64 { return q.max.Load() - q.synced.Load() }

// Sync writes the units to disk and waits.
func (q *Queue) Sync() error {
	q.syncing.Lock()
	defer q.syncing.Unlock()
	upTo := q.max.Load()
	if q.ext != nil {
		if err := q.ext.sync(); err != nil {
			return err
		}
	}
	for at := q.synced.Load(); at < upTo; {
		f := q.seq.Acquire(at * q.unit)
		if f == nil {
			at = q.FileEnd(at)
			continue
		}
		err := f.Sync()
		end := f.End() / q.unit
		if err != nil {
			err = errors.Join(err, f.Rewrite(at*q.unit-f.Base(), min(upTo, end)*q.unit-f.Base()))
		}
		f.Release()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // being deleted
			return err
		}
		at = end
	}
	q.synced.Store(upTo)
	return nil
}

func (u Unit) blank() bool { return u.PhyOffset == 0 && u.Size == BlankSize }

// at reads unit n wherever the minimum is.
func (q *Queue) at(n int64) (Unit, error) {
	s, err := q.span(n)
	return s.Unit, err
}

func (q *Queue) span(n int64) (Span, error) {
	var b [BatchUnitSize]byte
	return q.spanIn(b[:q.unit], n)
}

// spanIn reads unit n into b, which has the size of a unit.
func (q *Queue) spanIn(b []byte, n int64) (Span, error) {
	got, err := q.Read(b, n)
	if err == nil && int64(len(got)) < q.unit {
		err = fmt.Errorf("consumequeue: no unit %d", n)
	}
	if err != nil {
		return Span{}, err
	}
	return q.Parse(got, n), nil
}

// Close closes the files.
func (q *Queue) Close() {
	q.seq.Close()
	if q.ext != nil {
		q.ext.seq.Close()
	}
}

// Delete removes all files.
func (q *Queue) Delete() error {
	var errs []error
	for _, f := range q.seq.Files() {
		errs = append(errs, q.seq.Remove(f))
	}
	if q.ext != nil {
		errs = append(errs, q.ext.delete())
	}
	q.max.Store(0)
	q.min.Store(0)
	if q.batch != nil {
		q.batch.max.Store(0)
		q.batch.min.Store(0)
	}
	return errors.Join(errs...)
}
