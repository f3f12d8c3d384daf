// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"rocketmq-go/remoting/protocol"
)

// pop asks for messages of all queues; fields change what is asked.
func (h *hot) pop(topic string, fields ...string) *protocol.Command {
	h.t.Helper()
	all := map[string]string{
		"consumerGroup": "G", "topic": topic, "queueId": "-1", "maxMsgNums": "32", "invisibleTime": "10000", "pollTime": "0",
		"bornTime": "0", "initMode": "0", "order": "false",
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		all[name] = value
	}
	return h.call(protocol.ReqPopMessage, all)
}

// refusedPops holds pops of that many topics and tells how many are refused.
func refusedPops(topics int) func(h *hot) string {
	return func(h *hot) string {
		var mu sync.Mutex
		var waiting sync.WaitGroup
		refused := 0
		for n := range 3 {
			topic := "T" + strconv.Itoa(n%topics)
			h.topic(topic)
			waiting.Go(func() {
				answer := h.pop(topic, "pollTime=3000", "bornTime="+strconv.FormatInt(time.Now().UnixMilli(), 10))
				mu.Lock()
				defer mu.Unlock()
				if answer.Code == protocol.RespPollingFull {
					refused++
				}
			})
		}
		waiting.Wait()
		return strconv.Itoa(refused)
	}
}

// revived pops a message that nobody acknowledges, and tells in which retry topic it is later.
func (h *hot) revived() string {
	topic, group := h.fresh(), h.fresh()
	h.group(group)
	h.put(topic, "x")
	h.end(topic)
	h.pop(topic, "consumerGroup="+group, "invisibleTime=1000")
	time.Sleep(20 * time.Second)
	for _, between := range []string{"_", "+"} {
		if h.body(protocol.ReqGetTopicConfig, "", "topic=%RETRY%"+group+between+topic).Code == 0 {
			return between
		}
	}
	return "nowhere"
}

// assigned asks for the queues of the first of some clients.
func (h *hot) assigned(others int) string {
	h.topic("T", "readQueueNums=4", "writeQueueNums=4")
	time.Sleep(31 * time.Second)
	group := h.fresh()
	a := h.client(nil)
	h.beat(a, "a", group, "T")
	for n := range others {
		h.beat(h.client(nil), "b"+strconv.Itoa(n), group, "T")
	}
	answer := h.from(a, protocol.ReqQueryAssignment, `{"clientId":"a","consumerGroup":"`+group+`","messageModel":"CLUSTERING","strategyName":"AVG","topic":"T"}`)
	return string(answer.Body)
}

