// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package compaction serves topics with cleanup.policy=COMPACTION: consumers see the newest message of each key at
// least, and what was sent since keys were looked at last. Package store/compaction keeps the messages, a log for each
// queue; this one hands it what comes into the consume queues, looks for old messages every compactionScheduleInternal,
// and keeps the file compaction/position-checkpoint, which says up to where it did.
//
// The consume queue of such a topic is an ordinary one; what a log lacks, because the disk was full or because it never
// existed, is taken from there as long as the commit log has it.
package compaction

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/store"
	"rocketmq-go/store/compaction"
)

// Source is the store that has all messages.
type Source interface {
	Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult)
	Unit(topic string, queueID int32, offset int64) (store.Unit, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
}

// Options of a Service.
type Options struct {
	Dir           string // storePathRootDir
	LogFileSize   int    // compactionMappedFileSize, bytes
	QueueFileSize int    // compactionCqMappedFileSize, bytes
	KeyMemory     int    // maxOffsetMapSize, bytes
	AfterCrash    bool   // the store was not stopped cleanly
	Interval      func() time.Duration
	FlushInterval func() time.Duration
	Store         Source
	// Compacted tells whether a topic has the policy; Topics lists those that have it, with their queues.
	Compacted func(topic string) bool
	Topics    func() map[string]int32
	Log       *slog.Logger
}

type key struct {
	topic string
	queue int32
}

// String is the queue's name in the checkpoint.
func (k key) String() string { return k.topic + "_" + strconv.Itoa(int(k.queue)) }

// entry is the log of a queue.
type entry struct {
	key
	log  *compaction.Log
	next int64 // queue offset to be handed over next; guarded by Service.following
	sick bool  // the last message could not be handed over; guarded as above
}

// Service is safe for concurrent use.
type Service struct {
	o         Options
	dir       string
	following sync.Mutex // one message is handed over at a time
	mu        sync.RWMutex
	logs      map[key]*entry
	positions map[string]int64
	writer    *metafile.Writer
	dirty     chan struct{} // something is to be flushed
	grown     chan struct{} // a log has a new file
	rec       []byte        // guarded by following
}

// checkpoint is the file's form. Java prints whether it is empty, and does not read that.
type checkpoint struct {
	Empty          bool                        `json:"empty"`
	QueueOffsetMap fastjson.Map[string, int64] `json:"queueOffsetMap"`
}

// New opens the logs of all topics that have the policy, and brings them up to their queues.
func New(o Options) (*Service, error) {
	s := &Service{
		o: o, dir: filepath.Join(o.Dir, "compaction"), logs: map[key]*entry{}, positions: map[string]int64{},
		dirty: make(chan struct{}, 1), grown: make(chan struct{}, 1),
	}
	path := filepath.Join(s.dir, "position-checkpoint")
	file, source, err := metafile.Load(path, s.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("compaction: positions not read from their file: all keys are looked at again", "file", path, "used", source)
	}
	s.writer = metafile.NewWriter(file, s.render, metafile.Options{Log: o.Log})
	for topic, queues := range o.Topics() {
		for queue := range queues {
			end := o.Store.MaxOffset(topic, queue)
			if end == 0 {
				continue
			}
			e, err := s.entry(key{topic, queue})
			if err == nil {
				err = s.settle(e, end)
			}
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			s.follow(e, end)
		}
	}
	return s, nil
}

func (s *Service) load(text []byte) error {
	var c checkpoint
	if err := fastjson.Unmarshal(text, &c); err != nil {
		return err
	}
	clear(s.positions)
	for name, position := range c.QueueOffsetMap.All() {
		s.positions[name] = position
	}
	return nil
}

func (s *Service) render() []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := checkpoint{Empty: len(s.positions) == 0, QueueOffsetMap: fastjson.MapOf[string, int64](len(s.positions))}
	for _, name := range slices.Sorted(maps.Keys(s.positions)) {
		c.QueueOffsetMap.Set(name, s.positions[name])
	}
	return fastjson.Options{Pretty: true}.Marshal(&c)
}

