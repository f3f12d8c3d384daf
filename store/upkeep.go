// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// syncsAtOnce is how many queues are written to disk at the same time: the file system commits them together.
const syncsAtOnce = 16

// upkeep writes consume queues, full index files and the checkpoint to disk in the background. It ticks only while there
// is something to write, and looks only at queues that were written to.
type upkeep struct {
	s      *Store
	signal chan struct{}
	quit   chan struct{}
	done   sync.WaitGroup

	mu     sync.Mutex
	queues []*queue // with units that are not on disk
}

func (u *upkeep) init(s *Store) {
	u.s = s
	u.signal = make(chan struct{}, 1)
	u.quit = make(chan struct{})
}

func (u *upkeep) wake() {
	select {
	case u.signal <- struct{}{}:
	default:
	}
}

// note puts a queue on the list.
func (u *upkeep) note(q *queue) {
	if q.listed.Load() || !q.listed.CompareAndSwap(false, true) {
		return
	}
	u.mu.Lock()
	u.queues = append(u.queues, q)
	u.mu.Unlock()
}

func (u *upkeep) run() {
	defer u.done.Done()
	for {
		select {
		case <-u.signal:
		case <-u.quit:
			return
		}
		if !u.work() {
			return
		}
	}
}

// work ticks until everything is on disk; false when the store closes.
func (u *upkeep) work() bool {
	cfg := &u.s.cfg
	timer := time.NewTimer(cfg.QueueFlushInterval)
	defer timer.Stop()
	thorough := time.Now()
	for {
		select {
		case <-timer.C:
		case <-u.quit:
			return false
		}
		select { // what woke us is seen to below
		case <-u.signal:
		default:
		}
		least := int64(cfg.QueueFlushLeastPages)
		now := time.Now()
		all := now.Sub(thorough) >= cfg.QueueFlushThoroughInterval
		if all {
			least, thorough = 0, now
		}
		left, err := u.syncQueues(least)
		if err != nil {
			u.s.log.Error("store: cannot write consume queues to disk", "err", err)
		}
		if err := u.syncIndex(); err != nil {
			u.s.log.Error("store: cannot write the index to disk", "err", err)
		}
		if !cfg.Compat49 || all {
			if err := u.s.cp.write(false); err != nil {
				u.s.log.Error("store: cannot write the checkpoint", "err", err)
			}
		}
		if left == 0 && (!cfg.Compat49 || all) {
			return true
		}
		timer.Reset(cfg.QueueFlushInterval)
	}
}

// syncQueues writes those queues to disk that have so many pages of new units, and tells how many are left.
func (u *upkeep) syncQueues(leastPages int64) (left int, err error) {
	u.mu.Lock()
	work := u.queues
	u.queues = nil
	u.mu.Unlock()
	var rest []*queue
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, q := range work {
		if q.deleted.Load() {
			continue
		}
		if q.Unsynced()*q.UnitSize() < leastPages*4096 {
			rest = append(rest, q)
			continue
		}
		g.Go(func() error {
			q.listed.Store(false)
			err := q.Sync()
			if err != nil && !q.deleted.Load() {
				u.note(q)
				return err
			}
			return nil
		})
	}
	err = g.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queues = append(u.queues, rest...)
	return len(u.queues), err
}

// syncIndex writes index files to disk that became full.
func (u *upkeep) syncIndex() error {
	if u.s.ix == nil {
		return nil
	}
	for _, f := range u.s.ix.TakeFull() {
		end, err := f.Sync()
		if err != nil {
			return err
		}
		u.s.cp.index.Store(end)
	}
	return nil
}

// stop writes everything to disk and ends the upkeep.
func (u *upkeep) stop() error {
	close(u.quit)
	u.done.Wait()
	_, err := u.syncQueues(0)
	return errors.Join(err, u.syncIndex())
}
