// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// PullRequest asks for messages of one queue.
type PullRequest struct {
	Topic      string
	Queue      Queue
	Group      string
	Offset     int64
	Max        int32         // messages, default 32
	Expression string        // of tags, default "*"
	Suspend    time.Duration // how long the broker may wait for a message; 0: it answers at once
	ForClient  string        // a member of a broadcasting group for whom a proxy pulls; empty: the caller pulls for itself
}

// Pulled is what a queue had.
type Pulled struct {
	Messages []message.Record // their fields are views of the answer, which belongs to the caller
	Next     int64            // offset to go on with
	Min, Max int64
	Code     int32 // 0 found, 19 nothing yet, 20 nothing that matches, 21 the offset was outside the queue
}

const (
	pullSuspend      = 2
	pullSubscription = 4

	sourceBroadcast = 1 // requestSource of such a proxy
)

// Pull reads from a queue. Finding nothing is no error.
func (c *Client) Pull(ctx context.Context, r PullRequest) (*Pulled, error) {
	if r.Max == 0 {
		r.Max = 32
	}
	if r.Expression == "" {
		r.Expression = "*"
	}
	sysFlag := int32(pullSubscription)
	if r.Suspend > 0 {
		sysFlag |= pullSuspend
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, r.Suspend+2*c.o.Timeout+5*time.Second)
			defer cancel()
		}
	}
	header := &protocol.PullMessageRequestHeader{
		ConsumerGroup: protocol.Some(r.Group), Topic: protocol.Some(r.Topic), QueueID: protocol.Some(r.Queue.ID),
		QueueOffset: protocol.Some(r.Offset), MaxMsgNums: protocol.Some(r.Max), SysFlag: protocol.Some(sysFlag),
		CommitOffset: protocol.Some(int64(0)), SuspendTimeoutMillis: protocol.Some(r.Suspend.Milliseconds()),
		Subscription: protocol.Some(r.Expression), SubVersion: protocol.Some(int64(0)), ExpressionType: protocol.Some("TAG"),
	}
	if r.ForClient != "" {
		header.RequestSource, header.ProxyFrowardClientID = protocol.Some(int32(sourceBroadcast)), protocol.Some(r.ForClient)
	}
	answer, err := c.Call(ctx, r.Queue.Addr, command(protocol.ReqPullMessage, header, nil))
	if answer == nil {
		return nil, err
	}
	switch answer.Code {
	case protocol.RespSuccess, protocol.RespPullNotFound, protocol.RespPullRetryImmediately, protocol.RespPullOffsetMoved:
	default:
		return nil, err
	}
	var h protocol.PullMessageResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		return nil, err
	}
	p := &Pulled{Next: h.NextBeginOffset.V, Min: h.MinOffset.V, Max: h.MaxOffset.V, Code: answer.Code}
	for body := answer.Body; len(body) > 0; {
		m, err := message.ParseRecord(body)
		if err != nil {
			return nil, err
		}
		n := len(p.Messages)
		p.Messages = message.AppendUnwrapped(p.Messages, m)
		if m.SysFlag&message.SysInnerBatch != 0 { // a batch may begin before what was asked for
			for n < len(p.Messages) && p.Messages[n].QueueOffset < r.Offset {
				p.Messages = slices.Delete(p.Messages, n, n+1)
			}
		}
		body = body[m.Size:]
	}
	return p, nil
}

// Offset is a group's committed offset of a queue; ok is false if it has none.
func (c *Client) Offset(ctx context.Context, group, topic string, q Queue) (offset int64, ok bool, err error) {
	header := &protocol.QueryConsumerOffsetRequestHeader{
		ConsumerGroup: protocol.Some(group), Topic: protocol.Some(topic), QueueID: protocol.Some(q.ID),
	}
	answer, err := c.Call(ctx, q.Addr, command(protocol.ReqQueryConsumerOffset, header, nil))
	var refusal *protocol.Error
	if errors.As(err, &refusal) && refusal.Code == protocol.RespQueryNotFound {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	var h protocol.QueryConsumerOffsetResponseHeader
	err = h.ParseFields(&answer.Fields)
	return h.Offset.V, err == nil, err
}

// Commit stores a group's offset of a queue.
func (c *Client) Commit(ctx context.Context, group, topic string, q Queue, offset int64) error {
	header := &protocol.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: protocol.Some(group), Topic: protocol.Some(topic), QueueID: protocol.Some(q.ID),
		CommitOffset: protocol.Some(offset),
	}
	_, err := c.Call(ctx, q.Addr, command(protocol.ReqUpdateConsumerOffset, header, nil))
	return err
}

// MaxOffset is the offset of the next message of a queue.
func (c *Client) MaxOffset(ctx context.Context, topic string, q Queue) (int64, error) {
	header := &protocol.GetMaxOffsetRequestHeader{Topic: protocol.Some(topic), QueueID: protocol.Some(q.ID), Committed: true}
	answer, err := c.Call(ctx, q.Addr, command(protocol.ReqGetMaxOffset, header, nil))
	if err != nil {
		return 0, err
	}
	var h protocol.GetMaxOffsetResponseHeader
	err = h.ParseFields(&answer.Fields)
	return h.Offset.V, err
}

// Heartbeat tells a broker who is connected. Clients send one every 30 s.
func (c *Client) Heartbeat(ctx context.Context, addr string, hb *protocol.HeartbeatData) error {
	_, err := c.Call(ctx, addr, command(protocol.ReqHeartBeat, nil, fastjson.Marshal(hb)))
	return err
}
