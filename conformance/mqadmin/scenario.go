// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/compat/javahash"
	"rocketmq-go/compat/mqversion"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// scene brings a cluster into the state in which Java's clients had it when the outputs were recorded, and keeps clients
// connected that answer as those do. What a consumer of Java's does by itself, pulling and storing offsets, it does once.
type scene struct {
	ctx             context.Context
	namesrv, broker string
	release         string
	dial            func(ctx context.Context, addr string) (net.Conn, error)
	ids             *message.IDGenerator
	tool            *client.Client
	clients         map[string]*remoting.Client // by client id
	answers         map[string]*protocol.ConsumerRunningInfo
	facts           map[string]string
}

const (
	brokerName  = "broker-a"
	sysPrepared = 4
	commit      = 8
	rollBack    = 12
	patience    = 30 * time.Second
)

func (r *ours) prepare(ctx context.Context) (*scene, error) {
	s := &scene{
		ctx: ctx, namesrv: r.namesrv, broker: r.broker, release: r.release, dial: r.dial,
		ids:     message.NewIDGenerator(netip.IPv6Loopback(), 1, nil),
		tool:    client.New(client.Options{Namesrv: []string{r.namesrv}, Group: "GID_prod", Dial: r.dial}),
		clients: map[string]*remoting.Client{}, answers: map[string]*protocol.ConsumerRunningInfo{}, facts: map[string]string{},
	}
	s.recordedAnswers(r.recorded["consumerStatus.one"])
	for _, do := range []func() error{s.producers, s.messages, s.transactions, s.backlog, s.consumers, s.traces, s.settle} {
		if err := do(); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *scene) close() {
	for _, c := range s.clients {
		_ = c.Close()
	}
	_ = s.tool.Close()
}

// connect makes a client with the id that Java's had.
func (s *scene) connect(name string) *remoting.Client {
	id := "127.0.0.1@gold-" + name
	c := s.clients[id]
	if c == nil {
		routes := remoting.NewRoutes(remoting.RoutesConfig{},
			remoting.Route{Code: protocol.ReqGetConsumerRunningInfo, Handle: func(context.Context, *remoting.Request) (*protocol.Response, error) {
				info := s.answers[name]
				if info == nil {
					info = &protocol.ConsumerRunningInfo{}
				}
				return &protocol.Response{Body: fastjson.Marshal(info)}, nil
			}},
			remoting.Route{Code: protocol.ReqNotifyConsumerIdsChanged, Handle: nothing},
			remoting.Route{Code: protocol.ReqResetConsumerClientOffset, Handle: nothing},
			remoting.Route{Code: protocol.ReqCheckTransactionState, Handle: nothing},
		)
		c = remoting.NewClient(remoting.ClientConfig{Dial: s.dial, Dispatcher: routes, Version: mqversion.V5_3_3})
		s.clients[id] = c
	}
	return c
}

func nothing(context.Context, *remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{}, nil
}

func (s *scene) heartbeat(name string, hb protocol.HeartbeatData) error {
	hb.ClientID = "127.0.0.1@gold-" + name
	hb.ProducerDataSet = append(hb.ProducerDataSet, protocol.ProducerData{GroupName: "CLIENT_INNER_PRODUCER"})
	return s.call(s.connect(name), protocol.NewRequest(protocol.ReqHeartBeat, nil, fastjson.Marshal(&hb)))
}

func (s *scene) call(c *remoting.Client, cmd *protocol.Command) error {
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	answer, err := c.Call(ctx, s.broker, cmd)
	if err == nil && answer.Code != protocol.RespSuccess {
		err = fmt.Errorf("request %d: %d %s", cmd.Code, answer.Code, answer.Remark.V)
	}
	return err
}

func (s *scene) producers() error {
	return errors.Join(
		s.heartbeat("prod", protocol.HeartbeatData{ProducerDataSet: []protocol.ProducerData{{GroupName: "GID_prod"}}}),
		s.heartbeat("tx", protocol.HeartbeatData{ProducerDataSet: []protocol.ProducerData{{GroupName: "GID_tx"}}}),
	)
}

func (s *scene) queue(id int) client.Queue {
	return client.Queue{Broker: brokerName, Addr: s.broker, ID: int32(id)}
}

// send sends a message with the properties that Java's client gives it.
func (s *scene) send(topic, tags, keys, body string, queue int, properties ...string) (id, offsetID string, err error) {
	id = s.ids.Next()
	all := map[string]string{message.PropUniqKey: id, message.PropWait: "true"}
	for i := 0; i+1 < len(properties); i += 2 {
		all[properties[i]] = properties[i+1]
	}
	q := s.queue(queue)
	m := &client.Message{Topic: topic, Body: []byte(body), Tags: tags, Keys: []string{keys}, Properties: all, Queue: &q}
	for tries := 0; ; tries++ {
		sent, err := s.tool.Send(s.ctx, m)
		if err == nil {
			return id, sent.OffsetID, nil
		}
		if tries == 5 || s.sleep(time.Second) != nil {
			return "", "", err
		}
	}
}

func (s *scene) sleep(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *scene) messages() error {
	for i := range 20 {
		n := strconv.Itoa(i)
		id, offsetID, err := s.send("GoldNormal", []string{"TagA", "TagB"}[i%2], "key"+n, "gold body "+n, i%4, "n", n)
		if err != nil {
			return err
		}
		switch i {
		case 0:
			s.facts["normal.id"], s.facts["normal.offsetid"] = id, offsetID
		case 7:
			s.facts["normal7.id"], s.facts["normal7.offsetid"] = id, offsetID
		}
	}
	for i := range 6 {
		if _, _, err := s.send("GoldOrder", "step", fmt.Sprint("order", i%2), fmt.Sprintf("step %d of %d", i/2, i%2), i%2); err != nil {
			return err
		}
	}
	for _, m := range [][4]string{
		{"GoldDelay", "d", "delay-short", "due in one second"},
		{"GoldDelay", "d", "delay-long", "due in two hours"},
		{"GoldRetry", "bad", "bad0", "rejected"},
	} {
		var delay []string
		switch m[2] {
		case "delay-short":
			delay = []string{message.PropDelay, "1"}
		case "delay-long":
			delay = []string{message.PropDelay, "18"}
		}
		if _, _, err := s.send(m[0], m[1], m[2], m[3], 0, delay...); err != nil {
			return err
		}
	}
	return nil
}

// transactions: one is committed at once, one rolled back, one committed later.
func (s *scene) transactions() error {
	c := s.connect("tx")
	for _, x := range []struct {
		key, body string
		end       int32
	}{{"tx-commit", "commit", commit}, {"tx-rollback", "rollback", rollBack}, {"tx-check", "committed when asked", commit}} {
		id := s.ids.Next()
		var properties []byte
		for _, p := range [][2]string{
			{message.PropTags, "t"},
			{message.PropKeys, x.key},
			{message.PropUniqKey, id},
			{message.PropWait, "true"},
			{"TRAN_MSG", "true"},
			{"PGROUP", "GID_tx"},
		} {
			properties = message.AppendProperty(properties, p[0], p[1])
		}
		header := &protocol.SendMessageRequestHeaderV2{
			A: protocol.Some("GID_tx"), B: protocol.Some("GoldTx"), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)),
			E: protocol.Some(int32(0)), F: protocol.Some(int32(sysPrepared)), G: protocol.Some(time.Now().UnixMilli()),
			H: protocol.Some(int32(0)), I: protocol.Some(string(properties)), J: protocol.Some(int32(0)), K: protocol.Some(false),
			M: protocol.Some(false), N: protocol.Some(brokerName),
		}
		answer, err := c.Call(s.ctx, s.broker, protocol.NewRequest(protocol.ReqSendMessageV2, header, []byte(x.body)))
		if err != nil {
			return err
		}
		var h protocol.SendMessageResponseHeader
		if err := h.ParseFields(&answer.Fields); err != nil || answer.Code != 0 {
			return fmt.Errorf("half message: %d %s, %w", answer.Code, answer.Remark.V, err)
		}
		_, offset, err := message.ParseOffsetID(h.MsgID.V)
		if err != nil {
			return err
		}
		if err := s.call(c, protocol.NewRequest(protocol.ReqEndTransaction, &protocol.EndTransactionRequestHeader{
			Topic: protocol.Some("GoldTx"), ProducerGroup: protocol.Some("GID_tx"), TranStateTableOffset: protocol.Some(h.QueueOffset.V),
			CommitLogOffset: protocol.Some(offset), CommitOrRollback: protocol.Some(x.end), MsgID: protocol.Some(id),
			TransactionID: protocol.Some(id),
		}, nil)); err != nil {
			return err
		}
	}
	return nil
}

