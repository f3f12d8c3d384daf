// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// A thousand topics of eight queues, all in use: files stay bounded, and a restart loses nothing.
func TestAThousandTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const topics, queues = 1000, 8
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithDir(memoryDir(t)))
		c := goodClient(t, mq)
		var list protocol.CreateTopicListRequestBody
		for i := range topics {
			list.TopicConfigList = append(list.TopicConfigList, protocol.TopicConfig{
				TopicName: fmt.Sprint("T", i), ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6, TopicFilterType: protocol.SingleTag,
			})
		}
		if a := call(t, c, mq, request(protocol.ReqUpdateAndCreateTopicList, nil, fastjson.Marshal(&list))); a.Code != protocol.RespSuccess {
			t.Fatalf("code %d %q", a.Code, a.Remark.V)
		}
		hb := &protocol.HeartbeatData{ClientID: "c"}
		for g := range 200 {
			hb.ConsumerDataSet = append(hb.ConsumerDataSet, protocol.ConsumerData{
				GroupName: fmt.Sprint("G", g), ConsumeType: protocol.ConsumePassively, MessageModel: protocol.Clustering,
				SubscriptionDataSet: []protocol.SubscriptionData{{Topic: fmt.Sprint("T", g), SubString: "*", SubVersion: 1}},
			})
		}
		if err := c.Heartbeat(context.Background(), mq.BrokerAddr, hb); err != nil {
			t.Errorf("a heartbeat of 200 groups: %v", err)
		}
		var senders sync.WaitGroup
		for w := range 8 {
			senders.Go(func() {
				for i := w; i < topics; i += 8 {
					for q := range int32(queues) {
						if _, err := c.Send(context.Background(), &client.Message{Topic: fmt.Sprint("T", i), Body: []byte("x"), Queue: queue(mq, q)}); err != nil {
							t.Errorf("topic %d, queue %d: %v", i, q, err)
							return
						}
					}
				}
			})
		}
		senders.Wait()
		for i := range topics {
			if last, err := c.MaxOffset(context.Background(), fmt.Sprint("T", i), *queue(mq, queues-1)); err != nil || last != 1 {
				synctest.Wait() // the dispatcher is behind
			}
			if last, err := c.MaxOffset(context.Background(), fmt.Sprint("T", i), *queue(mq, queues-1)); err != nil || last != 1 {
				t.Fatalf("topic %d ends at %d: %v", i, last, err)
			}
		}
		check := func() {
			t.Helper()
			for _, i := range []int{0, 1, 500, topics - 1} {
				for q := range int32(queues) {
					got, err := c.Pull(context.Background(), client.PullRequest{Topic: fmt.Sprint("T", i), Queue: *queue(mq, q), Group: "G", Suspend: time.Second})
					if err != nil || len(got.Messages) != 1 || got.Max != 1 {
						t.Fatalf("topic %d, queue %d: %+v %v", i, q, got, err)
					}
				}
			}
		}
		check()
		if fds, err := os.ReadDir("/proc/self/fd"); err == nil && len(fds) > 9000 {
			t.Errorf("%d descriptors are open", len(fds))
		}
		mq.RestartBroker()
		check()
	})
}

// memoryDir is a directory in memory where the system has one: a disk takes seconds for so many small files.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "rocketmq")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A filter that matches nothing is carried through 100,000 messages step by step, and does not hold up others.
func TestFilterThatMatchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 100_000
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		var batch []*client.Message
		for range 10_000 {
			batch = append(batch, &client.Message{Topic: "T", Body: []byte("x"), Tags: "A", Queue: queue(mq, 0)})
		}
		for range messages / len(batch) {
			if _, err := c.SendBatch(context.Background(), "", batch); err != nil {
				t.Fatal(err)
			}
		}
		visible(t, c, mq, "T", messages)
		b := startBystander(goodClient(t, mq), mq)
		offset := int64(0)
		for pulls := 0; offset < messages; pulls++ {
			got, err := c.Pull(context.Background(), client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Offset: offset, Expression: "B", Suspend: time.Second})
			if err != nil || len(got.Messages) > 0 || got.Next <= offset || pulls > 1000 {
				t.Fatalf("at %d: %+v %v", offset, got, err)
			}
			offset = got.Next
		}
		if b.check(t, mq); b.waited > 0 {
			t.Errorf("a bystander waited %v", b.waited)
		}
	})
}

