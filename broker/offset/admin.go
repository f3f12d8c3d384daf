// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"slices"
	"strings"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/remoting/protocol"
)

// committed tells whether any queue has a committed offset; only such entries exist for anyone but the pull itself.
func (e *entry) hasOffsets() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.queues {
		if c.hasCommitted {
			return true
		}
	}
	return false
}

// Offsets are the committed offsets of a group and topic by queue id, nil if there is none. Negative ones are included.
func (s *Store) Offsets(group, topic string) map[int32]int64 {
	e := s.find(group, topic)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var all map[int32]int64
	for id, c := range e.queues {
		if c.hasCommitted {
			if all == nil {
				all = make(map[int32]int64, len(e.queues))
			}
			all[id] = c.committed
		}
	}
	return all
}

// TopicsOf names the topics for which a group has committed offsets, sorted.
func (s *Store) TopicsOf(group string) []string {
	return s.names(func(e *entry) (string, bool) { return e.topic, e.group == group })
}

// GroupsOf names the groups that have committed offsets of a topic, sorted; not those with an "@" in their name, which
// are none of the users'.
func (s *Store) GroupsOf(topic string) []string {
	return s.names(func(e *entry) (string, bool) { return e.group, e.topic == topic && !strings.Contains(e.group, "@") })
}

func (s *Store) names(pick func(*entry) (string, bool)) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var names []string
	for _, e := range s.entries {
		if name, ok := pick(e); ok && e.hasOffsets() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// RemoveGroup forgets a group, and what its broadcasting clients have in common.
func (s *Store) RemoveGroup(group string) {
	s.remove(func(k key) bool { return k.group == group || strings.TrimSuffix(k.group, broadcastSuffix) == group })
}

// RemoveTopic forgets a topic for all groups.
func (s *Store) RemoveTopic(topic string) { s.remove(func(k key) bool { return k.topic == topic }) }

// Remove forgets one topic of one group.
func (s *Store) Remove(group, topic string) {
	s.remove(func(k key) bool { return k.group == group && k.topic == topic })
}

func (s *Store) remove(which func(key) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, e := range s.entries {
		if !which(k) {
			continue
		}
		delete(s.entries, k)
		e.mu.Lock()
		for _, c := range e.queues {
			if c.hasReset {
				s.pending.Add(-1)
			}
		}
		// A commit that found the entry before finds it empty; what it adds is lost, as if it had come before.
		clear(e.queues)
		e.mu.Unlock()
		s.dirty.Store(true)
	}
}

// Clone gives group dst the committed offsets that group src has of a topic, in place of its own.
func (s *Store) Clone(src, dst, topic string) {
	from := s.Offsets(src, topic)
	if from == nil {
		return
	}
	e := s.findOrMake(dst, topic)
	e.mu.Lock()
	for id, c := range e.queues {
		c.hasCommitted = false
		e.queues[id] = c
	}
	for id, offset := range from {
		c := e.queues[id]
		c.committed, c.hasCommitted = offset, true
		e.queues[id] = c
	}
	e.mu.Unlock()
	s.changed()
}

// DataVersion is the version of the table.
func (s *Store) DataVersion() protocol.DataVersion {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

// snapshot lists the entries in Java's order.
func (s *Store) snapshot() ([]*entry, protocol.DataVersion) {
	s.mu.RLock()
	entries := make([]*entry, 0, len(s.entries))
	for _, e := range s.entries {
		entries = append(entries, e)
	}
	version := s.version
	s.mu.RUnlock()
	metafile.InJavaOrder(metafile.OffsetTable, entries, func(e *entry) metafile.Place { return e.place })
	return entries, version
}

// isLMQ tells whether the offsets of a group stand in the table of light message queues.
func isLMQ(group string) bool { return strings.HasPrefix(group, "%LMQ%") }
