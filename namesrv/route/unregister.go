// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"maps"
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
	var d departures
	g, ok := t.remove(liveKey{strings.Clone(cluster), strings.Clone(addr)}, strings.Clone(name), id, &d)
	t.settle(&d)
	return g, ok
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
	var d departures
	for key, l := range t.live {
		if match(l) {
			g, _ := t.remove(key, l.broker.name, l.id, &d)
			gone = append(gone, g)
		}
	}
	t.settle(&d)
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

// departures are the broker names whose queues have to be changed: of all that leave together, in one go, since their
// topics may be many.
type departures struct{ dissolved, headless []string }

// remove takes a process out. What that means for the queues of its broker name is left to settle.
func (t *Table) remove(key liveKey, name string, id int64, d *departures) (Gone, bool) {
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
		delete(t.brokers, b.name)
		d.dissolved = append(d.dissolved, b.name)
		return g, true
	}
	if b.headless() {
		d.headless = append(d.headless, b.name)
	}
	if wasMin && b.acting {
		g.Change = &MinIDChange{Broker: b.name, Members: b.members, Offline: protocol.Some(key.addr)}
	}
	return g, true
}

// settle forgets broker names without members, in clusters and topics, and takes the right to write from those that have
// lost their master.
func (t *Table) settle(d *departures) {
	if len(d.dissolved)+len(d.headless) == 0 {
		return
	}
	gone, readOnly := newNames(d.dissolved), newNames(d.headless)
	for cluster, names := range t.clusters {
		maps.DeleteFunc(names, func(name string, _ struct{}) bool { return gone.set[name] })
		if len(names) == 0 {
			delete(t.clusters, cluster)
		}
	}
	for name, tp := range t.topics {
		for _, broker := range gone.in(tp) {
			tp.remove(broker)
		}
		for _, broker := range readOnly.in(tp) {
			tp.changePerm(broker, withoutWrite)
		}
		if len(tp.queues) == 0 {
			delete(t.topics, name)
		}
	}
}

// names are a list of broker names that is also a set.
type names struct {
	list []string
	set  map[string]bool
}

func newNames(list []string) names {
	n := names{list, make(map[string]bool, len(list))}
	for _, name := range list {
		n.set[name] = true
	}
	return n
}

// in gives those of the names that may serve a topic, by whichever list is shorter.
func (n *names) in(t *topic) []string {
	if len(n.list) <= len(t.queues) {
		return n.list
	}
	var found []string
	for i := range t.queues {
		if name := t.queues[i].broker; n.set[name] {
			found = append(found, name)
		}
	}
	return found
}
