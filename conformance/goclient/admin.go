// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// reset: a group is sent back in time while it is offline: what came after that time comes again, what came before it does
// not.
func reset(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "before", 20, nil); err != nil {
		return err
	}
	c, err := r.push(r.topic(), r.group(), r.receive)
	if err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	between := time.Now().UnixMilli()
	time.Sleep(100 * time.Millisecond)
	var broker string
	queues := map[int]bool{}
	for i := range 20 {
		body := fmt.Sprintf("after/%d", i)
		res, err := r.send(p, primitive.NewMessage(r.topic(), []byte(body)))
		if err != nil {
			return err
		}
		r.ledger.send(body)
		queues[res.MessageQueue.QueueId] = true
		if broker, err = brokerOf(res); err != nil {
			return err
		}
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	for i := range 20 {
		r.ledger.expect(fmt.Sprintf("again:after/%d", i))
	}
	if err := c.Shutdown(); err != nil {
		return err
	}
	for q := range queues { // what the client stored at its end may be lost
		end, err := maxOffset(r.ctx, broker, r.topic(), q)
		if err == nil {
			err = setOffset(r.ctx, broker, r.group(), r.topic(), q, end)
		}
		if err != nil {
			return err
		}
	}
	a, err := resetOffsets(r.ctx, broker, r.group(), r.topic(), between)
	if err != nil {
		return err
	}
	if a.Code == notOnline { // consoles then set the offsets themselves
		for q := range queues {
			to, err := offsetAt(r.ctx, broker, r.topic(), q, between)
			if err == nil {
				err = setOffset(r.ctx, broker, r.group(), r.topic(), q, to)
			}
			if err != nil {
				return err
			}
		}
	} else if err := a.failed(); err != nil {
		return err
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		r.ledger.receive("again:" + string(m.Body))
		return consumer.ConsumeSuccess
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// skip: what has piled up for a group that is offline is skipped; it goes on with what comes then.
func skip(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.prime(p, r.group()); err != nil {
		return err
	}
	var broker string
	queues := map[int]int64{} // their next offsets
	for i := range 30 {
		res, err := r.send(p, primitive.NewMessage(r.topic(), fmt.Appendf(nil, "skipped/%d", i)))
		if err != nil {
			return err
		}
		r.ledger.send()
		queues[res.MessageQueue.QueueId] = res.QueueOffset + 1
		if broker, err = brokerOf(res); err != nil {
			return err
		}
	}
	for q, next := range queues {
		// a message can be acknowledged before its queue has it
		err := r.until(func() (bool, error) {
			end, err := maxOffset(r.ctx, broker, r.topic(), q)
			return end == next, err
		})
		if err == nil {
			err = setOffset(r.ctx, broker, r.group(), r.topic(), q, 0)
		}
		if err != nil {
			return err
		}
	}
	a, err := resetOffsets(r.ctx, broker, r.group(), r.topic(), -1)
	if err != nil {
		return err
	}
	if a.Code == notOnline { // consoles then set the offsets themselves
		for q := range queues {
			end, err := maxOffset(r.ctx, broker, r.topic(), q)
			if err == nil {
				err = setOffset(r.ctx, broker, r.group(), r.topic(), q, end)
			}
			if err != nil {
				return err
			}
		}
	} else if err := a.failed(); err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), r.receive); err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "new", 20, nil); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// cloneOffsets: a group gets the offsets of another one: it goes on where that was.
func cloneOffsets(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	source := r.group("source")
	if err := r.prime(p, source); err != nil {
		return err
	}
	var broker string
	queues := map[int]bool{}
	for i := range 40 {
		body := fmt.Sprintf("clone/%d", i)
		res, err := r.send(p, primitive.NewMessage(r.topic(), []byte(body)))
		if err != nil {
			return err
		}
		if res.QueueOffset < 4 {
			r.ledger.send()
		} else {
			r.ledger.send(body)
		}
		queues[res.MessageQueue.QueueId] = true
		if broker, err = brokerOf(res); err != nil {
			return err
		}
	}
	for q := range queues {
		if err := setOffset(r.ctx, broker, source, r.topic(), q, 4); err != nil {
			return err
		}
	}
	a, err := ask(r.ctx, broker, codeCloneOffsets, map[string]string{
		"srcGroup": source, "destGroup": r.group(), "topic": r.topic(), "offline": "true",
	})
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return err
	}
	if _, err := r.push(r.topic(), r.group(), r.receive); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// resend: dead letters are given to the group once more, as a console does: straight to a client that is online.
func resend(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	if err := r.prime(p, r.group()); err != nil {
		return err
	}
	due := func(body string) []string { return []string{body, "dead:" + body, "resent:" + body} }
	res, err := r.send(p, primitive.NewMessage(r.topic(), []byte("resend/4")))
	if err != nil {
		return err
	}
	r.ledger.send(due("resend/4")...)
	broker, err := brokerOf(res)
	if err != nil {
		return err
	}
	if err := r.sendSeries(p, r.topic(), "resend", 4, due); err != nil {
		return err
	}
	var repaired sync.Map
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		body := string(m.Body)
		if _, ok := repaired.Load(body); ok {
			r.ledger.receive("resent:" + body)
			return consumer.ConsumeSuccess
		}
		r.ledger.receive(body)
		return consumer.ConsumeRetryLater
	}, consumer.WithMaxReconsumeTimes(0))
	if err != nil {
		return err
	}
	_, err = r.push("%DLQ%"+r.group(), r.group("dlq"), func(m *primitive.MessageExt) consumer.ConsumeResult {
		r.ledger.receive("dead:" + string(m.Body))
		repaired.Store(string(m.Body), true)
		if err := consumeDirectly(r, broker, m); err != nil {
			r.ledger.fault("%s: %v", m.Body, err)
		}
		return consumer.ConsumeSuccess
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// consumeDirectly gives the message that a dead letter was to a client of the group.
func consumeDirectly(r *run, broker string, dead *primitive.MessageExt) error {
	a, err := ask(r.ctx, broker, codeMembers, map[string]string{"consumerGroup": r.group()})
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return err
	}
	var members struct{ ConsumerIdList []string }
	if err := json.Unmarshal(a.body, &members); err != nil || len(members.ConsumerIdList) != 1 {
		return fmt.Errorf("members %s: %v", a.body, err)
	}
	a, err = ask(r.ctx, broker, codeConsumeDirectly, map[string]string{
		"consumerGroup": r.group(), "clientId": members.ConsumerIdList[0], "topic": dead.GetProperty("RETRY_TOPIC"),
		"msgId": dead.GetProperty("ORIGIN_MESSAGE_ID"), "brokerName": dead.Queue.BrokerName,
	})
	if err == nil {
		err = a.failed()
	}
	if err == nil && !strings.Contains(string(a.body), "CR_SUCCESS") && !strings.Contains(string(a.body), `"consumeResult":0`) {
		err = fmt.Errorf("consumed: %s", a.body)
	}
	return err
}
