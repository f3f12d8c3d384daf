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
