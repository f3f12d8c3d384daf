// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Store is what the service needs of the store.
type Store interface {
	Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult)
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
	InMemory(topic string, queueID int32, offset int64) bool
	Span(topic string, queueID int32, offset int64) (store.Span, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	MaxPhyOffset() int64
	DispatchBehind() int64
}

// Pipeline is how the service stores messages.
type Pipeline interface {
	// Put stores a message that may ask for a time to come.
	Put(e *put.Entry, done func(store.PutResult)) error
	// Raw stores a message as it stands.
	Raw(m *message.Message, done func(store.PutResult))
	// Answer is the refusal of a put that stored nothing, nil for all others.
	Answer(s store.PutStatus) error
}

// Offsets keeps how far groups are; see package offset.
type Offsets interface {
	Query(group, topic string, queueID int32) (int64, bool)
	Commit(client, group, topic string, queueID int32, offset int64) bool
	HasReset(group, topic string, queueID int32) bool
	TakeReset(group, topic string, queueID int32) (offset int64, ok bool)
}

// Topics finds topics, and makes pop retry topics.
type Topics interface {
	Get(name string) *protocol.TopicConfig
	CreateRetry(name string, queues, perm, sysFlag int32) *protocol.TopicConfig
}

// Stats counts what groups do, under the topics that they name.
type Stats interface {
	Acks(group, topic string, messages int)
	Checkpoints(group, topic string, n int)
}

// Rules are the configuration keys that the service follows. They are asked for at each use.
type Rules struct {
	Broker           string        // brokerName
	Cluster          string        // brokerClusterName
	ReviveQueues     int32         // reviveQueueNum
	ReviveInterval   time.Duration // reviveInterval
	RetryV2          bool          // enableRetryTopicV2: the form of the names of pop retry topics that are made
	NoRetryV1        bool          // retrieveMessageFromPopRetryTopicV1=false: those of the first form are not read beside the second
	ActualRetryTopic bool          // popResponseReturnActualRetryTopic: messages are given as they stand in the pop retry topic
	RetryProbability int           // popFromRetryProbability, percent of pops that begin with what is retried
	InitInMemory     bool          // initPopOffsetByCheckMsgInMem
	SkipUnreadable   bool          // skipWhenCKRePutReachMaxTimes: a message that cannot be read is given up in the end
	WakeOrdered      bool          // enableNotifyAfterPopOrderLockRelease
	MaxInFlight      int64         // popInflightMessageThreshold: a group that has more messages of a queue gets no others; 0: no limit
}

// Options are what a Service needs.
type Options struct {
	Dir     string // the store's root; the file is <Dir>/config/consumerOrderInfo.json
	Store   Store
	Put     Pipeline
	Offsets Offsets
	Topics  Topics
	Stats   Stats
	// HasGroup tells whether a group exists; it makes it where that is allowed.
	HasGroup func(name string) bool
	// Elsewhere reads a message of a queue of another broker, for a checkpoint that came from a slave that acts as its master:
	// nil if that broker has it no more.
	Elsewhere func(ctx context.Context, broker, group, topic string, queueID int32, offset int64) (record []byte, err error)
	// Settled is the time (ms) up to which timer messages have come to their topics; see timer.Service.
	Settled func() int64
	Rules   func() Rules
	Polling func() Polling
	Host    func() netip.AddrPort // the address that checkpoints are stored under
	Saved   time.Time             // when the offsets were written that Offsets began with
	Now     func() time.Time
	Log     *slog.Logger
}

// Service is safe for concurrent use.
type Service struct {
	o        Options
	locks    locks
	orders   *orders
	counts   counts
	inflight inflight
	// Pops are held pops, Notices held questions for news.
	Pops, Notices *Holder

	next  atomic.Uint32 // revive queue
	ready atomic.Bool   // offsets are right

	revivers atomic.Pointer[revivers] // nil: none run
}

// New makes the service; it loads what is popped in order.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Service{o: o}
	s.locks.held = map[queueKey]bool{}
	s.Pops, s.Notices = newHolder(o.Now, o.Polling), newHolder(o.Now, o.Polling)
	s.counts.init()
	s.inflight.since, s.inflight.n = o.Now().UnixMilli(), map[queueKey]int64{}
	var err error
	s.orders, err = newOrders(s)
	return s, err
}

