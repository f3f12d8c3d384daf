// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"sync"
	"time"
)

// waiter is a put that is answered when something has come to a place in the log: the flusher, or slaves.
type waiter struct {
	end      int64
	slaves   int // how many of them have to have it
	deadline time.Time
	res      PutResult
	done     func(PutResult)
}

// waitlist answers those who wait, at their deadline with another status. The list is in the order of deadlines.
type waitlist struct {
	late PutStatus

	mu       sync.Mutex
	waiters  []waiter
	watchdog *time.Timer // for the oldest waiter; nil until one waited

	completing sync.Mutex // held while ready is in use
	ready      []waiter
}

func (l *waitlist) add(w waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters = append(l.waiters, w)
	if len(l.waiters) == 1 {
		l.arm(w.deadline)
	}
}

// arm starts the watchdog; l.mu is held.
func (l *waitlist) arm(deadline time.Time) {
	d := time.Until(deadline)
	if l.watchdog == nil {
		l.watchdog = time.AfterFunc(d, l.expire)
		return
	}
	l.watchdog.Reset(d)
}

// expire answers those who waited too long: a device or a slave that hangs must not hold senders for ever.
func (l *waitlist) expire() {
	now := time.Now()
	l.complete(func(w *waiter) bool { return !w.deadline.After(now) }, func(*waiter) bool { return false })
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiters) > 0 {
		l.arm(l.waiters[0].deadline)
	}
}

// complete answers everybody who is over, well if he has reached what he waits for.
func (l *waitlist) complete(over, reached func(*waiter) bool) {
	l.completing.Lock()
	defer l.completing.Unlock()
	l.mu.Lock()
	rest := l.waiters[:0]
	for i := range l.waiters {
		if w := &l.waiters[i]; over(w) {
			l.ready = append(l.ready, *w)
		} else {
			rest = append(rest, *w)
		}
	}
	clear(l.waiters[len(rest):])
	l.waiters = rest
	if len(rest) == 0 && l.watchdog != nil {
		l.watchdog.Stop()
	}
	l.mu.Unlock()
	for i := range l.ready {
		w := &l.ready[i]
		if !reached(w) {
			w.res.Status = l.late
		}
		w.done(w.res)
	}
	clear(l.ready)
	l.ready = l.ready[:0]
}
