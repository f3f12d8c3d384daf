// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replication

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/config"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/ha"
	"rocketmq-go/telemetry/metric"
)

// SlaveOptions are what a Slave needs.
type SlaveOptions struct {
	Config   func() *config.BrokerValues
	Compat49 bool // what only 5.x has is not asked for
	Store    ha.Log
	Tables   Tables
	// Call sends a request to the master, signed if the broker has credentials.
	Call func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error)
	// Dial connects to the master's replication port; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Ask has the name servers asked who the master is; Found is called with their answers.
	Ask func()
	Log *slog.Logger
}

// Slave is a slave's part: it copies the log of its master and, every ten seconds, its tables.
type Slave struct {
	o  SlaveOptions
	ha *ha.Slave

	mu      sync.Mutex
	answers map[string]place // of the name servers
	at      place            // of the master; the zero place: nobody knows one

	found   chan struct{} // has an element when the master is another one, or has to be asked at once
	sync    synchronizer
	flushed atomic.Int64 // masterFlushOffset
}

// place is where a master is.
type place struct {
	addr string // of its main port
	ha   string // of its replication port
}

// NewSlave makes a slave; it does nothing before Run.
func NewSlave(o SlaveOptions) *Slave {
	s := &Slave{o: o, answers: map[string]place{}, found: make(chan struct{}, 1)}
	s.ha = ha.NewSlave(ha.SlaveOptions{
		Log: o.Store, Rules: func() ha.Rules { return rules(o.Config()) }, Dial: o.Dial, Logger: o.Log,
	})
	s.sync = synchronizer{o: &s.o}
	return s
}

// shortestAddress is the length from which haMasterAddress counts, as in Java.
const shortestAddress = 6

// fixed is the master's replication port if the configuration names it.
func (s *Slave) fixed() string {
	if addr := s.o.Config().Store.HaMasterAddress; len(addr) >= shortestAddress {
		return addr
	}
	return ""
}

// Found is told what a name server has answered to the registration: the master's addresses, empty if it does not know one.
func (s *Slave) Found(namesrv, addr, haAddr string) {
	answer := place{addr, haAddr}
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.answers[namesrv] != answer
	s.answers[namesrv] = answer
	var known place
	for _, a := range s.answers { // name servers that do not agree must not make the slave go to and fro
		if a == s.at || known.addr == "" {
			known = a
		}
	}
	switch {
	case news && addr != "":
		s.moveLocked(answer)
	case known.addr != "":
		s.moveLocked(known)
	case s.at.addr != "":
		// The log is still asked for where it was: the master may come back before a name server says so.
		s.o.Log.Warn("no name server knows the master any more", "master", s.at.addr)
		s.at = place{}
	}
}

func (s *Slave) moveLocked(to place) {
	if s.at == to {
		return
	}
	if s.fixed() == "" {
		s.ha.Follow(to.ha)
	}
	s.o.Log.Info("the name server tells the master", "master", to.addr, "replication", to.ha)
	s.at = to
	s.Refresh()
}

// Refresh has the tables copied at once.
func (s *Slave) Refresh() {
	select {
	case s.found <- struct{}{}:
	default:
	}
}

// StandIn tells whether the slave acts as master, or is about to. Then there is no master to copy tables from; the log is still
// asked for where it was. When it has returned, nothing of a master's is taken over any more.
func (s *Slave) StandIn(is bool) {
	s.sync.closeTables(is)
	if !is {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answers)
	s.at = place{}
}

// FollowLog copies the log from a replication port, beginning now; the tables still come from where a name server says that the master is.
func (s *Slave) FollowLog(haAddr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fixed() == "" {
		s.ha.Follow(haAddr)
	}
	s.ha.Retry()
}

// Hears tells whether the slave is connected to a master and has heard from it within a time.
func (s *Slave) Hears(within time.Duration) bool {
	state := s.ha.State()
	return state.Connected && time.Since(state.LastRead) < within
}

// Connected tells whether the slave is connected to its master.
func (s *Slave) Connected() bool { return s.ha.State().Connected }

// Master is the address of the master's main port, empty if no name server knows it.
func (s *Slave) Master() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.addr
}

// Configured has to be called when the configuration has changed.
func (s *Slave) Configured() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if addr := s.fixed(); addr != "" {
		s.ha.Follow(addr)
	} else if s.at.ha != "" {
		s.ha.Follow(s.at.ha)
	}
}

const (
	// syncEvery is the pause between two copies of the master's tables. Java's 5.x takes a minute, 4.9 the same ten seconds.
	syncEvery = 10 * time.Second
	// askEvery is the pause between two questions for a master that is not known.
	askEvery = 2 * time.Second
)

// Run copies log and tables until ctx ends.
func (s *Slave) Run(ctx context.Context) error {
	s.Configured()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.ha.Run(ctx) })
	g.Go(func() error { s.synchronize(ctx); return nil })
	return g.Wait()
}

// synchronize copies the master's tables as soon as it is known and every syncEvery.
func (s *Slave) synchronize(ctx context.Context) {
	for {
		wait := syncEvery
		if master := s.Master(); master != "" {
			if !s.sync.all(ctx, master) {
				s.o.Ask() // it may be elsewhere by now
			}
		} else {
			wait = askEvery
		}
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.found:
		case <-next.C:
			if wait == askEvery {
				s.o.Ask()
			}
		}
		next.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// Status is the answer of code 907.
func (s *Slave) Status() *protocol.HARuntimeInfo {
	c := s.ha.State()
	return &protocol.HARuntimeInfo{HaClientRuntimeInfo: protocol.HAClientRuntimeInfo{
		MasterAddr: c.MasterAddr, TransferredByteInSecond: c.BytesPerSecond, MaxOffset: c.MaxOffset,
		LastReadTimestamp: millis(c.LastRead), LastWriteTimestamp: millis(c.LastWrite), MasterFlushOffset: s.flushed.Load(),
	}}
}

// millis is a time in ms, 0 for never.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// ResetMasterFlushOffset notes what an administrator says of the master's disk (code 908). It is only shown.
func (s *Slave) ResetMasterFlushOffset(offset int64) { s.flushed.Store(offset) }

// Ready tells whether what consumers read here is their master's: the log and the tables are copied. While there is no master
// it is what they can get.
func (s *Slave) Ready() error {
	refused := s.sync.refused.Load()
	switch state := s.ha.State(); {
	case s.Master() == "":
		return nil
	case refused != nil:
		return fmt.Errorf("the master refuses to have its tables copied: %w", refused)
	case !state.Connected:
		return errors.New("the slave is not connected to its master")
	case !s.sync.done():
		return errors.New("the tables of the master have not been copied yet")
	}
	return nil
}

// Collect writes the metrics of replication.
func (s *Slave) Collect(w *metric.Writer) {
	state := s.ha.State()
	connected := 0.0
	if state.Connected {
		connected = 1
	}
	w.Gauge("rocketmq_broker_master_connected", "1 if the slave is connected to its master.").Value(connected)
	f := w.Gauge("rocketmq_broker_master_last_read_timestamp_seconds", "When the slave last heard from its master.")
	if !state.LastRead.IsZero() {
		f.Value(float64(state.LastRead.UnixMilli()) / 1000)
	}
	w.Counter("rocketmq_broker_master_copy_failures_total", "Tables of the master that could not be copied.").
		Value(float64(s.sync.failures.Load()))
}
