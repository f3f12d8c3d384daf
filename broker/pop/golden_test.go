// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// javaRecord is what a Java broker stored while consumers popped.
type javaRecord struct {
	Topic          string
	QueueID        int32
	QueueOffset    int64
	BornTimestamp  int64
	BornHost       string
	StoreTimestamp int64
	StoreHost      string
	ReconsumeTimes int32
	Properties     string
	Body           []byte
}

func (r *javaRecord) host(t *testing.T, text string) netip.AddrPort {
	a, err := netip.ParseAddrPort(strings.Replace(text, "|", ":", 1))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (r *javaRecord) message(t *testing.T) *message.Message {
	return &message.Message{
		Topic: r.Topic, QueueID: r.QueueID, BornTimestamp: r.BornTimestamp, BornHost: r.host(t, r.BornHost),
		StoreHost: r.host(t, r.StoreHost), ReconsumeTimes: r.ReconsumeTimes, Properties: []byte(r.Properties), Body: r.Body,
	}
}

func javaRecords(t *testing.T) (all []javaRecord) {
	f, err := os.Open("testdata/java-5.3.3.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r javaRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// describe prints what a record says, but for its place and times.
func describe(m *message.Message) string {
	return fmt.Sprintf("%s-%d from %s at %s, retry %d: %q %q", m.Topic, m.QueueID, m.BornHost, m.StoreHost, m.ReconsumeTimes, m.Properties, m.Body)
}

// caught keeps what comes through the pipeline.
type caught struct {
	*fakeStore
	all []string
}

func (c *caught) Put(m *message.Message, done func(store.PutResult)) {
	c.all = append(c.all, describe(m))
	done(store.PutResult{})
}

func (c *caught) PutBatch(m *message.Message, done func(store.PutResult)) { c.Put(m, done) }

// noTimers is an empty timer wheel.
type noTimers struct{}

func (noTimers) Tick() int64         { return 1000 }
func (noTimers) Waiting(int64) int64 { return 0 }

// The checkpoints and acknowledgements of a Java broker are written here in the same bytes, and so are the messages that it
// gave again.
func TestJavaBytes(t *testing.T) {
	cfg, _, err := config.LoadBroker(config.Options{Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	c := &caught{fakeStore: newFakeStore()}
	var now time.Time
	clock := func() time.Time { return now }
	pipeline := put.New(put.Options{
		Profile: compat.For(compat.Release533), Store: c, Config: cfg.Load, MaxLevel: func() int32 { return 18 }, Timers: noTimers{}, Now: clock,
	})
	s, err := New(Options{
		Dir: t.TempDir(), Store: c.fakeStore, Put: pipeline, Offsets: c.fakeStore, Topics: fakeTopics{c.fakeStore}, Stats: &fakeStats{},
		HasGroup: func(string) bool { return true }, Now: clock,
		Rules:   func() Rules { return Rules{Broker: "gold", Cluster: "GoldCluster", ReviveQueues: 8} },
		Polling: func() Polling { return Polling{} }, Host: func() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:22110") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := newReviver(s, "rmq_sys_REVIVE_LOG_GoldCluster", 0)
	done := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	kinds := map[string]int{}
	for _, r := range javaRecords(t) {
		now = time.UnixMilli(r.BornTimestamp)
		c.all = nil
		properties := message.PropertyMap([]byte(r.Properties))
		tag := properties["TAGS"]
		switch {
		case r.Topic == put.TimerTopic && tag == tagCheckpoint:
			var ck protocol.PopCheckPoint
			if err := fastjson.Unmarshal(r.Body, &ck); err != nil {
				t.Fatal(err)
			}
			s.putCheckpoint(&ck, queueOf(t, properties), done)
		case r.Topic == put.TimerTopic && tag == tagAck:
			var ack protocol.AckMsg
			if err := fastjson.Unmarshal(r.Body, &ack); err != nil {
				t.Fatal(err)
			}
			var due int64
			fmt.Sscan(properties["TIMER_DELIVER_MS"], &due)
			s.putAck(&ack, nil, queueOf(t, properties), due, done)
		case strings.HasPrefix(r.Topic, put.RetryPrefix):
			// The message that is given again is the one that is in the log.
			before := message.AppendRecord(nil, original(t, &r), 0, message.Position{})
			m, err := message.ParseRecord(before)
			if err != nil {
				t.Fatal(err)
			}
			var first int64
			fmt.Sscan(properties[propFirstPop], &first)
			w.put(&protocol.PopCheckPoint{PopTime: first, Cid: "g_pop"}, r.Topic, &m)
		default:
			continue
		}
		kinds[r.Topic+" "+tag]++
		if want := describe(r.message(t)); len(c.all) != 1 || c.all[0] != want {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(c.all, "\n"), want)
		}
	}
	if len(kinds) < 3 {
		t.Errorf("only %v", kinds)
	}
}

func queueOf(t *testing.T, properties map[string]string) (queue int32) {
	if _, err := fmt.Sscan(properties["REAL_QID"], &queue); err != nil {
		t.Fatal(err)
	}
	return queue
}

// original is the message of which one in the retry topic is a copy: the one with its key that was given once less often.
func original(t *testing.T, again *javaRecord) *message.Message {
	key := message.PropertyMap([]byte(again.Properties))["UNIQ_KEY"]
	for _, r := range javaRecords(t) {
		if bytes.Contains([]byte(r.Properties), []byte(key)) && r.ReconsumeTimes == again.ReconsumeTimes-1 && r.Topic != put.TimerTopic {
			return r.message(t)
		}
	}
	t.Fatalf("no message %s", key)
	return nil
}
