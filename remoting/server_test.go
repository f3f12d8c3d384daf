// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves cfg on a free loopback port until the test ends.
func start(t testing.TB, cfg ServerConfig) (*Server, string) {
	t.Helper()
	s := NewServer(cfg)
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, false) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

// pipeClient is a client whose every address leads to s in memory.
func pipeClient(t testing.TB, s *Server, cfg ClientConfig) *Client {
	t.Helper()
	cfg.Dial = func(context.Context, string) (net.Conn, error) { return s.Pipe(), nil }
	c := NewClient(cfg)
	t.Cleanup(func() { c.Close() })
	return c
}

// echo answers with the request's body and its remark.
func echo(_ context.Context, r *Request) (*protocol.Response, error) {
	return &protocol.Response{Remark: r.Remark, Body: r.Body}, nil
}

func testRoutes(t testing.TB, more ...Route) *Routes {
	t.Helper()
	routes := append([]Route{
		{Code: 1, Handle: echo},
		{Code: 2, Handle: echo, Mode: Pool},
		{Code: 3, Handle: func(context.Context, *Request) (*protocol.Response, error) {
			return nil, protocol.Errorf(protocol.RespNoPermission, "no %s", "way")
		}},
		{Code: 4, Handle: func(context.Context, *Request) (*protocol.Response, error) { return nil, errors.New("broken") }},
		{Code: 5, Handle: func(context.Context, *Request) (*protocol.Response, error) { panic("oops") }},
		{Code: 6, Handle: func(context.Context, *Request) (*protocol.Response, error) { panic("oops") }, Mode: Pool},
		{Code: 7, Handle: func(context.Context, *Request) (*protocol.Response, error) { return nil, nil }},
		{Code: 8, Handle: echo, MainOnly: true},
	}, more...)
	table := NewRoutes(RoutesConfig{}, routes...)
	t.Cleanup(func() { table.Close() })
	return table
}

