// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

const (
	// retryAfter is the pause after a failed put, and before looking again at a unit that cannot be read yet.
	retryAfter = 100 * time.Millisecond
	// longestSleep bounds a sleep, so that a jump of the wall clock is noticed.
	longestSleep = 30 * time.Second
	// warnAgain is the pause between two warnings about the same message.
	warnAgain = 10 * time.Second
	// maxInFlight is how many puts of a level may wait for their result.
	maxInFlight = 2000
)

// Properties of a delayed message.
const (
	propRealTopic = "REAL_TOPIC"
	propRealQueue = "REAL_QID"
	transHalf     = "RMQ_SYS_TRANS_HALF_TOPIC"
)

// level delivers one queue of the schedule topic.
type level struct {
	s       *Service
	queueID int32
	delay   time.Duration

	wake chan struct{}
	idle atomic.Bool // nothing is waited for but an arrival

	buf []byte // the record that is being put

	mu      sync.Mutex
	next    int64  // first offset that is not delivered; what the file holds
	seen    bool   // the queue held a message at some time
	results []bool // of the puts in flight: [i] is offset next+i, true when stored
	flying  int
	failed  bool          // a put in flight failed: nothing behind it may be issued
	settled chan struct{} // has an element when a result came in

	warned   int64 // the offset whose failure was last told, guarded by mu
	warnedAt time.Time
}

