// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

// BrokerIdentity holds the keys of the parent class of BrokerConfig in 5.x; the printed list (-p) leaves them out
// there.
type BrokerIdentity struct {
	// Default: host name, DEFAULT_BROKER if unknown.
	BrokerName        string `def:"$hostName" mark:"mr"`
	BrokerClusterName string `def:"DefaultCluster" mark:"mr"`
	// 0 for a master, which outside controller mode it is forced to be; above 0 for a slave.
	BrokerID            int64 `def:"0" mark:"mr"`
	IsBrokerContainer   bool  `def:"false" v4:"!" none:"only of broker containers" mark:"d"`
	IsInBrokerContainer bool  `def:"false" v4:"!" set:"inBrokerContainer" none:"only of broker containers"`
}

// BrokerConfig holds the keys that steer the broker itself.
type BrokerConfig struct {
	BrokerConfigPath string `def:"null" v4:"!" none:"not set by the launcher; -c names the file" mark:"rp"`
	// Directory of the installation.
	RocketmqHome string `def:"null" sys:"rocketmq.home.dir" env:"ROCKETMQ_HOME" mark:"rp"`
	// host:port list separated by semicolons. The -n option of the command line wins over the file.
	NamesrvAddr string `def:"null" sys:"rocketmq.namesrv.addr" env:"NAMESRV_ADDR" mark:"m"`
	// A mirror that broker containers use; the port listened on is Server.ListenPort. One key sets both.
	ContainerListenPort int `key:"listenPort" def:"6888" v4:"!" none:"a mirror: the port is that of NettyServerConfig" mark:"mr"`
	// Address registered at the name server and put into storeHost and offset message ids; AutoIP, or see
	// chooseAddress for the default.
	BrokerIP1 string `def:"$hostAddress" mark:"m"`
	// Address registered, with haListenPort, as haServerAddr; default as for BrokerIP1.
	BrokerIP2           string `def:"$hostAddress"`
	RecoverConcurrently bool   `def:"false" v4:"!" none:"internal tuning of the Java server" mark:"m"`
	// 2 write, 4 read, 6 both; ANDed with the perm of each registered topic. A hot update registers at once. Without
	// write only sends to ordered topics answer NO_PERMISSION(16), other topics are steered by the route; without read
	// pulls answer NO_PERMISSION.
	BrokerPermission int `def:"6"`
	// Queue count of the template topic TBW102 and upper bound for automatic topics.
	DefaultTopicQueueNums int `def:"8" mark:"r"`
	// Keeps TBW102 (perm 7 incl. INHERIT) and creates unknown topics on send.
	AutoCreateTopicEnable bool `def:"true" mark:"m"`
	// Perm of the topic named like the cluster: 7 when true, plain otherwise.
	ClusterTopicEnable bool `def:"true" mark:"r"`
	// The same for the topic named like the broker.
	BrokerTopicEnable bool `def:"true" mark:"r"`
	// Unknown groups are created on pull, pop and heartbeat; otherwise SUBSCRIPTION_GROUP_NOT_EXIST(26).
	AutoCreateSubscriptionGroup bool   `def:"true" mark:"m"`
	MessageStorePlugIn          string `def:"" none:"names Java classes" mark:"rp"`
	// Name of the trace topic.
	MsgTraceTopicName string `def:"RMQ_SYS_TRACE_TOPIC" mark:"rm"`
	// Creates the trace topic, with one queue, at start.
	TraceTopicEnable                   bool `def:"false" mark:"rm"`
	SendMessageThreadPoolNums          int  `def:"$min(cpus,4)" none:"there are no thread pools per kind of request here" mark:"r"`
	PutMessageFutureThreadPoolNums     int  `def:"$min(cpus,4)" none:"there are no thread pools per kind of request here" mark:"r"`
	PullMessageThreadPoolNums          int  `def:"$16+2*cpus" none:"there are no thread pools per kind of request here" mark:"r"`
	LitePullMessageThreadPoolNums      int  `def:"$16+2*cpus" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	AckMessageThreadPoolNums           int  `def:"16" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	ProcessReplyMessageThreadPoolNums  int  `def:"$16+2*cpus" none:"there are no thread pools per kind of request here" mark:"r"`
	QueryMessageThreadPoolNums         int  `def:"$8+cpus" none:"there are no thread pools per kind of request here" mark:"r"`
	AdminBrokerThreadPoolNums          int  `def:"16" none:"there are no thread pools per kind of request here" mark:"r"`
	ClientManageThreadPoolNums         int  `def:"32" none:"there are no thread pools per kind of request here" mark:"r"`
	ConsumerManageThreadPoolNums       int  `def:"32" none:"there are no thread pools per kind of request here" mark:"r"`
	LoadBalanceProcessorThreadPoolNums int  `def:"32" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	HeartbeatThreadPoolNums            int  `def:"$min(cpus,32)" none:"there are no thread pools per kind of request here" mark:"r"`
	RecoverThreadPoolNums              int  `def:"32" v4:"!" none:"there are no thread pools per kind of request here" mark:"r"`
	EndTransactionThreadPoolNums       int  `def:"$8+2*cpus" none:"there are no thread pools per kind of request here" mark:"r"`
	// ms between writes of consumerOffset.json.
	FlushConsumerOffsetInterval        int `def:"5000"`
	FlushConsumerOffsetHistoryInterval int `def:"60000" none:"unused in Java too"`
	// Half messages answer NO_PERMISSION(16).
	RejectTransactionMessage bool `def:"false" mark:"m"`
	// Look the hosts of namesrvAddr up every UpdateNameServerAddrPeriod and use all their addresses.
	FetchNameSrvAddrByDnsLookup bool `def:"false" v4:"!" mark:"m"`
	// Without namesrvAddr: fetch the list over HTTP from Own.RmqAddressServerDomain every FetchNamesrvAddrInterval.
	FetchNamesrvAddrByAddressServer bool `def:"false" mark:"m"`
	// Shown by brokerStatus; there are no queues per kind of request.
	SendThreadPoolQueueCapacity int `def:"10000" mark:"r"`
	PutThreadPoolQueueCapacity  int `def:"10000" none:"there are no thread pools per kind of request here" mark:"r"`
	// Shown by brokerStatus; there are no queues per kind of request.
	PullThreadPoolQueueCapacity int `def:"100000" mark:"r"`
	// Shown by brokerStatus; there are no queues per kind of request.
	LitePullThreadPoolQueueCapacity int `def:"100000" v4:"!" mark:"r"`
	// Shown by brokerStatus; there are no queues per kind of request.
	AckThreadPoolQueueCapacity int `def:"100000" v4:"!" mark:"r"`
	// Replies on their way to requesters; with more of them SYSTEM_BUSY(2) is answered.
	ReplyThreadPoolQueueCapacity int `def:"10000" mark:"r"`
	// Shown by brokerStatus; there are no queues per kind of request.
	QueryThreadPoolQueueCapacity           int `def:"20000" mark:"r"`
	ClientManagerThreadPoolQueueCapacity   int `def:"1000000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	ConsumerManagerThreadPoolQueueCapacity int `def:"1000000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	HeartbeatThreadPoolQueueCapacity       int `def:"50000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	// Shown by brokerStatus; there are no queues per kind of request.
	EndTransactionPoolQueueCapacity    int `def:"100000" mark:"r"`
	FilterServerNums                   int `def:"!" v4:"0" none:"key of 4.9 only"`
	AdminBrokerThreadPoolQueueCapacity int `def:"10000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	LoadBalanceThreadPoolQueueCapacity int `def:"100000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight" mark:"r"`
	// Hold pulls without data up to the time the client asks for; false: for ShortPollingTimeMills.
	LongPollingEnable bool `def:"true"`
	// ms; see LongPollingEnable.
	ShortPollingTimeMills int64 `def:"1000"`
	// Send NOTIFY_CONSUMER_IDS_CHANGED(40) to the members when a group changes.
	NotifyConsumerIdsChangedEnable bool `def:"true"`
	HighSpeedMode                  bool `def:"false" none:"unused in Java too"`
	CommercialEnable               bool `def:"!" v4:"true" none:"key of 4.9 only"`
	CommercialTimerCount           int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialTransCount           int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialBigCount             int  `def:"!" v4:"1" none:"key of 4.9 only"`
	CommercialBaseCount            int  `def:"1" none:"unit of the COMMERCIAL_* statistics"`
	CommercialSizePerMsg           int  `def:"4096" v4:"!" none:"unit of the COMMERCIAL_* statistics"`
	AccountStatsEnable             bool `def:"true" v4:"!" none:"account statistics log only"`
	AccountStatsPrintZeroValues    bool `def:"true" v4:"!" none:"account statistics log only"`
	MaxStatsIdleTimeInMinutes      int  `def:"-1" v4:"!" none:"idle statistics are dropped by the rules of autoDeleteUnusedStats"`
	TransferMsgByHeap              bool `def:"true" none:"how bytes reach the socket; the answer is the same"`
	MaxDelayTime                   int  `def:"!" v4:"40" none:"key of 4.9 only"`
	// Value of property MSG_REGION added to sent messages and of the response field MSG_REGION.
	RegionID string `def:"DefaultRegion"`
	// ms for a registration at the name server.
	RegisterBrokerTimeoutMills int `def:"24000" v4:"6000"`
	// ms for BROKER_HEARTBEAT(904).
	SendHeartbeatTimeoutMillis int `def:"1000" v4:"!"`
	// Suggest reading from a slave (suggestWhichBrokerId) when the reader is far behind.
	SlaveReadEnable bool `def:"false"`
	// Groups that read more than ConsumerFallbehindThreshold behind the log's end are switched to consumeEnable=false, every 3
	// minutes (needs DiskFallRecorded).
	DisableConsumeIfConsumerReadSlowly bool `def:"false"`
	// Bytes; see DisableConsumeIfConsumerReadSlowly.
	ConsumerFallbehindThreshold int64 `def:"17179869184"`
	// Sends that waited longer than WaitTimeMillsInSendQueue for the append lock are not stored: SYSTEM_BUSY(2)
	// [TIMEOUT_CLEAN_QUEUE].
	BrokerFastFailureEnable bool `def:"true"`
	// ms before a waiting send is refused; 0: never.
	WaitTimeMillsInSendQueue        int64 `def:"200"`
	WaitTimeMillsInPullQueue        int64 `def:"5000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	WaitTimeMillsInLitePullQueue    int64 `def:"5000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	WaitTimeMillsInHeartbeatQueue   int64 `def:"31000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	WaitTimeMillsInTransactionQueue int64 `def:"3000" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	WaitTimeMillsInAckQueue         int64 `def:"3000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	WaitTimeMillsInAdminBrokerQueue int64 `def:"5000" v4:"!" none:"requests of this kind do not queue here; maxRequestsPerConnection bounds what is in flight"`
	// Epoch ms before which sends answer SYSTEM_ERROR(1); shown in brokerStatus.
	StartAcceptSendRequestTimeStamp int64 `def:"0"`
	// Response field TRACE_ON of sends and property TRACE_ON of stored messages.
	TraceOn bool `def:"true"`
	// Bit maps of the SQL92 filters that each message matches, in consumequeue_ext (with enableConsumeQueueExt).
	EnableCalcFilterBitMap bool `def:"false"`
	// True: pulls not from push consumers answer NO_PERMISSION.
	RejectPullConsumerEnable bool `def:"false" v4:"!"`
	// Subscriptions for which the Bloom filter of consumerFilter.json is made.
	ExpectConsumerNumUseFilter int `def:"32" mark:"r"`
	// Its error rate, %, 1 to 100.
	MaxErrorRateOfBloomFilter int `def:"20" mark:"r"`
	// ms a dead SQL92 filter registration is kept.
	FilterDataCleanTimeSpan int64 `def:"86400000"`
	// SQL92 filters apply to retry topics too.
	FilterSupportRetry bool `def:"false"`
	// Allow SQL92 expressions; otherwise SYSTEM_ERROR(1).
	EnablePropertyFilter bool `def:"false"`
	// Send the registration compressed.
	CompressedRegister bool `def:"false"`
	// Register in every period; false: ask by QUERY_DATA_VERSION(322) first whether it is needed.
	ForceRegister bool `def:"true"`
	// ms, within 10000 and 60000.
	RegisterNameServerPeriod int `def:"30000"`
	// ms between two looks at the name server list (DNS or address server).
	UpdateNameServerAddrPeriod int `def:"120000" v4:"!"`
	// ms between two BROKER_HEARTBEAT(904).
	BrokerHeartbeatInterval int `def:"1000" v4:"!"`
	// Told to the name server as heartbeatTimeoutMillis; otherwise it uses 120000.
	BrokerNotActiveTimeoutMillis int64 `def:"10000" v4:"!"`
	EnableNetWorkFlowControl     bool  `def:"false" v4:"!" none:"reading stops instead when replies pile up (maxReplyBytesPerConnection)"`
	// Keep how far the clients of broadcasting groups have come, for those that change between broker and proxy.
	EnableBroadcastOffsetStore bool `def:"true" v4:"!"`
	// s, for clients that are offline.
	BroadcastOffsetExpireSecond int64 `def:"120" v4:"!"`
	// s, for clients that are online and do not pull.
	BroadcastOffsetExpireMaxSecond int64 `def:"300" v4:"!"`
	// Held pops of one group, topic and queue id.
	PopPollingSize int `def:"1024" v4:"!"`
	// Groups, with a topic each, that have held pops.
	PopPollingMapSize int `def:"100000" v4:"!"`
	// Held pops in all.
	MaxPopPollingSize int64 `def:"100000" v4:"!"`
	// Queues of the POP revive topic rmq_sys_REVIVE_LOG_<cluster>.
	ReviveQueueNum int `def:"8" v4:"!" mark:"r"`
	// How often is looked for messages that nobody has acknowledged.
	ReviveInterval            int64 `def:"1000" v4:"!"`
	ReviveMaxSlow             int64 `def:"3" v4:"!" none:"a revive queue is read to its end each time"`
	ReviveScanTime            int64 `def:"10000" v4:"!" none:"a revive queue is read to its end each time"`
	EnableSkipLongAwaitingAck bool  `def:"false" v4:"!" none:"acknowledgements wait for their checkpoint as long as it can come"`
	ReviveAckWaitMs           int64 `def:"180000" v4:"!" none:"acknowledgements wait for their checkpoint as long as it can come"`
	EnablePopLog              bool  `def:"false" v4:"!" none:"there is no log of pops"`
	// POP: keep check points in memory before writing them.
	EnablePopBufferMerge    bool `def:"false" v4:"!" none:"checkpoints are always written at once"`
	PopCkStayBufferTime     int  `def:"10000" v4:"!" none:"checkpoints are always written at once"`
	PopCkStayBufferTimeOut  int  `def:"3000" v4:"!" none:"checkpoints are always written at once"`
	PopCkMaxBufferSize      int  `def:"200000" v4:"!" none:"checkpoints are always written at once"`
	PopCkOffsetMaxQueueSize int  `def:"20000" v4:"!" none:"checkpoints are always written at once"`
	EnablePopBatchAck       bool `def:"false" v4:"!" none:"checkpoints are always written at once"`
	// Messages after which a held pop is tried again even if they do not match its filter.
	PopLongPollingForceNotifyInterval    int64 `def:"800" v4:"!"`
	EnableNotifyBeforePopCalculateLag    bool  `def:"true" v4:"!" none:"lags are computed without waking anybody"`
	EnableNotifyAfterPopOrderLockRelease bool  `def:"true" v4:"!"`
	// Groups that begin with new messages begin at 0 while the queue's first message is in memory.
	InitPopOffsetByCheckMsgInMem bool `def:"true" v4:"!"`
	// Read retry topics of both names.
	RetrieveMessageFromPopRetryTopicV1 bool `def:"true" v4:"!"`
	// POP retry topics are named %RETRY%group+topic instead of %RETRY%group_topic.
	EnableRetryTopicV2 bool `def:"false" v4:"!"`
	// Percent of pops that look at what is retried first.
	PopFromRetryProbability       int  `def:"20" v4:"!"`
	PopConsumerFSServiceInit      bool `def:"true" v4:"!" none:"checkpoints are always in the revive topic"`
	PopConsumerKVServiceLog       bool `def:"false" v4:"!" none:"checkpoints are always in the revive topic"`
	PopConsumerKVServiceInit      bool `def:"false" v4:"!" none:"checkpoints are always in the revive topic"`
	PopConsumerKVServiceEnable    bool `def:"false" v4:"!" none:"checkpoints are always in the revive topic"`
	PopReviveMaxReturnSizePerRead int  `def:"16384" v4:"!" none:"internal tuning of the Java server"`
	PopReviveMaxAttemptTimes      int  `def:"16" v4:"!" none:"internal tuning of the Java server"`
	RealTimeNotifyConsumerChange  bool `def:"true" v4:"!" none:"members are always told at once"`
	// LITE_PULL_MESSAGE(361) allowed.
	LitePullMessageEnable bool `def:"true" v4:"!"`
	// ms between two questions which brokers of this name live (enableSlaveActingMaster).
	SyncBrokerMemberGroupPeriod       int   `def:"1000" v4:"!"`
	LoadBalancePollNameServerInterval int64 `def:"30000" v4:"!" none:"internal tuning of the Java server"`
	CleanOfflineBrokerInterval        int   `def:"30000" v4:"!" none:"internal tuning of the Java server"`
	// QUERY_ASSIGNMENT(400) computes the assignment; false: the whole queue list is given.
	ServerLoadBalancerEnable bool `def:"true" v4:"!"`
	// PULL or POP.
	DefaultMessageRequestMode MessageRequestMode `def:"PULL" v4:"!"`
	// -1: all.
	DefaultPopShareQueueNum int `def:"-1" v4:"!"`
	// ms a half message rests before its first check; the property CHECK_IMMUNITY_TIME_IN_SECONDS overrides it.
	TransactionTimeOut int64 `def:"6000" mark:"m"`
	// Checks per half message, then it goes to TRANS_CHECK_MAX_TIME_TOPIC.
	TransactionCheckMax int `def:"15" mark:"m"`
	// ms between two rounds of checks.
	TransactionCheckInterval int64 `def:"30000" v4:"60000" mark:"m"`
	// ms between two writes of transactionMetrics.
	TransactionMetricFlushInterval int64 `def:"3000" v4:"!"`
	// Offsets are collected up to this many bytes in one op message.
	TransactionOpMsgMaxSize int `def:"4096" v4:"!"`
	// ms after which collected offsets are written.
	TransactionOpBatchInterval int `def:"3000" v4:"!"`
	// true: only requests are handled that the access rules of 4.x allow, in conf/plain_acl.yml and conf/acl below rocketmqHome.
	// It can be switched off and on while the broker runs if it was on at the start.
	AclEnable bool `def:"false" mark:"m"`
	// Store replies of request-reply in the reply topic, besides pushing them.
	StoreReplyMessageEnable bool `def:"true"`
	EnableDetailStat        bool `def:"true" none:"statistics per queue (QUEUE_PUT_NUMS …), which no tool asks for, are not kept"`
	// Drop the statistics of deleted topics and groups.
	AutoDeleteUnusedStats bool `def:"true" v4:"false"`
	IsolateLogEnable      bool `def:"false" none:"only of broker containers"`
	// ms for requests to other brokers.
	ForwardTimeout int64 `def:"3000" v4:"!"`
	// The slave with the smallest id serves consumers, and delivers what is due, while the master is gone. For all brokers of a
	// name, with supportActingMaster=true at the name server.
	EnableSlaveActingMaster bool `def:"false" v4:"!" mark:"r"`
	// What a slave that acts as master may not store (delayed messages that are due, half messages, checkpoints of POP) goes to
	// the master of another name; otherwise it waits for its own.
	EnableRemoteEscape bool `def:"false" v4:"!"`
	// A broker is known at once, instead of when it has found its place among those of its name.
	SkipPreOnline   bool `def:"false" v4:"!" mark:"r"`
	AsyncSendEnable bool `def:"true" v4:"!" none:"sends are always handled asynchronously"`
	// A reset by an administrator is kept in the broker and given to the next pull, instead of asking clients by
	// RESET_CONSUMER_CLIENT_OFFSET(220). 4.9.7 asks clients.
	UseServerSideResetOffset bool `def:"true" v4:"!false"`
	// Offset commits between two increments of the offset table's data version.
	ConsumerOffsetUpdateVersionStep int64 `def:"500" v4:"!"`
	// The same for delay offsets.
	DelayOffsetUpdateVersionStep int64 `def:"200" v4:"!"`
	// LOCK_BATCH_MQ must succeed on all replicas.
	LockInStrictMode bool `def:"false" v4:"!" later:"queue locks that all brokers of a name hold"`
	// Name servers are asked as those before 5.x can be (enableSlaveActingMaster).
	CompatibleWithOldNameSrv bool `def:"true" v4:"!"`
	// Broker roles decided by controllers.
	EnableControllerMode bool `def:"false" v4:"!" later:"controller mode" mark:"r"`
	// -separated controllers.
	ControllerAddr                  string `def:"" v4:"!" later:"controller mode"`
	FetchControllerAddrByDnsLookup  bool   `def:"false" v4:"!" later:"controller mode"`
	SyncBrokerMetadataPeriod        int64  `def:"5000" v4:"!" later:"controller mode"`
	CheckSyncStateSetPeriod         int64  `def:"5000" v4:"!" later:"controller mode"`
	SyncControllerMetadataPeriod    int64  `def:"10000" v4:"!" later:"controller mode"`
	ControllerHeartBeatTimeoutMills int64  `def:"10000" v4:"!" later:"controller mode"`
	// Updates of system topics are refused.
	ValidateSystemTopicWhenUpdateTopic bool `def:"true" v4:"!"`
	// Smaller wins an election.
	BrokerElectionPriority int `def:"2147483647" v4:"!" later:"controller mode"`
	// Subscriptions come from subscriptionDataSet of the group instead of heartbeats.
	UseStaticSubscription bool `def:"false" v4:"!" later:"static subscriptions"`
	// DISABLE; PROM: Prometheus asks at the port below, where health and readiness are told too; OTLP_GRPC: pushed to a
	// collector; LOG: a line of OTLP's JSON in broker_metrics.log, at level info. Name or number.
	MetricsExporterType         MetricsExporterType `def:"DISABLE" v4:"!" mark:"r"`
	MetricsOtelCardinalityLimit int                 `def:"50000" v4:"!" none:"series end with what they are about; strange request codes are bounded"`
	// The collector of OTLP_GRPC: http://host:port, or with TLS https://host:port or host:port.
	MetricsGrpcExporterTarget string `def:"" v4:"!" mark:"r"`
	// Sent with each push, such as credentials: name:value,name:value.
	MetricsGrpcExporterHeader string `def:"" v4:"!" mark:"rs"`
	// ms that a push may take.
	MetricGrpcExporterTimeOutInMills int64 `def:"3000" v4:"!" mark:"r"`
	// ms between two pushes.
	MetricGrpcExporterIntervalInMills int64 `def:"60000" v4:"!" mark:"r"`
	// ms between two lines of LOG.
	MetricLoggingExporterIntervalInMills int64 `def:"10000" v4:"!" mark:"r"`
	MetricsPromExporterPort              int   `def:"5557" v4:"!" mark:"r"`
	// Empty = all addresses.
	MetricsPromExporterHost string `def:"" v4:"!" mark:"r"`
	// Added to every metric: k:v,k:v.
	MetricsLabel string `def:"" v4:"!"`
	// OTLP_GRPC and LOG tell what was added since the last time, instead of sums since the start.
	MetricsInDelta bool `def:"false" v4:"!" mark:"r"`
	// ms without heartbeat after which a client is dropped.
	ChannelExpiredTimeout int64 `def:"120000" v4:"!"`
	// ms after which an unused subscription of a group is dropped.
	SubscriptionExpiredTimeout int64 `def:"600000" v4:"!"`
	// Lag metrics with filters are estimated.
	EstimateAccumulation    bool  `def:"true" v4:"!"`
	ColdCtrStrategyEnable   bool  `def:"false" v4:"!" later:"cold read flow control"`
	UsePIDColdCtrStrategy   bool  `def:"true" v4:"!" later:"cold read flow control"`
	CgColdReadThreshold     int64 `def:"3145728" v4:"!" later:"cold read flow control"`
	GlobalColdReadThreshold int64 `def:"104857600" v4:"!" later:"cold read flow control"`
	// ms between re-reads of the name server list.
	FetchNamesrvAddrInterval int64 `def:"10000" v4:"!"`
	// Topic given back in POP answers for retry messages.
	PopResponseReturnActualRetryTopic bool `def:"false" v4:"!"`
	// Register the one topic that changed, by REGISTER_TOPIC_IN_NAMESRV(217), instead of all.
	EnableSingleTopicRegister bool `def:"false" v4:"!"`
	// Allow topics with the attribute message.type=MIXED, whose messages may be of any type.
	EnableMixedMessageType bool `def:"false" v4:"!"`
	// Register in parts of splitRegistrationSize topics.
	EnableSplitRegistration       bool  `def:"false" v4:"!" later:"split registration"`
	PopInflightMessageThreshold   int64 `def:"10000" v4:"!"`
	EnablePopMessageThreshold     bool  `def:"false" v4:"!"`
	EnableFastChannelEventProcess bool  `def:"false" v4:"!" none:"internal tuning of the Java server"`
	PrintChannelGroups            bool  `def:"false" v4:"!" none:"internal tuning of the Java server"`
	PrintChannelGroupsMinNum      int   `def:"5" v4:"!" none:"internal tuning of the Java server"`
	SplitRegistrationSize         int   `def:"800" v4:"!" none:"registrations are not split"`
	// Keys, separated by semicolons, that hot update refuses besides those it always refuses. Read at start.
	ConfigBlackList string `def:"configBlackList;brokerConfigPath" v4:"!" mark:"r"`
	// Give up a popped message that cannot be read, after some eight hours.
	SkipWhenCKRePutReachMaxTimes bool `def:"false" v4:"!"`
	AppendAckAsync               bool `def:"false" v4:"!" none:"nothing waits in a thread"`
	AppendCkAsync                bool `def:"false" v4:"!" none:"nothing waits in a thread"`
	// deleteTopic removes the POP retry topics of the topic too.
	ClearRetryTopicWhenDeleteTopic bool `def:"true" v4:"!"`
	// Statistics (code 315) of each light queue and light group; otherwise those of all are found under %LMQ%.
	EnableLmqStats bool `def:"false" v4:"!"`
	// v1 or v2.
	ConfigManagerVersion              string `def:"v1" v4:"!" later:"RocksDB storage"`
	AllowRecallWhenBrokerNotWriteable bool   `def:"true" v4:"!"`
	// RECALL_MESSAGE(370); otherwise NO_PERMISSION(16).
	RecallMessageEnable bool `def:"false" v4:"!"`
	// Keep the producers of heartbeats.
	EnableRegisterProducer bool `def:"true" v4:"!"`
	// Create the system groups at start.
	EnableCreateSysGroup bool `def:"true" v4:"!"`
}
