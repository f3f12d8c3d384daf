// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"errors"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/timerlog"
)

const (
	// enterBatch is how many messages are entered before their units are written.
	enterBatch = 512
	// retryAfter is the pause after a failed put, and before looking again at what cannot be read yet.
	retryAfter = 500 * time.Millisecond
	// unitTries is how often a queue unit is read before it is given up.
	unitTries = 20
	// complainAgain is the pause between two log lines about messages that cannot be used or stored.
	complainAgain = time.Second
)

// arrival is a message that is to be entered.
type arrival struct {
	unit  timerlog.Unit
	count *count
}

// enterArrived enters all that has arrived and tells how long to wait before another look; never if an arrival wakes.
func (s *Service) enterArrived(ctx context.Context, caughtUp func() bool) time.Duration {
	w := &s.work
	for ctx.Err() == nil {
		switch err := s.finishBatch(); {
		case errors.Is(err, errLate):
			s.complain("late timer messages cannot be stored, will be tried again", "messages", len(w.late))
			return retryAfter
		case err != nil:
			s.o.Log.Error("timer messages cannot be entered, will be tried again", "err", err)
			return tryAgain
		}
		if s.o.StopEnter != nil && s.o.StopEnter() {
			return tryAgain
		}
		if !s.place(caughtUp) {
			return retryAfter
		}
		end := s.end()
		if w.next >= end {
			w.known = nil
			return never
		}
		if !s.readBatch(end) {
			return retryAfter
		}
	}
	return never
}

// end is the queue offset before which messages may be entered.
func (s *Service) end() int64 {
	end := s.o.Store.MaxOffset(Topic, queue)
	if at := s.masterAt(); at != nil {
		end = min(end, at.QueueOffset)
	}
	return end
}

// place corrects an offset that is outside the queue: messages were deleted, or the log has lost its end. False: it
// cannot be told yet.
func (s *Service) place(caughtUp func() bool) bool {
	w := &s.work
	least, end := s.o.Store.MinOffset(Topic, queue), s.o.Store.MaxOffset(Topic, queue)
	if w.next > end && !caughtUp() {
		return false
	}
	if right := max(min(w.next, end), least); right != w.next {
		if w.next != 0 {
			s.o.Log.Warn("timer offset corrected", "was", w.next, "min", least, "max", end)
		}
		w.next = right
		s.commit()
	}
	return true
}

// commit makes known what is entered.
func (s *Service) commit() { s.commitTo(s.work.next) }

// commitTo makes known that all before a queue offset is entered.
func (s *Service) commitTo(next int64) {
	s.mu.Lock()
	s.next, s.pos = next, s.files.Log.End()
	s.mu.Unlock()
	signal(s.changed)
}

// readBatch reads messages of the timer topic and decides about them; false if the next one cannot be read yet.
func (s *Service) readBatch(end int64) bool {
	w := &s.work
	first := w.next
	now := s.now()
	for ; w.next < end && w.next < first+enterBatch; w.next++ {
		u, ok := s.o.Store.Unit(Topic, queue, w.next)
		if !ok {
			if w.tries++; w.tries < unitTries || w.next > first {
				break
			}
			s.skip(item{}, "its queue unit cannot be read", "queueOffset", w.next)
			continue
		}
		w.tries = 0
		if _, known := w.known[u.PhyOffset]; !known {
			s.decide(item{phy: u.PhyOffset, size: u.Size}, now)
		}
		if s.acts && len(w.late) > 0 { // alone: what it holds up is not entered, and the master's to deliver
			w.next++
			break
		}
	}
	return w.next > first
}

