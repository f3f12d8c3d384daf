// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"rocketmq-go/broker/mapping"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// static puts itself before the handlers of requests that are about one queue, and translates those about a logical queue
// of a static topic (see package mapping) into requests about the physical ones behind it: local, or of other brokers, which
// are asked with lo=false. Handlers only ever see physical queues. The topics of a broker without static topics cost one
// look at a flag.
type static struct {
	table  *mapping.Table // nil in 4.9
	topics *topics
	config func() *config.BrokerValues
	// call asks the master of another broker.
	call  func(ctx context.Context, broker string, cmd *protocol.Command) (*protocol.Command, error)
	slots chan struct{} // bounds what waits for other brokers
}

// maxForwarded is how many requests may wait for other brokers.
const maxForwarded = 256

// queue is the logical queue of a request, nil if the request is about a physical one.
func (s *static) queue(r *remoting.Request, topicKey, queueKey string) *mapping.Queue {
	if s.table == nil || !s.table.Used() {
		return nil
	}
	if lo, _ := r.Fields.Get("lo"); strings.EqualFold(lo, "false") {
		return nil
	}
	topic, _ := r.Fields.Get(topicKey)
	text, _ := r.Fields.Get(queueKey)
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil // the handler says so
	}
	q, _ := s.table.Queue(topic, int32(id))
	return q
}

// notLeader makes clients look for the route again.
func notLeader(q *mapping.Queue, what string) error {
	return protocol.Errorf(protocol.RespNotLeaderForQueue, "%s-%d %s in request process of current broker %s", q.Topic, q.ID, what, q.Broker)
}

// notHere is what most requests are answered.
const notHere = "does not exit"

// rewrite is a copy of a command with other values of some fields.
func rewrite(c *protocol.Command, set ...protocol.Field) protocol.Command {
	out := *c
	out.Fields = protocol.Fields{Present: true, List: make([]protocol.Field, 0, len(c.Fields.List)+len(set))}
	for _, f := range c.Fields.List {
		replaced := false
		for _, s := range set {
			replaced = replaced || s.Key == f.Key
		}
		if !replaced {
			out.Fields.List = append(out.Fields.List, f)
		}
	}
	out.Fields.List = append(out.Fields.List, set...)
	return out
}

func numeric[N int32 | int64](key string, n N) protocol.Field {
	return protocol.Field{Key: key, Value: strconv.FormatInt(int64(n), 10)}
}

// physical are the fields that name the queue of a segment.
func physical(i *mapping.Item) []protocol.Field {
	return []protocol.Field{numeric("queueId", i.QueueID), {Key: "bname", Value: i.Bname}, {Key: "lo", Value: "false"}}
}

// send is the handler of sends.
func (s *static) send(next func(*remoting.Request)) func(*remoting.Request) {
	return func(r *remoting.Request) {
		topicKey, queueKey := "b", "e"
		if r.Code == protocol.ReqSendMessage {
			topicKey, queueKey = "topic", "queueId"
		}
		q := s.queue(r, topicKey, queueKey)
		if q == nil {
			next(r)
			return
		}
		if !q.Led() {
			resp := &protocol.Response{}
			fail(resp, notLeader(q, notHere))
			r.Reply(resp)
			return
		}
		leader := *q.Leader()
		next(r.Rewritten(rewrite(&r.Command, numeric(queueKey, leader.QueueID)), func(resp *protocol.Response) {
			if h, ok := resp.Header.(*protocol.SendMessageResponseHeader); ok && h.QueueOffset.Set {
				h.QueueID = protocol.Some(q.ID)
				h.QueueOffset = protocol.Some(mapping.Answered(&leader, h.QueueOffset.V))
			}
		}))
	}
}

// asked is the answer of the broker of a segment.
type asked struct {
	code   int32
	remark protocol.Opt[string]
	fields protocol.Fields
}

