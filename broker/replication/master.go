// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replication

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
	"rocketmq-go/store/ha"
	"rocketmq-go/telemetry/metric"
)

// MasterOptions are what a Master needs.
type MasterOptions struct {
	Config   func() *config.BrokerValues
	Compat49 bool // one slave is waited for, whatever inSyncReplicas says
	Log      *slog.Logger
	// Alive is how many brokers of the name live, this one included, in a group whose slaves may act as master; nil: it is none.
	Alive func() int
}

// Log is a commit log, and whoever waits for its copies.
type Log interface {
	ha.Log
	Acknowledged()
}

// Master is a master's part: it sends the log to whoever connects, and knows whom a send has to wait for.
type Master struct {
	o     MasterOptions
	store Log
	ha    *ha.Master

	alone atomic.Bool // nothing is put yet

	behind map[netip.AddrPort]bool // slaves that were said to be behind
}

var _ store.Replication = (*Master)(nil)

// NewMaster makes a master. A store needs one to be opened, and Attach tells it that store, before anything is put.
func NewMaster(o MasterOptions) *Master { return &Master{o: o, behind: map[netip.AddrPort]bool{}} }

// Attach gives the master its log.
func (m *Master) Attach(log Log) {
	m.store = log
	m.ha = ha.NewMaster(ha.MasterOptions{
		Log: log, Rules: func() ha.Rules { return rules(m.o.Config()) }, Acknowledged: log.Acknowledged, Logger: m.o.Log,
	})
}

// Serve takes slaves that connect until ctx ends. It closes l.
func (m *Master) Serve(ctx context.Context, l net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return m.ha.Serve(ctx, l) })
	g.Go(func() error { m.watch(ctx); return nil })
	return g.Wait()
}

// Appended implements store.Replication.
func (m *Master) Appended() { m.ha.Appended() }

// Acked implements store.Replication.
func (m *Master) Acked(slaves int) int64 { return m.ha.Acked(slaves) }

// Alone has all puts refused, or no more: a master that is to take over from its slave is alone at first.
func (m *Master) Alone(is bool) { m.alone.Store(is) }

// Admit implements store.Replication: where slaves may act as master, a SYNC_MASTER stores nothing while less brokers are in sync
// than it would wait for.
func (m *Master) Admit() store.PutStatus {
	if m.alone.Load() {
		return store.ServiceNotAvailable
	}
	v := m.o.Config()
	if m.o.Alive == nil || v.Store.BrokerRole != config.SyncMaster {
		return store.PutOK
	}
	if need, inSync := m.replicas(v); need > inSync {
		return store.InSyncReplicasNotEnough
	}
	return store.PutOK
}

// replicas is how many brokers must have a message before its sender is answered, and how many are in sync, this one included.
// With enableAutoInSyncReplicas no more are waited for than there are, but minInSyncReplicas at least.
func (m *Master) replicas(v *config.BrokerValues) (need, inSync int) {
	inSync = min(m.o.Alive(), 1+m.ha.InSync(maxGap(v, false)))
	need = v.Store.InSyncReplicas
	if v.Store.EnableAutoInSyncReplicas {
		need = max(min(need, inSync), v.Store.MinInSyncReplicas)
	}
	return need, inSync
}

// Sent is how many slaves are sent the log.
func (m *Master) Sent() (n int) {
	for _, s := range m.ha.Slaves() {
		if s.SentTo >= 0 {
			n++
		}
	}
	return n
}

// Need implements store.Replication: a SYNC_MASTER of 5.x waits for as many slaves as make inSyncReplicas with itself, which
// is none by default. One of 4.9 waits for one slave, if there is one that is not far behind.
func (m *Master) Need(int64) (slaves int, status store.PutStatus) {
	v := m.o.Config()
	switch {
	case v.Store.BrokerRole != config.SyncMaster:
		return 0, store.PutOK
	case m.o.Alive != nil:
		need, _ := m.replicas(v)
		return need - 1, store.PutOK
	case !m.o.Compat49:
		return v.Store.InSyncReplicas - 1, store.PutOK
	case m.ha.InSync(maxGap(v, true)) == 0:
		return 0, store.SlaveNotAvailable
	}
	return 1, store.PutOK
}

// watch says when slaves fall behind and when they have caught up. That they come and go is said by the stream.
func (m *Master) watch(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.look()
		}
	}
}

func (m *Master) look() {
	end, gap := m.store.MaxPhyOffset(), maxGap(m.o.Config(), m.o.Compat49)
	now := map[netip.AddrPort]bool{}
	for _, s := range m.ha.Slaves() {
		lag := end - s.Acked
		switch was := m.behind[s.Addr]; {
		case lag >= gap:
			now[s.Addr] = true
			if !was {
				m.o.Log.Warn("slave is behind", "addr", s.Addr, "bytes", lag, "limit", gap)
			}
		case was:
			m.o.Log.Info("slave has caught up", "addr", s.Addr, "bytes", lag)
		}
	}
	m.behind = now
}

// Status is the answer of code 907.
func (m *Master) Status() *protocol.HARuntimeInfo {
	end, gap := m.store.MaxPhyOffset(), maxGap(m.o.Config(), m.o.Compat49)
	info := &protocol.HARuntimeInfo{Master: true, MasterCommitLogMaxOffset: end}
	for _, s := range m.ha.Slaves() {
		c := protocol.HAConnectionRuntimeInfo{
			Addr: s.Addr.String(), SlaveAckOffset: s.Acked, Diff: end - s.Acked, InSync: end-s.Acked < gap,
			TransferredByteInSecond: s.BytesPerSecond, TransferFromWhere: s.SentTo,
		}
		if c.InSync {
			info.InSyncSlaveNums++
		}
		info.HaConnectionInfo = append(info.HaConnectionInfo, c)
	}
	return info
}

// ResetMasterFlushOffset does nothing: only a slave has such an offset.
func (m *Master) ResetMasterFlushOffset(int64) {}

// Ready is nil once clients may come: then a master does not need its slaves.
func (m *Master) Ready() error {
	if m.alone.Load() {
		return errors.New("the master has not taken over from its slaves yet")
	}
	return nil
}

// Collect writes the metrics of replication.
func (m *Master) Collect(w *metric.Writer) {
	info := m.Status()
	w.Gauge("rocketmq_broker_slaves", "Slaves that are connected.").Value(float64(len(info.HaConnectionInfo)))
	w.Gauge("rocketmq_broker_slaves_in_sync", "Those of them that are not far behind.").Value(float64(info.InSyncSlaveNums))
	lag := w.Gauge("rocketmq_broker_slave_lag_bytes", "How much of the commit log a slave has not acknowledged.")
	for i := range info.HaConnectionInfo {
		s := &info.HaConnectionInfo[i]
		lag.Value(float64(s.Diff), "slave", s.Addr)
	}
}