func TestRoutes(t *testing.T) {
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Version: 479})
	c := NewClient(ClientConfig{Version: 479})
	defer c.Close()
	tests := []struct {
		code, want int32
		remark     string
	}{
		{1, 0, "hi"},
		{2, 0, "hi"},
		{3, protocol.RespNoPermission, "no way"},
		{4, protocol.RespSystemError, "broken"},
		{5, protocol.RespSystemError, "panic: oops"},
		{6, protocol.RespSystemError, "panic: oops"},
		{7, protocol.RespSystemError, "not set any response code"},
		{8, 0, "hi"},
		{99, protocol.RespRequestCodeNotSupported, " request type 99 not supported"},
	}
	for _, st := range []protocol.SerializeType{protocol.JSON, protocol.Binary} {
		for _, tt := range tests {
			cmd := protocol.NewRequest(tt.code, nil, []byte("body"))
			cmd.Remark, cmd.Serialize = protocol.Some("hi"), st
			a, err := c.Call(t.Context(), addr, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if a.Code != tt.want || a.Remark.V != tt.remark || a.Version != 479 || a.Serialize != st {
				t.Errorf("code %d: %d %q, want %d %q", tt.code, a.Code, a.Remark.V, tt.want, tt.remark)
			}
			if tt.want == 0 && string(a.Body) != "body" {
				t.Errorf("code %d: body %q", tt.code, a.Body)
			}
			// A oneway request is never answered, whatever happens.
			if err := c.Oneway(t.Context(), addr, cmd); err != nil {
				t.Error(err)
			}
		}
	}
	if n := s.Conns(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestFastPort(t *testing.T) {
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
	defer s.Close()
	client, server := NewPipe()
	s.ServeConn(server, true)
	c := NewClient(ClientConfig{Dial: func(context.Context, string) (net.Conn, error) { return client, nil }})
	defer c.Close()
	for code, want := range map[int32]int32{1: 0, 8: protocol.RespRequestCodeNotSupported} {
		a, err := c.Call(t.Context(), "fast", protocol.NewRequest(code, nil, nil))
		if err != nil || a.Code != want {
			t.Errorf("code %d: %v %v", code, a, err)
		}
	}
}

// Detached requests are answered from other goroutines, in any order, exactly once.
func TestDetach(t *testing.T) {
	var mu sync.Mutex
	var late []Responder
	var names []string
	detach := Route{Code: 100, Raw: func(r *Request) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, strings.Clone(r.Remark.V))
		late = append(late, r.Detach())
		r.Reply(&protocol.Response{Code: 77}) // ignored
	}}
	release := Route{Code: 101, Raw: func(r *Request) {
		mu.Lock()
		defer mu.Unlock()
		for i := len(late) - 1; i >= 0; i-- {
			go func() {
				for range 2 {
					late[i].Respond(&protocol.Response{Remark: protocol.Some(names[i])})
				}
			}()
		}
		r.Reply(&protocol.Response{})
	}}
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t, detach, release), Poison: true})
	defer s.Close()
	c := pipeClient(t, s, ClientConfig{})
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			cmd := protocol.NewRequest(100, nil, nil)
			cmd.Remark = protocol.Some(fmt.Sprint("request ", i))
			a, err := c.Call(t.Context(), "x", cmd)
			if err != nil || a.Code != 0 || a.Remark != cmd.Remark {
				t.Errorf("%v: %v %v", cmd.Remark, a, err)
			}
		})
	}
	until(t, "all requests have arrived", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(late) == 500
	})
	if _, err := c.Call(t.Context(), "x", protocol.NewRequest(101, nil, nil)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	s.each(func(c *conn) {
		if n := c.inFlight.Load(); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

// The pool takes Workers and Queue requests; the next is refused, and the connection stays usable.
// Handlers that wait for a client which does not answer keep nobody else waiting, and are bounded themselves.
func TestWaitingLeavesThePoolAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewRoutes(RoutesConfig{Workers: 1, Waiting: 20},
			Route{Code: 1, Mode: Waiting, Handle: func(ctx context.Context, r *Request) (*protocol.Response, error) {
				<-ctx.Done()
				return &protocol.Response{}, nil
			}},
			Route{Code: 2, Mode: Pool, Handle: echo})
		s := NewServer(ServerConfig{Dispatcher: table})
		c := pipeClient(t, s, ClientConfig{})
		var busy atomic.Int32
		for range 25 {
			go func() {
				if a, err := c.Call(context.Background(), "x", protocol.NewRequest(1, nil, nil)); err == nil && a.Code == protocol.RespSystemBusy {
					busy.Add(1)
				}
			}()
		}
		synctest.Wait()
		if busy.Load() != 5 {
			t.Errorf("%d requests were refused", busy.Load())
		}
		begin := time.Now()
		if a, err := c.Call(t.Context(), "x", protocol.NewRequest(2, nil, []byte("quick"))); err != nil || string(a.Body) != "quick" || time.Since(begin) != 0 {
			t.Error(a, err, time.Since(begin))
		}
		table.Close()
		c.Close()
		s.Close()
	})
}

// What waits for the pool is bounded in bytes too: a frame may have 16 MiB.
func TestPoolIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		table := NewRoutes(RoutesConfig{Workers: 1, QueueBytes: 1000}, Route{Code: 1, Mode: Pool, Handle: func(_ context.Context, r *Request) (*protocol.Response, error) {
			<-gate
			return &protocol.Response{}, nil
		}})
		s := NewServer(ServerConfig{Dispatcher: table})
		c := pipeClient(t, s, ClientConfig{})
		ask := func(size int, codes chan<- int32) {
			cmd := protocol.NewRequest(1, nil, nil)
			cmd.Fields.Add("f", string(make([]byte, size-1)))
			a, err := c.Call(t.Context(), "x", cmd)
			if err != nil {
				t.Error(err)
				return
			}
			codes <- a.Code
		}
		for _, step := range []struct{ first, later, want int }{{2000, 100, 1}, {100, 300, 4}, {100, 100, 10}} {
			codes := make(chan int32, 20)
			go ask(step.first, codes)
			synctest.Wait()
			for range 10 {
				go ask(step.later, codes)
			}
			synctest.Wait()
			close(gate)
			taken := 0
			for range 11 {
				if <-codes == 0 {
					taken++
				}
			}
			if taken != step.want {
				t.Errorf("%+v: %d requests were taken", step, taken)
			}
			gate = make(chan struct{})
			synctest.Wait()
		}
		c.Close()
		s.Close()
		table.Close()
	})
}

