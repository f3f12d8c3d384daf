// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package stats counts what goes through a broker, by topic and by group, and keeps the sums of the last minute, hour
// and day, as tools ask for them (code 315).
//
// An Item is two counters; a sample of both is taken every 10 s for the minute, every 10 min for the hour and every
// hour for the day, and a window's sum is the difference of its newest and its oldest sample, as in Java.
package stats

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting/protocol"
)

// The names of statistics.
const (
	TopicPutNums = "TOPIC_PUT_NUMS"
	TopicPutSize = "TOPIC_PUT_SIZE"
	GroupGetNums = "GROUP_GET_NUMS"
	GroupGetSize = "GROUP_GET_SIZE"
	SendBackNums = "SNDBCK_PUT_NUMS"
	BrokerPut    = "BROKER_PUT_NUMS"
	BrokerGet    = "BROKER_GET_NUMS"
)

// Samples of the windows: how often one is taken and how many are kept.
var windows = [...]struct {
	every time.Duration
	keep  int
}{{10 * time.Second, 7}, {10 * time.Minute, 7}, {time.Hour, 25}}

// Item counts one thing: a sum (messages, bytes) and how many times something was added.
type Item struct {
	sum, times atomic.Int64

	mu      sync.Mutex
	samples [len(windows)][]sample
}

type sample struct {
	at         time.Time
	sum, times int64
}

// Add counts.
func (i *Item) Add(n int) {
	i.sum.Add(int64(n))
	i.times.Add(1)
}

// Sum is everything since the start.
func (i *Item) Sum() int64 { return i.sum.Load() }

func (i *Item) sample(window int, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := append(i.samples[window], sample{now, i.sum.Load(), i.times.Load()})
	if extra := len(s) - windows[window].keep; extra > 0 {
		s = append(s[:0], s[extra:]...)
	}
	i.samples[window] = s
}

// window sums up the difference between the oldest and the newest sample.
func (i *Item) window(window int) *protocol.BrokerStatsItem {
	i.mu.Lock()
	defer i.mu.Unlock()
	item := &protocol.BrokerStatsItem{}
	s := i.samples[window]
	if len(s) < 2 {
		return item
	}
	first, last := s[0], s[len(s)-1]
	item.Sum = last.sum - first.sum
	if elapsed := last.at.Sub(first.at); elapsed > 0 {
		item.Tps = float64(item.Sum) * float64(time.Second) / float64(elapsed)
	}
	if times := last.times - first.times; times > 0 {
		item.Avgpt = float64(item.Sum) / float64(times)
	}
	return item
}

// Data is the item as code 315 shows it.
func (i *Item) Data() *protocol.BrokerStatsData {
	return &protocol.BrokerStatsData{StatsMinute: i.window(0), StatsHour: i.window(1), StatsDay: i.window(2)}
}

// PerSecond is the rate of the last minute.
func (i *Item) PerSecond() float64 { return i.window(0).Tps }

// Table has the items of a broker. It is safe for concurrent use; counting what is known allocates nothing.
type Table struct {
	AllPut, AllGet Item // all messages of the broker
	now            func() time.Time

	mu     sync.RWMutex
	topics map[string]*topicItems
	groups map[groupKey]*groupItems
}

type topicItems struct{ putNums, putSize, sendBack Item }

type groupItems struct{ getNums, getSize Item }

type groupKey struct{ topic, group string }

// New makes an empty table.
func New(now func() time.Time) *Table {
	return &Table{now: now, topics: map[string]*topicItems{}, groups: map[groupKey]*groupItems{}}
}

func (t *Table) topic(name string) *topicItems {
	t.mu.RLock()
	i := t.topics[name]
	t.mu.RUnlock()
	if i != nil {
		return i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i = t.topics[name]; i == nil {
		i = &topicItems{}
		t.topics[name] = i
	}
	return i
}

func (t *Table) group(group, topic string) *groupItems {
	key := groupKey{topic, group}
	t.mu.RLock()
	i := t.groups[key]
	t.mu.RUnlock()
	if i != nil {
		return i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i = t.groups[key]; i == nil {
		i = &groupItems{}
		t.groups[key] = i
	}
	return i
}

// Put counts messages that were stored. The name must not be a view.
func (t *Table) Put(topic string, messages, bytes int) {
	i := t.topic(topic)
	i.putNums.Add(messages)
	i.putSize.Add(bytes)
	t.AllPut.Add(messages)
}

// Get counts messages that a group was given. The names must not be views.
func (t *Table) Get(group, topic string, messages, bytes int) {
	i := t.group(group, topic)
	i.getNums.Add(messages)
	i.getSize.Add(bytes)
	t.AllGet.Add(messages)
}

// SendBack counts a message that a consumer sent back.
func (t *Table) SendBack(topic string) { t.topic(topic).sendBack.Add(1) }

// TopicPut is the rate of messages into a topic, per second over the last minute.
func (t *Table) TopicPut(topic string) float64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i := t.topics[topic]; i != nil {
		return i.putNums.PerSecond()
	}
	return 0
}

// GroupGet is the rate of messages of a topic to a group, per second over the last minute.
func (t *Table) GroupGet(group, topic string) float64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i := t.groups[groupKey{topic, group}]; i != nil {
		return i.getNums.PerSecond()
	}
	return 0
}

// Find is the item of a name and key as code 315 asks for it, nil if it counted nothing so far. The key is a topic,
// "topic@group" or, for the broker's own, the cluster's name.
func (t *Table) Find(name, key, cluster string) *Item {
	if key == cluster {
		switch name {
		case BrokerPut:
			return &t.AllPut
		case BrokerGet:
			return &t.AllGet
		}
	}
	var found *Item
	t.each(func(n, k string, i *Item) {
		if n == name && k == key && i.times.Load() > 0 {
			found = i
		}
	})
	return found
}

func (t *Table) each(do func(name, key string, i *Item)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	do(BrokerPut, "", &t.AllPut)
	do(BrokerGet, "", &t.AllGet)
	for name, i := range t.topics {
		do(TopicPutNums, name, &i.putNums)
		do(TopicPutSize, name, &i.putSize)
		do(SendBackNums, name, &i.sendBack)
	}
	for key, i := range t.groups {
		name := key.topic + "@" + key.group
		do(GroupGetNums, name, &i.getNums)
		do(GroupGetSize, name, &i.getSize)
	}
}

// Run takes the samples until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	tick := time.NewTicker(windows[0].every)
	defer tick.Stop()
	for n := 0; ; n++ {
		for w := range windows {
			if n%int(windows[w].every/windows[0].every) == 0 {
				now := t.now()
				t.each(func(_, _ string, i *Item) { i.sample(w, now) })
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
