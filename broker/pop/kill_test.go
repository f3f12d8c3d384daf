// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rocketmq-go/broker/pop"
	"rocketmq-go/internal/brokerchild"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

func init() { brokerchild.Main(settings) }

// settings are the broker's.
func settings(dir string) map[string]string {
	return brokerchild.Settings(dir, map[string]string{"defaultTopicQueueNums": "1", "reviveInterval": "200"})
}

const (
	topicName = "Kill"
	groupName = "poppers"
	invisible = 2000 // ms
)

// got is a message as a client has it.
type got struct {
	body, topic, handle string
	queue, again        int32
	offset              int64
	until               time.Time // it is given again
}

type client struct {
	*remoting.Client
	addr string
}

func newClient(addr string) *client {
	return &client{remoting.NewClient(remoting.ClientConfig{Version: 479}), addr}
}

func command(code int32, h protocol.Header, body []byte) *protocol.Command {
	cmd := &protocol.Command{Code: code, Body: body}
	h.AppendFields(&cmd.Fields)
	return cmd
}

// send tells whether the message is acknowledged.
func (c *client) send(ctx context.Context, body string) bool {
	answer, err := c.Call(ctx, c.addr, command(protocol.ReqSendMessage, &protocol.SendMessageRequestHeader{
		ProducerGroup: protocol.Some("p"), Topic: protocol.Some(topicName), DefaultTopic: protocol.Some("TBW102"),
		DefaultTopicQueueNums: protocol.Some(int32(1)), QueueID: protocol.Some(int32(0)), SysFlag: protocol.Some(int32(0)),
		BornTimestamp: protocol.Some(time.Now().UnixMilli()), Flag: protocol.Some(int32(0)), Properties: protocol.Some(""),
	}, []byte(body)))
	return err == nil && answer.Code == protocol.RespSuccess
}

// pop pops what there is, or waits for pollTime ms.
func (c *client) pop(ctx context.Context, pollTime int64) (list []got, err error) {
	began := time.Now()
	answer, err := c.Call(ctx, c.addr, command(protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{
		ConsumerGroup: protocol.Some(groupName), Topic: protocol.Some(topicName), QueueID: pop.AnyQueue, MaxMsgNums: 32,
		InvisibleTime: invisible, PollTime: pollTime, BornTime: began.UnixMilli(), Exp: protocol.Some("*"), ExpType: protocol.Some("TAG"),
	}, nil))
	if err != nil {
		return nil, err
	}
	var h protocol.PopMessageResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		return nil, err
	}
	start := "0"
	for item := range strings.SplitSeq(h.StartOffsetInfo.V, ";") {
		if text, ok := strings.CutPrefix(item, "0 0 "); ok {
			start = text
		}
	}
	for b := answer.Body; len(b) > 0; {
		r, err := message.ParseRecord(b)
		if err != nil {
			return nil, err
		}
		b = b[r.Size:]
		g := got{
			body: string(r.Body), topic: string(r.Topic), queue: r.QueueID, offset: r.QueueOffset, again: r.ReconsumeTimes,
			until: began.Add(invisible * time.Millisecond),
		}
		handle, retried := message.Property(r.Properties, pop.PropHandle)
		if g.handle = string(handle); retried {
			g.topic = pop.RetryTopic(topicName, groupName, false)
		} else {
			g.handle = fmt.Sprintf("%s %d %d %d 0 broker-a %d %d", start, h.PopTime, h.InvisibleTime, h.ReviveQid, r.QueueID, r.QueueOffset)
		}
		list = append(list, g)
	}
	return list, nil
}

func (c *client) ack(ctx context.Context, g *got) bool {
	answer, err := c.Call(ctx, c.addr, command(protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{
		ConsumerGroup: protocol.Some(groupName), Topic: protocol.Some(g.topic), QueueID: protocol.Some(g.queue),
		ExtraInfo: protocol.Some(g.handle), Offset: protocol.Some(g.offset),
	}, nil))
	return err == nil && answer.Code == protocol.RespSuccess
}

