// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
)

// compensations remembers what consumers subscribe to that send no heartbeat but bring their expression with each
// pull (5.x). Codes 208 and 345 show it.
type compensations struct {
	mu     sync.RWMutex
	groups map[string]map[string]*compensation // group → topic
}

type compensation struct {
	sub  *Subscription
	seen time.Time
}

// rememberedUpTo is the longest expression that is remembered: they are as many as a client makes up groups.
const rememberedUpTo = 64 << 10

// Compensate remembers the subscription of a pull that brought its own. Strings may be views when a subscription with
// the same text is known already.
func (c *Consumers) Compensate(group, topic string, s *Subscription) {
	if len(s.SubString) > rememberedUpTo {
		return
	}
	t, now := &c.compensations, c.o.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	topics := t.groups[group]
	if topics == nil {
		topics = map[string]*compensation{}
		t.groups[strings.Clone(group)] = topics
	}
	known := topics[topic]
	if known == nil {
		topics[strings.Clone(topic)] = &compensation{s, now}
		return
	}
	known.sub, known.seen = s, now
}

// Compensated gives the remembered subscription if it says the same, so that a pull or a pop need not build it again; it
// counts as seen. Nil: build it and call Compensate. The strings may be views.
func (c *Consumers) Compensated(group, topic, expression, expressionType string, popped bool) *Subscription {
	t, now := &c.compensations, c.o.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.groups[group][topic]
	if known == nil || known.sub.SubString != expression || known.sub.ExpressionType != expressionType ||
		known.sub.Popped != popped {
		return nil
	}
	known.seen = now
	return known.sub
}

// FindSubscription is what a group wants of a topic by heartbeat, or else by its pulls; nil if neither.
func (c *Consumers) FindSubscription(group, topic string) *Subscription {
	if g := c.Group(group); g != nil {
		if s := g.Subscription(topic); s != nil {
			return s
		}
	}
	c.compensations.mu.RLock()
	defer c.compensations.mu.RUnlock()
	if known := c.compensations.groups[group][topic]; known != nil {
		return known.sub
	}
	return nil
}

// Pops tells whether a group pops from a topic: its heartbeats say so, or it did.
func (c *Consumers) Pops(group, topic string) bool {
	if g := c.Group(group); g != nil && g.Type() == protocol.ConsumePop {
		return true
	}
	c.compensations.mu.RLock()
	defer c.compensations.mu.RUnlock()
	known := c.compensations.groups[group][topic]
	return known != nil && known.sub.Popped
}

// SubscriptionCount is the number of topics a group subscribes to by heartbeat, or else by its pulls.
func (c *Consumers) SubscriptionCount(group string) int {
	if g := c.Group(group); g != nil {
		if n := len(g.view.Load().subscriptions); n > 0 {
			return n
		}
	}
	c.compensations.mu.RLock()
	defer c.compensations.mu.RUnlock()
	return len(c.compensations.groups[group])
}

func (t *compensations) expire(now time.Time, lifetime time.Duration) {
	if lifetime <= 0 {
		lifetime = 10 * time.Minute
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for group, topics := range t.groups {
		for topic, known := range topics {
			if now.Sub(known.seen) > lifetime {
				delete(topics, topic)
			}
		}
		if len(topics) == 0 {
			delete(t.groups, group)
		}
	}
}

// Subscribed are the topics that a group subscribes to by heartbeat, or else by its pulls; none if it does neither.
func (c *Consumers) Subscribed(group string) []string {
	if g := c.Group(group); g != nil {
		return slices.Collect(maps.Keys(g.view.Load().subscriptions))
	}
	c.compensations.mu.RLock()
	defer c.compensations.mu.RUnlock()
	return slices.Collect(maps.Keys(c.compensations.groups[group]))
}