// ask asks the broker of a segment about its queue: this one, by the handler, or another one.
func (s *static) ask(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue, i *mapping.Item, set ...protocol.Field) (*asked, error) {
	cmd := rewrite(&r.Command, append(physical(i), set...)...)
	if i.Bname != q.Broker {
		ctx, cancel := context.WithTimeout(ctx, config.Millis(s.config().ForwardTimeout))
		defer cancel()
		answer, err := s.call(ctx, i.Bname, &cmd)
		if err != nil {
			return nil, protocol.Errorf(protocol.RespSystemError, "broker %s, which has a part of %s-%d: %v", i.Bname, q.Topic, q.ID, err)
		}
		return &asked{answer.Code, answer.Remark, answer.Fields}, nil
	}
	resp, err := h(&remoting.Request{Command: cmd, Channel: r.Channel, Fast: r.Fast})
	if err != nil {
		return nil, err
	}
	a := &asked{code: resp.Code, remark: resp.Remark}
	if resp.Header != nil {
		resp.Header.AppendFields(&a.fields)
	}
	return a, nil
}

// number is ask for a number that a successful answer has; ok is false for the code QUERY_NOT_FOUND.
func (s *static) number(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue, i *mapping.Item, key string, set ...protocol.Field) (n int64, ok bool, err error) {
	a, err := s.ask(ctx, h, r, q, i, set...)
	switch {
	case err != nil:
		return 0, false, err
	case a.code == protocol.RespQueryNotFound:
		return 0, false, nil
	case a.code != protocol.RespSuccess:
		return 0, false, protocol.Errorf(a.code, "%s", a.remark.V)
	}
	text, _ := a.fields.Get(key)
	n, err = strconv.ParseInt(text, 10, 64)
	return n, true, err
}

// logical answers a request about a logical queue; h is the handler of its code for physical ones.
type logical func(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error)

// before makes a route whose handler is h, and answer for logical queues.
func (s *static) before(kind func(int32, handler) remoting.Route, code int32, h handler, answer logical) remoting.Route {
	route := kind(code, h)
	next := route.Handle
	route.Handle = func(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
		q := s.queue(r, "topic", "queueId")
		switch {
		case q == nil:
			return next(ctx, r)
		case !q.Led() && r.Code == protocol.ReqGetMinOffset:
			return nil, protocol.Errorf(protocol.RespNotLeaderForQueue, "%s-%d is not leader in broker %s, request code %d", q.Topic, q.ID, q.Broker, r.Code)
		case !q.Led():
			return nil, notLeader(q, notHere)
		}
		return nil, s.later(ctx, r, func(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
			return answer(ctx, h, r, q)
		})
	}
	return route
}

// later answers a request from a goroutine of its own, as it may take the answer of another broker.
func (s *static) later(ctx context.Context, r *remoting.Request, answer func(context.Context, *remoting.Request) (*protocol.Response, error)) error {
	select {
	case s.slots <- struct{}{}:
	default:
		return protocol.Errorf(protocol.RespSystemBusy, "[OVERLOAD]system busy, start flow control for a while")
	}
	copied := &remoting.Request{Command: *r.Command.Clone(), Channel: r.Channel, Fast: r.Fast}
	responder := r.Detach()
	go func() {
		defer func() { <-s.slots }()
		resp, err := answer(ctx, copied)
		if err != nil {
			resp = &protocol.Response{}
			fail(resp, err)
		}
		responder.Respond(resp)
	}()
	return nil
}

// queryOffset: the newest segment in which the group has an offset.
func (s *static) queryOffset(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	if leader := q.Leader(); len(q.Items) == 1 && leader.LogicOffset == 0 {
		return h(&remoting.Request{Command: rewrite(&r.Command, physical(leader)...), Channel: r.Channel})
	}
	decided := q.Decided()
	for n := len(decided) - 1; n >= 0; n-- {
		i := decided[n]
		committed, ok, err := s.number(ctx, h, r, q, i, "offset", protocol.Field{Key: "setZeroIfNotFound", Value: "false"})
		if err != nil {
			return nil, err
		}
		if ok {
			return &protocol.Response{Header: &protocol.QueryConsumerOffsetResponseHeader{Offset: protocol.Some(mapping.Logical(i, committed))}}, nil
		}
	}
	return nil, protocol.Errorf(protocol.RespQueryNotFound, "Not found, maybe this group consumer boot first")
}