func subscription(topic, expression string) protocol.SubscriptionData {
	d := protocol.SubscriptionData{
		Topic: topic, SubString: expression, ExpressionType: "TAG", SubVersion: time.Now().UnixMilli(), TagsSet: []string{}, CodeSet: []int32{},
	}
	if expression != "*" {
		for tag := range strings.SplitSeq(expression, "||") {
			tag = strings.TrimSpace(tag)
			d.TagsSet, d.CodeSet = append(d.TagsSet, tag), append(d.CodeSet, javahash.String(tag))
		}
	}
	return d
}

// join makes a group's member, with pairs of topic and expression.
func (s *scene) join(name string, model protocol.MessageModel, subscriptions ...string) error {
	group := "GID_" + name
	var set []protocol.SubscriptionData
	for i := 0; i+1 < len(subscriptions); i += 2 {
		set = append(set, subscription(subscriptions[i], subscriptions[i+1]))
	}
	if model == "CLUSTERING" {
		set = append(set, subscription("%RETRY%"+group, "*"))
	}
	return s.heartbeat(name, protocol.HeartbeatData{ConsumerDataSet: []protocol.ConsumerData{{
		GroupName: group, ConsumeType: protocol.ConsumePassively, MessageModel: model, ConsumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
		SubscriptionDataSet: set,
	}}})
}

