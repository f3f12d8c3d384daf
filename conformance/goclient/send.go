// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// sendSync: the first message creates the topic with the client's four queues; each answer carries both message ids,
// and the queue offsets of a queue count up from 0.
func sendSync(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	next := map[int]int64{}
	ids := map[string]bool{}
	for i := range 64 {
		body := fmt.Sprintf("sync/%d", i)
		res, err := r.send(p, primitive.NewMessage(r.topic(), []byte(body)))
		if err != nil {
			return err
		}
		r.ledger.send(body)
		q := res.MessageQueue.QueueId
		if res.QueueOffset != next[q] {
			r.ledger.fault("queue %d: offset %d, expected %d", q, res.QueueOffset, next[q])
		}
		next[q]++
		if len(res.MsgID) != 32 || len(res.OffsetMsgID) != 32 || ids[res.MsgID] || ids[res.OffsetMsgID] {
			r.ledger.fault("ids %q %q", res.MsgID, res.OffsetMsgID)
		}
		ids[res.MsgID], ids[res.OffsetMsgID] = true, true
	}
	if len(next) != 4 {
		r.ledger.fault("%d queues used, expected 4", len(next))
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		if !ids[m.MsgId] || !ids[m.OffsetMsgId] {
			r.ledger.fault("received ids %q %q were never answered", m.MsgId, m.OffsetMsgId)
		}
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

func sendAsync(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	const n = 300
	var wg sync.WaitGroup
	for i := range n {
		body := fmt.Sprintf("async/%d", i)
		if i == 0 { // creates the topic; the others then know its queues
			if _, err := r.send(p, primitive.NewMessage(r.topic(), []byte(body))); err != nil {
				return err
			}
			r.ledger.send(body)
			continue
		}
		wg.Add(1)
		err := p.SendAsync(r.ctx, func(_ context.Context, res *primitive.SendResult, err error) {
			defer wg.Done()
			if err != nil || res.Status != primitive.SendOK {
				r.ledger.fault("%s: %v %v", body, res, err)
				return
			}
			r.ledger.send(body)
		}, primitive.NewMessage(r.topic(), []byte(body)))
		if err != nil {
			return err
		}
	}
	wg.Wait()
	if _, err = r.push(r.topic(), r.group(), r.receive); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

func sendOneway(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	for i := range 100 {
		body := fmt.Sprintf("oneway/%d", i)
		if err := p.SendOneWay(r.ctx, primitive.NewMessage(r.topic(), []byte(body))); err != nil {
			return err
		}
		r.ledger.send(body)
	}
	if _, err = r.push(r.topic(), r.group(), r.receive); err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// sendBatch: each message of a batch is stored by itself with its own tags, keys and properties, all of a batch in a
// row in one queue.
func sendBatch(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	for b := range 5 {
		var msgs []*primitive.Message
		for i := range 20 {
			body := fmt.Sprintf("batch/%d/%d", b, i)
			m := primitive.NewMessage(r.topic(), []byte(body)).WithTag("T" + strconv.Itoa(i%3)).WithKeys([]string{body})
			m.WithProperty("number", strconv.Itoa(i))
			msgs = append(msgs, m)
		}
		if _, err := r.send(p, msgs...); err != nil {
			return err
		}
		for _, m := range msgs {
			r.ledger.send(string(m.Body))
		}
	}
	var mu sync.Mutex
	first := map[string]string{} // batch → queue and the offset of its first message
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		part := strings.Split(string(m.Body), "/")
		i, _ := strconv.Atoi(part[2])
		if m.GetKeys() != string(m.Body) || m.GetTags() != "T"+strconv.Itoa(i%3) || m.GetProperty("number") != part[2] {
			r.ledger.fault("%s: properties %v", m.Body, m.GetProperties())
		}
		place := fmt.Sprintf("%d:%d", m.Queue.QueueId, m.QueueOffset-int64(i))
		mu.Lock()
		if f, ok := first[part[1]]; ok && f != place {
			r.ledger.fault("batch %s is not in one piece: %s and %s", part[1], f, place)
		}
		first[part[1]] = place
		mu.Unlock()
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// hashOrder: messages of one sharding key go to one queue and keep their order there.
func hashOrder(r *run) error {
	p, err := r.producer(producer.WithQueueSelector(producer.NewHashQueueSelector()))
	if err != nil {
		return err
	}
	const keys = 8
	err = r.sendSeries(p, r.topic(), "hash", 200, nil, func(i int, m *primitive.Message) {
		m.WithShardingKey(strconv.Itoa(i % keys))
	})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	type place struct{ number, offset int64 }
	seen := map[string]map[int][]place{} // key → queue → messages
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		n, _ := strconv.ParseInt(strings.TrimPrefix(string(m.Body), "hash/"), 10, 64)
		mu.Lock()
		k := m.GetShardingKey()
		if seen[k] == nil {
			seen[k] = map[int][]place{}
		}
		seen[k][m.Queue.QueueId] = append(seen[k][m.Queue.QueueId], place{n, m.QueueOffset})
		mu.Unlock()
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	for k, queues := range seen {
		if len(queues) != 1 {
			r.ledger.fault("key %s is in %d queues", k, len(queues))
		}
		for _, ps := range queues {
			for i := range ps {
				for j := range ps {
					if ps[i].number < ps[j].number && ps[i].offset >= ps[j].offset {
						r.ledger.fault("key %s: %d stands behind %d", k, ps[i].number, ps[j].number)
					}
				}
			}
		}
	}
	if len(seen) != keys {
		r.ledger.fault("%d keys", len(seen))
	}
	return nil
}

// properties: bodies, flag, keys, tags and user properties come back as they were sent, also from compressed bodies.
func properties(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	noise := make([]byte, 60_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	bodies := map[string][]byte{
		"short":        []byte("x"),
		"4095":         bytes.Repeat([]byte("a"), 4095),
		"compressed":   bytes.Repeat([]byte("RocketMQ "), 20_000),
		"noise":        noise,
		"utf-8":        []byte("消息 ünï 🚀"),
		"zero":         make([]byte, 32),
		"many-keys":    []byte("k"),
		"odd-property": []byte("p"),
		"flag":         []byte("f"),
	}
	user := map[string]map[string]string{
		"utf-8":        {"名": "值", "emoji": "🚀"},
		"many-keys":    {"KEYS": "k1 k2 k3"},
		"odd-property": {"with space": "a=b;c|d\\e\"f", "newline": "1\n2", "long": strings.Repeat("v", 5000)},
	}
	for name, body := range bodies {
		m := primitive.NewMessage(r.topic(), body).WithTag("tag-" + name)
		m.WithProperty("name", name)
		for k, v := range user[name] {
			m.WithProperty(k, v)
		}
		if name == "flag" {
			m.Flag = -559038737
		}
		if _, err := r.send(p, m); err != nil {
			return err
		}
		r.ledger.send(name)
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		name := m.GetProperty("name")
		if !bytes.Equal(m.Body, bodies[name]) {
			r.ledger.fault("%s: body of %d bytes came back with %d", name, len(bodies[name]), len(m.Body))
		}
		if m.GetTags() != "tag-"+name {
			r.ledger.fault("%s: tags %q", name, m.GetTags())
		}
		for k, v := range user[name] {
			if m.GetProperty(k) != v {
				r.ledger.fault("%s: property %q is %q", name, k, m.GetProperty(k))
			}
		}
		if flagged := m.Flag == -559038737; flagged != (name == "flag") {
			r.ledger.fault("%s: flag %d", name, m.Flag)
		}
		if m.BornTimestamp <= 0 || m.StoreTimestamp < m.BornTimestamp-1000 || !strings.Contains(m.StoreHost, ":") || m.ReconsumeTimes != 0 {
			r.ledger.fault("%s: %s", name, m)
		}
		r.ledger.receive(name)
		return consumer.ConsumeSuccess
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// limits: a body of 4 MiB is the largest that is taken; a bigger one and properties over 32,767 bytes are refused
// with an answer, and the connection goes on.
func limits(r *run) error {
	p, err := r.producer(producer.WithCompressMsgBodyOverHowmuch(1 << 30))
	if err != nil {
		return err
	}
	const largest = 4 << 20
	body := bytes.Repeat([]byte("0123456789abcdef"), largest/16)
	if err := r.sendSeries(p, r.topic(), "small", 1, nil); err != nil {
		return err
	}
	if _, err := r.send(p, primitive.NewMessage(r.topic(), body)); err != nil {
		return fmt.Errorf("body of 4 MiB: %w", err)
	}
	r.ledger.send("largest")
	if _, err := p.SendSync(r.ctx, primitive.NewMessage(r.topic(), append(body, 'x'))); err == nil {
		r.ledger.fault("a body of 4 MiB + 1 was taken")
	}
	long := primitive.NewMessage(r.topic(), []byte("long properties"))
	long.WithProperty("long", strings.Repeat("p", 33_000))
	if _, err := p.SendSync(r.ctx, long); err == nil {
		r.ledger.fault("33,000 bytes of properties were taken")
	}
	if err := r.sendSeries(p, r.topic(), "after", 1, nil); err != nil {
		return err
	}
	_, err = r.push(r.topic(), r.group(), func(m *primitive.MessageExt) consumer.ConsumeResult {
		if bytes.Equal(m.Body, body) {
			m.Body = []byte("largest")
		}
		if len(m.Body) > 100 {
			m.Body = []byte(fmt.Sprintf("body of %d bytes", len(m.Body)))
		}
		return r.receive(m)
	})
	if err != nil {
		return err
	}
	return r.ledger.wait(r.ctx)
}

// createTopic: a topic made by the admin client has the queues asked for, is listed, and is gone after its deletion.
func createTopic(r *run) error {
	p, err := r.producer()
	if err != nil {
		return err
	}
	res, err := r.send(p, primitive.NewMessage(r.topic("probe"), []byte("probe"))) // its id tells the broker's address
	if err != nil {
		return err
	}
	id, err := primitive.UnmarshalMsgID([]byte(res.OffsetMsgID))
	if err != nil {
		return err
	}
	adm, err := admin.NewAdmin(admin.WithResolver(r.resolver()))
	if err != nil {
		return err
	}
	r.onClose(adm.Close)
	broker := fmt.Sprintf("%s:%d", id.Addr, id.Port)
	topic := r.topic()
	err = adm.CreateTopic(r.ctx, admin.WithTopicCreate(topic), admin.WithBrokerAddrCreate(broker),
		admin.WithReadQueueNums(6), admin.WithWriteQueueNums(6))
	if err != nil {
		return fmt.Errorf("create topic: %w", err)
	}
	if listed, err := topicListed(r, adm, topic, true); err != nil || !listed {
		return fmt.Errorf("new topic is not listed: %w", err)
	}
	used := map[int]bool{}
	for i := range 12 {
		body := fmt.Sprintf("created/%d", i)
		res, err := r.send(p, primitive.NewMessage(topic, []byte(body)))
		if err != nil {
			return err
		}
		r.ledger.send(body)
		used[res.MessageQueue.QueueId] = true
	}
	if len(used) != 6 {
		r.ledger.fault("%d queues, expected 6", len(used))
	}
	c, err := r.push(topic, r.group(), r.receive)
	if err != nil {
		return err
	}
	if err := r.ledger.wait(r.ctx); err != nil {
		return err
	}
	if err := c.Shutdown(); err != nil {
		return err
	}
	if err := adm.DeleteTopic(r.ctx, admin.WithTopicDelete(topic), admin.WithBrokerAddrDelete(broker), admin.WithNameSrvAddr([]string{r.namesrv})); err != nil {
		return fmt.Errorf("delete topic: %w", err)
	}
	if listed, err := topicListed(r, adm, topic, false); err != nil || listed {
		return fmt.Errorf("deleted topic is still listed: %w", err)
	}
	return nil
}

// topicListed asks for the topic list until topic is there (or is not), at most for a few seconds.
func topicListed(r *run, adm admin.Admin, topic string, want bool) (bool, error) {
	listed := !want
	err := r.until(func() (bool, error) {
		list, err := adm.FetchAllTopicList(r.ctx)
		if err != nil {
			return false, err
		}
		listed = false
		for _, t := range list.TopicList {
			listed = listed || t == topic
		}
		return listed == want, nil
	})
	return listed, err
}
