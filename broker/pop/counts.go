// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"maps"
	"strconv"
	"sync"

	"rocketmq-go/telemetry/metric"
)

// What messages of the revive topic are, in metrics.
const (
	typeCheckpoint = "CK"
	typeAck        = "ACK"
)

// counts are what metrics tell.
type counts struct {
	in, out, retried series

	mu   sync.Mutex
	lags map[int32]lag // by revive queue
}

type lag struct{ messages, ms int64 }

// series counts by topic, group and two labels more.
type series struct {
	mu sync.Mutex
	n  map[[4]string]int64
}

// maxSeries bounds what is counted apart: clients may name groups that there are not.
const maxSeries = 20_000

func (c *counts) init() {
	c.in.n, c.out.n, c.retried.n = map[[4]string]int64{}, map[[4]string]int64{}, map[[4]string]int64{}
	c.lags = map[int32]lag{}
}

func (s *series) add(topic, group, a, b string) {
	key := [4]string{topic, group, a, b}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.n[key]; ok || len(s.n) < maxSeries {
		s.n[key]++
	}
}

func (s *series) all() map[[4]string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.n)
}

func (c *counts) lag(queue int32, messages, ms int64) {
	c.mu.Lock()
	c.lags[queue] = lag{messages, ms}
	c.mu.Unlock()
}

// Collect writes the metrics that a Java broker has of POP, under its names.
func (s *Service) Collect(w *metric.Writer) {
	c := &s.counts
	w.Gauge("rocketmq_pop_offset_buffer_size", "Offsets that wait in memory: none, they are written at once.").Value(0)
	w.Gauge("rocketmq_pop_checkpoint_buffer_size", "Checkpoints that wait in memory: none, they are written at once.").Value(0)
	c.mu.Lock()
	lags := maps.Clone(c.lags)
	c.mu.Unlock()
	f := w.Gauge("rocketmq_pop_revive_lag_milliseconds", "Messages of a revive queue that were not read yet, in spite of the name.")
	for queue, l := range lags {
		f.Value(float64(l.messages), "queue_id", strconv.Itoa(int(queue)))
	}
	f = w.Gauge("rocketmq_pop_revive_latency_milliseconds", "How long ago the time of the oldest open checkpoint was over.")
	for queue, l := range lags {
		f.Value(float64(l.ms), "queue_id", strconv.Itoa(int(queue)))
	}
	for _, m := range []struct {
		of         *series
		name, help string
		labels     [2]string
	}{
		{&c.in, "rocketmq_pop_revive_in_message_total", "Checkpoints and acknowledgements that were to be stored.", [2]string{"revive_message_type", "put_status"}},
		{&c.out, "rocketmq_pop_revive_out_message_total", "Checkpoints and acknowledgements that came back.", [2]string{"revive_message_type", "queue_id"}},
		{&c.retried, "rocketmq_pop_revive_retry_messages_total", "Messages that were to be given again.", [2]string{"put_status"}},
	} {
		f := w.Counter(m.name, m.help)
		for key, n := range m.of.all() {
			labels := []string{"topic", key[0], "consumer_group", key[1], m.labels[0], key[2]}
			if m.labels[1] != "" {
				labels = append(labels, m.labels[1], key[3])
			}
			f.Value(float64(n), labels...)
		}
	}
}
