// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/timerlog"
)

// A slave has the messages of the timer topic from its master, and enters those that the master has entered. It delivers
// nothing: slots before the master's time are emptied, since the master has delivered what was in them. So the files are at
// any moment those of a master that is as far, and whoever starts a master on them delivers what is left.

// Follow enters what the master has entered until ctx ends. It is Run for slaves.
func (s *Service) Follow(ctx context.Context) error {
	s.mu.Lock()
	if s.master == nil {
		at := s.told // with its version, if this slave has acted as master until now
		at.ReadTime, at.QueueOffset, at.MasterQueueOffset = s.read, s.next, s.next
		s.master = &at
	}
	s.mu.Unlock()
	for !s.recover() {
		if !sleep(ctx, tryAgain) {
			return nil
		}
	}
	var flusher sync.WaitGroup
	flusher.Go(func() { s.keepFlushed(ctx) })
	defer flusher.Wait()
	if w := &s.work; len(w.late) > 0 { // is left to the master
		w.late, w.next = w.late[:0], s.next
	}
	s.work.cleaned = time.Now()
	caughtUp := s.catchUp()
	for ctx.Err() == nil {
		wait := s.enterArrived(ctx, caughtUp)
		s.empty()
		s.clean()
		again := time.NewTimer(min(wait, longestSleep))
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-s.wake:
		}
		again.Stop()
	}
	return nil
}

// MasterAt tells a slave how far its master is (the body of code 60). All that the master has stored until then must have
// arrived here.
func (s *Service) MasterAt(cp timerlog.Checkpoint) {
	cp.QueueOffset = cp.MasterQueueOffset
	s.mu.Lock()
	s.master = &cp
	s.mu.Unlock()
	signal(s.wake)
}

// masterAt is how far the master is; nil: this is one.
func (s *Service) masterAt() *timerlog.Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.master
}

// empty empties the slots that the master has delivered.
func (s *Service) empty() {
	to := min(s.masterAt().ReadTime, s.now())
	for {
		s.mu.Lock()
		next, ok := s.files.Wheel.Next(s.read)
		done := !ok || next >= to
		if done && s.read < to {
			s.read = to
			signal(s.changed)
		}
		s.mu.Unlock()
		if done {
			return
		}
		s.work.slot.time = next
		s.closeSlot()
	}
}

// ReplaceCounts takes over a master's counts (the body of code 61).
func (s *Service) ReplaceCounts(master *protocol.TimerMetricsSerializeWrapper) {
	c := s.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version == master.DataVersion {
		return
	}
	for _, n := range c.topics {
		n.metric = protocol.Metric{}
	}
	c.enter(master)
	c.dirty = true
}
