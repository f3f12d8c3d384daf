// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const traceTopic = "RMQ_SYS_TRACE_TOPIC"

// traceRecords says where in a record of each kind the message id stands, and what the ledger calls the record.
var traceRecords = map[string]struct {
	name string
	id   int
}{"Pub": {"pub", 5}, "SubBefore": {"before", 5}, "SubAfter": {"after", 2}}

// trace: what producers and consumers tell of a message arrives in the topic that the broker has for that.
func trace(r *run) error {
	told := &primitive.TraceConfig{Access: primitive.Local, Resolver: r.resolver()}
	p, err := r.producer(producer.WithTrace(told))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	bodies := map[string]string{}
	for _, n := range []string{"0", "1", "2", "3"} {
		body := "trace/" + n
		m := primitive.NewMessage(r.topic(), []byte(body)).WithKeys([]string{"key-" + body}).WithTag("tag")
		res, err := r.send(p, m)
		if err != nil {
			return err
		}
		mu.Lock()
		bodies[res.MsgID] = body
		mu.Unlock()
		r.ledger.send(body, "pub:"+body, "before:"+body, "after:"+body)
	}
	if _, err := r.push(r.topic(), r.group(), r.receive, consumer.WithTrace(told)); err != nil {
		return err
	}
	_, err = r.push(traceTopic, r.group("reader"), func(m *primitive.MessageExt) consumer.ConsumeResult {
		for _, line := range strings.Split(strings.TrimRight(string(m.Body), "\x02"), "\x02") {
			field := strings.Split(line, "\x01")
			kind, ok := traceRecords[field[0]]
			if !ok || len(field) <= kind.id {
				r.ledger.fault("record %q", line)
				continue
			}
			mu.Lock()
			body, mine := bodies[field[kind.id]]
			mu.Unlock()
			if !mine {
				continue
			}
			if !strings.Contains(m.GetKeys(), field[kind.id]) {
				r.ledger.fault("%s: the keys %q do not name the message", body, m.GetKeys())
			}
			r.ledger.receive(kind.name + ":" + body)
		}
		return consumer.ConsumeSuccess
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}
