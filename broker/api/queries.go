// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"fmt"
	"slices"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/filter"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// What tools want to know about messages and queues:
//
//	12 QUERY_MESSAGE, 33 VIEW_MESSAGE_BY_ID, 321 QUERY_CONSUME_QUEUE
//	202 GET_TOPIC_STATS_INFO, 315 VIEW_BROKER_STATS_DATA, 45 GET_ALL_DELAY_OFFSET
type queries struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	store     Store
	topics    *topic.Table
	consumers *client.Consumers
	filters   *filter.Table
	schedule  *schedule.Service
	stats     *stats.Table
	access    *access
}

const (
	// answerLimit is what a body may have so that the frame around it does not become too long.
	answerLimit = protocol.MaxFrame - 64<<10
	// unitLimit is how many units of a queue one answer shows: as JSON they stay below answerLimit.
	unitLimit = 100_000
)

// byKey answers the newest messages with a key, oldest first, as many as fit into an answer. Unlike Java's it has each
// message once, and none whose key only has the same hash.
func (q *queries) byKey(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryMessageRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Topic.Set || !h.Key.Set || !h.MaxNum.Set || !h.BeginTimestamp.Set || !h.EndTimestamp.Set {
		return nil, missing("topic, key, maxNum, beginTimestamp or endTimestamp")
	}
	max := int(h.MaxNum.V)
	if unique, _ := r.Fields.Get("_UNIQUE_KEY_QUERY"); unique == "true" {
		max = q.config().Store.DefaultQueryMaxNum
	}
	answer := &protocol.QueryMessageResponseHeader{
		IndexLastUpdateTimestamp: protocol.Some(int64(0)), IndexLastUpdatePhyoffset: protocol.Some(int64(0)),
	}
	resp := &protocol.Response{Header: answer}
	limit := q.config().Store.MaxMsgsNumBatch
	found := q.store.QueryIndex(h.Topic.V, h.Key.V, limit, h.BeginTimestamp.V, h.EndTimestamp.V)
	slices.Sort(found.PhyOffsets)
	var records [][]byte
	size := 0
	for _, phy := range slices.Backward(found.PhyOffsets) {
		record, ok := q.store.Record(nil, phy, 0)
		if size += len(record); len(records) >= min(max, limit) || size > answerLimit {
			break
		}
		if ok {
			records = append(records, record)
		}
	}
	for _, record := range slices.Backward(records) {
		resp.Body = append(resp.Body, record...)
	}
	if len(resp.Body) == 0 {
		fail(resp, protocol.Errorf(protocol.RespQueryNotFound, "can not find message, maybe time range not correct"))
		return resp, nil
	}
	answer.IndexLastUpdateTimestamp.V = found.LastUpdateTimestamp
	answer.IndexLastUpdatePhyoffset.V = found.LastUpdatePhyOffset
	return resp, nil
}

func (q *queries) byOffset(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.ViewMessageRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Offset.Set {
		return nil, missing("offset")
	}
	record, ok := q.store.Record(nil, h.Offset.V, 0)
	if ok {
		// An offset inside a message gives anything.
		m, err := message.ParseRecord(record)
		if ok = err == nil && m.PhyOffset == h.Offset.V; ok {
			if err := q.access.message(r, string(m.Topic)); err != nil {
				return nil, err
			}
		}
	}
	if !ok {
		return nil, protocol.Errorf(protocol.RespSystemError, "can not find message by the offset, %d", h.Offset.V)
	}
	return &protocol.Response{Body: record}, nil
}

func (q *queries) consumeQueue(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryConsumeQueueRequestHeader](r)
	if err != nil {
		return nil, err
	}
	topic, queue := h.Topic.V, h.QueueID
	b := &protocol.QueryConsumeQueueResponseBody{
		MinQueueIndex: q.store.MinOffset(topic, queue), MaxQueueIndex: q.store.MaxOffset(topic, queue),
	}
	var match store.Matcher
	if group := h.ConsumerGroup.V; group != "" {
		b.FilterData = "null"
		if s := q.consumers.FindSubscription(group, topic); s != nil {
			b.SubscriptionData, match = &s.SubscriptionData, s.Matcher
			if d := q.filters.Get(topic, group); d != nil {
				b.FilterData, match = string(d.JSON()), d.Matcher
			}
		} else {
			b.FilterData = fmt.Sprintf("%s@%s is not online!", group, topic)
		}
	}
	for i := h.Index; i < b.MaxQueueIndex && len(b.QueueData) < min(int(h.Count), unitLimit); {
		u, ok := q.store.Span(topic, queue, i)
		if !ok {
			break
		}
		data := protocol.ConsumeQueueData{PhysicOffset: u.PhyOffset, PhysicSize: u.Size, TagsCode: u.TagsCode}
		if x, ok := q.store.Ext(topic, queue, i); ok {
			showExt(&data, x, b.SubscriptionData != nil, match)
		}
		b.QueueData = append(b.QueueData, data)
		i = u.End()
	}
	if len(b.QueueData) == 0 {
		return &protocol.Response{
			Remark: protocol.Some(fmt.Sprintf("Index %d of %d@%s is not exist!", h.Index, queue, topic)),
		}, nil
	}
	resp := answerJSON(b)
	resp.Remark = protocol.Some(notSet)
	return resp, nil
}

func (q *queries) topicStats(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetTopicStatsInfoRequestHeader](r)
	if err != nil {
		return nil, err
	}
	t := q.topics.Get(h.Topic.V)
	if t == nil {
		return nil, noTopic(h.Topic.V)
	}
	b := &protocol.TopicStatsTable{TopicPutTps: q.stats.TopicPut(t.TopicName)}
	queues := max(t.WriteQueueNums, t.ReadQueueNums, 0)
	b.OffsetTable = fastjson.MapOf[protocol.MessageQueue, *protocol.TopicOffset](int(queues))
	offsets := make([]protocol.TopicOffset, queues)
	for id := range queues {
		o := &offsets[id]
		o.MinOffset, o.MaxOffset = q.store.MinOffset(t.TopicName, id), q.store.MaxOffset(t.TopicName, id)
		if o.MaxOffset > 0 {
			o.LastUpdateTimestamp = q.store.StoreTime(t.TopicName, id, o.MaxOffset-1)
		}
		b.OffsetTable.Set(q.queue(t, id), o)
	}
	return q.json(b), nil
}

func (q *queries) statistics(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.ViewBrokerStatsDataRequestHeader](r)
	if err != nil {
		return nil, err
	}
	item := q.stats.Find(h.StatsName.V, h.StatsKey.V, q.config().BrokerClusterName)
	if item == nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "The stats <%s> <%s> not exist", h.StatsName.V, h.StatsKey.V)
	}
	return answerJSON(item.Data()), nil
}

func (q *queries) delayOffsets(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Body: q.schedule.JSON()}, nil
}

func noTopic(name string) error {
	return protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist", name)
}

func (q *queries) queue(t *protocol.TopicConfig, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{Topic: t.TopicName, BrokerName: q.config().BrokerName, QueueID: id}
}

func (q *queries) json(v any) *protocol.Response {
	return &protocol.Response{Body: fastjson.Options{Omit: q.profile.OmitJSON}.Marshal(v)}
}
