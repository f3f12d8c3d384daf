// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"time"
)

// protectionInterval is how often slow groups are looked for, as in Java.
const protectionInterval = 3 * time.Minute

// runProtection keeps groups from reading what is long out of memory, where that is configured: a group that is further
// behind than consumerFallbehindThreshold is disabled, until an administrator enables it again (updateSubGroup).
func (b *Broker) runProtection(ctx context.Context) error {
	tick := time.NewTicker(protectionInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		v := b.values()
		if !v.DisableConsumeIfConsumerReadSlowly {
			continue
		}
		for group, bytes := range b.stats.Behind.TakeSlow(v.ConsumerFallbehindThreshold) {
			if b.groups.Disable(group) {
				b.log.Warn("a group consumes slowly and was disabled", "group", group, "behindBytes", bytes,
					"consumerFallbehindThreshold", v.ConsumerFallbehindThreshold)
			}
		}
	}
}