// entry finds or opens the log of a queue.
func (s *Service) entry(k key) (*entry, error) {
	if e := s.find(k); e != nil {
		return e, nil
	}
	queueSize := compaction.QueueFileSize(s.o.QueueFileSize)
	log, err := compaction.Open(compaction.Options{
		Dir: s.dir, Topic: k.topic, QueueID: k.queue, KeyMemory: s.o.KeyMemory, AfterCrash: s.o.AfterCrash, Log: s.o.Log,
		QueueFileSize: queueSize, LogFileSize: compaction.LogFileSize(s.o.LogFileSize, queueSize),
	})
	if err != nil {
		return nil, err
	}
	e := &entry{key: k, log: log, next: log.Next()}
	s.mu.Lock()
	s.logs[k] = e
	s.mu.Unlock()
	if log.Files() > 1 {
		signal(s.grown)
	}
	return e, nil
}

func (s *Service) find(k key) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.logs[k]
}

// settle takes back what the queue has lost, or has got anew under the same offsets: after a crash, and when the topic
// was deleted and made again by a broker that leaves the log.
func (s *Service) settle(e *entry, end int64) error {
	for next := e.log.Next(); next > 0; next = e.log.Next() {
		if next <= end && s.same(e, next-1) {
			break
		}
		if err := e.log.Truncate(min(end, next-1)); err != nil {
			return err
		}
	}
	e.next = e.log.Next()
	s.mu.Lock()
	defer s.mu.Unlock()
	if position, known := s.positions[e.String()]; known && position >= e.next {
		s.positions[e.String()] = e.next - 1
	}
	return nil
}

// same tells whether log and queue have the same message at an offset; true when the queue has lost its own.
func (s *Service) same(e *entry, offset int64) bool {
	own, _, err := e.log.Get(nil, store.GetRequest{Offset: offset, MaxCount: 1})
	if err != nil {
		return false
	}
	u, ok := s.o.Store.Unit(e.topic, e.queue, offset)
	if !ok {
		return true
	}
	rec, ok := s.o.Store.Record(nil, u.PhyOffset, u.Size)
	// bytes 28–35 are the physical offset
	return !ok || len(rec) == len(own) && bytes.Equal(rec[:28], own[:28]) && bytes.Equal(rec[36:], own[36:])
}

// Arrived is told by the store's dispatcher of what came into the consume queues.
func (s *Service) Arrived(a store.Arrival) {
	if !s.o.Compacted(a.Topic) {
		return
	}
	s.following.Lock()
	defer s.following.Unlock()
	if !s.o.Compacted(a.Topic) { // it was deleted meanwhile
		return
	}
	e, err := s.entry(key{a.Topic, a.QueueID})
	if err != nil {
		s.o.Log.Error("compaction: cannot open a log; consumers read the commit log", "topic", a.Topic, "queueId", a.QueueID, "error", err)
		return
	}
	s.follow(e, a.Offset+1)
}

// follow hands over the queue's messages up to end. It stops where that fails and goes on there the next time.
func (s *Service) follow(e *entry, end int64) {
	files := e.log.Files()
	for e.next = max(e.next, s.o.Store.MinOffset(e.topic, e.queue)); e.next < end; e.next++ {
		u, ok := s.o.Store.Unit(e.topic, e.queue, e.next)
		if ok {
			s.rec, ok = s.o.Store.Record(s.rec[:0], u.PhyOffset, u.Size)
		}
		if !ok {
			s.o.Log.Warn("compaction: a message cannot be read and is left out", "topic", e.topic, "queueId", e.queue, "offset", e.next)
			continue
		}
		err := e.log.Append(s.rec)
		switch {
		case errors.Is(err, compaction.ErrKey), errors.Is(err, compaction.ErrTooLarge):
			s.o.Log.Warn("compaction: a message is left out", "error", err)
		case err != nil:
			if !e.sick {
				s.o.Log.Error("compaction: a message cannot be added; consumers read it from the commit log", "topic", e.topic,
					"queueId", e.queue, "offset", e.next, "error", err)
			}
			e.sick = true
			return
		}
		e.sick = false
	}
	signal(s.dirty)
	if n := e.log.Files(); n > files && n > 1 {
		signal(s.grown)
	}
}

