// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// timerRig is a cluster with a client.
type timerRig struct {
	t  *testing.T
	mq *rocketmqtest.Cluster
	c  *remoting.Client
}

func newTimerRig(t *testing.T, opts ...rocketmqtest.Option) *timerRig {
	r := &timerRig{t: t, mq: rocketmqtest.Start(t, append(opts, rocketmqtest.WithPipe(), rocketmqtest.WithPoison())...)}
	r.c = remoting.NewClient(remoting.ClientConfig{Version: 479, Dial: r.mq.Dial})
	t.Cleanup(func() { _ = r.c.Close() })
	return r
}

func (r *timerRig) call(code int32, fields map[string]string) *protocol.Command {
	r.t.Helper()
	cmd := &protocol.Command{Code: code}
	for k, v := range fields {
		cmd.Fields.Add(k, v)
	}
	answer, err := r.c.Call(context.Background(), r.mq.BrokerAddr, cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer
}

// send sends with the properties, name after value, and returns the answer's header.
func (r *timerRig) send(code int32, batch bool, topic, body string, properties ...string) protocol.SendMessageResponseHeader {
	r.t.Helper()
	var text []byte
	for i := 0; i < len(properties); i += 2 {
		text = message.AppendProperty(text, properties[i], properties[i+1])
	}
	cmd := &protocol.Command{Code: code, Body: []byte(body)}
	if batch {
		cmd.Body = message.AppendBatchEntry(nil, 0, []byte(body), nil)
	}
	for k, v := range map[string]string{
		"a": "p", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": string(text), "m": strconv.FormatBool(batch),
	} {
		cmd.Fields.Add(k, v)
	}
	answer, err := r.c.Call(context.Background(), r.mq.BrokerAddr, cmd)
	if err != nil || answer.Code != 0 {
		r.t.Fatalf("send: %v %+v", err, answer)
	}
	var h protocol.SendMessageResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		r.t.Fatal(err)
	}
	return h
}

// bodies are what can be pulled from queue 0 of a topic.
func (r *timerRig) bodies(topic string) string {
	time.Sleep(10 * time.Millisecond)
	answer := r.call(protocol.ReqPullMessage, map[string]string{
		"consumerGroup": "G", "topic": topic, "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4",
		"commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*", "expressionType": "TAG",
	})
	var all []string
	for b := answer.Body; len(b) > 0; {
		m, err := message.ParseRecord(b)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, string(m.Body))
		b = b[m.Size:]
	}
	return strings.Join(all, " ")
}

func handleOf(version, topic, broker, ms, id string) string {
	return base64.URLEncoding.EncodeToString([]byte(strings.TrimSpace(strings.Join([]string{version, topic, broker, ms, id}, " "))))
}

// A Java broker gave this handle to a Java client.
func TestHandleOf(t *testing.T) {
	const java = "djEgVG9waWNBIGJyb2tlci1hIDE3OTU5ODgyNDUwMDEgRkQwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDIxMTQwNEUwRTJGMkE5NEQ1QTk4RjAwMDA="
	if got := handleOf("v1", "TopicA", "broker-a", "1795988245001", "FD00000000000000000000000000000211404E0E2F2A94D5A98F0000"); got != java {
		t.Error(got)
	}
}

// Answers to sends have a handle where the message can be taken back.
func TestRecallHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimerRig(t)
		now := time.Now().UnixMilli()
		at := strconv.FormatInt(now+5500, 10)
		in := strconv.FormatInt(now/1000*1000+5001, 10)
		h := r.send(310, false, "T", "a", "UNIQ_KEY", "id", "TIMER_DELIVER_MS", at)
		if want := handleOf("v1", "T", "broker-a", in, "id"); h.RecallHandle.V != want {
			t.Errorf("handle %q, want %q", h.RecallHandle.V, want)
		}
		for _, c := range []struct {
			code  int32
			batch bool
			topic string
			with  string
			has   bool
		}{
			{310, false, "T", "TIMER_DELIVER_MS", true},
			{310, false, "T", "UNUSED", false},
			{310, true, "T", "TIMER_DELIVER_MS", false},
			{320, false, "T", "TIMER_DELIVER_MS", false},
			{310, false, "%RETRY%G", "TIMER_DELIVER_MS", false},
		} {
			h := r.send(c.code, c.batch, c.topic, "b", "UNIQ_KEY", "id", c.with, at)
			if h.RecallHandle.Set != c.has {
				t.Errorf("%+v: handle %q", c, h.RecallHandle.V)
			}
		}
		time.Sleep(7 * time.Second)
		if got := r.bodies("T"); got != "b a b b b" {
			t.Errorf("delivered: %s", got)
		}
	})
}

