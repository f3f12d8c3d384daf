// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"

	"rocketmq-go/store/timerlog"
)

// A slave may act as master for some time (5.x): it enters and delivers what is in its log, and Put sends that elsewhere. A
// message that would return to the timer topic waits once more in the slots instead: the topic is the master's. The master that
// returns passes over what the slave has delivered.

// versionSteps is by how much the version of a checkpoint grows when a slave begins to act: more than a master's grows between
// two questions of its slaves, so that a Java master takes this one.
const versionSteps = 1_000_000

// Act is Run for a slave that acts as master, between two calls of Follow.
func (s *Service) Act(ctx context.Context) error {
	s.mu.Lock()
	if s.master != nil {
		s.told.Timestamp, s.told.StateVersion = s.master.Timestamp, s.master.StateVersion
		s.told.Counter = max(s.told.Counter, s.master.Counter) + versionSteps
	}
	s.master, s.acts = nil, true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.acts = false
		s.mu.Unlock()
	}()
	return s.Run(ctx)
}

// theirs is what an acting slave has delivered: messages at places up to last in the log whose slot was before a time, ms, but
// those that return to the timer topic.
type theirs struct {
	before int64
	last   int64
}

func (t *theirs) has(it *item, slot int64) bool {
	return slot < t.before && it.phy <= t.last && !it.rolls()
}

// TakeOver takes over how far a slave has come that acted as master (the body of code 60). Only a service that does not Run may
// do so.
func (s *Service) TakeOver(cp timerlog.Checkpoint) {
	if cp.QueueOffset <= 0 {
		return
	}
	u, ok := s.o.Store.Unit(Topic, queue, min(cp.QueueOffset, s.o.Store.MaxOffset(Topic, queue))-1)
	if !ok { // of before what this log has
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cp.ReadTime > s.theirs.before {
		s.theirs = theirs{cp.ReadTime, u.PhyOffset}
	}
}

// passOver takes out of a slot what an acting slave has delivered.
func (s *Service) passOver(slot int64, items *[]item) {
	s.mu.Lock()
	theirs := s.theirs
	s.mu.Unlock()
	kept := (*items)[:0]
	for _, it := range *items {
		if !theirs.has(&it, slot) {
			kept = append(kept, it)
			continue
		}
		s.counts.add(s.counts.ofHash(it.hash), -it.weight())
	}
	*items = kept
}
