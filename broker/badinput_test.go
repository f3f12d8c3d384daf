// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

var oddNames = strings.Fields(`a b c d e f g h i j k l m n topic group consumerGroup producerGroup queueId queueOffset
	commitOffset maxMsgNums sysFlag suspendTimeoutMillis subscription subVersion expressionType offset delayLevel originMsgId
	originTopic unitMode maxReconsumeTimes timestamp isForce boundaryType clientID clientId groupName cleanOffset key maxNum
	beginTimestamp endTimestamp index count srcGroup destGroup offline statsName statsKey readQueueNums writeQueueNums perm
	topicFilterType topicSysFlag order attributes defaultTopic defaultTopicQueueNums bornTimestamp flag properties
	reconsumeTimes batch readable msgId brokerName setZeroIfNotFound _UNIQUE_KEY_QUERY recallHandle`)

var oddValues = []string{
	"", "0", "1", "-1", "2147483647", "-2147483648", "2147483648", "9223372036854775807", "99999999999999999999", "x", " ",
	"true", "SINGLE_TAG", "%RETRY%", "%RETRY%G", "%DLQ%", "T", "G", "*", "||", "TAG", "SQL92", "UPPER", "+a=b", "-a", "=",
	"a\x01b\x02", "\x01\x02", "DELAY\x01x\x02", "DELAY\x011\x02", "TRAN_MSG\x01true\x02", "TIMER_DELAY_SEC\x01-9\x02",
	"../../etc", "\xff\xfe", strings.Repeat("g", 300), strings.Repeat("K\x01v\x02", 9000),
}

var oddBodies = []string{
	"", "{", "[[", "{}", "null", "[]", "0", `{"groupName":""}`, `{"mqSet":[null]}`, `{"consumerDataSet":[{}]}`,
	`{"consumerDataSet":[{"groupName":"G","subscriptionDataSet":[{}]}],"clientID":null}`, `{"subscriptionData":{}}`,
	`{"topicConfigList":[{}]}`, `{"groupConfigList":[{}]}`, "\x00\x00\x00\x01", "\x7f\xff\xff\xff\x00\x00\x00\x00",
	"\x00\x00\x00\x16\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff", "listenPort=abc", "a\x00b",
}

// Whatever a request says, it is answered, the broker does not panic, and it goes on working. The seed changes from run
// to run and is printed when the test fails.
func TestOddRequests(t *testing.T) {
	seed := rand.Uint64()
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())
		c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial, Timeout: time.Second})
		defer c.Close()
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(list []string) string { return list[random.IntN(len(list))] }
		codes := mq.Broker.Dispatcher().(interface{ Codes() []int32 }).Codes()
		for range rounds {
			for _, code := range codes {
				cmd := &protocol.Command{Code: code, Body: []byte(pick(oddBodies))}
				for _, name := range oddNames {
					if random.IntN(3) > 0 {
						cmd.Fields.Add(name, pick(oddValues))
					}
				}
				answer, err := c.Call(context.Background(), mq.BrokerAddr, cmd)
				if errors.Is(err, remoting.ErrClosed) {
					t.Fatalf("seed %d: code %d ended the connection: %v", seed, code, err)
				}
				if answer != nil && strings.Contains(answer.Remark.V, "panic") {
					t.Fatalf("seed %d: code %d, fields %q, body %q: %s", seed, code, cmd.Fields.List, cmd.Body, answer.Remark.V)
				}
			}
		}
		if _, err := c.Send(context.Background(), &client.Message{
			Topic: "After", Body: []byte("x"), Queue: &client.Queue{Addr: mq.BrokerAddr},
		}); err != nil && !strings.Contains(err.Error(), "not exist") && !strings.Contains(err.Error(), "until") {
			t.Errorf("seed %d: a send behind it all: %v", seed, err)
		}
	})
}
