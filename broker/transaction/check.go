// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"context"
	"strconv"
	"time"
	"unsafe"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/store"
)

// round is one walk through the half queue.
type round struct {
	s      *Service
	rules  Rules
	start  time.Time
	offset int64 // of the half message that is looked at
	ops    opReader
	buf    []byte
	props  put.Properties
	silent int // questions that nobody was there for
}

// half is a half message that is looked at; everything is a view into the round's memory.
type half struct {
	message.Record
	checks int // how often its producer was asked
}

// check runs a round. Both offsets are written at its end. What was asked about until then is in op messages: after a crash
// only that is put back twice whose op message was not written yet, or that is immune.
func (s *Service) check(ctx context.Context, rules Rules) {
	s.o.Topics.CreateRetry(halfTopic, 1, permReadWrite, 0)
	from, op := s.begin(halfTopic), s.begin(opTopic)
	r := &round{s: s, rules: rules, start: s.o.Now(), offset: from, ops: opReader{s: s, next: op}}
	for ctx.Err() == nil && s.o.Now().Sub(r.start) <= longestRound && r.step(ctx) {
		r.offset++
	}
	s.mu.Lock()
	s.passed = r.offset
	s.stats.Rounds++
	s.mu.Unlock()
	if r.offset != from {
		s.commit(halfTopic, r.offset)
	}
	if settled := r.ops.settle(op, r.offset); settled != op {
		s.commit(opTopic, settled)
	}
	s.mu.Lock()
	s.ended.dropBelow(r.offset)
	s.mu.Unlock()
}

// begin is where a queue's walk begins. The kept offset may be outside the queue: messages were deleted, or a crash took
// those at the end.
func (s *Service) begin(topic string) int64 {
	offset := s.progress(topic)
	right := max(min(offset, s.o.Store.MaxOffset(topic, queue)), s.o.Store.MinOffset(topic, queue))
	if right != offset {
		s.o.Log.Warn("progress of transactions corrected", "topic", topic, "was", offset, "is", right)
		s.commit(topic, right)
	}
	return right
}

func (s *Service) commit(topic string, offset int64) {
	s.o.Offsets.Commit("broker", Group, topic, queue, offset)
}

// step looks at one half message. True: it is passed. False: the round ends here.
func (r *round) step(ctx context.Context) bool {
	s := r.s
	if r.offset >= s.o.Store.MaxOffset(halfTopic, queue) {
		return false
	}
	if s.hasEnded(r.offset) {
		s.settled(r.offset)
		return true
	}
	h, ok := r.read(ctx)
	if !ok {
		return ctx.Err() == nil
	}
	if h.StoreTimestamp >= r.start.UnixMilli() {
		return false // what this round put back itself begins here
	}
	age := s.o.Now().Sub(time.UnixMilli(h.BornTimestamp))
	immunity, own := r.immunity()
	switch {
	case r.rules.Elsewhere && (h.checks >= r.rules.CheckMax || age > r.rules.Reserved):
		return r.ended() || r.ask(&h) // the other master discards it
	case h.checks >= r.rules.CheckMax:
		return r.ended() || r.discard(&h)
	case age > r.rules.Reserved:
		r.props.Set(propChecks, strconv.Itoa(h.checks+1))
		return r.ended() || r.discard(&h)
	case own && age < immunity:
		return r.ended() || r.renew(&h)
	case age >= 0 && age < immunity:
		return false
	}
	return r.ended() || r.ask(&h)
}

// read reads the half message. False: it cannot be, and is passed.
func (r *round) read(ctx context.Context) (h half, ok bool) {
	s := r.s
	var unit store.Unit
	for try := 1; ; try++ {
		if unit, ok = s.o.Store.Unit(halfTopic, queue, r.offset); ok {
			r.buf, ok = s.o.Store.Record(r.buf[:0], unit.PhyOffset, unit.Size)
		}
		if ok {
			var err error
			h.Record, err = message.ParseRecord(r.buf)
			ok = err == nil
		}
		if ok || try == readTries {
			break
		}
		select {
		case <-ctx.Done():
			return h, false
		case <-time.After(readTryAgain):
		}
	}
	if !ok {
		s.count(func(n *Stats) { n.Skipped++ })
		s.settled(r.offset)
		s.o.Log.Error("half message cannot be read, skipped", "queueOffset", r.offset, "commitLogOffset", unit.PhyOffset)
		return h, false
	}
	r.props.Parse(view(h.Properties))
	h.checks = number(r.props.Get(propChecks))
	return h, true
}

