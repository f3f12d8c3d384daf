// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// flusher writes the commit log to disk. With SyncFlush one write serves everybody who waits (group commit); else it
// works Flushing.Interval after something was appended, by the rules of Java's asynchronous flush. An idle store has no
// timer running.
type flusher struct {
	s       *Store
	signal  chan struct{}
	quit    chan struct{}
	done    sync.WaitGroup
	isDirty atomic.Bool // async: the flusher knows that there is something

	waiting waitlist // with SyncFlush

	bad    error // the last flush failed
	noted  mark  // the end of the log when a flush began
	toDisk func(leastPages int) error
}

// slowFlush is how long a write to disk must take to be worth a line.
const slowFlush = time.Second

func (f *flusher) init(s *Store) {
	f.s = s
	f.signal = make(chan struct{}, 1)
	f.quit = make(chan struct{})
	f.waiting.late = FlushDiskTimeout
}

func (f *flusher) wake() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// dirty tells that something was appended; all but the first call since the log was clean cost next to nothing.
func (f *flusher) dirty() {
	if !f.isDirty.Load() && f.isDirty.CompareAndSwap(false, true) {
		f.wake()
	}
}

// await answers a put once it is on disk, or at once if the sender does not want to wait.
func (f *flusher) await(res PutResult, wait bool, done func(PutResult)) {
	if !wait {
		f.wake()
		done(res)
		return
	}
	f.waiting.add(waiter{
		end: res.PhyOffset + int64(res.Size), deadline: time.Now().Add(f.s.flushing().SyncTimeout), res: res, done: done,
	})
	f.wake()
}

// complete answers everybody whose message is on disk, or all with a failure.
func (f *flusher) complete(flushed int64, failed bool) {
	onDisk := func(w *waiter) bool { return w.end <= flushed }
	f.waiting.complete(func(w *waiter) bool { return failed || onDisk(w) }, onDisk)
}

func (f *flusher) run() {
	defer f.done.Done()
	for {
		select {
		case <-f.signal:
		case <-f.quit:
			return
		}
		if f.s.cfg.SyncFlush {
			f.group()
		} else if !f.async() {
			return
		}
	}
}

// group flushes all that was appended so far and answers those who wait for it. Meanwhile the next group gathers.
func (f *flusher) group() {
	err := f.flush(0)
	f.s.dispatch.wake()
	f.complete(f.s.cl.Flushed(), err != nil)
}

// async flushes until the log is clean; false when the store closes.
func (f *flusher) async() bool {
	timer := time.NewTimer(f.s.flushing().Interval)
	defer timer.Stop()
	thorough := time.Now()
	for {
		select {
		case <-timer.C:
		case <-f.quit:
			return false
		}
		rules := f.s.flushing()
		least := rules.LeastPages
		if now := time.Now(); now.Sub(thorough) >= rules.ThoroughInterval {
			least, thorough = 0, now
		}
		f.s.dispatch.wake() // in case a caller that wanted to dispatch did not
		_ = f.flush(least)
		if !f.s.cl.Dirty() {
			f.isDirty.Store(false)
			// an append may have come before the flag was lowered, and not have raised it
			if !f.s.cl.Dirty() || !f.isDirty.CompareAndSwap(false, true) {
				return true
			}
		}
		timer.Reset(rules.Interval)
	}
}

// flush writes the log to disk and notes the time of what is there.
func (f *flusher) flush(leastPages int) error {
	before, began := f.s.cl.Flushed(), time.Now()
	var now mark
	now.time = f.s.lastStore.Load() // before the end: it may be of an earlier record, not of a later one
	now.pos = f.s.cl.End()
	if f.noted.pos <= before {
		f.noted = now
	}
	err := f.toDisk(leastPages)
	if flushed := f.s.cl.Flushed(); flushed > before {
		took := time.Since(began)
		if f.s.cfg.Flushed != nil {
			f.s.cfg.Flushed(took)
		}
		if took >= slowFlush {
			f.s.log.Warn("store: the disk is slow", "took", took, "bytes", flushed-before)
		}
		if flushed >= now.pos {
			f.noted = now
		}
		if flushed >= f.noted.pos { // a flush may leave the last page for the next one
			f.s.cp.physic.Store(max(f.noted.time, f.s.cp.physic.Load()))
		}
		f.s.upkeep.wake()
	}
	if err != nil && f.bad == nil {
		f.s.log.Error("store: cannot write the commit log to disk", "err", err)
	}
	f.bad = err
	return err
}

// stop writes all to disk, answers everybody who waits, and ends the flusher.
func (f *flusher) stop() error {
	close(f.quit)
	f.done.Wait()
	err := f.flush(0)
	f.s.dispatch.wake()
	f.complete(f.s.cl.Flushed(), true)
	return err
}
