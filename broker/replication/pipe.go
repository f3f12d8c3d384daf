// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replication

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Pipes is a listener for connections in memory, for brokers without sockets.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	opened atomic.Uint32
}

// NewPipes makes one.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Dial opens a connection; it is closed at once if nobody listens any more.
func (p *Pipes) Dial() net.Conn {
	ours, theirs := net.Pipe()
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(p.opened.Add(1)))
	select {
	case p.conns <- pipe{theirs, from}:
	case <-p.closed:
		theirs.Close()
	}
	return ours
}

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{} }

// pipe has an address of its own, by which slaves are told apart.
type pipe struct {
	net.Conn
	from netip.AddrPort
}

func (p pipe) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(p.from) }
