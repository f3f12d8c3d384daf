// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"slices"
	"strings"
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/stats"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Subscription groups, as tools see them:
//
//	200 UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, 225 …_LIST, 207 DELETE_SUBSCRIPTIONGROUP
//	201 GET_ALL_SUBSCRIPTIONGROUP_CONFIG, 352 GET_SUBSCRIPTIONGROUP_CONFIG
//	353 UPDATE_AND_GET_GROUP_FORBIDDEN  which topics a group may not read
//	300 QUERY_TOPIC_CONSUME_BY_WHO, 343 QUERY_TOPICS_BY_CONSUMER, 345 QUERY_SUBSCRIPTION_BY_CONSUMER
type groups struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	table     *group.Table
	offsets   *offset.Store
	broadcast *offset.Broadcast // nil in 4.9
	consumers *client.Consumers
	stats     *stats.Table
	pop       *pop.Service // nil in 4.9
	address   func(remoting.Channel) string
}

func (g *groups) update(r *remoting.Request) (*protocol.Response, error) {
	var cfg protocol.SubscriptionGroupConfig
	if err := body(r, &cfg); err != nil {
		return nil, err
	}
	began := time.Now()
	err := g.table.Update(&cfg)
	if err == nil {
		err = onDisk(g.table.Sync)
	}
	g.stats.Made.Group(err == nil, time.Since(began))
	return &protocol.Response{}, err
}

func (g *groups) updateList(r *remoting.Request) (*protocol.Response, error) {
	var b protocol.SubscriptionGroupList
	if err := body(r, &b); err != nil {
		return nil, err
	}
	for i := range b.GroupConfigList {
		if err := g.table.Update(&b.GroupConfigList[i]); err != nil {
			return nil, err
		}
	}
	return &protocol.Response{}, onDisk(g.table.Sync)
}

func (g *groups) delete(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.DeleteSubscriptionGroupRequestHeader](r)
	if err != nil {
		return nil, err
	}
	name := strings.Clone(h.GroupName.V)
	g.table.Delete(name)
	if g.config().AutoDeleteUnusedStats {
		g.stats.RemoveGroup(name)
	}
	if h.CleanOffset || h.RemoveOffset {
		g.broadcast.Forget(func(_, group string) bool { return group == name })
		g.offsets.RemoveGroup(name)
		if g.pop != nil {
			g.pop.GroupGone(name)
		}
	}
	return &protocol.Response{}, onDisk(g.table.Sync)
}

func (g *groups) all(*remoting.Request) (*protocol.Response, error) {
	return &protocol.Response{Body: g.table.JSON()}, nil
}

func (g *groups) get(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetSubscriptionGroupConfigRequestHeader](r)
	if err != nil {
		return nil, err
	}
	cfg := g.table.Find(h.Group.V)
	if cfg == nil {
		return nil, protocol.Errorf(protocol.RespSubscriptionGroupNotExist, "No group in this broker")
	}
	return g.json(cfg), nil
}

func (g *groups) forbidden(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.UpdateGroupForbiddenRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if !h.Group.Set || !h.Topic.Set {
		return nil, missing("group or topic")
	}
	name, topic := strings.Clone(h.Group.V), strings.Clone(h.Topic.V)
	if h.Readable.Set {
		if isSlave(g.config()) {
			return nil, errNotHere
		}
		g.table.SetForbidden(name, topic, h.Readable.V)
	}
	resp := answerJSON(&protocol.GroupForbidden{
		Group: name, Topic: topic, Readable: protocol.Some(!g.table.IsForbidden(name, topic)),
	})
	resp.Remark = protocol.Some("")
	return resp, nil
}

func (g *groups) consumersOf(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryTopicConsumeByWhoRequestHeader](r)
	if err != nil {
		return nil, err
	}
	names := append(g.offsets.GroupsOf(h.Topic.V), g.consumers.GroupsOf(h.Topic.V)...)
	slices.Sort(names)
	return answerJSON(&protocol.GroupList{GroupList: slices.Compact(names)}), nil
}

func (g *groups) topicsOf(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QueryTopicsByConsumerRequestHeader](r)
	if err != nil {
		return nil, err
	}
	return answerJSON(&protocol.TopicList{
		TopicList: g.offsets.TopicsOf(h.Group.V), BrokerAddr: g.address(r.Channel),
	}), nil
}

func (g *groups) subscription(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.QuerySubscriptionByConsumerRequestHeader](r)
	if err != nil {
		return nil, err
	}
	b := &protocol.QuerySubscriptionResponseBody{Group: h.Group.V, Topic: h.Topic.V}
	if s := g.consumers.FindSubscription(h.Group.V, h.Topic.V); s != nil {
		b.SubscriptionData = &s.SubscriptionData
	}
	return answerJSON(b), nil
}

func (g *groups) json(v any) *protocol.Response {
	return &protocol.Response{Body: fastjson.Options{Omit: g.profile.OmitJSON}.Marshal(v)}
}
