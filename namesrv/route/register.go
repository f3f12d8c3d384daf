// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"slices"
	"strings"
	"time"

	"rocketmq-go/remoting/protocol"
)

// Registration is what a broker tells about itself. The table clones what it keeps, so its strings may be views into
// a read buffer.
type Registration struct {
	Cluster, Name, Addr string
	ID                  int64
	HAAddr              string
	Zone                string
	// Acting is absent for brokers before 5.x, whose slaves never bring topics.
	Acting protocol.Opt[bool]
	// Timeout is how long the broker may be silent; 0 stands for DefaultTimeout.
	Timeout time.Duration
	Conn    Conn
	// Print identifies Body: equal prints mean equal bodies. 0 is never taken as equal.
	Print uint64
	Body
}

// Body is the part of a registration that has to be decoded.
type Body struct {
	Version  DataVersion
	Topics   []TopicQueues
	Mappings []*protocol.TopicQueueMappingInfo
	// Filters are the addresses of the broker's filter servers: nil leaves them as they are, empty removes them.
	Filters []string
}

// TopicQueues is one topic of a registration.
type TopicQueues struct {
	Name string
	Queues
}

// Registered is the answer to a registration.
type Registered struct {
	// New tells that this process was not alive before under this id.
	New bool
	// MasterAddr and MasterHA are set for a slave whose master lives.
	MasterAddr, MasterHA protocol.Opt[string]
	// Change is set when the smallest id of the broker name became smaller.
	Change *MinIDChange
}

// MinIDChange tells that another member of a broker name has the smallest id now.
type MinIDChange struct {
	Broker  string
	Members []Member // by id
	// Offline is the address that left, HA the replication address of the one that came.
	Offline, HA protocol.Opt[string]
}

// Register takes in a registration. deleteMissing removes the topics that this broker name had and that the body does
// not name, unless the body has static topics. The error tells that the broker has to register in full first.
func (t *Table) Register(r *Registration, deleteMissing bool) (Registered, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	r.Version = t.comparable(r.Version)
	b, first := t.enter(r)
	prevMin := b.minID()
	if b.drop(func(m Member) bool { return m.Addr == r.Addr && m.ID != r.ID }) {
		t.touch(b)
	}
	held, known := b.addr(r.ID)
	if known && held != r.Addr && t.holds(r.Cluster, held, r.Version) {
		delete(t.live, liveKey{r.Cluster, r.Addr})
		return Registered{}, nil
	}
	if !known && len(r.Topics) == 1 && t.profile.FirstNeedsAll {
		return Registered{}, protocol.Errorf(protocol.RespSystemError, "register broker failed")
	}
	first = first || !known
	if b.set(r.ID, r.Addr) {
		t.touch(b)
	}
	l := t.live[liveKey{r.Cluster, r.Addr}]
	isNew := l == nil || l.id != r.ID
	changed := l == nil || l.version != r.Version
	if t.bringsTopics(b, r) {
		t.takeTopics(b, r, first, changed, deleteMissing)
	}
	l = t.keepAlive(b, l, r)
	l.version, l.print, l.gen = r.Version, r.Print, b.gen

	a := t.answer(b, r, prevMin)
	a.New = isNew
	return a, nil
}

// Renew repeats a registration of which only the print of the body is known. It reports false if the body has to be
// decoded and registered: when it differs from the one applied last, or anything of that broker name changed since.
func (t *Table) Renew(r *Registration) (Registered, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()

	b := t.brokers[r.Name]
	l := t.live[liveKey{r.Cluster, r.Addr}]
	if b == nil || l == nil || l.broker != b || l.id != r.ID || r.Print == 0 || l.print != r.Print || l.gen != b.gen {
		return Registered{}, false
	}
	if addr, ok := b.addr(r.ID); !ok || addr != r.Addr {
		return Registered{}, false
	}
	if t.profile.ActingMasters && (b.zone != r.Zone || b.acting != r.Acting.Or(false)) {
		return Registered{}, false
	}
	r.Filters = l.filters
	t.keepAlive(b, l, r)
	return t.answer(b, r, b.minID()), true
}

// enter finds or makes the broker name and reports whether it is new.
func (t *Table) enter(r *Registration) (b *broker, first bool) {
	names := t.clusters[r.Cluster]
	if names == nil {
		names = make(map[string]struct{})
		t.clusters[strings.Clone(r.Cluster)] = names
	}
	b = t.brokers[r.Name]
	if b == nil {
		b = &broker{cluster: strings.Clone(r.Cluster), name: strings.Clone(r.Name)}
		t.brokers[b.name] = b
		first = true
	}
	names[b.name] = struct{}{}
	if !t.profile.ActingMasters {
		return b, first
	}
	if acting := r.Acting.Or(false); b.acting != acting {
		b.acting = acting
		t.touch(b)
	}
	if b.zone != r.Zone {
		b.zone = strings.Clone(r.Zone)
		t.touch(b)
	}
	return b, first
}

