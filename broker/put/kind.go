// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"rocketmq-go/broker/stats"
	"rocketmq-go/message"
)

// propShardingKey is the property by which producers order messages.
const propShardingKey = "__SHARDINGKEY"

// Kind is what the message asks for, by its properties, as Java's metrics have it.
func (p *Properties) Kind() stats.Kind {
	kind := stats.Normal
	for i := range p.list {
		switch p.list[i].name {
		case propTransaction:
			if p.list[i].value == "true" {
				return stats.Transaction
			}
		case message.PropDelay, PropTimerAt, propTimerSeconds, propTimerMillis:
			kind = stats.Delay
		case propShardingKey:
			if kind == stats.Normal {
				kind = stats.FIFO
			}
		}
	}
	return kind
}
