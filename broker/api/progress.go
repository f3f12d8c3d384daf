// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"maps"
	"slices"
	"strings"
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// How far groups have come:
//
//	208 GET_CONSUME_STATS, 317 GET_BROKER_CONSUME_STATS, 303 QUERY_CONSUME_TIME_SPAN
//	43 GET_ALL_CONSUMER_OFFSET, 308 QUERY_CORRECTION_OFFSET, 314 CLONE_GROUP_OFFSET
type progress struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	store     Store
	topics    *topic.Table
	groups    *group.Table
	offsets   *offset.Store
	consumers *client.Consumers
	stats     *stats.Table
	address   func(remoting.Channel) string
	now       func() time.Time
}

// ofGroup answers how far one group has come, in one topic or in all that it has read. Java's tools tell with 351 which
// topics are static; there are none here.
func (p *progress) ofGroup(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumeStatsRequestHeader](r)
	if err != nil {
		return nil, err
	}
	name := h.ConsumerGroup.V
	b := &protocol.ConsumeStats{}
	b.OffsetTable.Clear()
	for _, t := range p.read(name, p.wanted(name, h)) {
		p.add(b, name, t, t.ReadQueueNums)
	}
	return p.json(b), nil
}

// ofBroker answers how far all groups have come in all topics, or in the ordered ones.
func (p *progress) ofBroker(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumeStatsInBrokerHeader](r)
	if err != nil {
		return nil, err
	}
	b := &protocol.ConsumeStatsList{BrokerAddr: p.address(r.Channel)}
	for _, g := range p.groups.All() {
		list := []protocol.ConsumeStats{}
		for _, t := range p.read(g.GroupName, p.offsets.TopicsOf(g.GroupName)) {
			if h.IsOrder && !t.Order {
				continue
			}
			s := protocol.ConsumeStats{}
			s.OffsetTable.Clear()
			p.add(&s, g.GroupName, t, t.WriteQueueNums)
			for _, o := range s.OffsetTable.All() {
				b.TotalDiff += o.BrokerOffset - o.ConsumerOffset
				b.TotalInflightDiff += o.PullOffset - o.ConsumerOffset
			}
			list = append(list, s)
		}
		var entry fastjson.Map[string, []protocol.ConsumeStats]
		entry.Set(g.GroupName, list)
		b.ConsumeStatsList = append(b.ConsumeStatsList, entry)
	}
	return p.json(b), nil
}

// wanted are the topics that a request names, or all that the group has read.
func (p *progress) wanted(group string, h *protocol.GetConsumeStatsRequestHeader) []string {
	if h.Topic.V != "" {
		return []string{h.Topic.V}
	}
	all := p.offsets.TopicsOf(group)
	if h.TopicList.V == "" {
		return all
	}
	named := map[string]bool{}
	for name := range strings.SplitSeq(h.TopicList.V, ";") {
		named[name] = true
	}
	return slices.DeleteFunc(all, func(name string) bool { return !named[name] })
}

// read are those of the topics that exist and that the group, if it is online, still subscribes.
func (p *progress) read(group string, names []string) []*protocol.TopicConfig {
	var topics []*protocol.TopicConfig
	for _, name := range names {
		t := p.topics.Get(name)
		if t == nil || p.consumers.SubscriptionCount(group) > 0 && p.consumers.FindSubscription(group, name) == nil {
			continue
		}
		topics = append(topics, t)
	}
	return topics
}

func (p *progress) add(b *protocol.ConsumeStats, group string, t *protocol.TopicConfig, queues int32) {
	queues = max(queues, 0)
	b.OffsetTable.Grow(int(queues))
	wrappers := make([]protocol.OffsetWrapper, queues)
	for id := range queues {
		p.ofQueue(&wrappers[id], group, t.TopicName, id)
		b.OffsetTable.Set(p.queue(t, id), &wrappers[id])
	}
	b.ConsumeTps += p.stats.GroupGet(group, t.TopicName)
}

func (p *progress) ofQueue(w *protocol.OffsetWrapper, group, topic string, queue int32) {
	committed, _ := p.offsets.Query(group, topic, queue)
	w.BrokerOffset, w.ConsumerOffset = p.store.MaxOffset(topic, queue), max(committed, 0)
	// Offsets that were reset or cloned may be ahead of the last pull.
	w.PullOffset = max(p.offsets.PullOffset(group, topic, queue), w.ConsumerOffset)
	if w.ConsumerOffset > 0 {
		w.LastTimestamp = max(p.store.StoreTime(topic, queue, w.ConsumerOffset-1), 0)
	}
}

