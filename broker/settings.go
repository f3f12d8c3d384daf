// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"strings"
	"time"

	"rocketmq-go/broker/registration"
	"rocketmq-go/broker/transaction"
	"rocketmq-go/config"
	"rocketmq-go/store"
)

// storeConfig is what the configuration says of the store.
func (b *Broker) storeConfig(levels []time.Duration) store.Config {
	v := b.values()
	s := &v.Store
	return store.Config{
		Dir:                   s.StorePathRootDir,
		CommitLogDirs:         paths(s.CommitLogPath(), v.Own.MultiPathSplitter),
		ReadOnlyCommitLogDirs: paths(s.ReadOnlyCommitLogStorePaths, v.Own.MultiPathSplitter),
		CommitLogFileSize:     int64(s.MappedFileSizeCommitLog),
		ConsumeQueueFileSize:  int64(s.ConsumeQueueFileSize()),
		ExtEnabled:            s.EnableConsumeQueueExt,
		ExtFileSize:           int64(s.MappedFileSizeConsumeQueueExt),
		FilterBitMap:          b.filterBitMap,
		IndexSlots:            int32(s.MaxHashSlotNum),
		IndexUnits:            int32(s.MaxIndexNum),
		IndexDisabled:         !s.MessageIndexEnable,
		IndexSafe:             s.MessageIndexSafe,
		MaxMessageSize:        int32(v.Own.MaxFrameLength), // the pipeline checks maxMessageSize, which may change
		SyncFlush:             s.FlushDiskType == config.SyncFlush,
		Flushing:              b.flushing,
		NoCheckCRCOnRecover:   !s.CheckCRCOnRecover,
		EnableLMQ:             s.EnableLmq,
		EnableMultiDispatch:   s.EnableMultiDispatch,
		MaxLMQ:                s.MaxLmqConsumeQueueNum,
		AppendPropCRC:         s.EnabledAppendPropCRC,
		ForceVerifyPropCRC:    s.ForceVerifyPropCRC,
		Compat49:              b.compat49(),
		PageCacheBusyTimeout:  func() time.Duration { return config.Millis(b.values().Store.OsPageCacheBusyTimeOutMills) },
		LongestWait:           b.longestWait,
		LongTopics:            func() bool { return b.values().Store.AutoMessageVersionOnTopicLen },
		BatchQueueFileSize:    int64(s.MapperFileSizeBatchConsumeQueue),
		DelayLevels:           func() []time.Duration { return levels },
		BatchTopic:            b.topics.IsBatch,
		Cleaning:              b.cleaningRules,
		Limits:                b.readLimits,
		Now:                   b.o.Now,
		Log:                   b.logOf("store"),
		Arrived:               b.arrived,
		Slave:                 b.isSlave(),
		SlaveTimeout:          func() time.Duration { return config.Millis(b.values().Store.SlaveTimeout) },
		Flushed:               func(took time.Duration) { b.flushes.Observe(int64(took)) },
	}
}

// flushing is what the configuration says of how soon the store is on disk.
func (b *Broker) flushing() store.Flushing {
	s := &b.values().Store
	return store.Flushing{
		SyncTimeout: config.Millis(s.SyncFlushTimeout),
		Interval:    config.Millis(s.FlushIntervalCommitLog), LeastPages: s.FlushCommitLogLeastPages,
		ThoroughInterval: config.Millis(s.FlushCommitLogThoroughInterval),
		QueueInterval:    config.Millis(s.FlushIntervalConsumeQueue), QueueLeastPages: s.FlushConsumeQueueLeastPages,
		QueueThoroughInterval: config.Millis(s.FlushConsumeQueueThoroughInterval),
	}
}

// longestWait is how long a message may wait for the commit log's lock, 0 for ever.
func (b *Broker) longestWait() time.Duration {
	v := b.values()
	if !v.BrokerFastFailureEnable {
		return 0
	}
	return config.Millis(v.WaitTimeMillsInSendQueue)
}

// filterBitMap makes the bit map of a message that is being dispatched, if that is configured.
func (b *Broker) filterBitMap(dst []byte, topic string, properties []byte, storeTime int64) []byte {
	if !b.values().EnableCalcFilterBitMap {
		return dst
	}
	return b.filters.BitMap(dst, topic, properties, storeTime)
}

