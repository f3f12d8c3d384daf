// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// Reports about groups: their offsets, what they are sent back, and heartbeats of all kinds of clients.

// inVirtualTime runs a test with a broker without sockets.
func inVirtualTime(t *testing.T, test func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client), opts ...rocketmqtest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, append(opts, rocketmqtest.WithPipe())...)
		test(t, mq, goodClient(t, mq))
	})
}

func sendMany(t *testing.T, c *client.Client, mq *rocketmqtest.Cluster, topic string, n int) {
	t.Helper()
	for i := range n {
		if _, err := c.Send(context.Background(), &client.Message{Topic: topic, Body: fmt.Append(nil, i), Queue: queue(mq, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
}

// commitAfterPull makes the group known by a pull and sets its offset.
func commitAfterPull(t *testing.T, c *client.Client, mq *rocketmqtest.Cluster, offset int64) {
	t.Helper()
	if _, err := c.Pull(context.Background(), client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Max: 1}); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(context.Background(), "G", "T", *queue(mq, 0), offset); err != nil {
		t.Fatal(err)
	}
}

// U055 (R#2708, R#1825, GO#832): a pull at −1, and its answer with the queue's beginning, do not move the group. U060
// (R#7740): whoever pulls below the beginning gets the same answer each time, and nothing is committed.
func TestPullBelowTheBeginning(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) {
		ctx := context.Background()
		sendMany(t, c, mq, "T", 20)
		commitAfterPull(t, c, mq, 18)
		for _, group := range []string{"G", "B", "B", "B"} {
			got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: group, Offset: -1, Max: 32})
			if err != nil || got.Code != protocol.RespPullOffsetMoved || got.Next != 0 {
				t.Errorf("%s: %+v %v", group, got, err)
			}
		}
		if offset, ok, err := c.Offset(ctx, "G", "T", *queue(mq, 0)); err != nil || !ok || offset != 18 {
			t.Error("the group's offset is", offset, ok, err)
		}
		if offset, ok, _ := c.Offset(ctx, "B", "T", *queue(mq, 0)); ok && offset != 0 {
			t.Error("the other group has the offset", offset)
		}
	})
}

// U058 (R#951): a reset to now leaves nothing to consume.
func TestResetToNow(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) {
		ctx := context.Background()
		sendMany(t, c, mq, "T", 10)
		commitAfterPull(t, c, mq, 2)
		answer := call(t, c, mq, request(protocol.ReqInvokeBrokerToResetOffset, &protocol.ResetOffsetRequestHeader{
			Group: protocol.Some("G"), Topic: protocol.Some("T"), Timestamp: -1, IsForce: true, QueueID: -1,
		}, nil))
		if answer.Code != protocol.RespSuccess {
			t.Fatal(answer.Code, answer.Remark.V)
		}
		got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Offset: 2, Max: 32})
		if err != nil || got.Code != protocol.RespPullOffsetMoved || got.Next != 10 {
			t.Errorf("the next pull: %+v %v", got, err)
		}
		if offset, _, _ := c.Offset(ctx, "G", "T", *queue(mq, 0)); offset != 10 {
			t.Error("the offset is", offset)
		}
	})
}

// U063 (RS#497), U064 (GO#442, GO#441): heartbeats of old clients lack fields, others write enums as numbers. All are
// served, and tools are told Java's names.
func TestHeartbeatsOfAllClients(t *testing.T) {
	for name, group := range map[string]string{
		"3.6": `{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",` +
			`"subscriptionDataSet":[{"topic":"T","subString":"*","codeSet":[],"tagsSet":[]}]}`,
		"client-go":    `{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{"topic":"T","subString":"*","tagsSet":null,"codeSet":null,"subVersion":1,"expressionType":"TAG"}],"unitMode":false}`,
		"numbers":      `{"groupName":"G","consumeType":1,"messageModel":1,"consumeFromWhere":0,"subscriptionDataSet":[{"topic":"T","subString":"*"}]}`,
		"more":         `{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_TIMESTAMP","future":{"x":[1]},"subscriptionDataSet":[{"topic":"T","subString":"A || B","subVersion":"7"}]}`,
		"without subs": `{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET"}`,
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) {
				body := `{"clientID":"c1","consumerDataSet":[` + group + `],"producerDataSet":[]}`
				if a := call(t, c, mq, request(protocol.ReqHeartBeat, nil, []byte(body))); a.Code != protocol.RespSuccess {
					t.Fatal(a.Code, a.Remark.V)
				}
				a := call(t, c, mq, request(protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: protocol.Some("G")}, nil))
				if a.Code != protocol.RespSuccess || !strings.Contains(string(a.Body), `"consumeType":"CONSUME_PASSIVELY"`) ||
					!strings.Contains(string(a.Body), `"messageModel":"CLUSTERING"`) || !strings.Contains(string(a.Body), `"clientId":"c1"`) {
					t.Errorf("%d %s", a.Code, a.Body)
				}
			})
		})
	}
}

