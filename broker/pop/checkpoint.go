// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"fmt"
	"strconv"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Tags of messages in the revive topic.
const (
	tagCheckpoint = "ck"
	tagAck        = "ack"
	tagBatchAck   = "bAck"
)

// early is by how much the checkpoint comes before the time is over, and so before its acknowledgements, ms.
const early = 1000

// revived is when the messages of a checkpoint are to be seen again, ms.
func revived(ck *protocol.PopCheckPoint) int64 { return ck.PopTime + ck.InvisibleTime }

// offsetOf is the queue offset of the n-th message of a checkpoint. Old ones have messages in a row and no list.
func offsetOf(ck *protocol.PopCheckPoint, n int) int64 {
	if n < len(ck.QueueOffsetDiff) {
		return ck.StartOffset + int64(ck.QueueOffsetDiff[n])
	}
	return ck.StartOffset + int64(n)
}

// indexOf finds the message of a checkpoint with a queue offset, -1 if it has none.
func indexOf(ck *protocol.PopCheckPoint, offset int64) int {
	for n := range int(ck.Num) {
		if offsetOf(ck, n) == offset {
			return n
		}
	}
	return -1
}

// putCheckpoint stores a checkpoint. done is called once, with an error if it is not stored.
func (s *Service) putCheckpoint(ck *protocol.PopCheckPoint, queue int32, done func(error)) {
	ck.ReviveTime = revived(ck)
	key := fmt.Sprintf("%s@%d@%d@%s@%d@%s@%s", ck.Topic, ck.QueueID, ck.StartOffset, ck.Cid, ck.PopTime, ck.BrokerName, tagCheckpoint)
	s.revive(fastjson.Marshal(ck), queue, tagCheckpoint, key, revived(ck)-early, func(status store.PutStatus, err error) {
		s.counts.in.add(ck.Topic, ck.Cid, typeCheckpoint, put.StatusName(status))
		done(err)
	})
}

// putAck stores that messages of a checkpoint are acknowledged: one, or several at once. due is when the checkpoint's time
// is over.
func (s *Service) putAck(a *protocol.AckMsg, offsets []int64, queue int32, due int64, done func(error)) {
	tag, body := tagAck, fastjson.Marshal(a)
	if offsets != nil {
		a.AckOffset = -1
		tag, body = tagBatchAck, fastjson.Marshal(&protocol.BatchAckMsg{AckMsg: *a, AckOffsetList: offsets})
	}
	key := fmt.Sprintf("%s@%d@%d@%s@%d@%s@%s", a.Topic, a.QueueID, a.AckOffset, a.ConsumerGroup, a.PopTime, a.BrokerName, tagAck)
	s.revive(body, queue, tag, key, due, func(status store.PutStatus, err error) {
		s.counts.in.add(a.Topic, a.ConsumerGroup, typeAck, put.StatusName(status))
		done(err)
	})
}

// revive stores a message for the revive topic, which comes there at a time (ms).
func (s *Service) revive(body []byte, queue int32, tag, key string, at int64, done func(store.PutStatus, error)) {
	host := s.o.Host()
	e := &put.Entry{Message: message.Message{
		Topic: ReviveTopic(s.o.Rules().Cluster), QueueID: queue, Body: body,
		BornTimestamp: s.o.Now().UnixMilli(), BornHost: host, StoreHost: host,
	}}
	e.Props.Built = true
	e.Props.Set(message.PropTags, tag)
	e.Props.Set(put.PropTimerAt, strconv.FormatInt(at, 10))
	e.Props.Set(message.PropUniqKey, key)
	err := s.o.Put.Put(e, func(r store.PutResult) { done(r.Status, s.o.Put.Answer(r.Status)) })
	if err != nil {
		done(store.MessageIllegal, err)
	}
}