func (p *progress) timeSpan(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryConsumeTimeSpanRequestHeader](r)
	if err != nil {
		return nil, err
	}
	t := p.topics.Get(h.Topic.V)
	if t == nil {
		return nil, noTopic(h.Topic.V)
	}
	n := max(t.WriteQueueNums, 0)
	b := &protocol.QueryConsumeTimeSpanBody{ConsumeTimeSpanSet: make([]protocol.QueueTimeSpan, n)}
	queues, texts := make([]protocol.MessageQueue, n), spanTimes{}
	for id := range n {
		queues[id] = p.queue(t, id)
		b.ConsumeTimeSpanSet[id] = p.span(h.Group.V, &queues[id], texts)
	}
	return p.json(b), nil
}

func (p *progress) span(group string, queue *protocol.MessageQueue, texts spanTimes) protocol.QueueTimeSpan {
	name, id := queue.Topic, queue.QueueID
	s := protocol.QueueTimeSpan{
		MessageQueue:     queue,
		MinTimeStamp:     p.store.StoreTime(name, id, p.store.MinOffset(name, id)),
		MaxTimeStamp:     p.store.StoreTime(name, id, p.store.MaxOffset(name, id)-1),
		ConsumeTimeStamp: -1,
	}
	consumed, _ := p.offsets.Query(group, name, id)
	if consumed > 0 {
		s.ConsumeTimeStamp = p.store.StoreTime(name, id, consumed-1)
	} else {
		s.ConsumeTimeStamp = s.MinTimeStamp
	}
	s.DelayTime = p.now().UnixMilli() - p.store.StoreTime(name, id, max(consumed, 0))
	s.MinTimeStampStr, s.MaxTimeStampStr = texts.of(s.MinTimeStamp), texts.of(s.MaxTimeStamp)
	s.ConsumeTimeStampStr = texts.of(s.ConsumeTimeStamp)
	return s
}

// spanTimes are the texts of times (ms) in one answer: most queues of a wide topic have the same.
type spanTimes map[int64]string

func (s spanTimes) of(ms int64) string {
	text, ok := s[ms]
	if !ok {
		text = strings.Replace(time.UnixMilli(ms).Format("2006-01-02#15:04:05.000"), ".", ":", 1)
		s[ms] = text
	}
	return text
}

func (p *progress) all(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Body: p.offsets.JSON()}, nil
}

// correction answers, by queue, the smallest offset of all groups that read a topic, without those of filterGroups; where
// the group compareGroup is behind all of them, the largest number there is. Unlike Java's, the broker does not forget
// the offsets of filterGroups.
func (p *progress) correction(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryCorrectionOffsetHeader](r)
	if err != nil {
		return nil, err
	}
	filtered := strings.Split(h.FilterGroups.V, ",")
	least := map[int32]int64{}
	for _, name := range p.offsets.GroupsOf(h.Topic.V) {
		if slices.Contains(filtered, name) {
			continue
		}
		for id, o := range p.offsets.Offsets(name, h.Topic.V) {
			if o < p.store.MinOffset(h.Topic.V, id) {
				continue
			}
			if known, ok := least[id]; !ok || o < known {
				least[id] = o
			}
		}
	}
	for id, o := range p.offsets.Offsets(h.CompareGroup.V, h.Topic.V) {
		if known, ok := least[id]; ok && known > o {
			least[id] = noCorrection
		}
	}
	b := &protocol.QueryCorrectionOffsetBody{}
	b.CorrectionOffsets.Clear()
	for _, id := range slices.Sorted(maps.Keys(least)) {
		b.CorrectionOffsets.Set(id, least[id])
	}
	return answerJSON(b), nil
}

// noCorrection is Java's Long.MAX_VALUE: the group that is compared needs none.
const noCorrection = 1<<63 - 1

// clone copies a group's offsets. As in Java nothing is copied when no topic is named.
func (p *progress) clone(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.CloneGroupOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	src, dst, topic := h.SrcGroup.V, h.DestGroup.V, h.Topic.V
	unsubscribed := !h.Offline && p.consumers.SubscriptionCount(src) > 0 && p.consumers.FindSubscription(src, topic) == nil
	if p.topics.Get(topic) != nil && !unsubscribed {
		p.offsets.Clone(src, strings.Clone(dst), strings.Clone(topic))
	}
	return &protocol.Response{}, nil
}

func (p *progress) queue(t *protocol.TopicConfig, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{Topic: t.TopicName, BrokerName: p.config().BrokerName, QueueID: id}
}

func (p *progress) json(v any) *protocol.Response {
	return &protocol.Response{Body: fastjson.Options{Omit: p.profile.OmitJSON}.Marshal(v)}
}
