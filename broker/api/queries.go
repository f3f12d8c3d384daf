// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/schedule"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What tools want to know about messages, queues and progress:
//
//	12 QUERY_MESSAGE, 33 VIEW_MESSAGE_BY_ID, 321 QUERY_CONSUME_QUEUE
//	202 GET_TOPIC_STATS_INFO, 208 GET_CONSUME_STATS, 303 QUERY_CONSUME_TIME_SPAN, 315 VIEW_BROKER_STATS_DATA
//	43 GET_ALL_CONSUMER_OFFSET, 45 GET_ALL_DELAY_OFFSET, 314 CLONE_GROUP_OFFSET
type queries struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	store     Store
	topics    *topic.Table
	offsets   *offset.Store
	consumers *client.Consumers
	schedule  *schedule.Service
	stats     *stats.Table
	now       func() time.Time
}

// indexLimit is how many entries of a key Java looks at (maxMsgsNumBatch).
const indexLimit = 64

// byKey answers the newest messages with a key, oldest first. Unlike Java's it has each message once, and none whose
// key only has the same hash.
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
	found := q.store.QueryIndex(h.Topic.V, h.Key.V, indexLimit, h.BeginTimestamp.V, h.EndTimestamp.V)
	var offsets []int64
	for _, phy := range found.PhyOffsets {
		if len(offsets) < min(max, indexLimit) && !slices.Contains(offsets, phy) && q.hasKey(phy, h.Topic.V, h.Key.V) {
			offsets = append(offsets, phy)
		}
	}
	slices.Sort(offsets)
	for _, phy := range offsets {
		resp.Body, _ = q.store.Record(resp.Body, phy, 0)
	}
	if len(resp.Body) == 0 {
		fail(resp, protocol.Errorf(protocol.RespQueryNotFound, "can not find message, maybe time range not correct"))
		return resp, nil
	}
	answer.IndexLastUpdateTimestamp.V = found.LastUpdateTimestamp
	answer.IndexLastUpdatePhyoffset.V = found.LastUpdatePhyOffset
	return resp, nil
}

func (q *queries) hasKey(phy int64, topic, key string) bool {
	record, ok := q.store.Record(nil, phy, 0)
	if !ok {
		return false
	}
	m, err := message.ParseRecord(record)
	if err != nil || string(m.Topic) != topic {
		return false
	}
	k := message.ScanKnown(m.Properties)
	return string(k.UniqKey) == key || slices.Contains(strings.Split(string(k.Keys), " "), key)
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
		ok = err == nil && m.PhyOffset == h.Offset.V
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
	if group := h.ConsumerGroup.V; group != "" {
		b.FilterData = "null"
		if s := q.consumers.FindSubscription(group, topic); s != nil {
			b.SubscriptionData = &s.SubscriptionData
		} else {
			b.FilterData = fmt.Sprintf("%s@%s is not online!", group, topic)
		}
	}
	for i := h.Index; i < b.MaxQueueIndex && len(b.QueueData) < int(h.Count); i++ {
		u, ok := q.store.Unit(topic, queue, i)
		if !ok {
			break
		}
		b.QueueData = append(b.QueueData, protocol.ConsumeQueueData{PhysicOffset: u.PhyOffset, PhysicSize: u.Size, TagsCode: u.TagsCode})
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
	t, err := q.topic(h.Topic.V)
	if err != nil {
		return nil, err
	}
	b := &protocol.TopicStatsTable{TopicPutTps: q.stats.TopicPut(t.TopicName)}
	b.OffsetTable.Clear()
	for id := range max(t.WriteQueueNums, t.ReadQueueNums, 0) {
		o := &protocol.TopicOffset{
			MinOffset: q.store.MinOffset(t.TopicName, id), MaxOffset: q.store.MaxOffset(t.TopicName, id),
		}
		if o.MaxOffset > 0 {
			o.LastUpdateTimestamp = q.store.StoreTime(t.TopicName, id, o.MaxOffset-1)
		}
		b.OffsetTable.Set(q.queue(t, id), o)
	}
	return q.json(b), nil
}

func (q *queries) consumeStats(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumeStatsRequestHeader](r)
	if err != nil {
		return nil, err
	}
	group := h.ConsumerGroup.V
	b := &protocol.ConsumeStats{}
	b.OffsetTable.Clear()
	for _, name := range q.wanted(group, h) {
		t := q.topics.Get(name)
		if t == nil {
			continue
		}
		if q.consumers.SubscriptionCount(group) > 0 && q.consumers.FindSubscription(group, name) == nil {
			continue
		}
		for id := range max(t.ReadQueueNums, 0) {
			b.OffsetTable.Set(q.queue(t, id), q.progress(group, name, id))
		}
		b.ConsumeTps += q.stats.GroupGet(group, name)
	}
	return q.json(b), nil
}

