// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"fmt"
	"math/bits"
	"sync"

	"rocketmq-go/remoting/protocol"
)

// Ack is what a client says of one message: topic is that of the queue, so the pop retry topic of what was retried. The
// strings are owned.
type Ack struct {
	Topic, Group string
	Queue        int32
	Offset       int64
	Handle       Handle
	From         string // who says it, for the remark of a refusal
}

// Ack acknowledges a message. What was acknowledged already, or is in no checkpoint, is none of an error. done is called
// exactly once, from any goroutine.
func (s *Service) Ack(a *Ack, done func(error)) {
	if a.Handle.ReviveQueue == OrderedQueue {
		done(s.ackOrdered(a))
		return
	}
	if err := s.checkQueue(a); err != nil {
		done(err)
		return
	}
	msg := s.ackOf(a)
	s.putAck(&msg, nil, a.Handle.ReviveQueue, a.Handle.PopTime+a.Handle.InvisibleTime, func(err error) {
		if err == nil {
			s.acked(a, 1)
		}
		done(err)
	})
}

// acked counts messages as acknowledged.
func (s *Service) acked(a *Ack, n int) {
	s.landed(a.key(), a.Handle.PopTime, n)
	s.o.Stats.Acks(a.Group, a.Topic, n)
}

func (a *Ack) key() queueKey { return queueKey{a.Topic, a.Group, a.Queue} }

// checkQueue refuses a revive queue that is none: nobody would read it. There may be more of them than reviveQueueNum says,
// if there were more before.
func (s *Service) checkQueue(a *Ack) error {
	if q := a.Handle.ReviveQueue; q < 0 || q >= s.reviveQueues() {
		return protocol.Errorf(protocol.RespSystemError, "reviveQueueId %d does not exist", q)
	}
	return nil
}

func (s *Service) reviveQueues() int32 {
	rules := s.o.Rules()
	if cfg := s.o.Topics.Get(ReviveTopic(rules.Cluster)); cfg != nil {
		return max(rules.ReviveQueues, cfg.ReadQueueNums)
	}
	return rules.ReviveQueues
}

func (s *Service) ackOf(a *Ack) protocol.AckMsg {
	return protocol.AckMsg{
		AckOffset: a.Offset, StartOffset: a.Handle.StartOffset, ConsumerGroup: a.Group, Topic: a.Topic, QueueID: a.Queue,
		PopTime: a.Handle.PopTime, BrokerName: s.brokerOf(a),
	}
}

// brokerOf is the broker that a handle names: checkpoint and acknowledgement must name the same.
func (s *Service) brokerOf(a *Ack) string {
	if a.Handle.Broker != "" {
		return a.Handle.Broker
	}
	return s.o.Rules().Broker
}

// BatchAck acknowledges messages of several checkpoints. What no queue has is passed over, as in Java. done is
// called exactly once, with the first error.
func (s *Service) BatchAck(broker string, acks []protocol.BatchAck, from string, done func(error)) {
	all := &joined{open: 1, done: done}
	for i := range acks {
		b := &acks[i]
		a := &Ack{
			Topic: realTopic(b.Topic, b.ConsumerGroup, b.Retry), Group: b.ConsumerGroup, Queue: b.QueueID, From: from,
			Handle: Handle{
				StartOffset: b.StartOffset, PopTime: b.PopTime, InvisibleTime: b.InvisibleTime, ReviveQueue: b.ReviveQueueID,
				Broker: broker,
			},
		}
		if cfg := s.o.Topics.Get(a.Topic); cfg == nil || a.Queue < 0 || a.Queue >= cfg.ReadQueueNums {
			continue
		}
		offsets := s.offsetsOf(a, b.BitSet)
		if len(offsets) == 0 {
			continue
		}
		if a.Handle.ReviveQueue == OrderedQueue {
			for _, a.Offset = range offsets {
				_ = s.ackOrdered(a)
			}
			continue
		}
		all.add()
		if err := s.checkQueue(a); err != nil {
			all.finish(err)
			continue
		}
		msg := s.ackOf(a)
		s.putAck(&msg, offsets, a.Handle.ReviveQueue, a.Handle.PopTime+a.Handle.InvisibleTime, func(err error) {
			if err == nil {
				s.acked(a, len(offsets))
			}
			all.finish(err)
		})
	}
	all.finish(nil)
}

