// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package longpoll holds pulls that found nothing until a message arrives or their time is over.
//
// A held pull is one small struct in a list per queue: no goroutine, no timer. The store's dispatcher tells of each
// arrival (Arrived); what it wakes goes through a list to the goroutines of Run, which hand it to Wake, so that the
// dispatcher never waits for a connection. Every few seconds all lists are looked through for pulls whose time is over,
// whose connection is gone, or that non-matching messages have overtaken, as a Java broker does.
package longpoll

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

// Pull is a held pull request. The strings must not be views.
type Pull struct {
	Topic      string
	QueueID    int32
	Offset     int64         // the pull waits for a message at this queue offset or later
	Match      store.Matcher // nil: everything
	Deadline   int64         // ms: at the first look after it the pull is woken without a message
	Channel    remoting.Channel
	Responder  remoting.Responder
	Group      string
	Expression string // of a pull that brought its own subscription
	Type       string // expression type, like Expression
	SubVersion int64
	MaxCount   int32
	SysFlag    int32
	Request    int32 // request code, 11 or 361
	// ByProxy tells that a proxy pulls for ProxyClient, a member of a broadcasting group.
	ByProxy     bool
	ProxyClient string

	next *Pull
}

// Options of a Holder.
type Options struct {
	Now       func() time.Time
	MaxOffset func(topic string, queueID int32) int64
	Wake      func(p *Pull) // answers the pull; called by several goroutines
	Interval  func() time.Duration
	Limit     int   // held pulls
	Bytes     int64 // of the expressions that held pulls brought themselves, default 256 MiB
}

// What a broker holds at most.
const (
	DefaultLimit = 100_000
	defaultBytes = 256 << 20
)

const (
	shardCount = 64
	wakers     = 4
	// ownSubscription is the bit of a pull's system flag that tells that it brings its own expression.
	ownSubscription = 4
)

// Holder keeps held pulls.
type Holder struct {
	o      Options
	shards [shardCount]shard
	held   atomic.Int64
	bytes  atomic.Int64 // of their expressions

	wakeMu sync.Mutex
	woken  []list // waiting for a goroutine of Run: those of one queue in each, which take turns
	head   int    // lists before are done
	signal chan struct{}
}

type shard struct {
	mu     sync.Mutex
	queues map[queueKey]*list
}

type queueKey struct {
	topic string
	id    int32
}

type list struct{ first, last *Pull }

func (l *list) push(p *Pull) {
	p.next = nil
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
}

// New makes a Holder; it wakes nothing before Run.
func New(o Options) *Holder {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Bytes == 0 {
		o.Bytes = defaultBytes
	}
	h := &Holder{o: o, signal: make(chan struct{}, wakers)}
	for i := range h.shards {
		h.shards[i].queues = map[queueKey]*list{}
	}
	return h
}

// Held is the number of pulls that are held.
func (h *Holder) Held() int { return int(h.held.Load()) }

// size is what a pull holds besides itself. The expression of a heartbeat belongs to the group.
func (p *Pull) size() int64 {
	if p.SysFlag&ownSubscription == 0 {
		return 0
	}
	return int64(len(p.Expression))
}

// Full tells that a limit is reached. Callers that ask at the same time may go beyond it by a few.
func (h *Holder) Full() bool { return h.Held() >= h.o.Limit || h.bytes.Load() >= h.o.Bytes }

// Hold keeps p until it is woken.
func (h *Holder) Hold(p *Pull) {
	h.held.Add(1)
	h.bytes.Add(p.size())
	key := queueKey{p.Topic, p.QueueID}
	s := h.shard(key)
	s.mu.Lock()
	l := s.queues[key]
	if l == nil {
		l = &list{}
		s.queues[key] = l
	}
	l.push(p)
	s.mu.Unlock()
	// A message that arrived between the pull's look at the store and its entry into the list has woken nobody.
	if max := h.o.MaxOffset(p.Topic, p.QueueID); max > p.Offset {
		h.take(key, func(q *Pull) bool { return q == p })
	}
}

