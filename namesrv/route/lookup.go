// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// memberGroupPrefix starts the pseudo topics by which brokers of 5.x ask for the members of their broker name. Their
// routes show the real ids.
const memberGroupPrefix = "rmq_sys_SYNC_BROKER_MEMBER_"

// Flavour is the way a route is written as JSON.
type Flavour int

const (
	Legacy   Flavour = iota // integer keys unquoted, text raw: what clients before 4.9.4 split by hand
	Standard                // quoted and sorted keys, ASCII only
	flavours
)

// View says how a route is to be shown.
type View struct {
	Flavour Flavour
	// Acting shows the slave that stands in for a lost master as id 0.
	Acting bool
	// Order is the topic's order configuration; empty is left out.
	Order string
}

// cache keeps the encodings of one topic, by flavour. Encodings are immutable.
type cache [flavours]atomic.Pointer[encoded]

type encoded struct {
	stamp uint64
	view  View
	body  []byte
}

func (c *cache) clear() {
	for i := range c {
		c[i].Store(nil)
	}
}

// Lookup is the route of a topic as JSON. The caller must not change the bytes.
func (t *Table) Lookup(name string, v View) (body []byte, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	tp := t.topics[name]
	if tp == nil {
		return nil, false
	}
	slot := &tp.cache[v.Flavour]
	if e := slot.Load(); e != nil && e.stamp == t.stamp && e.view == v {
		return e.body, e.body != nil
	}
	v.Order = strings.Clone(v.Order)
	e := &encoded{stamp: t.stamp, view: v}
	if data := t.data(name, tp, v); data != nil {
		e.body = fastjson.Options{Standard: v.Flavour == Standard, Omit: t.profile.OmitJSON}.Marshal(data)
	}
	slot.Store(e)
	return e.body, e.body != nil
}

// Route is the route of a topic, made anew for the caller; nil if there is none.
func (t *Table) Route(name string, v View) *protocol.TopicRouteData {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if tp := t.topics[name]; tp != nil {
		return t.data(name, tp, v)
	}
	return nil
}

func (t *Table) data(name string, tp *topic, v View) *protocol.TopicRouteData {
	d := &protocol.TopicRouteData{OrderTopicConf: v.Order}
	for _, q := range tp.queues {
		d.QueueDatas = append(d.QueueDatas, protocol.QueueData{
			BrokerName: q.broker, ReadQueueNums: q.Read, WriteQueueNums: q.Write, Perm: q.Perm, TopicSysFlag: q.SysFlag,
		})
		if b := t.brokers[q.broker]; b != nil {
			t.addFilters(d, b)
			d.BrokerDatas = append(d.BrokerDatas, t.show(b, q, v.Acting && !strings.HasPrefix(name, memberGroupPrefix)))
		}
	}
	if len(d.BrokerDatas) == 0 {
		return nil
	}
	if of := t.mappings[name]; of != nil {
		d.TopicQueueMappingByBroker = fastjson.MapOf[string, *protocol.TopicQueueMappingInfo](len(of))
		for _, broker := range slices.Sorted(maps.Keys(of)) {
			d.TopicQueueMappingByBroker.Set(broker, of[broker])
		}
	}
	return d
}

// show is the broker as a route shows it: the smallest id of an acting-master set without master goes as id 0, once
// its queues are read-only.
func (t *Table) show(b *broker, q brokerQueues, acting bool) protocol.BrokerData {
	data := b.data()
	if acting && t.profile.ActingMasters && b.headless() && q.Perm&PermWrite == 0 {
		members := slices.Clone(b.members)
		members[0].ID = MasterID
		data.BrokerAddrs = addrMap(members)
	}
	return data
}

func (t *Table) addFilters(d *protocol.TopicRouteData, b *broker) {
	for _, m := range b.members {
		if l := t.live[liveKey{b.cluster, m.Addr}]; l != nil && len(l.filters) > 0 {
			d.FilterServerTable.Set(m.Addr, l.filters)
		}
	}
}
