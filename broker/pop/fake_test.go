// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

var brokerHost = netip.MustParseAddrPort("127.0.0.1:10911")

// fakeStore is a store with a timer wheel, in memory. It is what stays when the service is killed.
type fakeStore struct {
	mu       sync.Mutex
	records  [][]byte // by physical offset
	lost     map[int64]bool
	queues   map[string][]int64 // topic-queue → physical offsets
	begin    map[string]int64   // topic-queue → first offset
	wheel    []timed
	stuck    bool // timers deliver nothing
	refuse   func(topic string) bool
	slow     time.Duration // how long a put takes
	arrived  func(store.Arrival)
	progress map[string]int64 // offsets of groups
	resets   map[string]int64
	topics   map[string]*protocol.TopicConfig

	delivering sync.Mutex
}

// timed is a message that comes at a time (ms).
type timed struct {
	at int64
	m  *message.Message
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		lost: map[int64]bool{}, queues: map[string][]int64{}, begin: map[string]int64{}, progress: map[string]int64{},
		resets: map[string]int64{}, topics: map[string]*protocol.TopicConfig{},
	}
}

func at(topic string, queue int32) string { return fmt.Sprintf("%s-%d", topic, queue) }

func of(group, topic string, queue int32) string { return fmt.Sprintf("%s %s-%d", group, topic, queue) }

const recordSize = 10_000 // what a record takes of the fake log

func (f *fakeStore) Raw(m *message.Message, done func(store.PutResult)) {
	f.mu.Lock()
	if f.refuse != nil && f.refuse(m.Topic) {
		f.mu.Unlock()
		done(store.PutResult{Status: store.ServiceNotAvailable})
		return
	}
	offset, phy := f.append(m)
	arrived, slow := f.arrived, f.slow
	f.mu.Unlock()
	tags, _ := message.Property(m.Properties, message.PropTags)
	finish := func() {
		if arrived != nil {
			arrived(store.Arrival{
				Topic: m.Topic, QueueID: m.QueueID, Offset: offset, TagsCode: message.TagsCode(tags), Properties: m.Properties,
			})
		}
		done(store.PutResult{PhyOffset: phy, QueueOffset: offset})
	}
	if slow > 0 {
		time.AfterFunc(slow, finish)
		return
	}
	finish()
}

// append puts a record into log and queue.
func (f *fakeStore) append(m *message.Message) (offset, phy int64) {
	name := at(m.Topic, m.QueueID)
	offset, phy = f.begin[name]+int64(len(f.queues[name])), int64(len(f.records))*recordSize
	f.records = append(f.records, message.AppendRecord(nil, m, message.BodyCRC(m.Body), message.Position{
		QueueOffset: offset, PhyOffset: phy, StoreTimestamp: time.Now().UnixMilli(),
	}))
	f.queues[name] = append(f.queues[name], phy)
	return offset, phy
}

// Put delivers what asks for a time at the end of its second, as the timer wheel does.
func (f *fakeStore) Put(e *put.Entry, done func(store.PutResult)) error {
	m := e.Message
	m.Properties = e.Props.Append(nil, message.Java5)
	due, _ := strconv.ParseInt(e.Props.Get(put.PropTimerAt), 10, 64)
	if due <= time.Now().UnixMilli() {
		f.Raw(&m, done)
		return nil
	}
	f.mu.Lock()
	refused := f.refuse != nil && f.refuse(m.Topic)
	f.mu.Unlock()
	if refused {
		done(store.PutResult{Status: store.ServiceNotAvailable})
		return nil
	}
	m.Body = append([]byte(nil), m.Body...)
	slot := (due-1)/1000*1000 + 1000
	e.Props.Set(message.PropRealTopic, m.Topic)
	waits := m
	waits.Topic, waits.QueueID, waits.Properties = put.TimerTopic, 0, e.Props.Append(nil, message.Java5)
	f.mu.Lock()
	f.append(&waits)
	f.wheel = append(f.wheel, timed{slot, &m})
	slow := f.slow
	f.mu.Unlock()
	time.AfterFunc(time.Until(time.UnixMilli(slot)), f.deliver)
	if slow > 0 {
		time.AfterFunc(slow, func() { done(store.PutResult{}) })
	} else {
		done(store.PutResult{})
	}
	return nil
}

// deliver delivers what is due, in the order in which it was put.
func (f *fakeStore) deliver() {
	f.delivering.Lock()
	defer f.delivering.Unlock()
	now := time.Now().UnixMilli()
	f.mu.Lock()
	var due, kept []timed
	for _, t := range f.wheel {
		if t.at <= now && !f.stuck {
			due = append(due, t)
		} else {
			kept = append(kept, t)
		}
	}
	f.wheel = kept
	f.mu.Unlock()
	for _, t := range due {
		f.Raw(t.m, func(store.PutResult) {})
	}
}

