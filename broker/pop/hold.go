// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/broker/longpoll"
	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

// Polling bounds what is held.
type Polling struct {
	PerQueue int   // popPollingSize: of one group, topic and queue id
	Queues   int   // popPollingMapSize: groups with their topics
	All      int64 // maxPopPollingSize
	// Force is popLongPollingForceNotifyInterval: each message whose offset it divides wakes, whatever the filter says, so
	// that the group passes those that do not match.
	Force int64
	Off   bool // longPollingEnable=false
}

const (
	wakers = 4
	// heldBytes bounds the expressions that held requests bring.
	heldBytes = 256 << 20
)

// Waiter is a held request. The strings are owned.
type Waiter struct {
	Topic, Group string
	Queue        int32
	Deadline     int64 // ms
	Match        store.Matcher
	Size         int // of the expression, bytes
	Channel      remoting.Channel
	// Wake is called once, on a goroutine of the holder; in the end without news. It may hold the waiter again.
	Wake func(expired bool)

	place   *place
	element *list.Element // of place.queues
	index   int           // in Holder.deadlines
	expired bool
}

// Holder holds requests until a message arrives or their time is over. A held request is one small struct: no goroutine,
// no timer. Its methods may be called at the same time.
type Holder struct {
	now   func() time.Time
	rules func() Polling
	held  atomic.Int64

	mu        sync.Mutex
	bytes     int64
	places    map[placeKey]*place
	topics    map[string]map[*place]struct{} // by the topics whose arrivals wake, retry topics included
	deadlines deadlines
	woken     []*Waiter
	kick      chan struct{} // an earlier deadline
	signal    chan struct{} // something is woken
}

type placeKey struct{ topic, group string }

// place is what a group waits for at a topic.
type place struct {
	placeKey
	queues map[int32]*list.List
	count  int
}

func newHolder(now func() time.Time, rules func() Polling) *Holder {
	return &Holder{
		now: now, rules: rules, places: map[placeKey]*place{}, topics: map[string]map[*place]struct{}{},
		kick: make(chan struct{}, 1), signal: make(chan struct{}, wakers),
	}
}

// Hold keeps a waiter until it is woken; false if there is no room. Whoever holds has to look again for news that came in
// between, and to call Wake if there are some.
func (h *Holder) Hold(w *Waiter) bool {
	rules := h.rules()
	h.mu.Lock()
	defer h.mu.Unlock()
	key := placeKey{w.Topic, w.Group}
	p := h.places[key]
	switch {
	case rules.Off, h.held.Load() >= rules.All, h.bytes+int64(w.Size) > heldBytes, p == nil && len(h.places) >= rules.Queues:
		return false
	case p == nil:
		p = &place{placeKey: key, queues: map[int32]*list.List{}}
		h.places[key] = p
		for _, topic := range p.topics() {
			if h.topics[topic] == nil {
				h.topics[topic] = map[*place]struct{}{}
			}
			h.topics[topic][p] = struct{}{}
		}
	}
	queue := p.queues[w.Queue]
	if queue == nil {
		queue = list.New()
		p.queues[w.Queue] = queue
	}
	if queue.Len() >= max(rules.PerQueue, 1) {
		return false // the place has others
	}
	w.place, w.element, w.expired = p, queue.PushBack(w), false
	p.count++
	h.held.Add(1)
	h.bytes += int64(w.Size)
	heap.Push(&h.deadlines, w)
	if w.index == 0 {
		signal(h.kick)
	}
	return true
}

