// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package rocketmqtest runs a name server and a broker inside a Go test.
//
//	func TestOrders(t *testing.T) {
//		mq := rocketmqtest.Start(t)
//		producer, err := rocketmq.NewProducer(producer.WithNameServer([]string{mq.NamesrvAddr}))
//		…
//	}
//
// Settings are Java's defaults, but for SQL92 filters, which are on (enablePropertyFilter), and smaller files.
// Each cluster has its own ports on 127.0.0.1 and its own directory, which is removed when the test ends. It is ready
// when Start returns and gone, with all its goroutines, when the test is over. Many may run at once.
package rocketmqtest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/namesrv"
)

// Cluster is a name server and a broker.
type Cluster struct {
	// NamesrvAddr and BrokerAddr are host:port. WithPipe they are names that only Dial knows.
	NamesrvAddr string
	BrokerAddr  string
	// Dir holds the store and the name server's files.
	Dir     string
	Broker  *broker.Broker
	Namesrv *namesrv.Server

	t       testing.TB
	o       options
	pipe    bool
	stopped bool

	mu sync.Mutex // guards Broker and Namesrv against Dial, which the servers use too
}

type options struct {
	pipe    bool
	dir     string
	set     map[string]string // of the broker
	namesrv map[string]string
	log     *slog.Logger
	now     func() time.Time
	poison  bool
	dial    func(context.Context, string) (net.Conn, error)
}

// Option changes what Start makes.
type Option func(*options)

// WithConfig sets a key of the broker's configuration.
func WithConfig(key, value string) Option { return func(o *options) { o.set[key] = value } }

// WithNamesrvConfig sets a key of the name server's configuration.
func WithNamesrvConfig(key, value string) Option { return func(o *options) { o.namesrv[key] = value } }

// WithPipe opens no sockets: connections come from Dial. A cluster without sockets can run in a testing/synctest bubble.
func WithPipe() Option { return func(o *options) { o.pipe = true } }

// WithDir keeps the store in a directory, which is not removed.
func WithDir(dir string) Option { return func(o *options) { o.dir = dir } }

// WithLog gives the servers a log; without it they are silent.
func WithLog(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithClock gives the servers another clock.
func WithClock(now func() time.Time) Option { return func(o *options) { o.now = now } }

// WithDial connects a cluster without sockets (WithPipe) with what is not part of it.
func WithDial(dial func(ctx context.Context, addr string) (net.Conn, error)) Option {
	return func(o *options) { o.dial = dial }
}

// WithPoison overwrites each request when it has been handled, to find code that keeps views of it.
func WithPoison() Option { return func(o *options) { o.poison = true } }

const (
	pipeNamesrv = "127.0.0.1:9876"
	pipeBroker  = "127.0.0.1:10911"
	stopTimeout = time.Minute
)

// Start runs a cluster until the test ends. It ends the test if that fails.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	o := options{set: map[string]string{}, namesrv: map[string]string{}, log: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		opt(&o)
	}
	c := &Cluster{t: t, o: o, Dir: o.dir, pipe: o.pipe}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	if err := c.start(); err != nil {
		c.stop()
		t.Fatalf("rocketmqtest: %v", err)
	}
	t.Cleanup(c.Stop)
	return c
}

func (c *Cluster) start() error {
	if err := c.startNamesrv(); err != nil {
		return fmt.Errorf("name server: %w", err)
	}
	if err := c.startBroker(); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}

// noEnv keeps the surroundings of the test out of the servers.
func noEnv(string) string { return "" }

func (c *Cluster) startNamesrv() error {
	port, bind := "0", "127.0.0.1"
	if _, p, err := net.SplitHostPort(c.NamesrvAddr); err == nil {
		port = p // of a name server that comes back
	}
	set := map[string]string{
		"listenPort": port, "bindAddress": bind,
		"kvConfigPath":    filepath.Join(c.Dir, "namesrv", "kvConfig.json"),
		"configStorePath": filepath.Join(c.Dir, "namesrv", "namesrv.properties"),
		"rocketmqHome":    c.Dir,
	}
	for key, value := range c.o.namesrv {
		set[key] = value
	}
	cfg, _, err := config.LoadNamesrv(config.Options{Set: set, Env: noEnv})
	if err != nil {
		return err
	}
	ns, err := namesrv.New(cfg, namesrv.Options{Log: c.o.log, Now: c.o.now, NoListen: c.pipe, Dial: c.dial(), Poison: c.o.poison})
	if err != nil {
		return err
	}
	c.setNamesrv(ns)
	if err := ns.Start(); err != nil {
		return err
	}
	c.NamesrvAddr = pipeNamesrv
	if !c.pipe {
		c.NamesrvAddr = ns.Addr().String()
	}
	return nil
}

