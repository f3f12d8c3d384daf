// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"rocketmq-go/remoting/protocol"
)

// HandlerFunc handles one request and says what to answer. A *protocol.Error becomes its code and remark, any other
// error code 1. It may instead answer by r.Reply, or take the request over with r.Detach or r.Hold, and return nil, nil.
type HandlerFunc func(ctx context.Context, r *Request) (*protocol.Response, error)

// Mode says where a handler runs.
type Mode uint8

const (
	// Inline is for quick handlers: on the connection's reading goroutine; they must not wait for anything. A request with
	// a large body is handled as Pool all the same: decoded, it may take many times its size.
	Inline Mode = iota
	// Pool is for handlers that may take long: in one of a bounded number of goroutines, with a copy of the request.
	Pool
	// Waiting is for handlers that wait for somebody else, such as a client that may be frozen: as Pool, but in a
	// goroutine of its own, so that they do not keep the pool from its work.
	Waiting
)

// Route is one line of a server's table of request codes.
type Route struct {
	Code   int32
	Handle HandlerFunc
	Raw    func(r *Request) // instead of Handle, for hot paths: answers with r.Reply or r.Detach; always Inline
	Mode   Mode
	// MainOnly codes are not supported on the fast port.
	MainOnly bool
}

// largeBody is the size from which on a body is not decoded on the reading goroutine. The heartbeat of a client of 200
// groups has some 50 KiB.
const largeBody = 256 << 10

// RoutesConfig describes how a table dispatches. The zero value works.
type RoutesConfig struct {
	// Check is asked before each handler, on the reading goroutine; an error is the answer.
	Check func(r *Request, route *Route) error
	// Unsupported handles codes that are not in the table; default: answer code 3 as Java does.
	Unsupported func(r *Request)
	Gathered    func() // see Gatherer; nil: nothing
	Workers     int    // goroutines of the pool, default 4 × GOMAXPROCS
	Queue       int    // requests that wait for one, default 1024; more are answered with code 2
	QueueBytes  int    // of all requests of a mode that are not answered, default 64 MiB; a single one may be larger
	Waiting     int    // goroutines of Waiting handlers, default 256; more requests are answered with code 2
	Log         *slog.Logger
}

// Routes is a Dispatcher made of a table. Close it after the server.
type Routes struct {
	cfg     RoutesConfig
	routes  map[int32]*Route
	ctx     context.Context
	cancel  context.CancelFunc
	missing atomic.Int64 // requests without handler

	mu      sync.Mutex
	unknown map[int32]bool // logged already
	workers int
	queue   []*task
	waiting int
	bytes   [Waiting + 1]int // of the requests that are not answered
	running sync.WaitGroup
}

type task struct {
	route *Route
	req   *Request
	size  int
}

// sizeOf is about the memory that a copy of the request takes.
func sizeOf(c *protocol.Command) int {
	n := len(c.Body)
	for _, f := range c.Fields.List {
		n += len(f.Key) + len(f.Value)
	}
	return n
}

// overloaded is the answer of a Java server whose thread pool is full.
var overloaded = protocol.Response{
	Code: protocol.RespSystemBusy, Remark: protocol.Some("[OVERLOAD]system busy, start flow control for a while"),
}