func newLevel(s *Service, queueID int32, delay time.Duration) *level {
	return &level{s: s, queueID: queueID, delay: delay, wake: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
}

func (l *level) load(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.seen = offset, true
}

// position is the next offset to be delivered, and whether the level was ever used.
func (l *level) position() (next int64, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, l.seen
}

// wakeUp makes an idle level look at its queue. A level that sleeps until its first unit is due need not wake: what
// arrives is due later.
func (l *level) wakeUp() {
	if l.idle.Load() {
		signal(l.wake)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (l *level) run(ctx context.Context, caughtUp func() bool) {
	timer := time.NewTimer(longestSleep)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait := l.deliver(ctx, caughtUp)
		if wait == never {
			l.idle.Store(true)
			// An arrival between the look at the queue and here did not wake.
			if next, _ := l.position(); l.s.o.Store.MaxOffset(Topic, l.queueID) > next {
				wait = 0
			}
		}
		var due <-chan time.Time
		if wait != never {
			timer.Reset(min(wait, longestSleep))
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-due:
		case <-l.wake:
		}
		l.idle.Store(false)
	}
	l.settle(context.Background())
}

// deliver puts everything that is due and returns how long to sleep then.
func (l *level) deliver(ctx context.Context, caughtUp func() bool) time.Duration {
	offset, ok := l.begin(caughtUp)
	if !ok {
		return retryAfter
	}
	end := l.s.o.Store.MaxOffset(Topic, l.queueID)
	wait := never
	for offset < end && ctx.Err() == nil {
		unit, ok := l.s.o.Store.Unit(Topic, l.queueID, offset)
		if !ok {
			wait = retryAfter
			break
		}
		if wait = l.untilDue(unit); wait > 0 {
			break
		}
		wait = never
		if !l.roomFor(ctx) {
			break
		}
		l.put(offset, unit)
		offset++
		if offset == end {
			end = l.s.o.Store.MaxOffset(Topic, l.queueID)
		}
	}
	if failed := l.settle(ctx); failed {
		return retryAfter
	}
	return wait
}

// begin gives the offset to go on with. It corrects one that is outside the queue: messages were deleted, or the file
// is older or newer than the queue. False: it cannot be told yet.
func (l *level) begin(caughtUp func() bool) (offset int64, ok bool) {
	least, end := l.s.o.Store.MinOffset(Topic, l.queueID), l.s.o.Store.MaxOffset(Topic, l.queueID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next > end && !caughtUp() {
		return 0, false
	}
	right := max(min(l.next, end), least)
	if right != l.next {
		l.s.o.Log.Warn("delay offset corrected", "level", l.queueID+1, "was", l.next, "min", least, "max", end)
		l.next = right
		l.seen = true
		l.s.moved()
	}
	if end > least && !l.seen {
		l.seen = true
		l.s.moved()
	}
	return l.next, true
}

// untilDue tells how long a unit still has to wait. A due time beyond the level's whole delay can only come from
// another level table or clock: it is due now.
func (l *level) untilDue(u store.Unit) time.Duration {
	left := time.UnixMilli(u.TagsCode).Sub(l.s.o.Now())
	if left > l.delay {
		return 0
	}
	return left
}

// roomFor waits until another put may be issued. False: none may, because one failed or ctx ended.
func (l *level) roomFor(ctx context.Context) bool {
	for {
		l.mu.Lock()
		failed, full := l.failed, l.flying >= maxInFlight
		l.mu.Unlock()
		if failed {
			return false
		}
		if !full {
			return true
		}
		select {
		case <-l.settled:
		case <-ctx.Done():
			return false
		}
	}
}

// put issues the put of one message.
func (l *level) put(offset int64, u store.Unit) {
	l.mu.Lock()
	l.results = append(l.results, false)
	l.flying++
	l.mu.Unlock()
	m, why := l.read(u)
	if m == nil {
		if why != "" {
			l.s.skipped.Add(1)
			l.s.o.Log.Error("delayed message cannot be delivered, skipped", "why", why, "level", l.queueID+1,
				"queueOffset", offset, "commitLogOffset", u.PhyOffset)
		}
		l.result(offset, true)
		return
	}
	topic := m.Topic
	l.s.o.Put(m, func(r store.PutResult) {
		switch r.Status {
		case store.PutOK, store.FlushDiskTimeout, store.FlushSlaveTimeout, store.SlaveNotAvailable:
			l.s.delivered.Add(1)
			if l.s.o.Delivered != nil {
				l.s.o.Delivered(topic, int(r.Size))
			}
			l.result(offset, true)
		case store.MessageIllegal, store.PropertiesSizeExceeded:
			// No later try can succeed, and it would hold back all messages behind it.
			l.s.skipped.Add(1)
			l.s.o.Log.Error("delayed message can never be stored, skipped", "status", r.Status, "level", l.queueID+1,
				"queueOffset", offset, "commitLogOffset", u.PhyOffset)
			l.result(offset, true)
		default:
			l.s.retried.Add(1)
			l.warn(offset, r.Status)
			l.result(offset, false)
		}
	})
}

// warn tells of a failed put, but not each time of the same one.
func (l *level) warn(offset int64, status store.PutStatus) {
	l.mu.Lock()
	now := l.s.o.Now()
	quiet := l.warned == offset && now.Sub(l.warnedAt) < warnAgain
	if !quiet {
		l.warned, l.warnedAt = offset, now
	}
	l.mu.Unlock()
	if !quiet {
		l.s.o.Log.Warn("delayed message not delivered, will be tried again", "status", status,
			"level", l.queueID+1, "queueOffset", offset)
	}
}

// result enters the outcome of a put and moves next over everything that is delivered.
func (l *level) result(offset int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying--
	if !ok {
		l.failed = true
	} else {
		l.results[offset-l.next] = true
		n := 0
		for n < len(l.results) && l.results[n] {
			n++
		}
		if n > 0 {
			l.results = l.results[:copy(l.results, l.results[n:])]
			l.next += int64(n)
			l.s.moved()
		}
	}
	signal(l.settled)
}

// settle waits for the puts in flight and tells whether one failed. What was stored behind it is forgotten and will be
// delivered again.
func (l *level) settle(ctx context.Context) (failed bool) {
	for {
		l.mu.Lock()
		if l.flying == 0 {
			failed = l.failed
			l.failed = false
			l.results = l.results[:0]
			l.mu.Unlock()
			return failed
		}
		l.mu.Unlock()
		select {
		case <-l.settled:
		case <-ctx.Done():
			return false
		}
	}
}

// read makes the message that is to be put. Nil with a reason: it cannot be; nil without: it must not be.
func (l *level) read(u store.Unit) (m *message.Message, why string) {
	var ok bool
	if l.buf, ok = l.s.o.Store.Record(l.buf[:0], u.PhyOffset, u.Size); !ok {
		return nil, "not in the log any more"
	}
	r, err := message.ParseRecord(l.buf)
	if err != nil {
		return nil, err.Error()
	}
	topic, _ := message.Property(r.Properties, propRealTopic)
	if len(topic) == 0 {
		return nil, "property REAL_TOPIC is missing"
	}
	if string(topic) == transHalf {
		return nil, ""
	}
	queue, _ := message.Property(r.Properties, propRealQueue)
	queueID, err := strconv.ParseInt(string(queue), 10, 32)
	if err != nil {
		return nil, "property REAL_QID is not a number"
	}
	msg := r.Message()
	msg.Topic, msg.QueueID, msg.PreparedTransactionOffset = string(topic), int32(queueID), 0
	return &msg, ""
}
