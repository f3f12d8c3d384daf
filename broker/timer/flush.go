// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"errors"
	"time"
)

// countsEvery is the pause between two writes of config/timermetrics. What a crash leaves there is corrected at the next
// start.
const countsEvery = 10 * time.Second

// keepFlushed writes what changed, one flush time after the first change.
func (s *Service) keepFlushed(ctx context.Context) {
	counted := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		if !sleep(ctx, s.o.FlushTime) {
			return
		}
		if err := s.flush(); err != nil {
			s.o.Log.Error("timer files not written, will be tried again", "err", err)
			signal(s.changed)
		}
		if time.Since(counted) >= countsEvery {
			counted = time.Now()
			s.counts.flush()
		}
	}
}

var errUnwritten = errors.New("the timer log lacks units")

// flush writes everything to disk, in the order that recovery needs: the log, the wheel that refers to it, the checkpoint.
func (s *Service) flush() error {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	if !s.recovered || s.next == 0 && s.pos == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.unwritten {
		s.mu.Unlock()
		return errUnwritten
	}
	s.files.Wheel.Freeze()
	cp := s.checkpoint()
	s.mu.Unlock()
	if err := s.files.Log.Sync(); err != nil {
		return err
	}
	if err := s.files.Wheel.Flush(); err != nil {
		return err
	}
	s.mu.Lock()
	cp.ReadTime = s.readTime() // what was delivered meanwhile has been noted
	err := s.files.Check.Write(&cp)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.files.Check.Sync()
}
