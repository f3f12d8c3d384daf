// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"slices"
	"strings"

	"rocketmq-go/remoting/protocol"
)

// Gone is one broker process that was removed.
type Gone struct {
	Cluster, Name, Addr string
	ID                  int64
	Conn                Conn
	// Change is set when it had the smallest id of an acting-master set with other members.
	Change *MinIDChange
}

// Unregister removes a broker process. An address that meanwhile belongs to another id stays: the message is late.
// It reports false if there was nothing to remove.
func (t *Table) Unregister(cluster, name, addr string, id int64) (Gone, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(liveKey{strings.Clone(cluster), strings.Clone(addr)}, strings.Clone(name), id)
}

// Closed removes the brokers whose latest registration came over this connection.
func (t *Table) Closed(conn Conn) []Gone {
	return t.removeLive(func(l *liveBroker) bool { return l.conn == conn })
}

// Expire removes the brokers that were silent for longer than their timeout. Their connections should be closed.
func (t *Table) Expire() []Gone {
	now := t.now()
	return t.removeLive(func(l *liveBroker) bool { return now.Sub(l.last) > l.timeout })
}

// removeLive decides and removes under one lock, so that a registration that comes in between is never undone.
func (t *Table) removeLive(match func(*liveBroker) bool) []Gone {
	if !t.anyLive(match) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var gone []Gone
	for key, l := range t.live {
		if match(l) {
			g, _ := t.remove(key, l.broker.name, l.id)
			gone = append(gone, g)
		}
	}
	return gone
}

// anyLive spares writers and readers the write lock in the usual case that nothing is to be removed.
func (t *Table) anyLive(match func(*liveBroker) bool) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, l := range t.live {
		if match(l) {
			return true
		}
	}
	return false
}

func (t *Table) remove(key liveKey, name string, id int64) (Gone, bool) {
	g := Gone{Cluster: key.cluster, Name: name, Addr: key.addr, ID: id}
	b := t.brokers[name]
	if b != nil && slices.ContainsFunc(b.members, func(m Member) bool { return m.Addr == key.addr && m.ID != id }) {
		return g, false
	}
	l := t.live[key]
	if l != nil {
		g.Conn = l.conn
		delete(t.live, key)
	}
	if b == nil {
		return g, l != nil
	}
	wasMin := b.minID() == id
	if !b.drop(func(m Member) bool { return m.Addr == key.addr }) {
		return g, l != nil
	}
	t.touch(b)
	if len(b.members) == 0 {
		t.dissolve(b)
		return g, true
	}
	if b.headless() {
		t.changePerm(b.name, withoutWrite)
	}
	if wasMin && b.acting {
		g.Change = &MinIDChange{Broker: b.name, Members: b.members, Offline: protocol.Some(key.addr)}
	}
	return g, true
}

// dissolve forgets a broker name without members: its place in the cluster and its queues.
func (t *Table) dissolve(b *broker) {
	delete(t.brokers, b.name)
	for cluster, names := range t.clusters {
		delete(names, b.name)
		if len(names) == 0 {
			delete(t.clusters, cluster)
		}
	}
	t.removeFrom(b.name, func(string) bool { return true })
}
