// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package broker is RocketMQ's broker: it stores the messages of producers and gives them to consumers.
//
//	b, err := broker.New(broker.Options{Config: cfg, Log: log})
//	err = b.Start(ctx)
//	…
//	b.Close(ctx)
//
// This package only puts the parts together: the handlers of requests are in api, the rules in the services beside it.
// Brokers share nothing: many of them may live in one process.
package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/auth"
	"rocketmq-go/auth/plain"
	"rocketmq-go/broker/acting"
	"rocketmq-go/broker/api"
	"rocketmq-go/broker/assignment"
	"rocketmq-go/broker/client"
	"rocketmq-go/broker/compaction"
	"rocketmq-go/broker/filter"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/lock"
	"rocketmq-go/broker/mapping"
	"rocketmq-go/broker/metrics"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/put"
	"rocketmq-go/broker/registration"
	"rocketmq-go/broker/replication"
	"rocketmq-go/broker/reply"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/timer"
	"rocketmq-go/broker/topic"
	"rocketmq-go/broker/transaction"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/observe"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
	"rocketmq-go/telemetry/metric"
)

// Options are what a Broker needs. Only Config is required.
type Options struct {
	Config *config.Broker
	Log    *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
	TLS    *tls.Config      // nil: no TLS on the listening ports
	// ClientTLS secures the connections to name servers; nil: they are plain.
	ClientTLS *tls.Config
	// NoListen leaves out the listening sockets: connections come from Pipe only.
	NoListen bool
	// Dial opens connections to name servers; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Resolver finds the addresses of name servers, at each connect; nil: the system's.
	Resolver *net.Resolver
	// Poison overwrites each request's memory when it has been handled, for tests.
	Poison bool
}

// Broker is a broker.
type Broker struct {
	o       Options
	cfg     *config.Broker
	profile *compat.Profile
	log     *slog.Logger
	started time.Time

	storeBegan int64 // end of the commit log when it was opened

	topics       *topic.Table
	mappings     *mapping.Table // nil in 4.9
	groups       *group.Table
	offsets      *offset.Store
	broadcast    *offset.Broadcast // nil in 4.9
	consumers    *client.Consumers
	producers    *client.Producers
	filters      *filter.Table
	locks        *lock.Table
	stats        *stats.Table
	users        *auth.Tables
	plain        *plain.Files // nil unless aclEnable
	requests     observe.Requests
	flushes      *metric.Histogram
	store        *store.Store
	schedule     *schedule.Service
	put          *put.Pipeline
	transactions *transaction.Service
	replies      *reply.Service
	timers       *timer.Service      // nil in 4.9
	assignment   *assignment.Service // nil in 4.9
	pops         *pop.Service        // nil in 4.9
	compaction   *compaction.Service // nil in 4.9, and with enableCompaction=false
	table        *api.Table
	server       *remoting.Server
	client       *remoting.Client
	discovery    *registration.Discovery
	registrar    *registration.Registrar
	master       *replication.Master // nil on a slave
	slave        *replication.Slave  // nil on a master
	group        *acting.Group       // nil: no slave acts as master
	bridge       *acting.Bridge      // of a slave that may

	arrivals atomic.Pointer[func(store.Arrival)] // who is told of arrivals, once everything is there

	resolved atomic.Pointer[resolvedHost] // of brokerIP1

	main, fast net.Listener
	ha         net.Listener // for slaves; nil on a slave
	port       int          // of the main port; the configured one without sockets

	stopRegistrar context.CancelFunc
	registering   sync.WaitGroup
	stopServices  context.CancelFunc
	services      *errgroup.Group
	closing       sync.Once
	closed        error
}

// New makes a broker: it loads the metadata and opens the store. It serves nobody before Start. Close must be called
// also if Start is not.
func New(o Options) (*Broker, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &Broker{o: o, cfg: o.Config, log: o.Log, started: o.Now(), profile: compat.For(o.Config.CompatVersion())}
	b.flushes = metrics.FlushBounds.New()
	b.port = b.values().Server.ListenPort
	if err := b.open(); err != nil {
		return nil, errors.Join(err, b.closeFiles())
	}
	return b, nil
}

func (b *Broker) values() *config.BrokerValues { return b.cfg.Load() }

func (b *Broker) compat49() bool { return b.profile.Release == compat.Release497 }

