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

	orders chan chan struct{} // to write everything to disk at once

	atOnce int // how many queues are written to disk at the same time

	mu     sync.Mutex
	queues []*queue // with units that are not on disk
	at     mark     // the units of records before are written
}

// mark is a place in the log, behind a record that was stored at time (ms).
type mark struct{ pos, time int64 }

func (m mark) before(o mark) mark {
	if m.pos < o.pos {
		return m
	}
	return o
}

func (u *upkeep) init(s *Store) {
	u.s = s
	u.signal = make(chan struct{}, 1)
	u.quit = make(chan struct{})
	u.atOnce = syncsAtOnce
	u.orders = make(chan chan struct{})
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
	q.since = u.at
	u.queues = append(u.queues, q)
	u.mu.Unlock()
}

// reach says that all units of the records before a place are written, and their queues noted.
func (u *upkeep) reach(m mark) {
	u.mu.Lock()
	u.at = m
	u.mu.Unlock()
}

// cut says that the log ends at a place: more cannot be on disk.
func (u *upkeep) cut(m mark) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.at = m.before(u.at)
	for _, q := range u.queues {
		q.since = m.before(q.since)
	}
}

// writeAll has all queues and the checkpoint written to disk: what the queues remember of messages that are about to be
// deleted from the log cannot be made again. False if quit is closed first.
func (u *upkeep) writeAll(quit <-chan struct{}) bool {
	done := make(chan struct{})
	select {
	case u.orders <- done:
	case <-quit:
		return false
	}
	select {
	case <-done:
		return true
	case <-quit:
		return false
	}
}

func (u *upkeep) run() {
	defer u.done.Done()
	for {
		select {
		case <-u.signal:
		case done := <-u.orders:
			u.round(true)
			close(done)
			continue
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
	timer := time.NewTimer(u.s.flushing().QueueInterval)
	defer timer.Stop()
	thorough := time.Now()
	for {
		select {
		case <-timer.C:
		case done := <-u.orders:
			u.round(true)
			close(done)
			continue
		case <-u.quit:
			return false
		}
		select { // what woke us is seen to below
		case <-u.signal:
		default:
		}
		now := time.Now()
		rules := u.s.flushing()
		all := now.Sub(thorough) >= rules.QueueThoroughInterval
		if all {
			thorough = now
		}
		if u.round(all) == 0 && (!u.s.cfg.Compat49 || all) {
			return true
		}
		timer.Reset(rules.QueueInterval)
	}
}

// round writes to disk what is due, or all, and tells how many queues are left.
func (u *upkeep) round(all bool) (left int) {
	cfg := &u.s.cfg
	least := int64(u.s.flushing().QueueLeastPages)
	if all {
		least = 0
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
	return left
}

// syncQueues writes those queues to disk that have so many pages of new units, and tells how many are left. The checkpoint
// may promise what lies before the first unit that is not on disk.
func (u *upkeep) syncQueues(leastPages int64) (left int, err error) {
	u.mu.Lock()
	work, safe := u.queues, u.at
	u.queues = nil
	u.mu.Unlock()
	var rest []*queue
	var g errgroup.Group
	g.SetLimit(u.atOnce)
	for _, q := range work {
		if q.deleted.Load() {
			continue
		}
		if q.Unsynced()*q.UnitSize() < leastPages*4096 {
			rest = append(rest, q)
			continue
		}
		g.Go(func() error {
			since := q.since // whoever lists the queue from now on changes it
			q.listed.Store(false)
			err := q.Sync()
			if err == nil || q.deleted.Load() {
				return nil
			}
			u.note(q)
			u.mu.Lock()
			q.since = since
			safe = safe.before(since)
			u.mu.Unlock()
			return err
		})
	}
	err = g.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, q := range rest {
		safe = safe.before(q.since)
	}
	u.queues = append(u.queues, rest...)
	u.s.cp.queuesSafe(safe)
	return len(u.queues), err
}

// syncIndex writes index files to disk that became full.
func (u *upkeep) syncIndex() error {
	if u.s.ix == nil {
		return nil
	}
	return u.s.ix.SyncFull(u.s.cl.Flushed(), u.s.cp.index.Store)
}

// stop writes everything to disk and ends the upkeep.
func (u *upkeep) stop() error {
	close(u.quit)
	u.done.Wait()
	_, err := u.syncQueues(0)
	return errors.Join(err, u.syncIndex())
}
