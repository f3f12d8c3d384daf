// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/broker/pop"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// pop asks for messages; fields change or add to what is asked.
func (c *client) pop(topic string, fields ...string) *protocol.Command {
	c.b.t.Helper()
	ask := []string{
		"consumerGroup", "G", "topic", topic, "queueId", "-1", "maxMsgNums", "32", "invisibleTime", "10000", "pollTime", "0",
		"bornTime", "0", "initMode", "0", "order", "false",
	}
	for i := 0; i < len(fields); i += 2 {
		ask = set(ask, fields[i], fields[i+1])
	}
	return c.call(protocol.ReqPopMessage, nil, ask...)
}

func set(fields []string, key, value string) []string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == key {
			fields[i+1] = value
			return fields
		}
	}
	return append(fields, key, value)
}

func popped(t *testing.T, answer *protocol.Command) (h protocol.PopMessageResponseHeader, n int) {
	t.Helper()
	if err := h.ParseFields(&answer.Fields); err != nil {
		t.Fatal(err)
	}
	for b := answer.Body; len(b) > 0; n++ {
		r, err := message.ParseRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		b = b[r.Size:]
	}
	return h, n
}

// A pop waits for its checkpoint to be on disk, as a send waits.
func TestPopSyncFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, rocketmqtest.WithConfig("flushDiskType", "SYNC_FLUSH"))
		b.topic("T", 2)
		for i := range 6 {
			b.send("T", int32(i%2), "")
		}
		synctest.Wait()
		h, n := popped(t, b.c.pop("T"))
		if n != 6 || h.RestNum != 0 {
			t.Errorf("%d messages, %+v", n, h)
		}
		for q := range 2 {
			handle := fmt.Sprintf("0 %d 10000 %d 0 b %d 0", h.PopTime, h.ReviveQid, q)
			b.must(protocol.ReqAckMessage, nil, "consumerGroup", "G", "topic", "T", "queueId", strconv.Itoa(q), "extraInfo", handle, "offset", "0")
			b.must(protocol.ReqChangeMessageInvisibletime, nil, "consumerGroup", "G", "topic", "T", "queueId", strconv.Itoa(q), "extraInfo", handle,
				"offset", "1", "invisibleTime", "20000")
		}
	})
}

// A thousand pops wait; each of a thousand messages goes to one of them. None has a goroutine.
func TestThousandPops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, rocketmqtest.WithConfig("popFromRetryProbability", "0"))
		b.topic("T", 4)
		const waiting, clients = 1000, 10
		var answered sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		list := make([]*client, clients)
		for i := range list {
			list[i] = b.client(nil)
			list[i].call(protocol.ReqGetTopicConfig, nil, "topic", "T") // connects
		}
		before := runtime.NumGoroutine()
		for i := range waiting {
			answered.Go(func() {
				answer := list[i%clients].pop("T", "pollTime", "14000", "maxMsgNums", "1")
				h, n := popped(t, answer)
				mu.Lock()
				defer mu.Unlock()
				if n != 1 {
					t.Errorf("%d messages, code %d %s", n, answer.Code, answer.Remark.V)
				}
				got[h.MsgOffsetInfo.V]++
			})
		}
		synctest.Wait()
		if n := b.polling("T"); n != waiting {
			t.Errorf("%d are held", n)
		}
		if n := runtime.NumGoroutine() - before - waiting; n > 2*clients {
			t.Errorf("%d goroutines", n)
		}
		for i := range waiting {
			b.send("T", int32(i%4), "")
		}
		answered.Wait()
		for place, n := range got {
			if n != 1 {
				t.Errorf("%s was given %d times", place, n)
			}
		}
		if len(got) != waiting || b.polling("T") != 0 {
			t.Errorf("%d messages, %d held", len(got), b.polling("T"))
		}
	})
}

func (b *broker) polling(topic string) int {
	answer := b.must(protocol.ReqPollingInfo, nil, "consumerGroup", "G", "topic", topic, "queueId", "-1")
	text, _ := answer.Fields.Get("pollingNum")
	n, _ := strconv.Atoi(text)
	return n
}

// What is held is answered in the end, and whose connection is gone is given nothing.
func TestHeldPopsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, rocketmqtest.WithConfig("popPollingSize", "2"))
		b.topic("T", 1)
		began := time.Now()
		if answer := b.c.pop("T", "pollTime", "5000"); answer.Code != protocol.RespPollingTimeout || time.Since(began).Round(100*time.Millisecond) != 5*time.Second {
			t.Errorf("code %d after %v", answer.Code, time.Since(began))
		}
		// 32 messages at most, but some.
		if answer := b.c.pop("T", "pollTime", "5000", "maxMsgNums", "0"); answer.Code != protocol.RespPollingTimeout {
			t.Errorf("code %d", answer.Code)
		}
		gone := b.client(nil)
		var held sync.WaitGroup
		held.Go(func() {
			ctx := t.Context()
			cmd := &protocol.Command{Code: protocol.ReqPopMessage}
			for i, f := range []string{
				"consumerGroup", "G", "topic", "T", "queueId", "-1", "maxMsgNums", "1", "invisibleTime", "10000", "pollTime", "10000",
				"bornTime", "0", "initMode", "0",
			} {
				if i%2 == 1 {
					continue
				}
				cmd.Fields.Add(f, []string{"G", "T", "-1", "1", "10000", "10000", "0", "0"}[i/2])
			}
			_, _ = gone.c.Call(ctx, b.mq.BrokerAddr, cmd)
		})
		synctest.Wait()
		var n int
		held.Go(func() { _, n = popped(t, b.c.pop("T", "pollTime", "10000")) })
		synctest.Wait()
		if answer := b.c.pop("T", "pollTime", "5000"); answer.Code != protocol.RespPollingFull {
			t.Errorf("a third one: code %d", answer.Code)
		}
		gone.c.Close()
		synctest.Wait()
		b.send("T", 0, "")
		held.Wait()
		if n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

