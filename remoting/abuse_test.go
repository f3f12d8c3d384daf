// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
)

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func echoFrame(t testing.TB, opaque int32, body string) []byte {
	t.Helper()
	c := protocol.NewRequest(1, nil, []byte(body))
	c.Opaque = opaque
	b, err := protocol.AppendFrame(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readFrame reads one frame from a raw connection.
func readFrame(t testing.TB, c net.Conn) *protocol.Command {
	t.Helper()
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	b = append(b, make([]byte, binary.BigEndian.Uint32(b))...)
	if _, err := io.ReadFull(c, b[4:]); err != nil {
		t.Fatal(err)
	}
	var cmd protocol.Command
	if err := cmd.Decode(b); err != nil {
		t.Fatal(err)
	}
	return &cmd
}

// until waits for what another goroutine does. A busy machine has all the time it needs.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("never: " + what)
		}
	}
}

// closes checks that the server ends the connection and sends at most max bytes before.
func closes(t *testing.T, c net.Conn, limit int) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(c)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Error("the connection stays open")
	}
	if len(b) > limit {
		t.Errorf("answer %q", b)
	}
}

// U003. What real 5.3.3 servers do with broken frames: close without an answer. Others are not affected.
func TestBrokenFrames(t *testing.T) {
	var log logBuffer
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	good, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	header := func(word uint32, text string) string {
		b := binary.BigEndian.AppendUint32(nil, uint32(4+len(text)))
		return string(binary.BigEndian.AppendUint32(b, word)) + text
	}
	tests := []struct{ name, send string }{
		{"length 0", "\x00\x00\x00\x00" + strings.Repeat("\x00", 12)},
		{"length 2", "\x00\x00\x00\x02\x00\x00"},
		{"length 3", "\x00\x00\x00\x03\x00\x00\x00"},
		{"negative length", "\xff\xff\xff\xf0" + strings.Repeat("\x00", 12)},
		{"frame of 16,777,217 bytes", "\x00\xff\xff\xfd\x00\x00\x00\x02{}"},
		{"header length 0", header(0, "")},
		{"header length beyond the frame", header(100, "{}")},
		{"type 7", header(7<<24|10, `{"code":1}`)},
		{"broken JSON", header(8, `{"code":`)},
		{"language 99", header(15, `{"language":99}`)},
		{"garbage", "\x01\x02\x03\x04 what is this"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write([]byte(tt.send)); err != nil {
				t.Fatal(err)
			}
			closes(t, c, 0)
		})
	}
	if _, err := good.Write(echoFrame(t, 5, "still here")); err != nil {
		t.Fatal(err)
	}
	if a := readFrame(t, good); string(a.Body) != "still here" {
		t.Errorf("%+v", a)
	}
	until(t, "the connections are gone", func() bool { return s.Conns() <= 1 })
	if n := s.Counters().BadFrames; n != int64(len(tests)) {
		t.Errorf("%d bad frames counted", n)
	}
	if n := strings.Count(log.String(), "\n"); n == 0 || n > 4 {
		t.Errorf("%d lines logged, want one for each kind:\n%s", n, log.String())
	}
}

// A good frame in front of a bad one is answered.
func TestAnswerBeforeBadFrame(t *testing.T) {
	_, addr := start(t, ServerConfig{Dispatcher: testRoutes(t)})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(append(echoFrame(t, 5, "good"), 0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if a := readFrame(t, c); string(a.Body) != "good" || a.Opaque != 5 {
		t.Errorf("%+v", a)
	}
	closes(t, c, 0)
}

// U004: other protocols are closed at once, with one line that names them.
func TestForeignProtocols(t *testing.T) {
	var log logBuffer
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Log: slog.New(slog.NewTextHandler(&log, nil)), TLSMode: TLSDisabled, ProxyProtocol: true})
	hello := "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"
	for range 5 {
		for _, send := range []string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", hello, "SSH-2.0-x\r\n"} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(send)); err != nil {
				t.Fatal(err)
			}
			closes(t, c, 0)
			c.Close()
		}
	}
	until(t, "the connections are gone", func() bool { return s.Conns() == 0 })
	if n := s.Counters().Foreign; n != 25 {
		t.Errorf("%d foreign connections counted", n)
	}
	for _, want := range []string{"gRPC endpoint", "HTTP\"", "TLS, which is disabled", "SSH"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%q stands %d times in\n%s", want, n, log.String())
		}
	}
}

