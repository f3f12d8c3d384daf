// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
)

// ClientConfig describes a client. The zero value works.
type ClientConfig struct {
	Dispatcher Dispatcher   // handles requests that servers send; nil: they are refused
	Listener   ConnListener // learns of connections
	Limits     Limits
	Version    int32
	Language   protocol.Language // default JAVA
	TLS        *tls.Config       // nil: plain
	// Dial opens a connection, by default over TCP; host names are resolved at each connect.
	Dial           func(ctx context.Context, addr string) (net.Conn, error)
	ConnectTimeout time.Duration // default 3 s
	// MaxBackoff bounds the pause after failed connects, which starts at 50 ms and doubles; default 2 s. Calls during
	// the pause fail at once with the last error.
	MaxBackoff time.Duration
	// Sign adds what proves who sends a request, to a copy of it. It is asked by Call and Oneway of the Client; nil: nothing.
	Sign func(*protocol.Command)
	Log  *slog.Logger
}

// Client sends requests to any number of addresses, over one connection per address, opened when it is needed.
type Client struct {
	endpoint
	cfg     ClientConfig
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	peers map[string]*peer
	once  sync.Once // starts the janitor
}

// peer is one address.
type peer struct {
	addr string
	turn chan struct{} // holds a token: who takes it may connect

	// With the token:
	failed  error
	pause   time.Duration
	retryAt time.Time

	// With Client.mu:
	conn *conn
}

// NewClient makes a client.
func NewClient(cfg ClientConfig) *Client {
	cfg.Limits.fill()
	cfg.ConnectTimeout = orDefault(cfg.ConnectTimeout, 3*time.Second)
	cfg.MaxBackoff = orDefault(cfg.MaxBackoff, 2*time.Second)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Dial == nil {
		d := &net.Dialer{KeepAlive: -1}
		cfg.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if cfg.Dispatcher == nil {
		cfg.Dispatcher = NewRoutes(RoutesConfig{Log: cfg.Log})
	}
	c := &Client{cfg: cfg, peers: map[string]*peer{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.endpoint.set(cfg.Limits, cfg.Version, cfg.Language, cfg.Dispatcher, cfg.Listener, cfg.Log)
	return c
}

// Call sends a request to addr and waits for the answer, whatever its code, until ctx ends. An error means that there
// is no answer; the request may or may not have been handled.
func (c *Client) Call(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	ch, err := c.Channel(ctx, addr)
	if err != nil {
		return nil, err
	}
	answer, err := ch.Call(ctx, c.signed(cmd))
	if err != nil {
		return nil, fmt.Errorf("request %d to %s: %w", cmd.Code, addr, err)
	}
	return answer, nil
}

// Oneway sends a request that is not answered.
func (c *Client) Oneway(ctx context.Context, addr string, cmd *protocol.Command) error {
	ch, err := c.Channel(ctx, addr)
	if err != nil {
		return err
	}
	return ch.Oneway(c.signed(cmd))
}

// signed is the request with its signature. The caller may send the same one elsewhere at the same time.
func (c *Client) signed(cmd *protocol.Command) *protocol.Command {
	if c.cfg.Sign == nil {
		return cmd
	}
	s := *cmd
	s.Fields.List = slices.Clone(cmd.Fields.List)
	c.cfg.Sign(&s)
	return &s
}

// Channel is the open connection to addr, opened now if there is none.
func (c *Client) Channel(ctx context.Context, addr string) (Channel, error) {
	p := c.peer(addr)
	if ch := c.open(p); ch != nil {
		return ch, nil
	}
	select {
	case <-p.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ctx.Done():
		return nil, ErrClosed
	}
	defer func() { p.turn <- struct{}{} }()
	if ch := c.open(p); ch != nil {
		return ch, nil
	}
	if p.failed != nil && time.Now().Before(p.retryAt) {
		return nil, p.failed
	}
	ch, err := c.connect(ctx, p)
	if err == nil {
		p.failed, p.pause = nil, 0
		return ch, nil
	}
	err = fmt.Errorf("connect to %s: %w", addr, err)
	if ctx.Err() == nil {
		p.failed = err
		p.pause = min(max(2*p.pause, 50*time.Millisecond), c.cfg.MaxBackoff)
		p.retryAt = time.Now().Add(p.pause)
	}
	return nil, err
}

func (c *Client) peer(addr string) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peers[addr]
	if p == nil {
		p = &peer{addr: addr, turn: make(chan struct{}, 1)}
		p.turn <- struct{}{}
		c.peers[addr] = p
	}
	return p
}

func (c *Client) open(p *peer) Channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.conn == nil || p.conn.reason() != nil {
		return nil
	}
	return p.conn
}

func (c *Client) connect(ctx context.Context, p *peer) (Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	stop := context.AfterFunc(c.ctx, cancel)
	defer stop()
	raw, err := c.cfg.Dial(ctx, p.addr)
	if err != nil {
		return nil, err
	}
	if c.cfg.TLS != nil {
		t := tls.Client(raw, c.tlsConfig(p.addr))
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		raw = t
	}
	cn := newConn(&c.endpoint, raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		raw.Close()
		return nil, ErrClosed
	}
	p.conn = cn
	c.once.Do(func() { c.running.Go(func() { janitor(&c.endpoint, c.ctx.Done(), c.each) }) })
	c.running.Go(func() {
		cn.in.init(cn)
		err := cn.serve()
		cn.in.release(cn)
		c.counters.count(err)
		c.log.Debug("connection to server ended", "addr", p.addr, "reason", errors.Join(err, cn.reason()))
	})
	return cn, nil
}

func (c *Client) tlsConfig(addr string) *tls.Config {
	cfg := c.cfg.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	return cfg
}

func (c *Client) each(f func(*conn)) {
	c.mu.Lock()
	var conns []*conn
	for _, p := range c.peers {
		if p.conn != nil {
			conns = append(conns, p.conn)
		}
	}
	c.mu.Unlock()
	for _, cn := range conns {
		f(cn)
	}
}

// Disconnect closes the connection to addr, if there is one; the next call opens another.
func (c *Client) Disconnect(addr string) {
	p := c.peer(addr)
	if ch := c.open(p); ch != nil {
		ch.Close()
	}
}

// Close closes all connections and waits for their goroutines. Calls under way fail.
func (c *Client) Close() error {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.each(func(cn *conn) { cn.Close() })
	c.running.Wait()
	return nil
}
