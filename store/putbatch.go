// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"runtime/debug"
	"slices"

	"rocketmq-go/message"
)

// PutBatch implements API.
func (s *Store) PutBatch(m *message.Message, done func(PutResult)) {
	if status := s.admit(m); status != PutOK {
		done(PutResult{Status: status})
		return
	}
	known := message.ScanKnown(m.Properties)
	delayed := len(known.Delay) > 0 && string(known.Delay) != "0"
	if s.cfg.Compat49 {
		known.InnerNum = nil // any property
	}
	_, fits := innerCount(m.SysFlag, &known)
	if !fits || m.SysFlag&message.SysInnerBatch != 0 || delayed || m.SysFlag&message.SysTransactionMask != message.SysNotTransaction {
		done(PutResult{Status: MessageIllegal})
		return
	}
	b, ok := s.batches.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	defer s.batches.Put(b)
	err := b.plan(s, m)
	var q *queue
	if err == nil {
		q, err = s.queueFor(m.Topic, m.QueueID)
	}
	if err != nil {
		s.refuse(err, done)
		return
	}
	if !s.lockLog() {
		done(PutResult{Status: OSPageCacheBusy})
		return
	}
	res, err := s.appendBatch(m, q, b)
	s.cl.Unlock()
	if err == errDeleted {
		s.PutBatch(m, done)
		return
	}
	if err != nil {
		s.refuse(err, done)
		return
	}
	s.appended(m, res, !m.NoWait && string(known.Wait) != "false", done)
}

// batch is a client batch that was checked and measured.
type batch struct {
	entries []batchEntry
	size    int // bytes of all records
	props   []byte
	scratch []byte
}

type batchEntry struct {
	bodyCRC     int32
	size, props int32
}

// plan does what needs no lock.
func (b *batch) plan(s *Store, m *message.Message) error {
	b.entries, b.size = b.entries[:0], 0
	e := message.ScanBatch(m.Body)
	for e.Next() {
		one := b.record(s, m, &e)
		size, err := s.recordSize(&one)
		if err != nil {
			return err
		}
		b.size += size
		b.entries = append(b.entries, batchEntry{message.BodyCRC(e.Body), int32(size), int32(len(one.Properties))})
	}
	if err := e.Err(); err != nil {
		return &putError{MessageIllegal, err}
	}
	if len(b.entries) == 0 {
		return &putError{MessageIllegal, fmt.Errorf("%w: it is empty", message.ErrBatch)}
	}
	return nil
}

// record is the message that an entry becomes: it shares all of the batch's but flag, body and its own properties,
// behind which those of the batch are put. It is valid until the next call.
func (b *batch) record(s *Store, m *message.Message, e *message.Batch) message.Message {
	one := *m
	one.PreparedTransactionOffset = 0
	one.Flag, one.Body = e.Flag, e.Body
	b.props = append(b.props[:0], e.Properties...)
	if n := len(b.props); n > 0 && len(m.Properties) > 0 && b.props[n-1] != message.PairEnd {
		b.props = append(b.props, message.PairEnd)
	}
	b.props = append(b.props, m.Properties...)
	one.Properties = s.withCRCRoom(b.props, &b.scratch)
	return one
}

// appendBatch encodes all entries next to each other: a batch does not cross the end of a file. The lock is held.
func (s *Store) appendBatch(m *message.Message, q *queue, b *batch) (res PutResult, err error) {
	defer s.catchFault(debug.SetPanicOnFault(true), &err)
	if s.closed {
		return res, errClosed
	}
	if q.deleted.Load() {
		return res, errDeleted
	}
	now := s.cfg.Now().UnixMilli()
	s.cl.Holding(now)
	all, phyOffset, err := s.cl.Reserve(b.size)
	if err != nil {
		return res, err
	}
	dst := all
	res = PutResult{
		PhyOffset: phyOffset, Size: int32(b.size), QueueOffset: q.next, StoreTime: now, Messages: len(b.entries),
		Offsets: make([]int64, 0, len(b.entries)),
	}
	e := message.ScanBatch(m.Body)
	for i, x := range b.entries {
		e.Next()
		one := b.record(s, m, &e)
		s.encode(dst[:x.size:x.size], &one, x.bodyCRC, message.Position{
			QueueOffset: q.next + int64(i), PhyOffset: phyOffset, StoreTimestamp: now,
		})
		res.Offsets = append(res.Offsets, phyOffset)
		phyOffset += int64(x.size)
		dst = dst[x.size:]
	}
	// the first one last: a killed process leaves the whole batch or nothing
	for i, x := range slices.Backward(b.entries) {
		at := res.Offsets[i] - res.PhyOffset
		s.seal(all[at:at+int64(x.size)], m.Topic)
	}
	s.cl.Commit(b.size)
	for i, x := range b.entries {
		s.note(entry{
			q: q, phyOffset: res.Offsets[i], queueOffset: q.next, storeTime: now,
			size: x.size, props: x.props, sysFlag: m.SysFlag,
		})
		q.next++
	}
	return res, nil
}
