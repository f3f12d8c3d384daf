// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// run is one case under way: its names, its clients and its ledger.
type run struct {
	options
	name   string
	ledger *ledger
	ctx    context.Context

	mu      sync.Mutex
	clients int
	closers []func() error
}

func (r *run) topic(part ...string) string { return r.id("CT", part) }
func (r *run) group(part ...string) string { return r.id("CG", part) }

func (r *run) id(prefix string, part []string) string {
	s := prefix + "-" + r.name
	for _, p := range part {
		s += "-" + p
	}
	return s + "-" + r.suffix
}

// instance is a new client id: the client shares one connection per instance name otherwise.
func (r *run) instance() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients++
	return fmt.Sprintf("%s-%d-%s", r.name, r.clients, r.suffix)
}

func (r *run) resolver() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{r.namesrv})
}

func (r *run) onClose(f func() error) {
	r.mu.Lock()
	r.closers = append(r.closers, f)
	r.mu.Unlock()
}

func (r *run) close() {
	for _, f := range r.closers {
		_ = f()
	}
}

func (r *run) producerOptions(opts []producer.Option) []producer.Option {
	return append([]producer.Option{
		producer.WithNsResolver(r.resolver()),
		producer.WithGroupName(r.group("producer")),
		producer.WithInstanceName(r.instance()),
		producer.WithRetry(2),
		producer.WithSendMsgTimeout(30 * time.Second),
	}, opts...)
}

func (r *run) producer(opts ...producer.Option) (rocketmq.Producer, error) {
	p, err := rocketmq.NewProducer(r.producerOptions(opts)...)
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	r.onClose(p.Shutdown)
	return p, nil
}

// send sends one message and checks the answer that a healthy broker gives.
func (r *run) send(p rocketmq.Producer, msgs ...*primitive.Message) (*primitive.SendResult, error) {
	res, err := p.SendSync(r.ctx, msgs...)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	if res.Status != primitive.SendOK {
		return nil, fmt.Errorf("send: status %d", res.Status)
	}
	return res, nil
}

// sendSeries sends n messages whose bodies are "prefix/number"; due lists the deliveries of a body, nil one by itself.
func (r *run) sendSeries(p rocketmq.Producer, topic, prefix string, n int, due func(body string) []string, edit ...func(int, *primitive.Message)) error {
	for i := range n {
		body := fmt.Sprintf("%s/%d", prefix, i)
		msg := primitive.NewMessage(topic, []byte(body))
		for _, e := range edit {
			e(i, msg)
		}
		if _, err := r.send(p, msg); err != nil {
			return err
		}
		if due == nil {
			r.ledger.send(body)
		} else {
			r.ledger.send(due(body)...)
		}
	}
	return nil
}

// handler consumes one message.
type handler func(*primitive.MessageExt) consumer.ConsumeResult

// receive is the handler of most cases: note the body.
func (r *run) receive(m *primitive.MessageExt) consumer.ConsumeResult {
	r.ledger.receive(string(m.Body))
	return consumer.ConsumeSuccess
}

var everything = consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}

// push starts a push consumer, from the first message on. The client refuses to start before the topic has a route.
func (r *run) push(topic, group string, h handler, opts ...consumer.Option) (rocketmq.PushConsumer, error) {
	return r.pushSelected(topic, group, everything, h, opts...)
}

func (r *run) pushSelected(topic, group string, sel consumer.MessageSelector, h handler, opts ...consumer.Option) (rocketmq.PushConsumer, error) {
	for {
		c, err := r.tryPush(topic, group, sel, h, opts)
		if err == nil {
			r.onClose(c.Shutdown)
			return c, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-r.ctx.Done():
			return nil, fmt.Errorf("start of consumer: %w", err)
		}
	}
}

func (r *run) tryPush(topic, group string, sel consumer.MessageSelector, h handler, opts []consumer.Option) (rocketmq.PushConsumer, error) {
	c, err := rocketmq.NewPushConsumer(append([]consumer.Option{
		consumer.WithNsResolver(r.resolver()),
		consumer.WithGroupName(group),
		consumer.WithInstance(r.instance()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, opts...)...)
	if err != nil {
		return nil, err
	}
	err = c.Subscribe(topic, sel, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			if res := h(m); res != consumer.ConsumeSuccess {
				return res, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		return nil, err
	}
	return c, c.Start()
}

// prime makes the group and its retry topic known to the servers by a consumer of another topic: the client looks for
// the route of its retry topic once at its start and then only every half minute.
func (r *run) prime(p rocketmq.Producer, group string) error {
	topic := r.topic("prime")
	if _, err := r.send(p, primitive.NewMessage(topic, []byte("prime"))); err != nil {
		return err
	}
	c, err := r.push(topic, group, func(*primitive.MessageExt) consumer.ConsumeResult { return consumer.ConsumeSuccess })
	if err != nil {
		return err
	}
	return c.Shutdown()
}

// until repeats check for at most a minute.
func (r *run) until(check func() (bool, error)) error {
	deadline := time.Now().Add(time.Minute)
	for {
		done, err := check()
		if done {
			return nil
		}
		if time.Now().After(deadline) {
			if err == nil {
				err = fmt.Errorf("not within a minute")
			}
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
}
