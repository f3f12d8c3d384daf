// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package stats

import (
	"maps"
	"strconv"

	"rocketmq-go/telemetry/metric"
)

// Collect writes the metrics that a Java broker has of its traffic, under its names.
func (t *Table) Collect(w *metric.Writer, system func(topic, group string) bool) {
	t.mu.RLock()
	topics, groups := maps.Clone(t.topics), maps.Clone(t.groups)
	t.mu.RUnlock()
	collectIncoming(w, topics)
	collectOutgoing(w, groups, system)
	collectReturned(w, groups, system)
	collectFinished(w, topics)
	t.Made.collect(w)
}

func collectIncoming(w *metric.Writer, topics map[string]*topicItems) {
	messages := w.Counter("rocketmq_messages_in_total", "Messages that came in, by topic and type.")
	each := func(do func(in *incoming, labels ...string)) {
		for name, i := range topics {
			for kind := range i.incoming {
				if in := i.incoming[kind].Load(); in != nil {
					do(in, "topic", name, "message_type", kindNames[kind], "is_system", strconv.FormatBool(i.system))
				}
			}
		}
	}
	each(func(in *incoming, labels ...string) {
		messages.Value(float64(in.sizes.Count()+in.moreMessages.Load()), labels...)
	})
	bytes := w.Counter("rocketmq_throughput_in_total", "Bytes that came in, by topic and type.")
	each(func(in *incoming, labels ...string) {
		bytes.Value(float64(in.sizes.Sum()+in.moreBytes.Load()), labels...)
	})
	sizes := w.Histogram("rocketmq_message_size", "Sizes of messages as stored, bytes.")
	each(func(in *incoming, labels ...string) { sizes.Histogram(in.sizes, labels...) })
}

// outgoing is a series of what groups were given. A group that pops has a second one of a topic, for its pop retry topics.
type outgoing struct {
	groupKey
	retry string // the label is_retry, empty: none
}

func collectOutgoing(w *metric.Writer, groups map[groupKey]*groupItems, system func(topic, group string) bool) {
	each := func(name, help string, of func(*groupItems) int64) {
		sums := map[outgoing]int64{}
		for key, i := range groups {
			if topic := i.poppedFor.Load(); topic != nil {
				sums[outgoing{groupKey{*topic, key.group}, strconv.FormatBool(key.topic != *topic)}] += of(i)
			} else if !again(key.topic) {
				sums[outgoing{key, ""}] += of(i)
			}
		}
		f := w.Counter(name, help)
		for key, n := range sums {
			if n == 0 {
				continue
			}
			labels := []string{"topic", key.topic, "consumer_group", key.group, "is_system", strconv.FormatBool(system(key.topic, key.group))}
			if key.retry != "" {
				labels = append(labels, "is_retry", key.retry)
			}
			f.Value(float64(n), labels...)
		}
	}
	each("rocketmq_messages_out_total", "Messages that groups were given.",
		func(i *groupItems) int64 { return i.getNums.Sum() })
	each("rocketmq_throughput_out_total", "Bytes that groups were given.",
		func(i *groupItems) int64 { return i.getSize.Sum() })
}

func collectReturned(w *metric.Writer, groups map[groupKey]*groupItems, system func(topic, group string) bool) {
	each := func(name, help string, of func(*groupItems) int64) {
		f := w.Counter(name, help)
		for key, i := range groups {
			if n := of(i); n > 0 && !again(key.topic) {
				f.Value(float64(n), "topic", key.topic, "consumer_group", key.group,
					"is_system", strconv.FormatBool(system(key.topic, key.group)))
			}
		}
	}
	each("rocketmq_send_to_dlq_messages_total", "Messages that went to a dead-letter topic.",
		func(i *groupItems) int64 { return i.dead.Load() })
	each("rocketmq_broker_send_back_messages_total", "Messages that groups sent back, to be consumed again.",
		func(i *groupItems) int64 { return i.sendBack.Sum() })
}

func collectFinished(w *metric.Writer, topics map[string]*topicItems) {
	each := func(name, help string, of func(*topicItems) int64) {
		f := w.Counter(name, help)
		for topic, i := range topics {
			if n := of(i); n > 0 {
				f.Value(float64(n), "topic", topic)
			}
		}
	}
	each("rocketmq_commit_messages_total", "Transactions that were committed.",
		func(i *topicItems) int64 { return i.committed.Load() })
	each("rocketmq_rollback_messages_total", "Transactions that were rolled back.",
		func(i *topicItems) int64 { return i.rolledBack.Load() })
	f := w.Histogram("rocketmq_finish_message_latency_milliseconds",
		"How long after its beginning a transaction was committed: seconds, in spite of the name.")
	for topic, i := range topics {
		if h := i.finish.Load(); h != nil {
			f.Histogram(h, "topic", topic)
		}
	}
}

func (m *Made) collect(w *metric.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := w.Histogram("rocketmq_topic_create_execution_time_milliseconds", "How long requests to make a topic took.")
	for key, h := range m.topics {
		f.Histogram(h, "invocation_status", status(key.ok), "is_system", strconv.FormatBool(key.system))
	}
	f = w.Histogram("rocketmq_consumer_group_create_execution_time_milliseconds", "How long requests to make a group took.")
	for ok, h := range m.groups {
		f.Histogram(h, "invocation_status", status(ok))
	}
}

func status(ok bool) string {
	if ok {
		return "success"
	}
	return "failure"
}