// number reads a property; Java takes -1 for what is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if text == "" {
		return 0
	} else if err != nil {
		return -1
	}
	return n
}

// immunity is how long the half message rests, and whether it says so itself.
func (r *round) immunity() (time.Duration, bool) {
	text := r.props.Get(propImmunity)
	if text == "" {
		return r.rules.TimeOut, false
	}
	if n := number(text); n != -1 {
		return seconds(n), true
	}
	return r.rules.TimeOut, true
}

// seconds keeps absurd numbers from turning over.
func seconds(n int) time.Duration {
	const most = int(1<<63-1) / int(time.Second)
	return time.Duration(max(min(n, most), -most)) * time.Second
}

// ended tells whether the half message has ended, be it that an op message says so that was not read so far.
func (r *round) ended() bool {
	first := r.first()
	for !r.s.hasEnded(r.offset) && !r.s.hasEnded(first) {
		if !r.ops.more() {
			return false
		}
	}
	r.s.settled(r.offset)
	return true
}

// first is the queue offset of the first copy.
func (r *round) first() int64 {
	if offset, err := strconv.ParseInt(r.props.Get(propFirst), 10, 64); err == nil && offset >= 0 {
		return offset
	}
	return r.offset
}

// renew puts back a message that is still immune, so that it does not hold back those behind it. That is no check: unlike
// in Java it does not count as one.
func (r *round) renew(h *half) bool {
	first := r.first()
	r.props.Set(message.PropWait, "false")
	r.props.Set(propFirst, strconv.FormatInt(first, 10))
	result := r.store(h, halfTopic)
	if !stored(result.Status) {
		return r.failed(h, result.Status)
	}
	if r.rules.Elsewhere {
		r.s.settled(r.offset)
		return true
	}
	r.s.putBack(first, r.offset, result.QueueOffset)
	return true
}

// ask puts the message back and asks a producer of its group about it. Unlike in Java an op message says that the old copy is
// done with: a crash takes the progress of the round, and without it all that was asked about would be asked again, and be
// delivered twice. The new copy is before it in the log, so that no crash takes that one only.
func (r *round) ask(h *half) bool {
	s := r.s
	r.props.Set(propChecks, strconv.Itoa(h.checks+1))
	result := r.store(h, halfTopic)
	if !stored(result.Status) {
		return r.failed(h, result.Status)
	}
	s.count(func(n *Stats) { n.Checked++ })
	if r.rules.Elsewhere {
		s.settled(r.offset)
		return true
	}
	if !s.putBack(r.first(), r.offset, result.QueueOffset) {
		r.question(h, result)
	}
	s.ops.add(r.offset)
	return true
}

// failed is for a copy that could not be stored: a later round tries again, unless no copy ever can be.
func (r *round) failed(h *half, status store.PutStatus) bool {
	r.s.o.Log.Error("half message not put back", "status", put.StatusName(status), "queueOffset", r.offset)
	if r.rules.Elsewhere || status != store.MessageIllegal && status != store.PropertiesSizeExceeded {
		return false
	}
	r.props.Parse(view(h.Properties))
	return r.discard(h)
}

// discard gives the message up: it goes to TRANS_CHECK_MAX_TIME_TOPIC, where people find it.
func (r *round) discard(h *half) bool {
	s := r.s
	s.o.Topics.CreateRetry(lostTopic, 1, permReadWrite, 0)
	result := r.store(h, lostTopic)
	if !stored(result.Status) {
		s.o.Log.Error("half message that was checked often enough not moved", "status", put.StatusName(result.Status),
			"topic", lostTopic, "queueOffset", r.offset)
		return false
	}
	s.mu.Lock()
	s.ended.add(r.offset)
	s.stats.Discarded++
	s.mu.Unlock()
	s.ops.add(r.offset)
	s.settled(r.offset)
	topic := r.props.Get(message.PropRealTopic)
	s.metrics.add(topic, -1)
	s.o.Log.Warn("half message was checked often enough or is too old: moved", "to", lostTopic, "checks", h.checks,
		"topic", topic, "group", r.props.Get(propGroup), "key", r.props.Get(message.PropUniqKey),
		"commitLogOffset", result.PhyOffset)
	return true
}

// store puts a copy with the properties as they are now. The user's flag and the number of retries are kept; a Java broker
// forgets them.
func (r *round) store(h *half, topic string) store.PutResult {
	m := h.Message()
	m.Topic, m.QueueID, m.PreparedTransactionOffset = topic, queue, 0
	m.Properties = r.props.Append(nil, r.s.dialect)
	return r.s.store(&m)
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
