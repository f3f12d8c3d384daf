// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// Message is a message to be sent.
type Message struct {
	Topic      string
	Body       []byte
	Tags       string
	Keys       []string
	DelayLevel string // "1" to "18" by default
	Properties map[string]string
	Flag       int32
	Queue      *Queue // nil: the client chooses
}

// Sent tells where a message was stored.
type Sent struct {
	Queue       Queue
	QueueOffset int64
	OffsetID    string // names the stored message
	UniqueKey   string
	Code        int32 // 0, or 10, 11, 12 for a message that was stored but not as safely as asked for
}

func (m *Message) properties() string {
	all := maps.Clone(m.Properties)
	if all == nil {
		all = map[string]string{}
	}
	set := func(name, value string) {
		if value != "" {
			all[name] = value
		}
	}
	set(message.PropTags, m.Tags)
	set(message.PropKeys, strings.Join(m.Keys, " "))
	set(message.PropDelay, m.DelayLevel)
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text = message.AppendProperty(text, name, all[name])
	}
	return string(text)
}

func (c *Client) header(m *Message, q Queue, batch bool) *protocol.SendMessageRequestHeaderV2 {
	return &protocol.SendMessageRequestHeaderV2{
		A: protocol.Some(c.o.Group), B: protocol.Some(m.Topic), C: protocol.Some(defaultTopic),
		D: protocol.Some(int32(defaultQueues)), E: protocol.Some(q.ID), F: protocol.Some(int32(0)),
		G: protocol.Some(time.Now().UnixMilli()), H: protocol.Some(m.Flag), I: protocol.Some(m.properties()),
		J: protocol.Some(int32(0)), K: protocol.Some(false), M: protocol.Some(batch), N: protocol.Some(q.Broker),
	}
}

// Send stores one message.
func (c *Client) Send(ctx context.Context, m *Message) (*Sent, error) {
	return c.send(ctx, protocol.ReqSendMessageV2, m, m.Body, false)
}

// SendBatch stores several messages of one topic in one request, in one queue. Sent tells of the first; its OffsetID
// names all of them, separated by commas. A batch with an id of its own is one record in a batch queue; for other topics
// it becomes the unique id of all its messages.
func (c *Client) SendBatch(ctx context.Context, id string, messages []*Message) (*Sent, error) {
	if len(messages) == 0 {
		return nil, protocol.Errorf(protocol.RespMessageIllegal, "a batch of no messages")
	}
	var body []byte
	for _, m := range messages {
		body = message.AppendBatchEntry(body, m.Flag, m.Body, []byte(m.properties()))
	}
	first := messages[0]
	batch := &Message{Topic: first.Topic, Queue: first.Queue}
	if id != "" {
		batch.Properties = map[string]string{message.PropUniqKey: id}
	}
	return c.send(ctx, protocol.ReqSendBatchMessage, batch, body, true)
}

func (c *Client) send(ctx context.Context, code int32, m *Message, body []byte, batch bool) (*Sent, error) {
	var q Queue
	var err error
	if m.Queue != nil {
		q = *m.Queue
	} else if q, err = c.pick(ctx, m.Topic); err != nil {
		return nil, err
	}
	answer, err := c.Call(ctx, q.Addr, command(code, c.header(m, q, batch), body))
	if answer == nil {
		c.forget(m.Topic)
		return nil, err
	}
	switch answer.Code {
	case protocol.RespSuccess, protocol.RespFlushDiskTimeout, protocol.RespFlushSlaveTimeout, protocol.RespSlaveNotAvailable:
	default:
		c.forget(m.Topic)
		return nil, err
	}
	var h protocol.SendMessageResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		return nil, err
	}
	q.ID = h.QueueID.V
	return &Sent{
		Queue: q, QueueOffset: h.QueueOffset.V, OffsetID: h.MsgID.V, UniqueKey: cmp.Or(h.TransactionID.V, m.Properties[message.PropUniqKey]), Code: answer.Code,
	}, nil
}
