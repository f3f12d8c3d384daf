// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

func decode[T any](t *testing.T, answer *protocol.Command) *T {
	t.Helper()
	v := new(T)
	if err := fastjson.Unmarshal(answer.Body, v); err != nil {
		t.Fatalf("%v in %s", err, answer.Body)
	}
	return v
}

// expect checks an answer without a body.
func expect(t *testing.T, answer *protocol.Command, code int32, remark string) {
	t.Helper()
	if answer.Code != code || answer.Remark.V != remark {
		t.Errorf("code %d %q, want %d %q", answer.Code, answer.Remark.V, code, remark)
	}
}

func TestProgressOfAllGroups(t *testing.T) {
	b := start(t)
	b.topic("T", 2)
	b.must(protocol.ReqUpdateAndCreateTopic, nil, "topic", "Ordered", "defaultTopic", "TBW102", "readQueueNums", "1",
		"writeQueueNums", "1", "perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "true")
	for _, group := range []string{"G1", "G2"} {
		b.group(group)
	}
	for range 3 {
		b.send("T", 0, "")
		b.send("Ordered", 0, "")
	}
	c := b.client(nil)
	c.online("c", "G1", "T", "Ordered")
	for _, topic := range []string{"T", "Ordered"} {
		c.pull("G1", topic, 0, 3)
		c.commit("G1", topic, 0, 1)
	}
	c.commit("G2", "T", 0, 3)
	c.commit("G2", "T", 1, 7) // ahead of the queue

	list := func(isOrder string) (rows []string, b2 *protocol.ConsumeStatsList) {
		b2 = decode[protocol.ConsumeStatsList](t, b.must(protocol.ReqGetBrokerConsumeStats, nil, "isOrder", isOrder))
		for _, entry := range b2.ConsumeStatsList {
			for group, all := range entry.All() {
				for _, s := range all {
					for q, o := range s.OffsetTable.All() {
						rows = append(rows, strings.Join([]string{group, q.Topic, q.BrokerName, string(rune('0' + q.QueueID)), number(o.BrokerOffset), number(o.ConsumerOffset), number(o.PullOffset)}, " "))
						if (o.LastTimestamp > 0) != (o.ConsumerOffset > 0 && o.ConsumerOffset <= o.BrokerOffset) {
							t.Errorf("last time stamp %d of %v", o.LastTimestamp, q)
						}
					}
				}
			}
		}
		slices.Sort(rows)
		return rows, b2
	}
	rows, all := list("false")
	want := []string{
		"G1 Ordered broker-a 0 3 1 3", "G1 T broker-a 0 3 1 3", "G1 T broker-a 1 0 0 0",
		"G2 T broker-a 0 3 3 3", "G2 T broker-a 1 0 7 7",
	}
	for i := range want {
		want[i] = strings.Replace(want[i], "broker-a", brokerName(b), 1)
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if all.TotalDiff != 2+2-7 || all.TotalInflightDiff != 2+2 || all.BrokerAddr == "" {
		t.Errorf("totals %d, %d of %q", all.TotalDiff, all.TotalInflightDiff, all.BrokerAddr)
	}
	if rows, _ := list("true"); !slices.Equal(rows, want[:1]) {
		t.Errorf("ordered: %q", rows)
	}
	// A group that is online and no longer subscribes a topic does not show it.
	c.online("c", "G1", "Ordered")
	if rows, _ := list("false"); slices.Contains(rows, want[1]) {
		t.Errorf("unsubscribed topic in %q", rows)
	}
}

func number(n int64) string { return string(fastjson.Marshal(n)) }

func brokerName(b *broker) string {
	text := string(b.must(protocol.ReqGetBrokerConfig, nil).Body)
	return regexp.MustCompile(`(?m)^brokerName=(.*)$`).FindStringSubmatch(text)[1]
}

func TestCorrectionOffsets(t *testing.T) {
	b := start(t)
	b.topic("T", 2)
	for i, group := range []string{"G1", "G2", "G3"} {
		b.group(group)
		b.c.commit(group, "T", 0, i+1)
	}
	b.c.commit("G2", "T", 1, 4)
	for _, c := range []struct{ filter, compare, want string }{
		{"", "G1", `{"correctionOffsets":{0:1,1:4}}`},
		{"G1", "G3", `{"correctionOffsets":{0:2,1:4}}`},
		{"G1,G2", "", `{"correctionOffsets":{0:3}}`},
		// who is behind all others needs no correction
		{"G1", "G1", `{"correctionOffsets":{0:9223372036854775807,1:4}}`},
	} {
		got := string(b.must(protocol.ReqQueryCorrectionOffset, nil, "topic", "T", "filterGroups", c.filter, "compareGroup", c.compare).Body)
		if got != c.want {
			t.Errorf("filter %q, compare %q: %s, want %s", c.filter, c.compare, got, c.want)
		}
	}
	if got := string(b.must(protocol.ReqQueryCorrectionOffset, nil, "topic", "T", "compareGroup", "").Body); got != `{"correctionOffsets":{0:1,1:4}}` {
		t.Errorf("the offsets of a filtered group were lost: %s", got)
	}
}

// Queues that a topic has left behind go when somebody asks for it; those of topics that exist stay.
func TestCleanUnusedTopics(t *testing.T) {
	dir := t.TempDir()
	b := start(t, rocketmqtest.WithDir(dir))
	for _, topic := range []string{"Stays", "Lost"} {
		b.topic(topic, 1)
		b.send(topic, 0, "")
	}
	b.send("Stays", 0, "DELAY\x018\x02")
	b.mq.StopBroker()
	for _, name := range []string{"topics.json", "topics.json.bak"} {
		path := filepath.Join(dir, "store", "config", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, regexp.MustCompile(`(?s)"Lost":\{.*?"writeQueueNums":1\s*\},`).ReplaceAll(text, nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.mq.RestartBroker()
	b.c = b.client(nil)
	queues := func() (names []string) {
		entries, err := os.ReadDir(filepath.Join(dir, "store", "consumequeue"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := queues()
	expect(t, b.call(protocol.ReqGetTopicConfig, nil, "topic", "Lost"), protocol.RespTopicNotExist, "No topic in this broker. topic: Lost")
	b.must(protocol.ReqCleanUnusedTopic, nil)
	want := slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == "Lost" })
	if got := queues(); len(want) != len(before)-1 || !slices.Equal(got, want) {
		t.Errorf("queues %q, before %q", got, before)
	}
	if got := b.must(protocol.ReqGetMaxOffset, nil, "topic", "Stays", "queueId", "0"); got.Fields.List[0].Value != "1" {
		t.Errorf("max offset %v", got.Fields.List)
	}
}

func TestColdDataThresholds(t *testing.T) {
	b := start(t)
	info := func() string { return string(b.must(protocol.ReqGetColdDataFlowCtrInfo, nil).Body) }
	const empty = `{"cgColdReadThreshold":3145728,"configTable":{},"globalAcc":0,"globalColdReadThreshold":104857600,"runtimeTable":{}}`
	if got := info(); got != empty {
		t.Error(got)
	}
	b.must(protocol.ReqUpdateColdDataFlowCtrConfig, "G1=1000\nG2=abc\nG3=5\n")
	if got := info(); got != strings.Replace(empty, `"configTable":{}`, `"configTable":{"G1":1000,"G3":5}`, 1) {
		t.Error(got)
	}
	b.must(protocol.ReqRemoveColdDataFlowCtrConfig, "G1")
	b.must(protocol.ReqRemoveColdDataFlowCtrConfig, "G3")
	b.must(protocol.ReqRemoveColdDataFlowCtrConfig, nil)
	if got := info(); got != empty {
		t.Error(got)
	}
	expect(t, b.call(protocol.ReqSetCommitlogReadMode, nil, "READ_AHEAD_MODE", "1"), 0, "set commitlog readahead mode success, mode: 1")
	expect(t, b.call(protocol.ReqSetCommitlogReadMode, nil, "READ_AHEAD_MODE", "7"), 29, "set commitlog readahead mode param value error")
	expect(t, b.call(protocol.ReqSetCommitlogReadMode, nil), 1, "set commitlog readahead mode failed")
}

// What Java 5.3.3 answers where a feature is not in use.
func TestFeaturesThatAreOff(t *testing.T) {
	b := start(t)
	const noUsers = "The authenticationMetadataProvider is not configured: this broker keeps no users and permissions."
	for _, c := range []struct {
		code   int32
		body   any
		fields []string
		want   int32
		remark string
	}{
		{protocol.ReqGetBrokerEpochCache, nil, nil, 1, "this request only for controllerMode "},
		{protocol.ReqNotifyBrokerRoleChanged, nil, nil, 0, ""},
		{protocol.ReqNotifyMinBrokerIdChange, nil, nil, 1, "request has no minBrokerId"},
		{protocol.ReqNotifyMinBrokerIdChange, nil, []string{"minBrokerId", "0"}, 0, ""},
		{protocol.ReqResetMasterFlushOffset, nil, []string{"masterFlushOffset", "0"}, 0, ""},
		{protocol.ReqCheckRocksdbCqWriteProgress, nil, []string{"topic", "T"}, 0, "not set any response code"},
		{protocol.ReqExportRocksdbConfigToJson, nil, []string{"configType", "topics;subscriptionGroups"}, 0, "export done."},
		{protocol.ReqExportRocksdbConfigToJson, nil, []string{"configType", ""}, 0, "export done."},
		{protocol.ReqExportRocksdbConfigToJson, nil, []string{"configType", "all"}, 1, "Unknown config type: all"},
		{protocol.ReqPopRollback, nil, nil, 0, "not set any response code"},
		{protocol.ReqAuthCreateUser, `{"username":"u","password":"p"}`, []string{"username", "u"}, 1, noUsers},
		{protocol.ReqAuthCreateUser, nil, []string{"username", " "}, 29, "The username is blank"},
		{protocol.ReqAuthDeleteUser, nil, nil, 16, "username can not be blank"},
		{protocol.ReqAuthListUser, nil, nil, 1, noUsers},
		{protocol.ReqAuthDeleteAcl, nil, nil, 16, "The subject is null."},
		{protocol.ReqAuthGetAcl, nil, []string{"subject", "User:u"}, 1, noUsers},
		{902, nil, nil, 3, " request type 902 not supported"},
	} {
		answer := b.call(c.code, c.body, c.fields...)
		if answer.Code != c.want || answer.Remark.V != c.remark {
			t.Errorf("%s %q: code %d %q, want %d %q", protocol.RequestName(c.code), c.fields, answer.Code, answer.Remark.V, c.want, c.remark)
		}
	}
	ha := decode[protocol.HARuntimeInfo](t, b.must(protocol.ReqGetBrokerHaStatus, nil))
	if !ha.Master || ha.InSyncSlaveNums != 0 || len(ha.HaConnectionInfo) != 0 {
		t.Errorf("%+v", ha)
	}
}

// Codes of 5.x are unknown to a broker that is like 4.9: a broker of 4.9.7 was asked each code.
func TestToolsOf49(t *testing.T) {
	b := start(t, rocketmqtest.WithConfig("compatVersion", "4.9.7"))
	for _, code := range []int32{
		18, 60, 61, 225, 343, 345, 351, 352, 353, 354, 355, 361, 370, 400, 401, 402, 513, 905, 906, 907, 908, 1007, 1008, 2001, 2002, 2003, 2004,
		3001, 3002, 3003, 3004, 3005, 3006, 3007, 3008, 3009, 3010, 200050, 200051, 200052, 200053, 200054, 200055, 200056, 200151,
	} {
		if answer := b.call(code, nil); answer.Code != protocol.RespRequestCodeNotSupported {
			t.Errorf("%d: code %d", code, answer.Code)
		}
	}
	b.must(protocol.ReqGetBrokerConsumeStats, nil)
	b.must(protocol.ReqCleanExpiredConsumequeue, nil)
}

// What a broker passes on to a client comes back as the client said it.
func TestRelays(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	b.group("G")
	b.send("T", 0, "KEYS\x01k\x02")
	consume := make(chan *protocol.Command, 10)
	c := b.client(func(r *remoting.Request) {
		switch r.Code {
		case protocol.ReqGetConsumerStatusFromClient:
			r.Reply(&protocol.Response{Body: []byte(`{"messageQueueTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5}}`)})
		case protocol.ReqConsumeMessageDirectly:
			consume <- r.Command.Clone()
			r.Reply(&protocol.Response{Code: 1, Remark: protocol.Some("not today"), Body: []byte(`{"consumeResult":"CR_LATER"}`)})
		default:
			r.Reply(&protocol.Response{Body: []byte("{}")})
		}
	})
	c.online("me@1", "G", "T")
	message := b.must(protocol.ReqViewMessageByID, nil, "offset", "0")
	got := b.call(protocol.ReqConsumeMessageDirectly, nil, "consumerGroup", "G", "clientId", "me@1", "topic", "T",
		"msgId", "7F000001000027100000000000000000")
	expect(t, got, 1, "not today")
	if string(got.Body) != `{"consumeResult":"CR_LATER"}` {
		t.Errorf("309: %s", got.Body)
	}
	asked := <-consume
	if string(asked.Body) != string(message.Body) {
		t.Errorf("309 reached the client with %q instead of the message", asked.Body)
	}
	for field, want := range map[string]string{
		"brokerName": brokerName(b), "topicSysFlag": "0", "groupSysFlag": "0", "msgId": "7F000001000027100000000000000000",
	} {
		if v, _ := asked.Fields.Get(field); v != want {
			t.Errorf("309 reached the client with %s %q, want %q", field, v, want)
		}
	}
	for _, id := range []string{"7F000001000027100000000000FFFFFF", "x"} {
		expect(t, b.call(protocol.ReqConsumeMessageDirectly, nil, "consumerGroup", "G", "clientId", "me@1", "msgId", id), 1,
			"no message "+id+" in this broker")
	}
	got = b.must(protocol.ReqInvokeBrokerToGetConsumerStatus, nil, "topic", "T", "group", "G")
	if string(got.Body) != `{"consumerTable":{"me@1":{{"brokerName":"b","queueId":0,"topic":"T"}:5}},"messageQueueTable":{}}` {
		t.Errorf("223: %s", got.Body)
	}
	for _, code := range []int32{protocol.ReqGetConsumerRunningInfo, protocol.ReqConsumeMessageDirectly} {
		expect(t, b.call(code, nil, "consumerGroup", "G", "clientId", "other"), 1, "The Consumer <G> <other> not online")
		expect(t, b.call(code, nil, "consumerGroup", "H", "clientId", "me@1"), 1, "The Consumer <H> <me@1> not online")
	}
}

// Clients that are too old are not asked.
func TestOldClients(t *testing.T) {
	b := start(t, rocketmqtest.WithConfig("useServerSideResetOffset", "false"))
	b.topic("T", 1)
	b.group("G")
	b.c.commit("G", "T", 0, 0)
	b.clientOf(20, nil).online("old", "G", "T")
	expect(t, b.call(protocol.ReqGetConsumerRunningInfo, nil, "consumerGroup", "G", "clientId", "old"), 1,
		"The Consumer <old> Version <V3_0_3_SNAPSHOT> too low to finish, please upgrade it to V3_1_8_SNAPSHOT")
	for _, code := range []int32{protocol.ReqInvokeBrokerToResetOffset, protocol.ReqInvokeBrokerToGetConsumerStatus} {
		expect(t, b.call(code, nil, "topic", "T", "group", "G", "timestamp", "-1", "isForce", "true"), 1,
			"the client does not support this feature. version=V3_0_3_SNAPSHOT")
	}
}

// Where the broker does not reset offsets itself, clients are told to.
func TestResetByClients(t *testing.T) {
	b := start(t, rocketmqtest.WithConfig("useServerSideResetOffset", "false"))
	b.topic("T", 1)
	b.group("G")
	for range 3 {
		b.send("T", 0, "")
	}
	told := make(chan *protocol.Command, 10)
	c := b.client(func(r *remoting.Request) {
		if r.Code == protocol.ReqResetConsumerClientOffset {
			told <- r.Command.Clone()
		}
		r.Reply(&protocol.Response{})
	})
	reset := func(time, force string) *protocol.Command {
		return b.call(protocol.ReqInvokeBrokerToResetOffset, nil, "topic", "T", "group", "G", "timestamp", time, "isForce", force)
	}
	expect(t, reset("-1", "true"), 1, "THe consumer group <G> not exist")
	c.commit("G", "T", 0, 1)
	expect(t, reset("-1", "true"), protocol.RespConsumerNotOnline, "Consumer not online, so can not reset offset, Group: G Topic: T Timestamp: -1")
	c.online("me@1", "G", "T")
	c.pull("G", "T", 0, 3)
	for _, x := range []struct{ time, force, offset string }{{"-1", "true", "3"}, {"-1", "false", "1"}, {"0", "false", "0"}} {
		answer := reset(x.time, x.force)
		want := `{"offsetTable":{{"brokerName":"` + brokerName(b) + `","queueId":0,"topic":"T"}:` + x.offset + `}}`
		if answer.Code != 0 || string(answer.Body) != want {
			t.Errorf("reset to %s, force %s: code %d, %s", x.time, x.force, answer.Code, answer.Body)
		}
		if notice := <-told; string(notice.Body) != want || !notice.IsOneway() {
			t.Errorf("the client was told %s", notice.Body)
		}
	}
}

func TestStatisticsAreForgotten(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	b.group("G")
	b.send("T", 0, "")
	c := b.client(nil)
	c.online("c", "G", "T")
	c.pull("G", "T", 0, 1)
	there := func(name, key string) bool {
		return b.call(protocol.ReqViewBrokerStatsData, nil, "statsName", name, "statsKey", key).Code == 0
	}
	if !there("TOPIC_PUT_NUMS", "T") || !there("GROUP_GET_NUMS", "T@G") {
		t.Error("statistics are missing")
	}
	b.must(protocol.ReqDeleteSubscriptiongroup, nil, "groupName", "G")
	if there("GROUP_GET_NUMS", "T@G") {
		t.Error("the group is deleted")
	}
	b.must(protocol.ReqDeleteTopicInBroker, nil, "topic", "T")
	if there("TOPIC_PUT_NUMS", "T") {
		t.Error("the topic is deleted")
	}
}
