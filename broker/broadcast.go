// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"time"

	"rocketmq-go/broker/offset"
)

// openBroadcast makes the table of broadcasting clients' offsets, which 4.9 does not have.
func (b *Broker) openBroadcast() {
	if b.compat49() {
		return
	}
	b.broadcast = offset.NewBroadcast(offset.BroadcastOptions{
		Offsets: b.offsets,
		Online:  b.clientsOf,
		Start: func(topic string, queueID int32) int64 {
			if _, ok := b.store.Unit(topic, queueID, 0); ok && b.store.InMemory(topic, queueID, 0) {
				return 0
			}
			return b.store.MaxOffset(topic, queueID)
		},
		Expiry: b.broadcastExpiry,
		Now:    b.o.Now,
	})
}

// broadcastExpiry is how long a silent client's offsets are kept.
func (b *Broker) broadcastExpiry() (offline, online time.Duration) {
	v := b.values()
	return seconds(v.BroadcastOffsetExpireSecond), seconds(v.BroadcastOffsetExpireMaxSecond)
}

func seconds(n int64) time.Duration { return time.Duration(min(n, maxHours*3600)) * time.Second }

// clientsOf are the ids of a group's clients that are online.
func (b *Broker) clientsOf(group string) []string {
	if g := b.consumers.Group(group); g != nil {
		return g.ClientIDs()
	}
	return nil
}
