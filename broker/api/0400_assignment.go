// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"

	"rocketmq-go/broker/assignment"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/topic"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// QUERY_ASSIGNMENT (400), SET_MESSAGE_REQUEST_MODE (401) and GET_ALL_MESSAGE_REQUEST_MODE (402) of 5.x: clients that let
// the broker divide the queues; see package assignment.
type assignments struct {
	service *assignment.Service
	topics  *topic.Table
	groups  *group.Table
}

func (a *assignments) query(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
	var ask protocol.QueryAssignmentRequestBody
	if err := body(r, &ask); err != nil {
		return nil, err
	}
	return answerJSON(&protocol.QueryAssignmentResponseBody{MessageQueueAssignments: a.service.Assign(ctx, &ask)}), nil
}

func (a *assignments) setMode(r *remoting.Request) (*protocol.Response, error) {
	mode := protocol.NewSetMessageRequestModeRequestBody()
	if err := body(r, mode); err != nil {
		return nil, err
	}
	// Java looks at the name first: a retry topic may be unknown here.
	if err := assignment.CheckMode(mode); err != nil {
		return nil, err
	}
	if a.topics.Get(mode.Topic) == nil {
		return nil, noTopic(mode.Topic)
	}
	if a.groups.Find(mode.ConsumerGroup) == nil {
		return nil, protocol.Errorf(protocol.RespSubscriptionGroupNotExist, "subscription group does not exist")
	}
	a.service.SetMode(mode)
	return &protocol.Response{}, onDisk(a.service.Sync)
}

func (a *assignments) modes(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(a.service.Body()), nil
}
