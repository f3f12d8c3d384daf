// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting/protocol"
)

// ErrClosed is returned by calls on a closed connection, client or server.
var ErrClosed = errors.New("remoting: connection closed")

// Limits bound what one connection may cost. Zero fields have the default.
type Limits struct {
	MaxFrame     int           // bytes of one frame, default protocol.MaxFrame
	MaxInFlight  int           // requests taken over with Detach and not yet answered, default 4096; then reading stops
	MaxQueued    int           // bytes of encoded and not yet written frames, default 32 MiB; then reading stops
	MaxQueuedAll int           // the same of all connections together, default 512 MiB; then those that read slowly are cut off
	MaxReadAll   int           // bytes of large frames (above 1 MiB) that all connections have read in part, default 1 GiB
	IdleTimeout  time.Duration // without a read or write the connection is closed, default 120 s
	WriteTimeout time.Duration // a peer that reads nothing for so long is cut off, default 60 s
}

func (l *Limits) fill() {
	l.MaxFrame = orDefault(l.MaxFrame, protocol.MaxFrame)
	l.MaxInFlight = orDefault(l.MaxInFlight, 4096)
	l.MaxQueued = orDefault(l.MaxQueued, 32<<20)
	l.MaxQueuedAll = orDefault(l.MaxQueuedAll, 512<<20)
	l.MaxReadAll = orDefault(l.MaxReadAll, 1<<30)
	l.IdleTimeout = orDefault(l.IdleTimeout, 120*time.Second)
	l.WriteTimeout = orDefault(l.WriteTimeout, 60*time.Second)
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// endpoint is what the connections of one server or client share.
type endpoint struct {
	Limits
	version    int32
	language   protocol.Language
	dispatcher Dispatcher
	gatherer   Gatherer // the dispatcher, if it is one
	listener   ConnListener
	log        *slog.Logger
	poison     bool
	observe    func(Observation)
	began      time.Time

	bufs     buffers
	encoders sync.Pool
	all      atomic.Int64 // bytes queued on all connections
	reading  atomic.Int64 // bytes of large read buffers of all connections
	opaque   atomic.Int32
	draining atomic.Bool
	counters counters
}

// elapsed is the time since the endpoint was made: cheaper to ask for than the time of day, and not set back.
func (e *endpoint) elapsed() time.Duration { return time.Since(e.began) }

func (e *endpoint) encoder() *protocol.Encoder {
	if enc, _ := e.encoders.Get().(*protocol.Encoder); enc != nil {
		return enc
	}
	return &protocol.Encoder{Version: e.version, Language: e.language}
}

// conn is one connection of a server or a client. Its reading goroutine runs serve; see also writer.go.
type conn struct {
	*endpoint
	raw           net.Conn
	remote, local netip.AddrPort
	fast          bool
	done          chan struct{}
	active        atomic.Bool // read or wrote something since the janitor looked last
	inFlight      atomic.Int32

	// Only the reading goroutine uses these.
	in  reader
	req Request

	mu sync.Mutex // guards what follows, and the change of raw when TLS starts
	writer
	calls  map[int32]chan *protocol.Command
	closed error         // set once
	resume chan struct{} // not nil: the reading goroutine waits for room

	quiet, stuck time.Duration // kept by the janitor
	lastWrites   uint64
}

func newConn(e *endpoint, raw net.Conn) *conn {
	c := &conn{endpoint: e, raw: raw, done: make(chan struct{})}
	c.remote, c.local = addrPort(raw.RemoteAddr()), addrPort(raw.LocalAddr())
	c.req.Channel = c
	c.req.responder = (*inlineResponder)(c)
	return c
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}

func (c *conn) RemoteAddr() netip.AddrPort { return c.remote }
func (c *conn) SocketAddr() netip.AddrPort { return addrPort(c.raw.RemoteAddr()) }
func (c *conn) LocalAddr() netip.AddrPort  { return c.local }
func (c *conn) Done() <-chan struct{}      { return c.done }
func (c *conn) Close()                     { c.close(ErrClosed) }

// gone is the error of calls on a closed connection. c.mu is held.
func (c *conn) gone() error {
	if c.closed == ErrClosed {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, c.closed)
}

// reason is why the connection was closed, nil while it is open.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close ends the connection; the reading goroutine notices by itself.
func (c *conn) close(reason error) {
	c.mu.Lock()
	if c.closed != nil {
		c.mu.Unlock()
		return
	}
	c.closed = reason
	calls := c.calls
	c.calls = nil
	if !c.writing {
		c.drop()
	}
	raw := c.raw
	c.mu.Unlock()
	close(c.done)
	raw.Close()
	for _, answer := range calls {
		close(answer)
	}
}

// serve reads and handles frames until the connection ends. The reader may hold bytes already.
func (c *conn) serve() error {
	if c.listener != nil {
		c.listener.Connected(c)
		defer c.listener.Closed(c)
	}
	defer c.Close()
	for {
		if err := c.frames(); err != nil {
			return err
		}
		if err := c.in.fill(c); err != nil {
			if c.draining.Load() {
				c.drain()
			}
			return err
		}
		c.active.Store(true)
	}
}

// frames handles every complete frame in the buffer and writes the replies that came of them.
func (c *conn) frames() error {
	if c.in.empty() {
		return nil
	}
	c.beginBatch()
	defer c.endBatch()
	defer c.gathered()
	for {
		size, err := protocol.FrameSize(c.in.bytes(), c.MaxFrame)
		if err != nil {
			return err
		}
		if size == 0 || size > len(c.in.bytes()) {
			return nil
		}
		frame := c.in.take(size)
		if err := c.handle(frame); err != nil {
			return err
		}
		if err := c.admit(); err != nil {
			return err
		}
	}
}

// gathered tells the dispatcher that no more of what was read together comes for now.
func (c *conn) gathered() {
	if c.gatherer == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic after a batch of requests", "peer", c.remote, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	c.gatherer.Gathered()
}

func (c *conn) handle(frame []byte) error {
	r := &c.req
	if err := r.Decode(frame); err != nil {
		return err
	}
	if r.IsResponse() {
		c.answer(&r.Command)
	} else {
		c.dispatch(r)
	}
	if c.poison {
		for i := range frame {
			frame[i] = 0xDB
		}
		for i := range r.Fields.List {
			r.Fields.List[i] = protocol.Field{Key: "poisoned", Value: "poisoned"}
		}
	}
	return nil
}

func (c *conn) dispatch(r *Request) {
	r.Fast, r.done = c.fast, false
	if c.observe != nil {
		r.start = c.elapsed()
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("panic in a request handler", "code", r.Code, "peer", c.remote, "panic", p, "stack", string(debug.Stack()))
			r.Reply(&protocol.Response{Code: protocol.RespSystemError, Remark: protocol.Some(fmt.Sprint("panic: ", p))})
		}
	}()
	if c.dispatcher != nil {
		c.dispatcher.Dispatch(r)
	}
	if !r.done {
		r.Reply(notAnswered)
	}
}