// touch notes that the addresses of a broker, or what else of it stands in routes, changed.
func (t *Table) touch(b *broker) {
	b.gen++
	t.stamp++
}

// holds tells whether the address that has a broker id now may keep it against one with the given version.
func (t *Table) holds(cluster, addr string, v DataVersion) bool {
	l := t.live[liveKey{cluster, addr}]
	return t.profile.StateVersions && l != nil && l.version.StateVersion > v.StateVersion
}

// bringsTopics tells whether topics are taken from this member: from the master, and from the slave with the smallest
// id if it knows of acting masters.
func (t *Table) bringsTopics(b *broker, r *Registration) bool {
	return r.ID == MasterID || t.primeSlave(b, r)
}

func (t *Table) primeSlave(b *broker, r *Registration) bool {
	return t.profile.ActingMasters && r.Acting.Set && r.ID != MasterID && r.ID == b.minID()
}

// takeTopics applies the topics of a registration. Unless everything counts as new, only topics this broker name does
// not have are taken: so an operator's change of permissions lasts until the broker's own version changes.
func (t *Table) takeTopics(b *broker, r *Registration, first, changed, deleteMissing bool) {
	if deleteMissing && len(r.Mappings) == 0 {
		t.keepOnly(b, r.Topics)
	}
	readOnly := b.acting && t.primeSlave(b, r)
	for i := range r.Topics {
		tq := &r.Topics[i]
		if !first && !changed && (!t.profile.TopicsReturn || t.serves(b.name, tq.Name)) {
			continue
		}
		q := tq.Queues
		if readOnly {
			q.Perm = withoutWrite(q.Perm)
		}
		if t.setQueues(tq.Name, b, q) {
			b.gen++
		}
	}
	for _, m := range r.Mappings {
		t.setMapping(b, m, first || changed)
	}
}

func (t *Table) serves(broker, name string) bool {
	tp := t.topics[name]
	if tp == nil {
		return false
	}
	_, ok := tp.find(broker)
	return ok
}

func (t *Table) keepOnly(b *broker, topics []TopicQueues) {
	named := make(map[string]struct{}, len(topics))
	for i := range topics {
		named[topics[i].Name] = struct{}{}
	}
	t.removeFrom(b.name, func(topic string) bool {
		_, ok := named[topic]
		return !ok
	})
}

func (t *Table) setMapping(b *broker, m *protocol.TopicQueueMappingInfo, replace bool) {
	of := t.mappings[m.Topic]
	if of[m.Bname] != nil && !replace {
		return
	}
	if of == nil {
		of = make(Mappings)
		t.mappings[m.Topic] = of
	}
	of[m.Bname] = m
	b.gen++
	if tp := t.topics[m.Topic]; tp != nil {
		tp.cache.clear()
	}
}

// keepAlive writes down when, over which connection and for how long a broker is alive.
func (t *Table) keepAlive(b *broker, l *liveBroker, r *Registration) *liveBroker {
	if l == nil {
		l = &liveBroker{}
		t.live[liveKey{strings.Clone(r.Cluster), strings.Clone(r.Addr)}] = l
	}
	l.broker, l.id, l.conn, l.last = b, r.ID, r.Conn, t.now()
	l.timeout = r.Timeout
	if l.timeout == 0 {
		l.timeout = DefaultTimeout
	}
	if l.ha != r.HAAddr {
		l.ha = strings.Clone(r.HAAddr)
	}
	if r.Filters != nil && !slices.Equal(l.filters, r.Filters) {
		l.filters = nil
		for _, f := range r.Filters {
			l.filters = append(l.filters, strings.Clone(f))
		}
		t.stamp++
	}
	return l
}

func (t *Table) answer(b *broker, r *Registration, prevMin int64) Registered {
	var a Registered
	if r.ID != MasterID {
		if addr, ok := b.addr(MasterID); ok {
			if master := t.live[liveKey{r.Cluster, addr}]; master != nil {
				a.MasterAddr, a.MasterHA = protocol.Some(addr), protocol.Some(master.ha)
			}
		}
	}
	if r.ID < prevMin {
		a.Change = &MinIDChange{Broker: b.name, Members: b.members, HA: protocol.Some(strings.Clone(r.HAAddr))}
	}
	return a
}
