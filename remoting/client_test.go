// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
)

func TestClientReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := func() *Server {
			return NewServer(ServerConfig{Dispatcher: NewRoutes(RoutesConfig{}, Route{Code: 1, Handle: echo})})
		}
		s := server()
		up, dials := true, 0
		c := NewClient(ClientConfig{Dial: func(context.Context, string) (net.Conn, error) {
			dials++
			if !up {
				return nil, errors.New("refused")
			}
			return s.Pipe(), nil
		}})
		call := func() error {
			_, err := c.Call(t.Context(), "broker", protocol.NewRequest(1, nil, nil))
			return err
		}
		if err := errors.Join(call(), call()); err != nil || dials != 1 {
			t.Error("two calls over one connection expected", err, dials)
		}
		s.Close()
		up = false
		synctest.Wait()
		if first, second := call(), call(); first == nil || second == nil || dials != 2 {
			t.Error("the second call must fail within the pause, without a dial", dials)
		}
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			call()
		}
		if dials < 7 || dials > 12 {
			t.Error("the pause should grow to 2 s within these 10 s", dials)
		}
		s, up = server(), true
		time.Sleep(2 * time.Second)
		if err := call(); err != nil {
			t.Error(err)
		}
		c.Disconnect("broker")
		if err := call(); err != nil {
			t.Error(err)
		}
		c.Close()
		if !errors.Is(call(), ErrClosed) {
			t.Error("a closed client must not connect")
		}
		s.Close()
	})
}

func TestClientTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late Responder
		s := NewServer(ServerConfig{Dispatcher: NewRoutes(RoutesConfig{},
			Route{Code: 1, Handle: echo}, Route{Code: 2, Raw: func(r *Request) { late = r.Detach() }})})
		hang := false
		c := NewClient(ClientConfig{Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			if hang {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return s.Pipe(), nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if _, err := c.Call(ctx, "a", protocol.NewRequest(2, nil, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
		synctest.Wait()
		late.Respond(&protocol.Response{Remark: protocol.Some("too late")})
		a, err := c.Call(t.Context(), "a", protocol.NewRequest(1, nil, []byte("x")))
		if err != nil || string(a.Body) != "x" {
			t.Error("a late answer must not reach another call", a, err)
		}
		hang = true
		begin := time.Now()
		if _, err := c.Call(t.Context(), "b", protocol.NewRequest(1, nil, nil)); err == nil || time.Since(begin) != 3*time.Second {
			t.Error("connect timeout", err, time.Since(begin))
		}
		go func() {
			time.Sleep(time.Second)
			c.Close()
		}()
		time.Sleep(100 * time.Millisecond)
		if _, err := c.Call(t.Context(), "c", protocol.NewRequest(1, nil, nil)); err == nil {
			t.Error("Close must end a connect")
		}
		s.Close()
	})
}

// What nobody answers is an error, at once.
func TestClientRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := NewClient(ClientConfig{})
	defer c.Close()
	if _, err := c.Call(t.Context(), addr, protocol.NewRequest(1, nil, nil)); err == nil {
		t.Error("nobody listens")
	}
	if err := c.Oneway(t.Context(), addr, protocol.NewRequest(1, nil, nil)); err == nil {
		t.Error("nobody listens")
	}
	if _, err := c.Call(t.Context(), "no port", protocol.NewRequest(1, nil, nil)); err == nil {
		t.Error("no address")
	}
}
