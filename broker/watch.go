// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"errors"
	"fmt"
	"log/slog"

	"rocketmq-go/broker/metrics"
	"rocketmq-go/remoting"
	"rocketmq-go/telemetry/logs"
	"rocketmq-go/telemetry/metric"
)

// logOf is the log of a part whose lines go into a file of their own, as in Java.
func (b *Broker) logOf(file string) *slog.Logger { return b.log.With(logs.File, file) }

// observe is who is told of each answer: nobody if nobody is told of metrics.
func (b *Broker) observe() func(remoting.Observation) {
	if !b.values().MetricsTold() {
		return nil
	}
	return b.requests.Observe
}

// Collect writes the broker's metrics.
func (b *Broker) Collect(w *metric.Writer) {
	s := metrics.Sources{
		Config: b.values, Store: b.store, Topics: b.topics, Groups: b.groups, Offsets: b.offsets, Consumers: b.consumers,
		Producers: b.producers, Stats: b.stats, Transactions: b.transactions, Timers: b.timers, Pop: b.pops, Server: b.server,
		Requests: &b.requests, Flushes: b.flushes, Earliest: b.earliest, Waiting: b.table.Queued,
		Unsupported: b.table.Unsupported, Held: b.table.Holder.Held, Registered: b.registrar.Registered, Replication: b.replica(), Now: b.o.Now,
	}
	s.Collect(w)
}

// Ready tells whether producers and consumers can be served: the store takes messages, which a slave's need not, a slave
// copies its master, and a name server sends clients here. The error says what is missing.
func (b *Broker) Ready() error {
	err := b.replica().Ready()
	if !b.isSlave() && !b.store.Writable() {
		err = errors.New("the store takes no messages")
	}
	if ok, all := b.registrar.Registered(); all > 0 && ok == 0 {
		err = errors.Join(err, fmt.Errorf("none of %d name servers knows the broker", all))
	}
	return err
}
