// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package rocketmqtest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/admin/client"
	"rocketmq-go/rocketmqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	var t *testing.T // of the test

	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("defaultTopicQueueNums", "1"))
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
	defer c.Close()
	sent, err := c.Send(context.Background(), &client.Message{Topic: "T", Body: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("stored as", sent.OffsetID)
}

func newClient(t *testing.T, mq *rocketmqtest.Cluster) *client.Client {
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}, Dial: mq.Dial})
	t.Cleanup(func() { c.Close() })
	return c
}

// roundTrip sends a message and pulls it.
func roundTrip(t *testing.T, mq *rocketmqtest.Cluster, topic string) {
	t.Helper()
	c := newClient(t, mq)
	sent, err := c.Send(t.Context(), &client.Message{Topic: topic, Body: []byte("hello"), Tags: "A"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Pull(t.Context(), client.PullRequest{
		Topic: topic, Queue: sent.Queue, Group: "G", Offset: sent.QueueOffset, Suspend: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != 1 || string(got.Messages[0].Body) != "hello" {
		t.Errorf("pulled %+v", got)
	}
}

func TestSockets(t *testing.T) { roundTrip(t, rocketmqtest.Start(t), "T") }

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roundTrip(t, rocketmqtest.Start(t, rocketmqtest.WithPipe(), rocketmqtest.WithPoison()), "T")
	})
}

// Starting and stopping waits for nothing: what it takes is the machine's (see BenchmarkStart).
func TestReadySoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		mq := rocketmqtest.Start(t, rocketmqtest.WithPipe())
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("starting waited %v", waited)
		}
		begin = time.Now()
		mq.Stop()
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("stopping waited %v", waited)
		}
	})
}

// BenchmarkStart starts a cluster with sockets, and stops it.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		rocketmqtest.Start(b).Stop()
	}
}

func TestMany(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			roundTrip(t, rocketmqtest.Start(t), "T")
		})
	}
}

func TestRestart(t *testing.T) {
	mq := rocketmqtest.Start(t)
	roundTrip(t, mq, "T")
	mq.RestartBroker()
	roundTrip(t, mq, "T")
	mq.RestartNamesrv()
	c := newClient(t, mq)
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := c.Route(t.Context(), "T"); err == nil {
			break
		} else if time.Since(begin) > time.Minute {
			t.Fatalf("not registered again: %v", err)
		}
	}
}
