// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// codeOfPull is a look that pulls what nothing is in.
func codeOfPull(fields ...string) func(h *hot) string {
	return func(h *hot) string {
		h.topic("T")
		return codeOf(h.pulling("T", fields...))
	}
}

// shortlyHeld tells whether a pull that finds nothing is answered within so many seconds although it would wait for longer.
// The one before it is there to end the look at held pulls that has begun.
func shortlyHeld(seconds float64) func(h *hot) string {
	return func(h *hot) string {
		pull := codeOfPull("sysFlag=6", "suspendTimeoutMillis=9000")
		pull(h)
		began := time.Now()
		pull(h)
		return fmt.Sprint(time.Since(began).Seconds() < seconds)
	}
}

// registered is a look at what the broker sends to its name servers within a time.
func registered(within time.Duration, look func(seen []*protocol.Command) string) func(h *hot) string {
	return func(h *hot) string {
		n := len(h.toNamesrv())
		time.Sleep(within)
		return look(h.toNamesrv()[n:])
	}
}

// field is that of the last registration.
func registeredField(name string) func([]*protocol.Command) string {
	return func(seen []*protocol.Command) string {
		for i := len(seen) - 1; i >= 0; i-- {
			if seen[i].Code == protocol.ReqRegisterBroker {
				return fieldOf(seen[i], name)
			}
		}
		return "nothing"
	}
}

