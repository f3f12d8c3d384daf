// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// The tests of the abuse files attack a broker and look at what other clients notice. Nearly all run in virtual time, over
// connections in memory: there a request that takes time has waited for something, however slow the machine is.

// virtual is a test that runs in virtual time.
func virtual(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func goodClient(t testing.TB, mq *rocketmqtest.Cluster) *client.Client {
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
	t.Cleanup(func() { c.Close() })
	return c
}

// socketClient is a good client in real time, on a machine that may be slow.
func socketClient(t testing.TB, mq *rocketmqtest.Cluster) *client.Client {
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Timeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

func request(code int32, h protocol.Header, body []byte) *protocol.Command {
	cmd := &protocol.Command{Code: code, Body: body}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	return cmd
}

// call asks the broker and gives the answer whatever its code is.
func call(t testing.TB, c *client.Client, mq *rocketmqtest.Cluster, cmd *protocol.Command) *protocol.Command {
	t.Helper()
	answer, err := c.Call(context.Background(), mq.BrokerAddr, cmd)
	if answer == nil {
		t.Fatalf("request %d: %v", cmd.Code, err)
	}
	return answer
}

func dial(t testing.TB, mq *rocketmqtest.Cluster, addr string) net.Conn {
	t.Helper()
	c, err := mq.Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func encoded(t testing.TB, cmd *protocol.Command) []byte {
	t.Helper()
	b, err := protocol.AppendFrame(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read reads one frame of a raw connection.
func read(c net.Conn) (*protocol.Command, error) {
	b := make([]byte, 4)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	b = append(b, make([]byte, binary.BigEndian.Uint32(b))...)
	if _, err := io.ReadFull(c, b[4:]); err != nil {
		return nil, err
	}
	cmd := &protocol.Command{}
	return cmd, cmd.Decode(b)
}

func queue(mq *rocketmqtest.Cluster, id int32) *client.Queue {
	return &client.Queue{Broker: "broker-a", Addr: mq.BrokerAddr, ID: id}
}

func newTopic(name string, queues int32) *protocol.Command {
	return request(protocol.ReqUpdateAndCreateTopic, &protocol.CreateTopicRequestHeader{
		Topic: protocol.Some(name), DefaultTopic: protocol.Some("TBW102"), ReadQueueNums: protocol.Some(queues),
		WriteQueueNums: protocol.Some(queues), Perm: protocol.Some(int32(6)), TopicFilterType: protocol.Some("SINGLE_TAG"),
	}, nil)
}

func pullOf(group, topic string, offset int64, sysFlag int32, expression string) *protocol.PullMessageRequestHeader {
	return &protocol.PullMessageRequestHeader{
		ConsumerGroup: protocol.Some(group), Topic: protocol.Some(topic), QueueID: protocol.Some(int32(0)),
		QueueOffset: protocol.Some(offset), MaxMsgNums: protocol.Some(int32(32)), SysFlag: protocol.Some(sysFlag),
		CommitOffset: protocol.Some(int64(0)), SuspendTimeoutMillis: protocol.Some(int64(100_000)),
		Subscription: protocol.Some(expression), SubVersion: protocol.Some(int64(0)), ExpressionType: protocol.Some("TAG"),
	}
}

// Two requests of mqadmin must not take all memory: one for a topic of 2,147,483,647 queues, one for its statistics.
func TestTopicsWithAbsurdQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		const most = 1<<31 - 1
		if a := call(t, c, mq, newTopic("Huge", most)); a.Code != protocol.RespInvalidParameter || !strings.Contains(a.Remark.V, "65536") {
			t.Errorf("code %d %q", a.Code, a.Remark.V)
		}
		list := fastjson.Marshal(&protocol.CreateTopicListRequestBody{TopicConfigList: []protocol.TopicConfig{
			{TopicName: "Small", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6}, {TopicName: "Huge", ReadQueueNums: 1, WriteQueueNums: most, Perm: 6},
		}})
		if a := call(t, c, mq, request(protocol.ReqUpdateAndCreateTopicList, nil, list)); a.Code != protocol.RespInvalidParameter {
			t.Errorf("list: code %d %q", a.Code, a.Remark.V)
		}
		if a := call(t, c, mq, newTopic("Large", 65536)); a.Code != protocol.RespSuccess {
			t.Errorf("65,536 queues: code %d %q", a.Code, a.Remark.V)
		}
		// The retry topic of a group has as many queues as the group says.
		group := fastjson.Marshal(&protocol.SubscriptionGroupConfig{GroupName: "G", ConsumeEnable: true, RetryQueueNums: most, RetryMaxTimes: 16})
		call(t, c, mq, request(protocol.ReqUpdateAndCreateSubscriptiongroup, nil, group))
		hb := &protocol.HeartbeatData{ClientID: "id", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: "G", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
			SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "Large", SubString: "*"}},
		}}}
		if err := c.Heartbeat(context.Background(), mq.BrokerAddr, hb); err != nil {
			t.Error(err)
		}
		for _, topic := range []string{"Huge", "Large", "%RETRY%G"} {
			for _, code := range []int32{protocol.ReqGetTopicStatsInfo, protocol.ReqQueryConsumeTimeSpan, protocol.ReqGetConsumeStats, protocol.ReqInvokeBrokerToResetOffset} {
				cmd := &protocol.Command{Code: code}
				for name, value := range map[string]string{"topic": topic, "group": "G", "consumerGroup": "G", "timestamp": "-1", "isForce": "true"} {
					cmd.Fields.Add(name, value)
				}
				if a := call(t, c, mq, cmd); len(a.Body) > protocol.MaxFrame {
					t.Errorf("%s, request %d: %d bytes", topic, code, len(a.Body))
				}
			}
		}
	})
}

