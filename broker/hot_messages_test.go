// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

const (
	halfTopic = "RMQ_SYS_TRANS_HALF_TOPIC"
	opTopic   = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
)

// sent is a look at the code of a send.
func sent(topic string, properties ...string) func(h *hot) string {
	return func(h *hot) string { return codeOf(h.put(topic, "body", properties...)) }
}

// half stores a half message.
func (h *hot) half() *protocol.Command {
	h.t.Helper()
	return h.put("T", "x", "TRAN_MSG=true", "PGROUP=P", "UNIQ_KEY="+h.fresh())
}

// checks counts how often a producer is asked about a half message within a time.
func checks(within time.Duration) func(h *hot) string {
	return func(h *hot) string {
		n := make(chan struct{}, 1000)
		c := h.client(func(r *remoting.Request) {
			if r.Code == protocol.ReqCheckTransactionState {
				n <- struct{}{}
			}
		})
		defer c.Close()
		h.from(c, protocol.ReqHeartBeat, `{"clientID":"p","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}`)
		h.half()
		for began := time.Now(); time.Since(began) < within; time.Sleep(20 * time.Second) {
			h.from(c, protocol.ReqHeartBeat, `{"clientID":"p","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}`)
		}
		return strconv.Itoa(len(n))
	}
}

// commit ends a transaction.
func (h *hot) commit(half *protocol.Command) {
	h.t.Helper()
	id := fieldOf(half, "msgId")
	phy, _ := strconv.ParseUint(id[len(id)-16:], 16, 64)
	h.body(protocol.ReqEndTransaction, "", "producerGroup=P", "tranStateTableOffset="+fieldOf(half, "queueOffset"),
		"commitLogOffset="+strconv.FormatUint(phy, 10), "commitOrRollback=12", "fromTransactionCheck=false", "msgId="+id)
}

