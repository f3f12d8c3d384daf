// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package controller is RocketMQ's controller of 5.x: it gives the brokers of a name their ids, says which of them is the
// master, and which of them have all messages.
//
//	c, err := controller.New(cfg, controller.Options{Log: log})
//	err = c.Start()
//	…
//	c.Close()
//
// Several controllers agree by Raft (state.go, raft.go); clients and controllers use the same port. Each keeps a table of
// the brokers that are alive, from heartbeats that brokers send to all of them (liveness.go). The leader elects another
// master when one is gone (election.go) and answers what is about the agreed state (replicas.go).
package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Options are what a Controller needs beside its configuration. The zero value is complete.
type Options struct {
	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now
	TLS *tls.Config      // nil: no TLS for clients; controllers speak plain text with each other
	// NoListen leaves out the socket: connections come from Pipe only, and there are no other controllers.
	NoListen bool
	// Listener takes the connections; nil: one is opened at the address that controllerDLegerPeers has.
	Listener net.Listener
	// Dial opens connections to brokers; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Poison overwrites each request's memory when it has been handled, for tests.
	Poison bool
}

// Controller is a controller.
type Controller struct {
	cfg     *config.Controller
	log     *slog.Logger
	options Options
	profile *compat.Profile

	peers []peer
	self  peer

	state   *state
	live    *liveness
	writing sync.Mutex // held while an event is checked and proposed
	leads   atomic.Bool

	leadsSince atomic.Int64 // ms

	raft      *raft.Raft
	logs      *boltdb.BoltStore
	transport raft.Transport

	routes  *remoting.Routes
	server  *remoting.Server
	client  *remoting.Client
	port    *port
	notices chan notice
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// notice is a change of masters that a broker has to hear of.
type notice struct {
	addr string
	r    *replicas
}

const (
	// maxNotices is how many may wait for a slow broker; more are dropped, since brokers ask by themselves too.
	maxNotices = 1024
	// noticeTimeout is how long one may take, with connecting.
	noticeTimeout = 3 * time.Second
	// minScan keeps a mistyped interval from turning a scan into a busy loop.
	minScan = 10 * time.Millisecond
)

// New makes a controller; it does nothing before Start.
func New(cfg *config.Controller, o Options) (*Controller, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	v := cfg.Load()
	peers, err := parsePeers(v.ControllerDLegerPeers)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		cfg: cfg, log: o.Log, options: o, profile: compat.For(cfg.CompatVersion()), peers: peers,
		state: newState(), live: newLiveness(o.Now), notices: make(chan notice, maxNotices),
	}
	for _, p := range peers {
		if p.id == v.ControllerDLegerSelfID {
			c.self = p
		}
	}
	if c.self.id == "" {
		return nil, fmt.Errorf("controllerDLegerSelfId=%s is not one of controllerDLegerPeers=%s", v.ControllerDLegerSelfID, v.ControllerDLegerPeers)
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.routes = remoting.NewRoutes(remoting.RoutesConfig{Log: c.log}, c.routeTable()...)
	c.server = remoting.NewServer(remoting.ServerConfig{
		Dispatcher: c.routes, Listener: connections{c},
		Limits: remoting.Limits{
			MaxFrame: v.Own.MaxFrameLength, MaxInFlight: v.Own.MaxRequestsPerConnection, MaxQueued: v.Own.MaxReplyBytesPerConnection,
			IdleTimeout: time.Duration(v.Server.ServerChannelMaxIdleTimeSeconds) * time.Second,
		},
		Version: c.profile.Version, TLS: o.TLS, TLSMode: remoting.TLSMode(v.Own.TLSServerMode), ProxyProtocol: true, Log: c.log, Poison: o.Poison,
	})
	c.client = remoting.NewClient(remoting.ClientConfig{Version: c.profile.Version, Dial: o.Dial, ConnectTimeout: noticeTimeout, Log: c.log})
	return c, nil
}

// Start opens the port, at the address that controllerDLegerPeers has for this controller, and joins the others. It does
// not wait for them.
func (c *Controller) Start() error {
	start := c.listen
	if c.options.NoListen {
		start = func() error {
			_, t := raft.NewInmemTransport(raft.ServerAddress(c.self.addr))
			return c.openRaft(t)
		}
	}
	if err := start(); err != nil {
		return err
	}
	c.running.Go(c.sendNotices)
	c.running.Go(func() {
		c.every(func() int64 { return c.cfg.Load().ScanNotActiveBrokerInterval }, func() {
			gone, channels := c.live.expire()
			for _, ch := range channels {
				ch.Close()
			}
			c.left(gone, "it was silent for too long")
		})
	})
	c.running.Go(func() {
		c.every(func() int64 { return c.cfg.Load().ScanInactiveMasterInterval }, func() {
			if c.Leading() {
				c.reelect()
			}
		})
	})
	return nil
}

// listen opens the port for clients and controllers.
func (c *Controller) listen() error {
	l := c.options.Listener
	if l == nil {
		_, number, err := net.SplitHostPort(c.self.addr)
		if err == nil {
			l, err = remoting.Listen(net.JoinHostPort(c.cfg.Load().Server.BindAddress, number))
		}
		if err != nil {
			return err
		}
	}
	c.port = newPort(l, c.log)
	c.running.Go(c.port.run)
	if err := c.openRaft(c.network(layer{side{c.port, c.port.controllers}, c.self.addr})); err != nil {
		return err
	}
	c.running.Go(func() {
		if err := c.server.Serve(side{c.port, c.port.clients}, false); err != nil && !errors.Is(err, net.ErrClosed) {
			c.log.Error("listening ended", "err", err)
		}
	})
	return nil
}

// Pipe opens an in-memory connection to the controller.
func (c *Controller) Pipe() net.Conn { return c.server.Pipe() }

// every does something again and again, with a pause of so many ms before.
func (c *Controller) every(ms func() int64, do func()) {
	pause := func() time.Duration { return max(config.Millis(ms()), minScan) }
	timer := time.NewTimer(pause())
	defer timer.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-timer.C:
		}
		do()
		timer.Reset(pause())
	}
}