// frozen is a consumer that does not answer any more.
type frozen struct{}

func (frozen) Dispatch(r *remoting.Request) { r.Hold() }

// A frozen consumer, and tools that ask for it again and again, keep nobody else waiting.
func TestFrozenConsumerKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		consumer := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial, Dispatcher: frozen{}})
		defer consumer.Close()
		hb := &protocol.HeartbeatData{ClientID: "frozen", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: "G", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
		}}}
		if err := consumer.Heartbeat(context.Background(), mq.BrokerAddr, hb); err != nil {
			t.Fatal(err)
		}
		tool := dial(t, mq, mq.BrokerAddr)
		for i, code := range slices.Repeat([]int32{protocol.ReqGetConsumerRunningInfo, protocol.ReqConsumeMessageDirectly, protocol.ReqInvokeBrokerToGetConsumerStatus}, 30) {
			cmd := &protocol.Command{Code: code, Opaque: int32(i), Body: make([]byte, 1<<20)}
			for name, value := range map[string]string{"consumerGroup": "G", "group": "G", "topic": "T", "clientId": "frozen"} {
				cmd.Fields.Add(name, value)
			}
			if _, err := tool.Write(encoded(t, cmd)); err != nil {
				t.Fatal(err)
			}
		}
		c := goodClient(t, mq)
		for _, code := range []int32{protocol.ReqGetAllTopicConfig, protocol.ReqGetBrokerConfig, protocol.ReqGetBrokerRuntimeInfo} {
			begin := time.Now()
			if a := call(t, c, mq, &protocol.Command{Code: code}); a.Code != protocol.RespSuccess || time.Since(begin) > 0 {
				t.Errorf("request %d: code %d %q after %v", code, a.Code, a.Remark.V, time.Since(begin))
			}
		}
	})
}

