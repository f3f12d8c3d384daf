// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"net"

	"rocketmq-go/broker/api"
	"rocketmq-go/broker/replication"
	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
	"rocketmq-go/telemetry/metric"
)

// replica is a broker's part in replication: replication.Master or replication.Slave.
type replica interface {
	api.Replication
	Ready() error
	Collect(w *metric.Writer)
}

// isSlave holds from the start to the end.
func (b *Broker) isSlave() bool { return b.values().Store.BrokerRole == config.Slave }

func (b *Broker) replica() replica {
	if b.isSlave() {
		return b.slave
	}
	return b.master
}

// openStore opens the store, a slave's as the copy that it is.
func (b *Broker) openStore(c store.Config) (err error) {
	if !b.isSlave() {
		b.master = replication.NewMaster(replication.MasterOptions{
			Config: b.values, Compat49: b.compat49(), Alive: b.aliveMembers(), Log: b.logOf("store"),
		})
		c.Replication = b.master
		if b.o.NoListen {
			b.ha = replication.NewPipes()
		}
	}
	if b.isSlave() {
		c.Renumbered = b.renumbered
	}
	if b.store, err = store.Open(c); err == nil && b.master != nil {
		b.master.Attach(b.store)
	}
	return err
}

// renumbered is told of a topic that the master has deleted and made again.
func (b *Broker) renumbered(topic string) {
	b.forget([]string{topic})
	b.slave.Refresh() // for what is noted of the new messages
}

// forget forgets what a slave has noted of the messages of topics that its master has deleted.
func (b *Broker) forget(topics []string) {
	if !b.compat49() { // which leaves the offsets, as its masters do
		for _, topic := range topics {
			b.offsets.RemoveTopic(topic)
		}
	}
	if b.compaction != nil {
		b.compaction.DeleteTopics(topics)
	}
}

// openSlave makes what copies the master's log and tables, if this is a slave.
func (b *Broker) openSlave() {
	if !b.isSlave() {
		return
	}
	b.slave = replication.NewSlave(replication.SlaveOptions{
		Config: b.values, Compat49: b.compat49(), Store: b.store,
		Tables: replication.Tables{
			Topics: b.topics, Mappings: b.mappings, Groups: b.groups, Offsets: b.offsets, Schedule: b.schedule,
			Assignment: b.assignment, Timers: b.timers,
			DeleteQueues: func(topics []string, phyOffset int64) {
				b.store.DeleteTopicsBefore(topics, phyOffset)
				b.forget(topics)
			},
		},
		Call: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
			return b.client.Call(ctx, addr, c)
		},
		Dial: b.dial(), Ask: func() { b.registrar.Again() }, Log: b.logOf("store"),
	})
}

// follow runs what only a slave does.
func (b *Broker) follow() []func(context.Context) error {
	all := []func(context.Context) error{b.slave.Run}
	switch {
	case b.group != nil: // what follows here, or stands in for the master, begins when clients are told of the broker
	case b.timers != nil:
		all = append(all, b.timers.Follow)
	}
	return all
}

// lead runs what only a master does: what stores messages, and what corrects what slaves have from it.
func (b *Broker) lead() []func(context.Context) error {
	all := []func(context.Context) error{b.runProtection}
	if !b.returns() {
		all = append(all, b.special()...)
	}
	if b.ha != nil {
		all = append(all, func(ctx context.Context) error { return b.master.Serve(ctx, b.ha) })
	}
	return all
}

// HAPipe opens an in-memory connection to the replication port of a master without sockets.
func (b *Broker) HAPipe() net.Conn { return b.ha.(*replication.Pipes).Dial() }
