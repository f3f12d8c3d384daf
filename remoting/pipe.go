// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeCapacity is how many bytes one direction of an in-memory connection holds before writes wait.
const pipeCapacity = 1 << 20

// Pipe opens an in-memory connection to the server and returns the client's end. It is buffered and uses no socket, so
// it works inside a testing/synctest bubble. The ends have made-up loopback addresses.
func (s *Server) Pipe() net.Conn {
	client, server := NewPipe()
	s.ServeConn(server, false)
	return client
}

// NewPipe makes a pair of connected in-memory connections.
func NewPipe() (net.Conn, net.Conn) {
	port := int(pipePort.Add(1)%30000) + 32768
	a := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	b := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	up, down := newStream(), newStream()
	return &pipeConn{in: down, out: up, local: a, remote: b}, &pipeConn{in: up, out: down, local: b, remote: a}
}

// pipePort only makes addresses differ.
var pipePort atomic.Uint32

type pipeConn struct {
	in, out       *stream
	local, remote net.Addr
}

func (p *pipeConn) LocalAddr() net.Addr  { return p.local }
func (p *pipeConn) RemoteAddr() net.Addr { return p.remote }

func (p *pipeConn) Close() error {
	p.in.close()
	p.out.close()
	return nil
}

func (p *pipeConn) SetDeadline(t time.Time) error {
	p.in.readDeadline.set(p.in, t)
	p.out.writeDeadline.set(p.out, t)
	return nil
}

func (p *pipeConn) SetReadDeadline(t time.Time) error {
	p.in.readDeadline.set(p.in, t)
	return nil
}

func (p *pipeConn) SetWriteDeadline(t time.Time) error {
	p.out.writeDeadline.set(p.out, t)
	return nil
}

func (p *pipeConn) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *pipeConn) Write(b []byte) (int, error) { return p.out.write(b) }

// stream is one direction: bytes written and not yet read.
type stream struct {
	mu                          sync.Mutex
	changed                     sync.Cond
	buf                         []byte
	closed                      bool
	readDeadline, writeDeadline deadline
}

func newStream() *stream {
	s := &stream{}
	s.changed.L = &s.mu
	return s
}

func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	s.readDeadline.stop()
	s.writeDeadline.stop()
	s.changed.Broadcast()
	s.mu.Unlock()
}

func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readDeadline.passed:
			return 0, os.ErrDeadlineExceeded
		case len(s.buf) > 0:
			n := copy(b, s.buf)
			s.buf = s.buf[:copy(s.buf, s.buf[n:])]
			s.changed.Broadcast()
			return n, nil
		case s.closed:
			return 0, io.EOF
		}
		s.changed.Wait()
	}
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for {
		switch {
		case s.closed:
			return written, io.ErrClosedPipe
		case s.writeDeadline.passed:
			return written, os.ErrDeadlineExceeded
		}
		n := min(len(b)-written, pipeCapacity-len(s.buf))
		s.buf = append(s.buf, b[written:written+n]...)
		if n > 0 {
			s.changed.Broadcast()
		}
		if written += n; written == len(b) {
			return written, nil
		}
		s.changed.Wait()
	}
}

// deadline is guarded by the mutex of its stream.
type deadline struct {
	passed     bool
	timer      *time.Timer
	generation int
}

func (d *deadline) stop() {
	d.generation++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) set(s *stream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	d.passed = false
	if t.IsZero() || s.closed {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.passed = true
		s.changed.Broadcast()
		return
	}
	now := d.generation
	d.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.generation == now {
			d.passed = true
			s.changed.Broadcast()
		}
	})
}