// decide puts a message into the batch: to be entered, or delivered because it is late.
func (s *Service) decide(it item, now int64) {
	w := &s.work
	m, why := w.message(s, it)
	if why != "" {
		s.skip(it, why, "queueOffset", w.next)
		return
	}
	if w.next < w.again && m.out < w.againRead {
		return // delivered before the units were lost
	}
	if it.magic = timerlog.MagicDefault; len(m.takes) > 0 {
		it.magic |= timerlog.MagicDelete
	}
	it.hash = message.HashCode(0, m.topic)
	s.counts.of(m.topic).enters(time.Duration(m.out-m.StoreTimestamp) * time.Millisecond)
	// It was stored in this tick or the one before, or the service is behind.
	it.write = m.StoreTimestamp / s.tick * s.tick
	if it.write > now || it.write < now-s.tick {
		it.write = now
	}
	due := m.out
	if at := s.masterAt(); at != nil && due < now {
		if due >= at.ReadTime { // the master is late
			it.write = min(it.write, due)
			w.arrive(it, due, nil)
		}
		return
	}
	if due < now {
		if s.theirs.has(&it, due) {
			return
		}
		if due < it.write {
			it.write = neverEntered
		}
		s.counts.of(m.topic) // in case it has to be entered all the same
		w.late = append(w.late, it)
		return
	}
	s.await(it, due, s.counts.of(m.topic))
}

// await has an item entered that is due at a time, or in the slot from which it goes on waiting.
func (s *Service) await(it item, due int64, c *count) {
	if left := due - it.write; left >= s.window {
		it.magic |= timerlog.MagicRoll
		due = it.write + s.window
		if left-s.window < s.window/3 { // the last wait should not be a short one
			due = it.write + s.window/2/s.tick*s.tick
		}
	}
	s.work.arrive(it, due, c)
}

// arrive has an item entered by enter.
func (w *work) arrive(it item, due int64, c *count) {
	w.arrivals = append(w.arrivals, arrival{timerlog.Unit{
		Magic: it.magic, WriteTime: it.write, Delay: int32(due - it.write), PhyOffset: it.phy, Size: it.size, TopicHash: it.hash,
	}, c})
}

// errLate tells that messages that are late could not be stored.
var errLate = errors.New("late timer messages cannot be stored")

// finishBatch enters what is to be entered and delivers what is late. After an error it goes on where it was. Nothing is committed
// past a late message that is not delivered: its time is before what a checkpoint calls delivered, so that a slave, or a master
// that returns, would take it for that.
func (s *Service) finishBatch() error {
	w := &s.work
	if len(w.arrivals) == 0 && len(w.late) == 0 && w.next == s.next && !s.unwritten {
		return nil
	}
	if err := s.enter(); err != nil {
		return err
	}
	if len(w.late) > 0 {
		if s.acts && s.next < w.next-1 { // the late one is the last
			s.commitTo(w.next - 1)
		}
		taken := s.takeBack(&w.late, 0)
		s.deliver(w.late, taken, true)
		w.late = append(w.late[:0], w.failed...)
		w.failed = w.failed[:0]
		if err := s.enter(); err != nil {
			return err
		}
		if len(w.late) > 0 {
			return errLate
		}
	}
	s.commit()
	return nil
}

// enter writes the units of all arrivals.
func (s *Service) enter() error {
	w := &s.work
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwritten = true
	for ; w.entered < len(w.arrivals); w.entered++ {
		a := &w.arrivals[w.entered]
		if err := s.files.Enter(&a.unit); err != nil {
			return err
		}
		s.pending.Add(int64(a.unit.Weight()))
		if s.master == nil { // a slave takes over its master's counts
			s.counts.add(a.count, int64(a.unit.Weight()))
		}
	}
	if err := s.files.Log.Write(); err != nil {
		return err
	}
	s.unwritten = false
	if w.entered > 0 {
		s.entered.add(w.entered, s.o.Now())
		w.arrivals, w.entered = w.arrivals[:0], 0
	}
	return nil
}

// skip gives up a message. Nothing else is held up by it.
func (s *Service) skip(it item, why string, args ...any) {
	s.stats.skipped.Add(1)
	s.complain("timer message cannot be delivered, skipped", append([]any{
		"why", why, "commitLogOffset", it.phy, "skippedInAll", s.stats.skipped.Load(),
	}, args...)...)
}

// complain logs, but not a flood.
func (s *Service) complain(text string, args ...any) {
	w := &s.work
	if now := s.o.Now(); now.Sub(w.complained) >= complainAgain || now.Before(w.complained) {
		w.complained = now
		s.o.Log.Error(text, args...)
	}
}
