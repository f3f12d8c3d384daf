// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// MessageStoreConfig holds the keys of the message store and of replication.
type MessageStoreConfig struct {
	// All other paths derive from it.
	StorePathRootDir string `def:"$home/store" mark:"mrp"`
	// null: commitlog below the root; see CommitLogPath.
	StorePathCommitLog        string `def:"null" mark:"mrp"`
	StorePathDLedgerCommitLog string `def:"null" later:"DLedger commit log" mark:"mrp"`
	// null: epochFileCheckpoint below the root.
	StorePathEpochFile string `def:"null" v4:"!" later:"controller mode" mark:"mrp"`
	// null: brokerIdentity below the root.
	StorePathBrokerIdentity string `def:"null" v4:"!" later:"controller mode" mark:"mrp"`
	// Directories that take no new files.
	ReadOnlyCommitLogStorePaths string `def:"null" mark:"rp"`
	// Size of a file of the commit log, bytes. It must not change while a store exists.
	MappedFileSizeCommitLog int `def:"1073741824" mark:"r"`
	// Sizes of the files of topics with cleanup.policy=COMPACTION, bytes; the first is rounded to a multiple of the second,
	// that one to whole units of 46. They must not change while such topics exist.
	CompactionMappedFileSize   int `def:"104857600" v4:"!" mark:"r"`
	CompactionCqMappedFileSize int `def:"10485760" v4:"!" mark:"r"`
	// How often such topics are looked through for messages whose key has a newer one, ms.
	CompactionScheduleInternal int `def:"900000" v4:"!"`
	// Memory for the keys of one queue while it is looked through, bytes. What does not fit is done the next time.
	MaxOffsetMapSize    int `def:"104857600" v4:"!" mark:"r"`
	CompactionThreadNum int `def:"6" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	// false: consumers of such topics get all messages that are still in the commit log.
	EnableCompaction bool `def:"true" v4:"!false" mark:"r"`
	// Size of a timerlog file.
	MappedFileSizeTimerLog int `def:"104857600" v4:"!" mark:"r"`
	// Tick of the wheel: 100, 200, 500 or 1000; others are rounded down to one of these.
	TimerPrecisionMs int `def:"1000" v4:"!" mark:"r"`
	// Ticks that a message waits in a slot at most: longer waits are broken.
	TimerRollWindowSlot      int  `def:"172800" v4:"!" mark:"r"`
	TimerFlushIntervalMs     int  `def:"1000" v4:"!" mark:"r"`
	TimerGetMessageThreadNum int  `def:"3" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	TimerPutMessageThreadNum int  `def:"3" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	TimerEnableDisruptor     bool `def:"false" v4:"!" none:"internal tuning of the Java server" mark:"d"`
	// Java counts waiting messages anew at timerCheckMetricsWhen.
	TimerEnableCheckMetrics bool `def:"true" v4:"!" none:"the counts are checked at each start"`
	// Treat delay levels as timer messages.
	TimerInterceptDelayLevel bool `def:"false" v4:"!" none:"Java reads it nowhere"`
	// Longer delays answer MESSAGE_ILLEGAL(13).
	TimerMaxDelaySec int `def:"259200" v4:"!"`
	// Otherwise new timer messages answer SYSTEM_ERROR(1). 4.9.7 has no timers.
	TimerWheelEnable        bool `def:"true" v4:"!false"`
	DisappearTimeAfterStart int  `def:"-1" v4:"!" later:"a pause before clients are told of a broker" mark:"m"`
	// Messages stay in the timer topic and are not entered.
	TimerStopEnqueue      bool   `def:"false" v4:"!"`
	TimerCheckMetricsWhen string `def:"05" v4:"!" none:"the counts are checked at each start" mark:"d"`
	// A message that the store refuses without telling why is given up; otherwise it is tried again 10 s later.
	TimerSkipUnknownError        bool `def:"false" v4:"!"`
	TimerWarmEnable              bool `def:"false" v4:"!" none:"nothing to warm: slots are read one by one" mark:"d"`
	TimerStopDequeue             bool `def:"false" v4:"!" none:"for debugging of the Java server" mark:"d"`
	TimerEnableRetryUntilSuccess bool `def:"false" v4:"!" none:"a message is tried until the store takes it"`
	// Messages of one tick beyond which some, and beyond twice as many all, are refused.
	TimerCongestNumEachSlot    int `def:"2147483647" v4:"!"`
	TimerMetricSmallThreshold  int `def:"1000000" v4:"!" none:"the counts are checked at each start"`
	TimerProgressLogIntervalMs int `def:"10000" v4:"!" none:"code 28 tells the progress"`
	// default (files) or defaultRocksDB, which is refused.
	StoreType string `def:"default" v4:"!" later:"RocksDB storage" mark:"mr"`
	// Bytes; see ConsumeQueueFileSize.
	MappedFileSizeConsumeQueue int `def:"6000000" mark:"r"`
	// Extension files beside the consume queues, for enableCalcFilterBitMap.
	EnableConsumeQueueExt bool `def:"false" mark:"r"`
	// Bytes of one; it must not change while there are some.
	MappedFileSizeConsumeQueueExt int `def:"50331648" mark:"r"`
	// Size of a file of a batch queue (queue.type=BatchCQ), bytes, rounded up to whole units of 46; it must not change while
	// there are some.
	MapperFileSizeBatchConsumeQueue int `def:"13800000" v4:"!" mark:"r"`
	BitMapLengthConsumeQueueExt     int `def:"64" none:"computed from expectConsumerNumUseFilter and maxErrorRateOfBloomFilter, in Java too"`
	// ms between two asynchronous flushes.
	FlushIntervalCommitLog    int `def:"500" mark:"m"`
	CommitIntervalCommitLog   int `def:"200" none:"there is no buffer between the log and the page cache" mark:"m"`
	MaxRecoveryCommitlogFiles int `def:"30" v4:"!" none:"unused in Java too"`
	// %; see DiskWarningRatio.
	DiskSpaceWarningLevelRatio int `def:"90" v4:"!"`
	// %; see DiskCleanForciblyRatio.
	DiskSpaceCleanForciblyRatio    int  `def:"85" v4:"!"`
	UseReentrantLockWhenPutMessage bool `def:"true" none:"internal tuning of the Java server"`
	FlushCommitLogTimed            bool `def:"true" none:"internal tuning of the Java server" mark:"m"`
	// ms between two flushes.
	FlushIntervalConsumeQueue int `def:"1000"`
	// ms between rounds of the cleaner.
	CleanResourceInterval int `def:"10000"`
	// ms of pause between two deletions.
	DeleteCommitLogFilesInterval int `def:"100"`
	// ms of pause between two deletions.
	DeleteConsumeQueueFilesInterval  int `def:"100"`
	DestroyMapedFileIntervalForcibly int `def:"120000" none:"files are unmapped when their last reader leaves"`
	RedeleteHangedFileInterval       int `def:"120000" none:"internal tuning of the Java server"`
	// Hours of the day, 00 to 23, separated by semicolons, at which expired files are deleted.
	DeleteWhen string `def:"04" mark:"m"`
	// %: above, deletion runs at any hour. See DiskMaxUsedRatio.
	DiskMaxUsedSpaceRatio int `def:"75"`
	// Hours since its last change after which a file of the commit log expires.
	FileReservedTime int `def:"72" mark:"m"`
	// Files deleted in one round.
	DeleteFileBatchMax    int `def:"10" v4:"!" mark:"m"`
	PutMsgIndexHightWater int `def:"600000" none:"internal tuning of the Java server"`
	// Bytes of a body; more answers MESSAGE_ILLEGAL(13).
	MaxMessageSize int `def:"4194304"`
	// Bytes one filtered pull may look at.
	MaxFilterMessageSize int `def:"16000" v4:"!"`
	// Recovery checks the bodies' CRC.
	CheckCRCOnRecover bool `def:"true" mark:"r"`
	// Pages of 4 KiB that make a flush worth it.
	FlushCommitLogLeastPages         int `def:"4"`
	CommitCommitLogLeastPages        int `def:"4" none:"there is no buffer between the log and the page cache"`
	FlushLeastPagesWhenWarmMapedFile int `def:"4096" none:"space is faulted in ahead of the write position anyway"`
	// Pages of 4 KiB that make a flush worth it.
	FlushConsumeQueueLeastPages int `def:"2"`
	// ms after which whatever there is gets flushed.
	FlushCommitLogThoroughInterval  int `def:"10000"`
	CommitCommitLogThoroughInterval int `def:"200" none:"there is no buffer between the log and the page cache"`
	// ms after which whatever there is gets flushed.
	FlushConsumeQueueThoroughInterval int `def:"60000"`
	// Limit of a pull answer from hot data, bytes.
	MaxTransferBytesOnMessageInMemory int `def:"262144" mark:"m"`
	// Limit of a pull answer from hot data, messages.
	MaxTransferCountOnMessageInMemory int `def:"32" mark:"m"`
	// The same for cold data.
	MaxTransferBytesOnMessageInDisk int `def:"65536" mark:"m"`
	// The same for cold data.
	MaxTransferCountOnMessageInDisk int `def:"8" mark:"m"`
	// % of the memory that counts as hot.
	AccessMessageInMemoryMaxRatio int `def:"40" mark:"m"`
	// Write index files (query by key).
	MessageIndexEnable bool `def:"true" mark:"rm"`
	// Slots of an index file.
	MaxHashSlotNum int `def:"5000000" mark:"r"`
	// Entries of an index file.
	MaxIndexNum int `def:"20000000" mark:"r"`
	// Upper bound of QUERY_MESSAGE results.
	MaxMsgsNumBatch int `def:"64"`
	// After a crash, trust the index only up to the checkpoint.
	MessageIndexSafe bool `def:"false" mark:"rm"`
	// 0 or not given: listenPort+1.
	HaListenPort            int `def:"10912" mark:"r"`
	HaSendHeartbeatInterval int `def:"5000"`
	// ms without data before the slave connects anew.
	HaHousekeepingInterval int `def:"20000"`
	// Bytes of a replication frame.
	HaTransferBatchSize int `def:"32768"`
	// Slave: host:port of the master's haListenPort; otherwise the name server tells it.
	HaMasterAddress string `def:"null" mark:"m"`
	// Bytes a slave may lag and still count as in sync; HaMaxGapNotInSync of 5.x.
	HaSlaveFallbehindMax int `def:"!" v4:"268435456"`
	// Bytes a slave may lag and still count as in sync.
	HaMaxGapNotInSync int `def:"268435456" v4:"!"`
	// ASYNC_MASTER, SYNC_MASTER or SLAVE.
	BrokerRole BrokerRole `def:"ASYNC_MASTER" mark:"m"`
	// ASYNC_FLUSH or SYNC_FLUSH.
	FlushDiskType FlushDiskType `def:"ASYNC_FLUSH" mark:"rm"`
	// ms; then FLUSH_DISK_TIMEOUT(10).
	SyncFlushTimeout  int `def:"5000"`
	PutMessageTimeout int `def:"8000" v4:"!" none:"unused in Java too; see syncFlushTimeout"`
	// ms; then FLUSH_SLAVE_TIMEOUT(12).
	SlaveTimeout int `def:"3000"`
	// Delays <n>[smhd], separated by single blanks, from level 1 on; see DelayLevels.
	MessageDelayLevel string `def:"1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h" mark:"r"`
	// ms between writes of delayOffset.json.
	FlushDelayOffsetInterval int64 `def:"10000"`
	// Allow deletion above diskSpaceCleanForciblyRatio.
	CleanFileForciblyEnable bool `def:"true" mark:"m"`
	WarmMapedFileEnable     bool `def:"false" none:"space is faulted in ahead of the write position anyway"`
	// Pulls out of range on slaves are corrected.
	OffsetCheckInSlave bool `def:"false"`
	DebugLockEnable    bool `def:"false" none:"internal tuning of the Java server"`
	// Commit log duplicates by confirmOffset.
	DuplicationEnable bool `def:"false" later:"duplication"`
	// Note how far behind groups read, for DisableConsumeIfConsumerReadSlowly; the statistics themselves (GROUP_GET_FALL_SIZE
	// and _TIME) only go to a log file in Java.
	DiskFallRecorded bool `def:"true"`
	// ms the append lock may be held before sends answer SYSTEM_BUSY(2) [PCBUSY_CLEAN_QUEUE].
	OsPageCacheBusyTimeOutMills int64 `def:"1000"`
	// Results of a query for a unique key.
	DefaultQueryMaxNum            int  `def:"32"`
	TransientStorePoolEnable      bool `def:"false" none:"there is no buffer between the log and the page cache" mark:"mr"`
	TransientStorePoolSize        int  `def:"5" none:"internal tuning of the Java server" mark:"r"`
	FastFailIfNoBufferInStorePool bool `def:"false" none:"internal tuning of the Java server"`
	// Raft commit log, refused.
	EnableDLegerCommitLog bool   `def:"false" later:"DLedger commit log" mark:"r"`
	DLegerGroup           string `def:"null" later:"DLedger commit log" mark:"r"`
	// n0-host:port;n1-host:port;…
	DLegerPeers       string `def:"null" later:"DLedger commit log" mark:"r"`
	DLegerSelfID      string `def:"null" later:"DLedger commit log" mark:"r"`
	PreferredLeaderID string `def:"null" later:"DLedger commit log"`
	IsEnableBatchPush bool   `def:"!" v4:"false" set:"enableBatchPush" none:"key of 4.9 only"`
	EnableBatchPush   bool   `def:"false" v4:"!" none:"internal tuning of the Java server"`
	// Statistics of SCHEDULE_TOPIC_XXXX.
	EnableScheduleMessageStats bool `def:"true"`
	// Light queues %LMQ%… by the property INNER_MULTI_DISPATCH.
	EnableLmq                                bool `def:"false" mark:"r"`
	EnableMultiDispatch                      bool `def:"false" mark:"r"`
	MaxLmqConsumeQueueNum                    int  `def:"20000" mark:"r"`
	EnableScheduleAsyncDeliver               bool `def:"false" none:"internal tuning of the Java server"`
	ScheduleAsyncDeliverMaxPendingLimit      int  `def:"2000" none:"internal tuning of the Java server"`
	ScheduleAsyncDeliverMaxResendNum2Blocked int  `def:"3" none:"internal tuning of the Java server"`
	MaxBatchDeleteFilesNum                   int  `def:"50" v4:"!" none:"internal tuning of the Java server"`
	DispatchCqThreads                        int  `def:"10" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	DispatchCqCacheNum                       int  `def:"4096" v4:"!" none:"internal tuning of the Java server"`
	EnableAsyncReput                         bool `def:"true" v4:"!" none:"internal tuning of the Java server"`
	RecheckReputOffsetFromCq                 bool `def:"false" v4:"!" none:"internal tuning of the Java server"`
	MaxTopicLength                           int  `def:"127" v4:"!" none:"unused in Java too; the limit is 127 characters"`
	// Topics longer than 127 bytes make records of version 2; otherwise they are refused. 4.9.7 knows only version 1.
	AutoMessageVersionOnTopicLen bool `def:"true" v4:"!false"`
	// Append the property __CRC32#, a checksum of the whole record, to each record; verify it when the log is recovered.
	EnabledAppendPropCRC bool `def:"false" v4:"!" mark:"r"`
	ForceVerifyPropCRC   bool `def:"false" v4:"!" mark:"r"`
	// While a filter matches nothing, a pull looks at so many files of the queue, or as many times at MaxFilterMessageSize.
	TravelCqFileNumWhenGetMessage      int   `def:"1" v4:"!"`
	CorrectLogicMinOffsetSleepInterval int   `def:"1" v4:"!" none:"internal tuning of the Java server"`
	CorrectLogicMinOffsetForceInterval int   `def:"300000" v4:"!" none:"internal tuning of the Java server"`
	MappedFileSwapEnable               bool  `def:"true" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	CommitLogForceSwapMapInterval      int64 `def:"43200000" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	CommitLogSwapMapInterval           int64 `def:"3600000" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	CommitLogSwapMapReserveFileNum     int   `def:"100" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	LogicQueueForceSwapMapInterval     int64 `def:"43200000" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	LogicQueueSwapMapInterval          int64 `def:"3600000" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	CleanSwapedMapInterval             int64 `def:"300000" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	LogicQueueSwapMapReserveFileNum    int   `def:"20" v4:"!" none:"unmapping of cold mapped files, which this store does not need"`
	SearchBcqByCacheEnable             bool  `def:"true" v4:"!" none:"internal tuning of the Java server"`
	DispatchFromSenderThread           bool  `def:"false" v4:"!" none:"internal tuning of the Java server" mark:"m"`
	WakeCommitWhenPutMessage           bool  `def:"true" v4:"!" none:"internal tuning of the Java server" mark:"m"`
	WakeFlushWhenPutMessage            bool  `def:"false" v4:"!" none:"internal tuning of the Java server" mark:"m"`
	EnableCleanExpiredOffset           bool  `def:"false" v4:"!" none:"unused in Java too; offsets go with their topic" mark:"m"`
	MaxAsyncPutMessageRequests         int   `def:"5000" v4:"!" none:"internal tuning of the Java server"`
	PullBatchMaxMessageCount           int   `def:"160" v4:"!" none:"unused in Java too; see maxTransferCountOnMessageInMemory"`
	// How many brokers have this name; with enableSlaveActingMaster more than 1 lets a master that returns take over from its slave.
	TotalReplicas int `def:"1" v4:"!" mark:"rm"`
	// SYNC_MASTER: how many brokers, the master included, must have a message before its send is answered.
	InSyncReplicas int `def:"1" v4:"!" mark:"m"`
	// The least that enableAutoInSyncReplicas goes down to.
	MinInSyncReplicas    int  `def:"1" v4:"!" mark:"m"`
	AllAckInSyncStateSet bool `def:"false" v4:"!" later:"controller mode" mark:"m"`
	// SYNC_MASTER with enableSlaveActingMaster: as many are waited for as are in sync, when that is less than inSyncReplicas.
	EnableAutoInSyncReplicas               bool    `def:"false" v4:"!" mark:"m"`
	HaFlowControlEnable                    bool    `def:"false" v4:"!" mark:"m"`
	MaxHaTransferByteInSecond              int64   `def:"104857600" v4:"!"`
	HaMaxTimeSlaveNotCatchup               int64   `def:"15000" v4:"!" later:"controller mode"`
	SyncMasterFlushOffsetWhenStartup       bool    `def:"false" v4:"!" later:"slaves that cut their logs"`
	MaxChecksumRange                       int64   `def:"1073741824" v4:"!" later:"controller mode"`
	ReplicasPerDiskPartition               int     `def:"1" v4:"!" none:"internal tuning of the Java server"`
	LogicalDiskSpaceCleanForciblyThreshold float64 `def:"0.8" v4:"!" none:"internal tuning of the Java server"`
	MaxSlaveResendLength                   int64   `def:"268435456" v4:"!" later:"slaves that cut their logs"`
	SyncFromLastFile                       bool    `def:"false" v4:"!" later:"controller mode"`
	AsyncLearner                           bool    `def:"false" v4:"!" later:"controller mode"`
	MaxConsumeQueueScan                    int     `def:"20000" v4:"!"`
	SampleCountThreshold                   int     `def:"5000" v4:"!"`
	ColdDataFlowControlEnable              bool    `def:"false" v4:"!" later:"cold read flow control"`
	ColdDataScanEnable                     bool    `def:"false" v4:"!" later:"cold read flow control"`
	// Advice to the kernel how the log is read.
	DataReadAheadEnable                 bool  `def:"true" v4:"!" later:"cold read flow control"`
	TimerColdDataCheckIntervalMs        int   `def:"60000" v4:"!" later:"cold read flow control"`
	SampleSteps                         int   `def:"32" v4:"!" none:"internal tuning of the Java server"`
	AccessMessageInMemoryHotRatio       int   `def:"26" v4:"!" none:"internal tuning of the Java server"`
	EnableBuildConsumeQueueConcurrently bool  `def:"false" v4:"!" none:"internal tuning of the Java server"`
	BatchDispatchRequestThreadPoolNums  int   `def:"16" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	CleanRocksDBDirtyCQIntervalMin      int64 `def:"60" v4:"!" later:"RocksDB storage"`
	StatRocksDBCQIntervalSec            int64 `def:"10" v4:"!" later:"RocksDB storage"`
	MemTableFlushIntervalMs             int64 `def:"3600000" v4:"!" later:"RocksDB storage"`
	RealTimePersistRocksDBConfig        bool  `def:"true" v4:"!" later:"RocksDB storage"`
	EnableRocksDBLog                    bool  `def:"false" v4:"!" later:"RocksDB storage"`
	TopicQueueLockNum                   int   `def:"32" v4:"!" none:"internal tuning of the Java server"`
	ReadUnCommitted                     bool  `def:"false" v4:"!" later:"reading uncommitted data"`
	PutConsumeQueueDataByFileChannel    bool  `def:"true" v4:"!" none:"internal tuning of the Java server"`
	// Files and RocksDB; checkRocksdbCqWriteProgress.
	RocksdbCQDoubleWriteEnable                    bool   `def:"false" v4:"!" later:"RocksDB storage"`
	BottomMostCompressionTypeForConsumeQueueStore string `def:"zstd" v4:"!" later:"RocksDB storage"`
	RocksdbCompressionType                        string `def:"lz4" v4:"!" later:"RocksDB storage"`
	RocksdbFlushWalFrequency                      int    `def:"1024" v4:"!" later:"RocksDB storage"`
	RocksdbWalFileRollingThreshold                int64  `def:"1073741824" v4:"!" later:"RocksDB storage"`
	SpinLockCollisionRetreatOptimalDegree         int    `def:"1000" v4:"!" none:"internal tuning of the Java server"`
	UseABSLock                                    bool   `def:"false" v4:"!" none:"internal tuning of the Java server"`
}