// consume pulls n messages of a queue as they come, and stores the offset behind them.
func (s *scene) consume(group, topic string, queue, n int) ([]message.Record, error) {
	var got []message.Record
	next := int64(0)
	for waited := time.Duration(0); len(got) < n; {
		p, err := s.tool.Pull(s.ctx, client.PullRequest{Topic: topic, Queue: s.queue(queue), Group: group, Offset: next})
		if err != nil {
			return nil, err
		}
		if len(p.Messages) == 0 {
			if waited += 50 * time.Millisecond; waited > patience {
				return nil, fmt.Errorf("%d of %d messages came to queue %d of %s", len(got), n, queue, topic)
			}
			if err := s.sleep(50 * time.Millisecond); err != nil {
				return nil, err
			}
			continue
		}
		for _, m := range p.Messages {
			got, next = append(got, m), m.QueueOffset+1
		}
	}
	return got, s.tool.Commit(s.ctx, group, topic, s.queue(queue), next)
}

func (s *scene) consumeAll(group string, queues ...struct {
	topic string
	id, n int
},
) error {
	for _, q := range queues {
		if _, err := s.consume(group, q.topic, q.id, q.n); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) backlog() error {
	send := func(from, to int) error {
		for i := from; i < to; i++ {
			if _, _, err := s.send("GoldBack", "b", fmt.Sprint("back", i), fmt.Sprint("backlog ", i), i%2); err != nil {
				return err
			}
		}
		return nil
	}
	type queue = struct {
		topic string
		id, n int
	}
	return errors.Join(send(0, 4), s.join("off", "CLUSTERING", "GoldBack", "*"),
		s.consumeAll("GID_off", queue{"GoldBack", 0, 2}, queue{"GoldBack", 1, 2}),
		s.call(s.connect("off"), protocol.NewRequest(protocol.ReqUnregisterClient, &protocol.UnregisterClientRequestHeader{
			ClientID: protocol.Some("127.0.0.1@gold-off"), ConsumerGroup: protocol.Some("GID_off"),
			ProducerGroup: protocol.Some("CLIENT_INNER_PRODUCER"),
		}, nil)), send(4, 8))
}

func (s *scene) consumers() error {
	type queue = struct {
		topic string
		id, n int
	}
	var normal []queue
	for id := range 4 {
		normal = append(normal, queue{"GoldNormal", id, 5})
	}
	popped := []queue{{"GoldPop", 0, 2}, {"GoldPop", 1, 2}}
	if s.release != "" {
		popped = nil // its consumer waits for the queues that a broker of 5.x would tell it
	}
	pop := func() error {
		for i := range 4 {
			if _, _, err := s.send("GoldPop", "p", fmt.Sprint("pop", i), fmt.Sprint("pop ", i), i%2); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		s.join("normal", "CLUSTERING", "GoldNormal", "*", "GoldDelay", "*", "GoldTx", "t || u"),
		s.consumeAll("GID_normal", append(normal, queue{"GoldDelay", 0, 1}, queue{"GoldTx", 0, 2})...),
		s.tool.Commit(s.ctx, "GID_normal", "%RETRY%GID_normal", s.queue(0), 0),
		s.join("order", "CLUSTERING", "GoldOrder", "step"),
		s.consumeAll("GID_order", queue{"GoldOrder", 0, 3}, queue{"GoldOrder", 1, 3}),
		s.join("retry", "CLUSTERING", "GoldRetry", "*"),
		s.reject("GoldRetry"), s.reject("%RETRY%GID_retry"),
		s.join("bcast", "BROADCASTING", "GoldNormal", "TagA"),
		s.join("pop", "CLUSTERING", "GoldPop", "*"), pop(),
		s.consumeAll("GID_pop", popped...),
	)
}

// reject sends the message of a topic back: it comes again after a second, and the second time it is dead.
func (s *scene) reject(topic string) error {
	got, err := s.consume("GID_retry", topic, 0, 1)
	if err != nil {
		return err
	}
	id, _ := message.Property(got[0].Properties, message.PropUniqKey)
	return s.call(s.connect("retry"), protocol.NewRequest(protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{
		Offset: protocol.Some(got[0].PhyOffset), Group: protocol.Some("GID_retry"), DelayLevel: protocol.Some(int32(1)),
		OriginMsgID: protocol.Some(string(id)), OriginTopic: protocol.Some(topic), MaxReconsumeTimes: protocol.Some(int32(1)),
	}, nil))
}

// traces are what the producer and the consumer of the first message sent of it.
func (s *scene) traces() error {
	id, now := s.facts["normal.id"], strconv.FormatInt(time.Now().UnixMilli(), 10)
	record := func(fields ...string) string { return strings.Join(fields, "\x01") + "\x02" }
	pub := record("Pub", now, "DefaultRegion", "GID_prod", "GoldNormal", id, "TagA", "key0", s.broker, "11", "3", "0", s.facts["normal.offsetid"], "true")
	sub := record("SubBefore", now, "DefaultRegion", "GID_normal", "request", id, "0", "key0") +
		record("SubAfter", "request", id, "2", "true", "key0", "0", now, "GID_normal")
	texts := []string{pub, sub}
	if s.release != "" {
		texts = texts[:1] // at a broker of 4.9 the traces of 5.x consumers are missing
	}
	for _, text := range texts {
		if _, _, err := s.send("RMQ_SYS_TRACE_TOPIC", "", id+" key0", text, 0); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the broker has looked at the half messages, written everything to disk, and told the name server, and
// until the messages are more than a minute old, so that they do not count in rates.
func (s *scene) settle() error { return s.sleep(75 * time.Second) }

// recordedAnswers are what Java's clients said about themselves, with something for what is masked in the recording.
func (s *scene) recordedAnswers(recorded *output) {
	unmask := strings.NewReplacer("<TIME>", "2026-11-30 03:00:00,000", "-<N>", "-1", "<N>", "1", "<MS>", "1796000000000",
		"<NS>", s.namesrv, "<HASH>", "1a2b3c4d")
	info := &protocol.ConsumerRunningInfo{}
	if recorded != nil {
		lines := recorded.parts["stdout"]
		end := slices.Index(lines, "#Consumer Subscription#")
		for _, line := range lines[1:max(end, 1)] {
			key, value, _ := strings.Cut(line, ": ")
			info.Properties.Set(strings.TrimSpace(key), unmask.Replace(strings.TrimSpace(value)))
		}
	}
	now := time.Now().UnixMilli()
	for _, topic := range []string{"%RETRY%GID_order", "GoldOrder", "GoldOrder"} {
		id := int32(info.MqTable.Len() / 2)
		info.MqTable.Set(protocol.MessageQueue{Topic: topic, BrokerName: brokerName, QueueID: id}, &protocol.ProcessQueueInfo{
			Locked: true, LastLockTimestamp: now, LastPullTimestamp: now, LastConsumeTimestamp: now,
		})
		info.StatusTable.Set(topic, &protocol.ConsumeStatus{})
	}
	info.SubscriptionSet = []protocol.SubscriptionData{subscription("GoldOrder", "step"), subscription("%RETRY%GID_order", "*")}
	s.answers["order"] = info

	other := &protocol.ConsumerRunningInfo{}
	for topic, queues := range map[string]int32{"GoldNormal": 4, "GoldDelay": 1, "GoldTx": 1, "%RETRY%GID_normal": 1} {
		for id := range queues {
			other.MqTable.Set(protocol.MessageQueue{Topic: topic, BrokerName: brokerName, QueueID: id}, &protocol.ProcessQueueInfo{LastConsumeTimestamp: now})
		}
	}
	s.answers["normal"] = other
}
