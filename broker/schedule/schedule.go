// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package schedule delivers messages with a delay level.
//
// A message with property DELAY=n is stored in queue n-1 of SCHEDULE_TOPIC_XXXX; the tags code of its queue unit is the
// time at which it is due. As all messages of a level have the same delay, each queue is ordered by due time. For each
// level one goroutine sleeps until the first unit is due, or until a unit arrives when there is none, and puts the
// message into its real topic. Nothing runs while nothing is due.
//
//	queue of a level   ├── delivered ──┤── in flight ──┤── not due ──┤
//	                                   next            issued        max
//
// Order is kept: a put that fails is tried again, 100 ms later, before anything behind it. next is kept in
// config/delayOffset.json; after a crash what was delivered since its last write is delivered again.
package schedule

import (
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Topic is where delayed messages wait.
const Topic = "SCHEDULE_TOPIC_XXXX"

// Store is what the service reads of the store.
type Store interface {
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
	Unit(topic string, queueID int32, offset int64) (store.Unit, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	MaxPhyOffset() int64
	DispatchBehind() int64
	Queues() map[string][]int32
}

// Options are the service's parts.
type Options struct {
	Dir    string // the store's root; the file is <Dir>/config/delayOffset.json
	Levels []time.Duration
	Store  Store
	// Put stores a message that is due, without delaying it again although its properties still say DELAY. done is
	// called exactly once, from any goroutine. The message is a view until Put returns.
	Put      func(m *message.Message, done func(store.PutResult))
	Compat49 bool        // write the file as 4.9.7 does
	Pace     func() Pace // asked again each time; nil: as a Java broker that is told nothing
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each failed write of the file
	// Delivered is told of each message that was delivered, with its size as stored; may be nil.
	Delivered func(topic string, bytes int)
}

// Pace says how often the file is written, and how many deliveries make a step of the data version.
type Pace struct {
	Interval    time.Duration // flushDelayOffsetInterval
	VersionStep int64         // delayOffsetUpdateVersionStep; less than 1 is 1
}

// shortest is the shortest time between two looks whether there is something to write.
const shortest = 10 * time.Millisecond

// Service is safe for concurrent use.
type Service struct {
	o      Options
	writer *metafile.Writer
	levels []*level // index 0 is level 1

	mu      sync.Mutex
	others  map[int32]int64 // offsets in the file of levels that are not configured any more; kept
	version protocol.DataVersion

	dirty     atomic.Bool
	updates   atomic.Int64
	delivered atomic.Int64
	retried   atomic.Int64
	skipped   atomic.Int64
}

// Stats counts what the service did since it was made.
type Stats struct {
	Delivered int64
	Retried   int64 // failed puts
	Skipped   int64 // messages that could not be read or can never be put
}

// New loads the offsets.
func New(o Options) (*Service, error) {
	if o.Pace == nil {
		o.Pace = func() Pace { return Pace{Interval: 10 * time.Second, VersionStep: 200} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Service{o: o, others: map[int32]int64{}, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	for i, delay := range o.Levels {
		s.levels = append(s.levels, newLevel(s, int32(i), delay))
	}
	path := filepath.Join(o.Dir, "config", "delayOffset.json")
	file, source, err := metafile.Load(path, s.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("delay offsets not read from their file", "file", path, "used", source)
	}
	s.writer = metafile.NewWriter(file, s.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return s, nil
}

func (s *Service) load(text []byte) error {
	var body protocol.DelayOffsetSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, offset := range body.OffsetTable.All() {
		if n >= 1 && int(n) <= len(s.levels) {
			s.levels[n-1].load(offset)
		} else {
			s.others[n] = offset
		}
	}
	if body.DataVersion != nil {
		s.version = *body.DataVersion
	}
	return nil
}

// Replace takes over how far a master has delivered (the body of code 45). Only a broker that does not Run may do so.
func (s *Service) Replace(master []byte) error {
	if err := s.load(master); err != nil {
		return err
	}
	s.writer.Changed()
	return nil
}

// TakeOver takes over how far a slave has delivered that acted as master (the body of code 45), where it is further. Only a
// broker that does not Run may do so.
func (s *Service) TakeOver(slave []byte) error {
	var body protocol.DelayOffsetSerializeWrapper
	if err := fastjson.Unmarshal(slave, &body); err != nil {
		return err
	}
	for n, offset := range body.OffsetTable.All() {
		if n < 1 || int(n) > len(s.levels) {
			continue
		}
		if next, seen := s.levels[n-1].position(); !seen || next < offset {
			s.levels[n-1].load(offset)
		}
	}
	s.writer.Changed()
	return nil
}

// Supersede makes the version newer than that of any copy; see package offset.
func (s *Service) Supersede() {
	s.mu.Lock()
	s.version = metafile.Superseding(s.version, s.o.Now())
	s.mu.Unlock()
	s.dirty.Store(true)
}

// Delays are the delays of the levels; index 0 is level 1.
func (s *Service) Delays() []time.Duration { return s.o.Levels }

// MaxLevel is the highest level; a message with a higher one gets it.
func (s *Service) MaxLevel() int32 { return int32(len(s.levels)) }

// Arrived is told of each unit that was added to a queue. It is quick and ignores other topics.
func (s *Service) Arrived(a store.Arrival) {
	if a.Topic == Topic && a.QueueID >= 0 && int(a.QueueID) < len(s.levels) {
		s.levels[a.QueueID].wakeUp()
	}
}

// Run delivers until ctx ends. Only a master may run it.
func (s *Service) Run(ctx context.Context) error {
	for _, id := range s.o.Store.Queues()[Topic] {
		if int(id) >= len(s.levels) && s.o.Store.MaxOffset(Topic, id) > s.others[id+1] {
			s.o.Log.Warn("delayed messages of a level that messageDelayLevel does not have are not delivered",
				"level", id+1, "levels", len(s.levels))
		}
	}
	caughtUp := s.catchUp()
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range s.levels {
		g.Go(func() error { l.run(ctx, caughtUp); return nil })
	}
	g.Go(func() error {
		wait := func() time.Duration { return max(s.o.Pace().Interval, shortest) }
		timer := time.NewTimer(wait())
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
				s.flush()
				timer.Reset(wait())
			}
		}
	})
	return g.Wait()
}

// catchUp returns a function that tells whether the queues hold everything that was in the log at its call. Before, the
// end of a queue says nothing about an offset beyond it: after a crash the store fills the queues from the log.
func (s *Service) catchUp() func() bool {
	target := s.o.Store.MaxPhyOffset()
	var done atomic.Bool
	return func() bool {
		if !done.Load() && s.o.Store.MaxPhyOffset()-s.o.Store.DispatchBehind() >= target {
			done.Store(true)
		}
		return done.Load()
	}
}

// moved counts a change of a level's offset.
func (s *Service) moved() {
	s.dirty.Store(true)
	if s.updates.Add(1)%max(s.o.Pace().VersionStep, 1) == 0 {
		s.mu.Lock()
		s.version = metafile.NextVersion(s.version, s.o.Now())
		s.mu.Unlock()
	}
}

func (s *Service) flush() {
	if s.dirty.Swap(false) {
		s.writer.Changed()
	}
}

// Persist writes the offsets if they changed, and waits until they are on disk.
func (s *Service) Persist(ctx context.Context) error {
	s.flush()
	return s.writer.Sync(ctx)
}

// Close writes what is not on disk yet. Call it when Run has ended.
func (s *Service) Close() error {
	s.flush()
	return s.writer.Close()
}

// levelTable is the size of the Java table of the offsets.
const levelTable = 64

// body is the table as it is written and answered (code 45): the levels that held a message at some time.
func (s *Service) body() *protocol.DelayOffsetSerializeWrapper {
	offsets := map[int32]int64{}
	for _, l := range s.levels {
		if offset, seen := l.position(); seen {
			offsets[l.queueID+1] = offset
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var order []int32
	for n, offset := range s.others {
		offsets[n] = offset
	}
	for n := range offsets {
		order = append(order, n)
	}
	slices.Sort(order)
	metafile.InJavaOrder(levelTable, order, func(n int32) metafile.Place {
		return metafile.Place{Hash: uint32(n) ^ uint32(n)>>16}
	})
	version := s.version
	b := &protocol.DelayOffsetSerializeWrapper{DataVersion: &version}
	b.OffsetTable = fastjson.MapOf[int32, int64](len(order))
	for _, n := range order {
		b.OffsetTable.Set(n, offsets[n])
	}
	return b
}

func (s *Service) omit() string {
	if s.o.Compat49 {
		return "v5"
	}
	return ""
}

func (s *Service) render() []byte {
	return fastjson.Options{Pretty: true, Omit: s.omit()}.Marshal(s.body())
}

// JSON is the body of code 45.
func (s *Service) JSON() []byte { return fastjson.Options{Omit: s.omit()}.Marshal(s.body()) }

// Progress is how far a level is: Delivered is the queue offset of the next message, Max the end of the queue.
type Progress struct {
	Level          int32
	Delivered, Max int64
}

// Progress lists the levels that held a message at some time, as scheduleMessageOffset_<level> of code 28 shows them.
func (s *Service) Progress() []Progress {
	var all []Progress
	for _, l := range s.levels {
		if offset, seen := l.position(); seen {
			all = append(all, Progress{l.queueID + 1, offset, s.o.Store.MaxOffset(Topic, l.queueID)})
		}
	}
	return all
}

// Stats returns the counters.
func (s *Service) Stats() Stats {
	return Stats{s.delivered.Load(), s.retried.Load(), s.skipped.Load()}
}

// never is a wait without end.
const never = time.Duration(math.MaxInt64)
