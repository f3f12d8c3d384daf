// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package web answers HTTP for those who watch a server:
//
//	/metrics       what Prometheus collects; as with Java's servers any other path gives it too
//	/healthz       200 as long as the process answers
//	/readyz        200 when clients can be served, else 503 and what is missing
//	/debug/pprof/  profiles, where they are switched on
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync"
	"time"

	"rocketmq-go/telemetry/metric"
)

// Options of a Server.
type Options struct {
	Addr    string // host:port; port 0: a free one
	Collect []func(*metric.Writer)
	Ready   func() error // nil: always ready
	Pprof   bool
}

// Server is a running server. Close it before what it collects from.
type Server struct {
	o        Options
	listener net.Listener
	http     *http.Server
	served   chan error

	mu   sync.Mutex // one collection at a time
	size int        // of the last one
}

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	closeTimeout  = time.Second
	contentType   = "text/plain; version=0.0.4; charset=utf-8"
)

// Start listens and answers until Close.
func Start(o Options) (*Server, error) {
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, listener: l, served: make(chan error, 1)}
	s.http = &http.Server{
		Handler: s.routes(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // of clients that went away
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() netip.AddrPort {
	a, _ := s.listener.Addr().(*net.TCPAddr)
	return a.AddrPort()
}

// Close ends the server; who is being answered gets a second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.metrics)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", s.ready)
	mux.HandleFunc("/debug/", http.NotFound)
	if s.o.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.o.Ready != nil {
		if err := s.o.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is answered", http.StatusMethodNotAllowed)
		return
	}
	text := s.collect()
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(text)
}

// collect makes a text of its own for each request: a slow reader must not keep the others waiting.
func (s *Server) collect() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := metric.NewText(s.size + s.size/8)
	w := metric.NewWriter(text)
	for _, f := range s.o.Collect {
		f(w)
	}
	Process(w)
	s.size = len(text.Bytes())
	return text.Bytes()
}
