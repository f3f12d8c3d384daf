// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// A group may be given more retry queues than its retry topic has: what is sent back goes to queues that are read.
func TestSendBackToQueuesThatExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.topic("T", 1)
		b.group("G")
		b.c.online("c", "G", "T") // makes the retry topic, with one queue
		cfg := protocol.NewSubscriptionGroupConfig()
		cfg.GroupName, cfg.RetryQueueNums = "G", 1000
		b.must(protocol.ReqUpdateAndCreateSubscriptiongroup, cfg)
		b.send("T", 0, "")
		const times = 20
		for range times {
			b.must(protocol.ReqConsumerSendMsgBack, nil, "offset", "0", "group", "G", "delayLevel", "1", "originMsgId", "", "originTopic", "T")
		}
		time.Sleep(3 * time.Second)
		if n, _ := b.must(protocol.ReqGetMaxOffset, nil, "topic", "%RETRY%G", "queueId", "0").Fields.Get("offset"); n != strconv.Itoa(times) {
			t.Errorf("%s of %d messages are in the queue that is read", n, times)
		}
	})
}

// The topics that 208 shall tell about are looked up, not compared with each that the group has read: a long list costs
// about the same for a group of many topics as for one of few.
func TestLongTopicList(t *testing.T) {
	const many, names = 4000, 100_000
	b := start(t)
	name := func(n int) string { return fmt.Sprintf("T%07d", n) } // of equal length, as names often are
	var topics protocol.CreateTopicListRequestBody
	for i := range many {
		topics.TopicConfigList = append(topics.TopicConfigList, protocol.TopicConfig{
			TopicName: name(i), ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6, TopicFilterType: protocol.SingleTag,
		})
	}
	b.must(protocol.ReqUpdateAndCreateTopicList, &topics)
	b.group("Few")
	b.group("Many")
	b.c.commit("Few", name(0), 0, 1)
	for i := range many {
		b.c.commit("Many", name(i), 0, 1)
	}
	var list strings.Builder
	for i := range names {
		list.WriteString(name(many + i))
		list.WriteByte(';')
	}
	list.WriteString(name(0))
	took := map[string]time.Duration{"Few": math.MaxInt64, "Many": math.MaxInt64}
	for range 5 {
		for group := range took {
			begin := time.Now()
			got := decode[protocol.ConsumeStats](t, b.must(protocol.ReqGetConsumeStats, nil, "consumerGroup", group, "topicList", list.String()))
			took[group] = min(took[group], time.Since(begin))
			if got.OffsetTable.Len() != 1 {
				t.Fatalf("%s: %d queues", group, got.OffsetTable.Len())
			}
		}
	}
	if took["Many"] > 10*took["Few"] {
		t.Errorf("at best %v", took)
	}
}

// log is a log that can be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// A request with very many unknown keys does not fill the disk with its log: it names some, and how many there are.
func TestUnknownKeysInTheLog(t *testing.T) {
	var l log
	b := start(t, rocketmqtest.WithLog(slog.New(slog.NewTextHandler(&l, nil))))
	var keys strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, "nobodyKnows%d=1\n", i)
	}
	l.take()
	b.must(protocol.ReqUpdateBrokerConfig, keys.String())
	text := l.take()
	if named := strings.Count(text, "nobodyKnows"); named == 0 || named > 20 || !strings.Contains(text, "unknownKeys=1000") {
		t.Errorf("%d of 1,000 keys are named in %.300q", named, text)
	}
}

// What an answer says of a send is not said of a later one that cannot be read: requests are used again.
func TestRefusalsSayNothingOfOtherSends(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	for range 3 {
		b.send("T", 0, "KEYS\x01k\x02")
		answer := b.call(protocol.ReqSendMessage, "x", "topic", "T")
		if region, ok := answer.Fields.Get("MSG_REGION"); ok || answer.Code == protocol.RespSuccess {
			t.Fatalf("code %d, region %q", answer.Code, region)
		}
	}
}

// Clients that ask for their queues while the name server hangs keep nobody else waiting.
func TestAssignmentsWhileTheNameServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(context.Context, string) (net.Conn, error) {
			near, far := net.Pipe() // nobody reads at the far end
			t.Cleanup(func() { far.Close() })
			return near, nil
		}
		b := start(t, rocketmqtest.WithDial(hang), rocketmqtest.WithConfig("namesrvAddr", "127.0.0.2:9876"))
		conn := b.dial()
		for i := range 200 {
			cmd := &protocol.Command{Code: protocol.ReqQueryAssignment, Opaque: int32(i), Body: fastjson.Marshal(&protocol.QueryAssignmentRequestBody{
				Topic: "T" + strconv.Itoa(i), ConsumerGroup: "G", ClientID: "c", StrategyName: "AVG", MessageModel: protocol.Clustering,
			})}
			frame, err := protocol.AppendFrame(nil, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		begin := time.Now()
		b.must(protocol.ReqGetAllTopicConfig, nil)
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("a request of the pool waited %v", waited)
		}
		time.Sleep(time.Minute) // until all have their answers
	})
}