// Frames come in any pieces: byte by byte, many at once, cut anywhere.
func TestPieces(t *testing.T) {
	_, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Poison: true})
	var all []byte
	var bodies []string
	for i := range 300 {
		body := strings.Repeat(string(rune('a'+i%26)), i*i%5000)
		if i == 150 {
			body = strings.Repeat("long", 200_000)
		}
		bodies = append(bodies, body)
		all = append(all, echoFrame(t, int32(i), body)...)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, piece := range []func() int{func() int { return 1 + rnd.IntN(3) }, func() int { return 1 + rnd.IntN(5000) }, func() int { return len(all) }} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			// The long frame goes in larger pieces, to be done in time.
			for rest := all; len(rest) > 0; {
				n := min(piece(), len(rest))
				if len(all)-len(rest) > 100_000 {
					n = min(4000+n, len(rest))
				}
				if _, err := c.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		answered := make([]bool, len(bodies)) // that to the long one comes from the pool, perhaps later
		for range bodies {
			a := readFrame(t, c)
			if i := a.Opaque; answered[i] || string(a.Body) != bodies[i] {
				t.Fatalf("opaque %d: %d bytes instead of %d", i, len(a.Body), len(bodies[i]))
			}
			answered[a.Opaque] = true
		}
		c.Close()
	}
}

// A claimed length costs nothing until the bytes arrive.
func TestClaimedLengthCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
		before := heap()
		for range 200 {
			c := s.Pipe()
			defer c.Close()
			if _, err := c.Write([]byte("\x00\xff\xff\xf0\x00\x00\x00\x02{}")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // all are read
		if grown := heap() - before; grown > 10<<20 {
			t.Errorf("%d bytes for 200 half-sent frames", grown)
		}
		s.Close()
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// Frames that are sent in part hold memory; together they are bounded, and small frames go on.
func TestManyHalfSentFrames(t *testing.T) {
	const limit = 16 << 20
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Limits: Limits{MaxReadAll: limit}})
	good, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	frame := echoFrame(t, 1, strings.Repeat("x", 8<<20))
	half := frame[:3<<20]
	for range 20 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(half) // fails where the server has closed
	}
	until(t, "connections are cut off", func() bool { return s.Counters().Crowded >= 10 })
	if n := s.reading.Load(); n > limit+8<<20 {
		t.Errorf("%d bytes are held", n)
	}
	if _, err := good.Write(echoFrame(t, 5, "still here")); err != nil {
		t.Fatal(err)
	}
	if a := readFrame(t, good); string(a.Body) != "still here" {
		t.Errorf("%+v", a)
	}
	until(t, "the connections are gone", func() bool { // also those that the server had not accepted yet
		s.each(func(c *conn) { c.Close() })
		return s.Conns() == 0
	})
	if n := s.reading.Load(); n != 0 {
		t.Errorf("%d bytes are counted after the end", n)
	}
	large, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if _, err := large.Write(frame); err != nil {
		t.Fatal(err)
	}
	if a := readFrame(t, large); len(a.Body) != 8<<20 {
		t.Errorf("%d bytes", len(a.Body))
	}
}

// A client that never reads stops being read, and is cut off after WriteTimeout.
func TestClientThatNeverReads(t *testing.T) {
	limits := Limits{WriteTimeout: 300 * time.Millisecond, MaxQueued: 1 << 20}
	s, addr := start(t, ServerConfig{Dispatcher: testRoutes(t), Limits: limits})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	frame := echoFrame(t, 1, strings.Repeat("x", 100_000))
	_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
	sent := 0
	for err == nil {
		var n int
		n, err = c.Write(frame)
		sent += n
	}
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Fatal("not cut off within a minute")
	}
	if sent > 64<<20 {
		t.Errorf("%d MB were taken from a client that does not read", sent>>20)
	}
	until(t, "the connections are gone", func() bool { return s.Conns() == 0 })
	if s.Counters().Slow != 1 {
		t.Errorf("%+v", s.Counters())
	}
}