// Numbers at the ends of their types, and beyond, get an answer and change nothing.
func TestNumbersAtTheirEnds(t *testing.T) {
	for _, release := range releases {
		t.Run(release, virtual(func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("compatVersion", release))
			c := goodClient(t, mq)
			if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Fatal(err)
			}
			visible(t, c, mq, "T", 1)
			for offset, want := range map[int64]int32{
				math.MinInt64: 21, -1: 21, 1: 19, 2: 21, math.MaxInt32 + 1: 21, math.MaxInt64 - 1: 21, math.MaxInt64: 21,
			} {
				a := call(t, c, mq, request(protocol.ReqPullMessage, pullOf("G", "T", offset, 4, "*"), nil))
				if next, _ := a.Fields.Get("nextBeginOffset"); a.Code != want || a.Code == 21 && next != "0" && next != "1" {
					t.Errorf("pull at %d: code %d, next %s", offset, a.Code, next)
				}
			}
			for _, id := range []int32{math.MinInt32, -1, 4, math.MaxInt32} {
				h := pullOf("G", "T", 0, 4, "*")
				h.QueueID = protocol.Some(id)
				refusal := int32(protocol.RespInvalidParameter)
				if release == "4.9.7" {
					refusal = protocol.RespSystemError
				}
				if a := call(t, c, mq, request(protocol.ReqPullMessage, h, nil)); a.Code != refusal {
					t.Errorf("pull of queue %d: code %d %q", id, a.Code, a.Remark.V)
				}
				for _, code := range []int32{protocol.ReqGetMaxOffset, protocol.ReqGetMinOffset} {
					cmd := &protocol.Command{Code: code}
					cmd.Fields.Add("topic", "T")
					cmd.Fields.AddInt("queueId", int64(id))
					if a := call(t, c, mq, cmd); a.Code != protocol.RespSuccess {
						t.Errorf("request %d of queue %d: code %d %q", code, id, a.Code, a.Remark.V)
					}
				}
			}
			for _, count := range []int32{math.MinInt32, -1, 0, math.MaxInt32} {
				h := pullOf("G", "T", 0, 4, "*")
				h.MaxMsgNums = protocol.Some(count)
				if a := call(t, c, mq, request(protocol.ReqPullMessage, h, nil)); a.Code != protocol.RespSuccess && a.Code != 20 && a.Code != 19 {
					t.Errorf("pull of %d messages: code %d %q", count, a.Code, a.Remark.V)
				}
			}
			for _, ms := range []int64{math.MinInt64, -1, math.MaxInt64} { // how long to hold
				h := pullOf("G", "T", 1, 2|4, "*")
				h.SuspendTimeoutMillis = protocol.Some(ms)
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				if _, err := c.Call(ctx, mq.BrokerAddr, request(protocol.ReqPullMessage, h, nil)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					var refusal *protocol.Error
					if !errors.As(err, &refusal) || refusal.Code != protocol.RespPullNotFound {
						t.Errorf("pull held for %d ms: %v", ms, err)
					}
				}
				cancel()
			}
			for _, offset := range []int64{math.MinInt64, math.MaxInt64} {
				if err := c.Commit(context.Background(), "G", "T", *queue(mq, 0), offset); err != nil {
					t.Errorf("commit of %d: %v", offset, err)
				}
			}
			if _, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0)}); err != nil {
				t.Error(err)
			}
			mq.RestartBroker()
			if offset, ok, err := c.Offset(context.Background(), "G", "T", *queue(mq, 0)); err != nil || !ok || offset != math.MaxInt64 {
				t.Error(offset, ok, err)
			}
		}))
	}
}