// codes are those of the requests, each once.
func codes(seen []*protocol.Command) string {
	var all []string
	for _, c := range seen {
		if text := codeOf(c); !strings.Contains(strings.Join(all, " ")+" ", text+" ") {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

const ownNamesrv = "namesrvAddr=127.0.0.9:9876"

// Keys of access, registration, clients and groups.
var hotOfRequests = map[string]hotKey{
	"autoCreateTopicEnable": {set: "false", before: "0", after: "17", see: func(h *hot) string { return codeOf(h.put(h.fresh(), "x")) }},
	"enableCreateSysGroup": {with: "autoCreateSubscriptionGroup=false", set: "false", before: "19", after: "26", see: func(h *hot) string {
		return codeOfPull("consumerGroup=CID_RMQ_SYS_" + h.fresh())(h)
	}},
	"autoCreateSubscriptionGroup": {set: "false", before: "19", after: "26", see: func(h *hot) string {
		return codeOfPull("consumerGroup=" + h.fresh())(h)
	}},
	"brokerPermission":         {set: "2", before: "19", after: "16", see: codeOfPull()},
	"litePullMessageEnable":    {set: "false", before: "19", after: "16", see: codeOfPull("code=361")},
	"longPollingEnable":        {set: "false", before: "false", after: "true", see: shortlyHeld(3)},
	"shortPollingTimeMills":    {with: "longPollingEnable=false", set: "4000", before: "true", after: "false", see: shortlyHeld(3)},
	"rejectPullConsumerEnable": {set: "true", before: "19", after: "24", see: codeOfPull()},
	"enablePropertyFilter":     {set: "false", before: "19", after: "1", see: codeOfPull("expressionType=SQL92", "subscription=a=1")},
	"slaveReadEnable": {with: "accessMessageInMemoryMaxRatio=0", set: "true", before: "0", after: "1", see: func(h *hot) string {
		h.put("T", "x")
		h.end("T")
		return fieldOf(h.pulling("T"), "suggestWhichBrokerId")
	}},
	"consumerFallbehindThreshold": {
		with: "disableConsumeIfConsumerReadSlowly=true", set: "10", before: "0", after: "16",
		see: func(h *hot) string {
			for range 3 {
				h.put("T", strings.Repeat("x", 1000))
			}
			h.end("T")
			h.pulling("T", "maxMsgNums=1")
			time.Sleep(4 * time.Minute)
			return codeOf(h.pulling("T", "maxMsgNums=1"))
		},
	},
	"filterSupportRetry": {set: "true", before: "1", after: "0", see: func(h *hot) string {
		c := h.client(nil)
		h.group("G")
		h.from(c, protocol.ReqHeartBeat, `{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"G","consumeType":"CONSUME_PASSIVELY",`+
			`"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[`+
			`{"topic":"T","subString":"a = 2","subVersion":1,"tagsSet":[],"codeSet":[],"expressionType":"SQL92"},`+
			`{"topic":"%RETRY%G","subString":"*","subVersion":1,"tagsSet":[],"codeSet":[],"expressionType":"TAG"}]}]}`)
		if h.end("%RETRY%G") == "0" {
			h.put("%RETRY%G", "x", "a=1", "RETRY_TOPIC=T")
			h.end("%RETRY%G")
		}
		return fmt.Sprint(recordsOf(h.t, h.pulling("%RETRY%G", "sysFlag=0", "subVersion=1").Body))
	}},
	"notifyConsumerIdsChangedEnable": {set: "false", before: "true", after: "false", see: func(h *hot) string {
		var heard atomic.Bool
		first, second := h.client(func(*remoting.Request) { heard.Store(true) }), h.client(nil)
		group := h.fresh()
		h.beat(first, "one", group, "T")
		time.Sleep(time.Second)
		heard.Store(false)
		h.beat(second, "two", group, "T")
		time.Sleep(time.Second)
		return fmt.Sprint(heard.Load())
	}},
	"channelExpiredTimeout": {set: "5000", before: "0", after: "1", see: func(h *hot) string {
		group := h.fresh()
		h.beat(h.client(nil), "c", group, "T")
		time.Sleep(30 * time.Second)
		return codeOf(h.body(protocol.ReqGetConsumerListByGroup, "", "consumerGroup="+group))
	}},
	"enableRegisterProducer": {with: "rejectTransactionMessage=true", set: "false", before: "0", after: "1", see: func(h *hot) string {
		group := h.fresh()
		h.body(protocol.ReqHeartBeat, `{"clientID":"p","consumerDataSet":[],"producerDataSet":[{"groupName":"`+group+`"}]}`)
		return codeOf(h.body(protocol.ReqGetProducerConnectionList, "", "producerGroup="+group))
	}},
	"enableMixedMessageType": {set: "true", before: "29", after: "0", see: func(h *hot) string {
		return codeOf(h.topic(h.fresh(), "attributes=+message.type=MIXED"))
	}},
	"validateSystemTopicWhenUpdateTopic": {set: "false", before: "29", after: "0", see: func(h *hot) string {
		return codeOf(h.topic("TBW102"))
	}},
	"consumerOffsetUpdateVersionStep": {set: "1", before: "false", after: "true", see: func(h *hot) string {
		version := func() string {
			body := string(h.body(protocol.ReqGetAllConsumerOffset, "").Body)
			_, rest, _ := strings.Cut(body, `"dataVersion"`)
			rest, _, _ = strings.Cut(rest, "}")
			return rest
		}
		h.topic("T")
		h.group("G")
		was := version()
		h.body(protocol.ReqUpdateConsumerOffset, "", "consumerGroup=G", "topic=T", "queueId=0", "commitOffset=0")
		return fmt.Sprint(version() != was)
	}},
	"flushConsumerOffsetInterval": {set: "3600000", before: "true", after: "false", see: func(h *hot) string {
		h.topic("T")
		time.Sleep(11 * time.Second)
		group := h.fresh()
		h.group(group)
		h.body(protocol.ReqUpdateConsumerOffset, "", "consumerGroup="+group, "topic=T", "queueId=0", "commitOffset=0")
		time.Sleep(11 * time.Second)
		return fmt.Sprint(strings.Contains(h.file("config/consumerOffset.json"), group))
	}},
	"useServerSideResetOffset": {set: "false", before: "0", after: "none", see: func(h *hot) string {
		h.group("G")
		h.topic("T")
		h.body(protocol.ReqUpdateConsumerOffset, "", "consumerGroup=G", "topic=T", "queueId=0", "commitOffset=0")
		answer := h.body(protocol.ReqInvokeBrokerToResetOffset, "", "topic=T", "group=G", "timestamp=-1", "isForce=true", "queueId=0", "offset=0")
		if answer.Code != 0 { // nobody is online to be told
			return "none"
		}
		return "0"
	}},
	"filterDataCleanTimeSpan": {set: "1000", before: "true", after: "false", see: func(h *hot) string {
		c := h.client(nil)
		h.from(c, protocol.ReqHeartBeat, `{"clientID":"c","producerDataSet":[],"consumerDataSet":[{"groupName":"SQL","consumeType":"CONSUME_PASSIVELY",`+
			`"messageModel":"CLUSTERING","consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","subscriptionDataSet":[`+
			`{"topic":"T","subString":"a = 2","subVersion":1,"tagsSet":[],"codeSet":[],"expressionType":"SQL92"}]}]}`)
		c.Close()
		time.Sleep(25 * time.Second)
		return fmt.Sprint(strings.Contains(h.file("config/consumerFilter.json"), `"SQL"`))
	}},
	"metricsLabel": {set: "zone:north", before: "false", after: "true", see: func(h *hot) string {
		return fmt.Sprint(strings.Contains(h.metrics(), `zone="north"`))
	}},

	// access
	"authenticationEnabled":   {set: "true", before: "19", after: "16", see: codeOfPull()},
	"authorizationEnabled":    {set: "true", before: "19", after: "16", see: codeOfPull()},
	"authenticationWhitelist": {with: "authenticationEnabled=true;authenticationWhitelist=25,17", set: "25,17,11", before: "16", after: "19", see: codeOfPull()},
	"protectPathKeys": {set: "true", before: "0", after: "16", see: func(h *hot) string {
		return codeOf(h.body(protocol.ReqUpdateBrokerConfig, "storePathCommitLog=/elsewhere"))
	}},
	"authenticationMetadataProvider": {set: "x", before: "1", after: "0", see: func(h *hot) string { return codeOf(h.body(protocol.ReqAuthListUser, "")) }},
	"authorizationMetadataProvider":  {set: "x", before: "1", after: "0", see: func(h *hot) string { return codeOf(h.body(protocol.ReqAuthListUser, "")) }},
	"authorizationWhitelist": {
		with: "authorizationEnabled=true;authorizationWhitelist=25,17;authenticationWhitelist=25,17,11", set: "25,17,11", before: "16", after: "19",
		see: codeOfPull(),
	},

	// name servers
	"namesrvAddr": {set: "127.0.0.9:9876", before: "0", after: "103", see: func(h *hot) string {
		time.Sleep(65 * time.Second)
		n := len(h.toNamesrv())
		time.Sleep(65 * time.Second)
		if seen := h.toNamesrv(); len(seen) > n {
			return codes(seen[n:])
		}
		return "0"
	}},
	"forwardTimeout": {with: ownNamesrv, set: "1000", before: "3s", after: "1s", see: func(h *hot) string {
		if h.once() { // queue 0 of a static topic, whose first hundred messages another broker has
			answer := h.body(protocol.ReqUpdateAndCreateStaticTopic, `{"topic":"S","bname":"broker-a","epoch":1700000000000,"totalQueues":1,"scope":"__global__",`+
				`"dirty":false,"hostedQueues":{0:[{"bname":"other","endOffset":100,"gen":0,"logicOffset":0,"queueId":0,"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1},`+
				`{"bname":"broker-a","endOffset":-1,"gen":1,"logicOffset":100,"queueId":0,"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1}]}}`,
				"topic=S", "defaultTopic=TBW102", "readQueueNums=1", "writeQueueNums=1", "perm=6", "topicFilterType=SINGLE_TAG")
			if answer.Code != 0 {
				return answer.Remark.V
			}
		}
		return took(func() { h.pulling("S") })
	}},
	"brokerIP1":          {with: ownNamesrv, set: "10.1.1.1", before: "127.0.0.1:10911", after: "10.1.1.1:10911", see: registered(time.Minute, registeredField("brokerAddr"))},
	"brokerIP2":          {with: ownNamesrv, set: "10.1.1.1", before: "127.0.0.1:10912", after: "10.1.1.1:10912", see: registered(time.Minute, registeredField("haServerAddr"))},
	"compressedRegister": {with: ownNamesrv, set: "true", before: "false", after: "true", see: registered(time.Minute, registeredField("compressed"))},
	"forceRegister": {with: ownNamesrv, set: "false", before: "103", after: "322 103", see: func(h *hot) string {
		time.Sleep(31 * time.Second)
		return registered(time.Minute, codes)(h)
	}},
	"enableSingleTopicRegister": {with: ownNamesrv, set: "true", before: "103", after: "217", see: func(h *hot) string {
		n := len(h.toNamesrv())
		h.topic(h.fresh())
		time.Sleep(time.Second)
		return codes(h.toNamesrv()[n:])
	}},
	"registerNameServerPeriod": {with: ownNamesrv, set: "10000", before: "3", after: "9", see: func(h *hot) string {
		time.Sleep(31 * time.Second)
		return registered(90*time.Second, func(seen []*protocol.Command) string { return fmt.Sprint(len(seen)) })(h)
	}},

	// acting masters
	"brokerHeartbeatInterval":      {with: acting + ";compatibleWithOldNameSrv=false", set: "10000", before: "true", after: "false", see: often(protocol.ReqBrokerHeartbeat)},
	"syncBrokerMemberGroupPeriod":  {with: acting, set: "60000", before: "true", after: "false", see: often(protocol.ReqGetRouteinfoByTopic)},
	"compatibleWithOldNameSrv":     {with: acting, set: "false", before: "false", after: "true", see: often(protocol.ReqGetBrokerMemberGroup)},
	"brokerNotActiveTimeoutMillis": {with: acting, set: "7000", before: "10000", after: "7000", see: registered(time.Minute, registeredField("heartbeatTimeoutMillis"))},
	"enableAutoInSyncReplicas":     {with: acting + ";brokerRole=SYNC_MASTER;inSyncReplicas=2", set: "true", before: "1", after: "0", see: func(h *hot) string { return codeOf(h.put("T", "x", "WAIT=true")) }},
	"minInSyncReplicas": {with: acting + ";brokerRole=SYNC_MASTER;inSyncReplicas=2;enableAutoInSyncReplicas=true", set: "2", before: "0", after: "1", see: func(h *hot) string {
		return codeOf(h.put("T", "x", "WAIT=true"))
	}},

	// slaves
	"brokerRole":     {with: "inSyncReplicas=2", set: "SYNC_MASTER", before: "0", after: "12", see: func(h *hot) string { return codeOf(h.put("T", "x", "WAIT=true")) }},
	"inSyncReplicas": {with: "brokerRole=SYNC_MASTER", set: "2", before: "0", after: "12", see: func(h *hot) string { return codeOf(h.put("T", "x", "WAIT=true")) }},
	"slaveTimeout": {with: "brokerRole=SYNC_MASTER;inSyncReplicas=2", set: "1000", before: "12 after 3s", after: "12 after 1s", see: func(h *hot) string {
		defer h.follow().Close()
		code := ""
		d := took(func() { code = codeOf(h.put("T", "x", "WAIT=true")) })
		return code + " after " + d
	}},
	"haMaxGapNotInSync": {set: "1", before: "1", after: "0", see: func(h *hot) string {
		h.put("T", "x")
		defer h.follow().Close()
		_, rest, _ := strings.Cut(string(h.body(protocol.ReqGetBrokerHaStatus, "").Body), `"inSyncSlaveNums":`)
		return rest[:1]
	}},
	"haSlaveFallbehindMax": {with: "compatVersion=4.9.7;brokerRole=SYNC_MASTER", set: "1", before: "12", after: "11", see: func(h *hot) string {
		defer h.follow().Close()
		return codeOf(h.put("T", "x", "WAIT=true"))
	}},
	"haSendHeartbeatInterval": {set: "1000", before: "false", after: "true", see: func(h *hot) string {
		s := h.follow()
		defer s.Close()
		time.Sleep(11 * time.Second)
		return fmt.Sprint(s.frames.Load() > 5)
	}},
	"haHousekeepingInterval": {set: "60000", before: "true", after: "false", see: func(h *hot) string {
		s := h.follow()
		defer s.Close()
		time.Sleep(30 * time.Second) // it says nothing
		return fmt.Sprint(s.ended.Load())
	}},
	"haTransferBatchSize": {set: "1000", before: "false", after: "true", see: func(h *hot) string {
		for range 40 {
			h.put("T", strings.Repeat("x", 500))
		}
		s := h.follow()
		defer s.Close()
		time.Sleep(time.Second)
		return fmt.Sprint(s.largest.Load() <= 1000)
	}},
	"haFlowControlEnable":       {with: "maxHaTransferByteInSecond=20000", set: "true", before: "true", after: "false", see: copiedAtOnce},
	"maxHaTransferByteInSecond": {with: "haFlowControlEnable=true", set: "20000", before: "true", after: "false", see: copiedAtOnce},
	"haMasterAddress": {with: "brokerRole=SLAVE;brokerId=1;" + ownNamesrv, set: "master:10912", before: "false", after: "true", see: func(h *hot) string {
		time.Sleep(20 * time.Second)
		return fmt.Sprint(h.dialled("master:10912"))
	}},
	"offsetCheckInSlave": {with: "slaveReadEnable=true;brokerRole=SLAVE;brokerId=1;" + ownNamesrv, set: "true", before: "20", after: "21", see: func(h *hot) string {
		return codeOf(h.pulling("SELF_TEST_TOPIC", "queueOffset=5"))
	}},
}

// copiedAtOnce tells whether a new slave has 200 kB of the log within a second.
func copiedAtOnce(h *hot) string {
	for range 4 {
		h.put("T", strings.Repeat("x", 50000))
	}
	s := h.follow()
	defer s.Close()
	time.Sleep(time.Second)
	return fmt.Sprint(s.bytes.Load() >= 200000)
}

// outside is what the broker finds beyond the cluster: a name server that notes what it is asked, and a broker that never
// answers.
type outside struct {
	server *remoting.Server

	mu    sync.Mutex
	seen  []*protocol.Command
	dials []string
}

func (o *outside) Dispatch(r *remoting.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, r.Clone())
	resp := &protocol.Response{}
	if r.Code == protocol.ReqGetBrokerClusterInfo {
		resp.Body = []byte(`{"brokerAddrTable":{"other":{"brokerAddrs":{0:"127.0.0.9:1"},"brokerName":"other","cluster":"C"}},"clusterAddrTable":{"C":["other"]}}`)
	}
	r.Reply(resp)
}

func (o *outside) dial(_ context.Context, addr string) (net.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dials = append(o.dials, addr)
	switch addr {
	case "127.0.0.9:9876":
		return o.server.Pipe(), nil
	case "127.0.0.9:1":
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		return near, nil
	}
	return nil, fmt.Errorf("nobody listens at %s", addr)
}

// toNamesrv is what that name server was asked so far.
func (o *outside) toNamesrv() []*protocol.Command {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

func (o *outside) dialled(addr string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.dials, addr)
}

// follower is a slave that says where its log ends once, and then only reads.
type follower struct {
	net.Conn
	frames, largest, bytes atomic.Int64
	ended                  atomic.Bool
}

func (h *hot) follow() *follower {
	f := &follower{Conn: h.mq.Broker.HAPipe()}
	_, _ = f.Write(make([]byte, 8))
	go func() {
		defer f.ended.Store(true)
		for {
			var head [12]byte
			if _, err := io.ReadFull(f, head[:]); err != nil {
				return
			}
			size := int64(binary.BigEndian.Uint32(head[8:]))
			if _, err := io.CopyN(io.Discard, f, size); err != nil {
				return
			}
			f.frames.Add(1)
			f.bytes.Add(size)
			f.largest.Store(max(size, f.largest.Load()))
		}
	}()
	time.Sleep(100 * time.Millisecond)
	return f
}

const acting = "enableSlaveActingMaster=true;" + ownNamesrv

// asking is how often the name server is asked for something in 20 s, once what has begun has ended.
func (h *hot) asking(code int32) (n int) {
	time.Sleep(10 * time.Second)
	before := len(h.toNamesrv())
	time.Sleep(20 * time.Second)
	for _, c := range h.toNamesrv()[before:] {
		if c.Code == code {
			n++
		}
	}
	return n
}

func often(code int32) func(h *hot) string {
	return func(h *hot) string { return fmt.Sprint(h.asking(code) > 5) }
}
