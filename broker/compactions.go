// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"time"

	"rocketmq-go/broker/compaction"
	"rocketmq-go/config"
	"rocketmq-go/store"
)

// openCompaction makes the service of compaction topics, which 4.9 does not have.
func (b *Broker) openCompaction() (err error) {
	s := &b.values().Store
	if b.compat49() || !s.EnableCompaction {
		return nil
	}
	b.compaction, err = compaction.New(compaction.Options{
		Dir: s.StorePathRootDir, LogFileSize: s.CompactionMappedFileSize, QueueFileSize: s.CompactionCqMappedFileSize,
		KeyMemory: s.MaxOffsetMapSize, AfterCrash: !b.store.WasStopped(),
		Interval:      func() time.Duration { return config.Millis(b.values().Store.CompactionScheduleInternal) },
		FlushInterval: func() time.Duration { return config.Millis(b.values().Store.FlushIntervalConsumeQueue) },
		Store:         b.store, Compacted: b.topics.IsCompacted, Topics: b.topics.Compacted, Log: b.log,
	})
	return err
}

// runCompaction runs it, where it is.
func (b *Broker) runCompaction(ctx context.Context) error {
	if b.compaction == nil {
		return nil
	}
	return b.compaction.Run(ctx)
}

// compactedStore is the store with what consumers of compaction topics shall see of it.
type compactedStore struct {
	*store.Store
	service *compaction.Service
}

func (s compactedStore) Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult) {
	return s.service.Get(dst, r)
}

func (s compactedStore) DeleteTopics(topics []string) {
	s.Store.DeleteTopics(topics)
	s.service.DeleteTopics(topics)
}
