// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// filterClient talks to a broker about topic T, queue 0, as group G.
type filterClient struct {
	*client.Client
	t    *testing.T
	mq   *rocketmqtest.Cluster
	addr string
}

func newFilterClient(t *testing.T, mq *rocketmqtest.Cluster) *filterClient {
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
	t.Cleanup(func() { _ = c.Close() })
	return &filterClient{c, t, mq, mq.BrokerAddr}
}

// call gives the answer's code and remark.
func (c *filterClient) call(code int32, h protocol.Header, body any) (int32, string) {
	c.t.Helper()
	cmd := &protocol.Command{Code: code}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	if body != nil {
		cmd.Body = fastjson.Marshal(body)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := c.Call(ctx, c.addr, cmd)
	if answer == nil {
		c.t.Fatal(err)
	}
	return answer.Code, answer.Remark.V
}

func (c *filterClient) send(topic string, properties map[string]string) {
	c.t.Helper()
	_, err := c.Send(context.Background(), &client.Message{
		Topic: topic, Body: []byte("x"), Properties: properties, Queue: &client.Queue{Addr: c.addr},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

func subscription(expression string, version int64) *protocol.SubscriptionData {
	return &protocol.SubscriptionData{Topic: "T", SubString: expression, ExpressionType: "SQL92", SubVersion: version}
}

func (c *filterClient) heartbeat(expression string, version int64) {
	c.t.Helper()
	code, remark := c.call(protocol.ReqHeartBeat, nil, &protocol.HeartbeatData{
		ClientID: "c", ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: "G", ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
			SubscriptionDataSet: []protocol.SubscriptionData{
				*subscription(expression, version), {Topic: "%RETRY%G", SubString: "*", ExpressionType: "TAG", SubVersion: version},
			},
		}},
	})
	if code != protocol.RespSuccess {
		c.t.Fatal(code, remark)
	}
}

// pull pulls all of a topic with the group's subscription.
func (c *filterClient) pull(topic string, version int64) (int32, string) {
	c.t.Helper()
	return c.pullFrom(topic, version, 0, 0)
}

// pullFrom pulls from an offset on; if there is nothing the broker may wait for a while.
func (c *filterClient) pullFrom(topic string, version, offset int64, wait time.Duration) (int32, string) {
	c.t.Helper()
	const mayWait = 2
	var sysFlag int32
	if wait > 0 {
		sysFlag = mayWait
	}
	return c.call(protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
		ConsumerGroup: protocol.Some("G"), Topic: protocol.Some(topic), QueueID: protocol.Some(int32(0)),
		QueueOffset: protocol.Some(offset), MaxMsgNums: protocol.Some(int32(32)), SysFlag: protocol.Some(sysFlag),
		CommitOffset: protocol.Some(int64(0)), SuspendTimeoutMillis: protocol.Some(wait.Milliseconds()),
		SubVersion: protocol.Some(version),
	}, nil)
}

// filterTest runs a test with a cluster in a bubble.
func filterTest(t *testing.T, test func(t *testing.T, c *filterClient), options ...rocketmqtest.Option) {
	synctest.Test(t, func(t *testing.T) {
		options = append(options, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())
		c := newFilterClient(t, rocketmqtest.Start(t, options...))
		c.send("T", map[string]string{"a": "0"}) // makes the topic
		test(t, c)
	})
}

// A held pull wakes for a message that the expression wants, and no earlier.
func TestFilterWakesHeldPull(t *testing.T) {
	filterTest(t, func(t *testing.T, c *filterClient) {
		c.heartbeat("a > 1", 1)
		mine := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			code, remark := c.pullFrom("T", 1, 1, 15*time.Second)
			if code != protocol.RespSuccess {
				t.Error(code, remark)
			}
			mine <- time.Since(start)
		}()
		for i, a := range []string{"1", "x", "2"} {
			time.Sleep(time.Second)
			c.send("T", map[string]string{"a": a})
			select {
			case waited := <-mine:
				if i != 2 || waited > 3100*time.Millisecond {
					t.Errorf("woken by a=%s after %v", a, waited)
				}
			default:
				if i == 2 {
					t.Error("not woken")
				}
			}
		}
	})
}

