// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// raftPreamble is the first byte of connections between controllers. No frame of a client begins with it: it would be
// larger than a gigabyte.
const raftPreamble = 'R'

// port is a listener on which clients and other controllers meet, told apart by the first byte.
type port struct {
	net.Listener
	clients, controllers chan net.Conn
	done                 chan struct{}
	once                 sync.Once
	log                  *slog.Logger

	mu   sync.Mutex
	open map[net.Conn]bool // of controllers: the library leaves those that it was given open
}

func newPort(l net.Listener, log *slog.Logger) *port {
	return &port{Listener: l, clients: make(chan net.Conn), controllers: make(chan net.Conn), done: make(chan struct{}), log: log, open: map[net.Conn]bool{}}
}

// firstByteTimeout bounds the wait for the first byte of a connection.
const firstByteTimeout = 120 * time.Second

// run takes connections until the listener closes.
func (p *port) run() {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			select {
			case <-p.done:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if errors.Is(err, net.ErrClosed) {
				return
			}
			p.log.Warn("a connection could not be taken", "err", err)
			continue
		}
		go p.sort(conn)
	}
}

func (p *port) sort(conn net.Conn) {
	var first [1]byte
	_ = conn.SetReadDeadline(time.Now().Add(firstByteTimeout))
	stop := make(chan struct{})
	go func() {
		select {
		case <-p.done:
			conn.Close()
		case <-stop:
		}
	}()
	_, err := io.ReadFull(conn, first[:])
	close(stop)
	if err != nil {
		conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	to := p.clients
	if first[0] == raftPreamble {
		to, conn = p.controllers, p.keep(conn)
	} else {
		conn = &begun{Conn: conn, first: first[:]}
	}
	select {
	case to <- conn:
	case <-p.done:
		conn.Close()
	}
}

// kept is a connection that is closed with its port.
type kept struct {
	net.Conn
	p *port
}

func (p *port) keep(conn net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[conn] = true
	return kept{conn, p}
}

// Close is part of net.Conn.
func (k kept) Close() error {
	k.p.mu.Lock()
	delete(k.p.open, k.Conn)
	k.p.mu.Unlock()
	return k.Conn.Close()
}

// begun is a connection of which something was read.
type begun struct {
	net.Conn
	first []byte
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}

// Close is part of net.Listener.
func (p *port) Close() error {
	var err error
	p.once.Do(func() {
		close(p.done)
		err = p.Listener.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		for conn := range p.open {
			conn.Close()
		}
	})
	return err
}

// side is one of the two kinds of connections as a listener.
type side struct {
	*port
	conns <-chan net.Conn
}

func (s side) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// layer is the controllers' side of a port.
type layer struct {
	side
	self string
}

// Dial is part of raft.StreamLayer.
func (l layer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", string(addr), timeout)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte{raftPreamble}); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Addr is how the other controllers know this one.
func (l layer) Addr() net.Addr { return peerAddr(l.self) }

// peerAddr is an address as it stands in controllerDLegerPeers.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }
