// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package timer delivers messages at an exact time (5.x).
//
// A message with a time of its own is stored in the timer topic; its property TIMER_OUT_MS is that time, rounded down to
// a whole tick (1 s), and its real topic waits in other properties. The service follows the queue of that topic and
// enters each message into the slot of its time (package timerlog). A slot is due one tick after its time: then no
// message in it is early, and none more than a tick late.
//
//	timer topic   ├── entered ──┤── arrived ──┤         next
//	slots         ├── delivered ──┤── due ──┤── waiting ──┤     read, now
//
// A message whose time lies beyond the window (2 days) waits in an earlier slot, from which it returns to the timer topic
// as a new message: so it outlives the files of the commit log. A message with TIMER_DEL_UNIQKEY takes back another one
// of the same slot.
//
// One goroutine enters and delivers. It sleeps until the first slot is due, or until a message arrives when none waits.
// Each message is delivered at least once: after a crash those of the slot that was being delivered, and those that came
// too late for a slot, may be delivered again. After a power failure also those of the last flush time: what was delivered
// is noted at once, and on disk then.
package timer

import (
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
	"rocketmq-go/store/segment"
	"rocketmq-go/store/timerlog"
)

// Topic is where messages wait. It has one queue.
const (
	Topic = put.TimerTopic
	queue = 0
)