// readLimits is what the configuration says of how much one pull or query may bring.
func (b *Broker) readLimits() store.ReadLimits {
	s := &b.values().Store
	return store.ReadLimits{
		BytesInMemory: s.MaxTransferBytesOnMessageInMemory, CountInMemory: s.MaxTransferCountOnMessageInMemory,
		BytesOnDisk: s.MaxTransferBytesOnMessageInDisk, CountOnDisk: s.MaxTransferCountOnMessageInDisk,
		FilterBytes: s.MaxFilterMessageSize, FilterRounds: s.TravelCqFileNumWhenGetMessage, InMemoryPercent: s.AccessMessageInMemoryMaxRatio, QueryResults: s.MaxMsgsNumBatch,
	}
}

// cleaningRules is what the configuration says of deleting old files.
func (b *Broker) cleaningRules() store.CleaningRules {
	v := b.values()
	s := &v.Store
	return store.CleaningRules{
		CleanResourceInterval:           config.Millis(s.CleanResourceInterval),
		DeleteWhen:                      s.DeleteWhen,
		FileReservedTime:                time.Duration(min(s.FileReservedTime, maxHours)) * time.Hour,
		DeleteFileBatchMax:              s.DeleteFileBatchMax,
		DeleteCommitLogFilesInterval:    config.Millis(s.DeleteCommitLogFilesInterval),
		DeleteConsumeQueueFilesInterval: config.Millis(s.DeleteConsumeQueueFilesInterval),
		DiskMaxUsedSpaceRatio:           float64(s.DiskMaxUsedRatio()) / 100,
		DiskSpaceCleanForciblyRatio:     v.DiskCleanForciblyRatio(),
		CleanFileForciblyEnable:         s.CleanFileForciblyEnable,
		DiskSpaceWarningLevelRatio:      v.DiskWarningRatio(),
	}
}

// maxHours is 100 years: more does not fit a duration.
const maxHours = 100 * 366 * 24

// paths splits a list of directories.
func paths(list, separator string) []string {
	if separator == "" {
		separator = ","
	}
	var out []string
	for part := range strings.SplitSeq(list, separator) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// nameServers is what the configuration says of where the name servers are.
func (b *Broker) nameServers() registration.Sources {
	v := b.values()
	s := registration.Sources{
		List: strings.TrimSpace(v.NamesrvAddr), ByDNS: v.FetchNameSrvAddrByDnsLookup,
		DNSInterval:           config.Millis(int64(v.UpdateNameServerAddrPeriod)),
		AddressServerInterval: config.Millis(v.FetchNamesrvAddrInterval),
	}
	if v.FetchNamesrvAddrByAddressServer {
		s.AddressServer = registration.AddressServerURL(v.Own.RmqAddressServerDomain, v.Own.RmqAddressServerSubGroup)
	}
	return s
}

// transactionRules is what the configuration says of transactions.
func (b *Broker) transactionRules() transaction.Rules {
	v := b.values()
	return transaction.Rules{
		BrokerName:     v.BrokerName,
		MaxMessageSize: v.Store.MaxMessageSize,
		TimeOut:        config.Millis(v.TransactionTimeOut),
		CheckMax:       v.TransactionCheckMax,
		Interval:       config.Millis(v.TransactionCheckInterval),
		OpInterval:     config.Millis(v.TransactionOpBatchInterval),
		OpSize:         v.TransactionOpMsgMaxSize,
		MetricsEvery:   config.Millis(v.TransactionMetricFlushInterval),
		Reserved:       time.Duration(v.Store.FileReservedTime) * time.Hour,
		Slave:          b.isSlave(),
		Elsewhere:      b.bridge != nil,
	}
}

// finished is told of each end of a transaction.
func (b *Broker) finished(topic string, committed bool, bytes int, age time.Duration) {
	if committed {
		b.stats.Committed(topic, bytes, age)
	} else {
		b.stats.RolledBack(topic)
	}
}

// scheduled is told of each message of a delay level that was delivered.
func (b *Broker) scheduled(topic string, bytes int) {
	if b.values().Store.EnableScheduleMessageStats {
		b.stats.Scheduled(topic, bytes)
	}
}