// updateOffset: in the segment that the offset belongs to.
func (s *static) updateOffset(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	text, _ := r.Fields.Get("commitOffset")
	offset, err := strconv.ParseInt(text, 10, 64)
	i := q.Of(offset)
	if err != nil || i == nil {
		return nil, protocol.Errorf(protocol.RespInvalidParameter, "Offset is null, topic is %s", q.Topic)
	}
	a, err := s.ask(ctx, h, r, q, i, numeric("commitOffset", mapping.Physical(i, offset)))
	if err != nil {
		return nil, err
	}
	return &protocol.Response{Code: a.code, Remark: a.remark}, nil
}

func (s *static) maxOffset(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	last := q.Last()
	if last == nil {
		return nil, notLeader(q, notHere)
	}
	n, _, err := s.number(ctx, h, r, q, last, "offset")
	if err != nil {
		return nil, err
	}
	return &protocol.Response{Header: &protocol.GetMaxOffsetResponseHeader{Offset: protocol.Some(mapping.Logical(last, n))}}, nil
}

func (s *static) minOffset(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	first := q.Of(0)
	if first == nil {
		return nil, notLeader(q, notHere)
	}
	n, _, err := s.number(ctx, h, r, q, first, "offset")
	if err != nil {
		return nil, err
	}
	return &protocol.Response{
		Remark: protocol.Some(""),
		Header: &protocol.GetMinOffsetResponseHeader{Offset: protocol.Some(mapping.Answered(first, n))},
	}, nil
}

// search: the first segment that has a message of that time or a later one, or the end of the last one.
func (s *static) search(maxOf handler) logical {
	return func(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
		found := int64(-1)
		for _, i := range q.Decided() {
			n, _, err := s.number(ctx, h, r, q, i, "offset")
			if err != nil {
				return nil, err
			}
			found = mapping.Logical(i, n)
			if q.Next(i) == nil {
				break
			}
			asMax := *r
			asMax.Code = protocol.ReqGetMaxOffset
			end, _, err := s.number(ctx, maxOf, &asMax, q, i, "offset")
			if err != nil {
				return nil, err
			}
			if n < end {
				break
			}
		}
		return &protocol.Response{Header: &protocol.SearchOffsetResponseHeader{Offset: protocol.Some(found)}}, nil
	}
}

// earliest: of the first segment that still has messages.
func (s *static) earliest(ctx context.Context, h handler, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	ms := int64(-1)
	for _, i := range q.Decided() {
		var err error
		if ms, _, err = s.number(ctx, h, r, q, i, "timestamp"); err != nil {
			return nil, err
		}
		if ms >= 0 {
			break
		}
	}
	return &protocol.Response{Header: &protocol.GetEarliestMsgStoretimeResponseHeader{Timestamp: protocol.Some(ms)}}, nil
}

// update is UPDATE_AND_CREATE_STATIC_TOPIC (513): the topic as by code 17, and its mapping.
func (s *static) update(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.CreateTopicRequestHeader](r)
	if err != nil {
		return nil, err
	}
	d := protocol.NewTopicQueueMappingDetail()
	if err := body(r, d); err != nil {
		return nil, err
	}
	if d.Topic != h.Topic.V {
		return nil, protocol.Errorf(protocol.RespSystemError, "the mapping is of topic %s, not of %s", d.Topic, h.Topic.V)
	}
	if err := s.table.Check(d, h.Force.V); err != nil {
		return nil, err
	}
	resp, err := s.topics.make(h)
	if err != nil {
		return nil, err
	}
	if err := s.table.Update(d, h.Force.V); err != nil {
		return nil, err
	}
	if err := onDisk(s.table.Sync); err != nil {
		return nil, fmt.Errorf("the mapping is not on disk: %w", err)
	}
	return resp, nil
}