// open makes the services in the order in which they need each other.
func (b *Broker) open() error {
	if err := b.openTables(); err != nil {
		return err
	}
	if err := b.openUsers(); err != nil {
		return err
	}
	if err := b.openPlain(); err != nil {
		return err
	}
	sign, err := b.signer()
	if err != nil {
		return err
	}
	levels, err := b.values().Store.DelayLevels()
	if err != nil {
		return err
	}
	if err := b.openStore(b.storeConfig(levels)); err != nil {
		return err
	}
	_, newest, _ := b.store.Timestamps()
	b.filters.Opened(newest, b.store.WasStopped())
	if err := b.openCompaction(); err != nil {
		return err
	}
	served := api.Store(b.store)
	if b.compaction != nil {
		served = compactedStore{b.store, b.compaction}
	}
	v := b.values()
	b.storeBegan = b.store.MaxPhyOffset()
	if b.schedule, err = schedule.New(schedule.Options{
		Dir: v.Store.StorePathRootDir, Levels: levels, Store: b.store, Put: b.serviceStore().Put, Compat49: b.compat49(),
		Pace: func() schedule.Pace {
			v := b.values()
			return schedule.Pace{Interval: config.Millis(v.Store.FlushDelayOffsetInterval), VersionStep: v.DelayOffsetUpdateVersionStep}
		},
		Now: b.o.Now, Log: b.log, Delivered: b.scheduled,
	}); err != nil {
		return err
	}
	if err := b.openTimers(); err != nil {
		return err
	}
	pipeline := put.Options{
		Profile: b.profile, Store: b.store, Config: b.cfg.Load, Topics: b.topics, Groups: b.groups,
		Ordered: b.locks.AnyHeld, MaxLevel: b.schedule.MaxLevel,
		IDs:      message.NewIDGenerator(b.idHost(), uint32(b.started.UnixNano()), b.o.Now),
		Prepared: func(realTopic string) { b.transactions.Prepared(realTopic) }, DiskUsage: b.store.DiskUsage,
		Dead: b.stats.Dead, Timers: b.putTimers(), Now: b.o.Now,
	}
	b.put = put.New(pipeline)
	services := b.servicePut(pipeline)
	if b.transactions, err = transaction.New(transaction.Options{
		Dir: v.Store.StorePathRootDir, Profile: b.profile, Store: b.store, Put: services, Offsets: b.offsets, Topics: b.topics,
		Producer: b.producers.ChannelOf, Rules: b.transactionRules, Host: b.host, Now: b.o.Now, Log: b.logOf("transaction"),
		Finished: b.finished,
	}); err != nil {
		return err
	}
	if err := b.openPop(services); err != nil {
		return err
	}
	b.replies = reply.New(reply.Options{
		Channel: b.producers.ChannelByClient, Limit: func() int { return b.values().ReplyThreadPoolQueueCapacity }, Log: b.log,
	})
	b.discovery = registration.NewDiscovery(registration.DiscoveryOptions{
		Sources: b.nameServers, Resolver: b.o.Resolver, Changed: func() { b.registrar.Refresh() }, Log: b.logOf("remoting"),
	})
	if err := b.openAssignment(); err != nil {
		return err
	}
	b.openSlave()
	b.openGroup()
	b.table = api.New(api.Services{
		Config: b.cfg, Profile: b.profile, Store: served, Topics: b.topics, Groups: b.groups, Offsets: b.offsets,
		Broadcast: b.broadcast, Consumers: b.consumers, Producers: b.producers, Filters: b.filters, Locks: b.locks,
		Schedule: b.schedule, Put: b.put, Transactions: b.transactions, Replies: b.replies, Timers: b.timers, Stats: b.stats,
		Assignment: b.assignment, Pop: b.pops, Users: b.users, Plain: b.plain, Mappings: b.mappings, Replication: b.replica(), Group: b.actingGroup(), CallBroker: b.peers().call,
		StoreHost: b.storeHost,
		Runtime:   b.runtime, Started: b.started, Now: b.o.Now, Log: b.log,
	})
	arrived := func(a store.Arrival) {
		b.stats.Traffic.Stored()
		if b.compaction != nil { // before those who wait for messages are told
			b.compaction.Arrived(a)
		}
		b.table.Holder.Arrived(a)
		b.schedule.Arrived(a)
		b.transactions.Arrived(a)
		if b.timers != nil {
			b.timers.Arrived(a)
		}
		if b.pops != nil {
			b.pops.Arrived(a)
		}
	}
	b.arrivals.Store(&arrived)
	b.server = remoting.NewServer(b.serverConfig(v))
	b.client = remoting.NewClient(remoting.ClientConfig{
		Version: b.profile.Version, Dial: b.dial(), TLS: b.o.ClientTLS, ConnectTimeout: config.Millis(v.Client.ConnectTimeoutMillis),
		Limits:     remoting.Limits{IdleTimeout: time.Duration(v.Client.ClientChannelMaxIdleTimeSeconds) * time.Second},
		MaxBackoff: 500 * time.Millisecond, Sign: sign, Log: b.logOf("remoting"),
	})
	b.registrar = registration.New(b.registration())
	b.topics.OnChange(b.registrar.Changed)
	b.cfg.OnUpdate(func(_, _ *config.BrokerValues, keys []string) {
		if slices.Contains(keys, "brokerPermission") {
			b.registrar.Again()
		}
		if b.slave != nil {
			b.slave.Configured()
		}
	})
	return nil
}

