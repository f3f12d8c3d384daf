// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package stats counts what goes through a broker.
//
// By topic and by group it keeps the sums of the last minute, hour and day, as tools ask for them (code 315): an Item is
// two counters; a sample of both is taken every 10 s for the minute, every 10 min for the hour and every hour for the day,
// and a window's sum is the difference of its newest and its oldest sample, as in Java.
//
// Of the whole broker it knows rates and durations (code 28); see Traffic.
package stats

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// The names of statistics.
const (
	TopicPutNums  = "TOPIC_PUT_NUMS"
	TopicPutSize  = "TOPIC_PUT_SIZE"
	GroupGetNums  = "GROUP_GET_NUMS"
	GroupGetSize  = "GROUP_GET_SIZE"
	GroupAck      = "GROUP_ACK_NUMS"
	GroupCK       = "GROUP_CK_NUMS"
	SendBackNums  = "SNDBCK_PUT_NUMS"
	BrokerPut     = "BROKER_PUT_NUMS"
	BrokerGet     = "BROKER_GET_NUMS"
	BrokerAck     = "BROKER_ACK_NUMS"
	BrokerCK      = "BROKER_CK_NUMS"
	BrokerPutUser = "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC"
	BrokerGetUser = "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC"
)

// Samples of the windows: how often one is taken and how many are kept.
var windows = [...]struct {
	every time.Duration
	keep  int
}{{10 * time.Second, 7}, {10 * time.Minute, 7}, {time.Hour, 25}}

// Item counts one thing: a sum (messages, bytes) and how many times something was added.
type Item struct {
	sum, times atomic.Int64
	noMean     bool // as in Java, where the broker's own do not count how often

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

// sample notes the counters. What was counted before the first sample counts as come within one period.
func (i *Item) sample(window int, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.samples[window]
	if len(s) == 0 {
		s = append(s, sample{at: now.Add(-windows[window].every)})
	}
	s = append(s, sample{now, i.sum.Load(), i.times.Load()})
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
	if times := last.times - first.times; times > 0 && !i.noMean {
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
	AllPut, AllGet   Item // all messages of the broker
	userPut, userGet Item // those of topics that are not the system's
	acks, cks        Item // of POP: messages acknowledged, and checkpoints
	As49             bool // count as 4.9: Totals are of all that was stored and given; the end of a transaction is no put into its topic
	Traffic          *Traffic
	Made             Made
	Behind           Behind
	now              func() time.Time
	system           func(topic string) bool
	merged           func() bool

	mu     sync.RWMutex
	topics map[string]*topicItems
	groups map[groupKey]*groupItems
	light  map[groupKey]*groupItems // what light queues and light groups count together
}

type topicItems struct {
	system           bool
	again            bool // of messages that came before: retry and dead-letter topics
	putNums, putSize Item
	incoming         [len(kindNames)]atomic.Pointer[incoming]

	committed, rolledBack atomic.Int64
	finish                atomic.Pointer[metric.Histogram]
}

type groupItems struct {
	system                     bool // the topic is
	getNums, getSize, sendBack Item
	acks, cks                  Item
	dead                       atomic.Int64
	poppedFor                  atomic.Pointer[string] // the topic of which the group popped; nil: it did not
}

type groupKey struct{ topic, group string }

const lightPrefix = "%LMQ%" // of the names of light queues and light groups

// New makes an empty table. system tells which topics are RocketMQ's own, merged whether tools find the light queues and
// light groups that read as one, %LMQ% (enableLmqStats=false); nil: no.
func New(now func() time.Time, system func(topic string) bool, merged func() bool) *Table {
	if merged == nil {
		merged = func() bool { return false }
	}
	t := &Table{
		Traffic: newTraffic(now), now: now, system: system, merged: merged,
		topics: map[string]*topicItems{}, groups: map[groupKey]*groupItems{}, light: map[groupKey]*groupItems{},
	}
	for _, pick := range ofBroker {
		pick(t).noMean = true
	}
	return t
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
		i = &topicItems{system: t.system(name), again: again(name)}
		t.topics[strings.Clone(name)] = i
	}
	return i
}

func (t *Table) group(group, topic string) *groupItems {
	return t.items(t.groups, groupKey{topic, group})
}

func (t *Table) items(of map[groupKey]*groupItems, key groupKey) *groupItems {
	t.mu.RLock()
	i := of[key]
	t.mu.RUnlock()
	if i != nil {
		return i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i = of[key]; i == nil {
		i = &groupItems{system: t.system(key.topic)}
		of[groupKey{strings.Clone(key.topic), strings.Clone(key.group)}] = i
	}
	return i
}

// together is the key under which a light queue or a light group is counted with all others; false: it is counted alone.
func (t *Table) together(group, topic string) (groupKey, bool) {
	light := func(name string) bool { return strings.HasPrefix(name, lightPrefix) }
	key := groupKey{topic, group}
	if !light(topic) && !light(group) || !t.merged() {
		return key, false
	}
	if light(topic) {
		key.topic = lightPrefix
	}
	if light(group) {
		key.group = lightPrefix
	}
	return key, true
}

// Put counts messages that producers sent and that were stored.
func (t *Table) Put(topic string, kind Kind, messages, bytes int) {
	i := t.topic(topic)
	if !i.again {
		i.came(kind, messages, bytes)
	}
	t.put(i, messages, bytes)
}

func (t *Table) put(i *topicItems, messages, bytes int) {
	i.putNums.Add(messages)
	i.putSize.Add(bytes)
	t.AllPut.Add(messages)
	if !i.system {
		t.userPut.Add(messages)
	}
}

// Totals are the messages that were sent and given since the start, as code 28 counts them.
func (t *Table) Totals() (put, got int64) {
	if t.As49 {
		return t.Traffic.stored.Load(), t.AllGet.Sum()
	}
	return t.userPut.Sum(), t.userGet.Sum()
}

// Get counts messages that a group was given.
func (t *Table) Get(group, topic string, messages, bytes int) {
	i := t.group(group, topic)
	i.getNums.Add(messages)
	i.getSize.Add(bytes)
	t.AllGet.Add(messages)
	if !i.system {
		t.userGet.Add(messages)
	}
	if key, ok := t.together(group, topic); ok {
		i := t.items(t.light, key)
		i.getNums.Add(messages)
		i.getSize.Add(bytes)
	}
}

// Popped counts messages that a group popped: of a topic, or of one of the pop retry topics beside it.
func (t *Table) Popped(group, topic, from string, messages, bytes int) {
	t.Get(group, from, messages, bytes)
	if i := t.group(group, from); i.poppedFor.Load() == nil {
		topic = strings.Clone(topic)
		i.poppedFor.Store(&topic)
	}
}

// Acks counts messages of a topic that a group popped and acknowledges.
func (t *Table) Acks(group, topic string, messages int) {
	t.group(group, topic).acks.Add(messages)
	t.acks.Add(messages)
}

// Checkpoints counts checkpoints of what a group popped of a topic, and of its pop retry topics.
func (t *Table) Checkpoints(group, topic string, n int) {
	t.group(group, topic).cks.Add(n)
	t.cks.Add(n)
}

// SendBack counts a message of a topic that a group sent back.
func (t *Table) SendBack(group, topic string) {
	t.group(group, topic).sendBack.Add(1)
	if key, ok := t.together(group, topic); ok {
		t.items(t.light, key).sendBack.Add(1)
	}
}

// RemoveTopic forgets a topic.
func (t *Table) RemoveTopic(topic string) {
	t.Behind.remove(func(_, of string) bool { return of == topic })
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.topics, topic)
	for key := range t.groups {
		if key.topic == topic {
			delete(t.groups, key)
		}
	}
}

// RemoveGroup forgets a group.
func (t *Table) RemoveGroup(group string) {
	t.Behind.remove(func(of, _ string) bool { return of == group })
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.groups {
		if key.group == group {
			delete(t.groups, key)
		}
	}
}

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
	if i := t.shown(t.together(group, topic)); i != nil {
		return i.getNums.PerSecond()
	}
	return 0
}

