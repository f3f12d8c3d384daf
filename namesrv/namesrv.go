// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package namesrv is RocketMQ's name server: brokers tell it which topics they serve, clients ask it for routes.
// It keeps everything in memory except the key-value configuration and its own settings; after a restart brokers
// fill it again within their registration period.
//
//	s, err := namesrv.New(cfg, namesrv.Options{Log: log})
//	err = s.Start()
//	…
//	s.Close()
//
// Servers share nothing: many of them may live in one process.
package namesrv

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/namesrv/kvconfig"
	"rocketmq-go/namesrv/registration"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/observe"
	"rocketmq-go/remoting/protocol"
)

// Options are what a Server needs beside its configuration. The zero value is complete.
type Options struct {
	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now
	TLS *tls.Config      // nil: no TLS
	// NoListen leaves out the listening socket: connections come from Pipe only.
	NoListen bool
	// Dial opens connections to brokers; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Poison overwrites each request's memory when it has been handled, for tests.
	Poison bool
}

// Server is a name server.
type Server struct {
	cfg     *config.Namesrv
	profile *compat.Profile
	options Options
	log     *slog.Logger
	now     func() time.Time
	printer registration.Printer
	started time.Time

	requests observe.Requests
	departed [len(departures)]atomic.Int64

	table  *route.Table
	kv     *kvconfig.Store
	routes *remoting.Routes
	server *remoting.Server
	client *remoting.Client

	listener net.Listener
	notices  chan notice
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// New makes a name server and reads its key-value configuration. It does nothing before Start.
func New(cfg *config.Namesrv, o Options) (*Server, error) {
	v := cfg.Load()
	if v.ClusterTest {
		return nil, errors.New("clusterTest=true asks another environment for routes, which this name server does not do")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	kv, err := kvconfig.Open(v.KvConfigPath, o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, profile: compat.For(cfg.CompatVersion()), options: o, log: o.Log, now: o.Now, printer: registration.NewPrinter(),
		kv: kv, notices: make(chan notice, maxNotices),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.started = s.now()
	s.table = route.New(s.profile, s.now)
	s.routes = remoting.NewRoutes(remoting.RoutesConfig{Log: s.log}, s.routeTable()...)
	s.server = remoting.NewServer(s.serverConfig(v))
	s.client = remoting.NewClient(remoting.ClientConfig{
		Version: s.profile.Version, Dial: o.Dial, ConnectTimeout: noticeTimeout, Log: s.log,
	})
	return s, nil
}

func (s *Server) serverConfig(v *config.NamesrvValues) remoting.ServerConfig {
	var observed func(remoting.Observation) // nobody if nobody can ask
	if v.Own.HTTPListen != "" {
		observed = s.requests.Observe
	}
	return remoting.ServerConfig{
		Dispatcher: s.routes,
		Listener:   s,
		Limits: remoting.Limits{
			MaxFrame:    v.Own.MaxFrameLength,
			MaxInFlight: v.Own.MaxRequestsPerConnection,
			MaxQueued:   v.Own.MaxReplyBytesPerConnection,
			IdleTimeout: time.Duration(v.Server.ServerChannelMaxIdleTimeSeconds) * time.Second,
		},
		Version:       s.profile.Version,
		TLS:           s.options.TLS,
		TLSMode:       remoting.TLSMode(v.Own.TLSServerMode),
		ProxyProtocol: s.profile.Release != compat.Release497,
		Observe:       observed,
		Log:           s.log,
		Poison:        s.options.Poison,
	}
}

// Start opens the listening socket and starts to watch the brokers.
func (s *Server) Start() error {
	if !s.options.NoListen {
		v := s.cfg.Load()
		l, err := remoting.Listen(net.JoinHostPort(v.Server.BindAddress, strconv.Itoa(v.Server.ListenPort)))
		if err != nil {
			return err
		}
		s.listener = l
		s.running.Go(func() { s.serve(l) })
	}
	s.running.Go(s.watch)
	s.running.Go(s.sendNotices)
	return nil
}

func (s *Server) serve(l net.Listener) {
	if err := s.server.Serve(l, false); err != nil {
		s.log.Error("listening ended", "addr", l.Addr(), "err", err)
	}
}

// Addr is where the server listens. With listenPort=0 the system has chosen the port. It is the zero value before
// Start and without a socket.
func (s *Server) Addr() netip.AddrPort {
	if s.listener == nil {
		return netip.AddrPort{}
	}
	a, _ := s.listener.Addr().(*net.TCPAddr)
	return a.AddrPort()
}

// Dispatcher handles the server's requests, for connections that something else serves.
func (s *Server) Dispatcher() remoting.Dispatcher { return s.routes }

// Pipe opens an in-memory connection to the server.
func (s *Server) Pipe() net.Conn { return s.server.Pipe() }

// Close ends all connections and waits until nothing of the server runs any more. It may be called without Start.
func (s *Server) Close() error {
	s.stop()
	err := errors.Join(s.server.Close(), s.routes.Close(), s.client.Close())
	s.running.Wait()
	return err
}

// refuse makes a refusal of a response. An error that is none of the protocol's is the name server's own fault.
func (s *Server) refuse(resp *protocol.Response, err error) {
	var e *protocol.Error
	if !errors.As(err, &e) {
		s.log.Error("request failed", "err", err)
		e = protocol.Errorf(protocol.RespSystemError, "%v", err)
	}
	resp.Code, resp.Remark, resp.Body = e.Code, protocol.Some(e.Remark), nil
}

// json prints a body in the legacy flavour.
func (s *Server) json(body any) []byte {
	return fastjson.Options{Omit: s.profile.OmitJSON}.Marshal(body)
}

// brokerFields are what identifies a broker process in its requests.
type brokerFields struct {
	name, addr, cluster protocol.Opt[string]
	id                  protocol.Opt[int64]
}

// check refuses what is missing. In the binary encoding an empty text is the same as none.
func (f *brokerFields) check() error {
	switch {
	case f.name.V == "":
		return missing("brokerName")
	case f.addr.V == "":
		return missing("brokerAddr")
	case f.cluster.V == "":
		return missing("clusterName")
	case !f.id.Set:
		return missing("brokerId")
	case f.id.V < 0:
		return protocol.Errorf(protocol.RespSystemError, "brokerId %d is negative", f.id.V)
	}
	return nil
}

func missing(field string) error {
	return protocol.Errorf(protocol.RespSystemError, "the custom field <%s> is null", field)
}

// orNull prints an absent text as Java does.
func orNull(o protocol.Opt[string]) string { return o.Or("null") }
