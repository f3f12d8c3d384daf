// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is a broker for a test.
type broker struct {
	t  testing.TB
	mq *rocketmqtest.Cluster
	c  *client
}

// start starts one with its name server, in memory.
func start(t testing.TB, o ...rocketmqtest.Option) *broker {
	t.Helper()
	b := &broker{t: t, mq: rocketmqtest.Start(t, append(o, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())...)}
	b.c = b.client(nil)
	return b
}

func (b *broker) dial() net.Conn {
	b.t.Helper()
	conn, err := b.mq.Dial(b.t.Context(), b.mq.BrokerAddr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	return conn
}

// client is a client on a connection of its own.
type client struct {
	b *broker
	c *remoting.Client
}

type dispatch func(*remoting.Request)

func (d dispatch) Dispatch(r *remoting.Request) { d(r) }

// client connects one; it answers what the broker asks with handle.
func (b *broker) client(handle func(*remoting.Request)) *client {
	b.t.Helper()
	return b.clientOf(479, handle)
}

// clientOf connects one of a version, given by its ordinal.
func (b *broker) clientOf(version int32, handle func(*remoting.Request)) *client {
	cfg := remoting.ClientConfig{Version: version, Dial: b.mq.Dial}
	if handle != nil {
		cfg.Dispatcher = dispatch(handle)
	}
	c := &client{b: b, c: remoting.NewClient(cfg)}
	b.t.Cleanup(func() { c.c.Close() })
	return c
}

// call sends a request with pairs of field and value.
func (c *client) call(code int32, body any, fields ...string) *protocol.Command {
	c.b.t.Helper()
	cmd := &protocol.Command{Code: code}
	for i := 0; i < len(fields); i += 2 {
		cmd.Fields.Add(fields[i], fields[i+1])
	}
	switch v := body.(type) {
	case nil:
	case string:
		cmd.Body = []byte(v)
	default:
		cmd.Body = fastjson.Marshal(v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	answer, err := c.c.Call(ctx, c.b.mq.BrokerAddr, cmd)
	if err != nil {
		c.b.t.Fatalf("%s: %v", protocol.RequestName(code), err)
	}
	return answer
}

// must is call for a request that succeeds.
func (c *client) must(code int32, body any, fields ...string) *protocol.Command {
	c.b.t.Helper()
	answer := c.call(code, body, fields...)
	if answer.Code != protocol.RespSuccess {
		c.b.t.Fatalf("%s: code %d, %s", protocol.RequestName(code), answer.Code, answer.Remark.V)
	}
	return answer
}

func (b *broker) call(code int32, body any, fields ...string) *protocol.Command {
	b.t.Helper()
	return b.c.call(code, body, fields...)
}

func (b *broker) must(code int32, body any, fields ...string) *protocol.Command {
	b.t.Helper()
	return b.c.must(code, body, fields...)
}

func (b *broker) topic(name string, queues int) {
	b.t.Helper()
	n := strconv.Itoa(queues)
	b.must(protocol.ReqUpdateAndCreateTopic, nil, "topic", name, "defaultTopic", "TBW102", "readQueueNums", n,
		"writeQueueNums", n, "perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false")
}

func (b *broker) group(name string) {
	b.t.Helper()
	cfg := protocol.NewSubscriptionGroupConfig()
	cfg.GroupName = name
	b.must(protocol.ReqUpdateAndCreateSubscriptiongroup, cfg)
}

func (b *broker) send(topic string, queue int32, properties string) {
	b.t.Helper()
	b.must(protocol.ReqSendMessageV2, "body", "a", "PG", "b", topic, "c", "TBW102", "d", "4", "e", strconv.Itoa(int(queue)),
		"f", "0", "g", strconv.FormatInt(time.Now().UnixMilli(), 10), "h", "0", "i", properties, "j", "0", "k", "false", "m", "false")
}

// online lets the client's heartbeat say that it consumes topics.
func (c *client) online(id, group string, topics ...string) {
	c.b.t.Helper()
	data := protocol.ConsumerData{
		GroupName: group, ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
		ConsumeFromWhere: "CONSUME_FROM_FIRST_OFFSET",
	}
	for _, topic := range topics {
		data.SubscriptionDataSet = append(data.SubscriptionDataSet, protocol.SubscriptionData{Topic: topic, SubString: "*", SubVersion: 1})
	}
	c.must(protocol.ReqHeartBeat, &protocol.HeartbeatData{ClientID: id, ConsumerDataSet: []protocol.ConsumerData{data}})
}

func (c *client) producer(id, group string) {
	c.b.t.Helper()
	c.must(protocol.ReqHeartBeat, &protocol.HeartbeatData{ClientID: id, ProducerDataSet: []protocol.ProducerData{{GroupName: group}}})
}

// pull pulls a queue from its beginning, when all the messages that were sent to it can be.
func (c *client) pull(group, topic string, queue int32, sent int64) {
	c.b.t.Helper()
	c.b.eventually("all messages can be pulled", func() bool {
		answer := c.call(protocol.ReqPullMessage, nil, "consumerGroup", group, "topic", topic, "queueId", strconv.Itoa(int(queue)),
			"queueOffset", "0", "maxMsgNums", "32", "sysFlag", "0", "commitOffset", "0", "suspendTimeoutMillis", "0",
			"subscription", "*", "subVersion", "1", "expressionType", "TAG")
		next, _ := answer.Fields.Get("nextBeginOffset")
		return answer.Code == protocol.RespSuccess && next == strconv.FormatInt(sent, 10)
	})
}

func (c *client) commit(group, topic string, queue int32, offset int) {
	c.b.t.Helper()
	c.must(protocol.ReqUpdateConsumerOffset, nil, "consumerGroup", group, "topic", topic, "queueId", strconv.Itoa(int(queue)),
		"commitOffset", strconv.Itoa(offset))
}

// eventually waits for something that another goroutine of the broker does.
func (b *broker) eventually(what string, done func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatal("never: " + what)
		}
	}
}