// Arrived wakes the pulls that wait for a. It is called on the store's dispatcher and only moves list entries.
func (h *Holder) Arrived(a store.Arrival) {
	if h.held.Load() == 0 {
		return
	}
	now := h.o.Now().UnixMilli()
	h.take(queueKey{a.Topic, a.QueueID}, func(p *Pull) bool {
		if p.Offset > a.Offset {
			return false
		}
		return p.Deadline <= now || Matches(p.Match, &a)
	})
}

// Matches tells whether a matcher, nil for everything, chooses a message that arrived.
func Matches(m store.Matcher, a *store.Arrival) bool {
	if m == nil {
		return true
	}
	return m.MatchUnit(a.TagsCode) && (!m.NeedRecord() || m.MatchRecord(a.Properties))
}

// take moves the pulls of a queue that want tells from the held to the woken.
func (h *Holder) take(key queueKey, want func(*Pull) bool) {
	var woken list
	n, bytes := 0, int64(0)
	s := h.shard(key)
	s.mu.Lock()
	if l := s.queues[key]; l != nil {
		var kept list
		for p := l.first; p != nil; {
			next := p.next
			if want(p) {
				woken.push(p)
				n++
				bytes += p.size()
			} else {
				kept.push(p)
			}
			p = next
		}
		if *l = kept; kept.first == nil {
			delete(s.queues, key)
		}
	}
	s.mu.Unlock()
	if n > 0 {
		h.held.Add(-int64(n))
		h.bytes.Add(-bytes)
		h.enqueue(woken)
	}
}

func (h *Holder) enqueue(woken list) {
	h.wakeMu.Lock()
	h.woken = append(h.woken, woken)
	h.wakeMu.Unlock()
	h.more()
}

// more wakes a goroutine of Run, unless as many as there are know already.
func (h *Holder) more() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

// dequeue gives the next pull to be woken. The queues take turns: thousands of pulls of one do not keep those of others
// waiting.
func (h *Holder) dequeue() *Pull {
	h.wakeMu.Lock()
	defer h.wakeMu.Unlock()
	if h.head == len(h.woken) {
		return nil
	}
	l := h.woken[h.head]
	h.woken[h.head] = list{}
	h.head++
	p := l.first
	if l.first = p.next; l.first != nil {
		h.woken = append(h.woken, l)
	}
	switch {
	case h.head == len(h.woken):
		h.woken, h.head = h.woken[:0], 0
	default:
		h.more() // one waker may not be enough for many pulls
		if h.head >= 1024 && 2*h.head > len(h.woken) {
			h.woken, h.head = slices.Delete(h.woken, 0, h.head), 0
		}
	}
	p.next = nil
	return p
}

// Run wakes and looks through the lists until ctx ends.
func (h *Holder) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range wakers {
		g.Go(func() error { return h.wake(ctx) })
	}
	g.Go(func() error { return h.look(ctx) })
	return g.Wait()
}

func (h *Holder) wake(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.signal:
		}
		for p := h.dequeue(); p != nil; p = h.dequeue() {
			if !gone(p) {
				h.o.Wake(p)
			}
		}
	}
}

// look checks all queues from time to time.
func (h *Holder) look(ctx context.Context) error {
	timer := time.NewTimer(h.o.Interval())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		h.each(h.check)
		timer.Reset(h.o.Interval())
	}
}

func (h *Holder) check(key queueKey) {
	max := h.o.MaxOffset(key.topic, key.id)
	now := h.o.Now().UnixMilli()
	h.take(key, func(p *Pull) bool { return p.Offset < max || p.Deadline <= now || gone(p) })
}

func gone(p *Pull) bool {
	if p.Channel == nil {
		return false
	}
	select {
	case <-p.Channel.Done():
		return true
	default:
		return false
	}
}

// each calls do for every queue with held pulls, without holding a lock.
func (h *Holder) each(do func(queueKey)) {
	var keys []queueKey
	for i := range h.shards {
		s := &h.shards[i]
		keys = keys[:0]
		s.mu.Lock()
		for key := range s.queues {
			keys = append(keys, key)
		}
		s.mu.Unlock()
		for _, key := range keys {
			do(key)
		}
	}
}

func (h *Holder) shard(key queueKey) *shard {
	hash := uint32(key.id)
	for i := range len(key.topic) {
		hash = hash*31 + uint32(key.topic[i])
	}
	return &h.shards[hash%shardCount]
}
