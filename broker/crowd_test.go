// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// bystander is a client that sends all the time and remembers how long it had to wait.
type bystander struct {
	c      *client.Client
	stop   chan struct{}
	done   sync.WaitGroup
	sent   int
	waited time.Duration // at most
	fails  []error
}

func startBystander(c *client.Client, mq *rocketmqtest.Cluster) *bystander {
	b := &bystander{c: c, stop: make(chan struct{})}
	b.done.Go(func() {
		for n := 0; ; n++ {
			var pause time.Duration
			if n > 50 { // virtual time stands still while others are busy
				pause = time.Millisecond
			}
			select {
			case <-b.stop:
				return
			case <-time.After(pause):
			}
			begin := time.Now()
			sent, err := b.c.Send(context.Background(), &client.Message{Topic: "Bystander", Body: []byte(fmt.Sprint(n)), Queue: queue(mq, 0)})
			b.sent++
			b.waited = max(b.waited, time.Since(begin))
			if err != nil || sent.QueueOffset != int64(n) {
				b.fails = append(b.fails, fmt.Errorf("message %d: %+v %w", n, sent, err))
				return
			}
		}
	})
	return b
}

// check ends the bystander: nothing failed, nothing is lost.
func (b *bystander) check(t *testing.T, mq *rocketmqtest.Cluster) {
	t.Helper()
	close(b.stop)
	b.done.Wait()
	for _, err := range b.fails {
		t.Error(err)
	}
	n := b.sent
	if n == 0 {
		t.Fatal("the bystander sent nothing")
	}
	t.Logf("a bystander's %d sends took %v at most", n, b.waited)
	for offset := int64(0); offset < int64(n); {
		got, err := b.c.Pull(context.Background(), client.PullRequest{Topic: "Bystander", Queue: *queue(mq, 0), Group: "G", Offset: offset, Suspend: time.Second})
		if err != nil || got.Next <= offset {
			t.Fatalf("at %d: %+v %v", offset, got, err)
		}
		for i := range got.Messages {
			if m := &got.Messages[i]; string(m.Body) != fmt.Sprint(m.QueueOffset) {
				t.Fatalf("offset %d has %q", m.QueueOffset, m.Body)
			}
		}
		offset = got.Next
	}
}

// mob opens connections and runs what each does with its own.
func mob(t *testing.T, mq *rocketmqtest.Cluster, size int, each func(i int, c net.Conn)) {
	t.Helper()
	var all sync.WaitGroup
	for i := range size {
		c, err := mq.Dial(t.Context(), mq.BrokerAddr)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.Close()
			each(i, c)
		})
	}
	all.Wait()
}

// crowd is what many bad clients do.
type crowd struct {
	size int
	each func(i int, c net.Conn)
}