// A large body is not decoded on the reading goroutine of each connection at once.
func TestLargeBodiesGoToThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var running atomic.Int32
		table := NewRoutes(RoutesConfig{Workers: 2, Queue: 3}, Route{Code: 1, Handle: func(_ context.Context, r *Request) (*protocol.Response, error) {
			if len(r.Body) > 1000 {
				running.Add(1)
				<-gate
			}
			return &protocol.Response{Body: r.Body}, nil
		}})
		s := NewServer(ServerConfig{Dispatcher: table, Poison: true})
		c := pipeClient(t, s, ClientConfig{})
		codes := make(chan int32, 10)
		for range 10 {
			go func() {
				a, err := c.Call(t.Context(), "x", protocol.NewRequest(1, nil, make([]byte, largeBody+1)))
				if err != nil {
					t.Error(err)
					return
				}
				codes <- a.Code
			}()
		}
		synctest.Wait()
		if a, err := c.Call(t.Context(), "x", protocol.NewRequest(1, nil, []byte("small"))); err != nil || string(a.Body) != "small" {
			t.Errorf("%+v %v", a, err)
		}
		if n := running.Load(); n != 2 {
			t.Errorf("%d are handled at once", n)
		}
		close(gate)
		count := map[int32]int{}
		for range 10 {
			count[<-codes]++
		}
		if count[0] != 5 || count[protocol.RespSystemBusy] != 5 {
			t.Error(count)
		}
		c.Close()
		s.Close()
		table.Close()
	})
}

func TestPoolIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		table := NewRoutes(RoutesConfig{Workers: 2, Queue: 3}, Route{Code: 1, Mode: Pool, Handle: func(_ context.Context, r *Request) (*protocol.Response, error) {
			<-gate
			return &protocol.Response{Remark: r.Remark}, nil
		}})
		s := NewServer(ServerConfig{Dispatcher: table})
		c := pipeClient(t, s, ClientConfig{})
		codes := make(chan int32, 10)
		for range 10 {
			go func() {
				a, err := c.Call(t.Context(), "x", protocol.NewRequest(1, nil, nil))
				if err != nil {
					t.Error(err)
					return
				}
				codes <- a.Code
			}()
		}
		synctest.Wait()
		close(gate)
		count := map[int32]int{}
		for range 10 {
			count[<-codes]++
		}
		if count[0] != 5 || count[protocol.RespSystemBusy] != 5 {
			t.Error(count)
		}
		c.Close()
		s.Close()
		table.Close()
	})
}

// A handler that keeps a view finds other bytes there; a clone is safe.
func TestPoisonedViews(t *testing.T) {
	type kept struct {
		view, clone string
		body, own   []byte
	}
	got := make(chan kept, 1)
	keep := Route{Code: 100, Raw: func(r *Request) {
		h, _ := ParseHeader[protocol.GetRouteInfoRequestHeader](r)
		got <- kept{h.Topic.V, h.Clone().Topic.V, r.Body, r.Clone().Body}
		r.Reply(&protocol.Response{})
	}}
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t, keep), Poison: true})
	defer s.Close()
	c := pipeClient(t, s, ClientConfig{})
	h := &protocol.GetRouteInfoRequestHeader{Topic: protocol.Some("TopicTest")}
	if _, err := c.Call(t.Context(), "x", protocol.NewRequest(100, h, []byte("body"))); err != nil {
		t.Fatal(err)
	}
	c.Close() // the reading goroutine is done with the buffer
	s.Close()
	k := <-got
	if k.view == "TopicTest" || string(k.body) == "body" {
		t.Error("views survived")
	}
	if k.clone != "TopicTest" || string(k.own) != "body" {
		t.Errorf("clones changed: %q %q", k.clone, k.own)
	}
}

