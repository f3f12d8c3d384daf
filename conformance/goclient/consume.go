// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// orderly: an orderly consumer holds the queue's lock and sees the messages of each key in order, also after it
// suspended a queue; the suspended message comes again and nothing overtakes it.
func orderly(r *run) error {
	p, err := r.producer(producer.WithQueueSelector(producer.NewHashQueueSelector()))
	if err != nil {
		return err
	}
	const keys, each = 4, 25
	err = r.sendSeries(p, r.topic(), "orderly", keys*each, nil, func(i int, m *primitive.Message) {
		m.WithShardingKey("key" + strconv.Itoa(i%keys))
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	last := map[string]int{}
	suspended := map[string]bool{}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		n, _ := strconv.Atoi(strings.TrimPrefix(string(m.Body), "orderly/"))
		k := m.GetShardingKey()
		mu.Lock()
		defer mu.Unlock()
		if n/keys == 10 && !suspended[k] {
			suspended[k] = true
			return consumer.SuspendCurrentQueueAMoment
		}
		if want, ok := last[k]; ok && n != want+keys {
			r.ledger.fault("%s: %d came after %d", k, n, want)
		}
		last[k] = n
		return r.receive(m)
	}, consumer.WithConsumerOrder(true))
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// tagFilter: a subscription "A || B" never sees the messages of C, nor those without tags.
func tagFilter(r *run) error {
	return filtered(r, consumer.MessageSelector{Type: consumer.TAG, Expression: "A || B"}, func(i int) bool { return i%4 < 2 })
}

// sqlFilter: the broker evaluates the expression over the properties; one that is missing makes it unknown.
func sqlFilter(r *run) error {
	return filtered(r, consumer.MessageSelector{Type: consumer.SQL92, Expression: "(number BETWEEN 10 AND 39 OR color = 'red') AND TAGS IS NOT NULL"},
		func(i int) bool { return (i >= 10 && i <= 39 || i%5 == 0) && i%4 != 3 })
}

func filtered(r *run, sel consumer.MessageSelector, wanted func(int) bool) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	due := func(body string) []string {
		if i, _ := strconv.Atoi(strings.TrimPrefix(body, "filter/")); wanted(i) {
			return []string{body}
		}
		return nil
	}
	err = r.sendSeries(p, r.topic(), "filter", 60, due, func(i int, m *primitive.Message) {
		m.WithTag([]string{"A", "B", "C", ""}[i%4])
		m.WithProperty("number", strconv.Itoa(i))
		if i%5 == 0 {
			m.WithProperty("color", "red")
		}
	})
	if err != nil {
		return err
	}
	if _, err := r.pushSelected(r.topic(), r.group(), sel, r.receive); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

func try(body string, times int) string { return fmt.Sprintf("%s@%d", body, times) }

// retry: a message that the consumer puts off comes again with a count of one, and then no more.
func retry(r *run) error {
	return retried(r, 10, 1, func(p rocketmq.Producer) error { return nil })
}

// deadLetter: a message that fails three times with two allowed repetitions goes to the dead letter queue.
func deadLetter(r *run) error {
	return retried(r, 5, 99, func(p rocketmq.Producer) error {
		dlq := "%DLQ%" + r.group()
		_, err := r.push(dlq, r.group("dlq"), func(m *primitive.MessageExt) consumer.ConsumeResult {
			if m.GetProperty(primitive.PropertyRetryTopic) != r.topic() || m.GetProperty("own") != "kept" || m.GetKeys() != string(m.Body) {
				r.ledger.fault("properties in the dead letter queue: %v", m.GetProperties())
			}
			r.ledger.receive("dead:" + string(m.Body))
			return consumer.ConsumeSuccess
		})
		return err
	})
}

// retried sends n messages to a consumer that takes each only when it was repeated success times; two repetitions
// are allowed.
func retried(r *run, n int, success int32, then func(rocketmq.Producer) error) error {
	const allowed = 2
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.prime(p, r.group()); err != nil {
		return err
	}
	due := func(body string) []string {
		var keys []string
		for t := 0; t <= min(int(success), allowed); t++ {
			keys = append(keys, try(body, t))
		}
		if success > allowed {
			keys = append(keys, "dead:"+body)
		}
		return keys
	}
	err = r.sendSeries(p, r.topic(), "retry", n, due, func(i int, m *primitive.Message) {
		m.WithProperty("own", "kept")
		m.WithKeys([]string{fmt.Sprintf("retry/%d", i)})
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	ids := map[string]string{}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		body := string(m.Body)
		mu.Lock()
		if m.ReconsumeTimes == 0 {
			ids[body] = m.OffsetMsgId
		} else if m.GetProperty("ORIGIN_MESSAGE_ID") != ids[body] || m.Topic != r.topic() || m.GetProperty("own") != "kept" {
			r.ledger.fault("%s: repeated as %s", body, m)
		}
		mu.Unlock()
		r.ledger.receive(try(body, int(m.ReconsumeTimes)))
		if m.ReconsumeTimes >= success {
			return consumer.ConsumeSuccess
		}
		return consumer.ConsumeRetryLater
	}, consumer.WithMaxReconsumeTimes(allowed))
	if err != nil {
		return err
	}
	if err := then(p); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// delay: no message comes before its level's second is over.
func delay(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	err = r.sendSeries(p, r.topic(), "delay", 18, nil, func(i int, m *primitive.Message) { m.WithDelayTimeLevel(i + 1) })
	if err != nil {
		return err
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		if age := time.Now().UnixMilli() - m.BornTimestamp; age < 950 {
			r.ledger.fault("%s came after %d ms", m.Body, age)
		}
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// listener decides by the body: "commit/…", "rollback/…", "check-commit/…" and "check-rollback/…", the latter two
// only when the broker asks.
type listener struct{ r *run }

func (l listener) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	switch strings.Split(string(m.Body), "/")[0] {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnkonwnState
}

func (l listener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	switch strings.Split(string(m.Body), "/")[0] {
	case "check-commit":
		return primitive.CommitMessageState
	case "check-rollback":
		return primitive.RollbackMessageState
	}
	l.r.ledger.fault("asked about %s", m.Body)
	return primitive.UnkonwnState
}

// transaction: only committed messages come, whether the producer said so at once or when the broker asked. Those
// that it asked about may come again: it may ask twice before it noted the first answer.
func transaction(r *run) error {
	r.ledger.allowDups()
	p, err := rocketmq.NewTransactionProducer(listener{r}, r.producerOptions(nil)...)
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	r.onClose(p.Shutdown)
	for _, kind := range []string{"commit", "rollback", "check-commit", "check-rollback"} {
		for i := range 5 {
			body := fmt.Sprintf("%s/%d", kind, i)
			res, err := p.SendMessageInTransaction(r.ctx, primitive.NewMessage(r.topic(), []byte(body)))
			if err != nil {
				return err
			}
			if res.Status != primitive.SendOK {
				return fmt.Errorf("%s: status %d", body, res.Status)
			}
			if strings.HasSuffix(kind, "commit") {
				r.ledger.send(body)
			} else {
				r.ledger.send()
			}
		}
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		body := string(m.Body)
		mu.Lock()
		if seen[body] && strings.HasPrefix(body, "commit/") {
			r.ledger.fault("%s came twice", body)
		}
		seen[body] = true
		mu.Unlock()
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// requestReply: each request gets its own answer through the broker. (The client's CreateReplyMessage loses the body,
// so it is set here.)
func requestReply(r *run) error {
	const hello = "hello"
	p, err := r.producer()
	if err != nil {
		return err
	}
	answers, err := r.producer()
	if err != nil {
		return err
	}
	if _, err := r.send(p, primitive.NewMessage(r.topic(), []byte(probe))); err != nil {
		return err
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		if strings.HasPrefix(string(m.Body), probe) {
			return consumer.ConsumeSuccess
		}
		reply, err := consumer.CreateReplyMessage(m, nil)
		if err == nil {
			reply.Body = []byte("re: " + string(m.Body))
			_, err = r.send(answers, reply)
		}
		if err != nil && string(m.Body) != hello {
			r.ledger.fault("reply: %v", err)
		}
		return consumer.ConsumeSuccess
	})
	if err != nil {
		return err
	}
	// Before the requester's first heartbeat the broker knows no one to answer to, and refuses the answer.
	if err := r.until(func() (bool, error) {
		_, err := p.Request(r.ctx, 3*time.Second, primitive.NewMessage(r.topic(), []byte(hello)))
		return err == nil, err
	}); err != nil {
		return err
	}
	for i := range 10 {
		body := fmt.Sprintf("request/%d", i)
		r.ledger.send("re: " + body)
		reply, err := p.Request(r.ctx, 30*time.Second, primitive.NewMessage(r.topic(), []byte(body)))
		if err != nil {
			return err
		}
		r.ledger.receive(string(reply.Body))
	}
	return r.ledger.wait(r.ctx)
}

// pull: a pull consumer reads every queue from its beginning at offsets of its own choice, and finds the offset of a
// message by the time of its storing.
func pull(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	// The pause gives the messages of a queue different times.
	if err := r.sendSeries(p, r.topic(), "pull", 60, nil, func(int, *primitive.Message) { time.Sleep(2 * time.Millisecond) }); err != nil {
		return err
	}
	c, mqs, err := r.puller()
	if err != nil {
		return err
	}
	for _, mq := range mqs {
		var stored []int64
		for offset := int64(0); offset < 15; {
			res, err := c.PullFrom(r.ctx, mq, offset, 7)
			if err != nil {
				return err
			}
			if res.Status != primitive.PullFound || res.MinOffset != 0 || res.MaxOffset != 15 || len(res.GetMessageExts()) > 7 {
				return fmt.Errorf("queue %d offset %d: %s", mq.QueueId, offset, res)
			}
			for _, m := range res.GetMessageExts() {
				stored = append(stored, m.StoreTimestamp)
				r.ledger.receive(string(m.Body))
			}
			offset = res.NextBeginOffset
		}
		for offset, at := range stored {
			if got, err := c.OffsetForTimestamp(mq, at); err != nil || got != int64(offset) {
				r.ledger.fault("queue %d: offset of time %d is %d (%v), expected %d", mq.QueueId, at, got, err, offset)
			}
		}
	}
	return r.ledger.wait(r.ctx)
}

// puller starts a pull consumer of the case's topic and returns the topic's queues.
func (r *run) puller(opts ...consumer.Option) (rocketmq.PullConsumer, []*primitive.MessageQueue, error) {
	c, err := rocketmq.NewPullConsumer(append([]consumer.Option{
		consumer.WithNsResolver(r.resolver()), consumer.WithGroupName(r.group()),
		consumer.WithInstance(r.instance()), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	}, opts...)...)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Subscribe(r.topic(), everything); err != nil {
		return nil, nil, err
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	r.onClose(c.Shutdown)
	mqs, err := c.GetTopicRouteInfo(r.topic())
	if err == nil && len(mqs) != 4 {
		err = fmt.Errorf("%d queues, expected 4", len(mqs))
	}
	return c, mqs, err
}

// poll: a subscribed pull consumer gets all messages, and its group's offsets are found again by another client.
func poll(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "poll", 60, nil); err != nil {
		return err
	}
	c, _, err := r.puller()
	if err != nil {
		return err
	}
	for len(r.ledger.missing()) > 0 && r.ctx.Err() == nil {
		req, err := c.Poll(r.ctx, 5*time.Second)
		if err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		for _, m := range req.GetMsgList() {
			r.ledger.receive(string(m.Body))
		}
		c.ACK(r.ctx, req, consumer.ConsumeSuccess)
	}
	if err := c.PersistOffset(r.ctx, r.topic()); err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // it was sent without waiting for an answer, and is lost when the connection is closed too early
	if err := c.Shutdown(); err != nil {
		return err
	}
	again, mqs, err := r.puller()
	if err != nil {
		return err
	}
	for _, mq := range mqs {
		if got, err := again.CurrentOffset(mq); err != nil || got != 15 {
			r.ledger.fault("queue %d: stored offset %d (%v), expected 15", mq.QueueId, got, err)
		}
	}
	return r.ledger.wait(r.ctx)
}