// offsetsOf are the offsets of a bit set that the queue has.
func (s *Service) offsetsOf(a *Ack, set []byte) (offsets []int64) {
	least, end := s.o.Store.MinOffset(a.Topic, a.Queue), s.o.Store.MaxOffset(a.Topic, a.Queue)
	for i, b := range set {
		for ; b != 0; b &= b - 1 {
			at := a.Handle.StartOffset + int64(8*i+bits.TrailingZeros8(b))
			if at >= least && at <= end {
				offsets = append(offsets, at)
			}
		}
	}
	return offsets
}

// joined waits for several outcomes.
type joined struct {
	mu   sync.Mutex
	open int
	err  error
	done func(error)
}

func (j *joined) add() {
	j.mu.Lock()
	j.open++
	j.mu.Unlock()
}

func (j *joined) finish(err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = err
	}
	j.open--
	last, err := j.open == 0, j.err
	j.mu.Unlock()
	if last {
		j.done(err)
	}
}

// Change gives a message another invisible time, which begins now. done is told what to answer, exactly once.
func (s *Service) Change(a *Ack, invisible int64, done func(popTime, invisibleTime int64, err error)) {
	now := s.o.Now().UnixMilli()
	if a.Handle.ReviveQueue == OrderedQueue {
		next := now + invisible
		s.orders.hide(a, next)
		done(a.Handle.PopTime, next-a.Handle.PopTime, nil)
		return
	}
	if err := s.checkQueue(a); err != nil {
		done(0, 0, err)
		return
	}
	// The new checkpoint comes first: if only the acknowledgement is lost the message comes twice.
	ck := &protocol.PopCheckPoint{
		StartOffset: a.Offset, PopTime: now, InvisibleTime: invisible, Num: 1, QueueID: a.Queue, Topic: a.Topic, Cid: a.Group,
		QueueOffsetDiff: []int32{0}, BrokerName: s.brokerOf(a),
	}
	s.putCheckpoint(ck, a.Handle.ReviveQueue, func(err error) {
		if err != nil {
			done(0, 0, err)
			return
		}
		s.inflight.popped(a.key(), 1) // as a message of this pop
		s.o.Stats.Checkpoints(a.Group, a.Topic, 1)
		msg := s.ackOf(a)
		due := a.Handle.PopTime + a.Handle.InvisibleTime
		s.putAck(&msg, nil, a.Handle.ReviveQueue, due, func(err error) {
			if err == nil {
				s.acked(a, 1)
			}
			done(now, invisible, err)
		})
	})
}

func (s *Service) ackOrdered(a *Ack) error {
	old, _ := s.o.Offsets.Query(a.Group, a.Topic, a.Queue)
	if a.Offset < old {
		return nil
	}
	next, ok := s.orders.ack(a)
	switch {
	case !ok:
		return protocol.Errorf(protocol.RespMessageIllegal, "offset is illegal, key:%s@%s@%d, old:%d, commit:%d, next:-1, %s",
			a.Topic, a.Group, a.Queue, old, a.Offset, a.From)
	case next < 0: // of another pop
		return nil
	}
	if !s.o.Offsets.HasReset(a.Group, a.Topic, a.Queue) {
		s.o.Offsets.Commit(fmt.Sprint("ack of ", a.From), a.Group, a.Topic, a.Queue, next)
	}
	if !s.orders.blocked(a.Topic, a.Group, a.Queue, "") {
		s.Pops.Wake(a.Topic, a.Group, a.Queue)
		s.Notices.Wake(a.Topic, a.Group, a.Queue)
	}
	return nil
}
