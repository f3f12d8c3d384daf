// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting/protocol"
)

const (
	// flushAt is how many bytes of replies a batch gathers before it writes although more frames wait.
	flushAt = 256 << 10
	// writeChunk is how much goes into one Write, so that the janitor sees slow progress.
	writeChunk = 256 << 10
	// chunk is how full a buffer gets before another one is begun: a large one would be copied again and again.
	chunk = 256 << 10
	// mayQueue is what a connection may have queued even if all together have too much.
	mayQueue = 1 << 20
)

// writer is the writing half of a conn, guarded by conn.mu.
//
// Frames are encoded into out. While the reading goroutine handles a batch of requests (batch), all frames wait for its
// end and leave with one write, made by the reading goroutine itself. Frames that come at other times, from other
// goroutines, are written by a goroutine that lives as long as there is something to write. There is never more than one
// writing, and what arrives meanwhile goes into its next write.
type writer struct {
	full    [][]byte // buffers to be written before out
	out     []byte
	waiting int // bytes of full and out
	queued  int // waiting and what is being written
	batch   bool
	writing bool
	writes  atomic.Uint64 // finished Writes
}

// room makes room for n more bytes in out. c.mu is held.
func (c *conn) room(n int) {
	if len(c.out) >= chunk && cap(c.out)-len(c.out) < n {
		c.full = append(c.full, c.out)
		c.out = nil
	}
	c.out = c.bufs.grow(c.out, n)
}

// next takes the buffer that is to be written next. c.mu is held.
func (c *conn) next() []byte {
	b := c.out
	if len(c.full) > 0 {
		b = c.full[0]
		c.full = slices.Delete(c.full, 0, 1)
	} else {
		c.out = nil
	}
	c.waiting -= len(b)
	return b
}

// drop forgets what waits to be written. c.mu is held.
func (c *conn) drop() {
	for _, b := range append(c.full, c.out) {
		c.bufs.put(b)
	}
	c.all.Add(-int64(c.waiting))
	c.full, c.out, c.waiting, c.queued = nil, nil, 0, 0
}

func (c *conn) queuedNow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued
}

func (c *conn) beginBatch() {
	c.mu.Lock()
	c.batch = true
	c.mu.Unlock()
}

// endBatch writes what the batch gathered.
func (c *conn) endBatch() {
	c.mu.Lock()
	c.batch = false
	b := c.claim()
	c.mu.Unlock()
	if b == nil {
		return
	}
	c.write(b)
	c.mu.Lock()
	c.finish()
	c.mu.Unlock()
}

// claim makes the caller the one who writes, if there is something to write and nobody does. c.mu is held.
func (c *conn) claim() []byte {
	if c.writing || c.waiting == 0 {
		return nil
	}
	c.writing = true
	return c.next()
}

// finish ends the caller's writing; what arrived meanwhile gets a goroutine. c.mu is held.
func (c *conn) finish() {
	c.writing = false
	c.queued = c.waiting
	if c.closed != nil {
		c.drop()
	}
	c.wake()
	c.startWriter()
}

// startWriter starts the writing goroutine unless a batch or somebody else will write. c.mu is held.
func (c *conn) startWriter() {
	if c.batch {
		return
	}
	if b := c.claim(); b != nil {
		go c.writeLoop(b)
	}
}

func (c *conn) writeLoop(b []byte) {
	for b != nil {
		c.write(b)
		c.mu.Lock()
		if c.batch || c.closed != nil || c.waiting == 0 {
			c.finish()
			c.mu.Unlock()
			return
		}
		c.queued = c.waiting
		b = c.next()
		c.wake()
		c.mu.Unlock()
	}
}

// write writes b and gives it back to the pool.
func (c *conn) write(b []byte) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), writeChunk)
		if _, err := c.raw.Write(rest[:n]); err != nil {
			c.close(fmt.Errorf("write: %w", err))
			break
		}
		c.writes.Add(1)
		rest = rest[n:]
	}
	c.active.Store(true)
	c.all.Add(-int64(len(b)))
	c.bufs.put(b)
}