// Which recalls are refused, and what is left of those that are not.
func TestRecall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimerRig(t, rocketmqtest.WithConfig("recallMessageEnable", "true"), rocketmqtest.WithConfig("flushDiskType", "SYNC_FLUSH"))
		ms := strconv.FormatInt(time.Now().UnixMilli()+5001, 10)
		h := r.send(310, false, "T", "a", "UNIQ_KEY", "id", "TIMER_DELAY_SEC", "6")
		r.send(310, false, "T", "b", "UNIQ_KEY", "id2", "TIMER_DELAY_SEC", "6")
		if h.RecallHandle.V != handleOf("v1", "T", "broker-a", ms, "id") {
			t.Fatalf("handle %s", h.RecallHandle.V)
		}
		recall := func(topic, handle string) string {
			answer := r.call(protocol.ReqRecallMessage, map[string]string{"producerGroup": "p", "topic": topic, "recallHandle": handle})
			id, _ := answer.Fields.Get("msgId")
			region, _ := answer.Fields.Get("MSG_REGION")
			return strings.TrimSpace(fmt.Sprint(answer.Code, " ", answer.Remark.V, " ", id, " ", region))
		}
		const (
			invalid   = "604 recall handle is invalid  DefaultRegion"
			available = "604 recall failed, broker service not available  DefaultRegion"
			tooLate   = "604 recall failed, timestamp invalid  DefaultRegion"
		)
		for _, c := range []struct{ topic, handle, want string }{
			{"None", h.RecallHandle.V, "17 recall failed, the topic[None] not exist  DefaultRegion"},
			{"T", "", invalid},
			{"T", "!!!", invalid},
			{"T", "AAAA", invalid},
			{"T", handleOf("v2", "T", "broker-a", ms, "id"), invalid},
			{"T", handleOf("v1", "T", "broker-a", ms, ""), invalid},
			{"T", h.RecallHandle.V + "=", invalid},
			{"T", handleOf("v1", "U", "broker-a", ms, "id"), "604 recall failed, topic not match  DefaultRegion"},
			{"T", handleOf("v1", "T", "broker-b", ms, "id"), available},
			{"T", handleOf("v1", "T", "broker-a", "soon", "id"), tooLate},
			{"T", handleOf("v1", "T", "broker-a", "1", "id"), tooLate},
			{"T", handleOf("v1", "T", "broker-a", "9223372036854775807", "id"), tooLate},
			{"T", h.RecallHandle.V, "0 not set any response code id DefaultRegion"},
			{"T", strings.TrimRight(h.RecallHandle.V, "="), "0 not set any response code id DefaultRegion"},
		} {
			if got := recall(c.topic, c.handle); got != c.want {
				t.Errorf("%s %s: %s, want %s", c.topic, c.handle, got, c.want)
			}
		}
		configure := func(text string) {
			if _, err := r.c.Call(context.Background(), r.mq.BrokerAddr, &protocol.Command{Code: protocol.ReqUpdateBrokerConfig, Body: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		configure("brokerPermission=4\nallowRecallWhenBrokerNotWriteable=false")
		if got := recall("T", h.RecallHandle.V); got != "14 recall failed, broker service not available  DefaultRegion" {
			t.Error(got)
		}
		configure("allowRecallWhenBrokerNotWriteable=true")
		if got := recall("T", h.RecallHandle.V); got != "0 not set any response code id DefaultRegion" {
			t.Error(got)
		}
		configure("timerWheelEnable=false")
		if got := recall("T", h.RecallHandle.V); got != "1 recall failed, execute error  DefaultRegion" {
			t.Error(got)
		}
		runtime := r.call(protocol.ReqGetBrokerRuntimeInfo, nil)
		if !bytes.Contains(runtime.Body, []byte(`"timerCongestNum":"`)) {
			t.Errorf("%s", runtime.Body)
		}
		time.Sleep(8 * time.Second)
		if got := r.bodies("T"); got != "b" {
			t.Errorf("delivered: %s", got)
		}
		if got := recall("T", h.RecallHandle.V); got != tooLate {
			t.Error(got)
		}
		if cp := r.call(protocol.ReqGetTimerCheckPoint, nil); len(cp.Body) != 56 || cp.Body[23] != 5 {
			t.Errorf("checkpoint %x", cp.Body)
		}
		if m := r.call(protocol.ReqGetTimerMetrics, nil); !strings.Contains(string(m.Body), `"timingCount":{"T":{"count":0,`) {
			t.Errorf("metrics %s", m.Body)
		}
	})
}

