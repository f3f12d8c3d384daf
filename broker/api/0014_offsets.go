// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strings"

	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// What consumers ask about offsets:
//
//	14 QUERY_CONSUMER_OFFSET       committed, or 0 for a young queue; 22 if there is none
//	15 UPDATE_CONSUMER_OFFSET      commit: backwards, beyond the end and negative are taken; 4.9 checks nothing
//	29 SEARCH_OFFSET_BY_TIMESTAMP  5.x with boundaryType
//	30 GET_MAX_OFFSET, 31 GET_MIN_OFFSET, 32 GET_EARLIEST_MSG_STORETIME
type offsets struct {
	config  func() *config.BrokerValues
	profile *compat.Profile
	store   Store
	topics  *topic.Table
	groups  *group.Table
	offsets *offset.Store
}

// maxName is the longest name of a group or topic that offsets are kept for in 4.9.
const maxName = 255

func (o *offsets) query(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryConsumerOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.QueueID.Set || !h.Topic.Set {
		return nil, missing("topic or queueId")
	}
	answer := &protocol.QueryConsumerOffsetResponseHeader{}
	resp := &protocol.Response{Header: answer}
	topic, queue := h.Topic.V, h.QueueID.V
	committed, ok := o.offsets.Query(h.ConsumerGroup.V, topic, queue)
	switch {
	case ok && committed >= 0:
		answer.Offset = protocol.Some(committed)
	case h.SetZeroIfNotFound.Set && !h.SetZeroIfNotFound.V:
		fail(resp, protocol.Errorf(protocol.RespQueryNotFound, "Not found, do not set to zero, maybe this group boot first"))
	case o.young(topic, queue):
		answer.Offset = protocol.Some(int64(0))
	default:
		fail(resp, protocol.Errorf(protocol.RespQueryNotFound, "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"))
	}
	return resp, nil
}

// young tells that a queue still begins at 0 and that its first message is in the hot part of the log: a group without
// offset may then begin there.
func (o *offsets) young(topic string, queue int32) bool {
	if o.store.MinOffset(topic, queue) > 0 {
		return false
	}
	_, ok := o.store.Unit(topic, queue, 0)
	return ok && o.store.InMemory(topic, queue, 0)
}

func (o *offsets) update(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.UpdateConsumerOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	group, topic := h.ConsumerGroup.V, h.Topic.V
	if o.profile.CommitChecks {
		switch {
		case o.groups.Get(group) == nil:
			return nil, protocol.Errorf(protocol.RespSubscriptionGroupNotExist, "Group %s not exist!", group)
		case o.topics.Get(topic) == nil:
			return nil, protocol.Errorf(protocol.RespTopicNotExist, "Topic %s not exist!", topic)
		case !h.QueueID.Set:
			return nil, protocol.Errorf(protocol.RespInvalidParameter, "QueueId is null, topic is %s", topic)
		case !h.CommitOffset.Set:
			return nil, protocol.Errorf(protocol.RespInvalidParameter, "Offset is null, topic is %s", topic)
		}
	} else if !h.ConsumerGroup.Set || !h.Topic.Set || !h.QueueID.Set || !h.CommitOffset.Set {
		return nil, missing("consumerGroup, topic, queueId or commitOffset")
	} else if len(group) > maxName || len(topic) > maxName {
		// 4.9 takes names of groups and topics that do not exist, and keeps their offsets for ever.
		return nil, protocol.Errorf(protocol.RespSystemError, "a group or topic of more than %d bytes", maxName)
	}
	if o.config().UseServerSideResetOffset && o.offsets.HasReset(group, topic, h.QueueID.V) {
		return &protocol.Response{Remark: protocol.Some("Offset has been previously reset")}, nil
	}
	o.offsets.Commit(r.Channel.RemoteAddr().String(), group, topic, h.QueueID.V, h.CommitOffset.V)
	return &protocol.Response{}, nil
}

func (o *offsets) search(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.SearchOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Topic.Set || !h.QueueID.Set || !h.Timestamp.Set {
		return nil, missing("topic, queueId or timestamp")
	}
	boundary := store.Lower
	if strings.EqualFold(h.BoundaryType.V, "UPPER") {
		boundary = store.Upper
	}
	found := o.store.OffsetByTime(h.Topic.V, h.QueueID.V, h.Timestamp.V, boundary)
	return &protocol.Response{Header: &protocol.SearchOffsetResponseHeader{Offset: protocol.Some(found)}}, nil
}

func (o *offsets) max(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetMaxOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Topic.Set || !h.QueueID.Set {
		return nil, missing("topic or queueId")
	}
	max := o.store.MaxOffset(h.Topic.V, h.QueueID.V)
	return &protocol.Response{Header: &protocol.GetMaxOffsetResponseHeader{Offset: protocol.Some(max)}}, nil
}

func (o *offsets) min(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetMinOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Topic.Set || !h.QueueID.Set {
		return nil, missing("topic or queueId")
	}
	min := o.store.MinOffset(h.Topic.V, h.QueueID.V)
	resp := &protocol.Response{Header: &protocol.GetMinOffsetResponseHeader{Offset: protocol.Some(min)}}
	if o.profile.Release != compat.Release497 {
		resp.Remark = protocol.Some("")
	}
	return resp, nil
}

func (o *offsets) earliest(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetEarliestMsgStoretimeRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Topic.Set || !h.QueueID.Set {
		return nil, missing("topic or queueId")
	}
	time := int64(-1)
	if min := o.store.MinOffset(h.Topic.V, h.QueueID.V); min < o.store.MaxOffset(h.Topic.V, h.QueueID.V) {
		time = o.store.StoreTime(h.Topic.V, h.QueueID.V, min)
	}
	return &protocol.Response{
		Header: &protocol.GetEarliestMsgStoretimeResponseHeader{Timestamp: protocol.Some(time)},
	}, nil
}