// Keys of sends, transactions, delays and timers.
var hotOfMessages = map[string]hotKey{
	"maxMessageSize":                  {set: "3", before: "0", after: "13", see: sent("T")},
	"startAcceptSendRequestTimeStamp": {set: "4102444800000", before: "0", after: "1", see: sent("T")},
	"regionId":                        {set: "north", before: "DefaultRegion", after: "north", see: func(h *hot) string { return fieldOf(h.put("T", "x"), "MSG_REGION") }},
	"traceOn":                         {set: "false", before: "true", after: "false", see: func(h *hot) string { return fieldOf(h.put("T", "x"), "TRACE_ON") }},
	"autoMessageVersionOnTopicLen": {set: "false", before: "1", after: "0", see: func(h *hot) string {
		group := strings.Repeat("g", 200) // of whose retry topic the name is long
		was, _ := strconv.Atoi(h.end("%RETRY%" + group))
		id := fieldOf(h.put("T", "x"), "msgId")
		phy, _ := strconv.ParseUint(id[len(id)-16:], 16, 64)
		h.body(protocol.ReqConsumerSendMsgBack, "", "offset="+strconv.FormatUint(phy, 10), "group="+group, "delayLevel=1",
			"originTopic=T", "originMsgId=x", "unitMode=false", "maxReconsumeTimes=16")
		time.Sleep(3 * time.Second)
		is, _ := strconv.Atoi(h.end("%RETRY%" + group))
		return strconv.Itoa(is - was)
	}},
	"storeReplyMessageEnable": {set: "false", before: "1", after: "1", see: func(h *hot) string {
		c := h.client(func(r *remoting.Request) { r.Reply(&protocol.Response{}) })
		h.from(c, protocol.ReqHeartBeat, `{"clientID":"asks","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}`)
		h.body(protocol.ReqSendReplyMessageV2, "x", "a=P", "b=DefaultCluster_REPLY_TOPIC", "c=TBW102", "d=1", "e=0", "f=0", "g=1", "h=0",
			"i=REPLY_TO_CLIENT\x01asks\x02CORRELATION_ID\x01c\x02", "m=false")
		return h.end("DefaultCluster_REPLY_TOPIC")
	}},

	"rejectTransactionMessage": {set: "true", before: "0", after: "16", see: sent("T", "TRAN_MSG=true", "PGROUP=P")},
	"transactionTimeOut":       {with: "transactionCheckInterval=1000;transactionCheckMax=1", set: "600000", before: "1", after: "0", see: checks(time.Minute)},
	"transactionCheckMax":      {with: "transactionCheckInterval=1000", set: "2", before: "15", after: "2", see: checks(2 * time.Minute)},
	"transactionCheckInterval": {with: "transactionCheckMax=100", set: "1000", before: "false", after: "true", see: func(h *hot) string {
		n, _ := strconv.Atoi(checks(2 * time.Minute)(h))
		return fmt.Sprint(n > 20)
	}},
	"transactionOpBatchInterval": {set: "60000", before: "1", after: "0", see: func(h *hot) string {
		before, _ := strconv.Atoi(h.end(opTopic))
		h.commit(h.half())
		time.Sleep(10 * time.Second)
		after, _ := strconv.Atoi(h.end(opTopic))
		return strconv.Itoa(after - before)
	}},
	"transactionOpMsgMaxSize": {with: "transactionOpBatchInterval=60000", set: "1", before: "0", after: "true", see: func(h *hot) string {
		was, _ := strconv.Atoi(h.end(opTopic))
		for range 3 {
			h.commit(h.half())
		}
		time.Sleep(time.Second)
		if is, _ := strconv.Atoi(h.end(opTopic)); is > was {
			return "true"
		}
		return "0"
	}},
	"transactionMetricFlushInterval": {set: "3600000", before: "true", after: "false", see: func(h *hot) string {
		was := h.file("config/transactionMetrics")
		topic := h.fresh()
		h.put(topic, "x", "TRAN_MSG=true", "PGROUP=P")
		time.Sleep(10 * time.Second)
		is := h.file("config/transactionMetrics")
		return fmt.Sprint(is != was && strings.Contains(is, topic))
	}},

	"enableScheduleMessageStats": {with: "enableScheduleMessageStats=false", set: "true", before: "1", after: "0", see: func(h *hot) string {
		h.put("T", "x", "DELAY=1")
		time.Sleep(3 * time.Second)
		return codeOf(h.body(protocol.ReqViewBrokerStatsData, "", "statsName=GROUP_GET_NUMS", "statsKey=SCHEDULE_TOPIC_XXXX@SCHEDULE_CONSUMER"))
	}},
	"delayOffsetUpdateVersionStep": {set: "1", before: "false", after: "true", see: func(h *hot) string {
		version := func() string {
			_, rest, _ := strings.Cut(string(h.body(protocol.ReqGetAllDelayOffset, "").Body), `"dataVersion"`)
			rest, _, _ = strings.Cut(rest, "}")
			return rest
		}
		was := version()
		h.put("T", "x", "DELAY=1")
		time.Sleep(3 * time.Second)
		return fmt.Sprint(version() != was)
	}},
	"flushDelayOffsetInterval": {set: "3600000", before: "true", after: "false", see: func(h *hot) string {
		time.Sleep(11 * time.Second)
		was := h.file("config/delayOffset.json")
		h.put("T", "x", "DELAY=1")
		time.Sleep(13 * time.Second)
		return fmt.Sprint(h.file("config/delayOffset.json") != was)
	}},

	"timerMaxDelaySec": {set: "10", before: "0", after: "13", see: sent("T", "TIMER_DELAY_SEC=100")},
	"timerWheelEnable": {set: "false", before: "0", after: "1", see: sent("T", "TIMER_DELAY_SEC=100")},
	"timerStopEnqueue": {set: "true", before: "1", after: "0", see: func(h *hot) string {
		topic := h.fresh()
		h.put(topic, "x", "TIMER_DELAY_SEC=2")
		time.Sleep(8 * time.Second)
		return fmt.Sprint(recordsOf(h.t, h.pulling(topic).Body))
	}},
	"timerCongestNumEachSlot": {set: "1", before: "0", after: "1", see: func(h *hot) string {
		at := strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10)
		code := ""
		for range 4 {
			code = codeOf(h.put("T", "x", "TIMER_DELIVER_MS="+at))
			time.Sleep(time.Second)
		}
		return code
	}},
	"recallMessageEnable": {set: "true", before: "16", after: "604", see: func(h *hot) string {
		h.topic("T")
		return codeOf(h.body(protocol.ReqRecallMessage, "", "producerGroup=P", "topic=T", "recallHandle=x"))
	}},
}

