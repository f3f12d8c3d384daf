// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"maps"
	"slices"
	"strings"
)

// The broker's own topics.
const (
	AutoCreateTopic   = "TBW102" // the default template of topics that a send makes
	ScheduleTopic     = "SCHEDULE_TOPIC_XXXX"
	TransHalfTopic    = "RMQ_SYS_TRANS_HALF_TOPIC"
	TransOpHalfTopic  = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	TransCheckMaxTime = "TRANS_CHECK_MAX_TIME_TOPIC"
	TraceTopic        = "RMQ_SYS_TRACE_TOPIC"
	TimerTopic        = "rmq_sys_wheel_timer"
	selfTestTopic     = "SELF_TEST_TOPIC"
	benchmarkTopic    = "BenchmarkTest"
	offsetMovedEvent  = "OFFSET_MOVED_EVENT"
	checkpointTopic   = "CHECKPOINT_TOPIC"
	systemPrefix      = "rmq_sys_"
	// RevivePrefix is followed by the cluster's name: where POP keeps what is popped and acknowledged.
	RevivePrefix = systemPrefix + "REVIVE_LOG_"
)

// reserved are system topics whether or not they exist.
var reserved = []string{
	AutoCreateTopic, ScheduleTopic, benchmarkTopic, TransHalfTopic, TraceTopic, TransOpHalfTopic, TransCheckMaxTime,
	selfTestTopic, offsetMovedEvent, checkpointTopic, // 4.9 does not know the last one
}

// notSendable are the topics that no client may send to.
var notSendable = map[string]bool{
	ScheduleTopic: true, TransHalfTopic: true, TransOpHalfTopic: true, TransCheckMaxTime: true, selfTestTopic: true,
	offsetMovedEvent: true,
}

// System is what the broker's own topics depend on.
type System struct {
	ClusterName string // brokerClusterName
	BrokerName  string // brokerName

	DefaultQueues  int32  // defaultTopicQueueNums, 0: 8
	NoClusterTopic bool   // clusterTopicEnable=false: no topic is made after the cluster's
	NoBrokerTopic  bool   // brokerTopicEnable=false: no topic is made after the broker's
	TraceTopic     bool   // traceTopicEnable
	TraceTopicName string // msgTraceTopicName, empty: RMQ_SYS_TRACE_TOPIC
	ReviveQueues   int32  // reviveQueueNum, 0: 8
	Timer          bool   // timerWheelEnable
}

// spec describes one of the broker's own topics.
type spec struct {
	name   string
	queues int32
	perm   int32
	absent bool // not wanted here
}

const permReadWrite = PermRead | PermWrite

func inheritable(no bool) int32 {
	if no {
		return PermInherit
	}
	return permReadWrite | PermInherit
}

func (t *Table) specs() []spec {
	s, is49 := t.o.System, t.o.Compat49
	or := func(n, def int32) int32 {
		if n > 0 {
			return n
		}
		return def
	}
	trace := s.TraceTopicName
	if trace == "" {
		trace = TraceTopic
	}
	return []spec{
		{name: selfTestTopic, queues: 1, perm: permReadWrite},
		{name: AutoCreateTopic, queues: or(s.DefaultQueues, 8), perm: permReadWrite | PermInherit, absent: !t.o.Rules().AutoCreate},
		{name: benchmarkTopic, queues: 1024, perm: permReadWrite},
		{name: s.ClusterName, queues: 16, perm: inheritable(s.NoClusterTopic)},
		{name: s.BrokerName, queues: 1, perm: inheritable(s.NoBrokerTopic)},
		{name: offsetMovedEvent, queues: 1, perm: permReadWrite},
		{name: ScheduleTopic, queues: 18, perm: permReadWrite},
		{name: trace, queues: 1, perm: permReadWrite, absent: !s.TraceTopic},
		{name: s.ClusterName + "_REPLY_TOPIC", queues: 1, perm: permReadWrite},
		{name: RevivePrefix + s.ClusterName, queues: or(s.ReviveQueues, 8), perm: permReadWrite, absent: is49},
		{name: MemberTopic(s.BrokerName), queues: 1, perm: PermInherit, absent: is49},
		{name: TransHalfTopic, queues: 1, perm: permReadWrite, absent: is49},
		{name: TransOpHalfTopic, queues: 1, perm: permReadWrite, absent: is49},
		{name: TimerTopic, queues: 1, perm: permReadWrite, absent: is49 || !s.Timer},
	}
}

// MemberTopic is the topic whose route names the brokers of a name: so name servers before 5.x can be asked for them.
func MemberTopic(broker string) string { return systemPrefix + "SYNC_BROKER_MEMBER_" + broker }

// addSystem makes the broker's own topics that are not in the file. They reach the file with the next change.
func (t *Table) addSystem() {
	for _, name := range reserved {
		if name != checkpointTopic || !t.o.Compat49 {
			t.system[name] = true
		}
	}
	for _, s := range t.specs() {
		if s.absent || s.name == "" {
			continue
		}
		t.system[s.name] = true
		cfg, ok := t.topics.Get(s.name)
		switch {
		case !ok:
			t.topics.Set(s.name, newConfig(s.name, s.queues, s.perm))
		case s.name == AutoCreateTopic && cfg.Perm&PermInherit == 0:
			open := *cfg
			open.Perm = s.perm
			t.topics.Set(s.name, &open)
		}
	}
}

// IsSystem tells whether a topic is one of the broker's own. The name may be a view.
func (t *Table) IsSystem(name string) bool {
	return t.system[name] || strings.HasPrefix(name, systemPrefix)
}

// System lists the broker's own topics (code 305), sorted.
func (t *Table) System() []string { return slices.Sorted(maps.Keys(t.system)) }

// Sendable tells whether clients may send to a topic of this name. The name may be a view.
func Sendable(name string) bool { return !notSendable[name] }