// NewRoutes makes a table. A code that stands twice panics: it is a mistake in the program.
func NewRoutes(cfg RoutesConfig, routes ...Route) *Routes {
	cfg.Workers = orDefault(cfg.Workers, 4*runtime.GOMAXPROCS(0))
	cfg.Queue = orDefault(cfg.Queue, 1024)
	cfg.QueueBytes = orDefault(cfg.QueueBytes, 64<<20)
	cfg.Waiting = orDefault(cfg.Waiting, 256)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	t := &Routes{cfg: cfg, routes: make(map[int32]*Route, len(routes)), unknown: map[int32]bool{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for i := range routes {
		r := &routes[i]
		if t.routes[r.Code] != nil || (r.Handle == nil) == (r.Raw == nil) {
			panic(fmt.Sprintf("remoting: route %d stands twice or has not exactly one handler", r.Code))
		}
		t.routes[r.Code] = r
	}
	return t
}

// Codes are all codes of the table, in no order.
func (t *Routes) Codes() []int32 {
	codes := make([]int32, 0, len(t.routes))
	for c := range t.routes {
		codes = append(codes, c)
	}
	return codes
}

// Unsupported is how many requests had a code without handler.
func (t *Routes) Unsupported() int64 { return t.missing.Load() }

// Queued is how many requests wait for a goroutine of the pool.
func (t *Routes) Queued() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
}

// Dispatch implements Dispatcher.
func (t *Routes) Dispatch(r *Request) {
	route := t.routes[r.Code]
	if route == nil || route.MainOnly && r.Fast {
		t.unsupported(r)
		return
	}
	if t.cfg.Check != nil {
		if err := t.cfg.Check(r, route); err != nil {
			r.Reply(t.failure(r, err))
			return
		}
	}
	switch {
	case route.Raw != nil:
		route.Raw(r)
	case route.Mode != Inline:
		t.enqueue(route, route.Mode, r)
	case len(r.Body) > largeBody:
		t.enqueue(route, Pool, r)
	default:
		t.finish(r, route)
	}
}

// Gathered implements Gatherer.
func (t *Routes) Gathered() {
	if t.cfg.Gathered != nil {
		t.cfg.Gathered()
	}
}

func (t *Routes) finish(r *Request, route *Route) {
	resp, err := route.Handle(t.ctx, r)
	switch {
	case err != nil:
		r.Reply(t.failure(r, err))
	case resp != nil:
		r.Reply(resp)
	case !r.done:
		r.Reply(notAnswered)
	}
}

// failure is the response that an error becomes.
func (t *Routes) failure(r *Request, err error) *protocol.Response {
	var e *protocol.Error
	if errors.As(err, &e) {
		return &protocol.Response{Code: e.Code, Remark: protocol.Some(e.Remark)}
	}
	t.cfg.Log.Warn("request failed", "code", r.Code, "peer", r.Channel.RemoteAddr(), "error", err)
	return &protocol.Response{Code: protocol.RespSystemError, Remark: protocol.Some(err.Error())}
}

func (t *Routes) unsupported(r *Request) {
	t.missing.Add(1)
	if t.firstTime(r.Code) {
		t.cfg.Log.Warn("request code not supported", "code", r.Code, "name", protocol.RequestName(r.Code), "peer", r.Channel.RemoteAddr())
	}
	if t.cfg.Unsupported != nil {
		t.cfg.Unsupported(r)
		return
	}
	r.Reply(&protocol.Response{
		Code:   protocol.RespRequestCodeNotSupported,
		Remark: protocol.Some(fmt.Sprintf(" request type %d not supported", r.Code)),
	})
}

// firstTime tells whether a code should be logged: once, and not for ever new ones.
func (t *Routes) firstTime(code int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown[code] || len(t.unknown) >= 1000 {
		return false
	}
	t.unknown[code] = true
	return true
}

// enqueue copies the request for another goroutine.
func (t *Routes) enqueue(route *Route, mode Mode, r *Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size, bytes := sizeOf(&r.Command), &t.bytes[mode]
	if t.ctx.Err() != nil || *bytes > 0 && *bytes+size > t.cfg.QueueBytes || t.full(mode) {
		r.Reply(&overloaded)
		return
	}
	*bytes += size
	k := &task{route, &Request{Command: *r.Command.Clone(), Channel: r.Channel, Fast: r.Fast, responder: r.Detach()}, size}
	switch {
	case mode == Waiting:
		t.waiting++
		t.running.Go(func() { t.wait(k) })
	case t.workers == t.cfg.Workers:
		t.queue = append(t.queue, k)
	default:
		t.workers++
		t.running.Go(func() { t.work(k) })
	}
}

// full tells that no more requests of a mode are taken. t.mu is held.
func (t *Routes) full(m Mode) bool {
	if m == Waiting {
		return t.waiting >= t.cfg.Waiting
	}
	return t.workers == t.cfg.Workers && len(t.queue) >= t.cfg.Queue
}

func (t *Routes) wait(k *task) {
	t.run(k)
	t.mu.Lock()
	t.waiting--
	t.bytes[Waiting] -= k.size
	t.mu.Unlock()
}

func (t *Routes) work(k *task) {
	for k != nil {
		t.run(k)
		t.mu.Lock()
		t.bytes[Pool] -= k.size
		k = nil
		if len(t.queue) > 0 {
			k, t.queue = t.queue[0], t.queue[1:]
		} else {
			t.workers--
		}
		t.mu.Unlock()
	}
}

func (t *Routes) run(k *task) {
	r := k.req
	defer func() {
		if p := recover(); p != nil {
			t.cfg.Log.Error("panic in a request handler", "code", r.Code, "peer", r.Channel.RemoteAddr(), "panic", p, "stack", string(debug.Stack()))
			r.Reply(&protocol.Response{Code: protocol.RespSystemError, Remark: protocol.Some(fmt.Sprint("panic: ", p))})
		}
	}()
	t.finish(r, k.route)
}

// Close cancels the context of handlers that run and waits for the pool.
func (t *Routes) Close() error {
	t.mu.Lock()
	t.cancel()
	t.mu.Unlock()
	t.running.Wait()
	return nil
}

// ParseHeader decodes the request's custom header. Its strings are views, see protocol.Header.
func ParseHeader[T any, P interface {
	*T
	protocol.Header
}](r *Request) (*T, error) {
	h := new(T)
	return h, P(h).ParseFields(&r.Fields)
}