// openTables loads topics, groups and offsets and makes the tables of clients.
func (b *Broker) openTables() error {
	v := b.values()
	dir := v.Store.StorePathRootDir
	var err error
	if b.topics, err = topic.New(topic.Options{
		Dir: dir, Compat49: b.compat49(), LMQ: v.Store.EnableLmq, System: systemTopics(v), Now: b.o.Now, Log: b.log,
		Rules: func() topic.Rules {
			v := b.values()
			return topic.Rules{
				AutoCreate: v.AutoCreateTopicEnable, EnableMixedType: v.EnableMixedMessageType,
				ValidateSystem: v.ValidateSystemTopicWhenUpdateTopic || b.compat49(),
			}
		},
	}); err != nil {
		return err
	}
	if err = b.openMappings(); err != nil {
		return err
	}
	if b.groups, err = group.New(group.Options{
		Dir: dir, Compat49: b.compat49(), LMQ: v.Store.EnableLmq, Now: b.o.Now, Log: b.log,
		Rules: func() group.Rules {
			v := b.values()
			return group.Rules{
				AutoCreate: v.AutoCreateSubscriptionGroup, EnableCreateSysGroup: v.EnableCreateSysGroup, Slave: b.isSlave(),
			}
		},
	}); err != nil {
		return err
	}
	if b.offsets, err = offset.New(offset.Options{
		Dir: dir, LMQ: v.Store.EnableLmq, Compat49: b.compat49(), Now: b.o.Now, Log: b.log,
		Pace: func() offset.Pace {
			v := b.values()
			return offset.Pace{Interval: config.Millis(v.FlushConsumerOffsetInterval), VersionStep: v.ConsumerOffsetUpdateVersionStep}
		},
	}); err != nil {
		return err
	}
	if b.filters, err = filter.NewTable(filter.Options{
		Dir: dir, Consumers: v.ExpectConsumerNumUseFilter, ErrorRate: v.MaxErrorRateOfBloomFilter,
		Lifetime: func() time.Duration { return config.Millis(b.values().FilterDataCleanTimeSpan) }, Now: b.o.Now, Log: b.log,
	}); err != nil {
		return err
	}
	clients := client.Options{
		Group: b.groups.Find, Joined: b.joined, Subscribed: b.subscribed, Compile: filter.SQL, Rules: b.clientRules,
		Now: b.o.Now, Log: b.log,
	}
	b.consumers = client.NewConsumers(clients)
	b.producers = client.NewProducers(clients)
	b.openBroadcast()
	b.locks = lock.New(0, b.o.Now)
	b.stats = stats.New(b.o.Now, b.topics.IsSystem, func() bool { v := b.values(); return v.Store.EnableLmq && !v.EnableLmqStats })
	b.stats.As49 = b.compat49()
	return nil
}

func (b *Broker) clientRules() client.Rules {
	v := b.values()
	return client.Rules{
		RejectPullConsumer: v.RejectPullConsumerEnable,
		DisableNotify:      !v.NotifyConsumerIdsChangedEnable,
		RefuseNewProducers: !v.EnableRegisterProducer && v.RejectTransactionMessage && !b.compat49(),
		ChannelExpiry:      config.Millis(v.ChannelExpiredTimeout), CompensationLifetime: config.Millis(v.SubscriptionExpiredTimeout),
	}
}

