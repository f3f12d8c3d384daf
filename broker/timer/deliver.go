// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"slices"
	"sync"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/timerlog"
)

const (
	// longestSleep bounds a sleep, so that a jump of the wall clock is noticed.
	longestSleep = 30 * time.Second
	// maxInFlight is how many puts may wait for their result.
	maxInFlight = 2000
	// keptItems is how much memory a large slot may leave behind.
	keptItems = 16 << 10
	// postponed is how much later a message is tried again that the store refuses for its own sake.
	postponed = 10 * time.Second
	// cleanEvery is the pause between two looks for files of the log that nobody needs.
	cleanEvery = 30 * time.Second
)

// work is what the goroutine of Run needs.
type work struct {
	next      int64              // queue offset of the first message that was not looked at
	known     map[int64]struct{} // messages from next on that are entered, after a crash
	again     int64              // messages before were entered, but their units may be lost
	againRead int64              // ms: and those due before were delivered

	arrivals []arrival
	entered  int    // of arrivals
	late     []item // due already

	slot struct {
		time  int64
		open  bool
		todo  []item
		taken map[string]struct{}
	}
	failed   []item
	outcomes []outcome
	flights  flights

	tries      int // of a queue unit
	complained time.Time
	cleaned    time.Time

	// of one message
	buf, key, encoded []byte
	numbers           [3][]byte
	props             put.Properties
	out               message.Message
}

// follow enters and delivers until ctx ends.
func (s *Service) follow(ctx context.Context) {
	s.work.cleaned = time.Now()
	s.deliverDue(ctx) // before what arrived while nobody delivered
	caughtUp := s.catchUp()
	pause := time.Duration(s.tick) * time.Millisecond / 10
	due, again := time.NewTimer(0), time.NewTimer(0)
	defer due.Stop()
	defer again.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		wait := min(s.enterArrived(ctx, caughtUp), s.deliverDue(ctx))
		s.clean()
		due.Stop()
		if wait != never {
			due.Reset(min(wait, longestSleep))
		}
		select {
		case <-ctx.Done():
		case <-due.C:
		case <-s.wake:
			// Under load one look serves many messages.
			again.Reset(pause - time.Since(began))
			select {
			case <-ctx.Done():
			case <-due.C:
			case <-again.C:
			}
		}
	}
}

// deliverDue delivers all slots that are due and tells how long it is until the next one.
func (s *Service) deliverDue(ctx context.Context) time.Duration {
	for ctx.Err() == nil {
		if !s.work.slot.open {
			if wait := s.openSlot(); wait > 0 {
				return wait
			}
		}
		if !s.deliverSlot() {
			return retryAfter
		}
	}
	return never
}

// openSlot reads the first slot if it is due. Otherwise it tells how long it is until then.
func (s *Service) openSlot() (wait time.Duration) {
	s.mu.Lock()
	now := s.now()
	// When the clock was set back, the slots between are empty: they have been delivered.
	s.read = min(s.read, now)
	next, ok := s.files.Wheel.Next(s.read)
	if !ok || next >= now {
		s.read = now
	}
	s.mu.Unlock()
	switch {
	case !ok:
		return never
	case next >= now:
		return max(time.UnixMilli(next+s.tick).Sub(s.o.Now()), 1)
	}
	slot := &s.work.slot
	slot.time, slot.open, slot.todo = next, true, slot.todo[:0]
	whole := s.files.List(next, func(u *timerlog.Unit) {
		slot.todo = append(slot.todo, item{
			phy: u.PhyOffset, write: u.WriteTime, size: u.Size, magic: u.Magic, hash: u.TopicHash,
		})
	})
	if !whole {
		s.o.Log.Error("timer messages are missing: the timer log does not have all that it should", "slot", next,
			"found", len(slot.todo))
	}
	slices.Reverse(slot.todo) // the order in which they arrived
	if next < s.theirs.before {
		s.passOver(next, &slot.todo)
	}
	slot.taken = s.takeBack(&slot.todo, 1)
	return 0
}

// takeBack takes those messages out of a list that take back others, and returns the keys of these. counted is what each
// of them took from the count of its topic.
func (s *Service) takeBack(items *[]item, counted int64) (taken map[string]struct{}) {
	kept := (*items)[:0]
	for _, it := range *items {
		if !it.deletes() || it.rolls() {
			kept = append(kept, it)
			continue
		}
		m, why := s.work.message(s, it)
		if why != "" {
			s.skip(it, why)
			s.counts.add(s.counts.ofHash(it.hash), counted)
			continue
		}
		s.counts.add(s.counts.of(m.topic), counted)
		if taken == nil {
			taken = map[string]struct{}{}
		}
		taken[string(m.takes)] = struct{}{}
	}
	*items = kept
	return taken
}

// deliverSlot delivers what is left of the open slot; false if it must be tried again.
func (s *Service) deliverSlot() bool {
	w := &s.work
	s.deliver(w.slot.todo, w.slot.taken, false)
	w.slot.todo = append(w.slot.todo[:0], w.failed...)
	w.failed = w.failed[:0]
	if n := len(w.slot.todo); n > 0 {
		s.complain("timer messages cannot be stored, will be tried again", "messages", n)
		return false
	}
	if err := s.enter(); err != nil {
		s.o.Log.Error("timer messages cannot be put off, will be tried again", "err", err)
		return false
	}
	s.closeSlot()
	return true
}

