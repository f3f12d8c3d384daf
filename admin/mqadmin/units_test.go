// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	cli "rocketmq-go/admin/commonscli"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// record is a stored message with a unique key.
func record(topic, key string) string {
	host := netip.MustParseAddrPort("10.0.0.1:10911")
	m := &message.Message{
		Topic: topic, Body: []byte("x"), Properties: message.AppendProperty(nil, message.PropUniqKey, key), BornHost: host, StoreHost: host,
	}
	return string(message.AppendRecord(nil, m, message.BodyCRC(m.Body), message.Position{}))
}

func TestDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", 0.5: "0.5", 1234567.5: "1234567.5", 1e7: "1.0E7", 1.25e10: "1.25E10", 1e-3: "0.001", 5e-4: "5.0E-4", -2.5: "-2.5",
	} {
		if got := double(f); got != want {
			t.Errorf("%g: %s, want %s", f, got, want)
		}
	}
}

func TestKeyOf(t *testing.T) {
	for title, want := range map[string]string{
		"#Broker Name": "brokerName", "#QID": "qid", "#InTPS(LOAD)": "inTPSLoad", "#PCWait(ms)": "pcWaitMs", "#ClientId": "clientId",
		"#Client IP": "clientIp", "#TransferSpeed(KB/s)": "transferSpeedKbS", "#InMsg24Hour": "inMsg24Hour",
	} {
		if got := keyOf(title); got != want {
			t.Errorf("%s: %s, want %s", title, got, want)
		}
	}
}

func TestTimeOption(t *testing.T) {
	now := time.UnixMilli(5000)
	for text, want := range map[string]int64{
		"": 7, "now": 5000, "1234": 1234, "-1": -1, "1970-01-01#00:00:01:250": 1250, "1970-01-01#00:00:02": -2, "yesterday": -2,
	} {
		v, err := cli.Parse([]cli.Option{cli.Arg("s", "time", "")}, []string{"-s", text})
		if err != nil {
			t.Fatal(err)
		}
		c := &Call{Values: v, env: Env{Now: func() time.Time { return now }, Location: time.UTC}}
		got, err := c.timeOption("s", 7)
		if text == "1970-01-01#00:00:02" && err == nil {
			continue // seconds without milliseconds are understood too
		}
		if (err != nil) != (want == -2) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestAttributes(t *testing.T) {
	for text, want := range map[string]string{
		"": "{}", "+message.type=FIFO": "{+message.type=FIFO}", "-message.type": "{-message.type=}", " +a=b , -c ": "{-c=, +a=b}",
	} {
		m, err := attributes(text)
		if got := pairs(m.All()); err != nil || got != want && got != "{+a=b, -c=}" {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"a=b", "+a", "-a=b", "+=b", "+a=1,+a=2"} {
		if _, err := attributes(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestTraces(t *testing.T) {
	record := func(fields ...string) string { return strings.Join(fields, traceField) + traceRecord }
	body := record("Pub", "1000", "r", "P", "T", "ID", "tags", "keys", "host", "5", "3", "0", "offset", "true") +
		record("Pub", "1000", "r", "P", "T", "OTHER", "tags", "keys", "host", "5", "3", "0", "offset", "true") +
		record("SubBefore", "3000", "r", "G", "q1", "ID", "0", "keys") + record("SubAfter", "q1", "ID", "4", "false", "keys", "0") +
		record("SubBefore", "2000", "r", "H", "q2", "ID", "0", "keys") + "Pub" + traceField + "short"
	got := joinSubs(parseTrace([]byte(body), "10.0.0.1", "ID"))
	want := []traceEvent{
		{kind: tracePub, group: "P", host: "10.0.0.1", at: 1000, cost: 3, status: "success"},
		{kind: traceSub, group: "H", requestID: "q2", host: "10.0.0.1", at: 2000, status: "unknown"},
		{kind: traceSub, group: "G", requestID: "q1", host: "10.0.0.1", at: 3000, cost: 4, status: "failed"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add("Pub\x011\x012\x013\x014\x01ID\x016\x017\x018\x019\x0110\x0111\x0112\x02SubAfter\x01\x01ID\x01\x01\x01\x02")
	f.Fuzz(func(_ *testing.T, body string) { joinSubs(parseTrace([]byte(body), "h", "ID")) })
}

func newMapping(brokers ...string) *mapping {
	m := &mapping{
		topic: "T", addrs: map[string]string{}, config: map[string]*protocol.TopicConfigAndQueueMapping{},
		queues: map[int32][]protocol.LogicQueueMappingItem{}, in: map[string]bool{}, out: map[string]bool{},
	}
	for _, b := range brokers {
		m.addrs[b] = b + ":10911"
	}
	return m
}

// TestStaticTopic moves the queues of a static topic from two brokers to one of them and a third one.
func TestStaticTopic(t *testing.T) {
	m := newMapping("a", "b", "c")
	names := []string{"a", "b"}
	count := m.leads(names)
	for id := range int32(4) {
		name := fewest(count, names)
		count[name]++
		items := []protocol.LogicQueueMappingItem{m.newItem(name, 0, 0)}
		m.queues[id] = items
		m.on(name).MappingDetail.HostedQueues.Set(id, items)
	}
	m.total = 4
	m.settle(1000)
	if m.epoch != 1000 || m.config["a"].WriteQueueNums != 2 || m.config["b"].MappingDetail.TotalQueues != 4 || m.config["c"] != nil {
		t.Errorf("%+v", m)
	}
	if err := m.read(); err != nil {
		t.Error(err)
	}
	m.plan([]string{"b", "c"})
	m.settle(1500)
	leads := m.leads([]string{"b", "c"})
	if leads["b"] != 2 || leads["c"] != 2 || leads["a"] != 0 || !m.in["c"] || !m.out["a"] || m.in["b"] || m.epoch != 2000 {
		t.Errorf("%v in %v out %v epoch %d", leads, m.in, m.out, m.epoch)
	}
	if err := m.read(); err != nil {
		t.Error(err)
	}
	moved := 0
	for _, items := range m.queues {
		if last := items[len(items)-1]; last.Bname == "c" {
			moved++
			if len(items) != 2 || last.Gen != 1 || last.LogicOffset != undecided {
				t.Errorf("%+v", items)
			}
		}
	}
	if moved != 2 {
		t.Errorf("%d queues moved", moved)
	}
	for end, want := range map[int64]int64{0: 10000, 8: 10000, 4999: 10000, 5000: 20000, 9999: 20000, 10000: 20000, 15000: 30000} {
		if got := logicEnd(end); got != want {
			t.Errorf("%d: %d, want %d", end, got, want)
		}
	}
}

func TestMergeOrder(t *testing.T) {
	for old, want := range map[string]string{"": "a:4", "a:2": "a:4", "b:2": "b:2;a:4", "a:1;b:2;": "a:4;b:2"} {
		if got := strings.Join(mergeOrder(old, "a", "a:4"), ";"); got != want {
			t.Errorf("%s: %s", old, got)
		}
	}
}