// topics are those whose arrivals concern a place.
func (p *place) topics() [3]string {
	return [...]string{p.topic, RetryTopic(p.topic, p.group, false), RetryTopic(p.topic, p.group, true)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Held is how many are held, and how many of them for one queue id of a group and topic.
func (h *Holder) Held() int { return int(h.held.Load()) }

// HeldAt is Held for one queue id of a group and topic.
func (h *Holder) HeldAt(topic, group string, queue int32) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.places[placeKey{topic, group}]; p != nil && p.queues[queue] != nil {
		return p.queues[queue].Len()
	}
	return 0
}

// arrived wakes, of each group that waits for a's topic, one that waits for any queue and one that waits for a's.
func (h *Holder) arrived(a *store.Arrival) {
	if h.held.Load() == 0 {
		return
	}
	rules := h.rules()
	h.mu.Lock()
	defer h.mu.Unlock()
	if rules.Force > 0 && a.Offset%rules.Force == 0 {
		a = &store.Arrival{Topic: a.Topic, QueueID: a.QueueID, Offset: a.Offset, StoreTime: -1}
	}
	for p := range h.topics[a.Topic] {
		h.wakeLocked(p, AnyQueue, a)
		if a.Topic == p.topic {
			h.wakeLocked(p, a.QueueID, a)
			continue
		}
		for queue := range p.queues { // all of them look at what is retried
			h.wakeLocked(p, queue, a)
		}
	}
}

// Wake wakes one that waits for any queue of a topic, and one that waits for the given one.
func (h *Holder) Wake(topic, group string, queue int32) {
	if h.held.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.places[placeKey{topic, group}]
	if p == nil {
		return
	}
	h.wakeLocked(p, AnyQueue, nil)
	if queue != AnyQueue {
		h.wakeLocked(p, queue, nil)
		return
	}
	for queue := range p.queues {
		h.wakeLocked(p, queue, nil)
	}
}

// wakeAll wakes all.
func (h *Holder) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.deadlines) > 0 {
		w := h.deadlines[0]
		h.removeLocked(w)
		h.wokenLocked(w)
	}
}

// wakeLocked wakes the first of a list that matches the arrival; nil: whatever it waits for. Those whose connection is gone
// are dropped.
func (h *Holder) wakeLocked(p *place, queue int32, a *store.Arrival) {
	l := p.queues[queue]
	if l == nil {
		return
	}
	for e := l.Front(); e != nil; {
		w := e.Value.(*Waiter)
		e = e.Next()
		switch {
		case gone(w.Channel):
			h.removeLocked(w)
		case a == nil || a.StoreTime < 0 || longpoll.Matches(w.Match, a):
			h.removeLocked(w)
			h.wokenLocked(w)
			return
		}
	}
}

func gone(c remoting.Channel) bool {
	if c == nil {
		return false
	}
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func (h *Holder) wokenLocked(w *Waiter) {
	h.woken = append(h.woken, w)
	signal(h.signal)
}

func (h *Holder) removeLocked(w *Waiter) {
	p := w.place
	l := p.queues[w.Queue]
	l.Remove(w.element)
	if l.Len() == 0 {
		delete(p.queues, w.Queue)
	}
	heap.Remove(&h.deadlines, w.index)
	h.held.Add(-1)
	h.bytes -= int64(w.Size)
	if p.count--; p.count > 0 {
		return
	}
	delete(h.places, p.placeKey)
	for _, topic := range p.topics() {
		if delete(h.topics[topic], p); len(h.topics[topic]) == 0 {
			delete(h.topics, topic)
		}
	}
}

// run wakes those that are due, and calls those that are woken, until ctx ends.
func (h *Holder) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for range wakers {
		g.Go(func() error { return h.call(ctx) })
	}
	g.Go(func() error { return h.expire(ctx) })
	return g.Wait()
}

func (h *Holder) call(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.signal:
		}
		for w := h.take(); w != nil; w = h.take() {
			if !gone(w.Channel) {
				w.Wake(w.expired)
			}
		}
	}
}

// take gives the next one that is woken.
func (h *Holder) take() *Waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.woken) == 0 {
		return nil
	}
	w := h.woken[0]
	h.woken[0] = nil
	if h.woken = h.woken[1:]; len(h.woken) > 0 {
		signal(h.signal) // one goroutine may not be enough
	} else {
		h.woken = nil
	}
	return w
}

// never is a wait until something is held.
const never = time.Hour

func (h *Holder) expire(ctx context.Context) error {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		timer.Reset(h.expireDue())
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-h.kick:
		}
	}
}

// expireDue wakes all whose time is over and tells how long it is until the next one.
func (h *Holder) expireDue() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now().UnixMilli()
	for len(h.deadlines) > 0 {
		w := h.deadlines[0]
		if w.Deadline > now {
			return min(time.Duration(w.Deadline-now)*time.Millisecond, never)
		}
		h.removeLocked(w)
		w.expired = true
		h.wokenLocked(w)
	}
	return never
}

// deadlines is a heap.
type deadlines []*Waiter

func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].Deadline < d[j].Deadline }
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

func (d *deadlines) Push(x any) {
	w := x.(*Waiter)
	w.index = len(*d)
	*d = append(*d, w)
}

func (d *deadlines) Pop() any {
	last := len(*d) - 1
	w := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return w
}
