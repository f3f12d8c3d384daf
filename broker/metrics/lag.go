// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metrics

import (
	"strings"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/put"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// A group's lag in a topic, of all its queues:
//
//	├── consumed ──┤── inflight: given, not committed ──┤── ready: not given yet ──┤
//	               committed                            pulled                     end
//
// A queue of which nothing is known has no lag: the group begins at its end. Where the group wants only some tags, the
// messages in between are counted by their queue units, the first 20,000 of them for all.
//
// The offset of a group that pops is behind what it was given; in order, before it. What it has to be given again has a lag
// of its own.
type lag struct {
	group, topic              string
	retry                     bool // of the pop retry topics
	messages, inflight, ready int64
	unconsumed, unpulled      int64 // store time of the oldest one, ms; 0 if there is none
}

// lags writes how far groups are behind that are online, or that bring their subscription with each pull; and, under a
// name of its own, how far those are behind that are not but have committed offsets.
func (s *Sources) lags(w *metric.Writer) {
	online, offline := s.measure()
	for _, g := range []struct {
		name, help string
		value      func(l *lag) int64
	}{
		{"rocketmq_consumer_lag_messages", "Messages that a group has not consumed.", func(l *lag) int64 { return l.messages }},
		{"rocketmq_consumer_inflight_messages", "Messages that a group was given and has not consumed.", func(l *lag) int64 { return l.inflight }},
		{"rocketmq_consumer_ready_messages", "Messages that a group was not given yet.", func(l *lag) int64 { return l.ready }},
		{"rocketmq_consumer_lag_latency_milliseconds", "Age of the oldest message that a group has not consumed.", func(l *lag) int64 { return s.age(l.unconsumed) }},
		{"rocketmq_consumer_queueing_latency_milliseconds", "Age of the oldest message that a group was not given.", func(l *lag) int64 { return s.age(l.unpulled) }},
	} {
		f := w.Gauge(g.name, g.help)
		for i := range online {
			f.Value(float64(g.value(&online[i])), s.lagLabels(&online[i])...)
		}
	}
	f := w.Gauge("rocketmq_broker_offline_group_lag_messages", "Messages that a group has not consumed that is not online.")
	for i := range offline {
		f.Value(float64(offline[i].messages), s.lagLabels(&offline[i])...)
	}
}

func (s *Sources) lagLabels(l *lag) []string {
	return []string{
		"consumer_group", l.group, "topic", l.topic, "is_retry", boolean(l.retry), "is_system", boolean(s.system(l.topic, l.group)),
	}
}

// measure finds the lags of all groups.
func (s *Sources) measure() (online, offline []lag) {
	for _, g := range s.Groups.All() {
		topics, list := s.Consumers.Subscribed(g.GroupName), &online
		if len(topics) == 0 {
			topics, list = s.Offsets.TopicsOf(g.GroupName), &offline
		}
		for _, name := range topics {
			t := s.Topics.Get(name)
			if t == nil || strings.HasPrefix(name, put.RetryPrefix) {
				continue
			}
			l := lag{group: g.GroupName, topic: name}
			sub := s.Consumers.FindSubscription(g.GroupName, name)
			if s.Pop != nil && s.Consumers.Pops(g.GroupName, name) {
				*list = append(*list, s.popping(l, t, sub)...)
				continue
			}
			for id := range max(t.WriteQueueNums, 0) {
				s.queue(&l, id, sub)
			}
			*list = append(*list, l)
		}
	}
	return online, offline
}

// queue adds the lag of one queue.
func (s *Sources) queue(l *lag, id int32, sub *client.Subscription) {
	end := max(s.Store.MaxOffset(l.topic, id), 0)
	committed, ok := s.Offsets.Query(l.group, l.topic, id)
	pulled := s.Offsets.PullOffset(l.group, l.topic, id)
	if pulled < 0 {
		pulled = end
		if ok {
			pulled = committed
		}
	}
	if ok {
		l.inflight += s.count(l.topic, id, committed, pulled, sub)
	} else {
		committed = end
	}
	l.messages += s.count(l.topic, id, committed, end, sub)
	l.ready += s.count(l.topic, id, pulled, end, sub)
	l.unconsumed = earlier(l.unconsumed, s.timeOf(l.topic, id, committed, end))
	l.unpulled = earlier(l.unpulled, s.timeOf(l.topic, id, pulled, end))
}

// popping is the lag of a group that pops, and that of what it has to be given again.
func (s *Sources) popping(l lag, t *protocol.TopicConfig, sub *client.Subscription) []lag {
	for id := range max(t.WriteQueueNums, 0) {
		s.popped(&l, t.TopicName, id, sub)
	}
	retry := lag{group: l.group, topic: l.topic, retry: true}
	for _, name := range s.Pop.RetryTopics(l.topic, l.group) {
		if t := s.Topics.Get(name); t != nil {
			for id := range max(t.WriteQueueNums, 0) {
				s.popped(&retry, name, id, nil)
			}
		}
	}
	return []lag{l, retry}
}

// popped adds the lag of one queue that is popped.
func (s *Sources) popped(l *lag, topic string, id int32, sub *client.Subscription) {
	end := max(s.Store.MaxOffset(topic, id), 0)
	from, ok := s.Offsets.Query(l.group, topic, id)
	if !ok {
		from = end
	}
	n, ordered := s.Pop.InFlight(topic, l.group, id)
	ready := s.count(topic, id, from, end, sub)
	if ordered {
		ready = max(ready-n, 0)
	}
	l.inflight += n
	l.ready += ready
	l.messages += ready + n
	at := s.timeOf(topic, id, from, end)
	l.unconsumed, l.unpulled = earlier(l.unconsumed, at), earlier(l.unpulled, at)
}

// timeOf is the store time of the message at an offset, 0 at the end.
func (s *Sources) timeOf(topic string, id int32, offset, end int64) int64 {
	if offset >= end {
		return 0
	}
	return max(s.Store.StoreTime(topic, id, offset), 0)
}

func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// count is how many messages between two offsets a subscription wants, estimated where they are many.
func (s *Sources) count(topic string, id int32, from, to int64, sub *client.Subscription) int64 {
	v := s.Config()
	if from = max(from, s.Store.MinOffset(topic, id)); to <= from {
		return 0
	}
	if sub == nil || sub.Matcher == nil || !v.EstimateAccumulation {
		return to - from
	}
	var seen, matched int64
	for at := from; at < to; at++ {
		unit, ok := s.Store.Unit(topic, id, at)
		if !ok {
			break
		}
		seen++
		if sub.Matcher.MatchUnit(unit.TagsCode) {
			matched++
		}
		if seen >= int64(v.Store.MaxConsumeQueueScan) || matched > int64(v.Store.SampleCountThreshold) {
			return int64(float64(matched) * float64(to-from) / float64(seen))
		}
	}
	return matched
}
