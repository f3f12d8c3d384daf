// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/remoting/protocol"
	"rocketmq-go/rocketmqtest"
)

// pullFor pulls as a proxy does for a member of a broadcasting group.
func (b *broker) pullFor(topic, group, member, offset string) *protocol.Command {
	b.t.Helper()
	fields := []string{
		"consumerGroup", group, "topic", topic, "queueId", "0", "queueOffset", offset, "maxMsgNums", "1", "sysFlag", "4",
		"commitOffset", "0", "suspendTimeoutMillis", "0", "subscription", "*", "subVersion", "1", "expressionType", "TAG",
		"requestSource", "1",
	}
	if member != "" {
		fields = append(fields, "proxyFrowardClientId", member)
	}
	return b.call(protocol.ReqPullMessage, nil, fields...)
}

func TestBroadcastOffsetsGoWithTopicAndGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t)
		offsets := func() string { return string(b.must(protocol.ReqGetAllConsumerOffset, nil).Body) }
		for _, topic := range []string{"T1", "T2", "T3"} {
			b.topic(topic, 1)
			for _, group := range []string{"G1", "G2"} {
				b.pullFor(topic, group, "c", "0")
			}
		}
		time.Sleep(6 * time.Second)
		if text := offsets(); strings.Count(text, "@broadcast") != 6 {
			t.Fatal(text)
		}
		b.must(protocol.ReqDeleteTopicInBroker, nil, "topic", "T1")
		b.must(protocol.ReqDeleteSubscriptiongroup, nil, "groupName", "G2", "cleanOffset", "true")
		time.Sleep(6 * time.Second)
		if text := offsets(); strings.Count(text, "@broadcast") != 2 || !strings.Contains(text, "T2@G1@b") || !strings.Contains(text, "T3@G1@b") {
			t.Error(text)
		}
		// They are no groups for tools.
		if text := string(b.must(protocol.ReqQueryTopicConsumeByWho, nil, "topic", "T2").Body); strings.Contains(text, "broadcast") {
			t.Error(text)
		}
	})
}

func TestBroadcastPullWithoutClientID(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	if answer := b.pullFor("T", "G", "", "-1"); answer.Code != protocol.RespSystemError ||
		!strings.Contains(answer.Remark.V, "proxyFrowardClientId") {
		t.Error(answer.Code, answer.Remark.V)
	}
	b.must(protocol.ReqUpdateBrokerConfig, "enableBroadcastOffsetStore=false")
	if answer := b.pullFor("T", "G", "", "0"); answer.Code != protocol.RespPullNotFound {
		t.Error(answer.Code, answer.Remark.V)
	}
}

// 4.9 knows nothing of this: the same pull asks for an offset before the queue's beginning.
func TestNoBroadcastOffsetsIn49(t *testing.T) {
	b := start(t, rocketmqtest.WithConfig("compatVersion", "4.9.7"))
	b.topic("T", 1)
	b.send("T", 0, "")
	b.eventually("the message is there", func() bool {
		answer := b.pullFor("T", "G", "c", "-1")
		return answer.Code == protocol.RespPullOffsetMoved && answer.Remark.V == "OFFSET_TOO_SMALL"
	})
}