// What the group registered decides: missing, older than the subscription, or refused.
func TestFilterData(t *testing.T) {
	filterTest(t, func(t *testing.T, c *filterClient) {
		expect := func(version int64, want int32, wantRemark string) {
			t.Helper()
			if code, remark := c.pull("T", version); code != want || remark != wantRemark {
				t.Errorf("%d %s, want %d %s", code, remark, want, wantRemark)
			}
		}
		c.heartbeat("a = 0", 10)
		expect(10, protocol.RespSuccess, "FOUND")
		expect(11, protocol.RespSubscriptionNotLatest, "the consumer's subscription not latest")
		c.heartbeat("a = 1", 9) // too old
		expect(10, protocol.RespSuccess, "FOUND")
		c.heartbeat("a = 1", 20)
		expect(20, protocol.RespPullRetryImmediately, "NO_MATCHED_MESSAGE")
		c.heartbeat("a >", 30)
		expect(30, protocol.RespFilterDataNotExist, "The broker's consumer filter data is not exist!Your expression may be wrong!")
		c.heartbeat("a = 0", 25) // another client of the group that is not up to date
		expect(25, protocol.RespFilterDataNotLatest, "the consumer's consumer filter data not latest")
		c.heartbeat("a = 0", 31)
		expect(31, protocol.RespSuccess, "FOUND")
	})
}

// Without enablePropertyFilter expressions are registered but not used.
func TestFilterOff(t *testing.T) {
	filterTest(t, func(t *testing.T, c *filterClient) {
		cmd := &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte("enablePropertyFilter=false")}
		if _, err := c.Call(context.Background(), c.addr, cmd); err != nil {
			t.Fatal(err)
		}
		const refused = "The broker does not support consumer to filter message by SQL92"
		c.heartbeat("a = 0", 1)
		if code, remark := c.pull("T", 1); code != protocol.RespSystemError || remark != refused {
			t.Error(code, remark)
		}
		body := &protocol.CheckClientRequestBody{SubscriptionData: subscription("a >", 1)}
		if code, remark := c.call(protocol.ReqCheckClientConfig, nil, body); code != protocol.RespSystemError || remark != refused {
			t.Error(code, remark)
		}
	})
}

// Consumers ask with code 46 before they start and show the remark.
func TestFilterCheck(t *testing.T) {
	filterTest(t, func(t *testing.T, c *filterClient) {
		for expression, want := range map[string]string{
			"a > 1":   "0 ",
			"a > 'x'": "23 java.lang.RuntimeException: Value ''x'' cannot be compared.",
			"a ~ 1":   `23 org.apache.rocketmq.filter.parser.TokenMgrError: Lexical error at line 1, column 3.  Encountered: "~" (126), after : ""`,
			"a NOT":   "23 org.apache.rocketmq.filter.parser.ParseException: Encountered \" \"NOT\" \"NOT \"\" at line 1, column 3.\nWas expecting one of:\n    \"BETWEEN\" ...",
		} {
			code, remark := c.call(protocol.ReqCheckClientConfig, nil, &protocol.CheckClientRequestBody{
				ClientID: "c", Group: "G", SubscriptionData: subscription(expression, 1),
			})
			if got := fmt.Sprint(code, " ", remark); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s, want %s", expression, got, want)
			}
		}
	})
}

// With filterSupportRetry the messages of the retry topic are chosen by the group's expression for the topic that they
// came from.
func TestFilterRetryTopic(t *testing.T) {
	for _, support := range []string{"false", "true"} {
		filterTest(t, func(t *testing.T, c *filterClient) {
			c.heartbeat("a = 0", 1)
			c.send("%RETRY%G", map[string]string{"a": "1", "RETRY_TOPIC": "T"})
			want := int32(protocol.RespSuccess)
			if support == "true" {
				want = protocol.RespPullRetryImmediately
			}
			if code, remark := c.pull("%RETRY%G", 1); code != want {
				t.Errorf("filterSupportRetry=%s: %d %s", support, code, remark)
			}
			c.send("%RETRY%G", map[string]string{"a": "0", "RETRY_TOPIC": "T"})
			if code, remark := c.pull("%RETRY%G", 1); code != protocol.RespSuccess {
				t.Errorf("filterSupportRetry=%s: %d %s", support, code, remark)
			}
		}, rocketmqtest.WithConfig("filterSupportRetry", support))
	}
}

// consumerFilter.json has what groups registered, says who has left, and is read again.
func TestFilterFile(t *testing.T) {
	filterTest(t, func(t *testing.T, c *filterClient) {
		holds := func(words ...string) {
			t.Helper()
			time.Sleep(time.Second)
			text, err := os.ReadFile(filepath.Join(c.mq.Dir, "store", "config", "consumerFilter.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range words {
				if !strings.Contains(string(text), word) {
					t.Errorf("%s is not in %s", word, text)
				}
			}
		}
		c.heartbeat("a = 0", 10)
		holds(`"expression":"a = 0"`, `"dead":false`, `"bitPos":[`)
		_ = c.Close()
		holds(`"dead":true`)
		c.mq.RestartBroker()
		c = newFilterClient(t, c.mq)
		c.heartbeat("a = 7", 10) // of this version another expression is known, which counts
		if code, remark := c.pull("T", 10); code != protocol.RespSuccess {
			t.Error(code, remark)
		}
		holds(`"expression":"a = 0"`, `"dead":false`)
	})
}
