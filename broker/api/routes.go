// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package api answers the requests that a broker gets: it decodes them, asks the services, and encodes what they say.
// Rules live in the services. The handlers of the data path stand in one file per family, named after its lowest code;
// those for tools are grouped by what they are about.
package api

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"rocketmq-go/auth"
	"rocketmq-go/auth/plain"
	"rocketmq-go/broker/assignment"
	"rocketmq-go/broker/client"
	"rocketmq-go/broker/filter"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/lock"
	"rocketmq-go/broker/longpoll"
	"rocketmq-go/broker/mapping"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/put"
	"rocketmq-go/broker/reply"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/timer"
	"rocketmq-go/broker/topic"
	"rocketmq-go/broker/transaction"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Store is what the handlers ask of the store; see store.API.
type Store interface {
	Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult)
	MinOffset(topic string, queueID int32) int64
	MaxOffset(topic string, queueID int32) int64
	OffsetByTime(topic string, queueID int32, ms int64, b store.Boundary) int64
	StoreTime(topic string, queueID int32, offset int64) int64
	Unit(topic string, queueID int32, offset int64) (store.Unit, bool)
	Span(topic string, queueID int32, offset int64) (store.Span, bool)
	Ext(topic string, queueID int32, offset int64) (store.ExtUnit, bool)
	Record(dst []byte, phyOffset int64, size int32) ([]byte, bool)
	InMemory(topic string, queueID int32, offset int64) bool
	QueryIndex(topic, key string, max int, beginMs, endMs int64) store.IndexResult
	DeleteTopics(topics []string)
	Queues() map[string][]int32
	MaxPhyOffset() int64
	CleanNow(kind store.CleanKind)
	Dispatch()
}

// Services are everything that handlers use.
type Services struct {
	Config    *config.Broker
	Profile   *compat.Profile
	Store     Store
	Topics    *topic.Table
	Groups    *group.Table
	Offsets   *offset.Store
	Broadcast *offset.Broadcast // nil in 4.9
	Consumers *client.Consumers
	Producers *client.Producers
	Filters   *filter.Table
	Locks     *lock.Table
	Schedule  *schedule.Service
	Put       *put.Pipeline
	// Transactions ends transactions; see package transaction.
	Transactions *transaction.Service
	Replies      *reply.Service
	Timers       *timer.Service      // nil in 4.9
	Assignment   *assignment.Service // nil in 4.9
	Pop          *pop.Service        // nil in 4.9
	Stats        *stats.Table
	Users        *auth.Tables   // of ACL 2.0
	Plain        *plain.Files   // the access rules of 4.x; nil unless aclEnable was on at the start
	Mappings     *mapping.Table // of static topics; nil in 4.9
	Replication  Replication
	Group        Group // nil: no slave acts as master
	// CallBroker sends a request to the master of another broker.
	CallBroker func(ctx context.Context, broker string, cmd *protocol.Command) (*protocol.Command, error)
	// StoreHost is the address that messages of a connection are stored under.
	StoreHost func(remoting.Channel) netip.AddrPort
	// Runtime is the table of code 28.
	Runtime func() map[string]string
	Started time.Time
	Now     func() time.Time
	Log     *slog.Logger
}

// Table is the broker's one table of request codes, and what belongs to it.
type Table struct {
	*remoting.Routes
	Holder *longpoll.Holder // of the pulls that found nothing; the broker runs it

	access *access
}

// Dispatch implements remoting.Dispatcher.
func (t *Table) Dispatch(r *remoting.Request) {
	if err := t.access.check(r); err != nil {
		resp := &protocol.Response{}
		fail(resp, err)
		r.Reply(resp)
		return
	}
	t.Routes.Dispatch(r)
}