type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) Connected(ch Channel) { e.add("connected", ch) }
func (e *events) Closed(ch Channel)    { e.add("closed", ch) }
func (e *events) add(what string, ch Channel) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, fmt.Sprint(what, " ", ch.RemoteAddr().Addr()))
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.list, ", ")
}

// Requests go in both directions over one connection, and both ends learn of it.
func TestServerCallsClient(t *testing.T) {
	var seen, clientSeen events
	var ch Channel
	hello := Route{Code: 100, Raw: func(r *Request) {
		ch = r.Channel
		r.Reply(&protocol.Response{})
	}}
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t, hello), Listener: &seen})
	clientRoutes := NewRoutes(RoutesConfig{}, Route{Code: protocol.ReqGetConsumerRunningInfo, Handle: echo})
	c := pipeClient(t, s, ClientConfig{Dispatcher: clientRoutes, Listener: &clientSeen})
	if _, err := c.Call(t.Context(), "x", protocol.NewRequest(100, nil, nil)); err != nil {
		t.Fatal(err)
	}
	a, err := ch.Call(t.Context(), protocol.NewRequest(protocol.ReqGetConsumerRunningInfo, nil, []byte("info")))
	if err != nil || string(a.Body) != "info" {
		t.Errorf("%v %v", a, err)
	}
	if a, err = ch.Call(t.Context(), protocol.NewRequest(999, nil, nil)); err != nil || a.Code != protocol.RespRequestCodeNotSupported {
		t.Errorf("%v %v", a, err)
	}
	if err := ch.Oneway(protocol.NewRequest(protocol.ReqGetConsumerRunningInfo, nil, nil)); err != nil {
		t.Error(err)
	}
	c.Close()
	s.Close()
	<-ch.Done()
	if _, err := ch.Call(t.Context(), protocol.NewRequest(1, nil, nil)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if want := "connected 127.0.0.1, closed 127.0.0.1"; seen.String() != want || clientSeen.String() != want {
		t.Errorf("%s; %s", &seen, &clientSeen)
	}
}

// Close waits for no idle connection.
func TestCloseIdleServerIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
		for range 50 {
			c := pipeClient(t, s, ClientConfig{})
			defer c.Close()
			if _, err := c.Call(t.Context(), "x", protocol.NewRequest(1, nil, nil)); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		s.Close()
		if d := time.Since(begin); d > 0 {
			t.Errorf("Close waited %v", d)
		}
	})
}