// notAnswered is what a Java server sends when its handler set nothing.
var notAnswered = &protocol.Response{Code: protocol.RespSystemError, Remark: protocol.Some("not set any response code")}

// answer hands a response to the Call that waits for it.
func (c *conn) answer(cmd *protocol.Command) {
	c.mu.Lock()
	answer := c.calls[cmd.Opaque]
	delete(c.calls, cmd.Opaque)
	c.mu.Unlock()
	if answer != nil {
		answer <- cmd.Clone()
	}
}

// admit waits until the connection may take more: this is what slows a peer down that sends faster than it reads or
// than we can handle.
func (c *conn) admit() error {
	queued := c.queuedNow()
	if queued > flushAt {
		c.gathered()
		c.endBatch()
		c.beginBatch()
		queued = c.queuedNow()
	}
	if int(c.inFlight.Load()) < c.MaxInFlight && queued < c.MaxQueued {
		return nil
	}
	c.gathered()
	c.endBatch()
	defer c.beginBatch()
	return c.wait(func() bool { return int(c.inFlight.Load()) < c.MaxInFlight && c.queued < c.MaxQueued })
}

// stopReading makes the reading goroutine drain and end.
func (c *conn) stopReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.raw.SetReadDeadline(time.Unix(1, 0))
}

// drain waits until every detached request is answered and all is written. Held requests do not count.
func (c *conn) drain() {
	_ = c.wait(func() bool { return c.inFlight.Load() == 0 && c.queued == 0 })
}

// wait blocks the reading goroutine until cond, called with c.mu held, is true or the connection is closed.
func (c *conn) wait(cond func() bool) error {
	for {
		c.mu.Lock()
		if c.closed != nil {
			c.mu.Unlock()
			return c.closed
		}
		if cond() {
			c.mu.Unlock()
			return nil
		}
		resume := make(chan struct{})
		c.resume = resume
		c.mu.Unlock()
		select {
		case <-resume:
		case <-c.done:
		}
	}
}

// wake lets admit look again. c.mu is held.
func (c *conn) wake() {
	if c.resume != nil {
		close(c.resume)
		c.resume = nil
	}
}

func (c *conn) Oneway(cmd *protocol.Command) error {
	d := *cmd
	d.Flag |= protocol.FlagOneway
	return c.send(&d)
}

func (c *conn) Call(ctx context.Context, cmd *protocol.Command) (*protocol.Command, error) {
	d := *cmd
	d.Flag &^= protocol.FlagOneway | protocol.FlagResponse
	d.Opaque = c.opaque.Add(1)
	answer := make(chan *protocol.Command, 1)
	c.mu.Lock()
	if c.closed != nil {
		defer c.mu.Unlock()
		return nil, c.gone()
	}
	if c.calls == nil {
		c.calls = map[int32]chan *protocol.Command{}
	}
	c.calls[d.Opaque] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, d.Opaque)
		c.mu.Unlock()
	}()
	if err := c.sendAs(&d); err != nil {
		return nil, err
	}
	select {
	case a, ok := <-answer:
		if !ok {
			return nil, ErrClosed
		}
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *conn) send(d *protocol.Command) error {
	d.Opaque = c.opaque.Add(1)
	return c.sendAs(d)
}

// sendAs queues a request frame; version and language are ours unless the caller set them.
func (c *conn) sendAs(d *protocol.Command) error {
	if d.Version == 0 {
		d.Version = c.version
	}
	if d.Language == 0 {
		d.Language = c.language
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.append(len(d.Body), func(b []byte) ([]byte, error) { return protocol.AppendFrame(b, d) })
}