// Store is what the service reads of the store.
type Store interface {
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
	Unit(topic string, queueID int32, offset int64) (store.Unit, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	MinPhyOffset() int64
	MaxPhyOffset() int64
	DispatchBehind() int64
}

// Options are the service's parts.
type Options struct {
	Dir       string        // the store's root
	FileSize  int64         // mappedFileSizeTimerLog, bytes; 0: 100 MiB
	Tick      time.Duration // timerPrecisionMs; 0: 1 s
	Window    int           // timerRollWindowSlot: ticks that a message waits in a slot at most; 0: 172800
	FlushTime time.Duration // timerFlushIntervalMs; 0: 1 s
	// SkipUnknown is timerSkipUnknownError: a message that the store refuses without telling why is given up.
	SkipUnknown func() bool
	// StopEnter is timerStopEnqueue: messages stay in the timer topic.
	StopEnter func() bool
	Store     Store
	// Put stores a message as it stands. done is called exactly once, from any goroutine. The message is a view until Put
	// returns.
	Put    func(m *message.Message, done func(store.PutResult))
	Disk   segment.Disk // nil: the operating system's
	Now    func() time.Time
	Log    *slog.Logger
	Failed func(error) // told of each failed write of config/timermetrics
}

// Service is safe for concurrent use.
type Service struct {
	o      Options
	tick   int64 // ms
	window int64 // ms
	files  *timerlog.Files
	counts *counts

	wake    chan struct{}
	changed chan struct{} // something is not flushed

	mu        sync.Mutex // and of the files: what flush writes belongs together
	next      int64      // queue offset of the first message that is not entered
	pos       int64      // end of the log when next was
	read      int64      // ms: slots before are delivered
	logEnd    int64      // end of the commit log when the service was made
	recovered bool
	unwritten bool                 // units are entered that cannot be read back yet
	told      timerlog.Checkpoint  // the newest version
	master    *timerlog.Checkpoint // how far the master is; nil: this is one
	acts      bool                 // this is a slave's, and stands in for the master's
	theirs    theirs               // what the slave has delivered that did so
	flushing  sync.Mutex

	pending   atomic.Int64 // the sum of the slots' numbers
	entered   meter
	delivered meter
	stats     stats

	work work // of Run
}

type stats struct{ rolled, taken, retried, skipped atomic.Int64 }

// Stats counts what the service did since it was made.
type Stats struct {
	Entered   int64
	Delivered int64
	Rolled    int64 // returned to the timer topic
	Taken     int64 // taken back by another message
	Retried   int64 // failed puts
	Skipped   int64 // messages that cannot be read or delivered

	EnteredPerSecond, DeliveredPerSecond float64 // of the last 10 s

	Waiting      int64 // messages in slots, less those that are to be taken back
	ReadBehind   time.Duration
	OffsetBehind int64 // messages in the timer topic that are not entered yet
}

const (
	defaultWindow = 2 * 86400
	blankSlots    = 60 // ticks that are left free in a turn of the wheel
	maxWindow     = timerlog.Slots/2 - blankSlots
)

// New opens the files, before anything new is put into the store. A service that is not run costs nothing and leaves
// nothing on disk.
func New(o Options) (*Service, error) {
	if o.Tick <= 0 {
		o.Tick = time.Second
	}
	switch {
	case o.Window == 0:
		o.Window = defaultWindow
	case o.Window < 2 || o.Window > maxWindow:
		o.Window = maxWindow
	}
	if o.FlushTime <= 0 {
		o.FlushTime = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	files, err := timerlog.Open(timerlog.Options{
		Dir: o.Dir, FileSize: o.FileSize, Precision: o.Tick.Milliseconds(), Sync: &segment.Syncer{Disk: o.Disk}, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	s := &Service{
		o: o, tick: o.Tick.Milliseconds(), files: files, wake: make(chan struct{}, 1), changed: make(chan struct{}, 1),
	}
	s.window = int64(o.Window) * s.tick
	s.work.flights.landed = make(chan struct{}, 1)
	s.told = files.Check.Read()
	s.next, s.pos, s.read = min(s.told.QueueOffset, s.told.MasterQueueOffset), s.told.FlushPos, s.told.ReadTime
	// The log may have lost its end. What is stored from now on takes the place of what is lost.
	s.logEnd = o.Store.MaxPhyOffset()
	if end := o.Store.MaxOffset(Topic, queue); s.next > end && o.Store.DispatchBehind() == 0 {
		o.Log.Warn("timer offset corrected", "was", s.next, "max", end)
		s.next = end
	}
	if s.counts, err = loadCounts(filepath.Join(o.Dir, "config", "timermetrics"), o); err != nil {
		files.Close()
		return nil, err
	}
	return s, nil
}

// Arrived is told of each unit that was added to a queue. It is quick and ignores other topics.
func (s *Service) Arrived(a store.Arrival) {
	if a.Topic == Topic {
		signal(s.wake)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// now is the current tick in ms.
func (s *Service) now() int64 { return s.o.Now().UnixMilli() / s.tick * s.tick }

// Waiting is how many messages wait for the slot of a time (ms).
func (s *Service) Waiting(ms int64) int64 {
	slot, ok := s.files.Wheel.Slot(ms)
	if !ok {
		return 0
	}
	return int64(slot.Num)
}

// Checkpoint is how far the service is: the body of code 60.
func (s *Service) Checkpoint() timerlog.Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkpoint()
}

// checkpoint makes the present checkpoint, with a new version if it moved. s.mu is held.
func (s *Service) checkpoint() timerlog.Checkpoint {
	if s.master != nil {
		cp := *s.master // with its version
		cp.ReadTime, cp.FlushPos, cp.QueueOffset = s.read, s.pos, s.next
		return cp
	}
	was := s.told
	s.told.ReadTime, s.told.FlushPos = s.readTime(), s.pos
	s.told.QueueOffset, s.told.MasterQueueOffset = s.next, s.next
	if s.told != was && s.recovered {
		s.told.Timestamp = s.o.Now().UnixMilli()
		s.told.Counter++
	}
	return s.told
}

// readTime is the time before which all slots are delivered, or empty. s.mu is held.
func (s *Service) readTime() int64 {
	if !s.recovered || s.master != nil {
		return s.read
	}
	now := s.now()
	if next, ok := s.files.Wheel.Next(s.read); !ok || next >= now {
		return max(s.read, now)
	}
	return s.read
}

// Counts are the messages that wait for each real topic: the body of code 61 and the file config/timermetrics.
func (s *Service) Counts() *protocol.TimerMetricsSerializeWrapper { return s.counts.body() }

// Stats returns the counters.
func (s *Service) Stats() Stats {
	s.mu.Lock()
	read, next := s.readTime(), s.next
	s.mu.Unlock()
	now := s.o.Now()
	return Stats{
		Entered: s.entered.sum.Load(), Delivered: s.delivered.sum.Load(),
		Rolled: s.stats.rolled.Load(), Taken: s.stats.taken.Load(),
		Retried: s.stats.retried.Load(), Skipped: s.stats.skipped.Load(),
		EnteredPerSecond: s.entered.rate(now), DeliveredPerSecond: s.delivered.rate(now),
		Waiting:      s.pending.Load(),
		ReadBehind:   max(now.Sub(time.UnixMilli(read)), 0),
		OffsetBehind: max(s.o.Store.MaxOffset(Topic, queue)-next, 0),
	}
}

// Close writes what is not on disk yet. Call it when Run has ended.
func (s *Service) Close() error {
	err := s.flush()
	s.counts.flush()
	err = join(err, s.counts.writer.Close(), s.files.Close())
	return err
}

// never is a wait without end.
const never = time.Duration(math.MaxInt64)

// Run enters and delivers until ctx ends. Only a master may run it. It may be called again after it has returned.
func (s *Service) Run(ctx context.Context) error {
	for !s.recover() {
		if !sleep(ctx, tryAgain) {
			return nil
		}
	}
	var flusher sync.WaitGroup
	flusher.Go(func() { s.keepFlushed(ctx) })
	defer flusher.Wait()
	s.follow(ctx)
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Tick is how long one slot lasts, in ms.
func (s *Service) Tick() int64 { return s.tick }
