// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"strconv"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/telemetry/metric"
)

// snapshotBounds divide the next day, s: how many messages are due in each part is shown.
var snapshotBounds = [...]int64{5, 60, 300, 900, 3600, 4 * 3600, 8 * 3600, 24 * 3600}

// Collect writes the metrics that a Java broker has of timers, under its names. labels are added to each sample.
func (s *Service) Collect(w *metric.Writer, labels ...string) {
	stats := s.Stats()
	for _, g := range []struct {
		name, help string
		value      float64
	}{
		{"rocketmq_timer_enqueue_lag", "Messages that are not sorted by their time yet.", float64(stats.OffsetBehind)},
		{"rocketmq_timer_enqueue_latency_milliseconds", "Age of the oldest of these.", float64(s.enqueueLatency(stats).Milliseconds())},
		{"rocketmq_timer_dequeue_lag", "Messages that wait for their time.", float64(stats.Waiting)},
		{"rocketmq_timer_dequeue_latency_milliseconds", "How far delivery is behind the clock.", float64(late(stats.ReadBehind).Milliseconds())},
	} {
		w.Gauge(g.name, g.help).Value(g.value, labels...)
	}
	s.collectSnapshot(w, labels)
	s.counts.collect(w, labels)
}

// late leaves out what is no delay: a slot is delivered when it is over.
func late(behind time.Duration) time.Duration {
	if behind < 2*time.Second {
		return 0
	}
	return behind
}

func (s *Service) enqueueLatency(stats Stats) time.Duration {
	if stats.OffsetBehind == 0 {
		return 0
	}
	s.mu.Lock()
	next := s.next
	s.mu.Unlock()
	unit, ok := s.o.Store.Unit(Topic, queue, next)
	if !ok {
		return 0
	}
	record, _ := s.o.Store.Record(nil, unit.PhyOffset, unit.Size)
	ms, ok := message.StoreTimestampOf(record)
	if !ok {
		return 0
	}
	return max(s.o.Now().Sub(time.UnixMilli(ms)), 0)
}

func (s *Service) collectSnapshot(w *metric.Writer, labels []string) {
	f := w.Gauge("rocketmq_timer_message_snapshot", "Messages that are due within the bound and not within a smaller one.")
	from := s.now()
	at := from
	for _, bound := range snapshotBounds {
		n := int64(0)
		for ; at < from+bound*1000; at += s.tick {
			n += s.Waiting(at)
		}
		f.Value(float64(n), append(labels[:len(labels):len(labels)], "timer_bound_s", strconv.FormatInt(bound, 10))...)
	}
}

func (c *counts) collect(w *metric.Writer, labels []string) {
	type entry struct {
		labels  []string
		waiting int64
		*count
	}
	var all []entry
	c.mu.Lock()
	for topic, n := range c.topics {
		all = append(all, entry{append(labels[:len(labels):len(labels)], "topic", topic), n.metric.Count, n})
	}
	c.mu.Unlock()
	waiting := w.Gauge("rocketmq_timing_messages", "Messages that wait for their time.")
	for _, e := range all {
		waiting.Value(float64(e.waiting), e.labels...)
	}
	entered := w.Counter("rocketmq_timer_enqueue_total", "Messages that came to wait for their time.")
	for _, e := range all {
		if n := e.entered.Load(); n > 0 {
			entered.Value(float64(n), e.labels...)
		}
	}
	delivered := w.Counter("rocketmq_timer_dequeue_total", "Messages that were delivered at their time.")
	for _, e := range all {
		if n := e.delivered.Load(); n > 0 {
			delivered.Value(float64(n), e.labels...)
		}
	}
	delays := w.Histogram("rocketmq_delay_message_latency_seconds", "Delays that messages asked for.")
	for _, e := range all {
		if h := e.delays.Load(); h != nil {
			delays.Histogram(h, e.labels...)
		}
	}
}
