// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// probe starts the bodies of messages that only find out who consumes; the ledger does not know them.
const probe = "probe/"

// members are the consumers of one group: who received which probe, and how many other messages.
type members struct {
	r      *run
	topic  string
	mu     sync.Mutex
	probes map[string][]string // probe → names of its receivers
	count  map[string]int
	round  int
}

func newMembers(r *run, topic string) *members {
	return &members{r: r, topic: topic, probes: map[string][]string{}, count: map[string]int{}}
}

// handler notes the deliveries of one member under key(body), and its probes apart.
func (g *members) handler(name string, key func(body string) string) handler {
	return func(m *primitive.MessageExt) consumer.ConsumeResult {
		body := string(m.Body)
		g.mu.Lock()
		if strings.HasPrefix(body, probe) {
			g.probes[body] = append(g.probes[body], name)
		} else {
			g.count[name]++
		}
		g.mu.Unlock()
		if !strings.HasPrefix(body, probe) {
			g.r.ledger.receive(key(body))
		}
		return consumer.ConsumeSuccess
	}
}

func itself(body string) string { return body }

func (g *members) received(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count[name]
}

// settle sends rounds of one probe per queue until every probe of a round was received once and every named member
// received one: the group's queues are shared out then.
func (g *members) settle(p rocketmq.Producer, names ...string) error {
	for g.r.ctx.Err() == nil {
		g.round++
		var bodies []string
		for i := range 4 {
			b := fmt.Sprintf("%s%d/%d", probe, g.round, i)
			if _, err := g.r.send(p, primitive.NewMessage(g.topic, []byte(b))); err != nil {
				return err
			}
			bodies = append(bodies, b)
		}
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			if g.settled(bodies, names) {
				return nil
			}
		}
	}
	return fmt.Errorf("the queues are not shared by %v: %w", names, g.r.ctx.Err())
}

func (g *members) settled(bodies, names []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	got := map[string]bool{}
	for _, b := range bodies {
		if len(g.probes[b]) != 1 {
			return false
		}
		got[g.probes[b][0]] = true
	}
	for _, n := range names {
		if !got[n] {
			return false
		}
	}
	return true
}

// firstProbe creates the topic and returns its producer.
func (g *members) firstProbe() (rocketmq.Producer, error) {
	p, err := g.r.producer()
	if err != nil {
		return nil, err
	}
	_, err = g.r.send(p, primitive.NewMessage(g.topic, []byte(probe+"0")))
	return p, err
}

// clustering: two consumers of a group share the queues, and each message comes to one of them.
func clustering(r *run) error {
	g := newMembers(r, r.topic())
	p, err := g.firstProbe()
	if err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		if _, err := r.push(r.topic(), r.group(), g.handler(name, itself)); err != nil {
			return err
		}
	}
	if err := g.settle(p, "a", "b"); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "clustering", 100, nil); err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	if a, b := g.received("a"), g.received("b"); a != 50 || b != 50 {
		r.ledger.fault("shares are %d and %d, expected half each", a, b)
	}
	return nil
}

// broadcasting: every consumer of the group receives every message.
func broadcasting(r *run) error {
	g := newMembers(r, r.topic())
	p, err := g.firstProbe()
	if err != nil {
		return err
	}
	names := []string{"a", "b"}
	for _, name := range names {
		h := g.handler(name, func(body string) string { return name + ":" + body })
		if _, err := r.push(r.topic(), r.group(), h, consumer.WithConsumerModel(consumer.BroadCasting)); err != nil {
			return err
		}
	}
	due := func(body string) []string { return []string{"a:" + body, "b:" + body} }
	if err := r.sendSeries(p, r.topic(), "broadcast", 50, due); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// rebalance: a second consumer joins and leaves again; nothing is lost, though messages under way may come twice.
func rebalance(r *run) error {
	r.ledger.allowDups()
	g := newMembers(r, r.topic())
	p, err := g.firstProbe()
	if err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), g.handler("a", itself)); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "alone", 40, nil); err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	b, err := r.push(r.topic(), r.group(), g.handler("b", itself))
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "joining", 40, nil); err != nil {
		return err
	}
	if err := g.settle(p, "a", "b"); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "both", 40, nil); err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	if g.received("a") == 0 || g.received("b") == 0 {
		r.ledger.fault("one of the consumers received nothing")
	}
	if err := b.Shutdown(); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "left", 40, nil); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// offsetsStored is the time after which the broker has the offsets of a running push consumer for sure: the client sends
// them for the first time ten seconds after its start. Those that it sends when it ends may be lost, because it waits for
// no answer before it closes the connection, and because Apache's broker may lose one of a group's very first offsets
// when several arrive at once.
const offsetsStored = 15 * time.Second

// offsetRestart: a consumer that ends and starts again goes on where the group was.
func offsetRestart(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	phase := func(prefix string) (rocketmq.PushConsumer, error) {
		if err := r.sendSeries(p, r.topic(), prefix, 50, nil); err != nil {
			return nil, err
		}
		c, err := r.push(r.topic(), r.group(), r.receive)
		if err != nil {
			return nil, err
		}
		return c, r.ledger.wait(r.ctx)
	}
	c, err := phase("before")
	if err != nil {
		return err
	}
	time.Sleep(offsetsStored)
	if err := c.Shutdown(); err != nil {
		return err
	}
	_, err = phase("after")
	return err
}

// fromLast: a new group that wants only new messages still gets the old ones of a young topic, because the broker
// answers its first question for an offset with 0 as long as the queue was never cleaned and is in memory.
func fromLast(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "old", 20, nil); err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), r.receive, consumer.WithConsumeFromWhere(consumer.ConsumeFromLastOffset)); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "new", 20, nil); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// brokerRestart: the broker is stopped and started while messages are sent and consumed. The sender repeats what was
// not accepted; what was accepted must arrive. The cases that do this run side by side, so each sees the other's
// restart too, at any moment.
func brokerRestart(r *run) error { return acrossRestart(r, "term") }

// brokerKill is the same with kill -9.
func brokerKill(r *run) error { return acrossRestart(r, "kill") }

func acrossRestart(r *run, how string) error {
	r.ledger.allowDups()
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := sendStubbornly(r, p, "before", 50); err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), r.receive); err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	restarted := make(chan error, 1)
	go func() { restarted <- r.restartBroker(how) }()
	if err := sendStubbornly(r, p, "during", 100); err != nil {
		return errors.Join(err, <-restarted)
	}
	if err := <-restarted; err != nil {
		return err
	}
	if err := sendStubbornly(r, p, "after", 50); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// sendStubbornly sends n messages at a slow pace, each until the broker accepts it.
func sendStubbornly(r *run, p rocketmq.Producer, prefix string, n int) error {
	for i := range n {
		body := fmt.Sprintf("%s/%d", prefix, i)
		for {
			_, err := r.send(p, primitive.NewMessage(r.topic(), []byte(body)))
			if err == nil {
				break
			}
			if r.ctx.Err() != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
		r.ledger.send(body)
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}
