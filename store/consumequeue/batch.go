// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"encoding/binary"
	"math"
	"sync/atomic"
)

// BatchUnitSize is the size of a unit of a batch queue in bytes.
const BatchUnitSize = 46

// MaxBatch is the largest number of messages that one unit can stand for.
const MaxBatch = math.MaxInt16

// batch is what a batch queue (queue.type=BatchCQ, files below batchconsumequeue/) has besides: the units of such a queue
// are not addressed by queue offset, since one stands for a whole batch.
//
//	 0 phyOffset  int64   of the record
//	 8 size       int32   of the record
//	12 tagsCode   int64
//	20 storeTime  int64   ms
//	28 offset     int64   queue offset of the first message
//	36 count      int16   messages
//	38 −1 int32, 0 int32
//
// The units ascend in queue offsets; a hole, which only damage can make, is a jump. Inside Queue min, max, end and synced
// are numbers of units for both kinds.
type batch struct {
	min, max atomic.Int64 // queue offsets: of the first message, behind the last visible one
	end      int64        // behind the last collected one
}

// Span is a unit with the messages it stands for: Count of them, from queue offset Offset on.
type Span struct {
	Unit
	Offset int64
	Count  int32
}

// End is the queue offset behind the last message.
func (s Span) End() int64 { return s.Offset + int64(s.Count) }

// BatchUnit is a unit of a batch queue.
type BatchUnit struct {
	Unit
	StoreTime int64 // ms
	Offset    int64 // queue offset of the first message
	Count     int16 // messages
}

func (u BatchUnit) append(dst []byte) []byte {
	be := binary.BigEndian
	dst = u.Unit.append(dst)
	dst = be.AppendUint64(dst, uint64(u.StoreTime))
	dst = be.AppendUint64(dst, uint64(u.Offset))
	dst = be.AppendUint16(dst, uint16(u.Count))
	return append(dst, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}

// ParseBatchUnit decodes the unit at the start of b. It is in use if InUse says so.
func ParseBatchUnit(b []byte) BatchUnit {
	_ = b[BatchUnitSize-1]
	be := binary.BigEndian
	return BatchUnit{
		Unit: ParseUnit(b), StoreTime: int64(be.Uint64(b[20:])), Offset: int64(be.Uint64(b[28:])), Count: int16(be.Uint16(b[36:])),
	}
}

// InUse tells a unit from what was never written.
func (u BatchUnit) InUse() bool { return inUse(u.Unit) && u.Offset >= 0 && u.Count > 0 }

// Span is the unit with its messages.
func (u BatchUnit) Span() Span { return Span{u.Unit, u.Offset, int32(u.Count)} }

// IsBatch tells the two kinds of queues apart.
func (q *Queue) IsBatch() bool { return q.batch != nil }

// UnitSize is the size of the queue's units in bytes.
func (q *Queue) UnitSize() int64 { return q.unit }

// Units are the numbers of the first valid unit and of that behind the last visible one.
func (q *Queue) Units() (first, end int64) { return q.min.Load(), q.max.Load() }

// Parse decodes unit number n, which Read has read.
func (q *Queue) Parse(b []byte, n int64) Span {
	if q.batch == nil {
		return Span{ParseUnit(b), n, 1}
	}
	return ParseBatchUnit(b).Span()
}

// CollectBatch is Collect for a batch queue.
func (q *Queue) CollectBatch(u BatchUnit) bool {
	if u.PhyOffset+int64(u.Size) <= q.maxPhy.Load() {
		return false
	}
	b := q.batch
	switch {
	case u.Offset < b.end:
		q.log.Warn("store: consume-queue unit exists already", "queue", q.dir, "offset", u.Offset, "end", b.end, "phyOffset", u.PhyOffset)
		return false
	case u.Offset > b.end && q.end == 0:
		b.min.Store(u.Offset)
	case u.Offset > b.end:
		q.log.Error("store: consume queue has a hole", "queue", q.dir, "from", b.end, "to", u.Offset)
	}
	q.pending = u.append(q.pending)
	q.end++
	b.end = u.Span().End()
	q.maxPhy.Store(u.PhyOffset + int64(u.Size))
	return true
}

// Find is the number of the unit that stands for the message with a queue offset. In a batch queue that may be one in the
// middle of the unit; if it is in none, in a hole, the next unit is found, and behind the end that behind the last one.
// scratch is for reading, of some units.
func (q *Queue) Find(offset int64, scratch []byte) (int64, error) {
	if q.batch == nil {
		return offset, nil
	}
	lo, hi := q.Units()                                            // it is one of lo..hi
	if from := max(lo, hi-int64(len(scratch))/q.unit); from < hi { // most readers are near the end
		units, err := q.Read(scratch, from)
		if err != nil {
			return 0, err
		}
		for n := from; int64(len(units)) >= q.unit; n, units = n+1, units[q.unit:] {
			if s := q.Parse(units, n); s.Offset <= offset && offset < s.End() {
				return n, nil
			}
		}
	}
	scratch = scratch[:q.unit]
	for step := int64(1); hi-lo > step; step *= 2 {
		s, err := q.spanIn(scratch, hi-step)
		if err != nil {
			return 0, err
		}
		if s.End() <= offset {
			lo = hi - step + 1
			break
		}
		hi -= step
	}
	for lo < hi {
		mid := (lo + hi) / 2
		s, err := q.spanIn(scratch, mid)
		if err != nil {
			return 0, err
		}
		if s.End() <= offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// Span reads the unit that Find finds; false if there is none.
func (q *Queue) Span(offset int64) (Span, bool) {
	if offset < q.Min() {
		return Span{}, false
	}
	var scratch [BatchUnitSize]byte
	n, err := q.Find(offset, scratch[:])
	if err != nil {
		return Span{}, false
	}
	s, err := q.spanIn(scratch[:q.unit], n)
	return s, err == nil
}

// UnitAt reads the unit with number n.
func (q *Queue) UnitAt(n int64) (Span, bool) {
	if n < q.min.Load() {
		return Span{}, false
	}
	s, err := q.span(n)
	return s, err == nil
}

// OffsetOf is the queue offset of the first message of unit n, or where the next one will begin.
func (q *Queue) OffsetOf(n int64) int64 {
	if q.batch == nil {
		return n
	}
	if s, err := q.span(n); err == nil {
		return s.Offset
	}
	return q.Max()
}

// fitBatch makes the queue offsets fit the units. A queue that lost all of them goes on where the first one was.
func (q *Queue) fitBatch() error {
	b := q.batch
	if b == nil {
		return nil
	}
	b.end = b.min.Load()
	if q.end > q.min.Load() {
		last, err := q.span(q.end - 1)
		if err != nil {
			return err
		}
		b.end = last.End()
	}
	b.max.Store(b.end)
	q.fitBatchMin()
	return nil
}

// fitBatchMin is for whoever has moved the first unit.
func (q *Queue) fitBatchMin() {
	b := q.batch
	if b == nil {
		return
	}
	next := b.max.Load() // before the units: the writer may add some
	first, end := q.Units()
	if first == end {
		b.min.Store(next)
	} else if s, err := q.span(first); err == nil {
		b.min.Store(s.Offset)
	}
}