// Get reads a queue: the log as far as it goes, and the consume queue behind it and for all other topics.
func (s *Service) Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult) {
	if !s.o.Compacted(r.Topic) {
		return s.o.Store.Get(dst, r)
	}
	e := s.find(key{r.Topic, r.QueueID})
	if e == nil {
		return s.o.Store.Get(dst, r)
	}
	before := len(dst)
	if r.Offset >= 0 && r.Offset < e.log.Next() {
		out, res, err := e.log.Get(dst, r)
		if err == nil {
			return out, res
		}
		s.o.Log.Error("compaction: cannot read; consumers read the commit log", "topic", r.Topic, "queueId", r.QueueID, "error", err)
		dst = out[:before]
	}
	out, res := s.o.Store.Get(dst, r)
	if first := e.log.First(); first >= 0 {
		res.MinOffset = first
	}
	return out, res
}

// DeleteTopics removes the logs of topics that are deleted.
func (s *Service) DeleteTopics(topics []string) {
	gone := map[string]bool{}
	for _, t := range topics {
		gone[t] = true
	}
	s.following.Lock()
	defer s.following.Unlock()
	var removed []*entry
	s.mu.Lock()
	for k, e := range s.logs {
		if gone[k.topic] {
			removed = append(removed, e)
			delete(s.logs, k)
			delete(s.positions, k.String())
		}
	}
	s.mu.Unlock()
	if len(removed) == 0 {
		return
	}
	for _, e := range removed {
		if err := e.log.Remove(); err != nil {
			s.o.Log.Error("compaction: cannot remove the log of a deleted topic", "topic", e.topic, "queueId", e.queue, "error", err)
		}
	}
	s.writer.Changed()
}

// Run flushes and compacts, each only when there is something to do.
func (s *Service) Run(ctx context.Context) error {
	var flush, compact <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.dirty:
			if flush == nil {
				flush = time.After(s.o.FlushInterval())
			}
		case <-flush:
			flush = nil
			s.each(func(e *entry) {
				if err := e.log.Flush(); err != nil {
					s.o.Log.Error("compaction: cannot flush", "topic", e.topic, "queueId", e.queue, "error", err)
				}
			})
		case <-s.grown:
			if compact == nil {
				compact = time.After(s.o.Interval())
			}
		case <-compact:
			compact = nil
			s.each(func(e *entry) { s.compact(ctx, e) })
		}
	}
}

func (s *Service) each(visit func(*entry)) {
	s.mu.RLock()
	all := make([]*entry, 0, len(s.logs))
	for _, e := range s.logs {
		all = append(all, e)
	}
	s.mu.RUnlock()
	for _, e := range all {
		visit(e)
	}
}

// compact leaves the newest message of each key in the files that were ended.
func (s *Service) compact(ctx context.Context, e *entry) {
	s.mu.RLock()
	position, known := s.positions[e.String()]
	s.mu.RUnlock()
	if !known {
		position = -1
	}
	now, err := e.log.Compact(ctx, position)
	if err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrClosed) {
		s.o.Log.Error("compaction failed", "topic", e.topic, "queueId", e.queue, "error", err)
	}
	if now == position {
		return
	}
	s.mu.Lock()
	current := s.logs[e.key] == e
	if current {
		s.positions[e.String()] = now
	}
	s.mu.Unlock()
	if current {
		s.writer.Changed()
		signal(s.grown) // what did not fit into the table of keys is looked at the next time
	}
}

// Close writes everything to disk. The store must not call Arrived any more.
func (s *Service) Close() error {
	var errs []error
	s.each(func(e *entry) { errs = append(errs, e.log.Close()) })
	return errors.Join(append(errs, s.writer.Close())...)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
