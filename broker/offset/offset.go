// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package offset keeps how far each group has consumed each queue.
//
// Three numbers are kept for a queue: the committed offset (in config/consumerOffset.json), the offset of the newest
// pull and a pending reset (both in memory only). While a reset is pending, commits are ignored, so that a client that
// still works on old messages does not undo it; the next pull takes it.
package offset

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/remoting/protocol"
)

// rewindWarn is by how many messages a commit must go back to be worth a warning.
const rewindWarn = 1000

// Options say where the offsets are kept and by which rules.
type Options struct {
	Dir      string      // the store's root; the file is <Dir>/config/consumerOffset.json
	LMQ      bool        // enableLmq: the file is lmqConsumerOffset.json
	Compat49 bool        // write the file as 4.9.7 does
	Pace     func() Pace // asked again each time; nil: as a Java broker that is told nothing
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each failed write
}

// Pace says how often offsets are written, and how many commits make a step of the data version.
type Pace struct {
	Interval    time.Duration // flushConsumerOffsetInterval
	VersionStep int64         // consumerOffsetUpdateVersionStep; less than 1 is 1
}

// Store is safe for concurrent use. Query, Commit, CommitPull and PullOffset allocate nothing for a queue they know;
// their strings may be views.
type Store struct {
	o      Options
	writer *metafile.Writer

	mu      sync.RWMutex
	entries map[key]*entry
	seq     uint64
	version protocol.DataVersion

	commits atomic.Int64
	pending atomic.Int64 // queues with a pending reset
	dirty   atomic.Bool
}

type key struct{ topic, group string }

// entry holds the queues of one topic and group.
type entry struct {
	key
	place metafile.Place // of "topic@group"

	mu     sync.Mutex
	queues map[int32]cell
}

type cell struct {
	committed, pulled, reset          int64
	hasCommitted, hasPulled, hasReset bool
}

// pathKey is the name of the pair in the file.
func (k key) String() string { return k.topic + "@" + k.group }

func (s *Store) find(group, topic string) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entries[key{topic, group}]
}

func (s *Store) findOrMake(group, topic string) *entry {
	if e := s.find(group, topic); e != nil {
		return e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.makeLocked(key{topic, group})
}

// makeLocked copies the key's strings when it makes an entry.
func (s *Store) makeLocked(k key) *entry {
	if e := s.entries[k]; e != nil {
		return e
	}
	k = key{strings.Clone(k.topic), strings.Clone(k.group)}
	s.seq++
	e := &entry{key: k, place: metafile.PlaceOf(k.String(), s.seq), queues: map[int32]cell{}}
	s.entries[k] = e
	return e
}

func (e *entry) get(queueID int32) cell {
	if e == nil {
		return cell{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.queues[queueID]
}

// Query is the committed offset of a queue. A negative one, which a client may have committed, counts as none, and a
// pending reset comes first.
func (s *Store) Query(group, topic string, queueID int32) (int64, bool) {
	c := s.find(group, topic).get(queueID)
	if c.hasReset {
		return c.reset, true
	}
	return c.committed, c.hasCommitted && c.committed >= 0
}

// Commit stores an offset as it is given: backwards, beyond the end, negative or of a queue that does not exist. It
// returns false and stores nothing while a reset of the queue is pending. client is who commits, for the log.
func (s *Store) Commit(client, group, topic string, queueID int32, offset int64) bool {
	e := s.findOrMake(group, topic)
	e.mu.Lock()
	c := e.queues[queueID]
	if c.hasReset {
		e.mu.Unlock()
		return false
	}
	before, had := c.committed, c.hasCommitted
	c.committed, c.hasCommitted = offset, true
	e.queues[queueID] = c
	e.mu.Unlock()

	if had && before-offset >= rewindWarn {
		s.o.Log.Warn("consumer offset committed far back", "group", group, "topic", topic, "queue", queueID,
			"from", before, "to", offset, "client", client)
	}
	s.changed()
	return true
}

// changed counts a commit.
func (s *Store) changed() {
	s.dirty.Store(true)
	if s.commits.Add(1)%max(s.o.Pace().VersionStep, 1) == 0 {
		s.mu.Lock()
		s.version = metafile.NextVersion(s.version, s.o.Now())
		s.mu.Unlock()
	}
}

// CommitPull remembers where the group's next pull of a queue begins.
func (s *Store) CommitPull(group, topic string, queueID int32, offset int64) {
	e := s.findOrMake(group, topic)
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.queues[queueID]
	c.pulled, c.hasPulled = offset, true
	e.queues[queueID] = c
}

// PullOffset is what CommitPull remembered, -1 when nothing was.
func (s *Store) PullOffset(group, topic string, queueID int32) int64 {
	if c := s.find(group, topic).get(queueID); c.hasPulled {
		return c.pulled
	}
	return -1
}

// ResetPending sets the committed offset and makes the next pull of the queue go there (server-side reset).
func (s *Store) ResetPending(group, topic string, queueID int32, offset int64) {
	e := s.findOrMake(group, topic)
	e.mu.Lock()
	c := e.queues[queueID]
	if !c.hasReset {
		s.pending.Add(1)
	}
	c.committed, c.hasCommitted = offset, true
	c.reset, c.hasReset = offset, true
	e.queues[queueID] = c
	e.mu.Unlock()
	s.changed()
}

// HasReset tells whether a reset of the queue is pending.
func (s *Store) HasReset(group, topic string, queueID int32) bool {
	return s.pending.Load() > 0 && s.find(group, topic).get(queueID).hasReset
}

// TakeReset returns a pending reset and ends it. It costs nothing while no reset is pending anywhere.
func (s *Store) TakeReset(group, topic string, queueID int32) (offset int64, ok bool) {
	if s.pending.Load() == 0 {
		return 0, false
	}
	e := s.find(group, topic)
	if e == nil {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.queues[queueID]
	if !c.hasReset {
		return 0, false
	}
	c.hasReset = false
	e.queues[queueID] = c
	s.pending.Add(-1)
	return c.reset, true
}