// New makes the table.
func New(s Services) *Table {
	values := s.Config.Load
	access := &access{config: values, tables: s.Users, known: map[int32]bool{protocol.ReqLitePullMessage: true}} // 4.9.7 checks it, although it does not serve it
	if s.Plain != nil {
		access.plain = s.Plain.Rules
	}
	send := &sender{
		config: values, profile: s.Profile, topics: s.Topics, put: s.Put, stats: s.Stats, storeHost: s.StoreHost, now: s.Now,
	}
	pull := &puller{
		config: values, profile: s.Profile, store: s.Store, topics: s.Topics, groups: s.Groups, offsets: s.Offsets,
		broadcast: s.Broadcast, consumers: s.Consumers, filters: s.Filters, stats: s.Stats, now: s.Now,
		stuck: stuck{log: s.Log},
	}
	holder := longpoll.New(longpoll.Options{
		Now: s.Now, MaxOffset: s.Store.MaxOffset, Wake: pull.wake, Limit: values().Own.MaxHeldPulls,
		Interval: func() time.Duration {
			if v := values(); !v.LongPollingEnable {
				return config.Millis(v.ShortPollingTimeMills)
			}
			return holdInterval
		},
	})
	pull.holder = holder
	back := &sendBack{config: values, profile: s.Profile, put: s.Put, stats: s.Stats, storeHost: s.StoreHost}
	offsets := &offsets{
		config: values, profile: s.Profile, store: s.Store, topics: s.Topics, groups: s.Groups, offsets: s.Offsets,
	}
	clients := &clients{config: values, profile: s.Profile, consumers: s.Consumers, producers: s.Producers}
	locks := &locks{table: s.Locks}
	transactions := &transactions{config: values, service: s.Transactions}
	replies := &replier{send: send, service: s.Replies}
	static := &static{
		table: s.Mappings, topics: s.topics(), config: values, call: s.CallBroker, slots: make(chan struct{}, maxForwarded),
	}
	routes := []remoting.Route{
		raw(protocol.ReqSendMessage, static.send(send.handle)),
		raw(protocol.ReqSendMessageV2, static.send(send.handle)),
		raw(protocol.ReqSendBatchMessage, static.send(send.handle)),
		mainOnly(raw(protocol.ReqPullMessage, static.pull(pull.handle))),
		raw(protocol.ReqConsumerSendMsgBack, back.handle),
		raw(protocol.ReqSendReplyMessage, replies.handle),
		raw(protocol.ReqSendReplyMessageV2, replies.handle),
		raw(protocol.ReqEndTransaction, transactions.end),
		raw(protocol.ReqResumeCheckHalfMessage, transactions.resume),

		static.before(inline, protocol.ReqQueryConsumerOffset, offsets.query, static.queryOffset),
		static.before(inline, protocol.ReqUpdateConsumerOffset, offsets.update, static.updateOffset),
		static.before(pooled, protocol.ReqSearchOffsetByTimestamp, offsets.search, static.search(offsets.max)),
		static.before(inline, protocol.ReqGetMaxOffset, offsets.max, static.maxOffset),
		static.before(inline, protocol.ReqGetMinOffset, offsets.min, static.minOffset),
		static.before(pooled, protocol.ReqGetEarliestMsgStoretime, offsets.earliest, static.earliest),

		inline(protocol.ReqHeartBeat, clients.heartbeat),
		inline(protocol.ReqUnregisterClient, clients.unregister),
		inline(protocol.ReqGetConsumerListByGroup, clients.consumerList),
		inline(protocol.ReqCheckClientConfig, clients.check),
		inline(protocol.ReqGetConsumerConnectionList, clients.consumerConnections),
		inline(protocol.ReqGetProducerConnectionList, clients.producerConnections),
		inline(protocol.ReqGetAllProducerInfo, clients.producerTable),
		inline(protocol.ReqLockBatchMq, locks.lock),
		inline(protocol.ReqUnlockBatchMq, locks.unlock),
	}
	if s.Timers != nil {
		timers := &timers{
			config: values, topics: s.Topics, put: s.Put, service: s.Timers, storeHost: s.StoreHost, now: s.Now,
		}
		routes = append(routes,
			raw(protocol.ReqRecallMessage, timers.recall),
			inline(protocol.ReqGetTimerCheckPoint, timers.checkpoint),
			pooled(protocol.ReqGetTimerMetrics, timers.metrics),
		)
	}
	if s.Assignment != nil {
		assign := &assignments{service: s.Assignment, topics: s.Topics, groups: s.Groups}
		routes = append(routes,
			remoting.Route{Code: protocol.ReqQueryAssignment, Handle: assign.query, Mode: remoting.Waiting},
			pooled(protocol.ReqSetMessageRequestMode, s.master(assign.setMode)),
			pooled(protocol.ReqGetAllMessageRequestMode, assign.modes),
		)
	}
	if s.Pop != nil {
		pops := &popper{
			config: values, profile: s.Profile, service: s.Pop, store: s.Store, topics: s.Topics, groups: s.Groups,
			consumers: s.Consumers, stats: s.Stats, now: s.Now,
		}
		routes = append(routes,
			mainOnly(raw(protocol.ReqPopMessage, pops.handle)),
			raw(protocol.ReqAckMessage, pops.ack),
			raw(protocol.ReqBatchAckMessage, pops.batchAck),
			inline(protocol.ReqPeekMessage, pops.peek),
			raw(protocol.ReqChangeMessageInvisibletime, pops.change),
			raw(protocol.ReqNotification, pops.notification),
			inline(protocol.ReqPollingInfo, pops.polling),
		)
	}
	routes = append(routes, s.tools(access)...)
	if s.Mappings != nil {
		routes = append(routes, pooled(protocol.ReqUpdateAndCreateStaticTopic, s.master(static.update)))
	}
	if s.Profile.Release != compat.Release497 {
		routes = append(append(routes, mainOnly(raw(protocol.ReqLitePullMessage, static.pull(pull.handle)))), s.tools5()...)
	}
	if s.Profile.Release != compat.Release497 || values().Auth.KeepsUsers() {
		routes = append(routes, s.userRoutes(access)...)
	}
	if s.Plain != nil {
		routes = append(routes, s.plainRoutes()...)
	}
	for i := range routes {
		access.known[routes[i].Code] = true
	}
	return &Table{access: access, Routes: remoting.NewRoutes(remoting.RoutesConfig{Log: s.Log, Gathered: s.Store.Dispatch}, routes...), Holder: holder}
}

