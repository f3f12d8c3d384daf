// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"
	"strings"
	"time"

	"rocketmq-go/broker/mapping"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Topics, as tools see them:
//
//	17 UPDATE_AND_CREATE_TOPIC, 18 …_LIST, 215 DELETE_TOPIC_IN_BROKER
//	21 GET_ALL_TOPIC_CONFIG, 351 GET_TOPIC_CONFIG, 305 GET_SYSTEM_TOPIC_LIST_FROM_BROKER
type topics struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	table     *topic.Table
	offsets   *offset.Store
	broadcast *offset.Broadcast // nil in 4.9
	store     Store
	stats     *stats.Table
	pop       *pop.Service   // nil in 4.9
	mappings  *mapping.Table // nil in 4.9
}

// syncTimeout is how long a request waits for a metadata file to be written.
const syncTimeout = 3 * time.Second

// onDisk waits until a table is written.
func onDisk(sync func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	return sync(ctx)
}

func (t *topics) update(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.CreateTopicRequestHeader](r)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	resp, err := t.make(h)
	t.stats.Made.Topic(t.table.IsSystem(h.Topic.V), err == nil, time.Since(began))
	return resp, err
}

func (t *topics) make(h *protocol.CreateTopicRequestHeader) (*protocol.Response, error) {
	filterType := protocol.TopicFilterType(strings.Clone(h.TopicFilterType.V))
	if filterType != protocol.SingleTag && filterType != protocol.MultiTag {
		return nil, protocol.Errorf(protocol.RespSystemError, "topicFilterType = [%s] value invalid", orNull(h.TopicFilterType))
	}
	if !h.ReadQueueNums.Set || !h.WriteQueueNums.Set || !h.Perm.Set {
		return nil, missing("readQueueNums, writeQueueNums or perm")
	}
	cfg := &protocol.TopicConfig{
		TopicName: h.Topic.V, ReadQueueNums: h.ReadQueueNums.V, WriteQueueNums: h.WriteQueueNums.V, Perm: h.Perm.V,
		TopicFilterType: filterType, TopicSysFlag: h.TopicSysFlag.V, Order: h.Order.V && t.profile.OrderTopics,
	}
	cfg.Attributes.Clear()
	if t.profile.TopicAttributes {
		var err error
		if cfg.Attributes, err = topic.ParseAttributes(strings.Clone(h.Attributes.V)); err != nil {
			return nil, err
		}
	}
	if _, err := t.table.Update(cfg); err != nil {
		return nil, err
	}
	if err := onDisk(t.table.Sync); err != nil {
		return nil, err
	}
	return &protocol.Response{Remark: protocol.Some(notSet)}, nil
}

func orNull(o protocol.Opt[string]) string { return o.Or("null") }

// updateList takes all topics or, when one name is bad, none.
func (t *topics) updateList(r *remoting.Request) (*protocol.Response, error) {
	var b protocol.CreateTopicListRequestBody
	if err := body(r, &b); err != nil {
		return nil, err
	}
	for i := range b.TopicConfigList {
		if err := t.table.Check(&b.TopicConfigList[i]); err != nil {
			return nil, err
		}
	}
	if err := t.table.UpdateAll(b.TopicConfigList); err != nil {
		return nil, err
	}
	if err := onDisk(t.table.Sync); err != nil {
		return nil, err
	}
	return &protocol.Response{Remark: protocol.Some(notSet)}, nil
}

func (t *topics) delete(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.DeleteTopicRequestHeader](r)
	if err != nil {
		return nil, err
	}
	name := strings.Clone(h.Topic.V)
	if err := t.table.CheckDelete(name); err != nil {
		return nil, err
	}
	names := append(t.popRetryTopics(name), name)
	for _, name := range names {
		if t.profile.TopicAttributes {
			// 4.9 leaves the offsets.
			t.broadcast.Forget(func(topic, _ string) bool { return topic == name })
			t.offsets.RemoveTopic(name)
		}
		if t.pop != nil {
			t.pop.TopicGone(name)
		}
		if t.mappings != nil {
			t.mappings.Delete(name)
		}
		t.table.Delete(name)
		if t.config().AutoDeleteUnusedStats {
			t.stats.RemoveTopic(name)
		}
	}
	t.store.DeleteTopics(names)
	return &protocol.Response{}, onDisk(t.table.Sync)
}

// popRetryTopics are those of a topic that go with it: each group that reads it by POP has one, in either form of the name.
func (t *topics) popRetryTopics(name string) (retry []string) {
	if !t.profile.TopicAttributes || !t.config().ClearRetryTopicWhenDeleteTopic {
		return nil
	}
	for _, group := range t.offsets.GroupsOf(name) {
		for _, separator := range []string{"_", "+"} {
			if r := "%RETRY%" + group + separator + name; t.table.Get(r) != nil {
				retry = append(retry, r)
			}
		}
	}
	return retry
}

func (t *topics) all(*remoting.Request) (*protocol.Response, error) {
	var static fastjson.Map[string, *protocol.TopicQueueMappingDetail]
	var version protocol.DataVersion
	if t.mappings != nil {
		static, version = t.mappings.Details()
	}
	return &protocol.Response{Header: &protocol.GetAllTopicConfigResponseHeader{}, Body: t.table.JSON(static, version)}, nil
}

func (t *topics) get(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetTopicConfigRequestHeader](r)
	if err != nil {
		return nil, err
	}
	cfg := t.table.Get(h.Topic.V)
	if cfg == nil {
		return nil, protocol.Errorf(protocol.RespTopicNotExist, "No topic in this broker. topic: %s", h.Topic.V)
	}
	b := &protocol.TopicConfigAndQueueMapping{TopicConfig: *cfg}
	if h.Lo.V && t.mappings != nil {
		b.MappingDetail = t.mappings.Get(cfg.TopicName)
	}
	return t.json(b), nil
}

func (t *topics) system(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(&protocol.TopicList{TopicList: t.table.System()}), nil
}

func (t *topics) json(v any) *protocol.Response {
	return &protocol.Response{Body: fastjson.Options{Omit: t.profile.OmitJSON}.Marshal(v)}
}
