// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"errors"
	"time"

	"rocketmq-go/store/timerlog"
)

// tryAgain is the pause after the timer files could not be read or written.
const tryAgain = time.Second

func join(errs ...error) error { return errors.Join(errs...) }

// recover finds out what waits; false if the files cannot be read.
func (s *Service) recover() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recovered {
		return true
	}
	began := time.Now()
	// Slots hold their messages until the window comes round again: a broker that was down for twelve days delivers all.
	now := s.now()
	oldest := now - (timerlog.Slots-blankSlots)*s.tick + s.window
	s.read = min(max(s.read, oldest), now)
	found, err := s.files.Recover(s.read, s.logEnd)
	if err != nil {
		s.o.Log.Error("timer files cannot be read, will be tried again", "err", err)
		return false
	}
	if found.Lost {
		s.work.again, s.work.againRead, s.next = s.next, s.read, 0
	}
	s.work.known, s.work.next = found.Entered, s.next
	s.pos = s.files.Log.End()
	s.pending.Store(found.Pending)
	if s.counts.sum() != found.Pending {
		s.recount()
	}
	s.recovered = true
	if len(found.Entered) > 0 || found.Lost {
		signal(s.changed)
	}
	if s.pos > 0 {
		s.o.Log.Info("timer messages found", "waiting", found.Pending, "queueOffset", s.next, "enteredSinceCheckpoint",
			len(found.Entered), "took", time.Since(began))
	}
	return true
}

// recount counts the messages in all slots by topic: a crash, or Java, left counts that do not fit.
func (s *Service) recount() {
	totals, sum := map[int32]int64{}, int64(0) // by the hash of the topic
	examples := map[int32]item{}
	visit := func(u *timerlog.Unit) {
		if _, ok := examples[u.TopicHash]; !ok {
			examples[u.TopicHash] = item{phy: u.PhyOffset, size: u.Size}
		}
		totals[u.TopicHash] += int64(u.Weight())
		sum += int64(u.Weight())
	}
	if err := s.files.Scan(s.read, visit); err != nil || sum != s.pending.Load() {
		clear(totals)
		s.files.Count(s.read, visit)
	}
	byName := map[string]int64{}
	for hash, n := range totals {
		if m, why := s.work.message(s, examples[hash]); why == "" {
			byName[string(m.topic)] += n
		}
	}
	s.counts.replace(byName)
}

// catchUp returns a function that tells whether the queues hold everything that was in the log at its call. Before, the
// end of a queue says nothing about an offset beyond it: after a crash the store fills the queues from the log.
func (s *Service) catchUp() func() bool {
	target := s.o.Store.MaxPhyOffset()
	done := false
	return func() bool {
		done = done || s.o.Store.MaxPhyOffset()-s.o.Store.DispatchBehind() >= target
		return done
	}
}