// Keys of pops and of who gets which queue.
var hotOfPops = map[string]hotKey{
	"popPollingSize":    {set: "0", before: "0", after: "2", see: refusedPops(1)},
	"popPollingMapSize": {set: "1", before: "0", after: "2", see: refusedPops(3)},
	"maxPopPollingSize": {set: "1", before: "0", after: "2", see: refusedPops(3)},
	"reviveInterval": {set: "300000", before: "_", after: "nowhere", see: func(h *hot) string {
		time.Sleep(5 * time.Second) // the interval that has begun ends
		return h.revived()
	}},
	"enableRetryTopicV2": {set: "true", before: "_", after: "+", see: (*hot).revived},
	"retrieveMessageFromPopRetryTopicV1": {with: "enableRetryTopicV2=true;popFromRetryProbability=100", set: "false", before: "1", after: "0", see: func(h *hot) string {
		topic, group := h.fresh(), h.fresh()
		h.group(group)
		h.topic(topic)
		h.topic("%RETRY%" + group + "_" + topic)
		h.put("%RETRY%"+group+"_"+topic, "x")
		h.end("%RETRY%" + group + "_" + topic)
		return fmt.Sprint(recordsOf(h.t, h.pop(topic, "consumerGroup="+group).Body))
	}},
	"popFromRetryProbability": {set: "100", before: "false", after: "true", see: func(h *hot) string {
		// of twenty pops of one message each; with 20 % not all begin with what is retried
		topic, group := h.fresh(), h.fresh()
		retry := "%RETRY%" + group + "_" + topic
		h.group(group)
		h.topic(retry)
		for range 20 {
			h.put(topic, "new")
			h.put(retry, "old")
		}
		h.end(topic)
		all := true
		for range 20 {
			all = all && strings.Contains(string(h.pop(topic, "consumerGroup="+group, "maxMsgNums=1", "invisibleTime=600000").Body), "old")
		}
		return fmt.Sprint(all)
	}},
	"popResponseReturnActualRetryTopic": {with: "popFromRetryProbability=100", set: "true", before: "false", after: "true", see: func(h *hot) string {
		topic, group := h.fresh(), h.fresh()
		retry := "%RETRY%" + group + "_" + topic
		h.group(group)
		h.topic(topic)
		h.topic(retry)
		h.put(retry, "x")
		h.end(retry)
		return fmt.Sprint(strings.Contains(string(h.pop(topic, "consumerGroup="+group).Body), retry))
	}},
	"initPopOffsetByCheckMsgInMem": {set: "false", before: "2", after: "1", see: func(h *hot) string {
		topic, group := h.fresh(), h.fresh()
		h.group(group)
		h.put(topic, "x")
		h.put(topic, "y")
		h.end(topic)
		return fmt.Sprint(recordsOf(h.t, h.pop(topic, "consumerGroup="+group, "initMode=1").Body))
	}},
	"enableNotifyAfterPopOrderLockRelease": {set: "false", before: "true", after: "false", see: func(h *hot) string {
		topic, group := h.fresh(), h.fresh()
		h.group(group)
		h.topic(topic)
		h.put(topic, "a")
		h.put(topic, "b")
		h.end(topic)
		first := h.pop(topic, "consumerGroup="+group, "order=true", "maxMsgNums=1", "invisibleTime=2000", "attemptId=1")
		if recordsOf(h.t, first.Body) != 1 {
			return "nothing to lock"
		}
		began := time.Now()
		h.pop(topic, "consumerGroup="+group, "order=true", "maxMsgNums=1", "pollTime=10000", "attemptId=2",
			"bornTime="+strconv.FormatInt(began.UnixMilli(), 10))
		return fmt.Sprint(time.Since(began) < 5*time.Second)
	}},
	"enablePopMessageThreshold":   {with: "popInflightMessageThreshold=1", set: "true", before: "0", after: "2", see: poppedTwice},
	"popInflightMessageThreshold": {with: "enablePopMessageThreshold=true", set: "1", before: "0", after: "2", see: poppedTwice},
	"serverLoadBalancerEnable": {set: "false", before: "2", after: "4", see: func(h *hot) string {
		return strconv.Itoa(strings.Count(h.assigned(1), `"queueId":`))
	}},
	"defaultMessageRequestMode": {set: "POP", before: "PULL", after: "POP", see: func(h *hot) string {
		_, mode, _ := strings.Cut(h.assigned(1), `"mode":"`)
		mode, _, _ = strings.Cut(mode, `"`)
		return mode
	}},
	"defaultPopShareQueueNum": {with: "defaultMessageRequestMode=POP", set: "1", before: "1", after: "3", see: func(h *hot) string {
		return strconv.Itoa(strings.Count(h.assigned(2), `"queueId":`))
	}},
}

// poppedTwice tells how many messages are missing in a second pop of two.
func poppedTwice(h *hot) string {
	topic, group := h.fresh(), h.fresh()
	h.group(group)
	for range 4 {
		h.put(topic, "x")
	}
	h.end(topic)
	h.pop(topic, "consumerGroup="+group, "maxMsgNums=2", "invisibleTime=600000")
	return strconv.Itoa(2 - recordsOf(h.t, h.pop(topic, "consumerGroup="+group, "maxMsgNums=2", "invisibleTime=600000").Body))
}
