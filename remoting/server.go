// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
)

// TLSMode says which connections a server takes; the values of Java's tls.server.mode.
type TLSMode string

const (
	TLSPermissive TLSMode = "permissive" // plain and TLS
	TLSEnforcing  TLSMode = "enforcing"  // TLS only
	TLSDisabled   TLSMode = "disabled"   // plain only
)

var errPlain = errors.New("remoting: a plain connection, but tls.server.mode is enforcing")

// ServerConfig describes a server. Only Dispatcher is required.
type ServerConfig struct {
	Dispatcher Dispatcher
	Listener   ConnListener
	Limits     Limits
	MaxConns   int               // default 65,536; more are closed at once
	Version    int32             // MQVersion ordinal in all frames, and by it the form of 4.x or 5.x
	Language   protocol.Language // in all frames, default JAVA

	TLS     *tls.Config // nil: no TLS
	TLSMode TLSMode     // default permissive

	ProxyProtocol bool          // take PROXY preambles (5.x does; who connects can then name any source address)
	DrainTimeout  time.Duration // how long Close waits for answers, default 3 s
	Log           *slog.Logger

	// Observe is told of every answer, for metrics. It must be quick.
	Observe func(Observation)

	// SendBuffer and ReceiveBuffer are the sizes of the sockets' buffers, bytes; 0: as the system chooses.
	SendBuffer, ReceiveBuffer int

	// Poison overwrites the memory of each request when its handler returns, to find handlers that keep views.
	Poison bool
}

// Observation is one request that was answered.
type Observation struct {
	Request, Response int32         // codes
	Took              time.Duration // since the request was read
	Held              bool          // it waited for something to happen (long polling)
	Oneway            bool          // the answer was not sent
}

// Server serves any number of listeners with one Dispatcher.
type Server struct {
	endpoint
	cfg   ServerConfig
	quiet quietLog

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	closing   bool
	stop      chan struct{} // ends the janitor
	running   sync.WaitGroup
}

// NewServer makes a server; Serve, ServeConn and Pipe bring connections to it.
func NewServer(cfg ServerConfig) *Server {
	cfg.Limits.fill()
	cfg.MaxConns = orDefault(cfg.MaxConns, 65536)
	cfg.DrainTimeout = orDefault(cfg.DrainTimeout, 3*time.Second)
	if cfg.TLSMode == "" {
		cfg.TLSMode = TLSPermissive
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		cfg: cfg, listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, stop: make(chan struct{}),
	}
	s.endpoint.set(cfg.Limits, cfg.Version, cfg.Language, cfg.Dispatcher, cfg.Listener, cfg.Log)
	s.poison, s.observe, s.began = cfg.Poison, cfg.Observe, time.Now()
	return s
}

// Counters says what happened to connections so far.
func (s *Server) Counters() Counters { return s.counters.snapshot() }

// Conns is the number of open connections.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Serve accepts connections until Close; fast marks the requests that come in as from the fast ("VIP") port. The
// listener is closed when Serve returns. After Close the error is nil.
func (s *Server) Serve(l net.Listener, fast bool) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer l.Close()
	pause := time.Duration(0)
	for {
		raw, err := l.Accept()
		if err == nil {
			pause = 0
			s.tune(raw)
			s.ServeConn(raw, fast)
			continue
		}
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if closing {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		// Out of file descriptors, most likely: existing connections go on.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.quiet.warn(s.log, "accept", "accept failed", "error", err, "retry", pause)
		select {
		case <-time.After(pause):
		case <-s.stop:
		}
	}
}

// tune sets the buffers of an accepted connection.
func (s *Server) tune(raw net.Conn) {
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		return
	}
	if n := s.cfg.SendBuffer; n > 0 {
		_ = tcp.SetWriteBuffer(n)
	}
	if n := s.cfg.ReceiveBuffer; n > 0 {
		_ = tcp.SetReadBuffer(n)
	}
}

// ServeConn serves one connection in its own goroutine.
func (s *Server) ServeConn(raw net.Conn, fast bool) {
	c := newConn(&s.endpoint, raw)
	c.fast = fast
	s.mu.Lock()
	full := len(s.conns) >= s.cfg.MaxConns
	if full || s.closing {
		s.mu.Unlock()
		raw.Close()
		if full {
			s.counters.refused.Add(1)
			s.quiet.warn(s.log, "refused", "connection refused: too many", "peer", raw.RemoteAddr(), "max", s.cfg.MaxConns)
		}
		return
	}
	if len(s.conns) == 0 && s.counters.accepted.Load() == 0 {
		s.running.Go(func() { janitor(&s.endpoint, s.stop, s.each) })
	}
	s.conns[c] = struct{}{}
	s.counters.accepted.Add(1)
	s.running.Go(func() { s.run(c) })
	s.mu.Unlock()
}

func (s *Server) run(c *conn) {
	c.in.init(c)
	err := s.open(c)
	if err == nil {
		err = c.serve()
	}
	if reason := c.reason(); reason != nil && !errors.Is(reason, ErrClosed) {
		err = reason
	}
	c.Close()
	c.in.release(c)
	s.counters.count(err)
	s.report(c, err)
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// report logs why a connection ended, if that is worth a line.
func (s *Server) report(c *conn, err error) {
	var frame *protocol.FrameError
	var other *foreignError
	switch {
	case errors.As(err, &other):
		s.quiet.warn(s.log, other.what, "connection closed", "peer", c.remote, "reason", err)
	case errors.As(err, &frame):
		s.quiet.warn(s.log, string(frame.Kind), "connection closed", "peer", c.remote, "reason", err)
	case errors.Is(err, errPlain), errors.Is(err, errSlow), errors.Is(err, errCrowded):
		s.quiet.warn(s.log, err.Error(), "connection closed", "peer", c.remote, "reason", err)
	case err != nil && !errors.Is(err, io.EOF):
		s.log.Debug("connection closed", "peer", c.remote, "reason", err)
	}
}

// each calls f for every connection.
func (s *Server) each(f func(*conn)) {
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		f(c)
	}
}

// Close stops accepting and reading, waits for the answers to detached requests (but not to held ones) at most
// DrainTimeout, and closes all connections.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		s.running.Wait()
		return nil
	}
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	s.mu.Unlock()
	close(s.stop)
	s.draining.Store(true)
	s.each((*conn).stopReading)

	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(s.cfg.DrainTimeout):
	}
	s.each(func(c *conn) { c.Close() })
	<-done
	return nil
}
