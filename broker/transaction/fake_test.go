// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

var (
	brokerHost = netip.MustParseAddrPort("127.0.0.1:10911")
	clientHost = netip.MustParseAddrPort("127.0.0.1:40000")
)

// fakeStore is a store in memory, and the book in which a story is written down.
type fakeStore struct {
	mu      sync.Mutex
	begin   time.Time
	records [][]byte // by physical offset
	lost    map[int64]bool
	queues  map[string]*fakeQueue // topic-queue
	arrived func(store.Arrival)
	book    []string
	// outcome decides over a put; nil: stored at once. It may call done later.
	outcome func(m *message.Message) store.PutStatus
	behind  int64
}

type fakeQueue struct {
	min   int64
	units []store.Unit
}

func newFakeStore() *fakeStore {
	return &fakeStore{begin: time.Now(), lost: map[int64]bool{}, queues: map[string]*fakeQueue{}}
}

func queueName(topic string, id int32) string { return fmt.Sprintf("%s-%d", topic, id) }

func (f *fakeStore) queue(topic string, id int32) *fakeQueue {
	name := queueName(topic, id)
	if f.queues[name] == nil {
		f.queues[name] = &fakeQueue{}
	}
	return f.queues[name]
}

// recordSize is what a record takes of the fake log.
const recordSize = 1000

func (f *fakeStore) Put(m *message.Message, done func(store.PutResult)) {
	f.mu.Lock()
	if f.outcome != nil {
		if status := f.outcome(m); status != store.PutOK {
			f.mu.Unlock()
			done(store.PutResult{Status: status})
			return
		}
	}
	q := f.queue(m.Topic, m.QueueID)
	at := message.Position{
		PhyOffset: int64(len(f.records)) * recordSize, QueueOffset: q.min + int64(len(q.units)), StoreTimestamp: time.Now().UnixMilli(),
	}
	record := message.AppendRecord(nil, m, message.BodyCRC(m.Body), at)
	f.records = append(f.records, record)
	q.units = append(q.units, store.Unit{PhyOffset: at.PhyOffset, Size: int32(len(record))})
	f.note(m, at)
	a := store.Arrival{Topic: m.Topic, QueueID: m.QueueID, Offset: at.QueueOffset}
	arrived := f.arrived
	f.mu.Unlock()
	if arrived != nil {
		arrived(a)
	}
	done(store.PutResult{PhyOffset: at.PhyOffset, QueueOffset: at.QueueOffset, Size: int32(len(record))})
}

func (f *fakeStore) PutBatch(m *message.Message, done func(store.PutResult)) { f.Put(m, done) }

// note writes a put down: its place, the body, and the properties that transactions are about.
func (f *fakeStore) note(m *message.Message, at message.Position) {
	place := fmt.Sprintf("%s-%d", m.Topic, m.QueueID)
	switch m.Topic {
	case halfTopic:
		place = "half"
	case opTopic:
		place = "op"
	}
	f.writeLocked("%s %d: %s%s", place, at.QueueOffset, m.Body, describe(m.Properties))
}

func describe(properties []byte) string {
	var b strings.Builder
	for _, name := range []string{propChecks, propFirst, message.PropWait} {
		if v, ok := message.Property(properties, name); ok && (name != message.PropWait || string(v) == "false") {
			fmt.Fprintf(&b, " %s=%s", name, v)
		}
	}
	return b.String()
}

func (f *fakeStore) writeLocked(format string, args ...any) {
	f.book = append(f.book, time.Since(f.begin).Truncate(time.Millisecond).String()+" "+fmt.Sprintf(format, args...))
}

func (f *fakeStore) write(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writeLocked(format, args...)
}

// take returns what was written since the last call.
func (f *fakeStore) take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.Join(f.book, "\n")
	f.book = nil
	return text
}

func (f *fakeStore) MinOffset(topic string, id int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue(topic, id).min
}

func (f *fakeStore) MaxOffset(topic string, id int32) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(topic, id)
	return q.min + int64(len(q.units))
}

func (f *fakeStore) Unit(topic string, id int32, offset int64) (store.Unit, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(topic, id)
	if i := offset - q.min; i >= 0 && i < int64(len(q.units)) {
		return q.units[i], true
	}
	return store.Unit{}, false
}

func (f *fakeStore) Record(dst []byte, phyOffset int64, _ int32) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if phyOffset < 0 || phyOffset%recordSize != 0 || phyOffset/recordSize >= int64(len(f.records)) || f.lost[phyOffset] {
		return dst, false
	}
	return append(dst, f.records[phyOffset/recordSize]...), true
}

func (f *fakeStore) MaxPhyOffset() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.records)) * recordSize
}

func (f *fakeStore) DispatchBehind() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.behind
}

// forget drops what was written down, so that a benchmark does not grow.
func (f *fakeStore) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.book = nil
}

// lose makes the record of a queue offset unreadable.
func (f *fakeStore) lose(topic string, offset int64) {
	u, _ := f.Unit(topic, queue, offset)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[u.PhyOffset] = true
}

// expire removes the first n messages of a queue.
func (f *fakeStore) expire(topic string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(topic, queue)
	q.units = q.units[n:]
	q.min += int64(n)
}

// cut removes the last n messages of a queue, as a crash does.
func (f *fakeStore) cut(topic string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(topic, queue)
	q.units = q.units[:len(q.units)-n]
}

// fakeChannel is a producer's connection: it writes down what it is asked.
type fakeChannel struct {
	remoting.Channel
	name  string
	f     *fakeStore
	deaf  bool
	asked []*protocol.Command
}

func (c *fakeChannel) Oneway(cmd *protocol.Command) error {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.deaf {
		return remoting.ErrClosed
	}
	c.asked = append(c.asked, cmd)
	r, err := message.ParseRecord(cmd.Body)
	if err != nil {
		c.f.writeLocked("%s asked with a broken body: %v", c.name, err)
		return nil
	}
	offset, _ := cmd.Fields.Get("tranStateTableOffset")
	c.f.writeLocked("%s asked: half %s, %s-%d %s%s", c.name, offset, r.Topic, r.QueueID, r.Body, describe(r.Properties))
	return nil
}

// fakeProducers are the groups with their connections.
type fakeProducers map[string][]*fakeChannel

func (p fakeProducers) of(group string) remoting.Channel {
	list := p[group]
	if len(list) == 0 {
		return nil
	}
	c := list[0]
	copy(list, list[1:])
	list[len(list)-1] = c
	return c
}