// Text of any script comes back as it was sent, in both forms of frames' headers.
func TestAnyText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := goodClient(t, mq)
		texts := []string{"中文 标签", "\U0001F600", "ß", "a b", "'\"\\", "<&>", "\u2028", "\u0000x", strings.Repeat("é", 1000)}
		for n, text := range texts {
			properties := "TAGS\x01" + text + "\x02KEYS\x01key" + fmt.Sprint(n) + " " + text + "\x02own\x01" + text + "\x02"
			h := &protocol.SendMessageRequestHeaderV2{
				A: protocol.Some("P"), B: protocol.Some("T"), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)), E: protocol.Some(int32(0)),
				F: protocol.Some(int32(0)), G: protocol.Some(int64(1)), H: protocol.Some(int32(0)), I: protocol.Some(properties),
			}
			cmd := request(protocol.ReqSendMessageV2, h, []byte(text))
			cmd.Serialize = protocol.SerializeType(n % 2)
			if a := call(t, c, mq, cmd); a.Code != protocol.RespSuccess || a.Serialize != cmd.Serialize {
				t.Fatalf("%q: code %d %q", text, a.Code, a.Remark.V)
			}
			visible(t, c, mq, "T", int64(n)+1)
			got, err := c.Pull(context.Background(), client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Offset: int64(n), Expression: strings.TrimSpace(text)})
			if err != nil || len(got.Messages) != 1 {
				t.Errorf("%q by its tag: %+v %v", text, got, err)
				continue
			}
			m := &got.Messages[0]
			if string(m.Body) != text || !strings.Contains(string(m.Properties), "own\x01"+text+"\x02") || !strings.Contains(string(m.Properties), "TAGS\x01"+text+"\x02") {
				t.Errorf("%q came back as %q with %q", text, m.Body, m.Properties)
			}
		}
	})
}

// The clock of the machine jumps by hours, back and forth: messages are stored, found and delivered, locks expire.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
		c := goodClient(t, mq)
		ctx := context.Background()
		stored := int64(0)
		for _, jump := range []time.Duration{0, 25 * time.Hour, -time.Hour, 0, -30 * 24 * time.Hour, time.Minute} {
			ahead.Store(int64(jump))
			begin := time.Now()
			for _, level := range []string{"", "1"} {
				if _, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte(fmt.Sprint(jump, level)), Queue: queue(mq, 0), DelayLevel: level}); err != nil {
					t.Fatalf("at %v: %v", jump, err)
				}
			}
			stored += 2
			visible(t, c, mq, "T", stored) // the delayed one too, a second later
			if took := time.Since(begin); took < time.Second || took > 1200*time.Millisecond {
				t.Errorf("at %v: delivered after %v", jump, took)
			}
			for _, ms := range []int64{0, time.Now().UnixMilli(), math.MaxInt64} {
				cmd := &protocol.Command{Code: protocol.ReqSearchOffsetByTimestamp}
				cmd.Fields.Add("topic", "T")
				cmd.Fields.Add("queueId", "0")
				cmd.Fields.AddInt("timestamp", ms)
				if a := call(t, c, mq, cmd); a.Code != protocol.RespSuccess {
					t.Errorf("at %v: search: code %d %q", jump, a.Code, a.Remark.V)
				}
			}
		}
		// One that waits when the clock goes back is not later by that.
		ahead.Store(int64(time.Hour))
		if _, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte("x"), Queue: queue(mq, 0), DelayLevel: "1"}); err != nil {
			t.Fatal(err)
		}
		ahead.Store(0)
		stored++
		visible(t, c, mq, "T", stored)
		mq.RestartBroker()
		visible(t, c, mq, "T", stored)
		var bodies []string
		for offset := int64(0); offset < stored; {
			got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: *queue(mq, 0), Group: "G", Offset: offset})
			if err != nil || got.Next <= offset {
				t.Fatal(got, err)
			}
			for i := range got.Messages {
				bodies = append(bodies, string(got.Messages[i].Body))
			}
			offset = got.Next
		}
		if int64(len(bodies)) != stored {
			t.Errorf("%d messages: %q", len(bodies), bodies)
		}
	})
}