// shown is what tools find under a key.
func (t *Table) shown(key groupKey, together bool) *groupItems {
	if together {
		return t.light[key]
	}
	return t.groups[key]
}

// Find is the item of a name and key as code 315 asks for it, nil if it counted nothing so far. The key is a topic,
// "topic@group" or, for the broker's own, the cluster's name.
func (t *Table) Find(name, key, cluster string) *Item {
	i := t.find(name, key, cluster)
	if i == nil || i.times.Load() == 0 {
		return nil
	}
	return i
}

func (t *Table) find(name, key, cluster string) *Item {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if pick := ofTopic[name]; pick != nil {
		if i := t.topics[key]; i != nil {
			return pick(i)
		}
	}
	if pick := ofGroup[name]; pick != nil {
		topic, group, _ := strings.Cut(key, "@")
		asked := groupKey{topic, group}
		// A light queue that is counted with the others has no name of its own.
		if at, together := t.together(group, topic); at == asked {
			if i := t.shown(at, together); i != nil {
				return pick(i)
			}
		}
	}
	if pick := ofBroker[name]; pick != nil && key == cluster {
		return pick(t)
	}
	return nil
}

// Where the items of a name are.
var (
	ofTopic = map[string]func(*topicItems) *Item{
		TopicPutNums: func(i *topicItems) *Item { return &i.putNums },
		TopicPutSize: func(i *topicItems) *Item { return &i.putSize },
	}
	ofGroup = map[string]func(*groupItems) *Item{
		GroupGetNums: func(i *groupItems) *Item { return &i.getNums },
		GroupGetSize: func(i *groupItems) *Item { return &i.getSize },
		SendBackNums: func(i *groupItems) *Item { return &i.sendBack },
		GroupAck:     func(i *groupItems) *Item { return &i.acks },
		GroupCK:      func(i *groupItems) *Item { return &i.cks },
	}
	ofBroker = map[string]func(*Table) *Item{
		BrokerPut:     func(t *Table) *Item { return &t.AllPut },
		BrokerGet:     func(t *Table) *Item { return &t.AllGet },
		BrokerAck:     func(t *Table) *Item { return &t.acks },
		BrokerCK:      func(t *Table) *Item { return &t.cks },
		BrokerPutUser: func(t *Table) *Item { return &t.userPut },
		BrokerGetUser: func(t *Table) *Item { return &t.userGet },
	}
)

// each visits all items that have counted something.
func (t *Table) each(do func(i *Item)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	used := func(i *Item) {
		if i.times.Load() > 0 {
			do(i)
		}
	}
	for _, pick := range ofBroker {
		used(pick(t))
	}
	for _, i := range t.topics {
		for _, pick := range ofTopic {
			used(pick(i))
		}
	}
	for _, groups := range []map[groupKey]*groupItems{t.groups, t.light} {
		for _, i := range groups {
			for _, pick := range ofGroup {
				used(pick(i))
			}
		}
	}
}

// Run takes the samples until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	tick := time.NewTicker(windows[0].every)
	defer tick.Stop()
	for n := 0; ; n++ {
		now := t.now()
		for w := range windows {
			if n%int(windows[w].every/windows[0].every) == 0 {
				t.each(func(i *Item) { i.sample(w, now) })
			}
		}
		put, got := t.Totals()
		t.Traffic.sample(now, put, got, t.AllGet.Sum(), t.AllGet.times.Load())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