// Close waits for detached requests, not for held ones, and not for ever.
func TestCloseDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration) func(*Request) {
			return func(r *Request) {
				late := r.Detach()
				go func() {
					time.Sleep(d)
					late.Respond(&protocol.Response{Remark: protocol.Some("late")})
				}()
			}
		}
		var held Responder
		table := NewRoutes(RoutesConfig{},
			Route{Code: 1, Raw: slow(time.Second)},
			Route{Code: 2, Raw: slow(time.Hour)},
			Route{Code: 3, Raw: func(r *Request) { held = r.Hold() }},
		)
		run := func(code int32) (closing time.Duration, answer *protocol.Command, err error) {
			s := NewServer(ServerConfig{Dispatcher: table})
			c := pipeClient(t, s, ClientConfig{})
			got := make(chan struct{})
			go func() {
				defer close(got)
				answer, err = c.Call(t.Context(), "x", protocol.NewRequest(code, nil, nil))
			}()
			synctest.Wait()
			begin := time.Now()
			s.Close()
			closing = time.Since(begin)
			<-got
			c.Close()
			return closing, answer, err
		}
		if d, a, err := run(1); err != nil || a.Remark.V != "late" || d != time.Second {
			t.Errorf("quick request: %v %v %v", d, a, err)
		}
		if d, _, err := run(2); err == nil || d != 3*time.Second {
			t.Errorf("slow request: %v %v", d, err)
		}
		if d, _, err := run(3); err == nil || d != 0 {
			t.Errorf("held request: %v %v", d, err)
		}
		held.Respond(&protocol.Response{}) // the connection is gone: dropped
		time.Sleep(2 * time.Hour)
	})
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		later := func(take func(*Request) Responder) func(*Request) {
			return func(r *Request) {
				late := take(r)
				go func() {
					time.Sleep(time.Second)
					late.Respond(&protocol.Response{Code: protocol.RespPullNotFound})
				}()
			}
		}
		table := NewRoutes(RoutesConfig{}, Route{Code: 1, Handle: echo}, Route{Code: 2, Raw: later((*Request).Detach)}, Route{Code: 3, Raw: later((*Request).Hold)})
		s := NewServer(ServerConfig{Dispatcher: table, Observe: func(o Observation) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(o.Request, o.Response, o.Took, o.Held, o.Oneway))
		}})
		c := pipeClient(t, s, ClientConfig{})
		for code := range int32(4) {
			if _, err := c.Call(t.Context(), "x", protocol.NewRequest(code, nil, nil)); err != nil {
				t.Fatal(err)
			}
			if code == 1 {
				if err := c.Oneway(t.Context(), "x", protocol.NewRequest(code, nil, nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		c.Close()
		s.Close()
		synctest.Wait()
		if got, want := strings.Join(seen, ", "), "0 3 0s false false, 1 0 0s false false, 1 0 0s false true, 2 19 1s false false, 3 19 1s true false"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// What a connection read together is followed by one call of Gathered, before the replies leave.
func TestGathered(t *testing.T) {
	var handled, gathered atomic.Int32
	table := NewRoutes(RoutesConfig{Gathered: func() {
		gathered.Add(1)
		if handled.Load() == 3 {
			panic("it is not the connection's fault")
		}
	}}, Route{Code: 1, Handle: func(ctx context.Context, r *Request) (*protocol.Response, error) {
		handled.Add(1)
		return echo(ctx, r)
	}})
	defer table.Close()
	_, addr := start(t, ServerConfig{Dispatcher: table})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var frames []byte
	for i := range int32(3) {
		if frames, err = protocol.AppendFrame(frames, &protocol.Command{Code: 1, Opaque: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(frames); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for range 3 {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			t.Fatal(err)
		}
		if gathered.Load() == 0 {
			t.Error("a reply came before the call")
		}
		if _, err := in.Discard(int(binary.BigEndian.Uint32(size[:]))); err != nil {
			t.Fatal(err)
		}
	}
	if n := gathered.Load(); n > 3 {
		t.Errorf("%d calls for 3 requests", n)
	}
}

// Inline and late answers of one pipelined TCP connection: each request is answered once.
func TestMixedAnswersOverTCP(t *testing.T) {
	const n = 3000
	late := make(chan Responder, n)
	table := NewRoutes(RoutesConfig{}, Route{Code: 1, Handle: echo}, Route{Code: 2, Raw: func(r *Request) { late <- r.Detach() }})
	_, addr := start(t, ServerConfig{Dispatcher: table, Limits: Limits{MaxInFlight: 100}, Poison: true})
	var answering sync.WaitGroup
	for range 4 {
		answering.Go(func() {
			for l := range late {
				l.Respond(&protocol.Response{Body: []byte("late")})
			}
		})
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		var out []byte
		for i := range int32(n) {
			cmd := protocol.NewRequest(1+i%2, nil, []byte("inline"))
			cmd.Opaque = i
			out, _ = protocol.AppendFrame(out[:0], cmd)
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}()
	seen := map[int32]bool{}
	for range n {
		a := readFrame(t, c)
		if want := []string{"inline", "late"}[a.Opaque%2]; string(a.Body) != want || seen[a.Opaque] {
			t.Fatalf("answer %d: %q", a.Opaque, a.Body)
		}
		seen[a.Opaque] = true
	}
	close(late)
	answering.Wait()
}
