// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/broker/acting"
	"rocketmq-go/broker/api"
	"rocketmq-go/broker/put"
	"rocketmq-go/broker/registration"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// grouped tells whether a slave of this broker's name may act as master. It holds from the start to the end.
func (b *Broker) grouped() bool { return !b.compat49() && b.values().EnableSlaveActingMaster }

// returns tells whether clients are told of the broker only when it has found its place in the group.
func (b *Broker) returns() bool {
	v, from := b.values(), b.nameServers()
	return b.group != nil && v.Store.TotalReplicas > 1 && !v.SkipPreOnline && (from.List != "" || from.AddressServer != "")
}

// serviceStore is where delay levels and timers store messages: a slave that acts as master has none of its own.
func (b *Broker) serviceStore() interface {
	Put(m *message.Message, done func(store.PutResult))
} {
	if b.bridge == nil && b.isSlave() && b.grouped() {
		b.bridge = acting.NewBridge(acting.BridgeOptions{
			Config: b.values, Servers: func() []string { return b.discovery.Servers() },
			Call: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
				return b.client.Call(ctx, addr, c)
			},
			Log: b.log,
		})
	}
	if b.bridge != nil {
		return b.bridge
	}
	return b.store
}

// bridged is a store whose new messages go over the bridge.
type bridged struct {
	*store.Store
	*acting.Bridge
}

func (s bridged) Put(m *message.Message, done func(store.PutResult)) { s.Bridge.Put(m, done) }

// servicePut is how transactions and POP store messages.
func (b *Broker) servicePut(o put.Options) *put.Pipeline {
	if b.bridge == nil {
		return b.put
	}
	o.Store, o.Timers = bridged{b.store, b.bridge}, nil // the other broker has the timers
	return put.New(o)
}

// readElsewhere reads a message at the master of another name, or at the slave that acts as such.
func (b *Broker) readElsewhere() func(ctx context.Context, broker, group, topic string, queueID int32, offset int64) ([]byte, error) {
	peers := b.peers()
	return func(ctx context.Context, broker, group, topic string, queueID int32, offset int64) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, config.Millis(b.values().ForwardTimeout))
		defer cancel()
		header := protocol.PullMessageRequestHeader{
			ConsumerGroup: protocol.Some(group), Topic: protocol.Some(topic), QueueID: protocol.Some(queueID), QueueOffset: protocol.Some(offset),
			MaxMsgNums: protocol.Some(int32(1)), SysFlag: protocol.Some(int32(pullSubscription)), CommitOffset: protocol.Some(int64(0)),
			SuspendTimeoutMillis: protocol.Some(int64(0)), Subscription: protocol.Some("*"), SubVersion: protocol.Some(int64(0)),
			ExpressionType: protocol.Some("TAG"),
		}
		cmd := &protocol.Command{Code: protocol.ReqPullMessage}
		header.AppendFields(&cmd.Fields)
		answer, err := peers.call(ctx, broker, cmd)
		switch {
		case err != nil:
			return nil, err
		case answer.Code == protocol.RespPullOffsetMoved:
			return nil, nil
		case answer.Code != protocol.RespSuccess:
			return nil, protocol.Errorf(answer.Code, "%s", answer.Remark.V)
		}
		if r, err := message.ParseRecord(answer.Body); err != nil || r.QueueOffset > offset {
			return nil, err
		}
		return answer.Body, nil
	}
}

// pullSubscription is the bit of a pull's sysFlag that says that it brings its subscription.
const pullSubscription = 4

// openGroup makes what watches the brokers of this name.
func (b *Broker) openGroup() {
	if !b.grouped() {
		return
	}
	o := acting.GroupOptions{
		Config: b.values, ID: b.values().BrokerID, Log: b.log,
		Members:   func(ctx context.Context) (map[int64]string, error) { return b.registrar.Members(ctx) },
		Heartbeat: func(ctx context.Context) { b.registrar.Heartbeat(ctx) },
		Told:      b.toldMin,
	}
	if b.isSlave() {
		o.Hears = func() bool { return b.slave.Hears(config.Millis(b.values().BrokerNotActiveTimeoutMillis)) }
	}
	b.group = acting.NewGroup(o)
}

// toldMin is told who has the smallest id.
func (b *Broker) toldMin(id int64) {
	if b.isSlave() {
		b.slave.StandIn(id != acting.MasterID)
	}
}

// acts tells whether this is a slave that acts as master.
func (b *Broker) acts() bool { return b.group != nil && b.group.Acts() }

func (b *Broker) aliveMembers() func() int {
	if !b.grouped() {
		return nil
	}
	return func() int { return b.group.Alive() }
}

