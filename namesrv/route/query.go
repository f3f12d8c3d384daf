// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"maps"
	"slices"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Bits of a topic's sysFlag.
const (
	FlagUnit    = 1
	FlagUnitSub = 2
)

// Heartbeat keeps a broker alive. It reports false if the address is not registered.
func (t *Table) Heartbeat(cluster, addr string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.live[liveKey{cluster, addr}]
	if l != nil {
		l.last = t.now()
	}
	return l != nil
}

// QueryVersion compares a data version with the one of a broker's latest registration. A broker that is not registered
// has changed. The question keeps the broker alive; before 5.x only if nothing has changed.
func (t *Table) QueryVersion(cluster, addr string, v DataVersion) (stored DataVersion, known, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.live[liveKey{cluster, addr}]
	if l == nil {
		return DataVersion{}, false, true
	}
	changed = l.version != t.comparable(v)
	if !changed || t.profile.QueryKeepsAlive {
		l.last = t.now()
	}
	return l.version, true, changed
}

// comparable is a version without what this release does not know.
func (t *Table) comparable(v DataVersion) DataVersion {
	if !t.profile.StateVersions {
		v.StateVersion = 0
	}
	return v
}

// Clusters are all brokers, and the broker names by cluster.
func (t *Table) Clusters() *protocol.ClusterInfo {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info := &protocol.ClusterInfo{
		BrokerAddrTable:  fastjson.MapOf[string, *protocol.BrokerData](len(t.brokers)),
		ClusterAddrTable: fastjson.MapOf[string, []string](len(t.clusters)),
	}
	for _, name := range slices.Sorted(maps.Keys(t.brokers)) {
		data := t.brokers[name].data()
		info.BrokerAddrTable.Set(name, &data)
	}
	for _, cluster := range slices.Sorted(maps.Keys(t.clusters)) {
		info.ClusterAddrTable.Set(cluster, slices.Sorted(maps.Keys(t.clusters[cluster])))
	}
	return info
}

// Members are the addresses of a broker name; there are none when it is unknown.
func (t *Table) Members(cluster, name string) *protocol.BrokerMemberGroup {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var members []Member
	if b := t.brokers[name]; b != nil {
		members = b.members
	}
	return &protocol.BrokerMemberGroup{
		Cluster: strings.Clone(cluster), BrokerName: strings.Clone(name), BrokerAddrs: addrMap(members),
	}
}

// Topics are the names of all topics in alphabetical order.
func (t *Table) Topics() []string {
	return t.topicsWhere(func(*topic) bool { return true })
}

// TopicsWithFlag are the topics whose sysFlag, as their first broker gave it, satisfies match.
func (t *Table) TopicsWithFlag(match func(sysFlag int32) bool) []string {
	return t.topicsWhere(func(tp *topic) bool { return match(tp.queues[0].SysFlag) })
}

// TopicsOfCluster are the topics with queues on any broker of the cluster.
func (t *Table) TopicsOfCluster(cluster string) []string {
	return t.topicsWhere(func(tp *topic) bool {
		return slices.ContainsFunc(tp.queues, func(q brokerQueues) bool {
			_, ok := t.clusters[cluster][q.broker]
			return ok
		})
	})
}

func (t *Table) topicsWhere(match func(*topic) bool) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := make([]string, 0, len(t.topics))
	for name, tp := range t.topics {
		if match(tp) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// SystemTopics are the names of clusters and brokers, each of which is a topic, and the address of some broker that
// can tell the rest.
func (t *Table) SystemTopics() (names []string, brokerAddr string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for cluster, brokers := range t.clusters {
		names = append(names, cluster)
		names = slices.AppendSeq(names, maps.Keys(brokers))
	}
	slices.Sort(names)
	for _, name := range slices.Sorted(maps.Keys(t.brokers)) {
		if m := t.brokers[name].members; len(m) > 0 {
			return slices.Compact(names), m[0].Addr
		}
	}
	return slices.Compact(names), ""
}

// data is the broker as routes show it. Zone and acting flag are left out of the JSON of 4.9 by its encoder.
func (b *broker) data() protocol.BrokerData {
	return protocol.BrokerData{
		Cluster: b.cluster, BrokerName: b.name, BrokerAddrs: addrMap(b.members),
		ZoneName: b.zone, EnableActingMaster: b.acting,
	}
}

func addrMap(members []Member) fastjson.Map[int64, string] {
	m := fastjson.MapOf[int64, string](len(members))
	for _, e := range members {
		m.Set(e.ID, e.Addr)
	}
	return m
}