// Run answers what is held, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Pops.run(ctx) })
	g.Go(func() error { return s.Notices.run(ctx) })
	g.Go(func() error { return s.orders.run(ctx) })
	return g.Wait()
}

// Arrived is told of each unit that was added to a queue. It is quick.
func (s *Service) Arrived(a store.Arrival) {
	s.revivers.Load().arrived(&a)
	s.Pops.arrived(&a)
	s.Notices.arrived(&a)
}

// Close writes what is not on disk yet.
func (s *Service) Close() error { return s.orders.close() }

// reviveQueue is the revive queue of the next pop: they take turns.
func (s *Service) reviveQueue(queues int32) int32 {
	return int32((s.next.Add(1) - 1) % uint32(max(queues, 1)))
}

// retryTopics are the pop retry topics of a group that exist, the form that is made first.
func (s *Service) retryTopics(topic, group string, rules *Rules) (found []retryTopic) {
	forms := [2]byte{retryV1, retryV2}
	if rules.RetryV2 {
		forms = [2]byte{retryV2, retryV1}
	}
	for _, form := range forms {
		if form == retryV1 && rules.RetryV2 && rules.NoRetryV1 {
			continue
		}
		if cfg := s.o.Topics.Get(RetryTopic(topic, group, form == retryV2)); cfg != nil {
			found = append(found, retryTopic{cfg, form})
		}
	}
	return found
}

type retryTopic struct {
	*protocol.TopicConfig
	form byte
}

// Serves tells whether messages can be popped and acknowledged: on a master, and on a slave that acts as one.
func (s *Service) Serves() bool { return s.ready.Load() }

// Waiting tells whether a queue, or with AnyQueue any queue of a topic, or its retry topics have messages for a group that
// nobody has popped.
func (s *Service) Waiting(t *protocol.TopicConfig, group string, queue int32, order bool, attempt string) bool {
	return s.any(t, group, queue, order, func(topic string, queue int32) bool {
		return s.waiting(topic, group, queue, order, attempt)
	})
}

// Ready tells whether a pop would find something, of which it then is woken. Of a queue that is being popped it is told later.
func (s *Service) Ready(r *Request) bool {
	limit := s.o.Rules().MaxInFlight
	return s.any(r.Topic, r.Group, r.Queue, r.Order, func(topic string, queue int32) bool {
		key := queueKey{topic, r.Group, queue}
		return s.waiting(topic, r.Group, queue, r.Order, r.Attempt) && (r.Order || !s.inflight.tooMany(key, limit)) && !s.locks.want(key)
	})
}

// any tells whether any of the queues that a pop reads is so.
func (s *Service) any(t *protocol.TopicConfig, group string, queue int32, order bool, is func(topic string, queue int32) bool) bool {
	if !s.ready.Load() {
		return false
	}
	if queue != AnyQueue {
		if is(t.TopicName, queue) {
			return true
		}
	} else if anyOf(t, is) {
		return true
	}
	if order {
		return false
	}
	rules := s.o.Rules()
	for _, retry := range s.retryTopics(t.TopicName, group, &rules) {
		if anyOf(retry.TopicConfig, is) {
			return true
		}
	}
	return false
}

func anyOf(t *protocol.TopicConfig, is func(topic string, queue int32) bool) bool {
	for q := range t.ReadQueueNums {
		if is(t.TopicName, q) {
			return true
		}
	}
	return false
}

func (s *Service) waiting(topic, group string, queue int32, order bool, attempt string) bool {
	if order && s.orders.blocked(topic, group, queue, attempt) {
		return false
	}
	return s.o.Store.MaxOffset(topic, queue) > s.offset(group, topic, queue)
}

// offset is where the next pop of a queue begins; a group that has not begun is taken to begin with the first message.
func (s *Service) offset(group, topic string, queue int32) int64 {
	if at, ok := s.o.Offsets.Query(group, topic, queue); ok {
		return at
	}
	return s.o.Store.MinOffset(topic, queue)
}

// GroupGone and TopicGone forget what was popped.
func (s *Service) GroupGone(group string) {
	s.forget(func(_, g string) bool { return g == group })
}

// TopicGone is GroupGone for a topic.
func (s *Service) TopicGone(topic string) {
	s.forget(func(t, _ string) bool { return t == topic })
}

func (s *Service) forget(gone func(topic, group string) bool) {
	s.orders.forget(gone)
	s.inflight.forget(gone)
}