// U067 (R#6163): an ordered consumer gives up a message by sending it to its retry topic with the number of tries, which
// are too many: it is in the dead-letter topic, once, for clients of 4.9 and 5.x.
func TestOrderedMessageIsDead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) {
		ctx := context.Background()
		hb := &protocol.HeartbeatData{ClientID: "c1", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: "G", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
			SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*", SubVersion: 1}},
		}}}
		if err := c.Heartbeat(ctx, mq.BrokerAddr, hb); err != nil {
			t.Fatal(err)
		}
		for i, tries := range []int32{2, 1} {
			h := &protocol.SendMessageRequestHeader{
				ProducerGroup: protocol.Some("CLIENT_INNER_PRODUCER"), Topic: protocol.Some("%RETRY%G"), DefaultTopic: protocol.Some("TBW102"),
				DefaultTopicQueueNums: protocol.Some(int32(1)), QueueID: protocol.Some(int32(0)), SysFlag: protocol.Some(int32(0)),
				BornTimestamp: protocol.Some(int64(1)), Flag: protocol.Some(int32(0)), ReconsumeTimes: protocol.Some(tries),
				MaxReconsumeTimes: protocol.Some(int32(1)),
				Properties:        protocol.Some(string(message.AppendProperty(nil, "RETRY_TOPIC", "T"))),
			}
			cmd := request(protocol.ReqSendMessage, h, fmt.Append(nil, i))
			if a := call(t, c, mq, cmd); a.Code != protocol.RespSuccess {
				t.Fatal(a.Code, a.Remark.V)
			}
		}
		synctest.Wait()
		read := func(topic string) (bodies []string) {
			for id := range int32(4) {
				got, err := c.Pull(ctx, client.PullRequest{Topic: topic, Queue: *queue(mq, id), Group: "R", Max: 32})
				if err != nil {
					break // no such queue
				}
				for i := range got.Messages {
					bodies = append(bodies, string(got.Messages[i].Body))
				}
			}
			return bodies
		}
		if got := read("%DLQ%G"); !slices.Equal(got, []string{"0"}) && !slices.Equal(got, []string{"0", "1"}) {
			t.Error("dead are", got)
		}
		if dead, left := read("%DLQ%G"), read("%RETRY%G"); len(dead)+len(left) != 2 {
			t.Error(dead, left)
		}
	})
}

// U069 (GO#624, R#8584): a message that is not here cannot be sent back; the broker says so and goes on.
func TestSendBackOfStrangers(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, mq *rocketmqtest.Cluster, c *client.Client) {
		sendMany(t, c, mq, "T", 2)
		for _, offset := range []int64{-1, 7, 1 << 40, 1<<63 - 1} {
			a := call(t, c, mq, request(protocol.ReqConsumerSendMsgBack, &protocol.ConsumerSendMsgBackRequestHeader{
				Offset: protocol.Some(offset), Group: protocol.Some("G"), DelayLevel: protocol.Some(int32(0)), OriginTopic: protocol.Some("T"),
			}, nil))
			if a.Code != protocol.RespSystemError || !strings.HasPrefix(a.Remark.V, "look message by offset failed") {
				t.Errorf("offset %d: %d %q", offset, a.Code, a.Remark.V)
			}
		}
		h := &protocol.ConsumerSendMsgBackRequestHeader{Offset: protocol.Some(int64(0)), Group: protocol.Some("G"), DelayLevel: protocol.Some(int32(0))}
		answer, err := c.Call(context.Background(), mq.NamesrvAddr, request(protocol.ReqConsumerSendMsgBack, h, nil))
		if answer == nil || answer.Code != protocol.RespRequestCodeNotSupported {
			t.Errorf("the name server: %+v %v", answer, err)
		}
		sendMany(t, c, mq, "T", 1)
	})
}
