// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"strconv"
	"strings"

	"rocketmq-go/broker/put"
	"rocketmq-go/remoting/protocol"
)

const (
	retryPrefix = put.RetryPrefix

	// ReviveGroup is the consumer group under which the progress of the revive queues is kept.
	ReviveGroup = "CID_RMQ_SYS_REVIVE_GROUP"
	// OrderedQueue stands for the revive queue of messages that were popped in order and have none.
	OrderedQueue = 999
	// AnyQueue is the queue id of a pop that takes from all queues.
	AnyQueue = -1
)

// ReviveTopic is the topic of checkpoints and acknowledgements.
func ReviveTopic(cluster string) string { return "rmq_sys_REVIVE_LOG_" + cluster }

// Forms of a topic's name in texts that clients get.
const (
	plain   = '0'
	retryV1 = '1'
	retryV2 = '2'
)

// RetryTopic is where messages go that a group has popped and not acknowledged. The first form cannot tell the group A_B and
// the topic C from the group A and the topic B_C.
func RetryTopic(topic, group string, v2 bool) string {
	if v2 {
		return retryPrefix + group + "+" + topic
	}
	return retryPrefix + group + "_" + topic
}

// realTopic is the topic that a form of the name stands for.
func realTopic(topic, group, form string) string {
	switch form {
	case string(retryV1):
		return RetryTopic(topic, group, false)
	case string(retryV2):
		return RetryTopic(topic, group, true)
	}
	return topic
}

// origin is the topic whose messages are retried in a group's pop retry topic, or the topic itself.
func origin(topic, group string) string {
	if rest, ok := strings.CutPrefix(topic, retryPrefix+group); ok && len(rest) > 1 && (rest[0] == '_' || rest[0] == '+') {
		return rest[1:]
	}
	return topic
}

// Handle is what a client has to show when it acknowledges a message: the property POP_CK and the field extraInfo.
//
//	startOffset popTime invisibleTime reviveQueue form broker queue [offset]
type Handle struct {
	StartOffset   int64
	PopTime       int64 // ms
	InvisibleTime int64 // ms
	ReviveQueue   int32
	Broker        string
}

// handleParts is how many parts a client must show; older ones leave out the offset.
const handleParts = 7

// ParseHandle reads a handle. Its strings are views.
func ParseHandle(text string) (h Handle, err error) {
	parts := strings.Split(strings.TrimRight(text, " "), " ")
	if len(parts) < handleParts {
		return h, protocol.Errorf(protocol.RespSystemError, "extraInfo %q has less than %d parts", text, handleParts)
	}
	number := func(part string, bits int) int64 {
		n, e := strconv.ParseInt(part, 10, bits)
		if e != nil && err == nil {
			err = protocol.Errorf(protocol.RespSystemError, "extraInfo %q: %q is no number", text, part)
		}
		return n
	}
	h.StartOffset, h.PopTime, h.InvisibleTime = number(parts[0], 64), number(parts[1], 64), number(parts[2], 64)
	h.ReviveQueue, h.Broker = int32(number(parts[3], 32)), parts[5]
	return h, err
}

// appendHandle writes the handle of a message.
func appendHandle(dst []byte, h *Handle, form byte, queue int32, offset int64) []byte {
	for _, n := range [...]int64{h.StartOffset, h.PopTime, h.InvisibleTime, int64(h.ReviveQueue)} {
		dst = append(strconv.AppendInt(dst, n, 10), ' ')
	}
	dst = append(dst, form, ' ')
	dst = append(append(dst, h.Broker...), ' ')
	dst = append(strconv.AppendInt(dst, int64(queue), 10), ' ')
	return strconv.AppendInt(dst, offset, 10)
}

// appendQueue begins an item of a text with one item for each queue: form, queue and a blank, behind a ; if it is not the
// first.
func appendQueue(dst []byte, form byte, queue int32) []byte {
	if len(dst) > 0 {
		dst = append(dst, ';')
	}
	dst = append(dst, form, ' ')
	return append(strconv.AppendInt(dst, int64(queue), 10), ' ')
}
