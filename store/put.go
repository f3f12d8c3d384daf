// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	"rocketmq-go/message"
	"rocketmq-go/store/commitlog"
)

// maxGathered is how many bytes a caller that dispatches by itself may leave to do before the dispatcher helps.
const maxGathered = 256 << 10

// recordOverhead is how much larger than the largest body a record may be (as in Java).
const recordOverhead = 64 << 10

// innerPrefix begins the names of the properties that change how a message is stored: most have none.
var innerPrefix = []byte("INNER_")

// maxTopic is the longest topic the store takes, in bytes: retry topics of 5.x.
const maxTopic = 255

// Put implements API.
func (s *Store) Put(m *message.Message, done func(PutResult)) {
	if status := s.admit(m); status != PutOK {
		done(PutResult{Status: status})
		return
	}
	var known message.Known
	if s.cfg.SyncFlush || bytes.Contains(m.Properties, innerPrefix) {
		known = message.ScanKnown(m.Properties)
	}
	if len(m.Properties) > message.MaxProperties {
		done(PutResult{Status: s.propertiesTooLong()})
		return
	}
	if s.cfg.Compat49 {
		known.InnerNum = nil // any property
	}
	count, ok := innerCount(m.SysFlag, &known)
	inner := m.SysFlag&message.SysInnerBatch != 0
	if !ok || inner && m.SysFlag&message.SysTransactionMask != message.SysNotTransaction {
		done(PutResult{Status: MessageIllegal})
		return
	}
	q, err := s.queueFor(m.Topic, m.QueueID)
	if err != nil {
		s.refuse(err, done)
		return
	}
	if inner && !q.IsBatch() {
		done(PutResult{Status: MessageIllegal})
		return
	}
	var multi *multiPut
	if len(known.MultiDispatch) > 0 && s.multiDispatches(m.Topic) && !q.IsBatch() {
		if multi, err = s.prepareMulti(m, known.MultiDispatch); err != nil {
			s.refuse(err, done)
			return
		}
	}
	var base basePlace
	if inner {
		base = placeBase(m.Properties)
	}
	bodyCRC := message.BodyCRC(m.Body)
	if !s.lockLog() {
		done(PutResult{Status: OSPageCacheBusy})
		return
	}
	res, err := s.append(m, q, bodyCRC, count, base, multi)
	s.cl.Unlock()
	if err == errDeleted {
		s.Put(m, done)
		return
	}
	if err != nil {
		s.refuse(err, done)
		return
	}
	s.appended(m, res, !m.NoWait && string(known.Wait) != "false", done)
}

// admit makes the checks that need no lock.
func (s *Store) admit(m *message.Message) PutStatus {
	switch {
	case s.stuck.Load() || s.cleaner.disk.refuses() || s.cfg.Slave:
		return ServiceNotAvailable
	case m.Body == nil || len(m.Body) > int(s.cfg.MaxMessageSize):
		return MessageIllegal
	case len(m.Topic) == 0 || len(m.Topic) > maxTopic || len(m.Topic) > message.MaxTopicV1 && !s.longTopics():
		return MessageIllegal
	}
	if s.cfg.Replication != nil {
		return s.cfg.Replication.Admit()
	}
	return PutOK
}

// longTopics tells whether topics that need records of version 2 are taken.
func (s *Store) longTopics() bool {
	return !s.cfg.Compat49 && (s.cfg.LongTopics == nil || s.cfg.LongTopics())
}

func (s *Store) propertiesTooLong() PutStatus {
	if s.cfg.Compat49 {
		return MessageIllegal
	}
	return PropertiesSizeExceeded
}

// putError is an error with the status that a sender gets.
type putError struct {
	status PutStatus
	err    error
}

func (e *putError) Error() string { return e.err.Error() }

// refuse answers an append that failed. The log and its queues are as they were before.
func (s *Store) refuse(err error, done func(PutResult)) {
	status := ServiceNotAvailable
	var known *putError
	switch {
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, commitlog.ErrTooLarge):
		status = MessageIllegal
	default:
		if errors.Is(err, commitlog.ErrCreate) {
			status = CreateMappedFileFailed
		}
		s.setFailing(err)
	}
	done(PutResult{Status: status})
}

// setFailing notes whether appends fail; nil: they work. Senders are told each time, the log when it changes.
func (s *Store) setFailing(err error) {
	switch failing := err != nil; {
	case failing == s.failing.Load() || failing == s.failing.Swap(failing):
	case failing:
		s.log.Error("store: append failed, messages are refused until one can be appended", "err", err)
	default:
		s.log.Info("store: messages are taken again")
	}
}

var errClosed = &putError{ServiceNotAvailable, errors.New("store: closed")}

// errDeleted: the topic was deleted since its queue was looked up; there will be a new one.
var errDeleted = errors.New("store: the queue was deleted")

// lockLog takes the commit log's lock, unless who has it has been stuck for too long, or the lock came too late: whoever
// waits for the answer sends the message elsewhere by then.
func (s *Store) lockLog() bool {
	if s.cl.TryLock() {
		return true
	}
	began := s.cfg.Now()
	if since := s.cl.StuckSince(); since != 0 && began.UnixMilli()-since > s.cfg.PageCacheBusyTimeout().Milliseconds() {
		return false
	}
	s.cl.Lock()
	if s.cfg.LongestWait == nil {
		return true
	}
	if longest := s.cfg.LongestWait(); longest > 0 && s.cfg.Now().Sub(began) >= longest {
		s.cl.Unlock()
		return false
	}
	return true
}

