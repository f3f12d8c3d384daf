// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"bytes"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// savedMargin is how long before the time of the file offsets may have moved that are not in it, ms.
const savedMargin = 1000

// replay moves the offsets of groups to where they were: the file that keeps them is some seconds old after a crash, and
// what was popped since, and maybe acknowledged, would be given again. The checkpoints in the log tell.
func (s *Service) replay() {
	since := s.o.Saved.UnixMilli() - savedMargin
	moved := s.replayQueue(put.TimerTopic, 0, since)
	topic := ReviveTopic(s.o.Rules().Cluster)
	for queue := range s.reviveQueues() { // checkpoints of which the time was over at once
		moved += s.replayQueue(topic, queue, since)
	}
	if moved > 0 {
		s.o.Log.Info("offsets of consumers that pop are older than their checkpoints, corrected", "checkpoints", moved)
	}
}

// replayQueue looks at what was stored in a queue since a time, ms.
func (s *Service) replayQueue(topic string, queue int32, since int64) (moved int) {
	var buf []byte
	least := s.o.Store.MinOffset(topic, queue)
	for at := s.o.Store.MaxOffset(topic, queue) - 1; at >= least; at-- {
		r, ok := s.record(&buf, topic, queue, at)
		if !ok {
			continue
		}
		if r.StoreTimestamp < since {
			break
		}
		if s.passed(&r) {
			moved++
		}
	}
	return moved
}

// passed moves an offset behind what a checkpoint has; false: it is there already.
func (s *Service) passed(r *message.Record) bool {
	if tag, _ := message.Property(r.Properties, message.PropTags); string(tag) != tagCheckpoint {
		return false
	}
	real, ok := message.Property(r.Properties, message.PropRealTopic)
	if ok && !bytes.Equal(real, []byte(ReviveTopic(s.o.Rules().Cluster))) {
		return false
	}
	var ck protocol.PopCheckPoint
	if fastjson.Unmarshal(r.Body, &ck) != nil || ck.Num <= 0 {
		return false
	}
	next := offsetOf(&ck, int(ck.Num)-1) + 1
	known, ok := s.o.Offsets.Query(ck.Cid, ck.Topic, ck.QueueID)
	if ok && known >= next || next > s.o.Store.MaxOffset(ck.Topic, ck.QueueID) {
		return false
	}
	return s.o.Offsets.Commit("broker", ck.Cid, ck.Topic, ck.QueueID, next)
}
