// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api_test

import (
	"testing"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

func (b *broker) exists(topic string) bool {
	b.t.Helper()
	return b.call(protocol.ReqGetTopicConfig, nil, "topic", topic).Code == protocol.RespSuccess
}

// A topic takes its POP retry topics along, unless clearRetryTopicWhenDeleteTopic says no.
func TestPopRetryTopicsGoWithTheirTopic(t *testing.T) {
	b := start(t)
	b.group("G")
	retry := []string{"%RETRY%G_T"}
	for _, clear := range []string{"false", "true"} {
		b.must(protocol.ReqUpdateBrokerConfig, "clearRetryTopicWhenDeleteTopic="+clear)
		for _, topic := range append(retry, "T", "%RETRY%G_U") {
			b.topic(topic, 1)
		}
		b.c.commit("G", "T", 0, 1)
		b.must(protocol.ReqDeleteTopicInBroker, nil, "topic", "T")
		for _, topic := range retry {
			if b.exists(topic) != (clear == "false") {
				t.Errorf("%s with clearRetryTopicWhenDeleteTopic=%s: %t", topic, clear, b.exists(topic))
			}
		}
		if b.exists("T") || !b.exists("%RETRY%G_U") {
			t.Error("T is there, or another's retry topic is not")
		}
	}
}

// autoDeleteUnusedStats=false keeps the figures of what was deleted.
func TestFiguresOfDeletedTopics(t *testing.T) {
	b := start(t)
	figures := func() int32 {
		return b.call(protocol.ReqViewBrokerStatsData, nil, "statsName", "TOPIC_PUT_NUMS", "statsKey", "T").Code
	}
	for _, drop := range []string{"false", "true"} {
		b.must(protocol.ReqUpdateBrokerConfig, "autoDeleteUnusedStats="+drop)
		b.topic("T", 1)
		b.send("T", 0, "")
		if code := figures(); code != protocol.RespSuccess {
			t.Fatal("there are none:", code)
		}
		b.must(protocol.ReqDeleteTopicInBroker, nil, "topic", "T")
		if code := figures(); (code == protocol.RespSuccess) != (drop == "false") {
			t.Errorf("autoDeleteUnusedStats=%s: code %d", drop, code)
		}
	}
}

// How many messages a query by key brings: maxMsgsNumBatch, which may change while the broker runs.
func TestQueryLimit(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	for range 5 {
		b.send("T", 0, "KEYS\x01k\x02")
	}
	query := func() int {
		r := b.call(protocol.ReqQueryMessage, nil, "topic", "T", "key", "k", "maxNum", "32", "beginTimestamp", "0",
			"endTimestamp", "9223372036854775807")
		return records(t, r.Body)
	}
	b.eventually("all are indexed", func() bool { return query() == 5 })
	b.must(protocol.ReqUpdateBrokerConfig, "maxMsgsNumBatch=2")
	if n := query(); n != 2 {
		t.Error(n, "messages")
	}
}

// How much a pull brings: maxTransferCountOnMessageInMemory and its kin.
func TestPullLimits(t *testing.T) {
	b := start(t)
	b.topic("T", 1)
	for range 40 {
		b.send("T", 0, "TAGS\x01a\x02")
	}
	pull := func(expression, max string) (messages int, next string) {
		r := b.call(protocol.ReqPullMessage, nil, "consumerGroup", "G", "topic", "T", "queueId", "0", "queueOffset", "0",
			"maxMsgNums", max, "sysFlag", "4", "commitOffset", "0", "suspendTimeoutMillis", "0", "subscription", expression,
			"subVersion", "1", "expressionType", "TAG")
		next, _ = r.Fields.Get("nextBeginOffset")
		return records(t, r.Body), next
	}
	b.eventually("all can be pulled", func() bool { _, next := pull("none", "64"); return next == "40" })
	for _, c := range []struct {
		key, expression, max string
		messages             int
		next                 string
	}{
		{"maxTransferCountOnMessageInMemory=32", "*", "64", 32, "32"},
		{"maxTransferCountOnMessageInMemory=5", "*", "64", 5, "5"},
		{"maxTransferBytesOnMessageInMemory=1", "*", "64", 1, "1"},
		{"accessMessageInMemoryMaxRatio=0", "*", "64", 8, "8"}, // all count as on disk
		{"maxTransferCountOnMessageInDisk=3", "*", "64", 3, "3"},
		{"maxTransferBytesOnMessageInDisk=1", "*", "64", 1, "1"},
		{"maxFilterMessageSize=200", "none", "2", 0, "10"}, // ten units of 20 bytes
		{"maxFilterMessageSize=200", "none", "20", 0, "20"},
	} {
		b.must(protocol.ReqUpdateBrokerConfig, c.key)
		if messages, next := pull(c.expression, c.max); messages != c.messages || next != c.next {
			t.Errorf("%s: %d messages, next %s", c.key, messages, next)
		}
	}
}

// records counts the messages of a body.
func records(t *testing.T, body []byte) (n int) {
	t.Helper()
	for len(body) > 0 {
		m, err := message.ParseRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		body = body[m.Size:]
		n++
	}
	return n
}
