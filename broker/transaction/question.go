// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"strconv"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// question asks a producer of the message's group what became of its transaction. copied is where the message was put
// back: the answer (END_TRANSACTION) names that copy. Nobody there to be asked counts as asked, as in Java.
func (r *round) question(h *half, copied store.PutResult) {
	s := r.s
	group, realTopic := r.props.Get(propGroup), r.props.Get(message.PropRealTopic)
	realQueue, err := strconv.ParseInt(r.props.Get(message.PropRealQueueID), 10, 32)
	if err != nil || realTopic == "" {
		s.o.Log.Error("half message does not tell its real topic and queue: nobody can be asked about it",
			"queueOffset", copied.QueueOffset, "commitLogOffset", copied.PhyOffset)
		return
	}
	header := protocol.CheckTransactionStateRequestHeader{
		TranStateTableOffset: protocol.Some(copied.QueueOffset),
		CommitLogOffset:      protocol.Some(copied.PhyOffset),
		OffsetMsgID:          protocol.Some(message.OffsetID(h.StoreHost, copied.PhyOffset)),
	}
	if key := r.props.Get(message.PropUniqKey); key != "" {
		header.MsgID, header.TransactionID = protocol.Some(key), protocol.Some(key)
	}
	if s.o.Profile.Transactions5 {
		header.Topic, header.Bname = protocol.Some(halfTopic), protocol.Some(r.rules.BrokerName)
	}
	cmd := &protocol.Command{Code: protocol.ReqCheckTransactionState, Flag: protocol.FlagOneway}
	header.AppendFields(&cmd.Fields)

	m := h.Message()
	m.Topic, m.QueueID = realTopic, int32(realQueue)
	r.props.Set(message.PropWait, "false")
	m.Properties = r.props.Append(nil, s.dialect)
	cmd.Body = message.AppendRecord(nil, &m, h.BodyCRC, message.Position{
		PhyOffset: copied.PhyOffset, QueueOffset: copied.QueueOffset, StoreTimestamp: h.StoreTimestamp,
	})
	for range channelTries {
		ch := s.o.Producer(group)
		if ch == nil {
			break
		}
		if ch.Oneway(cmd) == nil {
			s.count(func(n *Stats) { n.Asked++ })
			return
		}
	}
	if r.silent++; r.silent == 1 { // one line a round is enough
		s.o.Log.Warn("no producer can be asked about a transaction", "group", group, "topic", realTopic)
	}
}