// wanted are the topics that a request for a group's progress names, or all that the group has read.
func (q *queries) wanted(group string, h *protocol.GetConsumeStatsRequestHeader) []string {
	if h.Topic.V != "" {
		return []string{h.Topic.V}
	}
	all := q.offsets.TopicsOf(group)
	if h.TopicList.V == "" {
		return all
	}
	list := strings.Split(h.TopicList.V, ";")
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(list, name) })
}

func (q *queries) progress(group, topic string, queue int32) *protocol.OffsetWrapper {
	committed, _ := q.offsets.Query(group, topic, queue)
	w := &protocol.OffsetWrapper{
		BrokerOffset:   q.store.MaxOffset(topic, queue),
		ConsumerOffset: max(committed, 0),
		PullOffset:     max(q.offsets.PullOffset(group, topic, queue), 0),
	}
	if w.ConsumerOffset > 0 {
		w.LastTimestamp = max(q.store.StoreTime(topic, queue, w.ConsumerOffset-1), 0)
	}
	return w
}

func (q *queries) timeSpan(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryConsumeTimeSpanRequestHeader](r)
	if err != nil {
		return nil, err
	}
	t, err := q.topic(h.Topic.V)
	if err != nil {
		return nil, err
	}
	b := &protocol.QueryConsumeTimeSpanBody{}
	for id := range max(t.WriteQueueNums, 0) {
		b.ConsumeTimeSpanSet = append(b.ConsumeTimeSpanSet, q.span(h.Group.V, t, id))
	}
	return q.json(b), nil
}

func (q *queries) span(group string, t *protocol.TopicConfig, id int32) protocol.QueueTimeSpan {
	name := t.TopicName
	queue := q.queue(t, id)
	s := protocol.QueueTimeSpan{
		MessageQueue:     &queue,
		MinTimeStamp:     q.store.StoreTime(name, id, q.store.MinOffset(name, id)),
		MaxTimeStamp:     q.store.StoreTime(name, id, q.store.MaxOffset(name, id)-1),
		ConsumeTimeStamp: -1,
	}
	consumed, _ := q.offsets.Query(group, name, id)
	if consumed > 0 {
		s.ConsumeTimeStamp = q.store.StoreTime(name, id, consumed-1)
	} else {
		s.ConsumeTimeStamp = s.MinTimeStamp
	}
	s.DelayTime = q.now().UnixMilli() - q.store.StoreTime(name, id, max(consumed, 0))
	s.MinTimeStampStr, s.MaxTimeStampStr = spanTime(s.MinTimeStamp), spanTime(s.MaxTimeStamp)
	s.ConsumeTimeStampStr = spanTime(s.ConsumeTimeStamp)
	return s
}

func spanTime(ms int64) string {
	return strings.Replace(time.UnixMilli(ms).Format("2006-01-02#15:04:05.000"), ".", ":", 1)
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

func (q *queries) allOffsets(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Body: q.offsets.JSON()}, nil
}

func (q *queries) delayOffsets(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Body: q.schedule.JSON()}, nil
}

// cloneOffsets copies a group's offsets. As in Java nothing is copied when no topic is named.
func (q *queries) cloneOffsets(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.CloneGroupOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	src, dst, topic := h.SrcGroup.V, h.DestGroup.V, h.Topic.V
	unsubscribed := !h.Offline && q.consumers.SubscriptionCount(src) > 0 && q.consumers.FindSubscription(src, topic) == nil
	if q.topics.Get(topic) != nil && !unsubscribed {
		q.offsets.Clone(src, strings.Clone(dst), strings.Clone(topic))
	}
	return &protocol.Response{}, nil
}

func (q *queries) topic(name string) (*protocol.TopicConfig, error) {
	if t := q.topics.Get(name); t != nil {
		return t, nil
	}
	return nil, protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist", name)
}

func (q *queries) queue(t *protocol.TopicConfig, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{Topic: t.TopicName, BrokerName: q.config().BrokerName, QueueID: id}
}

func (q *queries) json(v any) *protocol.Response {
	return &protocol.Response{Body: fastjson.Options{Omit: q.profile.OmitJSON}.Marshal(v)}
}
