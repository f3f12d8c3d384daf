// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"rocketmq-go/remoting/protocol"
)

// A connection starts with an optional PROXY preamble, then with a TLS handshake or with the first frame. A frame
// starts with the high byte of a length below 16 MiB, 0 or 1, which neither of the others does.

const (
	proxyV1 = "PROXY "
	proxyV2 = "\r\n\r\n\x00\r\nQUIT\n"
	// maxProxyV1 is the longest line of PROXY protocol version 1, its end included.
	maxProxyV1 = 107
	tlsRecord  = 0x16
	// handshakeTimeout bounds a TLS handshake.
	handshakeTimeout = 10 * time.Second
)

// foreignError is a peer that speaks another protocol.
type foreignError struct{ what string }

func (e *foreignError) Error() string { return "this is no RocketMQ remoting: looks like " + e.what }

// foreign are the first bytes of protocols that get pointed at our port by mistake.
var foreign = []struct{ prefix, what string }{
	{"PRI * HTTP/2", "HTTP/2 or gRPC; the gRPC endpoint is the port of the proxy"},
	{"GET ", "HTTP"},
	{"POST", "HTTP"},
	{"PUT ", "HTTP"},
	{"HEAD", "HTTP"},
	{"DELE", "HTTP"},
	{"OPTI", "HTTP"},
	{"PATC", "HTTP"},
	{"CONN", "HTTP"},
	{"TRAC", "HTTP"},
	{"SSH-", "SSH"},
	{"*1\r\n", "Redis"},
	{"AMQP", "AMQP"},
}

// explain turns a frame length that cannot be into the name of the protocol it comes from.
func explain(start []byte, err error) error {
	for _, f := range foreign {
		if n := min(len(start), len(f.prefix)); n >= 4 && string(start[:n]) == f.prefix[:n] {
			return &foreignError{f.what}
		}
	}
	return err
}

// open reads up to the first frame.
func (s *Server) open(c *conn) error {
	proxied := false
	for {
		if c.in.empty() {
			if err := c.in.fill(c); err != nil {
				return err
			}
			c.active.Store(true)
		}
		b := c.in.bytes()
		switch {
		case b[0] == tlsRecord:
			return s.startTLS(c)
		case s.cfg.ProxyProtocol && !proxied && startsLike(b, proxyV1):
			proxied = true
			if err := proxyLine(c); err != nil {
				return err
			}
			continue
		case s.cfg.ProxyProtocol && !proxied && startsLike(b, proxyV2):
			proxied = true
			if err := proxyBinary(c); err != nil {
				return err
			}
			continue
		}
		if len(b) < 4 {
			if err := c.in.fill(c); err != nil {
				return err
			}
			continue
		}
		if _, err := protocol.FrameSize(b, c.MaxFrame); err != nil {
			return explain(b, err)
		}
		if s.cfg.TLSMode == TLSEnforcing {
			return errPlain
		}
		return nil
	}
}

// startsLike tells whether b, as far as it goes, agrees with sig.
func startsLike(b []byte, sig string) bool {
	n := min(len(b), len(sig))
	return string(b[:n]) == sig[:n]
}

// need reads until n bytes are there.
func need(c *conn, n int) error {
	for len(c.in.bytes()) < n {
		if err := c.in.fill(c); err != nil {
			return err
		}
	}
	return nil
}

// proxyLine reads "PROXY TCP4 source destination sourcePort destinationPort\r\n", or leaves the bytes alone when they
// turn out to be something else.
func proxyLine(c *conn) error {
	for {
		b := c.in.bytes()
		if !startsLike(b, proxyV1) {
			return nil
		}
		if end := bytes.Index(b, []byte("\r\n")); end >= 0 && len(b) >= len(proxyV1) {
			line := string(b[:end])
			c.in.take(end + 2)
			return c.proxied(strings.Fields(line))
		}
		if len(b) >= maxProxyV1 {
			return &foreignError{"a PROXY line without end"}
		}
		if err := need(c, len(b)+1); err != nil {
			return err
		}
	}
}

func (c *conn) proxied(w []string) error {
	if len(w) >= 2 && w[1] == "UNKNOWN" {
		return nil
	}
	if len(w) != 6 {
		return &foreignError{fmt.Sprintf("a bad PROXY line %q", w)}
	}
	src, err1 := netip.ParseAddrPort(net.JoinHostPort(w[2], w[4]))
	dst, err2 := netip.ParseAddrPort(net.JoinHostPort(w[3], w[5]))
	if err1 != nil || err2 != nil {
		return &foreignError{fmt.Sprintf("a bad PROXY line %q", w)}
	}
	c.remote, c.local = src, dst
	return nil
}

// proxyBinary reads version 2: signature, version and command, family, length, addresses, TLVs (which we skip).
func proxyBinary(c *conn) error {
	for n := 1; n <= len(proxyV2); n++ {
		if err := need(c, n); err != nil {
			return err
		}
		if !startsLike(c.in.bytes(), proxyV2) {
			return explain(c.in.bytes(), &foreignError{"neither a frame nor a PROXY preamble"})
		}
	}
	const fixed = len(proxyV2) + 4
	if err := need(c, fixed); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(c.in.bytes()[fixed-2:]))
	if err := need(c, fixed+size); err != nil {
		return err
	}
	b := c.in.take(fixed + size)
	if b[len(proxyV2)]>>4 != 2 {
		return &foreignError{"a PROXY preamble of an unknown version"}
	}
	command, family, addr := b[len(proxyV2)]&15, b[len(proxyV2)+1], b[fixed:]
	width := map[byte]int{0x11: 4, 0x21: 16}[family]
	if command != 1 || width == 0 || len(addr) < 2*width+4 {
		return nil // LOCAL, or not TCP: the socket's addresses stand
	}
	src, _ := netip.AddrFromSlice(addr[:width])
	dst, _ := netip.AddrFromSlice(addr[width : 2*width])
	ports := addr[2*width:]
	c.remote = netip.AddrPortFrom(src, binary.BigEndian.Uint16(ports))
	c.local = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(ports[2:]))
	return nil
}

// startTLS makes the connection a TLS one; the bytes that were read already are the start of the handshake.
func (s *Server) startTLS(c *conn) error {
	if s.cfg.TLS == nil || s.cfg.TLSMode == TLSDisabled {
		return &foreignError{"TLS, which is disabled here"}
	}
	head := bytes.Clone(c.in.bytes())
	c.in.release(c)
	t := tls.Server(&prefixConn{Conn: c.raw, head: head}, s.cfg.TLS)
	c.mu.Lock()
	c.raw = t
	c.mu.Unlock()
	c.in = reader{}
	_ = t.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := t.Handshake(); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	_ = t.SetDeadline(time.Time{})
	if s.draining.Load() { // whose deadline we may just have cleared
		return ErrClosed
	}
	return nil
}

// prefixConn is a connection from which some bytes were read already.
type prefixConn struct {
	net.Conn
	head []byte
}

func (p *prefixConn) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