// Leading tells whether this controller leads the others and knows all that was agreed on.
func (c *Controller) Leading() bool { return c.leads.Load() }

// Addr is the address by which brokers and controllers know this one.
func (c *Controller) Addr() string { return c.self.addr }

// leader is who leads, as far as this controller knows; empty if nobody does.
func (c *Controller) leader() (id, addr string) {
	a, i := c.raft.LeaderWithID()
	return string(i), string(a)
}

// connections takes brokers for gone when their connection is.
type connections struct{ c *Controller }

func (connections) Connected(remoting.Channel) {}

func (s connections) Closed(ch remoting.Channel) {
	if s.c.ctx.Err() != nil {
		return
	}
	if gone := s.c.live.closed(ch); len(gone) > 0 {
		s.c.running.Go(func() { s.c.left(gone, "its connection ended") })
	}
}

// Close ends all connections and leaves the others. It may be called without Start.
func (c *Controller) Close() error {
	c.stop()
	var errs []error
	if c.port != nil {
		errs = append(errs, c.port.Close())
	}
	errs = append(errs, c.server.Close(), c.routes.Close(), c.client.Close(), c.closeRaft())
	c.running.Wait()
	return errors.Join(errs...)
}

// sendNotices tells brokers of changes of masters.
func (c *Controller) sendNotices() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case n := <-c.notices:
			if err := c.send(n); err != nil {
				c.log.Warn("broker was not told of the master", "addr", n.addr, "err", err)
			}
		}
	}
}

func (c *Controller) send(n notice) error {
	ctx, cancel := context.WithTimeout(c.ctx, noticeTimeout)
	defer cancel()
	cmd := protocol.Command{Code: protocol.ReqNotifyBrokerRoleChanged, Flag: protocol.FlagOneway}
	header := protocol.NotifyBrokerRoleChangedRequestHeader{
		MasterAddress: protocol.Some(n.r.Brokers[n.r.Master].Address), MasterBrokerID: protocol.Some(n.r.Master),
		MasterEpoch: protocol.Some(n.r.Epoch), SyncStateSetEpoch: protocol.Some(n.r.SyncEpoch),
	}
	header.AppendFields(&cmd.Fields)
	cmd.Body = c.json(n.r.syncStateSet())
	return c.client.Oneway(ctx, n.addr, &cmd)
}

func (c *Controller) json(v any) []byte {
	return fastjson.Options{Omit: c.profile.OmitJSON}.Marshal(v)
}

func (r *replicas) syncStateSet() *protocol.SyncStateSet {
	return &protocol.SyncStateSet{SyncStateSet: r.InSync, SyncStateSetEpoch: r.SyncEpoch}
}

// peerList is the group as 1005 shows it.
func (c *Controller) peerList() string {
	var b strings.Builder
	for _, p := range c.peers {
		b.WriteString(p.id + ":" + p.addr + ";")
	}
	return b.String()
}

func boltOptions() *bbolt.Options { return &bbolt.Options{Timeout: time.Second} }
