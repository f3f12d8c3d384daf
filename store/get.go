// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"runtime/debug"

	"rocketmq-go/message"
	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/consumequeue"
)

// ReadLimits bound what one Get or query returns and looks at. One message is returned however large it is.
type ReadLimits struct {
	BytesInMemory, CountInMemory int // of messages that are taken to be in memory (maxTransfer…OnMessageInMemory)
	BytesOnDisk, CountOnDisk     int // of others (maxTransfer…OnMessageInDisk)
	// FilterBytes are looked at of a consume queue, if the number asked for needs no more (maxFilterMessageSize); and this up
	// to FilterRounds times, or in so many of its files, while nothing matches (travelCqFileNumWhenGetMessage; 0 is 1).
	FilterBytes, FilterRounds int
	// InMemoryPercent of the machine's memory are taken to hold the newest messages (accessMessageInMemoryMaxRatio).
	InMemoryPercent int
	QueryResults    int // of QueryIndex (maxMsgsNumBatch)
}

// DefaultReadLimits are those of a Java broker that is told nothing.
func DefaultReadLimits() ReadLimits {
	return ReadLimits{
		BytesInMemory: 256 << 10, CountInMemory: 32, BytesOnDisk: 64 << 10, CountOnDisk: 8, FilterBytes: 16000,
		InMemoryPercent: 40, QueryResults: 64,
	}
}

// hot is how many bytes behind the log's end are taken to be in memory.
func (s *Store) hot(l *ReadLimits) int64 { return s.memory / 100 * int64(l.InMemoryPercent) }

// getter is what a Get needs besides its arguments; they are reused.
type getter struct {
	reader commitlog.Reader
	units  [32 * consumequeue.UnitSize]byte
	ext    consumequeue.ExtReader
}

func (s *Store) getter() *getter {
	if g, ok := s.getters.Get().(*getter); ok {
		return g
	}
	return &getter{reader: commitlog.Reader{Log: s.cl}}
}

// Get implements API.
func (s *Store) Get(dst []byte, r GetRequest) ([]byte, GetResult) {
	q := s.lookup(r.Topic, r.QueueID)
	if q == nil {
		return dst, GetResult{Status: NoMessageInQueue}
	}
	res := GetResult{MinOffset: q.Min(), MaxOffset: q.Max()}
	switch {
	case res.MaxOffset == 0:
		res.Status, res.NextBeginOffset = NoMessageInQueue, 0
	case r.Offset < res.MinOffset:
		res.Status, res.NextBeginOffset = OffsetTooSmall, res.MinOffset
	case r.Offset == res.MaxOffset:
		res.Status, res.NextBeginOffset = OffsetOverflowOne, r.Offset
	case r.Offset > res.MaxOffset:
		res.Status, res.NextBeginOffset = OffsetOverflowBadly, res.MaxOffset
	default:
		return s.guardedGet(dst, q, r, res)
	}
	return dst, res
}

// guardedGet is get, with a fault of the device (which kills a process that reads it through a mapping) as a record
// that is not there.
func (s *Store) guardedGet(dst []byte, q *queue, r GetRequest, res GetResult) (out []byte, result GetResult) {
	g := s.getter()
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		g.reader.Close()
		s.getters.Put(g)
		if p := recover(); p != nil {
			s.log.Error("store: panic in get", "topic", q.topic, "queueId", q.id, "offset", r.Offset, "panic", p, "stack", string(debug.Stack()))
			res.Status, res.NextBeginOffset, res.Count = MessageWasRemoving, r.Offset+1, 0
			out, result = dst, res
		}
	}(debug.SetPanicOnFault(true))
	out = s.get(dst, q, r, g, &res)
	return out, res
}