// joined makes the retry topic of a group whose consumers come online and registers its expressions.
func (b *Broker) joined(cfg *protocol.SubscriptionGroupConfig, data *protocol.ConsumerData) {
	var sysFlag int32
	if data.UnitMode {
		sysFlag = topic.FlagUnitSub
	}
	order := false
	for i := range data.SubscriptionDataSet {
		t := b.topics.Get(data.SubscriptionDataSet[i].Topic)
		order = order || t != nil && t.Order
	}
	if !b.isSlave() { // which has its master's topics
		b.topics.RetryTopicOf(cfg.GroupName, cfg.RetryQueueNums, sysFlag, order)
	}
	b.filters.Register(cfg.GroupName, data.SubscriptionDataSet)
}

// subscribed is told of each subscription that came (joined has registered it) or went.
func (b *Broker) subscribed(group, topic string, s *client.Subscription) {
	if s == nil {
		b.filters.Retire(topic, group)
	}
}

func systemTopics(v *config.BrokerValues) topic.System {
	return topic.System{
		ClusterName: v.BrokerClusterName, BrokerName: v.BrokerName, DefaultQueues: int32(v.DefaultTopicQueueNums),
		NoClusterTopic: !v.ClusterTopicEnable, NoBrokerTopic: !v.BrokerTopicEnable, TraceTopic: v.TraceTopicEnable,
		TraceTopicName: v.MsgTraceTopicName, ReviveQueues: int32(v.ReviveQueueNum), Timer: v.Store.TimerWheelEnable,
	}
}

func (b *Broker) serverConfig(v *config.BrokerValues) remoting.ServerConfig {
	return remoting.ServerConfig{
		Dispatcher: b.table,
		Listener:   connections{b},
		Limits: remoting.Limits{
			MaxFrame:    v.Own.MaxFrameLength,
			MaxInFlight: v.Own.MaxRequestsPerConnection,
			MaxQueued:   v.Own.MaxReplyBytesPerConnection,
			IdleTimeout: time.Duration(v.Server.ServerChannelMaxIdleTimeSeconds) * time.Second,
		},
		Version:       b.profile.Version,
		TLS:           b.o.TLS,
		TLSMode:       remoting.TLSMode(v.Own.TLSServerMode),
		SendBuffer:    v.Server.ServerSocketSndBufSize,
		ReceiveBuffer: v.Server.ServerSocketRcvBufSize,
		ProxyProtocol: !b.compat49(),
		Observe:       b.observe(),
		Log:           b.logOf("remoting"),
		Poison:        b.o.Poison,
	}
}

// connections takes clients out of the tables when their connection is gone.
type connections struct{ b *Broker }

func (connections) Connected(remoting.Channel) {}

func (c connections) Closed(ch remoting.Channel) {
	c.b.consumers.Closed(ch)
	c.b.producers.Closed(ch)
}

// arrived is told by the store's dispatcher of each message that can now be read.
func (b *Broker) arrived(a store.Arrival) {
	if told := b.arrivals.Load(); told != nil {
		(*told)(a)
	}
}

// Dispatcher handles the broker's requests, for connections that something else serves.
func (b *Broker) Dispatcher() remoting.Dispatcher { return b.table }

// Pipe opens an in-memory connection to the broker.
func (b *Broker) Pipe() net.Conn { return b.server.Pipe() }

// Addr is where the broker listens; the zero value before Start and without sockets.
func (b *Broker) Addr() netip.AddrPort { return addrOf(b.main) }

// FastAddr is the fast ("VIP") port, two below the main one.
func (b *Broker) FastAddr() netip.AddrPort { return addrOf(b.fast) }

func addrOf(l net.Listener) netip.AddrPort {
	if l == nil {
		return netip.AddrPort{}
	}
	a, _ := l.Addr().(*net.TCPAddr)
	return a.AddrPort()
}

// Advertised is the address that clients are told, and why its host was chosen.
func (b *Broker) Advertised() (addr, why string) {
	ip, why := b.values().AdvertisedIP()
	return net.JoinHostPort(ip, strconv.Itoa(b.port)), why
}

// String names the broker in logs.
func (b *Broker) String() string {
	addr, _ := b.Advertised()
	return fmt.Sprintf("broker[%s, %s]", b.values().BrokerName, addr)
}
