// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/put"
	"rocketmq-go/config"
)

// openPop makes the service of consumers that pop, which 4.9 does not have.
func (b *Broker) openPop(services *put.Pipeline) (err error) {
	if b.timers == nil {
		return nil
	}
	dir := b.values().Store.StorePathRootDir
	queues := int32(b.values().ReviveQueueNum) // of new ones nobody would read before the next start
	b.pops, err = pop.New(pop.Options{
		Dir: dir, Saved: offsetsSaved(dir, b.values().Store.EnableLmq), Store: b.store, Put: services, Offsets: b.offsets, Topics: b.topics, Stats: b.stats,
		HasGroup: func(name string) bool { return b.groups.Find(name) != nil }, Settled: b.timers.Settled, Elsewhere: b.readElsewhere(),
		Rules: func() pop.Rules { return b.popRules(queues) }, Polling: b.polling, Host: b.host, Now: b.o.Now, Log: b.log,
	})
	return err
}

// offsetsSaved is when the file of consumer offsets was written, the zero time if there is none.
func offsetsSaved(dir string, lmq bool) time.Time {
	names := []string{"consumerOffset.json", "lmqConsumerOffset.json"}
	if lmq {
		slices.Reverse(names)
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, "config", name)); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

func (b *Broker) popRules(reviveQueues int32) pop.Rules {
	v := b.values()
	limit := int64(0)
	if v.EnablePopMessageThreshold {
		limit = v.PopInflightMessageThreshold
	}
	return pop.Rules{
		MaxInFlight: limit,
		Broker:      v.BrokerName, Cluster: v.BrokerClusterName, ReviveQueues: reviveQueues,
		ReviveInterval: config.Millis(v.ReviveInterval), RetryV2: v.EnableRetryTopicV2, NoRetryV1: !v.RetrieveMessageFromPopRetryTopicV1,
		ActualRetryTopic: v.PopResponseReturnActualRetryTopic, RetryProbability: v.PopFromRetryProbability,
		InitInMemory: v.InitPopOffsetByCheckMsgInMem, SkipUnreadable: v.SkipWhenCKRePutReachMaxTimes,
		WakeOrdered: v.EnableNotifyAfterPopOrderLockRelease,
	}
}

func (b *Broker) polling() pop.Polling {
	v := b.values()
	return pop.Polling{
		PerQueue: v.PopPollingSize, Queues: v.PopPollingMapSize, All: v.MaxPopPollingSize, Force: v.PopLongPollingForceNotifyInterval,
		Off: !v.LongPollingEnable,
	}
}

// runPop answers what is held, where consumers may pop.
func (b *Broker) runPop(ctx context.Context) error {
	if b.pops == nil {
		return nil
	}
	return b.pops.Run(ctx)
}

// revive gives again what was popped and not acknowledged.
func (b *Broker) revive(ctx context.Context) error {
	if b.pops == nil {
		return nil
	}
	return b.pops.Revive(ctx)
}
