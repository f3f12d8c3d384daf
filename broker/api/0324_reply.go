// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"rocketmq-go/broker/reply"
	"rocketmq-go/broker/stats"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// SEND_REPLY_MESSAGE (324) and SEND_REPLY_MESSAGE_V2 (325, one-letter names): a consumer's answer to a request, see package
// reply.
//
//   - The checks of a send; the topic is <cluster>_REPLY_TOPIC.
//   - The answer is pushed to the requester. What becomes of that is what the consumer is told.
//   - Whatever that is, the answer is stored in its topic as well (storeReplyMessageEnable), and the ext fields say where.
type replier struct {
	send    *sender
	service *reply.Service
}

const propPushed = "PUSH_REPLY_TIME"

// answering is a reply on its way: to the requester and into the store. The later of the two answers.
type answering struct {
	left      atomic.Int32
	responder remoting.Responder
	extra     []protocol.Field
	queueID   int32
	storeHost netip.AddrPort

	refusal error            // of the push
	stored  *store.PutResult // nil: not stored
}

func (p *replier) handle(r *remoting.Request) {
	s := p.send
	o := s.new()
	if err := o.decode(r); err != nil {
		o.refuse(r, err)
		return
	}
	cfg := s.config()
	o.describe(cfg)
	err := o.check(r, cfg)
	if err == nil {
		err = o.fill(r)
	}
	if err != nil {
		o.refuse(r, err)
		return
	}
	a := &answering{
		responder: r.Hold(), // the service bounds them
		extra:     slices.Clone(o.extra[:]), queueID: o.queueID, storeHost: o.entry.StoreHost,
	}
	a.left.Store(2)
	p.push(r, o, a)
	p.store(o, a, cfg)
	o.release()
}

// push starts to bring the reply to its requester.
func (p *replier) push(r *remoting.Request, o *send, a *answering) {
	h, e, now := &o.header, &o.entry, p.send.now().UnixMilli()
	e.Props.Set(propPushed, strconv.FormatInt(now, 10))
	properties := string(e.Props.Append(nil, p.send.put.Dialect()))
	e.Props.Delete(propPushed)
	header := (&protocol.ReplyMessageRequestHeader{
		ProducerGroup: h.ProducerGroup, Topic: h.Topic, DefaultTopic: h.DefaultTopic,
		DefaultTopicQueueNums: h.DefaultTopicQueueNums, QueueID: h.QueueID, SysFlag: h.SysFlag, BornTimestamp: h.BornTimestamp,
		Flag: h.Flag, Properties: protocol.Some(properties), ReconsumeTimes: h.ReconsumeTimes, UnitMode: h.UnitMode.V,
		BornHost: protocol.Some(e.BornHost.String()), StoreHost: protocol.Some(e.StoreHost.String()), StoreTimestamp: now,
	}).Clone()
	client := strings.Clone(e.Props.Get(reply.PropClient))
	p.service.Push(client, header, bytes.Clone(r.Body), func(err error) {
		a.refusal = err
		a.done()
	})
}

// store keeps the reply in its topic.
func (p *replier) store(o *send, a *answering, cfg *config.BrokerValues) {
	if !cfg.StoreReplyMessageEnable || len(o.entry.Body) == 0 {
		a.done()
		return
	}
	topic, counts := o.entry.Topic, p.send.stats
	stored := func(result store.PutResult) {
		if p.send.put.Answer(result.Status) == nil {
			a.stored = &result
			counts.Put(topic, stats.Normal, 1, int(result.Size))
		}
		a.done()
	}
	if p.send.profile.RawReplies {
		o.entry.Properties = []byte(o.header.Properties.V)
		p.send.put.Raw(&o.entry.Message, stored)
	} else if err := p.send.put.Put(&o.entry, stored); err != nil {
		a.done()
	}
}

func (a *answering) done() {
	if a.left.Add(-1) > 0 {
		return
	}
	resp := &protocol.Response{Extra: a.extra}
	header := &protocol.SendMessageResponseHeader{}
	if a.refusal != nil {
		fail(resp, a.refusal)
	}
	switch {
	case a.stored != nil:
		header.MsgID = protocol.Some(message.OffsetID(a.storeHost, a.stored.PhyOffset))
		header.QueueID, header.QueueOffset = protocol.Some(a.queueID), protocol.Some(a.stored.QueueOffset)
	case a.refusal == nil:
		// Clients cannot do without.
		header.MsgID, header.QueueID, header.QueueOffset = protocol.Some("0"), protocol.Some(a.queueID), protocol.Some(int64(0))
	}
	resp.Header = header
	a.responder.Respond(resp)
}