// The same when the answers come late: they pile up to twice MaxQueued at most.
func TestLateAnswersToClientThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := make([]byte, 100_000)
		var late []Responder
		table := NewRoutes(RoutesConfig{}, Route{Code: 1, Raw: func(r *Request) { late = append(late, r.Hold()) }})
		s := NewServer(ServerConfig{Dispatcher: table, Limits: Limits{MaxQueued: 4 << 20, MaxInFlight: 10}})
		c := s.Pipe()
		for i := range 1000 { // held requests are not bounded by MaxInFlight
			if _, err := c.Write(echoFrame(t, int32(i), "")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(late) != 1000 {
			t.Fatalf("%d requests held", len(late))
		}
		for _, l := range late {
			l.Respond(&protocol.Response{Body: body})
		}
		synctest.Wait()
		if s.Counters().Slow != 1 || s.Conns() != 0 {
			t.Errorf("%+v, %d connections", s.Counters(), s.Conns())
		}
		s.Close()
	})
}

// Many such clients together are bounded too: those that have much queued are cut off, the others are left alone. When
// all are gone nothing is counted any more.
func TestManyClientsThatNeverRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := make([]byte, 100_000)
		var late []Responder
		table := NewRoutes(RoutesConfig{}, Route{Code: 1, Raw: func(r *Request) { late = append(late, r.Hold()) }})
		const limit = 8 << 20
		s := NewServer(ServerConfig{Dispatcher: table, Limits: Limits{MaxQueuedAll: limit}})
		for range 20 {
			greedy := s.Pipe()
			for i := range 40 {
				if _, err := greedy.Write(echoFrame(t, int32(i), "")); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		modest := s.Pipe()
		if _, err := modest.Write(echoFrame(t, 7, "")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, l := range late {
			l.Respond(&protocol.Response{Body: body})
		}
		synctest.Wait()
		if all := s.all.Load(); all > limit+20*(mayQueue+1<<18) {
			t.Errorf("%d bytes are queued", all)
		}
		if n := s.Counters().Slow; n == 0 || n > 19 {
			t.Errorf("%d connections were cut off", n)
		}
		if a := readFrame(t, modest); a.Opaque != 7 || len(a.Body) != len(body) {
			t.Errorf("%d bytes", len(a.Body))
		}
		s.Close()
		synctest.Wait()
		if all := s.all.Load(); all != 0 || s.Conns() != 0 {
			t.Errorf("%d bytes are counted after the end", all)
		}
	})
}

// What is queued in many buffers arrives in order.
func TestManyAnswersInOrder(t *testing.T) {
	var late []Responder
	table := NewRoutes(RoutesConfig{}, Route{Code: 1, Raw: func(r *Request) { late = append(late, r.Hold()) }},
		Route{Code: 2, Handle: func(context.Context, *Request) (*protocol.Response, error) {
			for i, l := range late {
				l.Respond(&protocol.Response{Body: bytes.Repeat([]byte{byte(i)}, i*1000)})
			}
			return &protocol.Response{}, nil
		}})
	s := NewServer(ServerConfig{Dispatcher: table})
	defer s.Close()
	c := s.Pipe()
	defer c.Close()
	for i := range 200 {
		if _, err := c.Write(echoFrame(t, int32(i), "")); err != nil {
			t.Fatal(err)
		}
	}
	last := protocol.NewRequest(2, nil, nil)
	last.Opaque = 200
	b, err := protocol.AppendFrame(nil, last)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		a := readFrame(t, c)
		if want := bytes.Repeat([]byte{byte(i)}, i*1000); a.Opaque != int32(i) || !bytes.Equal(a.Body, want) {
			t.Fatalf("answer %d: opaque %d, %d bytes", i, a.Opaque, len(a.Body))
		}
	}
	if a := readFrame(t, c); a.Opaque != 200 {
		t.Errorf("%+v", a)
	}
	until(t, "nothing is queued", func() bool { return s.all.Load() == 0 })
}

