// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
)

// whoami answers with the addresses that the connection shows.
var whoami = Route{Code: 100, Handle: func(_ context.Context, r *Request) (*protocol.Response, error) {
	return &protocol.Response{Remark: protocol.Some(fmt.Sprint(r.Channel.RemoteAddr(), " ", r.Channel.LocalAddr()))}, nil
}}

func TestProxyProtocol(t *testing.T) {
	v2 := func(command, family byte, addr string, tlv string) string {
		n := len(addr) + len(tlv)
		return proxyV2 + string([]byte{0x20 | command, family, byte(n >> 8), byte(n)}) + addr + tlv
	}
	v4 := "\x0a\x00\x00\x01\x0a\x00\x00\x02\x1f\x90\x2a\x9f"
	v6 := strings.Repeat("\x00", 15) + "\x01" + strings.Repeat("\x00", 15) + "\x02" + "\x1f\x90\x2a\x9f"
	own := "127.0.0.1:"
	tests := []struct{ name, preamble, want string }{
		{"none", "", own},
		{"TCP4", "PROXY TCP4 10.0.0.1 10.0.0.2 8080 10911\r\n", "10.0.0.1:8080 10.0.0.2:10911"},
		{"TCP6", "PROXY TCP6 ::1 ::2 8080 10911\r\n", "[::1]:8080 [::2]:10911"},
		{"UNKNOWN", "PROXY UNKNOWN\r\n", own},
		{"v2 IPv4", v2(1, 0x11, v4, ""), "10.0.0.1:8080 10.0.0.2:10911"},
		{"v2 IPv6 with TLVs", v2(1, 0x21, v6, "\xe0\x00\x03abc"), "[::1]:8080 [::2]:10911"},
		{"v2 LOCAL", v2(0, 0, "", ""), own},
		{"v2 unix socket", v2(1, 0x31, strings.Repeat("x", 216), ""), own},
		{"v1 wrong family", "PROXY TCP4 hello 10.0.0.2 8080 10911\r\n", "closed"},
		{"v1 short", "PROXY TCP4\r\n", "closed"},
		{"v1 endless", "PROXY " + strings.Repeat("x", 200), "closed"},
		{"v2 broken signature", "\r\n\r\n\x00\r\nQUIX\n", "closed"},
		{"v2 version 3", strings.Replace(v2(1, 0x11, v4, ""), "\x21\x11", "\x31\x11", 1), "closed"},
		{"twice", "PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n", "closed"},
	}
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t, whoami), ProxyProtocol: true})
	defer s.Close()
	cmd := protocol.NewRequest(100, nil, nil)
	frame, err := protocol.AppendFrame(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		for _, piece := range []int{1, 7, 10_000} {
			c := s.Pipe()
			go func() {
				for rest := tt.preamble + string(frame); rest != ""; rest = rest[min(piece, len(rest)):] {
					if _, err := io.WriteString(c, rest[:min(piece, len(rest))]); err != nil {
						return
					}
				}
			}()
			if tt.want == "closed" {
				if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
					t.Errorf("%s: %q %v", tt.name, b, err)
				}
				continue
			}
			if a := readFrame(t, c); !strings.HasPrefix(a.Remark.V, tt.want) {
				t.Errorf("%s in pieces of %d: %q", tt.name, piece, a.Remark.V)
			}
			c.Close()
		}
	}
}

// 4.9.7 knows no PROXY preamble: there it is a bad frame.
func TestProxyProtocolOff(t *testing.T) {
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
	defer s.Close()
	c := s.Pipe()
	if _, err := io.WriteString(c, "PROXY TCP4 10.0.0.1 10.0.0.2 8080 10911\r\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
		t.Errorf("%q %v", b, err)
	}
}

func TestTLS(t *testing.T) {
	cert, err := SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	serverTLS := &tls.Config{Certificates: []tls.Certificate{cert}}
	trusting := &tls.Config{InsecureSkipVerify: true}
	tests := []struct {
		mode          TLSMode
		config        *tls.Config
		plain, secure bool
	}{
		{TLSPermissive, serverTLS, true, true},
		{TLSEnforcing, serverTLS, false, true},
		{TLSDisabled, serverTLS, true, false},
		{TLSPermissive, nil, true, false},
	}
	for _, tt := range tests {
		_, addr := start(t, ServerConfig{Dispatcher: testRoutes(t, whoami), TLS: tt.config, TLSMode: tt.mode, ProxyProtocol: true})
		for _, client := range []struct {
			config *tls.Config
			works  bool
		}{{nil, tt.plain}, {trusting, tt.secure}} {
			c := NewClient(ClientConfig{TLS: client.config})
			body := strings.Repeat("body", 100_000)
			for range 3 {
				a, err := c.Call(t.Context(), addr, protocol.NewRequest(1, nil, []byte(body)))
				if works := err == nil && string(a.Body) == body; works != client.works {
					t.Errorf("%s, client TLS %t: %v", tt.mode, client.config != nil, err)
				}
			}
			c.Close()
		}
	}

	// A PROXY preamble stands before the handshake; a client that verifies refuses the unknown certificate.
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t, whoami), TLS: serverTLS, ProxyProtocol: true})
	c := NewClient(ClientConfig{TLS: trusting, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_, err = io.WriteString(raw, "PROXY TCP4 10.0.0.1 10.0.0.2 8080 10911\r\n")
		}
		return raw, err
	}})
	defer c.Close()
	if a, err := c.Call(t.Context(), addr, protocol.NewRequest(100, nil, nil)); err != nil || a.Remark.V != "10.0.0.1:8080 10.0.0.2:10911" {
		t.Error(a, err)
	}
	strict := NewClient(ClientConfig{TLS: &tls.Config{}})
	defer strict.Close()
	if _, err := strict.Call(t.Context(), addr, protocol.NewRequest(1, nil, nil)); err == nil {
		t.Error("an unknown certificate was taken")
	}

	// Garbage behind the first byte of a handshake: an alert at most, then the end.
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := io.WriteString(raw, "\x16"+strings.Repeat("garbage", 10)); err != nil {
		t.Fatal(err)
	}
	closes(t, raw, 7)
	until(t, "the connections are gone", func() bool { return s.Conns() <= 1 })
}

// A peer that starts a handshake and says no more is cut off.
func TestTLSHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cert, err := SelfSigned()
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(ServerConfig{Dispatcher: testRoutes(t), TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
		c := s.Pipe()
		if _, err := io.WriteString(c, "\x16\x03\x01"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := io.ReadAll(c); err != nil || time.Since(begin) != handshakeTimeout {
			t.Error(err, time.Since(begin))
		}
		s.Close()
	})
}

func FuzzServer(f *testing.F) {
	f.Add([]byte("PROXY TCP4 10.0.0.1 10.0.0.2 8080 10911\r\n\x00\x00\x00\x06\x00\x00\x00\x02{}"))
	f.Add([]byte(proxyV2 + "\x21\x11\x00\x0c\x0a\x00\x00\x01\x0a\x00\x00\x02\x1f\x90\x2a\x9f\x00\x00\x00\x06\x00\x00\x00\x02{}"))
	f.Add([]byte("\x16\x03\x01"))
	f.Add([]byte("GET / HTTP/1.1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewServer(ServerConfig{Dispatcher: testRoutes(t), ProxyProtocol: true, Poison: true})
		c := s.Pipe()
		_, _ = c.Write(b)
		c.Close()
		s.Close()
	})
}
