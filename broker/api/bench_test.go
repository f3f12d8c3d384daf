// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"testing"

	"rocketmq-go/remoting/protocol"
)

// manyQueues is how many queues a topic may have at most.
const manyQueues = 65536

// BenchmarkManyQueues asks for figures of each queue of the widest topic.
func BenchmarkManyQueues(b *testing.B) {
	broker := start(b)
	broker.topic("Wide", manyQueues)
	for _, code := range []int32{protocol.ReqGetTopicStatsInfo, protocol.ReqGetConsumeStats, protocol.ReqQueryConsumeTimeSpan} {
		b.Run(protocol.RequestName(code), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				broker.call(code, nil, "topic", "Wide", "consumerGroup", "G", "group", "G")
			}
		})
	}
}

// What is asked about a topic with very many queues costs no allocations for each of them, or many clients that ask would
// take all memory.
func TestManyQueues(t *testing.T) {
	b := start(t)
	b.topic("Wide", manyQueues)
	for _, code := range []int32{protocol.ReqGetTopicStatsInfo, protocol.ReqGetConsumeStats, protocol.ReqQueryConsumeTimeSpan} {
		n := testing.AllocsPerRun(1, func() { b.call(code, nil, "topic", "Wide", "consumerGroup", "G", "group", "G") })
		if n > manyQueues/20 {
			t.Errorf("%s: %v allocations for %d queues", protocol.RequestName(code), n, manyQueues)
		}
	}
}