// Reading stops at MaxInFlight and goes on when answers were given.
func TestInFlightBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var late []Responder
		table := NewRoutes(RoutesConfig{}, Route{Code: 1, Raw: func(r *Request) {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, r.Detach())
		}})
		s := NewServer(ServerConfig{Dispatcher: table, Limits: Limits{MaxInFlight: 10}})
		c := s.Pipe()
		for i := range 100 {
			if _, err := c.Write(echoFrame(t, int32(i), "")); err != nil {
				t.Fatal(err)
			}
		}
		for done := 0; done < 100; {
			synctest.Wait()
			mu.Lock()
			now := late
			late = nil
			mu.Unlock()
			if len(now) != 10 {
				t.Fatalf("%d in flight", len(now))
			}
			for _, l := range now {
				l.Respond(&protocol.Response{})
				readFrame(t, c)
			}
			done += len(now)
		}
		c.Close()
		s.Close()
	})
}

// A connection without traffic is closed after IdleTimeout; traffic in either direction keeps it.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
		silent, half, busy := s.Pipe(), s.Pipe(), s.Pipe()
		frame := echoFrame(t, 1, "")
		if _, err := half.Write(frame[:10]); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := busy.Write(frame); err != nil {
				t.Fatal(err)
			}
			readFrame(t, busy)
			time.Sleep(60 * time.Second)
		}
		synctest.Wait()
		if n := s.Counters().Idle; n != 2 || s.Conns() != 1 {
			t.Errorf("%d idle connections closed, %d open", n, s.Conns())
		}
		time.Sleep(119 * time.Second)
		if n := s.Conns(); n != 0 && n != 1 {
			t.Error(n)
		}
		time.Sleep(12 * time.Second)
		if s.Conns() != 0 {
			t.Error("still open after the idle time")
		}
		silent.Close()
		half.Close()
		busy.Close()
		s.Close()
	})
}

func TestMaxConns(t *testing.T) {
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t), MaxConns: 3})
	defer s.Close()
	for range 3 {
		defer s.Pipe().Close()
	}
	if _, err := s.Pipe().Read(make([]byte, 1)); err != io.EOF {
		t.Error("a fourth connection:", err)
	}
	if s.Counters().Refused != 1 {
		t.Errorf("%+v", s.Counters())
	}
}

// Random bytes, as first bytes and behind a good frame, never hurt the server.
func TestGarbage(t *testing.T) {
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t), ProxyProtocol: true})
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		b := make([]byte, rnd.IntN(400))
		for j := range b {
			b[j] = byte(rnd.Uint32())
		}
		switch i % 4 {
		case 1:
			b = append(echoFrame(t, 1, "x"), b...)
		case 2:
			b = append([]byte{0, 0, 0, byte(len(b)), 0, 0, 0, byte(len(b) / 2)}, b...)
		case 3:
			b = append([]byte{0, 0, 0, byte(len(b)), 1, 0, 0, byte(len(b) / 2)}, b...)
		}
		c := s.Pipe()
		_, _ = c.Write(b)
		go func() {
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}()
	}
	s.Close()
	until(t, "the connections are gone", func() bool { return s.Conns() == 0 })
}

func TestServeAfterClose(t *testing.T) {
	s := NewServer(ServerConfig{Dispatcher: testRoutes(t)})
	s.Close()
	s.Close()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l, false); err != nil {
		t.Error(err)
	}
	if _, err := s.Pipe().Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	c := pipeClient(t, s, ClientConfig{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := c.Call(ctx, "x", protocol.NewRequest(1, nil, nil)); err == nil {
		t.Error("a closed server answered")
	}
}
