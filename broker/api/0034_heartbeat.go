// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strconv"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/filter"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What clients say of themselves, and who asks for it:
//
//	34 HEART_BEAT                     5.x answers whether the subscriptions must be sent in full
//	35 UNREGISTER_CLIENT
//	38 GET_CONSUMER_LIST_BY_GROUP     asked before each rebalance
//	46 CHECK_CLIENT_CONFIG            asked by push consumers that subscribe with SQL92
//	203 GET_CONSUMER_CONNECTION_LIST, 204 GET_PRODUCER_CONNECTION_LIST, 328 GET_ALL_PRODUCER_INFO
type clients struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	consumers *client.Consumers
	producers *client.Producers
}

func (c *clients) heartbeat(r *remoting.Request) (*protocol.Response, error) {
	var b protocol.HeartbeatData
	if err := body(r, &b); err != nil {
		return nil, err
	}
	subChanged := c.consumers.Heartbeat(r.Channel, &b, r.Language, r.Version)
	c.producers.Heartbeat(r.Channel, &b, r.Language, r.Version)
	if !c.profile.HeartbeatV2 {
		return &protocol.Response{}, nil
	}
	return &protocol.Response{Extra: []protocol.Field{
		{Key: "IS_SUPPORT_HEART_BEAT_V2", Value: "true"},
		{Key: "IS_SUB_CHANGE", Value: strconv.FormatBool(subChanged)},
	}}, nil
}

func (c *clients) unregister(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.UnregisterClientRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if h.ProducerGroup.Set {
		c.producers.Unregister(r.Channel, h.ProducerGroup.V)
	}
	if h.ConsumerGroup.Set {
		c.consumers.Unregister(r.Channel, h.ConsumerGroup.V)
	}
	return &protocol.Response{Header: &protocol.UnregisterClientResponseHeader{}}, nil
}

func (c *clients) consumerList(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumerListByGroupRequestHeader](r)
	if err != nil {
		return nil, err
	}
	if g := c.consumers.Group(h.ConsumerGroup.V); g != nil {
		if ids := g.ClientIDs(); len(ids) > 0 {
			resp := answerJSON(&protocol.GetConsumerListByGroupResponseBody{ConsumerIdList: ids})
			resp.Header = &protocol.GetConsumerListByGroupResponseHeader{}
			return resp, nil
		}
	}
	resp := &protocol.Response{Header: &protocol.GetConsumerListByGroupResponseHeader{}}
	fail(resp, protocol.Errorf(protocol.RespSystemError, "no consumer for this group, %s", h.ConsumerGroup.V))
	return resp, nil
}

func (c *clients) check(r *remoting.Request) (*protocol.Response, error) {
	if len(r.Body) == 0 {
		return &protocol.Response{}, nil
	}
	var b protocol.CheckClientRequestBody
	if err := body(r, &b); err != nil {
		return nil, err
	}
	if b.SubscriptionData == nil || filter.IsTag(b.SubscriptionData.ExpressionType) {
		return &protocol.Response{}, nil
	}
	if !c.config().EnablePropertyFilter {
		return nil, errNoSQL
	}
	_, err := filter.SQL(b.SubscriptionData)
	return &protocol.Response{}, err
}

func (c *clients) consumerConnections(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumerConnectionListRequestHeader](r)
	if err != nil {
		return nil, err
	}
	g := c.consumers.Group(h.ConsumerGroup.V)
	if g == nil {
		return nil, protocol.Errorf(protocol.RespConsumerNotOnline, "the consumer group[%s] not online", h.ConsumerGroup.V)
	}
	return answerJSON(g.Connection()), nil
}

func (c *clients) producerConnections(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetProducerConnectionListRequestHeader](r)
	if err != nil {
		return nil, err
	}
	b := c.producers.Connection(h.ProducerGroup.V)
	if b == nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "the producer group[%s] not exist", h.ProducerGroup.V)
	}
	return answerJSON(b), nil
}

func (c *clients) producerTable(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(c.producers.All()), nil
}