// A question for news is answered when there are some, and only then.
func TestNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.topic("T", 1)
		ask := func(poll string, fields ...string) string {
			answer := b.must(protocol.ReqNotification, nil, append([]string{
				"consumerGroup", "G", "topic", "T", "queueId", "-1", "pollTime", poll, "bornTime", "0",
			}, fields...)...)
			has, _ := answer.Fields.Get("hasMsg")
			full, _ := answer.Fields.Get("pollingFull")
			return has + " " + full
		}
		began := time.Now()
		if got := ask("3000"); got != "false false" || time.Since(began).Round(100*time.Millisecond) != 3*time.Second {
			t.Error(got, time.Since(began))
		}
		var asking sync.WaitGroup
		asking.Go(func() {
			if got := ask("10000"); got != "true false" || time.Since(began).Round(100*time.Millisecond) != 4*time.Second {
				t.Error(got, time.Since(began))
			}
		})
		time.Sleep(time.Second)
		b.send("T", 0, "")
		asking.Wait()
		// Popped in order: the queue is closed until the time is over.
		b.c.pop("T", "order", "true", "invisibleTime", "2000")
		began = time.Now()
		if got := ask("10000", "order", "true"); got != "true false" || time.Since(began).Round(100*time.Millisecond) != 2*time.Second {
			t.Error(got, time.Since(began))
		}
	})
}

// A message that is given again wakes, and what is acknowledged does not come.
func TestRetriedWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.topic("T", 1)
		b.send("T", 0, "TAGS\x01a\x02")
		b.send("T", 0, "TAGS\x01b\x02")
		synctest.Wait()
		h, n := popped(t, b.c.pop("T", "invisibleTime", "2000", "exp", "a || b", "expType", "TAG"))
		if n != 2 {
			t.Fatalf("%d messages", n)
		}
		handle := fmt.Sprintf("0 %d 2000 %d 0 %s 0 0", h.PopTime, h.ReviveQid, "broker-a")
		b.must(protocol.ReqAckMessage, nil, "consumerGroup", "G", "topic", "T", "queueId", "0", "extraInfo", handle, "offset", "0")
		began := time.Now()
		answer := b.c.pop("T", "pollTime", "14000", "exp", "TAGS IN ('a', 'b')", "expType", "SQL92")
		h, n = popped(t, answer)
		if took := time.Since(began); n != 1 || h.MsgOffsetInfo.V != "1 0 0" || took < 3*time.Second || took > 5*time.Second {
			t.Errorf("%d messages, %+v after %v", n, h, took)
		}
		if r, _ := message.ParseRecord(answer.Body); string(r.Topic) != "T" || r.ReconsumeTimes != 1 ||
			!strings.Contains(string(r.Properties), pop.PropHandle) {
			t.Errorf("%s %d %q", r.Topic, r.ReconsumeTimes, r.Properties)
		}
	})
}

// Topics and groups that are deleted take what is popped in order with them, and topics their retry topics.
func TestPopOfWhatIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		b.topic("T", 1)
		b.send("T", 0, "")
		synctest.Wait()
		b.c.pop("T", "invisibleTime", "1000")
		time.Sleep(5 * time.Second)
		retry := pop.RetryTopic("T", "G", false)
		b.must(protocol.ReqGetTopicConfig, nil, "topic", retry)
		b.c.pop("T", "consumerGroup", "H", "order", "true")
		if answer := b.c.pop("T", "consumerGroup", "H", "order", "true"); answer.Code != protocol.RespPollingTimeout {
			t.Errorf("code %d", answer.Code)
		}
		b.must(protocol.ReqDeleteSubscriptiongroup, nil, "groupName", "H", "cleanOffset", "true")
		if answer := b.c.pop("T", "consumerGroup", "H", "order", "true"); answer.Code != protocol.RespSuccess {
			t.Errorf("code %d", answer.Code)
		}
		b.must(protocol.ReqDeleteTopicInBroker, nil, "topic", "T")
		if answer := b.call(protocol.ReqGetTopicConfig, nil, "topic", retry); answer.Code != protocol.RespTopicNotExist {
			t.Errorf("%s: code %d", retry, answer.Code)
		}
	})
}