func (s *Service) closeSlot() {
	slot := &s.work.slot
	slot.open, slot.taken = false, nil
	if cap(slot.todo) > keptItems {
		slot.todo, s.work.outcomes, s.work.failed = nil, nil, nil
		s.files.Log.Forget()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept, ok := s.files.Wheel.Slot(slot.time); ok {
		s.pending.Add(-int64(kept.Num))
	}
	s.files.Wheel.Clear(slot.time)
	s.read = slot.time + s.tick
	if err := s.files.Check.WriteReadTime(s.read); err != nil {
		s.o.Log.Error("timer checkpoint not written", "err", err)
	}
	signal(s.changed)
}

// deliver puts messages and waits for the results. Those to be tried again are in work.failed then; those that the store
// refuses for their own sake have been put off. Late ones were never counted.
func (s *Service) deliver(items []item, taken map[string]struct{}, late bool) {
	w := &s.work
	w.outcomes = slices.Grow(w.outcomes[:0], len(items))[:len(items)]
	clear(w.outcomes)
	for i, it := range items {
		o := &w.outcomes[i]
		m, why := w.message(s, it)
		if why != "" {
			if !late {
				o.count = s.counts.ofHash(it.hash)
			}
			s.skip(it, why)
			continue
		}
		o.topic = s.counts.of(m.topic)
		if !late {
			o.count = o.topic
		}
		if w.isTaken(&m, taken) {
			s.stats.taken.Add(1)
			continue
		}
		if s.acts && it.rolls() {
			o.rest = m.out
			continue
		}
		s.o.Put(w.outgoing(&m, it, s.o.Now().UnixMilli()), w.flights.start(o))
	}
	w.flights.wait()
	for i, it := range items {
		s.settle(it, &w.outcomes[i])
	}
}

// outcome is what became of an item.
type outcome struct {
	count  *count // of which it is taken off when it is done with
	topic  *count
	put    bool
	status store.PutStatus
	rest   int64 // ms: not 0, it waits on here until then
}

// settle decides by the result of a put whether the item is done with.
func (s *Service) settle(it item, o *outcome) {
	w := &s.work
	if o.put {
		switch o.status {
		case store.PutOK, store.FlushDiskTimeout, store.FlushSlaveTimeout, store.SlaveNotAvailable:
			s.delivered.add(1, s.o.Now())
			o.topic.delivered.Add(1)
			if it.rolls() {
				s.stats.rolled.Add(1)
			}
		case store.MessageIllegal, store.PropertiesSizeExceeded:
			s.skip(it, "the store can never take it", "status", o.status)
		case store.UnknownError, store.LMQQueueNumExceeded:
			s.stats.retried.Add(1)
			if o.status == store.UnknownError && s.o.SkipUnknown != nil && s.o.SkipUnknown() {
				s.skip(it, "the store does not take it", "status", o.status)
				break
			}
			// Nothing is held up by one message.
			it.write = s.now()
			w.arrive(it, it.write+postponed.Milliseconds()/s.tick*s.tick, s.counts.ofHash(it.hash))
		default:
			s.stats.retried.Add(1)
			w.failed = append(w.failed, it)
			return
		}
	}
	if o.rest != 0 {
		it.write, it.magic = s.now(), it.magic&^timerlog.MagicRoll
		s.await(it, o.rest, o.topic)
	}
	s.counts.add(o.count, -it.weight())
}

// flights are the puts whose results are awaited.
type flights struct {
	mu     sync.Mutex
	flying int
	free   []*flight
	landed chan struct{} // has an element when a result came
}

// flight is one put; it is used again and again.
type flight struct {
	all  *flights
	to   *outcome
	done func(store.PutResult)
}

// start waits until there is room for a put, and returns what takes its result.
func (f *flights) start(to *outcome) func(store.PutResult) {
	to.put = true
	f.mu.Lock()
	for f.flying >= maxInFlight {
		f.mu.Unlock()
		<-f.landed
		f.mu.Lock()
	}
	f.flying++
	var one *flight
	if n := len(f.free); n > 0 {
		one, f.free = f.free[n-1], f.free[:n-1]
	} else {
		one = &flight{all: f}
		one.done = one.land
	}
	one.to = to
	f.mu.Unlock()
	return one.done
}

func (o *flight) land(r store.PutResult) {
	f := o.all
	f.mu.Lock()
	o.to.status = r.Status
	o.to = nil
	f.free = append(f.free, o)
	f.flying--
	f.mu.Unlock()
	signal(f.landed)
}

// wait waits for all results.
func (f *flights) wait() {
	f.mu.Lock()
	for f.flying > 0 {
		f.mu.Unlock()
		<-f.landed
		f.mu.Lock()
	}
	f.mu.Unlock()
}

// clean deletes files of the log whose messages the commit log does not have any more.
func (s *Service) clean() {
	if time.Since(s.work.cleaned) < cleanEvery {
		return
	}
	s.work.cleaned = time.Now()
	n, err := s.files.Log.DeleteBefore(s.o.Store.MinPhyOffset())
	if err != nil {
		s.o.Log.Error("timer log files not deleted", "err", err)
	}
	if n > 0 {
		s.o.Log.Info("timer log files deleted: the commit log does not have their messages any more", "files", n)
	}
}
