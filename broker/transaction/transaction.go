// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Group is the consumer group under which the progress of both queues is kept.
const Group = "CID_RMQ_SYS_TRANS"

const (
	halfTopic = topic.TransHalfTopic
	opTopic   = topic.TransOpHalfTopic
	lostTopic = topic.TransCheckMaxTime
	queue     = 0 // the only one of either topic

	opTag     = "d" // TAGS of an op message: the half messages are done with
	opsAtOnce = 32

	catchUpPause  = 100 * time.Millisecond
	storeTryAgain = time.Second      // pause after an op message that could not be stored
	longestRound  = 60 * time.Second // what is left waits for the next one
	readTries     = 3                // of a record that cannot be read
	readTryAgain  = time.Second
	channelTries  = 3

	// maxCopies bounds Service.copies; beyond it a message that ends late may be asked about once more, as in Java.
	maxCopies = 200_000

	permReadWrite = 6
)

// Properties of half messages.
const (
	propGroup    = "PGROUP"
	propChecks   = "TRANSACTION_CHECK_TIMES"
	propImmunity = "CHECK_IMMUNITY_TIME_IN_SECONDS"
	propFirst    = "TRAN_PREPARED_QUEUE_OFFSET" // of copies made in the immunity time: the first one's queue offset
)

// Store is what the service needs of the store.
type Store interface {
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
	Unit(topic string, queueID int32, offset int64) (store.Unit, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	MaxPhyOffset() int64
	DispatchBehind() int64
}

// Pipeline is how the service stores messages.
type Pipeline interface {
	// Commit stores the message of a committed transaction; a delay that it asked for begins now.
	Commit(e *put.Entry, done func(store.PutResult)) error
	// Raw stores a message as it stands.
	Raw(m *message.Message, done func(store.PutResult))
}

// Offsets keeps the progress; see package offset.
type Offsets interface {
	Query(group, topic string, queueID int32) (int64, bool)
	Commit(client, group, topic string, queueID int32, offset int64) bool
}

// Topics makes the broker's own topics when they are needed for the first time.
type Topics interface {
	CreateRetry(name string, queues, perm, sysFlag int32) *protocol.TopicConfig
}

// Rules are the configuration keys that the service follows; it asks for them at each use.
type Rules struct {
	BrokerName     string
	MaxMessageSize int           // maxMessageSize, for a remark
	TimeOut        time.Duration // transactionTimeOut: how long a half message rests before its first check
	CheckMax       int           // transactionCheckMax: how often a producer is asked about a message
	Interval       time.Duration // transactionCheckInterval
	OpInterval     time.Duration // transactionOpBatchInterval: how long the end of a transaction may wait to be noted
	OpSize         int           // transactionOpMsgMaxSize, bytes of one op message
	MetricsEvery   time.Duration // transactionMetricFlushInterval
	Reserved       time.Duration // fileReservedTime: older half messages are given up
	Slave          bool          // brokerRole=SLAVE: it does not end transactions
	// Elsewhere tells that half messages are not put back here but go to another broker, which then asks about them: this is a
	// slave that acts as master.
	Elsewhere bool
}

// Options are the service's parts.
type Options struct {
	Dir     string // the store's root; the file is <Dir>/config/transactionMetrics
	Profile *compat.Profile
	Store   Store
	Put     Pipeline
	Offsets Offsets
	Topics  Topics
	// Producer is an open connection of a producer group, each time another one; nil if there is none. The name is a view.
	Producer func(group string) remoting.Channel
	Rules    func() Rules
	Host     func() netip.AddrPort // the address that op messages are stored under
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each failed write of the file
	// Finished is told of each end of a transaction, the size of the message that was stored, and how old the half message
	// was; may be nil.
	Finished func(topic string, committed bool, bytes int, age time.Duration)
}

// Service is safe for concurrent use.
type Service struct {
	o       Options
	dialect message.Dialect
	ops     *opWriter
	metrics *metrics // nil in 4.9
	wake    chan struct{}
	idle    atomic.Bool // no round is due, an arrival must wake Run

	mu     sync.Mutex
	passed int64              // half messages below it are settled
	ended  offsetSet          // half messages, from passed on, that are known to have ended
	copies map[int64]*copyRun // by the queue offset of each copy of a message that was put back and is open
	stats  Stats
}

// copyRun is a half message that was put back, maybe many times.
type copyRun struct {
	offsets []int64 // of all its copies
	latest  int64   // the one that is not passed yet
}

// Stats counts what the service did since it was made.
type Stats struct {
	Committed, RolledBack int64
	Checked               int64 // put back to be asked about
	Asked                 int64 // questions that went to a producer
	Discarded             int64 // given up
	Skipped               int64 // could not be read
	Rounds                int64
}

// New makes the service; it loads the metrics.
func New(o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Service{o: o, wake: make(chan struct{}, 1), ended: offsetSet{}, copies: map[int64]*copyRun{}}
	if !o.Profile.BrokerProperties {
		s.dialect = message.Java49
	}
	s.passed, _ = o.Offsets.Query(Group, halfTopic, queue)
	s.ops = newOpWriter(s)
	if o.Profile.Transactions5 {
		m, err := loadMetrics(o)
		if err != nil {
			return nil, err
		}
		s.metrics = m
	}
	return s, nil
}

// Prepared counts a half message that was stored.
func (s *Service) Prepared(realTopic string) { s.metrics.add(realTopic, 1) }

// Arrived is told of each unit that was added to a queue. It is quick and ignores other topics.
func (s *Service) Arrived(a store.Arrival) {
	if s.idle.Load() && (a.Topic == halfTopic || a.Topic == opTopic) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Run checks the open transactions until ctx ends. The first round begins one interval after its start, as in Java; with
// nothing open there is none, but that in 4.9 it is the first round that makes the topic of half messages.
func (s *Service) Run(ctx context.Context) error {
	last := s.o.Now()
	first := !s.o.Profile.Transactions5
	if !first {
		s.o.Topics.CreateRetry(halfTopic, 1, permReadWrite, 0)
	}
	s.catchUp(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for ctx.Err() == nil {
		rules := s.o.Rules()
		s.idle.Store(true) // before the look at the queues: what arrives after it wakes
		var due <-chan time.Time
		if first || s.pending() {
			s.idle.Store(false)
			timer.Reset(untilNext(last, s.o.Now(), rules.Interval))
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-due:
			s.check(ctx, rules)
			first = false
			last = s.o.Now()
		}
	}
	return nil
}

// catchUp waits until the queues hold everything that was in the log: after a crash they are filled from there, and their
// ends say nothing before. Then a progress beyond them is put right, before new messages come to stand there.
func (s *Service) catchUp(ctx context.Context) {
	target := s.o.Store.MaxPhyOffset()
	for s.o.Store.MaxPhyOffset()-s.o.Store.DispatchBehind() < target {
		select {
		case <-ctx.Done():
			return
		case <-time.After(catchUpPause):
		}
	}
	s.begin(opTopic)
	half := s.begin(halfTopic)
	s.mu.Lock()
	s.passed = min(s.passed, half)
	s.mu.Unlock()
}

// untilNext is how long to wait for the next of the rounds that are due each interval after the last one.
func untilNext(last, now time.Time, interval time.Duration) time.Duration {
	interval = max(interval, time.Millisecond)
	since := now.Sub(last)
	if since < 0 {
		return interval // the clock was set back
	}
	return interval - since%interval
}

// pending tells whether a round has anything to do: either queue has messages that are not settled.
func (s *Service) pending() bool {
	half, op := s.progress(halfTopic), s.progress(opTopic)
	return half < s.o.Store.MaxOffset(halfTopic, queue) || op < s.o.Store.MaxOffset(opTopic, queue)
}

// progress is how far a queue is settled.
func (s *Service) progress(topic string) int64 {
	offset, ok := s.o.Offsets.Query(Group, topic, queue)
	if !ok {
		return s.o.Store.MinOffset(topic, queue)
	}
	return offset
}

// Close writes the op messages and the metrics that are not on disk yet. Call it when Run has ended and no request comes
// in any more, before the store is closed.
func (s *Service) Close() error {
	return errors.Join(s.ops.close(), s.metrics.close())
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

func (s *Service) count(add func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.stats)
}

// Open is how many half messages of each real topic are open, by the broker's count since the file was begun.
func (s *Service) Open() map[string]int64 { return s.metrics.counts() }

// end notes that the half message at a queue offset has ended. It tells whether that is news: the message was open.
func (s *Service) end(offset int64) (news bool) {
	s.mu.Lock()
	latest := offset
	if run := s.copies[offset]; run != nil {
		latest = run.latest
	}
	if latest >= s.passed {
		news = s.ended.add(latest)
	}
	s.mu.Unlock()
	s.ops.add(offset)
	if latest != offset {
		s.ops.add(latest)
	}
	return news
}

func (s *Service) hasEnded(offset int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended.has(offset)
}

// putBack notes that a half message was put back: from is passed now, to is the copy, first the one that its
// TRAN_PREPARED_QUEUE_OFFSET names, or from. It tells whether the message ended meanwhile.
func (s *Service) putBack(first, from, to int64) (ended bool) {
	s.mu.Lock()
	if run := s.copies[from]; run != nil || len(s.copies) < maxCopies {
		if run == nil {
			run = &copyRun{}
		}
		run.latest = to
		for _, offset := range []int64{first, from, to} {
			if s.copies[offset] != run {
				s.copies[offset] = run
				run.offsets = append(run.offsets, offset)
			}
		}
	}
	ended = s.ended.has(from)
	if ended {
		s.ended.add(to)
	}
	s.mu.Unlock()
	if ended {
		s.ops.add(to)
	}
	return ended
}

// settled forgets the copies of a message that is done with.
func (s *Service) settled(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.copies[offset]; run != nil {
		for _, offset := range run.offsets {
			delete(s.copies, offset)
		}
	}
}

// offsetSet is a set of queue offsets, 64 in a word: half messages end in great numbers and close together.
type offsetSet map[int64]uint64

// place is the word and the bit of an offset.
func place(offset int64) (word int64, bit uint64) { return offset >> 6, 1 << (uint64(offset) & 63) }

// add tells whether the offset is new.
func (s offsetSet) add(offset int64) bool {
	word, bit := place(offset)
	if s[word]&bit != 0 {
		return false
	}
	s[word] |= bit
	return true
}

func (s offsetSet) has(offset int64) bool {
	word, bit := place(offset)
	return s[word]&bit != 0
}

// dropBelow removes the words that hold smaller offsets only.
func (s offsetSet) dropBelow(offset int64) {
	first, _ := place(offset)
	for word := range s {
		if word < first {
			delete(s, word)
		}
	}
}