// A recall is stored as a Java broker stored it.
func TestRecallAsJava(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(1795988060557)))
		r := newTimerRig(t, rocketmqtest.WithConfig("recallMessageEnable", "true"), rocketmqtest.WithConfig("brokerName", "gold"))
		const id = "FD000000000000000000000000000002610C5FFD2B2794D3111500B1"
		r.send(310, false, "GTimer", "now")
		answer := r.call(protocol.ReqRecallMessage, map[string]string{
			"producerGroup": "gold_producer", "topic": "GTimer", "recallHandle": handleOf("v1", "GTimer", "gold", "1795988120001", id),
		})
		if answer.Code != 0 {
			t.Fatalf("%+v", answer)
		}
		time.Sleep(time.Second)
		pulled := r.call(protocol.ReqPullMessage, map[string]string{
			"consumerGroup": "G", "topic": "rmq_sys_wheel_timer", "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4",
			"commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*", "expressionType": "TAG",
		})
		m, err := message.ParseRecord(pulled.Body)
		if err != nil {
			t.Fatal(err)
		}
		const want = "TIMER_DEL_UNIQKEY=GTimer+" + id + " REAL_TOPIC=GTimer BORN_TIMESTAMP=1795988060557 TRACE_CONTEXT= TIMER_DELIVER_MS=1795988120001 " +
			"UNIQ_KEY=" + id + " PGROUP=gold_producer TAGS=_RECALL_TAG_ TIMER_OUT_MS=1795988120000 REAL_QID=0 "
		if got := strings.NewReplacer("\x01", "=", "\x02", " ").Replace(string(m.Properties)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if string(m.Body) != "0" || m.QueueID != 0 || m.Flag != 0 || m.SysFlag != 0 || m.BornTimestamp != 1795988060557 {
			t.Errorf("%+v", m)
		}
	})
}

// A 4.9 broker knows nothing of timers.
func TestTimers49(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimerRig(t, rocketmqtest.WithConfig("compatVersion", "4.9.7"))
		h := r.send(310, false, "T", "a", "UNIQ_KEY", "id", "TIMER_DELAY_SEC", "6")
		if h.RecallHandle.Set {
			t.Error("a handle")
		}
		if got := r.bodies("T"); got != "a" {
			t.Errorf("delivered: %s", got)
		}
		for _, code := range []int32{protocol.ReqRecallMessage, protocol.ReqGetTimerCheckPoint, protocol.ReqGetTimerMetrics} {
			if answer := r.call(code, nil); answer.Code != protocol.RespRequestCodeNotSupported {
				t.Errorf("code %d: %d %s", code, answer.Code, answer.Remark.V)
			}
		}
		r.mq.StopBroker()
		left, _ := filepath.Glob(filepath.Join(r.mq.Dir, "store", "timer*"))
		more, _ := filepath.Glob(filepath.Join(r.mq.Dir, "store", "config", "timer*"))
		if len(left)+len(more) > 0 {
			t.Errorf("timer files: %v %v", left, more)
		}
	})
}

// A broker that never had a timer message leaves no files, and one that has starts with them.
func TestTimerFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimerRig(t)
		r.send(310, false, "T", "a")
		r.mq.RestartBroker()
		if left, _ := filepath.Glob(filepath.Join(r.mq.Dir, "store", "timer*")); len(left) > 0 {
			t.Errorf("timer files: %v", left)
		}
		r.send(310, false, "T", "b", "TIMER_DELAY_SEC", "3")
		r.mq.RestartBroker()
		time.Sleep(3 * time.Second)
		if got := r.bodies("T"); got != "a b" {
			t.Errorf("delivered: %s", got)
		}
		r.mq.StopBroker()
		store := filepath.Join(r.mq.Dir, "store")
		if err := os.Truncate(filepath.Join(store, "timerwheel"), 4096); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := config.LoadBroker(config.Options{Env: os.Getenv, Set: map[string]string{
			"storePathRootDir": store, "mappedFileSizeCommitLog": "16777216", "mappedFileSizeConsumeQueue": "60000",
			"maxIndexNum": "20000", "maxHashSlotNum": "5000",
		}})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := broker.New(broker.Options{Config: cfg}); err == nil || !strings.Contains(err.Error(), "a timer wheel has 38707200") {
			t.Errorf("a wheel of the wrong size: %v", err)
			if b != nil {
				_ = b.Close(context.Background())
			}
		}
	})
}
