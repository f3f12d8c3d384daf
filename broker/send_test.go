// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// With SYNC_FLUSH the answer waits for the disk and comes from another goroutine; what it says is still of its own
// request, although the requests' memory is overwritten.
func TestSyncFlush(t *testing.T) {
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("flushDiskType", "SYNC_FLUSH"), rocketmqtest.WithPoison())
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
	defer c.Close()
	queue := client.Queue{Addr: mq.BrokerAddr}
	if _, err := c.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("first"), Queue: &queue}); err != nil {
		t.Fatal(err)
	}
	var seen sync.Map
	var senders sync.WaitGroup
	for s := range 8 {
		senders.Go(func() {
			for i := range 20 {
				key := fmt.Sprintf("KEY-%d-%d", s, i)
				sent, err := c.Send(t.Context(), &client.Message{
					Topic: "T", Body: []byte(key), Queue: &queue, Properties: map[string]string{"UNIQ_KEY": key},
				})
				if err != nil {
					t.Errorf("%s: %v", key, err)
					return
				}
				if sent.UniqueKey != key || sent.Code != 0 {
					t.Errorf("%s: answered %+v", key, sent)
				}
				if other, twice := seen.LoadOrStore(sent.QueueOffset, key); twice {
					t.Errorf("%s and %s have queue offset %d", key, other, sent.QueueOffset)
				}
			}
		})
	}
	senders.Wait()
	mq.RestartBroker()
	if max, err := c.MaxOffset(t.Context(), "T", queue); err != nil || max != 161 {
		t.Errorf("%d messages after a restart, %v", max, err)
	}
}

// What servers of both releases were recorded to do: the answer to a send names the message's unique key or does not, and
// the topic of half messages is there from the start or from the first round of checks on.
func TestReleases(t *testing.T) {
	for _, release := range releases {
		synctest.Test(t, func(t *testing.T) {
			mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("compatVersion", release))
			c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
			defer c.Close()
			is5 := release == "5.3.3"
			answer := call(t, c, mq, request(protocol.ReqSendMessageV2, &protocol.SendMessageRequestHeaderV2{
				A: protocol.Some("g"), B: protocol.Some("T"), C: protocol.Some("TBW102"), D: protocol.Some(int32(4)),
				E: protocol.Some(int32(0)), F: protocol.Some(int32(0)), G: protocol.Some(int64(1)), H: protocol.Some(int32(0)),
				I: protocol.Some("UNIQ_KEY\x01KEY"),
			}, []byte("x")))
			if id, ok := answer.Fields.Get("transactionId"); answer.Code != protocol.RespSuccess || ok != is5 || ok && id != "KEY" {
				t.Errorf("%s: %d %s, transaction id %q", release, answer.Code, answer.Remark.V, id)
			}
			half := request(protocol.ReqGetTopicStatsInfo, &protocol.GetTopicStatsInfoRequestHeader{Topic: protocol.Some("RMQ_SYS_TRANS_HALF_TOPIC")}, nil)
			if code := call(t, c, mq, half).Code; (code == protocol.RespSuccess) != is5 {
				t.Errorf("%s: the topic of half messages at the start: %d", release, code)
			}
			time.Sleep(61 * time.Second)
			if code := call(t, c, mq, half).Code; code != protocol.RespSuccess {
				t.Errorf("%s: the topic of half messages after a minute: %d", release, code)
			}
		})
	}
}

// A topic that a send makes is known at the name server before the send is answered.
func TestRouteBeforeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
		defer c.Close()
		for i := range 20 {
			topic := fmt.Sprint("New", i)
			if _, err := c.Send(t.Context(), &client.Message{Topic: topic, Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Route(t.Context(), topic); err != nil {
				t.Errorf("%s: %v", topic, err)
			}
		}
	})
}

// A name server that is not there delays neither the start nor the first send, and gets to know the broker when it comes.
func TestWithoutNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithConfig("namesrvAddr", "127.0.0.1:9876;127.0.0.1:9877"))
		c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
		defer c.Close()
		mq.StopNamesrv()
		begin := time.Now()
		if _, err := c.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x"), Queue: &client.Queue{Addr: mq.BrokerAddr}}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 200*time.Millisecond {
			t.Errorf("the first send took %v", took)
		}
		mq.RestartNamesrv()
		time.Sleep(time.Second)
		if _, err := c.Route(t.Context(), "T"); err != nil {
			t.Errorf("a second after the name server came: %v", err)
		}
	})
}