func (c *Cluster) startBroker() error {
	set := map[string]string{
		"brokerName": "broker-a", "brokerClusterName": "DefaultCluster", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1",
		"bindAddress": "127.0.0.1", "listenPort": "0", "storePathRootDir": filepath.Join(c.Dir, "store"),
		"namesrvAddr": c.NamesrvAddr, "rocketmqHome": c.Dir, "enablePropertyFilter": "true",
		// Small files: a test's store is small, and many may run at once.
		"mappedFileSizeCommitLog": "16777216", "mappedFileSizeConsumeQueue": "60000", "maxIndexNum": "20000",
		"maxHashSlotNum": "5000",
	}
	if c.pipe {
		set["listenPort"] = "10911"
	}
	if _, p, err := net.SplitHostPort(c.BrokerAddr); err == nil {
		set["listenPort"] = p
	}
	for key, value := range c.o.set {
		set[key] = value
	}
	cfg, _, err := config.LoadBroker(config.Options{Set: set, Env: noEnv})
	if err != nil {
		return err
	}
	b, err := broker.New(broker.Options{
		Config: cfg, Log: c.o.log, Now: c.o.now, NoListen: c.pipe, Dial: c.dial(), Poison: c.o.poison,
	})
	if err != nil {
		return err
	}
	c.setBroker(b)
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		return err
	}
	c.BrokerAddr = pipeBroker
	if !c.pipe {
		c.BrokerAddr = b.Addr().String()
	}
	return nil
}

func (c *Cluster) dial() func(context.Context, string) (net.Conn, error) {
	if !c.pipe {
		return nil
	}
	return c.Dial
}

// Dial opens a connection to a server of the cluster, over a socket or, WithPipe, in memory. It fits
// remoting.ClientConfig.
func (c *Cluster) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if !c.pipe {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", addr)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case addr == pipeNamesrv && c.Namesrv != nil:
		return c.Namesrv.Pipe(), nil
	case strings.HasPrefix(addr, "127.0.0.1:109") && c.Broker != nil:
		return c.Broker.Pipe(), nil
	case c.o.dial != nil:
		return c.o.dial(ctx, addr)
	}
	return nil, fmt.Errorf("rocketmqtest: nobody listens at %s", addr)
}

func (c *Cluster) setBroker(b *broker.Broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Broker = b
}

func (c *Cluster) setNamesrv(s *namesrv.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Namesrv = s
}

// StopBroker stops the broker as an administrator does. Its directory stays for RestartBroker.
func (c *Cluster) StopBroker() {
	c.t.Helper()
	if err := c.stopBroker(); err != nil {
		c.t.Errorf("rocketmqtest: broker: %v", err)
	}
}

func (c *Cluster) stopBroker() error {
	if c.Broker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := c.Broker.Close(ctx)
	c.setBroker(nil)
	return err
}

// RestartBroker stops the broker, if it runs, and starts it again with the same directory and port.
func (c *Cluster) RestartBroker() {
	c.t.Helper()
	c.StopBroker()
	if err := c.startBroker(); err != nil {
		c.t.Fatalf("rocketmqtest: broker: %v", err)
	}
}

// StopNamesrv stops the name server, RestartNamesrv starts another one, which knows nothing, at the same address.
func (c *Cluster) StopNamesrv() {
	c.t.Helper()
	if err := c.stopNamesrv(); err != nil {
		c.t.Errorf("rocketmqtest: name server: %v", err)
	}
}

func (c *Cluster) stopNamesrv() error {
	if c.Namesrv == nil {
		return nil
	}
	err := c.Namesrv.Close()
	c.setNamesrv(nil)
	return err
}

// RestartNamesrv starts a name server without memory at the address of the former one.
func (c *Cluster) RestartNamesrv() {
	c.t.Helper()
	c.StopNamesrv()
	if err := c.startNamesrv(); err != nil {
		c.t.Fatalf("rocketmqtest: name server: %v", err)
	}
}

// Stop stops both servers. The test's end does it too.
func (c *Cluster) Stop() {
	c.t.Helper()
	for _, err := range c.stop() {
		c.t.Errorf("rocketmqtest: %v", err)
	}
}

func (c *Cluster) stop() (failed []error) {
	if c.stopped {
		return nil
	}
	c.stopped = true
	for _, err := range []error{c.stopBroker(), c.stopNamesrv()} {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
