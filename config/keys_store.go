// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// MessageStoreConfig holds the keys of the message store and of replication.
type MessageStoreConfig struct {
	// All other paths derive from it; default $user.home/store.
	StorePathRootDir string `def:"$home/store" mark:"mrp"`
	// Null = root/commitlog. In 5.x may list several directories separated by the system property
	// rocketmq.broker.multiPathSplitter, default ,.
	StorePathCommitLog        string `def:"null" mark:"mrp"`
	StorePathDLedgerCommitLog string `def:"null" later:"DLedger commit log" mark:"mrp"`
	// Null = root/epochFileCheckpoint; controller mode.
	StorePathEpochFile string `def:"null" v4:"!" later:"controller mode" mark:"mrp"`
	// Null = root/brokerIdentity; controller mode.
	StorePathBrokerIdentity string `def:"null" v4:"!" later:"controller mode" mark:"mrp"`
	// Directories that take no new files.
	ReadOnlyCommitLogStorePaths string `def:"null" later:"several commit log directories" mark:"rp"`
	// Size of a commit log file; changing it on an existing store is refused by length checks.
	MappedFileSizeCommitLog int `def:"1073741824" mark:"r"`
	// Topic attribute cleanup.policy=COMPACTION.
	CompactionMappedFileSize int `def:"104857600" v4:"!" later:"compaction topics" mark:"r"`
	// Compaction topics.
	CompactionCqMappedFileSize int `def:"10485760" v4:"!" later:"compaction topics" mark:"r"`
	// Compaction topics.
	CompactionScheduleInternal int `def:"900000" v4:"!" later:"compaction topics"`
	// Compaction topics.
	MaxOffsetMapSize    int `def:"104857600" v4:"!" later:"compaction topics"`
	CompactionThreadNum int `def:"6" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// Compaction topics.
	EnableCompaction bool `def:"true" v4:"!false" later:"compaction topics"`
	// Size of a timerlog file.
	MappedFileSizeTimerLog int `def:"104857600" v4:"!" later:"timer messages" mark:"r"`
	// Wheel tick: 100, 200, 500 or 1000; other values fall back to 1000.
	TimerPrecisionMs int `def:"1000" v4:"!" later:"timer messages"`
	// Slots of the wheel window (2 days of seconds)
	TimerRollWindowSlot int `def:"172800" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerFlushIntervalMs     int `def:"1000" v4:"!" later:"timer messages"`
	TimerGetMessageThreadNum int `def:"3" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	TimerPutMessageThreadNum int `def:"3" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// Timer messages.
	TimerEnableDisruptor bool `def:"false" v4:"!" later:"timer messages" mark:"d"`
	// Rewrites timermetrics at timerCheckMetricsWhen.
	TimerEnableCheckMetrics bool `def:"true" v4:"!" later:"timer messages"`
	// Treat delay levels as timer messages.
	TimerInterceptDelayLevel bool `def:"false" v4:"!" later:"timer messages"`
	// Larger delays answer MESSAGE_ILLEGAL(13)
	TimerMaxDelaySec int `def:"259200" v4:"!" later:"timer messages"`
	// Timer messages; when false they answer MESSAGE_ILLEGAL.
	TimerWheelEnable        bool `def:"true" v4:"!false" later:"timer messages"`
	DisappearTimeAfterStart int  `def:"-1" v4:"!" later:"timer messages" mark:"m"`
	// Debug stop.
	TimerStopEnqueue bool `def:"false" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerCheckMetricsWhen string `def:"05" v4:"!" later:"timer messages" mark:"d"`
	// Timer messages.
	TimerSkipUnknownError bool `def:"false" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerWarmEnable bool `def:"false" v4:"!" later:"timer messages" mark:"d"`
	// Timer messages.
	TimerStopDequeue bool `def:"false" v4:"!" later:"timer messages" mark:"d"`
	// Timer messages.
	TimerEnableRetryUntilSuccess bool `def:"false" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerCongestNumEachSlot int `def:"2147483647" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerMetricSmallThreshold int `def:"1000000" v4:"!" later:"timer messages"`
	// Timer messages.
	TimerProgressLogIntervalMs int `def:"10000" v4:"!" later:"timer messages"`
	// Default (files), defaultRocksDB. 5.4.0 has further combined types.
	StoreType string `def:"default" v4:"!" later:"RocksDB storage" mark:"mr"`
	// bytes, rounded up to a multiple of 20; default 300000*20.
	MappedFileSizeConsumeQueue int `def:"6000000" mark:"r"`
	// Extension files with tags bit maps.
	EnableConsumeQueueExt         bool `def:"false" later:"SQL92 filter bit maps" mark:"r"`
	MappedFileSizeConsumeQueueExt int  `def:"50331648" later:"SQL92 filter bit maps" mark:"r"`
	// Batch consume queue; 300000*46.
	MapperFileSizeBatchConsumeQueue int `def:"13800000" v4:"!" later:"batch consume queues" mark:"r"`
	// Bits.
	BitMapLengthConsumeQueueExt int `def:"64" later:"SQL92 filter bit maps"`
	// ms; async flush period.
	FlushIntervalCommitLog int `def:"500" mark:"m"`
	// ms; only with transientStorePoolEnable.
	CommitIntervalCommitLog int `def:"200" mark:"m"`
	// Files looked at after a clean stop.
	MaxRecoveryCommitlogFiles int `def:"30" v4:"!"`
	// % (10..90): above, the disk-full flag stops writes; system property rocketmq.broker.diskSpaceWarningLevelRatio
	// overrides.
	DiskSpaceWarningLevelRatio int `def:"90" v4:"!"`
	// % (10..85): above, files are deleted at once even if not expired.
	DiskSpaceCleanForciblyRatio    int  `def:"85" v4:"!"`
	UseReentrantLockWhenPutMessage bool `def:"true" none:"kind of lock"`
	FlushCommitLogTimed            bool `def:"true" none:"sleep or wait between flushes" mark:"m"`
	// ms.
	FlushIntervalConsumeQueue int `def:"1000"`
	// ms between rounds of the cleaner.
	CleanResourceInterval int `def:"10000"`
	// ms of pause between two deletions.
	DeleteCommitLogFilesInterval int `def:"100"`
	// ms.
	DeleteConsumeQueueFilesInterval  int `def:"100"`
	DestroyMapedFileIntervalForcibly int `def:"120000" none:"ms a referenced mapped file is kept"`
	RedeleteHangedFileInterval       int `def:"120000" none:"ms"`
	// Hour(s) ;-separated, 00..23, at which expired files are deleted.
	DeleteWhen string `def:"04" mark:"m"`
	// %: above, deletion runs at any hour. Read as 10 when below 10, as 95 when above 95.
	DiskMaxUsedSpaceRatio int `def:"75"`
	// Hours since last change before a commit log file expires.
	FileReservedTime int `def:"72" mark:"m"`
	// Files per round.
	DeleteFileBatchMax    int `def:"10" v4:"!" mark:"m"`
	PutMsgIndexHightWater int `def:"600000" none:"internal tuning of the Java server"`
	// bytes of body; over: MESSAGE_ILLEGAL. Also limits the encoded message.
	MaxMessageSize int `def:"4194304"`
	// bytes one filtered pull may scan.
	MaxFilterMessageSize int  `def:"16000" v4:"!"`
	CheckCRCOnRecover    bool `def:"true"`
	// Pages of 4 KiB.
	FlushCommitLogLeastPages int `def:"4"`
	// Flush tuning, ms or pages of 4 KiB.
	CommitCommitLogLeastPages int `def:"4"`
	// Flush tuning, ms or pages of 4 KiB.
	FlushLeastPagesWhenWarmMapedFile int `def:"4096"`
	// Flush tuning, ms or pages of 4 KiB.
	FlushConsumeQueueLeastPages int `def:"2"`
	// ms: flush whatever there is.
	FlushCommitLogThoroughInterval int `def:"10000"`
	// Flush tuning, ms or pages of 4 KiB.
	CommitCommitLogThoroughInterval int `def:"200"`
	// Flush tuning, ms or pages of 4 KiB.
	FlushConsumeQueueThoroughInterval int `def:"60000"`
	// Limit of a pull answer, bytes, when hot.
	MaxTransferBytesOnMessageInMemory int `def:"262144" mark:"m"`
	// Limit of a pull answer, messages, when hot (the client asks for up to maxNums)
	MaxTransferCountOnMessageInMemory int `def:"32" mark:"m"`
	// The same when the data is cold.
	MaxTransferBytesOnMessageInDisk int `def:"65536" mark:"m"`
	// The same when the data is cold.
	MaxTransferCountOnMessageInDisk int `def:"8" mark:"m"`
	// % of RAM counted as hot; slaves use 10 less.
	AccessMessageInMemoryMaxRatio int `def:"40" mark:"m"`
	// Write index files (query by key)
	MessageIndexEnable bool `def:"true" mark:"m"`
	// Slots of an index file.
	MaxHashSlotNum int `def:"5000000" mark:"r"`
	// Entries of an index file.
	MaxIndexNum int `def:"20000000" mark:"r"`
	// Upper bound of QUERY_MESSAGE results.
	MaxMsgsNumBatch int `def:"64"`
	// Trust the index only up to the checkpoint after a crash.
	MessageIndexSafe bool `def:"false" mark:"m"`
	// 0 or unset = listenPort+1 (launcher presets 0)
	HaListenPort int `def:"10912" mark:"r"`
	// ms.
	HaSendHeartbeatInterval int `def:"5000"`
	// ms without data before the slave reconnects.
	HaHousekeepingInterval int `def:"20000"`
	// bytes per replication frame.
	HaTransferBatchSize int `def:"32768"`
	// Fixed master; otherwise from the register answer of namesrv.
	HaMasterAddress      string `def:"null" mark:"m"`
	HaSlaveFallbehindMax int    `def:"!" v4:"268435456" none:"key of 4.9 only"`
	// bytes a slave may lag and still count as in sync (named haSlaveFallbehindMax in 4.9.7)
	HaMaxGapNotInSync int `def:"268435456" v4:"!" later:"replication"`
	// ASYNC_MASTER, SYNC_MASTER, SLAVE.
	BrokerRole BrokerRole `def:"ASYNC_MASTER" mark:"mr"`
	// ASYNC_FLUSH, SYNC_FLUSH.
	FlushDiskType FlushDiskType `def:"ASYNC_FLUSH" mark:"m"`
	// ms; then FLUSH_DISK_TIMEOUT(10)
	SyncFlushTimeout int `def:"5000"`
	// ms.
	PutMessageTimeout int `def:"8000" v4:"!"`
	// ms; then FLUSH_SLAVE_TIMEOUT(12)
	SlaveTimeout int `def:"3000"`
	// <n>[smhd] separated by blanks; level i = i-th, from 1.
	MessageDelayLevel string `def:"1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h" mark:"r"`
	// ms between writes of delayOffset.json.
	FlushDelayOffsetInterval int64 `def:"10000"`
	// Allow deletion above diskSpaceCleanForciblyRatio.
	CleanFileForciblyEnable bool `def:"true" mark:"m"`
	WarmMapedFileEnable     bool `def:"false" none:"touch new files"`
	// Pulls out of range on slaves are corrected.
	OffsetCheckInSlave bool `def:"false"`
	DebugLockEnable    bool `def:"false" none:"internal tuning of the Java server"`
	// Commit log duplicates by confirmOffset.
	DuplicationEnable bool `def:"false" later:"duplication"`
	// GROUP_GET_FALL_SIZE/TIME statistics.
	DiskFallRecorded bool `def:"true"`
	// ms the append lock may be held before sends answer SYSTEM_BUSY(2) [PCBUSY_CLEAN_QUEUE]broker busy.
	OsPageCacheBusyTimeOutMills   int64 `def:"1000"`
	DefaultQueryMaxNum            int   `def:"32"`
	TransientStorePoolEnable      bool  `def:"false" none:"off-heap buffer before the page cache; only with ASYNC_FLUSH and not SLAVE. Keep remainTransientStoreBufferNumbs" mark:"mr"`
	TransientStorePoolSize        int   `def:"5" none:"internal tuning of the Java server" mark:"r"`
	FastFailIfNoBufferInStorePool bool  `def:"false" none:"internal tuning of the Java server"`
	// Raft commit log; other record layout (48 byte header): refuse to start in Go, or implement.
	EnableDLegerCommitLog bool `def:"false" later:"DLedger commit log" mark:"r"`
	// Raft group, also the broker name.
	DLegerGroup string `def:"null" later:"DLedger commit log" mark:"r"`
	// N0-host:port;n1-….
	DLegerPeers       string `def:"null" later:"DLedger commit log" mark:"r"`
	DLegerSelfID      string `def:"null" later:"DLedger commit log" mark:"r"`
	PreferredLeaderID string `def:"null" later:"DLedger commit log"`
	IsEnableBatchPush bool   `def:"!" v4:"false" none:"key of 4.9 only" mark:"d"`
	EnableBatchPush   bool   `def:"false" v4:"!" none:"internal tuning"`
	// Statistics of SCHEDULE_TOPIC.
	EnableScheduleMessageStats bool `def:"true"`
	// Light queues %LMQ%… via property INNER_MULTI_DISPATCH.
	EnableLmq bool `def:"false" later:"light queues"`
	// Same.
	EnableMultiDispatch bool `def:"false" later:"light queues"`
	// Light queues.
	MaxLmqConsumeQueueNum                    int  `def:"20000" later:"light queues"`
	EnableScheduleAsyncDeliver               bool `def:"false" none:"deliver due messages asynchronously"`
	ScheduleAsyncDeliverMaxPendingLimit      int  `def:"2000" none:"tuning of asynchronous delivery of delayed messages"`
	ScheduleAsyncDeliverMaxResendNum2Blocked int  `def:"3" none:"tuning of asynchronous delivery of delayed messages"`
	MaxBatchDeleteFilesNum                   int  `def:"50" v4:"!" none:"internal tuning"`
	DispatchCqThreads                        int  `def:"10" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	DispatchCqCacheNum                       int  `def:"4096" v4:"!" none:"internal tuning of the Java store"`
	EnableAsyncReput                         bool `def:"true" v4:"!" none:"internal tuning of the Java store"`
	RecheckReputOffsetFromCq                 bool `def:"false" v4:"!" none:"internal tuning"`
	MaxTopicLength                           int  `def:"127" v4:"!" none:"not read by the 5.3.3 broker; the topic validator has a fixed limit of 127 characters"`
	// False: topic longer than 127 bytes refused; true: record version V2 (magic 0xDAA320AB = -626843477, topic length
	// in two bytes) is used, only for topics longer than 127 bytes.
	AutoMessageVersionOnTopicLen bool `def:"true" v4:"!false"`
	// Append property __CRC32# with checksum to the record.
	EnabledAppendPropCRC bool `def:"false" v4:"!" later:"record checksums"`
	ForceVerifyPropCRC   bool `def:"false" v4:"!" later:"record checksums"`
	// Files to look further at when a range was deleted.
	TravelCqFileNumWhenGetMessage      int   `def:"1" v4:"!"`
	CorrectLogicMinOffsetSleepInterval int   `def:"1" v4:"!" none:"internal tuning"`
	CorrectLogicMinOffsetForceInterval int   `def:"300000" v4:"!" none:"internal tuning"`
	MappedFileSwapEnable               bool  `def:"true" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	CommitLogForceSwapMapInterval      int64 `def:"43200000" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	CommitLogSwapMapInterval           int64 `def:"3600000" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	CommitLogSwapMapReserveFileNum     int   `def:"100" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	LogicQueueForceSwapMapInterval     int64 `def:"43200000" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	LogicQueueSwapMapInterval          int64 `def:"3600000" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	CleanSwapedMapInterval             int64 `def:"300000" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	LogicQueueSwapMapReserveFileNum    int   `def:"20" v4:"!" none:"unmapping of cold mapped files; no equivalent needed"`
	SearchBcqByCacheEnable             bool  `def:"true" v4:"!" none:"internal tuning of the Java store"`
	DispatchFromSenderThread           bool  `def:"false" v4:"!" none:"internal tuning of the Java store" mark:"m"`
	WakeCommitWhenPutMessage           bool  `def:"true" v4:"!" none:"internal tuning" mark:"m"`
	WakeFlushWhenPutMessage            bool  `def:"false" v4:"!" none:"internal tuning" mark:"m"`
	// Remove offsets of deleted topics.
	EnableCleanExpiredOffset   bool `def:"false" v4:"!" mark:"m"`
	MaxAsyncPutMessageRequests int  `def:"5000" v4:"!" none:"internal tuning"`
	// Upper bound of messages per pull scan.
	PullBatchMaxMessageCount int `def:"160" v4:"!"`
	TotalReplicas            int `def:"1" v4:"!" later:"replication" mark:"m"`
	// SYNC_MASTER: acknowledgements waited for.
	InSyncReplicas    int `def:"1" v4:"!" later:"replication" mark:"m"`
	MinInSyncReplicas int `def:"1" v4:"!" later:"replication" mark:"m"`
	// Controller mode.
	AllAckInSyncStateSet     bool `def:"false" v4:"!" later:"POP consumption" mark:"m"`
	EnableAutoInSyncReplicas bool `def:"false" v4:"!" none:"internal tuning" mark:"m"`
	// Replication of 5.x (auto switch)
	HaFlowControlEnable bool `def:"false" v4:"!" later:"controller mode" mark:"m"`
	// Replication of 5.x (auto switch)
	MaxHaTransferByteInSecond int64 `def:"104857600" v4:"!" later:"replication"`
	// Replication of 5.x (auto switch)
	HaMaxTimeSlaveNotCatchup int64 `def:"15000" v4:"!" later:"replication"`
	// Replication of 5.x (auto switch)
	SyncMasterFlushOffsetWhenStartup bool `def:"false" v4:"!" later:"replication"`
	// Replication of 5.x (auto switch)
	MaxChecksumRange                       int64   `def:"1073741824" v4:"!" later:"replication"`
	ReplicasPerDiskPartition               int     `def:"1" v4:"!" none:"internal tuning"`
	LogicalDiskSpaceCleanForciblyThreshold float64 `def:"0.8" v4:"!" none:"internal tuning"`
	// Replication of 5.x (auto switch)
	MaxSlaveResendLength int64 `def:"268435456" v4:"!" later:"replication"`
	// Replication of 5.x (auto switch)
	SyncFromLastFile bool `def:"false" v4:"!" later:"replication"`
	// Replication of 5.x (auto switch)
	AsyncLearner bool `def:"false" v4:"!" later:"replication"`
	// Lag metrics.
	MaxConsumeQueueScan       int  `def:"20000" v4:"!" later:"metrics"`
	SampleCountThreshold      int  `def:"5000" v4:"!" none:"internal tuning of the Java store"`
	ColdDataFlowControlEnable bool `def:"false" v4:"!" later:"cold read flow control"`
	// Cold read flow control.
	ColdDataScanEnable bool `def:"false" v4:"!" later:"cold read flow control"`
	// Madvise mode; setCommitLogReadAheadMode.
	DataReadAheadEnable bool `def:"true" v4:"!" later:"cold read flow control"`
	// Timer messages.
	TimerColdDataCheckIntervalMs        int  `def:"60000" v4:"!" later:"timer messages"`
	SampleSteps                         int  `def:"32" v4:"!" none:"internal tuning of the Java store"`
	AccessMessageInMemoryHotRatio       int  `def:"26" v4:"!" none:"internal tuning"`
	EnableBuildConsumeQueueConcurrently bool `def:"false" v4:"!" none:"internal tuning of the Java store"`
	BatchDispatchRequestThreadPoolNums  int  `def:"16" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// RocksDB storage.
	CleanRocksDBDirtyCQIntervalMin int64 `def:"60" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	StatRocksDBCQIntervalSec int64 `def:"10" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	MemTableFlushIntervalMs int64 `def:"3600000" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	RealTimePersistRocksDBConfig bool `def:"true" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	EnableRocksDBLog                 bool `def:"false" v4:"!" later:"RocksDB storage"`
	TopicQueueLockNum                int  `def:"32" v4:"!" none:"stripes of the topic-queue lock"`
	ReadUnCommitted                  bool `def:"false" v4:"!" later:"reading uncommitted data"`
	PutConsumeQueueDataByFileChannel bool `def:"true" v4:"!" none:"internal tuning of the Java store"`
	// Files and RocksDB; checkRocksdbCqWriteProgress.
	RocksdbCQDoubleWriteEnable bool `def:"false" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	BottomMostCompressionTypeForConsumeQueueStore string `def:"zstd" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	RocksdbCompressionType string `def:"lz4" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	RocksdbFlushWalFrequency int `def:"1024" v4:"!" later:"RocksDB storage"`
	// RocksDB storage.
	RocksdbWalFileRollingThreshold        int64 `def:"1073741824" v4:"!" later:"RocksDB storage"`
	SpinLockCollisionRetreatOptimalDegree int   `def:"1000" v4:"!" none:"internal tuning of the Java store"`
	UseABSLock                            bool  `def:"false" v4:"!" none:"internal tuning of the Java store"`
}