// ledger is what clients know.
type ledger struct {
	t *testing.T

	mu    sync.Mutex
	sent  map[string]bool
	seen  map[string]int32  // body → how often it was given before, at most
	acked map[string]string // place → body, of messages whose acknowledgement was answered
	first map[string]bool   // bodies that were acknowledged in time when they were given for the first time
	done  map[string]bool   // bodies that were acknowledged, or may be
}

func newLedger(t *testing.T) *ledger {
	return &ledger{
		t: t, sent: map[string]bool{}, seen: map[string]int32{}, acked: map[string]string{}, first: map[string]bool{}, done: map[string]bool{},
	}
}

func (g *got) place() string { return fmt.Sprint(g.topic, g.queue, "@", g.offset) }

// take notes a message that was given, and tells whether the client acknowledges it: every other one at the first time.
func (l *ledger) take(g *got) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if body, ok := l.acked[g.place()]; ok {
		l.t.Errorf("%s %q was acknowledged and is given again", g.place(), body)
	}
	if g.again > 0 && l.first[g.body] {
		l.t.Errorf("%q was acknowledged in time and is given again", g.body)
	}
	l.seen[g.body] = max(l.seen[g.body], g.again)
	n := g.body[len(g.body)-1]
	return g.again > 0 || n%2 == 0
}

// ackedNow notes an acknowledgement. One without an answer may have been stored or not: either is right.
func (l *ledger) ackedNow(g *got, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[g.body] = true
	if !answered {
		return
	}
	l.acked[g.place()] = g.body
	if g.again == 0 && time.Now().Before(g.until) {
		l.first[g.body] = true
	}
}

// missing counts what was sent and is not acknowledged by anybody.
func (l *ledger) missing() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for body := range l.sent {
		if !l.done[body] {
			n++
		}
	}
	return n
}

// consume pops until ctx ends or the broker is gone.
func (l *ledger) consume(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		list, err := c.pop(ctx, 500)
		if err != nil {
			return
		}
		for i := range list {
			if g := &list[i]; l.take(g) {
				l.ackedNow(g, c.ack(ctx, g))
			}
		}
	}
}

// A broker is killed again and again while consumers pop and acknowledge some of what they get. In the end all that was sent is
// acknowledged, and nothing of which the acknowledgement was answered was given again.
func TestKill(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	dir := filepath.Join(t.TempDir(), "store")
	l := newLedger(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for round := range rounds {
		b := brokerchild.Start(t, dir)
		clients := []*client{newClient(b.Addr), newClient(b.Addr), newClient(b.Addr)}
		var working sync.WaitGroup
		working.Go(func() {
			for i := 0; ; i++ {
				body := strconv.Itoa(round) + "." + strconv.Itoa(i)
				if !clients[0].send(ctx, body) {
					return // killed
				}
				l.mu.Lock()
				l.sent[body] = true
				l.mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
		for _, c := range clients[1:] {
			working.Go(func() { l.consume(ctx, c) })
		}
		time.Sleep(time.Duration(1000+rand.IntN(2500)) * time.Millisecond) // a kill at any moment
		b.Kill(t)
		working.Wait()
		for _, c := range clients {
			_ = c.Close()
		}
	}
	b := brokerchild.Start(t, dir)
	c := newClient(b.Addr)
	defer c.Close()
	done, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		for l.missing() > 0 && ctx.Err() == nil {
			time.Sleep(50 * time.Millisecond)
		}
	}()
	l.consume(done, c)
	if n := l.missing(); n > 0 {
		t.Errorf("%d of %d messages were not given again", n, len(l.sent))
	}
	again := 0
	for _, n := range l.seen {
		again += int(n)
	}
	t.Logf("%d messages in %d lives, %d given again", len(l.sent), rounds, again)
	b.Stop(t)
}