func (s *Services) topics() *topics {
	return &topics{
		config: s.Config.Load, profile: s.Profile, table: s.Topics, offsets: s.Offsets, broadcast: s.Broadcast, store: s.Store,
		stats: s.Stats, mappings: s.Mappings, pop: s.Pop,
	}
}

func (s *Services) groups() *groups {
	return &groups{
		config: s.Config.Load, profile: s.Profile, table: s.Groups, offsets: s.Offsets, broadcast: s.Broadcast, consumers: s.Consumers,
		stats: s.Stats, pop: s.Pop, address: s.address,
	}
}

// address is where clients that use a connection see the broker.
func (s *Services) address(ch remoting.Channel) string { return s.StoreHost(ch).String() }

// tools are the routes of mqadmin, the console and the exporter.
func (s *Services) tools(access *access) []remoting.Route {
	values := s.Config.Load
	topics := s.topics()
	groups := s.groups()
	configs := &configs{config: s.Config, runtime: s.Runtime, log: s.Log}
	queries := &queries{
		config: values, profile: s.Profile, store: s.Store, topics: s.Topics, consumers: s.Consumers, schedule: s.Schedule,
		filters: s.Filters, stats: s.Stats, access: access,
	}
	progress := &progress{
		config: values, profile: s.Profile, store: s.Store, topics: s.Topics, groups: s.Groups, offsets: s.Offsets,
		consumers: s.Consumers, stats: s.Stats, address: s.address, now: s.Now,
	}
	cleaning := &cleaning{store: s.Store, topics: s.Topics, log: s.Log}
	tools := &consumerTools{
		config: values, profile: s.Profile, store: s.Store, topics: s.Topics, groups: s.Groups, offsets: s.Offsets, consumers: s.Consumers,
		log: s.Log,
	}
	return []remoting.Route{
		pooled(protocol.ReqUpdateAndCreateTopic, s.master(topics.update)),
		pooled(protocol.ReqDeleteTopicInBroker, s.master(topics.delete)),
		pooled(protocol.ReqGetAllTopicConfig, topics.all),
		inline(protocol.ReqGetSystemTopicListFromBroker, topics.system),

		pooled(protocol.ReqUpdateAndCreateSubscriptiongroup, s.master(groups.update)),
		pooled(protocol.ReqDeleteSubscriptiongroup, s.master(groups.delete)),
		pooled(protocol.ReqGetAllSubscriptiongroupConfig, groups.all),
		pooled(protocol.ReqQueryTopicConsumeByWho, groups.consumersOf),

		pooled(protocol.ReqUpdateBrokerConfig, configs.update),
		pooled(protocol.ReqGetBrokerConfig, configs.get),
		pooled(protocol.ReqGetBrokerRuntimeInfo, configs.runtimeInfo),

		pooled(protocol.ReqQueryMessage, queries.byKey),
		pooled(protocol.ReqViewMessageByID, queries.byOffset),
		pooled(protocol.ReqQueryConsumeQueue, queries.consumeQueue),
		pooled(protocol.ReqGetTopicStatsInfo, queries.topicStats),
		pooled(protocol.ReqViewBrokerStatsData, queries.statistics),
		pooled(protocol.ReqGetAllDelayOffset, queries.delayOffsets),

		pooled(protocol.ReqGetConsumeStats, progress.ofGroup),
		pooled(protocol.ReqGetBrokerConsumeStats, progress.ofBroker),
		pooled(protocol.ReqQueryConsumeTimeSpan, progress.timeSpan),
		pooled(protocol.ReqGetAllConsumerOffset, progress.all),
		pooled(protocol.ReqQueryCorrectionOffset, progress.correction),
		pooled(protocol.ReqCloneGroupOffset, progress.clone),

		inline(protocol.ReqCleanExpiredConsumequeue, cleaning.order(store.CleanConsumeQueues)),
		pooled(protocol.ReqCleanUnusedTopic, cleaning.unused),
		inline(protocol.ReqDeleteExpiredCommitlog, cleaning.order(store.CleanCommitLog)),

		pooled(protocol.ReqInvokeBrokerToResetOffset, tools.reset),
		{Code: protocol.ReqInvokeBrokerToGetConsumerStatus, Handle: tools.status, Mode: remoting.Waiting},
		{Code: protocol.ReqGetConsumerRunningInfo, Handle: tools.runningInfo, Mode: remoting.Waiting},
		{Code: protocol.ReqConsumeMessageDirectly, Handle: tools.consumeDirectly, Mode: remoting.Waiting},
	}
}

