// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// fakeStore holds the schedule topic's queues and what was delivered.
type fakeStore struct {
	mu        sync.Mutex
	queues    map[int32][]store.Unit
	min       map[int32]int64
	records   map[int64][]byte
	phy       int64
	behind    int64
	delivered []delivery
	begin     time.Time
	service   *Service // told of arrivals when it runs
	// outcome decides over a put; nil: stored at once.
	outcome func(m *message.Message, done func(store.PutResult)) (decided bool)
}

func newFakeStore() *fakeStore {
	return &fakeStore{queues: map[int32][]store.Unit{}, min: map[int32]int64{}, records: map[int64][]byte{}, begin: time.Now()}
}

var host = netip.MustParseAddrPort("127.0.0.1:10911")

// add stores a delayed message as the put pipeline does, and tells of its arrival.
func (f *fakeStore) add(level int, delay time.Duration, topic, body string) {
	f.addRaw(level, time.Now().Truncate(time.Millisecond).Add(delay), "DELAY\x01"+strconv.Itoa(level)+"\x02REAL_TOPIC\x01"+topic+"\x02REAL_QID\x013\x02TAGS\x01a\x02", body)
}

func (f *fakeStore) addRaw(level int, due time.Time, properties, body string) {
	f.mu.Lock()
	queue := int32(level - 1)
	m := &message.Message{
		Topic: Topic, QueueID: queue, Flag: 7, SysFlag: message.SysCompressed, BornTimestamp: 1234, BornHost: host, StoreHost: host,
		ReconsumeTimes: 2, PreparedTransactionOffset: 99, Body: []byte(body), Properties: []byte(properties),
	}
	offset := f.min[queue] + int64(len(f.queues[queue]))
	record := message.AppendRecord(nil, m, message.BodyCRC(m.Body), message.Position{PhyOffset: f.phy, QueueOffset: offset, StoreTimestamp: time.Now().UnixMilli()})
	f.records[f.phy] = record
	f.queues[queue] = append(f.queues[queue], store.Unit{PhyOffset: f.phy, Size: int32(len(record)), TagsCode: due.UnixMilli()})
	f.phy += int64(len(record))
	s := f.service
	f.mu.Unlock()
	if s != nil {
		s.Arrived(store.Arrival{Topic: Topic, QueueID: queue, Offset: offset, TagsCode: due.UnixMilli()})
	}
}

// put is where the service delivers to.
func (f *fakeStore) put(m *message.Message, done func(store.PutResult)) {
	f.mu.Lock()
	outcome := f.outcome
	f.mu.Unlock()
	if outcome != nil && outcome(m, done) {
		return
	}
	f.note(m)
	done(store.PutResult{})
}

func (f *fakeStore) note(m *message.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	level, _ := message.Property(m.Properties, "DELAY")
	f.delivered = append(f.delivered, delivery{
		time.Since(f.begin), string(level), fmt.Sprintf("%v %s-%d %s", time.Since(f.begin), m.Topic, m.QueueID, m.Body),
	})
}

type delivery struct {
	at    time.Duration
	level string
	text  string
}

// take returns what was delivered since the last call. The order among levels at the same time is not defined; it is
// made that of the levels.
func (f *fakeStore) take() (lines []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortStableFunc(f.delivered, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.level, b.level))
	})
	for _, d := range f.delivered {
		lines = append(lines, d.text)
	}
	f.delivered = nil
	return lines
}

// expire removes the first n messages of a level.
func (f *fakeStore) expire(level int32, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues[level-1] = f.queues[level-1][n:]
	f.min[level-1] += int64(n)
}

func (f *fakeStore) MinOffset(_ string, queueID int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.min[queueID]
}

func (f *fakeStore) MaxOffset(_ string, queueID int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.min[queueID] + int64(len(f.queues[queueID]))
}

func (f *fakeStore) Unit(_ string, queueID int32, offset int64) (store.Unit, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := offset - f.min[queueID]
	if i < 0 || i >= int64(len(f.queues[queueID])) {
		return store.Unit{}, false
	}
	return f.queues[queueID][i], true
}

func (f *fakeStore) Record(dst []byte, phyOffset int64, _ int32) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.records[phyOffset]
	return append(dst, r...), ok
}

func (f *fakeStore) MaxPhyOffset() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phy
}

func (f *fakeStore) DispatchBehind() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behind
}

func (f *fakeStore) Queues() map[string][]int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []int32
	for id := range f.queues {
		ids = append(ids, id)
	}
	return map[string][]int32{Topic: ids}
}
