// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

// allCases lists the cases in the order of the table. The Java driver has the same names.
func allCases() []testCase {
	return []testCase{
		{name: "offset-restart", run: offsetRestart}, // the longest one first
		{name: "reset", run: reset},
		{name: "skip", run: skip},
		{name: "sync", run: sendSync},
		{name: "async", run: sendAsync},
		{name: "oneway", run: sendOneway},
		{name: "batch", run: sendBatch},
		{name: "hash-order", run: hashOrder},
		{name: "properties", run: properties},
		{name: "limits", run: limits},
		{name: "create-topic", run: createTopic},
		{name: "clustering", run: clustering},
		{name: "broadcasting", run: broadcasting},
		{name: "orderly", run: orderly},
		{name: "tag-filter", run: tagFilter},
		{name: "sql-filter", run: sqlFilter},
		{name: "retry", run: retry},
		{name: "dlq", run: deadLetter},
		{name: "delay", run: delay},
		{name: "transaction", run: transaction},
		{name: "request-reply", run: requestReply},
		{name: "pull", run: pull},
		{name: "poll", run: poll},
		{name: "rebalance", run: rebalance},
		{name: "from-last", run: fromLast},
		{name: "trace", run: trace},
		{name: "clone", run: cloneOffsets},
		{name: "resend", run: resend},
		{name: "broker-restart", run: brokerRestart, restarts: "term"},
		{name: "broker-kill", run: brokerKill, restarts: "kill"},
	}
}