// committed is the time in the checkpoint up to which the queues are on disk.
func (h *hot) committed() int64 {
	text := h.file("checkpoint")
	if len(text) < 16 {
		return 0
	}
	return int64(binary.BigEndian.Uint64([]byte(text[8:])))
}

// queuesOnDisk tells whether a message's unit is on disk after some time.
func queuesOnDisk(after time.Duration) func(h *hot) string {
	return func(h *hot) string {
		began := time.Now().UnixMilli()
		h.put("T", "x")
		time.Sleep(after)
		return fmt.Sprint(h.committed() >= began)
	}
}

// logOnDisk tells whether what was appended is on disk two seconds later, but for less than some bytes: the page that is
// being filled may wait.
func logOnDisk(size, but int) func(h *hot) string {
	return func(h *hot) string {
		time.Sleep(time.Second) // the interval that has begun ends
		h.put("T", strings.Repeat("x", size))
		time.Sleep(2 * time.Second)
		behind, err := strconv.Atoi(h.behind())
		return fmt.Sprint(err == nil && behind < but)
	}
}

func (h *hot) behind() string {
	_, rest, _ := strings.Cut(h.metrics(), "\nrocketmq_storage_flush_behind_bytes{")
	_, rest, _ = strings.Cut(rest, "} ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// Keys of the store, of queries and of figures.
var hotOfStore = map[string]hotKey{
	"flushIntervalCommitLog":            {set: "60000", before: "true", after: "false", see: logOnDisk(40000, 4096)},
	"flushCommitLogLeastPages":          {set: "100", before: "true", after: "false", see: logOnDisk(40000, 4096)},
	"flushCommitLogThoroughInterval":    {set: "1", before: "false", after: "true", see: logOnDisk(10, 1)},
	"flushIntervalConsumeQueue":         {with: "flushConsumeQueueLeastPages=0;flushCommitLogLeastPages=0", set: "60000", before: "true", after: "false", see: queuesOnDisk(5 * time.Second)},
	"flushConsumeQueueLeastPages":       {with: "flushCommitLogLeastPages=0", set: "0", before: "false", after: "true", see: queuesOnDisk(5 * time.Second)},
	"flushConsumeQueueThoroughInterval": {with: "flushCommitLogLeastPages=0", set: "1", before: "false", after: "true", see: queuesOnDisk(5 * time.Second)},
	"defaultQueryMaxNum": {set: "2", before: "5", after: "2", see: func(h *hot) string {
		if h.once() {
			for range 5 {
				h.put("T", "x", "UNIQ_KEY=k")
			}
			time.Sleep(time.Second)
		}
		return fmt.Sprint(recordsOf(h.t, h.body(protocol.ReqQueryMessage, "", "topic=T", "key=k", "beginTimestamp=0",
			"endTimestamp=9223372036854775807", "maxNum=0", "_UNIQUE_KEY_QUERY=true").Body))
	}},
	"travelCqFileNumWhenGetMessage": {with: "maxFilterMessageSize=200", set: "3", before: "10", after: "30", see: func(h *hot) string {
		for range 40 {
			h.put("T", "x", "TAGS=a")
		}
		h.end("T")
		return fieldOf(h.pulling("T", "subscription=none", "maxMsgNums=2"), "nextBeginOffset")
	}},
	"compactionScheduleInternal": {with: "compactionCqMappedFileSize=276;compactionMappedFileSize=8192", set: "1000", before: "5", after: "1", see: func(h *hot) string {
		topic := h.fresh()
		h.topic(topic, "attributes=+cleanup.policy=COMPACTION")
		for range 7 {
			h.put(topic, "x", "KEYS=k") // files of five
		}
		time.Sleep(time.Minute)
		n := recordsOf(h.t, h.pulling(topic).Body)
		time.Sleep(31 * time.Minute) // the interval that has begun ends, and the one behind it
		return fmt.Sprint(n)
	}},
	"enableCalcFilterBitMap": {with: "enableConsumeQueueExt=true", set: "true", before: "false", after: "true", see: func(h *hot) string {
		c := h.client(nil)
		h.from(c, protocol.ReqHeartBeat, `{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"SQL","consumeType":"CONSUME_PASSIVELY",`+
			`"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[`+
			`{"topic":"T","subString":"a = 2","subVersion":1,"tagsSet":[],"codeSet":[],"expressionType":"SQL92"}]}]}`)
		defer c.Close()
		h.put("T", "x", "a=2")
		h.end("T")
		// a unit: size, tags code, store time, size of the bit map, bit map
		ext, last := h.file("consumequeue_ext/T/0/00000000000000000000"), 0
		for at := 0; at+20 <= len(ext); {
			size := int(binary.BigEndian.Uint16([]byte(ext[at:])))
			if size < 20 {
				break
			}
			last = int(binary.BigEndian.Uint16([]byte(ext[at+18:])))
			at += size
		}
		return fmt.Sprint(last > 0)
	}},
	"enableLmqStats": {with: "enableLmq=true;enableMultiDispatch=true", set: "true", before: "1", after: "0", see: func(h *hot) string {
		h.put("T", "x", "INNER_MULTI_DISPATCH=%LMQ%q")
		h.end("T")
		h.pulling("%LMQ%q", "consumerGroup=%LMQ%g")
		return codeOf(h.body(protocol.ReqViewBrokerStatsData, "", "statsName=GROUP_GET_NUMS", "statsKey=%LMQ%q@%LMQ%g"))
	}},
	"estimateAccumulation": {set: "false", before: "5", after: "10", see: lagOfTagged},
	"maxConsumeQueueScan":  {set: "1", before: "5", after: "10", see: lagOfTagged},
	"sampleCountThreshold": {set: "0", before: "5", after: "10", see: lagOfTagged},
}

// lagOfTagged is the lag of a group that wants every second of ten messages, the first one included.
func lagOfTagged(h *hot) string {
	c := h.client(nil)
	h.from(c, protocol.ReqHeartBeat, `{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"G","consumeType":"CONSUME_PASSIVELY",`+
		`"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[`+
		`{"topic":"T","subString":"a","subVersion":1,"tagsSet":["a"],"codeSet":[97],"expressionType":"TAG"}]}]}`)
	defer c.Close()
	if h.once() {
		for n := range 10 {
			h.put("T", "x", "TAGS="+string("ab"[n%2]))
		}
		h.body(protocol.ReqUpdateConsumerOffset, "", "consumerGroup=G", "topic=T", "queueId=0", "commitOffset=0")
	}
	time.Sleep(time.Second)
	for line := range strings.Lines(h.metrics()) {
		if strings.HasPrefix(line, "rocketmq_consumer_lag_messages{") && strings.Contains(line, `topic="T"`) {
			return strings.Fields(line)[len(strings.Fields(line))-1]
		}
	}
	return "none"
}

// told is a look at what the broker says when it is asked for rules.
func told(what func(t *broker.Told) any) func(h *hot) string {
	return func(h *hot) string { return fmt.Sprint(what(&h.told)) }
}

// Keys of disks, clocks and neighbours that a test of the whole broker does not have in its hand.
var hotOfTold = map[string]hotKey{
	"brokerFastFailureEnable":     {set: "false", before: "200ms", after: "0s", see: told(func(t *broker.Told) any { return t.Store.LongestWait() })},
	"waitTimeMillsInSendQueue":    {set: "7", before: "200ms", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.LongestWait() })},
	"osPageCacheBusyTimeOutMills": {set: "7", before: "1s", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.PageCacheBusyTimeout() })},
	"syncFlushTimeout":            {set: "7", before: "5s", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.Flushing().SyncTimeout })},
	"cleanResourceInterval":       {set: "7", before: "10s", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.Cleaning().CleanResourceInterval })},
	"cleanFileForciblyEnable":     {set: "false", before: "true", after: "false", see: told(func(t *broker.Told) any { return t.Store.Cleaning().CleanFileForciblyEnable })},
	"deleteFileBatchMax":          {set: "7", before: "10", after: "7", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DeleteFileBatchMax })},
	"diskMaxUsedSpaceRatio":       {set: "50", before: "0.75", after: "0.5", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DiskMaxUsedSpaceRatio })},
	"diskSpaceWarningLevelRatio":  {set: "50", before: "0.9", after: "0.5", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DiskSpaceWarningLevelRatio })},
	"diskSpaceCleanForciblyRatio": {set: "50", before: "0.85", after: "0.5", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DiskSpaceCleanForciblyRatio })},
	"rocketmq.broker.diskSpaceWarningLevelRatio": {with: "rocketmq.broker.diskSpaceWarningLevelRatio=0.4", set: "0.5", before: "0.4", after: "0.5", see: told(func(t *broker.Told) any {
		return t.Store.Cleaning().DiskSpaceWarningLevelRatio
	})},
	"rocketmq.broker.diskSpaceCleanForciblyRatio": {with: "rocketmq.broker.diskSpaceCleanForciblyRatio=0.4", set: "0.5", before: "0.4", after: "0.5", see: told(func(t *broker.Told) any {
		return t.Store.Cleaning().DiskSpaceCleanForciblyRatio
	})},
	"deleteCommitLogFilesInterval":      {set: "7", before: "100ms", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DeleteCommitLogFilesInterval })},
	"deleteConsumeQueueFilesInterval":   {set: "7", before: "100ms", after: "7ms", see: told(func(t *broker.Told) any { return t.Store.Cleaning().DeleteConsumeQueueFilesInterval })},
	"popLongPollingForceNotifyInterval": {set: "7", before: "800", after: "7", see: told(func(t *broker.Told) any { return t.Polling().Force })},
	"skipWhenCKRePutReachMaxTimes":      {set: "true", before: "false", after: "true", see: told(func(t *broker.Told) any { return t.Pop().SkipUnreadable })},
	"timerSkipUnknownError":             {set: "true", before: "false", after: "true", see: told(func(t *broker.Told) any { return t.SkipUnknown() })},
	"registerBrokerTimeoutMills":        {set: "7", before: "24s", after: "7ms", see: told(func(t *broker.Told) any { return t.Register.Timeout() })},
	"updateNameServerAddrPeriod":        {set: "7", before: "2m0s", after: "7ms", see: told(func(t *broker.Told) any { return t.Sources().DNSInterval })},
	"fetchNameSrvAddrByDnsLookup":       {set: "true", before: "false", after: "true", see: told(func(t *broker.Told) any { return t.Sources().ByDNS })},
	"fetchNamesrvAddrInterval":          {set: "7", before: "10s", after: "7ms", see: told(func(t *broker.Told) any { return t.Sources().AddressServerInterval })},
	"fetchNamesrvAddrByAddressServer": {set: "true", before: "false", after: "true", see: told(func(t *broker.Told) any {
		return t.Sources().AddressServer != ""
	})},
	"broadcastOffsetExpireSecond":    {set: "7", before: "2m0s", after: "7s", see: told(func(t *broker.Told) any { offline, _ := t.Broadcast(); return offline })},
	"broadcastOffsetExpireMaxSecond": {set: "7", before: "5m0s", after: "7s", see: told(func(t *broker.Told) any { _, online := t.Broadcast(); return online })},
	"subscriptionExpiredTimeout":     {set: "7", before: "10m0s", after: "7ms", see: told(func(t *broker.Told) any { return t.Clients().CompensationLifetime })},
}