// append queues one frame that encode appends; size is a guess of its length. c.mu is held.
func (c *conn) append(size int, encode func([]byte) ([]byte, error)) error {
	if c.closed != nil {
		return c.gone()
	}
	c.room(size + frameGuess)
	before := len(c.out)
	b, err := encode(c.out)
	if err != nil {
		return err
	}
	c.out = b
	return c.appended(len(b) - before)
}

// frameGuess is about the size of a frame without its body.
const frameGuess = 512

// appended counts n queued bytes and sees that they are written. A peer that lets twice the limit pile up is cut off, and
// when all connections together have too much, each that has more than a little. c.mu is held.
func (c *conn) appended(n int) error {
	c.waiting += n
	c.queued += n
	all := c.all.Add(int64(n))
	if c.queued > 2*c.MaxQueued || all > int64(c.MaxQueuedAll) && c.queued > mayQueue {
		go c.close(errSlow)
		return ErrClosed
	}
	c.startWriter()
	return nil
}

// respond queues the answer to one request.
func (c *conn) respond(opaque int32, t protocol.SerializeType, resp *protocol.Response) {
	enc := c.encoder()
	defer c.encoders.Put(enc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return
	}
	c.room(len(resp.Body) + frameGuess)
	before := len(c.out)
	b, err := enc.AppendResponse(c.out, opaque, t, resp)
	if err != nil {
		c.log.Error("response not sent", "peer", c.remote, "response", resp.Code, "error", err)
		b, _ = enc.AppendResponse(c.out, opaque, t, &protocol.Response{
			Code: protocol.RespSystemError, Remark: protocol.Some(err.Error()),
		})
	}
	c.out = b
	_ = c.appended(len(b) - before)
}

// inlineResponder answers the request that the reading goroutine is handling.
type inlineResponder conn

func (i *inlineResponder) Respond(resp *protocol.Response) {
	c := (*conn)(i)
	if !c.req.IsOneway() {
		c.respond(c.req.Opaque, c.req.Serialize, resp)
	}
	if c.observe != nil {
		c.observe(Observation{c.req.Code, resp.Code, c.elapsed() - c.req.start, false, c.req.IsOneway()})
	}
}

func (i *inlineResponder) Keep(oneway bool) Responder { return (*conn)(i).keep(oneway, false) }

func (i *inlineResponder) hold(oneway bool) Responder { return (*conn)(i).keep(oneway, true) }

func (c *conn) keep(oneway, held bool) *lateResponder {
	if !held {
		c.inFlight.Add(1)
	}
	l := &lateResponder{
		c: c, start: c.req.start, opaque: c.req.Opaque, code: c.req.Code, serialize: c.req.Serialize, oneway: oneway, held: held,
	}
	return l
}

// lateResponder answers a detached request. It is all that a waiting request costs on this side.
type lateResponder struct {
	c         *conn
	start     time.Duration // as that of the request
	opaque    int32
	code      int32
	serialize protocol.SerializeType
	oneway    bool
	held      bool // not counted as in flight
	done      atomic.Bool
}

func (l *lateResponder) Respond(resp *protocol.Response) {
	if l.done.Swap(true) {
		return
	}
	if !l.oneway {
		l.c.respond(l.opaque, l.serialize, resp)
	}
	if l.c.observe != nil {
		l.c.observe(Observation{l.code, resp.Code, l.c.elapsed() - l.start, l.held, l.oneway})
	}
	if !l.held {
		l.c.settle()
	}
}

func (l *lateResponder) Keep(bool) Responder { return l }

func (l *lateResponder) hold(bool) Responder {
	if !l.held {
		l.held = true
		l.c.settle()
	}
	return l
}

// settle takes one request off the in-flight count.
func (c *conn) settle() {
	c.inFlight.Add(-1)
	c.mu.Lock()
	c.wake()
	c.mu.Unlock()
}
