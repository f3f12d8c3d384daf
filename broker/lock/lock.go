// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package lock keeps the queue locks of ordered consumption (codes 41 and 42): which client of a group may consume a
// queue. The table lives in memory only; a lock that its owner does not renew expires. Neither group, topic, broker
// name nor queue has to exist: clients may lock whatever they name.
package lock

import (
	"strings"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
)

// DefaultMaxAge is rocketmq.broker.rebalance.lockMaxLiveTime: how long a lock lives without renewal. Clients renew
// every 20 s.
const DefaultMaxAge = 60 * time.Second

// Table is safe for concurrent use.
type Table struct {
	maxAge time.Duration
	now    func() time.Time

	mu     sync.Mutex
	groups map[string]map[protocol.MessageQueue]holder
	swept  time.Time
}

type holder struct {
	clientID string
	renewed  time.Time
}

// New makes an empty table. maxAge 0 means DefaultMaxAge, now nil means time.Now.
func New(maxAge time.Duration, now func() time.Time) *Table {
	if maxAge == 0 {
		maxAge = DefaultMaxAge
	}
	if now == nil {
		now = time.Now
	}
	return &Table{maxAge: maxAge, now: now, groups: map[string]map[protocol.MessageQueue]holder{}, swept: now()}
}

// Lock takes or renews the locks of queues for a client and returns those it holds now: that were free, its own, or
// expired in another's hands. The strings of the arguments may be views.
func (t *Table) Lock(group, clientID string, queues []protocol.MessageQueue) []protocol.MessageQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.sweepLocked(now)
	held := t.groups[group]
	if held == nil && len(queues) > 0 {
		held = map[protocol.MessageQueue]holder{}
		t.groups[strings.Clone(group)] = held
	}
	locked := make([]protocol.MessageQueue, 0, len(queues))
	owner := "" // one copy of the client id for all its new locks
	for _, q := range queues {
		h, taken := held[q]
		switch {
		case taken && h.clientID == clientID:
			h.renewed = now
			held[q] = h
		case taken && !t.expired(h, now):
			continue
		default:
			if owner == "" {
				owner = strings.Clone(clientID)
			}
			held[protocol.MessageQueue{
				Topic: strings.Clone(q.Topic), BrokerName: strings.Clone(q.BrokerName), QueueID: q.QueueID,
			}] = holder{owner, now}
		}
		locked = append(locked, q)
	}
	return locked
}

// Unlock frees those of the queues that the client holds; others are left alone.
func (t *Table) Unlock(group, clientID string, queues []protocol.MessageQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.groups[group]
	for _, q := range queues {
		if h, ok := held[q]; ok && h.clientID == clientID {
			delete(held, q)
		}
	}
	if len(held) == 0 {
		delete(t.groups, group)
	}
}

// HeldBy names the client that holds a lock which has not expired.
func (t *Table) HeldBy(group string, q protocol.MessageQueue) (clientID string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.groups[group][q]
	if !ok || t.expired(h, t.now()) {
		return "", false
	}
	return h.clientID, true
}

// AnyHeld tells whether the group holds any lock that has not expired: in 5.x a retry message that such a group sends
// itself goes to the dead letter topic at once.
func (t *Table) AnyHeld(group string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := t.groups[group]
	if len(held) == 0 {
		return false
	}
	now := t.now()
	for _, h := range held {
		if !t.expired(h, now) {
			return true
		}
	}
	return false
}

func (t *Table) expired(h holder, now time.Time) bool { return now.Sub(h.renewed) > t.maxAge }

// sweepLocked forgets expired locks once per maxAge, so that groups that are gone leave nothing behind.
func (t *Table) sweepLocked(now time.Time) {
	if now.Sub(t.swept) < t.maxAge {
		return
	}
	t.swept = now
	for group, held := range t.groups {
		for q, h := range held {
			if t.expired(h, now) {
				delete(held, q)
			}
		}
		if len(held) == 0 {
			delete(t.groups, group)
		}
	}
}