// get collects records from that of r.Offset on: in a batch queue that may be a batch which begins before.
func (s *Store) get(dst []byte, q *queue, r GetRequest, g *getter, res *GetResult) []byte {
	n, err := q.Find(r.Offset, g.units[:])
	if err != nil {
		s.log.Error("store: cannot read consume queue", "topic", q.topic, "queueId", q.id, "offset", r.Offset, "err", err)
		res.Status, res.NextBeginOffset = OffsetFoundNull, r.Offset
		return dst
	}
	var (
		start    = len(dst)
		end      = s.cl.End()
		last     = int64(-1) // physical offset last examined
		skipTo   = int64(-1) // records below are gone
		next     = r.Offset
		first    = n // number of the first unit; of the next one is n
		unit     = int(q.UnitSize())
		limits   = s.cfg.Limits()
		hot      = s.hot(&limits)
		examined = max(int64(limits.FilterBytes)/consumequeue.UnitSize, int64(r.MaxCount))
	)
	// as in Java a Get that has found something does not go beyond the queue's file
	_, units := q.Units()
	round := func() int64 { return min(units, q.FileEnd(n), n+examined) }
	stop, rounds := round(), limits.FilterRounds
	g.ext.Reset()
	res.Status = NoMatchedMessage
	for {
		if n >= stop && res.Count == 0 && rounds > 1 {
			stop, rounds = round(), rounds-1
		}
		if n >= stop {
			break
		}
		want := min(int(stop-n), len(g.units)/unit)
		units, err := q.Read(g.units[:want*unit], n)
		if err != nil || len(units) == 0 {
			if err != nil {
				s.log.Error("store: cannot read consume queue", "topic", q.topic, "queueId", q.id, "offset", next, "err", err)
			}
			if n == first {
				res.Status = OffsetFoundNull
				if !q.IsBatch() {
					next = q.FileEnd(n)
				}
			}
			break
		}
		for ; len(units) > 0; units = units[unit:] {
			u := q.Parse(units, n)
			if res.Count > 0 && limits.full(len(dst)-start, res.Count, int(u.Count), r.MaxCount, int(u.Size), end-u.PhyOffset <= hot) {
				stop = n
				break
			}
			last = u.PhyOffset
			n++
			next = u.End()
			if u.PhyOffset < skipTo {
				continue
			}
			rec, status := s.match(g, q, u.Unit, r.Match)
			switch status {
			case Found:
				dst = append(dst, rec...)
				res.Count += int(u.Count)
				res.Status, skipTo = Found, -1
			case MessageWasRemoving:
				skipTo = s.cl.NextFile(u.PhyOffset)
				fallthrough
			default:
				if res.Count == 0 {
					res.Status = status
				}
			}
		}
	}
	res.NextBeginOffset = next
	res.MaxOffset = max(res.MaxOffset, next)
	if last >= 0 {
		res.Behind = end - last
		res.BehindMemory = res.Behind > hot
	}
	return dst
}

// full tells whether the next record, of more messages and size bytes, has to wait for another Get.
func (l *ReadLimits) full(bytes, count, more, maxCount, size int, inMemory bool) bool {
	if count+more > maxCount {
		return true
	}
	if inMemory {
		return bytes+size > l.BytesInMemory || count >= l.CountInMemory
	}
	return bytes+size > l.BytesOnDisk || count >= l.CountOnDisk
}

// match reads the record of a unit if the matcher wants it. The record is valid until the next call. A unit whose extension
// is not there is decided by the record.
func (s *Store) match(g *getter, q *queue, u Unit, m Matcher) ([]byte, GetStatus) {
	ext := consumequeue.IsExtAddress(u.TagsCode)
	if ext && m != nil {
		if x, ok := g.ext.Read(q.Queue, u.TagsCode); ok {
			u.TagsCode, ext = x.TagsCode, false
			if m, ok := m.(ExtMatcher); ok && !m.MatchExt(x) {
				return nil, NoMatchedMessage
			}
		}
	}
	if m != nil && !ext && !m.MatchUnit(u.TagsCode) {
		return nil, NoMatchedMessage
	}
	rec, ok := g.reader.Bytes(u.PhyOffset, int(u.Size))
	if !ok || !looksLikeRecord(rec) {
		return nil, MessageWasRemoving
	}
	if m == nil || !ext && !m.NeedRecord() {
		return rec, Found
	}
	r, err := message.ParseRecord(rec)
	switch {
	case err != nil:
		return nil, MessageWasRemoving
	case ext && !m.MatchUnit(message.TagsCode(message.ScanKnown(r.Properties).Tags)):
		return nil, NoMatchedMessage
	case m.NeedRecord() && !m.MatchRecord(r.Properties):
		return nil, NoMatchedMessage
	}
	return rec, Found
}

// looksLikeRecord guards against units that point at something else (blanks, a damaged queue).
func looksLikeRecord(b []byte) bool {
	if len(b) < message.MinRecordSize {
		return false
	}
	magic := binary.BigEndian.Uint32(b[4:])
	return int(binary.BigEndian.Uint32(b)) == len(b) && (magic == message.MagicV1 || magic == message.MagicV2)
}