// tools5 are those of 5.x only.
func (s *Services) tools5() []remoting.Route {
	cold := &coldData{config: s.Config.Load, log: s.Log}
	replication := &replication{s.Replication, s.Group}
	topics, groups := s.topics(), s.groups()
	var routes []remoting.Route
	if s.Group != nil {
		routes = append(routes, remoting.Route{Code: protocol.ReqExchangeBrokerHaInfo, Handle: replication.exchange, Mode: remoting.Waiting})
	}
	return append(routes,
		pooled(protocol.ReqUpdateAndCreateTopicList, s.master(topics.updateList)),
		inline(protocol.ReqGetTopicConfig, topics.get),
		pooled(protocol.ReqUpdateAndCreateSubscriptiongroupList, s.master(groups.updateList)),
		inline(protocol.ReqGetSubscriptiongroupConfig, groups.get),
		inline(protocol.ReqUpdateAndGetGroupForbidden, groups.forbidden),
		pooled(protocol.ReqQueryTopicsByConsumer, groups.topicsOf),
		inline(protocol.ReqQuerySubscriptionByConsumer, groups.subscription),

		inline(protocol.ReqUpdateColdDataFlowCtrConfig, cold.update),
		inline(protocol.ReqRemoveColdDataFlowCtrConfig, cold.remove),
		inline(protocol.ReqGetColdDataFlowCtrInfo, cold.info),
		inline(protocol.ReqSetCommitlogReadMode, cold.readAhead),

		inline(protocol.ReqGetBrokerHaStatus, replication.status),
		inline(protocol.ReqResetMasterFlushOffset, replication.resetFlushOffset),
		inline(protocol.ReqNotifyMinBrokerIdChange, replication.minBrokerID),
		inline(protocol.ReqNotifyBrokerRoleChanged, replication.accepted),
		inline(protocol.ReqGetBrokerEpochCache, replication.noController),

		inline(protocol.ReqCheckRocksdbCqWriteProgress, rocksCheck),
		inline(protocol.ReqExportRocksdbConfigToJson, rocksExport),
		inline(protocol.ReqPopRollback, popRollback),
	)
}

// holdInterval is the pause between two looks through all held pulls.
const holdInterval = 5 * time.Second

func raw(code int32, handle func(*remoting.Request)) remoting.Route {
	return remoting.Route{Code: code, Raw: handle}
}

func inline(code int32, h handler) remoting.Route {
	return remoting.Route{Code: code, Handle: h.handle, Mode: remoting.Inline}
}

func pooled(code int32, h handler) remoting.Route {
	return remoting.Route{Code: code, Handle: h.handle, Mode: remoting.Pool}
}

func mainOnly(r remoting.Route) remoting.Route {
	r.MainOnly = true
	return r
}