// append encodes one message, or an inner batch of count, into the log. The log's lock is held.
func (s *Store) append(m *message.Message, q *queue, bodyCRC int32, count int16, base basePlace, multi *multiPut) (res PutResult, err error) {
	defer s.catchFault(debug.SetPanicOnFault(true), &err)
	if s.closed {
		return res, errClosed
	}
	if q.deleted.Load() || multi != nil && multi.deleted() {
		return res, errDeleted
	}
	now := s.cfg.Now().UnixMilli()
	s.cl.Holding(now)
	one := *m
	if multi != nil {
		one.Properties = multi.properties(s)
	}
	if m.SysFlag&message.SysInnerBatch != 0 {
		s.based = base.with(s.based[:0], q.next)
		one.Properties = s.based
	}
	one.Properties = s.withCRCRoom(one.Properties, &s.scratch)
	size, err := s.recordSize(&one)
	if err != nil {
		return res, err
	}
	dst, phyOffset, err := s.cl.Reserve(size)
	if err != nil {
		return res, err
	}
	queued := isQueued(m.SysFlag)
	pos := message.Position{PhyOffset: phyOffset, StoreTimestamp: now}
	if queued {
		pos.QueueOffset = q.next
	}
	s.encode(dst, &one, bodyCRC, pos)
	s.seal(dst, m.Topic)
	s.cl.Commit(size)
	if queued {
		q.next += int64(count)
	}
	if multi != nil {
		multi.advance(s)
	}
	s.note(entry{
		q: q, phyOffset: phyOffset, queueOffset: pos.QueueOffset, storeTime: now,
		size: int32(size), props: int32(len(one.Properties)), sysFlag: m.SysFlag,
	})
	return PutResult{PhyOffset: phyOffset, Size: int32(size), QueueOffset: pos.QueueOffset, StoreTime: now, Messages: int(count)}, nil
}

// isQueued tells whether a record gets a unit in its consume queue: prepared and rolled back ones do not.
func isQueued(sysFlag int32) bool {
	t := sysFlag & message.SysTransactionMask
	return t == message.SysNotTransaction || t == message.SysCommit
}

// recordSize is the size of the record of m; an error if it is too large.
func (s *Store) recordSize(m *message.Message) (int, error) {
	if len(m.Properties) > message.MaxProperties {
		return 0, &putError{s.propertiesTooLong(), errors.New("store: properties too long")}
	}
	size := message.RecordSize(m, len(m.Properties))
	if size > int(s.cfg.MaxMessageSize)+recordOverhead {
		return 0, &putError{MessageIllegal, errors.New("store: record too large")}
	}
	return size, nil
}

// withCRCRoom makes room for the record's CRC behind the properties, where that is configured; it builds them in
// scratch then, replacing what a client sent under that name.
func (s *Store) withCRCRoom(props []byte, scratch *[]byte) []byte {
	if !s.cfg.AppendPropCRC || s.cfg.Compat49 {
		return props
	}
	out := (*scratch)[:0]
	if _, sent := message.Property(props, message.PropCRC); sent {
		for p := message.ScanProperties(props); p.Next(); {
			if string(p.Name) != message.PropCRC {
				out = message.AppendProperty(out, string(p.Name), string(p.Value))
			}
		}
	} else {
		out = append(out, props...)
	}
	out = message.AppendProperty(out, message.PropCRC, "0000000000")
	*scratch = out
	return out
}

// encode writes the record into its final place, for seal to make it valid.
func (s *Store) encode(dst []byte, m *message.Message, bodyCRC int32, pos message.Position) {
	rec := message.AppendUnsealed(dst[:0], m, bodyCRC, pos)
	if len(rec) != len(dst) {
		panic(fmt.Sprintf("store: record of %d bytes, %d were reserved", len(rec), len(dst)))
	}
}

func (s *Store) seal(rec []byte, topic string) {
	if s.sealing != nil {
		s.sealing(rec)
	}
	message.Seal(rec, topic)
	if s.cfg.AppendPropCRC && !s.cfg.Compat49 {
		message.PutRecordCRC(rec)
	}
}

// catchFault turns a fault in the mapping (a device that went away) into an error: the process has other work to do.
func (s *Store) catchFault(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if r := recover(); r != nil {
		*err = fmt.Errorf("store: append: %v", r)
		s.log.Error("store: panic in append", "panic", r, "stack", string(debug.Stack()))
		s.cleaner.disk.checkFiles()
	}
}

// note remembers a record for the dispatcher. The log's lock is held.
func (s *Store) note(e entry) {
	s.lastStore.Store(e.storeTime)
	if s.overflow || len(s.pending) >= maxPending {
		s.overflow = true
		return
	}
	s.pending = append(s.pending, e)
}

// appended tells everybody who has to know, and answers when the sender may have the answer.
func (s *Store) appended(m *message.Message, res PutResult, wait bool, done func(PutResult)) {
	s.setFailing(nil)
	if s.cfg.Replication != nil {
		done = s.replicate(m, res, done)
	}
	if s.cfg.SyncFlush {
		s.flush.await(res, wait, done)
		return
	}
	if !m.Gathered || s.DispatchBehind() > maxGathered {
		s.dispatch.wake()
	}
	s.flush.dirty()
	done(res)
}