// Answers are cut so that they fit into a frame; what is cut off can be asked for.
func TestAnswersFitIntoAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		const messages = 6
		for i := range messages {
			m := &client.Message{Topic: "T", Body: bytes.Repeat([]byte{byte('0' + i)}, 4<<20), Keys: []string{"k"}, Queue: queue(mq, 0)}
			if _, err := c.Send(context.Background(), m); err != nil {
				t.Fatal(err)
			}
		}
		visible(t, c, mq, "T", messages)
		find := &protocol.QueryMessageRequestHeader{
			Topic: protocol.Some("T"), Key: protocol.Some("k"), MaxNum: protocol.Some(int32(64)),
			BeginTimestamp: protocol.Some(int64(0)), EndTimestamp: protocol.Some(int64(1) << 60),
		}
		a := call(t, c, mq, request(protocol.ReqQueryMessage, find, nil))
		if got := firstBytes(t, a.Body); a.Code != protocol.RespSuccess || got != "345" {
			t.Errorf("code %d %q, messages %q, want the newest that fit", a.Code, a.Remark.V, got)
		}

		var batch []*client.Message
		for range 30_000 {
			batch = append(batch, &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)})
		}
		for range 4 {
			if _, err := c.SendBatch(context.Background(), "", batch); err != nil {
				t.Fatal(err)
			}
		}
		visible(t, c, mq, "T", messages+120_000)
		show := &protocol.QueryConsumeQueueRequestHeader{Topic: protocol.Some("T"), Index: 3, Count: 1<<31 - 1}
		a = call(t, c, mq, request(protocol.ReqQueryConsumeQueue, show, nil))
		var units protocol.QueryConsumeQueueResponseBody
		if err := fastjson.Unmarshal(a.Body, &units); err != nil || len(units.QueueData) != 100_000 {
			t.Errorf("%d units, %v", len(units.QueueData), err)
		}
	})
}

// visible waits until queue 0 of a topic has so many messages.
func visible(t *testing.T, c *client.Client, mq *rocketmqtest.Cluster, topic string, messages int64) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		end, err := c.MaxOffset(context.Background(), topic, *queue(mq, 0))
		if err == nil && end == messages {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s ends at %d, not at %d: %v", topic, end, messages, err)
		}
	}
}

func firstBytes(t *testing.T, records []byte) string {
	var text string
	for len(records) > 0 {
		r, err := message.ParseRecord(records)
		if err != nil {
			t.Fatal(err)
		}
		text += string(r.Body[:1])
		records = records[r.Size:]
	}
	return text
}

// A topic that a send makes is on disk when the send is answered: the broker may be killed right after.
func TestNewTopicIsOnDiskBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		onDisk := func() string {
			text, err := os.ReadFile(filepath.Join(mq.Dir, "store", "config", "topics.json"))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			return string(text)
		}
		sent, err := c.Send(context.Background(), &client.Message{Topic: "Fresh", Body: []byte("x"), Queue: queue(mq, 0)})
		if err != nil || !strings.Contains(onDisk(), `"Fresh"`) {
			t.Error("the topic is not on disk", err)
		}
		got, err := c.Pull(context.Background(), client.PullRequest{Topic: "Fresh", Queue: sent.Queue, Group: "G", Suspend: time.Second})
		if err != nil || len(got.Messages) != 1 {
			t.Fatal(got, err)
		}
		for _, level := range []int32{0, -1} {
			call(t, c, mq, request(protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{
				Offset: protocol.Some(got.Messages[0].PhyOffset), Group: protocol.Some("G"), DelayLevel: protocol.Some(level),
			}, nil))
		}
		for _, name := range []string{`"%RETRY%G"`, `"%DLQ%G"`} {
			if !strings.Contains(onDisk(), name) {
				t.Errorf("%s is not on disk", name)
			}
		}
	})
}

// U024, and three name servers of which one is down and one hangs: new topics do not wait for those.
func TestNewTopicsWhileNameServersAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const down, hanging = "127.0.0.2:9876", "127.0.0.3:9876"
		others := func(_ context.Context, addr string) (net.Conn, error) {
			if addr != hanging {
				return nil, errors.New("connection refused")
			}
			near, far := net.Pipe() // takes connections and reads nothing
			t.Cleanup(func() { far.Close() })
			return near, nil
		}
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithDial(others),
			rocketmqtest.WithConfig("namesrvAddr", down+";127.0.0.1:9876;"+hanging))
		c := goodClient(t, mq)
		begin := time.Now()
		for i := range 5 {
			topic := fmt.Sprint("T", i)
			if _, err := c.Send(context.Background(), &client.Message{Topic: topic, Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Errorf("the first send to %s: %v", topic, err)
			}
			if route, err := c.Route(context.Background(), topic); err != nil || route.BrokerDatas[0].BrokerName != "broker-a" {
				t.Errorf("route of %s: %+v %v", topic, route, err)
			}
		}
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("the first sends waited %v", waited)
		}
		begin = time.Now()
		mq.Stop()
		if waited := time.Since(begin); waited > time.Second {
			t.Errorf("stopping waited %v", waited)
		}
	})
}