// meet lets a crowd and a bystander meet at a broker.
func (w crowd) meet(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) *bystander {
	for range 8 {
		if _, err := c.Send(context.Background(), &client.Message{Topic: "Big", Body: make([]byte, 200<<10), Queue: queue(mq, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	b := startBystander(c, mq)
	mob(t, mq, w.size, w.each)
	b.check(t, mq)
	return b
}

// What a crowd of bad clients does costs others nothing but processor time, and leaves nothing behind when it goes (the
// end of the tests of this package checks the goroutines).
func TestCrowds(t *testing.T) {
	pulls := func(group string, n int, offset int64, sysFlag int32) []byte {
		var all []byte
		for i := range n {
			cmd := request(protocol.ReqPullMessage, pullOf(group, "Big", offset, sysFlag, "*"), nil)
			cmd.Opaque = int32(i)
			all = append(all, encoded(t, cmd)...)
		}
		return all
	}
	for name, crowd := range map[string]crowd{
		"says nothing": {1000, func(_ int, c net.Conn) { time.Sleep(200 * time.Millisecond) }},
		"says it byte by byte": {200, func(_ int, c net.Conn) {
			for _, b := range encoded(t, request(protocol.ReqSendMessage, nil, make([]byte, 100)))[:60] {
				if _, err := c.Write([]byte{b}); err != nil {
					t.Error(err)
				}
				time.Sleep(5 * time.Millisecond)
			}
		}},
		"never reads what it pulls": {10, func(_ int, c net.Conn) {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write(pulls("G", 3000, 0, 4))
			time.Sleep(200 * time.Millisecond)
		}},
		"leaves while its pulls are held": {40, func(_ int, c net.Conn) {
			if _, err := c.Write(pulls("G", 500, 8, 2|4)); err != nil {
				t.Error(err)
			}
			time.Sleep(300 * time.Millisecond)
		}},
		"leaves while it is answered": {50, func(i int, c net.Conn) {
			var all []byte
			for n := range 2000 {
				cmd := &protocol.Command{Code: []int32{14, 15, 30, 31, 34, 29, 21, 202, 10, 41}[n%10], Opaque: int32(n % 3)}
				for name, value := range map[string]string{"topic": "Big", "queueId": "0", "timestamp": "1", "consumerGroup": "G"} {
					cmd.Fields.Add(name, value)
				}
				all = append(all, encoded(t, cmd)...)
			}
			_ = c.SetDeadline(time.Now().Add(500 * time.Millisecond))
			_, _ = c.Write(all)
			if i%2 == 0 {
				_, _ = io.CopyN(io.Discard, c, 1000)
			}
		}},
		"talks nonsense": {300, func(i int, c net.Conn) {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			b := make([]byte, random.IntN(600))
			for j := range b {
				b[j] = byte(random.Uint32())
			}
			if i%3 > 0 && len(b) > 8 { // a frame at least
				copy(b, []byte{0, 0, byte((len(b) - 4) >> 8), byte(len(b) - 4), byte(i % 2), 0, 0, byte(random.IntN(256))})
			}
			_, _ = c.Write(b)
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			_, _ = io.Copy(io.Discard, c)
		}},
	} {
		t.Run(name, virtual(func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("flushDiskType", "ASYNC_FLUSH"))
			if b := crowd.meet(t, mq, goodClient(t, mq)); b.waited > 0 {
				t.Errorf("the bystander waited %v", b.waited)
			}
		}))
	}
}

// Crowds whose ways need real sockets.
func TestCrowdsAtSockets(t *testing.T) {
	for name, crowd := range map[string]crowd{
		"talks to somebody else": {300, func(i int, c net.Conn) {
			hello := []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", "*1\r\n$4\r\nPING\r\n"}
			_, _ = c.Write([]byte(hello[i%len(hello)]))
			if i%len(hello) == 2 {
				return // a TLS server waits for the rest
			}
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%q leaves the connection open: %v", hello[i%len(hello)], err)
			}
		}},
		"is cut off in the middle": {300, func(i int, c net.Conn) {
			f := encoded(t, request(protocol.ReqSendMessageV2, &protocol.SendMessageRequestHeaderV2{B: protocol.Some("Big"), I: protocol.Some(strings.Repeat("K\x01v\x02", 50))}, make([]byte, 5000)))
			_, _ = c.Write(f[:len(f)*i/300])
			if i%2 == 0 {
				_ = c.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, c) // until the broker closes it
			} else {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mq := rocketmqtest.Start(t)
			crowd.meet(t, mq, socketClient(t, mq))
		})
	}
}

// Oneway requests are never answered, whatever they ask; requests with one opaque are all answered with it.
func TestOnewayAndEqualOpaques(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		conn := dial(t, mq, mq.BrokerAddr)
		codes := mq.Broker.Dispatcher().(interface{ Codes() []int32 }).Codes()
		slices.Sort(codes)
		send := func(cmd *protocol.Command) {
			t.Helper()
			for name, value := range map[string]string{"topic": "TBW102", "queueId": "0", "consumerGroup": "G", "group": "G"} {
				cmd.Fields.Add(name, value)
			}
			if _, err := conn.Write(encoded(t, cmd)); err != nil {
				t.Fatal(err)
			}
		}
		for _, code := range append(codes, 9999) {
			send(&protocol.Command{Code: code, Flag: protocol.FlagOneway, Opaque: 1, Body: []byte("{}")})
		}
		for range 1000 {
			send(&protocol.Command{Code: protocol.ReqGetMaxOffset, Opaque: 2})
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		for n := 0; n < 1000; {
			a, err := read(conn)
			switch {
			case err != nil:
				t.Fatal(err)
			case !a.IsResponse(): // a notice
			case a.Opaque != 2:
				t.Fatalf("a oneway request was answered: %+v", a)
			default:
				n++
			}
		}
	})
}

// Pulls of clients that never read are held and then all woken by one large message. Others are woken without delay,
// and memory stays bounded.
func TestPullsWokenForClientsThatNeverRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		ctx := context.Background()
		for _, topic := range []string{"Big", "Quick"} {
			if _, err := c.Send(ctx, &client.Message{Topic: topic, Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Fatal(err)
			}
			visible(t, c, mq, topic, 1)
		}
		const conns, pulls = 40, 400
		for range conns {
			conn := dial(t, mq, mq.BrokerAddr)
			var all []byte
			for i := range pulls {
				cmd := request(protocol.ReqPullMessage, pullOf("G", "Big", 1, 2|4, "*"), nil)
				cmd.Opaque = int32(i)
				all = append(all, encoded(t, cmd)...)
			}
			if _, err := conn.Write(all); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait() // they are held
		if _, err := c.Send(ctx, &client.Message{Topic: "Big", Body: make([]byte, 250<<10), Queue: queue(mq, 0)}); err != nil {
			t.Fatal(err)
		}
		var longest time.Duration
		var memory uint64
		for offset := int64(1); offset < 200; offset++ {
			arrived := make(chan error, 1)
			go func() {
				got, err := c.Pull(ctx, client.PullRequest{Topic: "Quick", Queue: *queue(mq, 0), Group: "G", Offset: offset, Suspend: 10 * time.Second})
				if err == nil && len(got.Messages) != 1 {
					err = fmt.Errorf("%+v", got)
				}
				arrived <- err
			}()
			synctest.Wait()
			begin := time.Now()
			if _, err := c.Send(ctx, &client.Message{Topic: "Quick", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Fatal(err)
			}
			if err := <-arrived; err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(begin))
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			memory = max(memory, m.HeapInuse)
		}
		t.Logf("from send to receipt %v at most, %d MiB in use", longest, memory>>20)
		if longest > 0 {
			t.Error("others wait for them")
		}
		if memory > 1500<<20 {
			t.Error("they take all memory")
		}
	})
}
