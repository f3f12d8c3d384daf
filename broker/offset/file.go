// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Files under <Dir>/config.
const (
	fileName    = "consumerOffset.json"
	lmqFileName = "lmqConsumerOffset.json" // with enableLmq, in place of the other
)

// Sizes of the Java tables that groupTopicMap is made of.
const (
	groupTopicTable = 128
	topicSetTable   = 16
)

// shortest is the shortest time between two looks whether there is something to write.
const shortest = 10 * time.Millisecond

// New loads the offsets. When enableLmq was switched since the last run and the file of the new setting does not exist
// yet, the other one is read (Java starts with no offsets then).
func New(o Options) (*Store, error) {
	if o.Pace == nil {
		o.Pace = func() Pace { return Pace{Interval: 5 * time.Second, VersionStep: 500} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Store{o: o, entries: map[key]*entry{}, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	names := []string{fileName, lmqFileName}
	if o.LMQ {
		slices.Reverse(names)
	}
	var file *metafile.File
	for i, name := range names {
		path := filepath.Join(o.Dir, "config", name)
		f, source, err := metafile.Load(path, s.load)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			file = f
		}
		switch source {
		case metafile.FromNothing:
			continue
		case metafile.FromMain:
		default:
			o.Log.Error("consumer offsets not read from their file", "file", path, "used", source)
		}
		if i > 0 {
			o.Log.Warn("enableLmq was switched: consumer offsets taken over from the other file", "file", path)
		}
		break
	}
	s.writer = metafile.NewWriter(file, s.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return s, nil
}

// load fills the empty store with the content of a file.
func (s *Store) load(text []byte) error {
	var body protocol.ConsumerOffsetSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	s.enter(&body)
	return nil
}

// enter puts what a file or a master brings into the store. s.mu is held, or nobody else has the store yet.
func (s *Store) enter(body *protocol.ConsumerOffsetSerializeWrapper) {
	for name, queues := range body.OffsetTable.All() {
		topic, group, ok := strings.Cut(name, "@")
		if !ok {
			s.o.Log.Warn("consumer offset of no group ignored", "key", name)
			continue
		}
		e := s.makeLocked(key{topic, group})
		for id, offset := range queues.All() {
			e.take(id, offset)
		}
	}
	for name, offset := range body.LmqOffsetTable.All() {
		if topic, group, ok := strings.Cut(name, "@"); ok {
			s.makeLocked(key{topic, group}).take(0, offset)
		}
	}
	if body.DataVersion != nil {
		s.version = *body.DataVersion
	}
}

// take sets the committed offset of a queue.
func (e *entry) take(id int32, offset int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.queues[id]
	c.committed, c.hasCommitted = offset, true
	e.queues[id] = c
}

// Merge takes over what groups have committed at a master (the body of code 43). What the master does not know stays, as
// in Java: it may have been committed here, while the master was away.
func (s *Store) Merge(master *protocol.ConsumerOffsetSerializeWrapper) {
	s.mu.Lock()
	s.enter(master)
	s.mu.Unlock()
	s.dirty.Store(true)
}

// TakeOver takes over what groups have committed at a slave that acted as master (the body of code 43): each offset that is
// further than the own one and not beyond the end of its queue. Unlike in Java it does not matter whose table was changed last:
// what the master has on disk may be older than what its slave had of it.
func (s *Store) TakeOver(slave *protocol.ConsumerOffsetSerializeWrapper, end func(topic string, queueID int32) int64) (moved int) {
	for name, queues := range slave.OffsetTable.All() {
		topic, group, ok := strings.Cut(name, "@")
		if !ok {
			continue
		}
		e := s.findOrMake(group, topic)
		for id, offset := range queues.All() {
			if offset <= end(topic, id) && e.advance(id, offset) {
				moved++
			}
		}
	}
	for name, offset := range slave.LmqOffsetTable.All() {
		topic, group, ok := strings.Cut(name, "@")
		if ok && offset <= end(topic, 0) && s.findOrMake(group, topic).advance(0, offset) {
			moved++
		}
	}
	if moved > 0 {
		s.changed()
	}
	return moved
}

// advance sets the committed offset of a queue if it is further than the one that is there.
func (e *entry) advance(id int32, offset int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.queues[id]
	if c.hasReset || c.hasCommitted && c.committed >= offset {
		return false
	}
	c.committed, c.hasCommitted = offset, true
	e.queues[id] = c
	return true
}

// Supersede makes the table's version newer than that of any copy. A Java master that returns takes over the table of the slave
// that acted for it only if its version is not older than the one that the master has on disk, and versions count by hundreds
// of commits: what the slave has copied may be some steps behind.
func (s *Store) Supersede() {
	s.mu.Lock()
	s.version = metafile.Superseding(s.version, s.o.Now())
	s.mu.Unlock()
	s.dirty.Store(true)
}

// body is the whole table as it is written and answered (code 43).
func (s *Store) body() *protocol.ConsumerOffsetSerializeWrapper {
	entries, version := s.snapshot()
	b := &protocol.ConsumerOffsetSerializeWrapper{DataVersion: &version}
	b.OffsetTable = fastjson.MapOf[string, fastjson.Map[int32, int64]](len(entries))
	b.GroupTopicMap.Clear()
	if s.o.LMQ {
		b.LmqOffsetTable.Clear()
	}
	topics := map[string][]string{}
	for _, e := range entries {
		queues, lmq := e.table()
		switch {
		case queues.Len() == 0:
			continue
		case s.o.LMQ && isLMQ(e.group):
			b.LmqOffsetTable.Set(e.String(), lmq)
			continue
		}
		b.OffsetTable.Set(e.String(), queues)
		// Java makes this map by splitting at '@' and leaves out what has a second one.
		if !strings.Contains(e.group, "@") {
			topics[e.group] = append(topics[e.group], e.topic)
		}
	}
	for _, group := range inHashOrder(groupTopicTable, slices.Collect(maps.Keys(topics))) {
		b.GroupTopicMap.Set(group, inHashOrder(topicSetTable, topics[group]))
	}
	return b
}

func inHashOrder(table int, names []string) []string {
	slices.Sort(names)
	metafile.InJavaOrder(table, names, func(name string) metafile.Place { return metafile.PlaceOf(name, 0) })
	return names
}

// table gives the committed offsets of an entry in the order of a Java map of integers, and the offset of queue 0.
func (e *entry) table() (queues fastjson.Map[int32, int64], first int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := make([]int32, 0, len(e.queues))
	for id, c := range e.queues {
		if c.hasCommitted {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	metafile.InJavaOrder(queueTable, ids, func(id int32) metafile.Place {
		return metafile.Place{Hash: uint32(id) ^ uint32(id)>>16}
	})
	queues = fastjson.MapOf[int32, int64](len(ids))
	for _, id := range ids {
		queues.Set(id, e.queues[id].committed)
	}
	return queues, e.queues[0].committed
}

// queueTable is the size of the Java table of an entry's queues.
const queueTable = 64

// omit is the mark of the fields that 4.9.7 does not have.
func (s *Store) omit() string {
	if s.o.Compat49 {
		return "v5"
	}
	return ""
}

func (s *Store) render() []byte {
	return fastjson.Options{Pretty: true, Omit: s.omit()}.Marshal(s.body())
}

// JSON is the body of code 43.
func (s *Store) JSON() []byte { return fastjson.Options{Omit: s.omit()}.Marshal(s.body()) }

// Persist writes the offsets if any was committed since the last time, and waits until they are on disk.
func (s *Store) Persist(ctx context.Context) error {
	if s.dirty.Swap(false) {
		s.writer.Changed()
	}
	return s.writer.Sync(ctx)
}

// Run writes the offsets every Interval (first after 10 s, as in Java), until ctx ends. It does not write at the end:
// Close does, when no commit can come any more.
func (s *Store) Run(ctx context.Context) error {
	timer := time.NewTimer(max(10*time.Second, s.o.Pace().Interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if s.dirty.Swap(false) {
				s.writer.Changed()
			}
			timer.Reset(max(s.o.Pace().Interval, shortest))
		}
	}
}

// Close writes what is not on disk yet.
func (s *Store) Close() error {
	if s.dirty.Swap(false) {
		s.writer.Changed()
	}
	return s.writer.Close()
}
