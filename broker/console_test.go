// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// What the pages of the console (rocketmq-dashboard 2.1.0) cannot do without; conformance/console.sh runs the console
// itself.
func TestConsole(t *testing.T) {
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerName", "broker-a"))
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
	defer c.Close()
	ask := func(addr string, code int32, h protocol.Header, body string) (string, *protocol.Error) {
		t.Helper()
		cmd := &protocol.Command{Code: code, Body: []byte(body)}
		if h != nil {
			h.AppendFields(&cmd.Fields)
		}
		answer, err := c.Call(t.Context(), addr, cmd)
		var refusal *protocol.Error
		if err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
		return string(answer.Body), refusal
	}
	sent, err := c.Send(t.Context(), &client.Message{Topic: "T", Keys: []string{"k"}, Body: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	topic := protocol.Some("T")

	// The topic page asks the name server for the system's topics, and then a broker that the answer names.
	body, refusal := ask(mq.NamesrvAddr, protocol.ReqGetSystemTopicListFromNs, nil, "")
	var list protocol.TopicList
	if err := fastjson.Unmarshal([]byte(body), &list); err != nil || refusal != nil || list.BrokerAddr == "" {
		t.Fatalf("304: %s %v %v", body, err, refusal)
	}
	if body, refusal := ask(list.BrokerAddr, protocol.ReqGetSystemTopicListFromBroker, nil, ""); refusal != nil || !strings.Contains(body, "RMQ_SYS_TRANS_HALF_TOPIC") {
		t.Errorf("305: %s %v", body, refusal)
	}
	// Its dialogs call attributes.get.
	var cfg struct{ Attributes map[string]string }
	body, refusal = ask(mq.BrokerAddr, protocol.ReqGetTopicConfig, &protocol.GetTopicConfigRequestHeader{Topic: topic}, "")
	if err := json.Unmarshal([]byte(body), &cfg); err != nil || refusal != nil || cfg.Attributes == nil {
		t.Errorf("351: %s %v %v", body, err, refusal)
	}
	// Groups and producers that are not online have codes of their own.
	for _, q := range []struct {
		code int32
		h    protocol.Header
		want int32
	}{
		{protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: protocol.Some("G")}, protocol.RespConsumerNotOnline},
		{protocol.ReqGetProducerConnectionList, &protocol.GetProducerConnectionListRequestHeader{ProducerGroup: protocol.Some("P")}, protocol.RespSystemError},
		{protocol.ReqViewBrokerStatsData, &protocol.ViewBrokerStatsDataRequestHeader{StatsName: protocol.Some("TOPIC_PUT_NUMS"), StatsKey: protocol.Some("no")}, protocol.RespSystemError},
	} {
		if body, refusal := ask(mq.BrokerAddr, q.code, q.h, ""); refusal == nil || refusal.Code != q.want {
			t.Errorf("%d: %s %v, want code %d", q.code, body, refusal, q.want)
		}
	}
	// The chart of the first page splits getTotalTps at blanks.
	var kv protocol.KVTable
	body, _ = ask(mq.BrokerAddr, protocol.ReqGetBrokerRuntimeInfo, nil, "")
	if err := fastjson.Unmarshal([]byte(body), &kv); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("getTotalTps putTps getTransferredTps getTransferedTps brokerVersionDesc msgPutTotalTodayNow msgGetTotalTodayMorning") {
		if value, _ := kv.Table.Get(key); value == "" || strings.HasSuffix(value, " ") {
			t.Errorf("28: %s=%q", key, value)
		}
	}
	// A message is found by its unique id, through the index.
	unique := &protocol.QueryMessageRequestHeader{
		Topic: topic, Key: protocol.Some(sent.UniqueKey), MaxNum: protocol.Some(int32(32)),
		BeginTimestamp: protocol.Some(int64(0)), EndTimestamp: protocol.Some(time.Now().Add(time.Hour).UnixMilli()),
	}
	find := func() (string, error) {
		cmd := &protocol.Command{Code: protocol.ReqQueryMessage}
		unique.AppendFields(&cmd.Fields)
		cmd.Fields.Add("_UNIQUE_KEY_QUERY", "true")
		answer, err := c.Call(t.Context(), mq.BrokerAddr, cmd)
		if err != nil {
			return "", err
		}
		return string(answer.Body), nil
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if body, err := find(); err == nil && strings.Contains(body, sent.UniqueKey) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("12: %q %v", body, err)
		}
	}
}
