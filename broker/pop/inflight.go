// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import "sync"

// inflight counts what groups have popped of queues and neither acknowledged nor been given again. Pops before this process
// began are not known. Messages that are acknowledged twice count twice, as in Java.
type inflight struct {
	since int64 // ms

	mu sync.Mutex
	n  map[queueKey]int64
}

// popped adds messages that a group was given.
func (f *inflight) popped(key queueKey, n int) {
	f.mu.Lock()
	f.n[key] += int64(n)
	f.mu.Unlock()
}

// done takes messages of a pop off, and tells how many there were and are.
func (f *inflight) done(key queueKey, popTime int64, n int) (before, after int64) {
	if popTime < f.since {
		return 0, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before = f.n[key]
	if after = before - int64(n); after <= 0 {
		delete(f.n, key)
		return before, 0
	}
	f.n[key] = after
	return before, after
}

// tooMany tells whether a group has to acknowledge before it gets more; a limit of 0 is none.
func (f *inflight) tooMany(key queueKey, limit int64) bool { return limit > 0 && f.of(key) > limit }

func (f *inflight) of(key queueKey) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n[key]
}

func (f *inflight) forget(gone func(topic, group string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.n {
		if gone(key.topic, key.group) {
			delete(f.n, key)
		}
	}
}

// landed takes messages of a pop off, and wakes who may have more now.
func (s *Service) landed(key queueKey, popTime int64, n int) {
	before, after := s.inflight.done(key, popTime, n)
	if limit := s.o.Rules().MaxInFlight; limit > 0 && before > limit && after <= limit {
		s.Pops.Wake(origin(key.topic, key.group), key.group, key.queue)
	}
}

// InFlight is how many messages of a queue a group has popped and neither acknowledged nor been given again, since this
// process began. Ordered: the offset of the group is before them, not behind.
func (s *Service) InFlight(topic, group string, queue int32) (n int64, ordered bool) {
	if n := s.orders.open(topic, group, queue); n > 0 {
		return n, true
	}
	return s.inflight.of(queueKey{topic, group, queue}), false
}

// RetryTopics are the names of the pop retry topics of a group that exist.
func (s *Service) RetryTopics(topic, group string) (names []string) {
	rules := s.o.Rules()
	for _, retry := range s.retryTopics(topic, group, &rules) {
		names = append(names, retry.TopicName)
	}
	return names
}