func (f *fakeStore) Answer(s store.PutStatus) error {
	if s == store.PutOK {
		return nil
	}
	return protocol.Errorf(protocol.RespServiceNotAvailable, "refused")
}

// Settled is the current second, or the time of the first message that is late.
func (f *fakeStore) Settled() int64 {
	f.delivering.Lock()
	defer f.delivering.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	settled := time.Now().UnixMilli() / 1000 * 1000
	for _, t := range f.wheel {
		settled = min(settled, t.at-1000)
	}
	return settled
}

func (f *fakeStore) MaxPhyOffset() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.records)) * recordSize
}

func (f *fakeStore) DispatchBehind() int64 { return 0 }

func (f *fakeStore) MinOffset(topic string, queue int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin[at(topic, queue)]
}

func (f *fakeStore) MaxOffset(topic string, queue int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin[at(topic, queue)] + int64(len(f.queues[at(topic, queue)]))
}

func (f *fakeStore) InMemory(string, int32, int64) bool { return true }

func (f *fakeStore) Span(topic string, queue int32, offset int64) (s store.Span, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := at(topic, queue)
	i := offset - f.begin[name]
	if i < 0 || i >= int64(len(f.queues[name])) {
		return s, false
	}
	s.PhyOffset = f.queues[name][i]
	return s, true
}

func (f *fakeStore) Record(dst []byte, phy int64, _ int32) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost[phy] {
		return dst, false
	}
	return append(dst, f.records[phy/recordSize]...), true
}

func (f *fakeStore) Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult) {
	res := store.GetResult{MinOffset: f.MinOffset(r.Topic, r.QueueID), MaxOffset: f.MaxOffset(r.Topic, r.QueueID), NextBeginOffset: r.Offset}
	switch {
	case res.MaxOffset == 0:
		res.Status, res.NextBeginOffset = store.NoMessageInQueue, 0
		return dst, res
	case r.Offset < res.MinOffset:
		res.Status, res.NextBeginOffset = store.OffsetTooSmall, res.MinOffset
		return dst, res
	case r.Offset == res.MaxOffset:
		res.Status = store.OffsetOverflowOne
		return dst, res
	case r.Offset > res.MaxOffset:
		res.Status, res.NextBeginOffset = store.OffsetOverflowBadly, res.MaxOffset
		return dst, res
	}
	for ; res.NextBeginOffset < res.MaxOffset && res.Count < r.MaxCount; res.NextBeginOffset++ {
		s, _ := f.Span(r.Topic, r.QueueID, res.NextBeginOffset)
		record, _ := f.Record(nil, s.PhyOffset, 0)
		m, _ := message.ParseRecord(record)
		tags, _ := message.Property(m.Properties, message.PropTags)
		if r.Match == nil || r.Match.MatchUnit(message.TagsCode(tags)) {
			dst = append(dst, record...)
			res.Count++
		}
	}
	if res.Status = store.NoMatchedMessage; res.Count > 0 {
		res.Status = store.Found
	}
	return dst, res
}

func (f *fakeStore) Query(group, topic string, queue int32) (int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, ok := f.resets[of(group, topic, queue)]; ok {
		return at, true
	}
	at, ok := f.progress[of(group, topic, queue)]
	return at, ok
}

func (f *fakeStore) Commit(_, group, topic string, queue int32, offset int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress[of(strings.Clone(group), topic, queue)] = offset
	return true
}

func (f *fakeStore) HasReset(group, topic string, queue int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.resets[of(group, topic, queue)]
	return ok
}

func (f *fakeStore) TakeReset(group, topic string, queue int32) (int64, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.resets[of(group, topic, queue)]
	delete(f.resets, of(group, topic, queue))
	return at, ok
}

// fakeTopics are the topics of a fakeStore, whose Get is another.
type fakeTopics struct{ f *fakeStore }

func (t fakeTopics) Get(name string) *protocol.TopicConfig {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	return t.f.topics[name]
}

func (t fakeTopics) CreateRetry(name string, queues, perm, _ int32) *protocol.TopicConfig {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	if t.f.topics[name] == nil {
		t.f.topics[name] = &protocol.TopicConfig{TopicName: name, ReadQueueNums: queues, WriteQueueNums: queues, Perm: perm}
	}
	return t.f.topics[name]
}

// fakeStats counts under kind, topic and group.
type fakeStats struct {
	mu sync.Mutex
	n  map[string]int
}

func (s *fakeStats) Acks(group, topic string, n int) { s.add("acks "+topic+"@"+group, n) }

func (s *fakeStats) Checkpoints(group, topic string, n int) { s.add("checkpoints "+topic+"@"+group, n) }

func (s *fakeStats) add(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == nil {
		s.n = map[string]int{}
	}
	s.n[key] += n
}
