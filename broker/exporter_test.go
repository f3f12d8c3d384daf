// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// exporter asks what rocketmq-exporter 0.0.2 asks each minute, and reads the answers as strictly as it does: it converts
// without a check, and one failure loses all rows of a broker.
type exporter struct {
	t      *testing.T
	c      *client.Client
	ns     string
	values map[string]float64 // by metric and labels that matter
}

func (x *exporter) call(addr string, code int32, h protocol.Header, body any) error {
	x.t.Helper()
	cmd := &protocol.Command{Code: code}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	answer, err := x.c.Call(x.t.Context(), addr, cmd)
	if err != nil {
		return err
	}
	return fastjson.Unmarshal(answer.Body, body)
}

func (x *exporter) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// masters are the addresses of the brokers of a topic.
func (x *exporter) masters(topic string) []string {
	x.t.Helper()
	route, err := x.c.Route(x.t.Context(), topic)
	x.must(err)
	var addrs []string
	for _, b := range route.BrokerDatas {
		if addr, ok := b.BrokerAddrs.Get(0); ok {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

func (x *exporter) set(value float64, format string, args ...any) {
	x.values[fmt.Sprintf(format, args...)] += value
}

// topicOffsets is its first job: 206, and per topic 105 and 202.
func (x *exporter) topicOffsets() []string {
	x.t.Helper()
	var list protocol.TopicList
	x.must(x.call(x.ns, protocol.ReqGetAllTopicListFromNameserver, nil, &list))
	for _, topic := range list.TopicList {
		for _, addr := range x.masters(topic) {
			var stats protocol.TopicStatsTable
			x.must(x.call(addr, protocol.ReqGetTopicStatsInfo, &protocol.GetTopicStatsInfoRequestHeader{Topic: protocol.Some(topic)}, &stats))
			for _, o := range stats.OffsetTable.All() {
				x.set(float64(o.MaxOffset), "producer_offset %s", topic)
			}
		}
	}
	return list.TopicList
}

// consumers is the job about groups: 300, and per group 203 and 208 by its retry topic's route.
func (x *exporter) consumers(topics []string) {
	x.t.Helper()
	for _, topic := range topics {
		if strings.HasPrefix(topic, "%") {
			continue
		}
		for _, addr := range x.masters(topic) {
			var groups protocol.GroupList
			x.must(x.call(addr, protocol.ReqQueryTopicConsumeByWho, &protocol.QueryTopicConsumeByWhoRequestHeader{Topic: protocol.Some(topic)}, &groups))
			for _, group := range groups.GroupList {
				x.group(addr, group, topic)
			}
		}
	}
}

func (x *exporter) group(addr, group, topic string) {
	x.t.Helper()
	x.masters("%RETRY%" + group) // without a route the exporter passes the group over
	var online protocol.ConsumerConnection
	err := x.call(addr, protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{ConsumerGroup: protocol.Some(group)}, &online)
	var refusal *protocol.Error
	switch {
	case err == nil:
		if online.MessageModel == "" || online.ConsumeType == "" {
			x.t.Errorf("%s has no model or type", group)
		}
		x.set(float64(len(online.ConnectionSet)), "group_count %s", group)
	case !errors.As(err, &refusal) || refusal.Code != protocol.RespConsumerNotOnline:
		x.t.Fatal(err)
	}
	var stats protocol.ConsumeStats
	x.must(x.call(addr, protocol.ReqGetConsumeStats, &protocol.GetConsumeStatsRequestHeader{ConsumerGroup: protocol.Some(group), Topic: protocol.Some(topic)}, &stats))
	for _, o := range stats.OffsetTable.All() {
		x.set(float64(o.BrokerOffset-o.ConsumerOffset), "group_diff %s %s", group, topic)
		x.set(float64(o.ConsumerOffset), "consumer_offset %s %s", group, topic)
	}
	for _, name := range []string{"GROUP_GET_NUMS", "GROUP_GET_SIZE", "SNDBCK_PUT_NUMS"} {
		x.statistic(addr, name, topic+"@"+group)
	}
}

// statistic is 315; an unknown one is an answer too.
func (x *exporter) statistic(addr, name, key string) {
	x.t.Helper()
	var data protocol.BrokerStatsData
	err := x.call(addr, protocol.ReqViewBrokerStatsData, &protocol.ViewBrokerStatsDataRequestHeader{
		StatsName: protocol.Some(name), StatsKey: protocol.Some(key),
	}, &data)
	var refusal *protocol.Error
	if err == nil {
		x.set(0, "%s %s", name, key)
	} else if !errors.As(err, &refusal) || refusal.Code != protocol.RespSystemError {
		x.t.Fatal(err)
	}
}

var (
	capacity   = regexp.MustCompile(`^Total : (\d+\.\d) ([KMGTP]iB), Free : (\d+\.\d) ([KMGTP]iB)\.$`)
	distribute = []string{"<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"}
)

// runtime is the job about brokers: 106, and per broker 28 and 315.
func (x *exporter) runtime() {
	x.t.Helper()
	var info protocol.ClusterInfo
	x.must(x.call(x.ns, protocol.ReqGetBrokerClusterInfo, nil, &info))
	for _, b := range info.BrokerAddrTable.All() {
		addr, _ := b.BrokerAddrs.Get(0)
		x.statistic(addr, "BROKER_PUT_NUMS", b.Cluster)
		x.statistic(addr, "BROKER_GET_NUMS", b.Cluster)
		var kv protocol.KVTable
		x.must(x.call(addr, protocol.ReqGetBrokerRuntimeInfo, nil, &kv))
		table := map[string]string{}
		for key, value := range kv.Table.All() {
			table[key] = value
		}
		x.table(table)
		var producers protocol.ProducerTableInfo
		x.must(x.call(addr, protocol.ReqGetAllProducerInfo, &protocol.GetAllProducerInfoRequestHeader{}, &producers))
		for group, list := range producers.Data.All() {
			x.set(float64(len(list)), "producer_count %s", group)
		}
	}
}

// table reads the values of code 28, every one of which is converted.
func (x *exporter) table(table map[string]string) {
	x.t.Helper()
	for _, key := range strings.Fields(`bootTimestamp brokerVersion msgPutTotalTodayNow msgGetTotalTodayNow
		msgGetTotalYesterdayMorning msgPutTotalYesterdayMorning msgGetTotalTodayMorning msgPutTotalTodayMorning
		dispatchBehindBytes dispatchMaxBuffer putMessageSizeTotal putMessageAverageSize putMessageTimesTotal
		putMessageEntireTimeMax getMessageEntireTimeMax sendThreadPoolQueueCapacity sendThreadPoolQueueSize
		sendThreadPoolQueueHeadWaitTimeMills pullThreadPoolQueueCapacity pullThreadPoolQueueSize
		pullThreadPoolQueueHeadWaitTimeMills queryThreadPoolQueueCapacity queryThreadPoolQueueSize
		queryThreadPoolQueueHeadWaitTimeMills remainTransientStoreBufferNumbs earliestMessageTimeStamp
		startAcceptSendRequestTimeStamp pageCacheLockTimeMills commitLogDiskRatio consumeQueueDiskRatio
		commitLogMaxOffset commitLogMinOffset putLatency99 putLatency999`) {
		n, err := strconv.ParseFloat(table[key], 64)
		if err != nil {
			x.t.Errorf("%s=%q: %v", key, table[key], err)
		}
		x.set(n, "runtime %s", key)
	}
	for _, key := range strings.Fields("putTps getFoundTps getMissTps getTotalTps getTransferredTps") {
		rates := strings.Fields(table[key])
		for _, rate := range rates {
			if _, err := strconv.ParseFloat(rate, 64); err != nil {
				x.t.Errorf("%s=%q: %v", key, table[key], err)
			}
		}
		if len(rates) != 3 {
			x.t.Errorf("%s=%q: not three numbers", key, table[key])
		}
	}
	if !capacity.MatchString(table["commitLogDirCapacity"]) {
		x.t.Errorf("commitLogDirCapacity=%q", table["commitLogDirCapacity"])
	}
	if value, unit, ok := strings.Cut(table["remainHowManyDataToFlush"], " "); !ok || unit == "" || value == "" {
		x.t.Errorf("remainHowManyDataToFlush=%q", table["remainHowManyDataToFlush"])
	}
	var classes []string
	for _, part := range strings.Fields(table["putMessageDistributeTime"]) {
		name, n, ok := strings.Cut(strings.TrimPrefix(part, "["), "]:")
		if _, err := strconv.Atoi(n); !ok || err != nil {
			x.t.Errorf("putMessageDistributeTime=%q", table["putMessageDistributeTime"])
		}
		classes = append(classes, name)
	}
	if strings.Join(classes, " ") != strings.Join(distribute, " ") {
		x.t.Errorf("classes %v", classes)
	}
}

// The exporter of Apache, which polls Java brokers for Prometheus, gets what it needs here, and right.
func TestExporter(t *testing.T) {
	mq := rocketmqtest.Start(t)
	c := client.New(client.Options{Namesrv: []string{mq.NamesrvAddr}})
	defer c.Close()
	x := &exporter{t: t, c: c, ns: mq.NamesrvAddr, values: map[string]float64{}}
	hb := &protocol.Command{Code: protocol.ReqHeartBeat, Body: []byte(`{"clientID":"c","producerDataSet":[{"groupName":"P"}],` +
		`"consumerDataSet":[{"groupName":"G","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",` +
		`"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{"topic":"T","subString":"*","subVersion":1,"expressionType":"TAG"}]}]}`)}
	_, err := c.Call(t.Context(), mq.BrokerAddr, hb)
	x.must(err)
	queue := client.Queue{Broker: "b", Addr: mq.BrokerAddr}
	for range 7 {
		_, err := c.Send(t.Context(), &client.Message{Topic: "T", Body: []byte("x"), Queue: &queue})
		x.must(err)
	}
	commit := &protocol.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: protocol.Some("G"), Topic: protocol.Some("T"), QueueID: protocol.Some(int32(0)), CommitOffset: protocol.Some(int64(3)),
	}
	cmd := &protocol.Command{Code: protocol.ReqUpdateConsumerOffset}
	commit.AppendFields(&cmd.Fields)
	_, err = c.Call(t.Context(), mq.BrokerAddr, cmd)
	x.must(err)
	for deadline := time.Now().Add(30 * time.Second); x.values["producer_offset T"] != 7; { // dispatched by the by
		if time.Now().After(deadline) {
			t.Fatal(x.values)
		}
		x.values = map[string]float64{}
		x.topicOffsets()
	}
	x.values = map[string]float64{}
	x.consumers(x.topicOffsets())
	x.runtime()
	for key, want := range map[string]float64{
		"producer_offset T": 7, "group_diff G T": 4, "consumer_offset G T": 3, "group_count G": 1, "producer_count P": 1,
		"runtime msgPutTotalTodayNow": 7,
	} {
		if got, ok := x.values[key]; !ok || got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}
