// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/broker/pop"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// ACK_MESSAGE (200051), BATCH_ACK_MESSAGE (200151) and CHANGE_MESSAGE_INVISIBLETIME (200053) of 5.x: what becomes of the
// messages that a client has popped; see package pop.

func (p *popper) ack(r *remoting.Request) {
	h, err := remoting.ParseHeader[protocol.AckMessageRequestHeader](r)
	var a *pop.Ack
	if err == nil {
		h = h.Clone()
		a, err = p.ackOf(h.Topic, h.ConsumerGroup, h.ExtraInfo, h.QueueID, h.Offset, r.Channel)
	}
	if err == nil {
		err = p.inQueue(a)
	}
	if err != nil {
		refuseAck(r, err)
		return
	}
	later(r, func(done func(*protocol.Response)) {
		p.service.Ack(a, func(err error) { done(outcomeOf(err)) })
	})
}

// later answers a request with what a call leads to, now or later.
func later(r *remoting.Request, call func(done func(*protocol.Response))) {
	var j join
	var resp *protocol.Response
	call(func(answer *protocol.Response) {
		if resp = answer; j.came() {
			j.responder.Respond(resp)
		}
	})
	if j.ready() {
		r.Reply(resp)
	} else if j.detach(r) {
		j.responder.Respond(resp)
	}
}

func outcomeOf(err error) *protocol.Response {
	resp := &protocol.Response{}
	if err != nil {
		fail(resp, err)
	}
	return resp
}

func refuseAck(r *remoting.Request, err error) { r.Reply(outcomeOf(err)) }

// ackOf checks topic, queue and handle, as Java does.
func (p *popper) ackOf(
	topic, group, handle protocol.Opt[string], queue protocol.Opt[int32], offset protocol.Opt[int64], from remoting.Channel,
) (*pop.Ack, error) {
	if !topic.Set || !group.Set || !handle.Set || !queue.Set || !offset.Set {
		return nil, missing("consumerGroup, topic, queueId, extraInfo or offset")
	}
	if isSlave(p.config()) && !p.service.Serves() {
		return nil, errRejected
	}
	t := p.topics.Get(topic.V)
	switch {
	case t == nil:
		return nil, protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! %s", topic.V, p.profile.FAQ)
	case queue.V < 0 || queue.V >= t.ReadQueueNums:
		return nil, illegalQueue(protocol.RespMessageIllegal, t, queue.V, from)
	}
	a := &pop.Ack{Topic: t.TopicName, Group: group.V, Queue: queue.V, Offset: offset.V, From: "/" + from.RemoteAddr().String()}
	var err error
	a.Handle, err = pop.ParseHandle(handle.V)
	return a, err
}

// inQueue refuses an offset that the queue does not have; its end counts as one.
func (p *popper) inQueue(a *pop.Ack) error {
	least, end := p.store.MinOffset(a.Topic, a.Queue), p.store.MaxOffset(a.Topic, a.Queue)
	if a.Offset < least || a.Offset > end {
		return protocol.Errorf(protocol.RespNoMessage, "offset is illegal, key:%s@%d, commit:%d, store:%d~%d", a.Topic, a.Queue, a.Offset, least, end)
	}
	return nil
}

func (p *popper) batchAck(r *remoting.Request) {
	var b protocol.BatchAckMessageRequestBody
	if len(r.Body) > 0 {
		if err := fastjson.Unmarshal(r.Body, &b); err != nil {
			refuseAck(r, err)
			return
		}
	}
	switch {
	case len(b.Acks) == 0:
		r.Reply(&protocol.Response{Code: protocol.RespNoMessage})
		return
	case isSlave(p.config()) && !p.service.Serves():
		refuseAck(r, errRejected)
		return
	}
	later(r, func(done func(*protocol.Response)) {
		p.service.BatchAck(b.BrokerName, b.Acks, "/"+r.Channel.RemoteAddr().String(), func(err error) { done(outcomeOf(err)) })
	})
}

func (p *popper) change(r *remoting.Request) {
	refuse := func(code int32, err error) {
		resp := &protocol.Response{Header: &protocol.ChangeInvisibleTimeResponseHeader{}, Code: code, Remark: protocol.Some(notSet)}
		if err != nil {
			fail(resp, err)
		}
		r.Reply(resp)
	}
	h, err := remoting.ParseHeader[protocol.ChangeInvisibleTimeRequestHeader](r)
	var a *pop.Ack
	if err == nil {
		h = h.Clone()
		a, err = p.ackOf(h.Topic, h.ConsumerGroup, h.ExtraInfo, h.QueueID, h.Offset, r.Channel)
	}
	if err == nil && !h.InvisibleTime.Set {
		err = missing("invisibleTime")
	}
	switch {
	case err != nil:
		refuse(0, err)
		return
	case a.Offset < p.store.MinOffset(a.Topic, a.Queue) || a.Offset >= p.store.MaxOffset(a.Topic, a.Queue):
		refuse(protocol.RespNoMessage, nil)
		return
	}
	later(r, func(done func(*protocol.Response)) {
		p.service.Change(a, h.InvisibleTime.V, func(popTime, invisible int64, err error) {
			header := &protocol.ChangeInvisibleTimeResponseHeader{}
			resp := &protocol.Response{Header: header, Remark: protocol.Some(notSet)}
			if err != nil {
				fail(resp, err)
			} else {
				*header = protocol.ChangeInvisibleTimeResponseHeader{PopTime: popTime, InvisibleTime: invisible, ReviveQid: a.Handle.ReviveQueue}
			}
			done(resp)
		})
	})
}