func (b *Broker) actingRegistration() *registration.Acting {
	if b.group == nil {
		return nil
	}
	v := b.values()
	return &registration.Acting{
		Timeout: v.BrokerNotActiveTimeoutMillis, OldNamesrv: v.CompatibleWithOldNameSrv, TopicVersion: b.topics.DataVersion,
	}
}

// special are the services that one broker of a name runs, its master or who acts as such.
func (b *Broker) special() []func(context.Context) error {
	return []func(context.Context) error{b.schedule.Run, b.transactions.Run, b.runTimers, b.revive}
}

// stand runs the special services while this slave acts as master.
func (b *Broker) stand(ctx context.Context) error {
	b.offsets.Supersede()
	b.schedule.Supersede()
	return runAll(ctx, b.schedule.Run, b.transactions.Run, b.timers.Act, b.revive)
}

func runAll(ctx context.Context, services ...func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range services {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// join finds the broker's place in its group, lets clients be told of it, which closes known, and then does its part until ctx
// ends.
func (b *Broker) join(ctx context.Context, known chan<- struct{}) error {
	returned := b.returns()
	if returned {
		if err := acting.Return(ctx, b.returning()); err != nil {
			return nil // ctx has ended
		}
	}
	if b.master != nil {
		b.master.Alone(false)
	}
	b.keepRegistered(ctx)
	close(known)
	all := []func(context.Context) error{b.group.Run}
	switch {
	case b.isSlave():
		all = append(all, func(ctx context.Context) error { return b.group.Serve(ctx, b.stand, b.timers.Follow) })
	case returned:
		all = append(all, b.special()...)
	}
	return runAll(ctx, all...)
}

// returning is what has to be done before that.
func (b *Broker) returning() acting.ReturningOptions {
	o := acting.ReturningOptions{
		ID:      b.values().BrokerID,
		Members: func(ctx context.Context) (map[int64]string, error) { return b.registrar.Members(ctx) },
		Call: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
			return b.client.Call(ctx, addr, c)
		},
		Own: b.place, TakeOver: b.takeOver, Log: b.log,
	}
	if b.isSlave() {
		o.Connected = b.slave.Connected
		o.Follow = func(master acting.Place) { b.slave.FollowLog(master.HAAddr) }
	} else {
		o.Slaves = b.master.Sent
	}
	return o
}

// place is where a master is. Other brokers reach it by the address under which name servers know it.
func (b *Broker) place() acting.Place {
	v := b.values()
	return acting.Place{
		Addr: b.registered(v.BrokerIP1, "", b.port), HAAddr: b.registered(v.BrokerIP2, "", v.Store.HaListenPort),
		End: b.store.MaxPhyOffset(),
	}
}

// takeOver takes over what a slave has come to that acted as master. The queues must have what the log has: nobody is taken to
// be further than their ends.
func (b *Broker) takeOver(p acting.Progress) error {
	if b.store.DispatchBehind() > 0 {
		return errors.New("the queues do not have everything yet that is in the log")
	}
	if p.Offsets != nil {
		var w protocol.ConsumerOffsetSerializeWrapper
		if err := fastjson.Unmarshal(p.Offsets, &w); err != nil {
			return err
		}
		b.log.Info("consumer offsets taken over from the slave", "moved", b.offsets.TakeOver(&w, b.store.MaxOffset))
	}
	if p.Levels != nil {
		if err := b.schedule.TakeOver(p.Levels); err != nil {
			return err
		}
	}
	if p.Timers != nil {
		b.timers.TakeOver(*p.Timers)
	}
	return nil
}

// actingGroup is the group as handlers of requests see it.
func (b *Broker) actingGroup() api.Group {
	if b.group == nil {
		return nil
	}
	return groupRequests{b}
}

type groupRequests struct{ b *Broker }

// MinChanged implements api.Group.
func (g groupRequests) MinChanged() { g.b.group.Look() }

// Exchange implements api.Group: a master tells where it is; a slave that is told so follows, and acts no more. Asked without a
// master it does nothing.
func (g groupRequests) Exchange(ctx context.Context, told *protocol.ExchangeHAInfoRequestHeader) (*protocol.ExchangeHAInfoResponseHeader, error) {
	b := g.b
	if !b.isSlave() {
		own := b.place()
		return &protocol.ExchangeHAInfoResponseHeader{
			MasterAddress: protocol.Some(own.Addr), MasterHaAddress: protocol.Some(own.HAAddr), MasterFlushOffset: protocol.Some(b.storeBegan),
		}, nil
	}
	if told.MasterHaAddress.V == "" {
		return &protocol.ExchangeHAInfoResponseHeader{}, nil
	}
	b.slave.StandIn(true) // what the master has on disk may be older than what there is here
	if err := b.group.HandOver(ctx); err != nil {
		return nil, err
	}
	b.slave.FollowLog(told.MasterHaAddress.V)
	return &protocol.ExchangeHAInfoResponseHeader{}, nil
}
