// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package stats

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/telemetry/metric"
)

// Kind is what a message asks of the broker.
type Kind uint8

// The kinds of messages.
const (
	Normal Kind = iota
	FIFO
	Delay
	Transaction
)

// kindNames are Java's values of the label message_type.
var kindNames = [...]string{"normal", "fifo", "delay", "transaction"}

func (k Kind) String() string { return kindNames[k] }

// incoming is what came into a topic of one kind. A batch is one size, that of its mean message; the counters hold what
// the histogram then does not know.
type incoming struct {
	sizes        *metric.Histogram
	moreMessages atomic.Int64
	moreBytes    atomic.Int64
}

// Bounds of the histograms, those of a Java broker: bytes; ms and s.
var (
	sizeBounds   = metric.NewBounds(1, 1<<10, 4<<10, 512<<10, 1<<20, 2<<20, 4<<20)
	makeBounds   = metric.NewBounds(float64(time.Millisecond), 10, 100, 1000, 3000, 5000)
	finishBounds = metric.NewBounds(1, 5, 60, 600, 3600, 12*3600, 24*3600)
)

// came counts messages of a kind.
func (i *topicItems) came(kind Kind, messages, bytes int) {
	in := i.incoming[kind].Load()
	if in == nil {
		i.incoming[kind].CompareAndSwap(nil, &incoming{sizes: sizeBounds.New()})
		in = i.incoming[kind].Load()
	}
	if messages <= 1 {
		in.sizes.Observe(int64(bytes))
		return
	}
	mean := bytes / messages
	in.sizes.Observe(int64(mean))
	in.moreMessages.Add(int64(messages - 1))
	in.moreBytes.Add(int64(bytes - mean))
}

// schedule is how a Java broker names who reads delayed messages.
const (
	scheduleGroup = "SCHEDULE_CONSUMER"
	scheduleTopic = "SCHEDULE_TOPIC_XXXX"
)

// Scheduled counts a message of a delay level that was delivered to its topic: as read from the one and come into the
// other.
func (t *Table) Scheduled(topic string, bytes int) {
	g := t.group(scheduleGroup, scheduleTopic)
	g.getNums.Add(1)
	g.getSize.Add(bytes)
	i := t.topic(topic)
	i.came(Delay, 1, bytes)
	t.put(i, 1, bytes)
}

// again tells whether a topic's messages came in before, to another one: producers' traffic does not count them twice.
func again(topic string) bool {
	return strings.HasPrefix(topic, "%RETRY%") || strings.HasPrefix(topic, "%DLQ%")
}

// Dead counts a message of a topic that went to the dead letters of a group.
func (t *Table) Dead(group, topic string) { t.group(group, topic).dead.Add(1) }

// RolledBack counts the end of a transaction in its topic.
func (t *Table) RolledBack(topic string) { t.topic(topic).rolledBack.Add(1) }

// Committed counts the end of a transaction in its topic: its message as stored, and how long after its beginning it was
// committed. It does not count as having come in again.
func (t *Table) Committed(topic string, bytes int, after time.Duration) {
	i := t.topic(topic)
	if !t.As49 {
		t.put(i, 1, bytes)
	}
	i.committed.Add(1)
	if i.finish.Load() == nil {
		i.finish.CompareAndSwap(nil, finishBounds.New())
	}
	i.finish.Load().Observe(int64(after / time.Second))
}

// Made says how long it took to make or change topics (by whether they are the system's) and groups.
type Made struct {
	mu     sync.Mutex
	topics map[topicOutcome]*metric.Histogram
	groups map[bool]*metric.Histogram // by success
}

type topicOutcome struct{ system, ok bool }

// Topic notes that a request to make a topic was answered.
func (m *Made) Topic(system, ok bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe(&m.topics, topicOutcome{system, ok}, took)
}

// Group notes that a request to make a group was answered.
func (m *Made) Group(ok bool, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe(&m.groups, ok, took)
}

func observe[K comparable](all *map[K]*metric.Histogram, key K, took time.Duration) {
	if *all == nil {
		*all = map[K]*metric.Histogram{}
	}
	h := (*all)[key]
	if h == nil {
		h = makeBounds.New()
		(*all)[key] = h
	}
	h.Observe(int64(took))
}
