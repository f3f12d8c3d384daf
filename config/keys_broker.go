// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// BrokerIdentity holds the keys of the parent class of BrokerConfig in 5.x; the printed list (-p) leaves them out
// there.
type BrokerIdentity struct {
	// Default: host name, DEFAULT_BROKER if unknown.
	BrokerName        string `def:"$hostName" mark:"mr"`
	BrokerClusterName string `def:"DefaultCluster" mark:"mr"`
	// 0 master, >0 slave. Outside controller mode forced to 0 for ASYNC_MASTER/SYNC_MASTER; a SLAVE with <=0 exits
	// with -3; DLedger forces -1.
	BrokerID            int64 `def:"0" mark:"mr"`
	IsBrokerContainer   bool  `def:"false" v4:"!" none:"only of broker containers" mark:"d"`
	IsInBrokerContainer bool  `def:"false" v4:"!" set:"inBrokerContainer" none:"only of broker containers"`
}

// BrokerConfig holds the keys that steer the broker itself.
type BrokerConfig struct {
	BrokerConfigPath string `def:"null" v4:"!" none:"not set by the launcher; always refused by hot update" mark:"rp"`
	// Directory of the installation.
	RocketmqHome string `def:"null" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" mark:"rp"`
	// host:port list separated by semicolons. The -n option of the command line wins over the file.
	NamesrvAddr string `def:"null" sys:"rocketmq.namesrv.addr" env:"NAMESRV_ADDR" mark:"m"`
	// A mirror that broker containers use; the port listened on is Server.ListenPort. One key sets both.
	ContainerListenPort int `key:"listenPort" def:"6888" v4:"!" mark:"mr"`
	// Address registered with namesrv and put into storeHost / offset message ids. Default (source 5.3.3): interfaces
	// that are bridges, virtual, point-to-point or down are skipped; the first *public* IPv4, else the **last**
	// private IPv4; then IPv6 (public first); then localhost.
	BrokerIP1 string `def:"$hostAddress" mark:"mr"`
	// Address registered as haServerAddr (with haListenPort); default as brokerIP1.
	BrokerIP2           string `def:"$hostAddress" mark:"r"`
	RecoverConcurrently bool   `def:"false" v4:"!" none:"loads topic/offset/… concurrently with the store at start" mark:"m"`
	// 2 write, 4 read, 6 both; registered with the topic config (each registered topic's perm is ANDed with it); hot
	// update re-registers at once; without W only sends to ORDER topics answer NO_PERMISSION(16) (the broker[IP]
	// sending message is forbidden), other topics are steered by the route; without R pulls answer NO_PERMISSION.
	BrokerPermission int `def:"6"`
	// Queue count of the template topic TBW102 and upper bound for automatic topics.
	DefaultTopicQueueNums int `def:"8"`
	// Keeps TBW102 (perm 7 incl. INHERIT) and creates unknown topics on send.
	AutoCreateTopicEnable bool `def:"true" mark:"m"`
	// Perm of the topic named like the cluster: 7 (RWX) when true, plain otherwise.
	ClusterTopicEnable bool `def:"true"`
	// The same for the topic named like the broker.
	BrokerTopicEnable bool `def:"true"`
	// Unknown groups are created on pull/pop/heartbeat; otherwise SUBSCRIPTION_GROUP_NOT_EXIST(26)
	AutoCreateSubscriptionGroup bool   `def:"true" mark:"m"`
	MessageStorePlugIn          string `def:"" none:"Java class names of store plug-ins; cannot apply to Go. Warn when set" mark:"rp"`
	// Name of the trace topic when traceTopicEnable.
	MsgTraceTopicName string `def:"RMQ_SYS_TRACE_TOPIC" mark:"m"`
	// Creates the trace topic (1 queue) at start.
	TraceTopicEnable bool `def:"false" mark:"m"`
	// Size of the send pool: min(CPUs,4); in Go a concurrency limit; shown by brokerStatus only through its queue.
	SendMessageThreadPoolNums          int `def:"$min(cpus,4)" mark:"r"`
	PutMessageFutureThreadPoolNums     int `def:"$min(cpus,4)" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	PullMessageThreadPoolNums          int `def:"$16+2*cpus" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	LitePullMessageThreadPoolNums      int `def:"$16+2*cpus" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	AckMessageThreadPoolNums           int `def:"16" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ProcessReplyMessageThreadPoolNums  int `def:"$16+2*cpus" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	QueryMessageThreadPoolNums         int `def:"$8+cpus" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	AdminBrokerThreadPoolNums          int `def:"16" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ClientManageThreadPoolNums         int `def:"32" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	ConsumerManageThreadPoolNums       int `def:"32" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	LoadBalanceProcessorThreadPoolNums int `def:"32" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	HeartbeatThreadPoolNums            int `def:"$min(cpus,32)" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	RecoverThreadPoolNums              int `def:"32" v4:"!" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	EndTransactionThreadPoolNums       int `def:"$8+2*cpus" none:"size of a Java thread pool; in Go at most a concurrency limit" mark:"r"`
	// ms between writes of consumerOffset.json.
	FlushConsumerOffsetInterval        int `def:"5000"`
	FlushConsumerOffsetHistoryInterval int `def:"60000" none:"unused since long"`
	// True: half messages answer NO_PERMISSION(16)
	RejectTransactionMessage bool `def:"false" mark:"m"`
	// Resolve the host of namesrvAddr repeatedly and use all addresses.
	FetchNameSrvAddrByDnsLookup bool `def:"false" v4:"!" mark:"m"`
	// Fetch the list over HTTP (see rmqAddressServerDomain); interval fetchNamesrvAddrInterval.
	FetchNamesrvAddrByAddressServer bool `def:"false" mark:"m"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	SendThreadPoolQueueCapacity int `def:"10000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	PutThreadPoolQueueCapacity int `def:"10000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	PullThreadPoolQueueCapacity int `def:"100000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	LitePullThreadPoolQueueCapacity int `def:"100000" v4:"!" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	AckThreadPoolQueueCapacity int `def:"100000" v4:"!" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ReplyThreadPoolQueueCapacity int `def:"10000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	QueryThreadPoolQueueCapacity int `def:"20000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ClientManagerThreadPoolQueueCapacity int `def:"1000000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	ConsumerManagerThreadPoolQueueCapacity int `def:"1000000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	HeartbeatThreadPoolQueueCapacity int `def:"50000" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	EndTransactionPoolQueueCapacity int `def:"100000" mark:"r"`
	FilterServerNums                int `def:"!" v4:"0" none:"key of 4.9 only"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	AdminBrokerThreadPoolQueueCapacity int `def:"10000" v4:"!" mark:"r"`
	// Capacity of the queue of that pool; the first six are shown by brokerStatus; a full queue answers SYSTEM_BUSY(2)
	// [OVERLOAD]system busy, start flow control for a while.
	LoadBalanceThreadPoolQueueCapacity int `def:"100000" v4:"!" mark:"r"`
	// Hold pulls without data up to suspendTimeout; false: shortPollingTimeMills is used.
	LongPollingEnable bool `def:"true"`
	// See longPollingEnable.
	ShortPollingTimeMills int64 `def:"1000"`
	// Send code 40 to the members when a group changes (also per group: notifyConsumerIdsChangedEnable)
	NotifyConsumerIdsChangedEnable bool `def:"true"`
	HighSpeedMode                  bool `def:"false" none:"unused"`
	CommercialEnable               bool `def:"!" v4:"true" none:"key of 4.9 only"`
	CommercialTimerCount           int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialTransCount           int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialBigCount             int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialBaseCount            int  `def:"1" none:"counts for COMMERCIAL_* statistics"`
	CommercialSizePerMsg           int  `def:"4096" v4:"!" none:"4096: unit of the COMMERCIAL_* statistics"`
	AccountStatsEnable             bool `def:"true" v4:"!" none:"account statistics log only"`
	AccountStatsPrintZeroValues    bool `def:"true" v4:"!" none:"account statistics log only"`
	MaxStatsIdleTimeInMinutes      int  `def:"-1" v4:"!" none:"-1 = never drop idle statistics items"`
	TransferMsgByHeap              bool `def:"true" none:"pull answers copied to heap or sent by file region: same bytes on the wire"`
	MaxDelayTime                   int  `def:"!" v4:"40" none:"key of 4.9 only"`
	// Value of property MSG_REGION added to sent messages and of the response field MSG_REGION.
	RegionID string `def:"DefaultRegion"`
	// Timeout of registration at namesrv (4.9.7: 6000)
	RegisterBrokerTimeoutMills int `def:"24000" v4:"6000"`
	// Timeout of BROKER_HEARTBEAT(904)
	SendHeartbeatTimeoutMillis int `def:"1000" v4:"!" later:"slave acting master"`
	// Suggest brokerId 1 for reading when the reader is far behind (pull header suggestWhichBrokerId)
	SlaveReadEnable bool `def:"false"`
	// True: groups that lag more than consumerFallbehindThreshold are switched to consumeEnable=false.
	DisableConsumeIfConsumerReadSlowly bool `def:"false"`
	// bytes.
	ConsumerFallbehindThreshold int64 `def:"17179869184"`
	// Reject queued requests after waitTimeMillsIn…Queue with SYSTEM_BUSY(2), remark [TIMEOUT_CLEAN_QUEUE]broker busy,
	// ….
	BrokerFastFailureEnable bool `def:"true"`
	// ms in the send queue before rejection.
	WaitTimeMillsInSendQueue int64 `def:"200"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInPullQueue int64 `def:"5000"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInLitePullQueue int64 `def:"5000" v4:"!"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInHeartbeatQueue int64 `def:"31000"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInTransactionQueue int64 `def:"3000"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInAckQueue int64 `def:"3000" v4:"!"`
	// As waitTimeMillsInSendQueue, for that queue.
	WaitTimeMillsInAdminBrokerQueue int64 `def:"5000" v4:"!"`
	// epoch ms before which sends answer SYSTEM_ERROR broker unable to service, until …; shown in brokerStatus.
	StartAcceptSendRequestTimeStamp int64 `def:"0"`
	// Response field TRACE_ON of send answers and property TRACE_ON of stored messages (true/false)
	TraceOn bool `def:"true"`
	// Bitmaps for SQL92 filters in consumequeue_ext.
	EnableCalcFilterBitMap bool `def:"false" later:"SQL92 filter bit maps"`
	// True: pulls not from push consumers answer NO_PERMISSION.
	RejectPullConsumerEnable bool `def:"false" v4:"!"`
	// Size of the bloom filter.
	ExpectConsumerNumUseFilter int `def:"32" later:"SQL92 filter bit maps"`
	// 1..100, bloom filter error %.
	MaxErrorRateOfBloomFilter int `def:"20" later:"SQL92 filter bit maps"`
	// ms a dead SQL filter registration is kept (24 h)
	FilterDataCleanTimeSpan int64 `def:"86400000"`
	// SQL filters also apply to retry topics.
	FilterSupportRetry bool `def:"false"`
	// Allow SQL92 expressions; false: SYSTEM_ERROR The broker does not support consumer to filter message by SQL92.
	EnablePropertyFilter bool `def:"false"`
	// Register body compressed (zlib) when namesrv >= 4.0.
	CompressedRegister bool `def:"false"`
	// Register every period; false: first ask namesrv by QUERY_DATA_VERSION(322) whether it needs it.
	ForceRegister bool `def:"true"`
	// ms; clamped to 10000..60000.
	RegisterNameServerPeriod int `def:"30000"`
	// ms between re-reads of the namesrv list (DNS / address server)
	UpdateNameServerAddrPeriod int `def:"120000" v4:"!" later:"name server discovery"`
	// ms of BROKER_HEARTBEAT (slave acting master / controller only)
	BrokerHeartbeatInterval int `def:"1000" v4:"!" later:"slave acting master"`
	// Sent to namesrv as heartbeatTimeoutMillis when slaveActingMaster; else namesrv uses 120000.
	BrokerNotActiveTimeoutMillis int64 `def:"10000" v4:"!" later:"slave acting master"`
	EnableNetWorkFlowControl     bool  `def:"false" v4:"!" none:"true: a pull answer is dropped when the channel is not writable"`
	// Server keeps offsets of broadcasting clients used through the proxy.
	EnableBroadcastOffsetStore bool `def:"true" v4:"!" later:"the proxy"`
	// Offsets of broadcasting clients through the proxy.
	BroadcastOffsetExpireSecond int64 `def:"120" v4:"!" later:"the proxy"`
	// Offsets of broadcasting clients through the proxy.
	BroadcastOffsetExpireMaxSecond int64 `def:"300" v4:"!" later:"the proxy"`
	// POP consumption.
	PopPollingSize int `def:"1024" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopPollingMapSize int   `def:"100000" v4:"!" later:"POP consumption"`
	MaxPopPollingSize int64 `def:"100000" v4:"!" none:"internal tuning"`
	// Queues of the POP revive topic rmq_sys_REVIVE_LOG_<cluster>.
	ReviveQueueNum int `def:"8" v4:"!" later:"POP consumption"`
	// POP consumption.
	ReviveInterval int64 `def:"1000" v4:"!" later:"POP consumption"`
	// POP consumption.
	ReviveMaxSlow int64 `def:"3" v4:"!" later:"POP consumption"`
	// POP consumption.
	ReviveScanTime int64 `def:"10000" v4:"!" later:"POP consumption"`
	// POP revive.
	EnableSkipLongAwaitingAck bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	ReviveAckWaitMs int64 `def:"180000" v4:"!" later:"POP consumption"`
	// POP consumption.
	EnablePopLog bool `def:"false" v4:"!" later:"POP consumption"`
	// POP: keep check points in memory before writing them.
	EnablePopBufferMerge bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopCkStayBufferTime int `def:"10000" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopCkStayBufferTimeOut int `def:"3000" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopCkMaxBufferSize int `def:"200000" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopCkOffsetMaxQueueSize int `def:"20000" v4:"!" later:"POP consumption"`
	// POP consumption.
	EnablePopBatchAck bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopLongPollingForceNotifyInterval int64 `def:"800" v4:"!" later:"POP consumption"`
	// POP or lag calculation detail.
	EnableNotifyBeforePopCalculateLag bool `def:"true" v4:"!" later:"metrics"`
	// POP or lag calculation detail.
	EnableNotifyAfterPopOrderLockRelease bool `def:"true" v4:"!" later:"POP consumption"`
	// POP consumption.
	InitPopOffsetByCheckMsgInMem bool `def:"true" v4:"!" later:"POP consumption"`
	// Read both names.
	RetrieveMessageFromPopRetryTopicV1 bool `def:"true" v4:"!" later:"POP consumption"`
	// POP retry topic name %RETRY%group+topic instead of %RETRY%group_topic.
	EnableRetryTopicV2 bool `def:"false" v4:"!" later:"a feature of 5.x"`
	// POP consumption.
	PopFromRetryProbability int `def:"20" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopConsumerFSServiceInit bool `def:"true" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopConsumerKVServiceLog bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopConsumerKVServiceInit bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopConsumerKVServiceEnable bool `def:"false" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopReviveMaxReturnSizePerRead int `def:"16384" v4:"!" later:"POP consumption"`
	// POP consumption.
	PopReviveMaxAttemptTimes     int  `def:"16" v4:"!" later:"POP consumption"`
	RealTimeNotifyConsumerChange bool `def:"true" v4:"!" none:"notify at once"`
	// LITE_PULL_MESSAGE(361) allowed.
	LitePullMessageEnable bool `def:"true" v4:"!"`
	// Controller mode.
	SyncBrokerMemberGroupPeriod       int   `def:"1000" v4:"!" later:"controller mode"`
	LoadBalancePollNameServerInterval int64 `def:"30000" v4:"!" none:"internal interval or log option"`
	CleanOfflineBrokerInterval        int   `def:"30000" v4:"!" none:"internal interval or log option"`
	// QUERY_ASSIGNMENT(400) computes the assignment; false: the whole queue list is given.
	ServerLoadBalancerEnable bool `def:"true" v4:"!" later:"assignment by the server"`
	// Always PULL.
	DefaultMessageRequestMode MessageRequestMode `def:"PULL" v4:"!" later:"assignment by the server"`
	// For POP assignment; -1 = all.
	DefaultPopShareQueueNum int `def:"-1" v4:"!" later:"POP consumption"`
	// ms a half message rests before the first check; property CHECK_IMMUNITY_TIME_IN_SECONDS overrides.
	TransactionTimeOut int64 `def:"6000" mark:"m"`
	// Checks per half message, then it goes to TRANS_CHECK_MAX_TIME_TOPIC.
	TransactionCheckMax int `def:"15" mark:"m"`
	// ms between check rounds (4.9.7: 60000)
	TransactionCheckInterval int64 `def:"30000" v4:"60000" mark:"m"`
	// 5.4.0: 10000 ms between writes of transactionMetrics (5.4.0: 10000)
	TransactionMetricFlushInterval int64 `def:"3000" v4:"!" later:"metrics"`
	// Op messages are collected to this many bytes per op message.
	TransactionOpMsgMaxSize int `def:"4096" v4:"!"`
	// ms after which collected op offsets are written.
	TransactionOpBatchInterval int  `def:"3000" v4:"!"`
	AclEnable                  bool `def:"false" none:"no effect in 5.3.3 (nothing reads it; 8.1). In 4.9.x: enforce plain_acl.yml. A Go broker that takes over 4.9.x installations should enforce it" mark:"m"`
	// Store request-reply answers in the reply topic <cluster>_REPLY_TOPIC besides pushing them (code 326)
	StoreReplyMessageEnable bool `def:"true"`
	// Per queue statistics QUEUE_PUT_NUMS….
	EnableDetailStat bool `def:"true"`
	// Drop statistics of deleted topics/groups (4.9.7: false)
	AutoDeleteUnusedStats bool `def:"true" v4:"false"`
	IsolateLogEnable      bool `def:"false" none:"log directory per broker in containers"`
	// ms for requests a broker sends to other brokers (static topics, escape)
	ForwardTimeout int64 `def:"3000" v4:"!"`
	// Slave with smallest id serves reads, timers and transactions when the master is gone (namesrv
	// supportActingMaster must be on)
	EnableSlaveActingMaster bool `def:"false" v4:"!" later:"slave acting master"`
	// Acting master sends escaped messages to other brokers.
	EnableRemoteEscape bool `def:"false" v4:"!" later:"slave acting master"`
	// Skip the pre-online check of a returning master.
	SkipPreOnline   bool `def:"false" v4:"!" later:"slave acting master"`
	AsyncSendEnable bool `def:"true" v4:"!" none:"handle sends asynchronously"`
	// RESET by admin is kept in the broker (resetOffset table) and given to the next pull, instead of asking clients
	// by code 220; 5.x default true.
	UseServerSideResetOffset bool `def:"true" v4:"!false"`
	// Offset commits between two increments of the offset table's data version.
	ConsumerOffsetUpdateVersionStep int64 `def:"500" v4:"!"`
	// The same for delayOffset.
	DelayOffsetUpdateVersionStep int64 `def:"200" v4:"!"`
	// LOCK_BATCH_MQ must succeed on all replicas.
	LockInStrictMode bool `def:"false" v4:"!" later:"slave acting master"`
	// Register all topics instead of only changed ones; offset of topics delete flow.
	CompatibleWithOldNameSrv bool `def:"true" v4:"!"`
	// Broker roles decided by controllers.
	EnableControllerMode bool `def:"false" v4:"!" later:"controller mode" mark:"r"`
	// -separated controllers.
	ControllerAddr string `def:"" v4:"!" later:"controller mode"`
	// Controller mode.
	FetchControllerAddrByDnsLookup bool `def:"false" v4:"!" later:"controller mode"`
	// Controller mode.
	SyncBrokerMetadataPeriod int64 `def:"5000" v4:"!" later:"controller mode"`
	// Controller mode.
	CheckSyncStateSetPeriod int64 `def:"5000" v4:"!" later:"controller mode"`
	// Controller mode.
	SyncControllerMetadataPeriod int64 `def:"10000" v4:"!" later:"controller mode"`
	// Controller mode.
	ControllerHeartBeatTimeoutMills int64 `def:"10000" v4:"!" later:"controller mode"`
	// UpdateTopic on a system topic answers INVALID_PARAMETER(29)/SYSTEM_ERROR with The topic[…] is conflict with
	// system topic.
	ValidateSystemTopicWhenUpdateTopic bool `def:"true" v4:"!"`
	// Smaller wins an election.
	BrokerElectionPriority int `def:"2147483647" v4:"!" later:"controller mode"`
	// Subscription data of SubscriptionGroupConfig.subscriptionDataSet instead of the heartbeat's.
	UseStaticSubscription bool `def:"false" v4:"!" later:"static subscriptions"`
	// DISABLE(0) OTLP_GRPC(1) PROM(2) LOG(3); name or number.
	MetricsExporterType                  MetricsExporterType `def:"DISABLE" v4:"!" later:"metrics"`
	MetricsOtelCardinalityLimit          int                 `def:"50000" v4:"!" later:"metrics"`
	MetricsGrpcExporterTarget            string              `def:"" v4:"!" later:"metrics"`
	MetricsGrpcExporterHeader            string              `def:"" v4:"!" later:"metrics"`
	MetricGrpcExporterTimeOutInMills     int64               `def:"3000" v4:"!" later:"metrics"`
	MetricGrpcExporterIntervalInMills    int64               `def:"60000" v4:"!" later:"metrics"`
	MetricLoggingExporterIntervalInMills int64               `def:"10000" v4:"!" later:"metrics"`
	MetricsPromExporterPort              int                 `def:"5557" v4:"!" later:"metrics"`
	// Empty = all addresses.
	MetricsPromExporterHost string `def:"" v4:"!" later:"metrics"`
	// K:v,k:v added to every metric.
	MetricsLabel   string `def:"" v4:"!" later:"metrics"`
	MetricsInDelta bool   `def:"false" v4:"!" later:"metrics"`
	// ms without heartbeat after which a client is dropped (scan every 10 s); 4.9.7: fixed 120000.
	ChannelExpiredTimeout int64 `def:"120000" v4:"!"`
	// ms after which an unused subscription of a group is dropped.
	SubscriptionExpiredTimeout int64 `def:"600000" v4:"!"`
	// Lag metrics with filters are estimated.
	EstimateAccumulation bool `def:"true" v4:"!" later:"metrics"`
	// Cold read flow control, see the four cold data commands.
	ColdCtrStrategyEnable bool `def:"false" v4:"!" later:"cold read flow control"`
	// Cold read flow control.
	UsePIDColdCtrStrategy bool `def:"true" v4:"!" later:"cold read flow control"`
	// Cold read flow control.
	CgColdReadThreshold int64 `def:"3145728" v4:"!" later:"cold read flow control"`
	// Cold read flow control.
	GlobalColdReadThreshold int64 `def:"104857600" v4:"!" later:"cold read flow control"`
	// ms between re-reads of the name server list.
	FetchNamesrvAddrInterval int64 `def:"10000" v4:"!"`
	// Topic given back in POP answers for retry messages.
	PopResponseReturnActualRetryTopic bool `def:"false" v4:"!" later:"POP consumption"`
	// Registering one topic (code 362-like REGISTER_TOPIC_IN_NAMESRV 217) instead of all when a topic changes.
	EnableSingleTopicRegister bool `def:"false" v4:"!"`
	// Allow any message type in any topic when the topic attribute is MIXED.
	EnableMixedMessageType bool `def:"false" v4:"!" later:"message types of topics"`
	// Register in parts of splitRegistrationSize topics.
	EnableSplitRegistration bool `def:"false" v4:"!" later:"split registration"`
	// POP consumption.
	PopInflightMessageThreshold int64 `def:"10000" v4:"!" later:"POP consumption"`
	// POP consumption.
	EnablePopMessageThreshold     bool `def:"false" v4:"!" later:"POP consumption"`
	EnableFastChannelEventProcess bool `def:"false" v4:"!" none:"internal tuning"`
	PrintChannelGroups            bool `def:"false" v4:"!" none:"internal interval or log option"`
	PrintChannelGroupsMinNum      int  `def:"5" v4:"!" none:"internal interval or log option"`
	SplitRegistrationSize         int  `def:"800" v4:"!" none:"internal interval or log option"`
	// -separated keys that hot update refuses, in addition to brokerConfigPath, rocketmqHome, configBlackList.
	ConfigBlackList string `def:"configBlackList;brokerConfigPath" v4:"!" mark:"r"`
	// POP or lag calculation detail.
	SkipWhenCKRePutReachMaxTimes bool `def:"false" v4:"!" later:"a feature of 5.x"`
	// POP or lag calculation detail.
	AppendAckAsync bool `def:"false" v4:"!" later:"POP consumption"`
	// POP or lag calculation detail.
	AppendCkAsync bool `def:"false" v4:"!" later:"a feature of 5.x"`
	// DeleteTopic also removes POP retry topics of the topic.
	ClearRetryTopicWhenDeleteTopic bool `def:"true" v4:"!"`
	// Per LMQ statistics.
	EnableLmqStats bool `def:"false" v4:"!" later:"light queues"`
	// V1/v2 layout of the RocksDB configuration store.
	ConfigManagerVersion string `def:"v1" v4:"!" later:"RocksDB storage"`
	// RECALL_MESSAGE(370)
	AllowRecallWhenBrokerNotWriteable bool `def:"true" v4:"!" later:"timer messages"`
	// RECALL_MESSAGE(370) for timer messages; false: NO_PERMISSION.
	RecallMessageEnable bool `def:"false" v4:"!" later:"timer messages"`
	// False: producers of heartbeats are not kept.
	EnableRegisterProducer bool `def:"true" v4:"!"`
	// Create TOOLS_CONSUMER, FILTERSRV_CONSUMER, SELF_TEST_C_GROUP, CID_ONS-HTTP-PROXY, CID_ONSAPI_PULL,
	// CID_ONSAPI_PERMISSION, CID_ONSAPI_OWNER, CID_RMQ_SYS_TRANS at start.
	EnableCreateSysGroup bool `def:"true" v4:"!"`
}
