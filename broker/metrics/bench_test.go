// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"rocketmq-go/broker/stats"
	"rocketmq-go/telemetry/metric"
)

// BenchmarkCollect writes the traffic of 5,000 topics, each read by two groups.
func BenchmarkCollect(b *testing.B) {
	table := stats.New(time.Now, func(string) bool { return false }, nil)
	for i := range 5000 {
		topic := fmt.Sprintf("Topic%04d", i)
		table.Put(topic, stats.Normal, 1, 1000)
		table.Get("GroupA", topic, 1, 1000)
		table.Get("GroupB", topic, 1, 1000)
	}
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		text := metric.NewText(size)
		w := metric.NewWriter(text)
		w.Labels("cluster", "C", "node_id", "broker-a")
		table.Collect(w, func(_, _ string) bool { return false })
		size = len(text.Bytes())
	}
	b.ReportMetric(float64(size), "bytes")
}
