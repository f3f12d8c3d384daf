// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package route is the name server's memory: which brokers live, which topics they serve, and the route of a topic.
// It is a data structure without sockets, goroutines or files.
//
// Everything stands behind one read-write lock. A lookup takes the read side and returns JSON that was encoded before.
// The encoding of a topic is dropped when its own queues change; all encodings are outdated together, by one stamp,
// when a broker's addresses change, which happens when brokers come and go and not when they repeat a registration.
//
// A registration is applied by difference: a topic that did not change costs one comparison, and a body that is byte
// for byte the one applied last costs nothing (Renew).
//
// A broker belongs to the connection of its latest registration. The end of an older connection does not remove it.
package route

import (
	"slices"
	"strings"
	"sync"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/remoting/protocol"
)

// MasterID is the broker id of a master; slaves have larger ids.
const MasterID = 0

// Permission bits of a topic's queues on one broker.
const (
	PermWrite = 2
	PermRead  = 4
)

// DefaultTimeout is how long a broker that names no timeout of its own may be silent.
const DefaultTimeout = 120 * time.Second

// DataVersion tells two states of a broker's topic table apart; they are equal if all three numbers are.
type DataVersion struct {
	StateVersion, Timestamp, Counter int64
}

// Queues is what one broker name offers of a topic.
type Queues struct {
	Read, Write, Perm, SysFlag int32
}

// Member is one process of a broker name: the master (id 0) or a slave.
type Member struct {
	ID   int64
	Addr string
}

// Conn is the connection over which a broker registered. The table compares it and hands it back for closing.
// Its dynamic type must be comparable.
type Conn interface{ Close() }

// Mappings are the queue mappings of one static topic by broker name.
type Mappings map[string]*protocol.TopicQueueMappingInfo

// Table is the route table. Its methods may be called from any goroutine.
type Table struct {
	profile *compat.Profile
	now     func() time.Time

	mu       sync.RWMutex
	topics   map[string]*topic
	brokers  map[string]*broker
	clusters map[string]map[string]struct{} // cluster → broker names
	live     map[liveKey]*liveBroker
	mappings map[string]Mappings // by topic; they outlive the broker that sent them

	// stamp counts the changes of any broker's addresses, filter servers, zone or acting flag.
	stamp uint64
}

type liveKey struct{ cluster, addr string }

// liveBroker is one broker process that registered and has not left.
type liveBroker struct {
	broker  *broker
	id      int64
	conn    Conn
	last    time.Time
	timeout time.Duration
	version DataVersion
	ha      string
	filters []string

	// print is the registration body that was applied last, gen the broker's state after it; see Renew.
	print uint64
	gen   uint64
}

// broker is a broker name with its members, in the order of their ids.
type broker struct {
	cluster, name string
	members       []Member
	zone          string
	acting        bool
	// gen counts the changes to the members and to the topics of this broker name.
	gen uint64
}

// topic holds the queues of a topic in the order of the broker names.
type topic struct {
	queues []brokerQueues
	cache  cache
}

type brokerQueues struct {
	broker string
	Queues
}

// New makes an empty table. now is the clock by which brokers expire.
func New(profile *compat.Profile, now func() time.Time) *Table {
	return &Table{
		profile:  profile,
		now:      now,
		topics:   make(map[string]*topic),
		brokers:  make(map[string]*broker),
		clusters: make(map[string]map[string]struct{}),
		live:     make(map[liveKey]*liveBroker),
		mappings: make(map[string]Mappings),
	}
}

func (b *broker) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(b.members, id, func(m Member, id int64) int {
		switch {
		case m.ID < id:
			return -1
		case m.ID > id:
			return 1
		}
		return 0
	})
}

// addr is the address of a member.
func (b *broker) addr(id int64) (string, bool) {
	if i, ok := b.find(id); ok {
		return b.members[i].Addr, true
	}
	return "", false
}

// set gives a member its address and reports whether that changed anything.
func (b *broker) set(id int64, addr string) bool {
	i, ok := b.find(id)
	switch {
	case !ok:
		b.members = slices.Insert(slices.Clone(b.members), i, Member{id, strings.Clone(addr)})
	case b.members[i].Addr != addr:
		b.members = slices.Clone(b.members)
		b.members[i].Addr = strings.Clone(addr)
	default:
		return false
	}
	return true
}

// drop removes the members that match and reports whether there were any.
func (b *broker) drop(match func(Member) bool) bool {
	if !slices.ContainsFunc(b.members, match) {
		return false
	}
	b.members = slices.DeleteFunc(slices.Clone(b.members), match)
	return true
}

// minID is the smallest id, or 0 when there are no members.
func (b *broker) minID() int64 {
	if len(b.members) == 0 {
		return 0
	}
	return b.members[0].ID
}

// headless tells that an acting-master set has members but no master.
func (b *broker) headless() bool {
	return b.acting && b.minID() != MasterID
}

func (t *topic) find(broker string) (int, bool) {
	return slices.BinarySearchFunc(t.queues, broker, func(q brokerQueues, name string) int {
		return strings.Compare(q.broker, name)
	})
}

// remove takes a broker's queues out and reports whether it had any.
func (t *topic) remove(broker string) bool {
	i, ok := t.find(broker)
	if ok {
		t.queues = slices.Delete(t.queues, i, i+1)
		t.cache.clear()
	}
	return ok
}

// changePerm edits the permission of a broker's queues and reports whether it has any.
func (t *topic) changePerm(broker string, edit func(perm int32) int32) bool {
	i, ok := t.find(broker)
	if !ok {
		return false
	}
	if p := edit(t.queues[i].Perm); p != t.queues[i].Perm {
		t.queues[i].Perm = p
		t.cache.clear()
	}
	return true
}

// setQueues stores what a broker offers of a topic and reports whether that changed anything.
func (t *Table) setQueues(name string, b *broker, q Queues) bool {
	tp := t.topics[name]
	if tp == nil {
		tp = &topic{}
		t.topics[strings.Clone(name)] = tp
	}
	i, ok := tp.find(b.name)
	switch {
	case !ok:
		tp.queues = slices.Insert(tp.queues, i, brokerQueues{b.name, q})
	case tp.queues[i].Queues != q:
		tp.queues[i].Queues = q
	default:
		return false
	}
	tp.cache.clear()
	return true
}

// changePerm edits the permission of every topic of a broker and returns the number of topics.
func (t *Table) changePerm(broker string, edit func(perm int32) int32) int {
	n := 0
	for _, tp := range t.topics {
		if tp.changePerm(broker, edit) {
			n++
		}
	}
	return n
}

// removeFrom takes a broker out of the topics that match; a topic without brokers goes.
func (t *Table) removeFrom(broker string, match func(topic string) bool) {
	for name := range t.topics {
		if match(name) {
			t.removeQueues(name, broker)
		}
	}
}

// removeQueues takes a broker out of one topic.
func (t *Table) removeQueues(name, broker string) {
	tp := t.topics[name]
	if tp == nil || !tp.remove(broker) {
		return
	}
	if b := t.brokers[broker]; b != nil {
		b.gen++
	}
	if len(tp.queues) == 0 {
		delete(t.topics, name)
	}
}

func withoutWrite(perm int32) int32 { return perm &^ PermWrite }
