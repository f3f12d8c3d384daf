// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"

	"rocketmq-go/broker/mapping"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// pull is the handler of pulls: a logical queue is read from the segment that the offset belongs to. Only in the last one
// a pull waits for messages; at the end of another one it is sent to the next.
func (s *static) pull(next func(*remoting.Request)) func(*remoting.Request) {
	return func(r *remoting.Request) {
		q := s.queue(r, "topic", "queueId")
		if q == nil {
			next(r)
			return
		}
		p, err := newSegmentPull(r, q)
		switch {
		case err != nil:
		case p.item.Bname == q.Broker:
			next(r.Rewritten(p.command, p.local))
			return
		default:
			err = s.later(context.Background(), r, func(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
				return s.pullFrom(ctx, r, q)
			})
		}
		if err != nil {
			resp := &protocol.Response{}
			fail(resp, err)
			r.Reply(resp)
		}
	}
}

// pullFrom asks the other broker that has the segment.
func (s *static) pullFrom(ctx context.Context, r *remoting.Request, q *mapping.Queue) (*protocol.Response, error) {
	p, err := newSegmentPull(r, q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, config.Millis(s.config().ForwardTimeout))
	defer cancel()
	answer, err := s.call(ctx, p.item.Bname, &p.command)
	if err != nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "broker %s, which has a part of %s-%d: %v", p.item.Bname, q.Topic, q.ID, err)
	}
	h := &protocol.PullMessageResponseHeader{}
	if err := h.ParseFields(&answer.Fields); err != nil {
		return nil, err
	}
	resp := &protocol.Response{Code: answer.Code, Remark: answer.Remark, Header: h, Body: answer.Body}
	p.local(resp)
	return resp, nil
}

// segmentPull is a pull of one segment of a logical queue.
type segmentPull struct {
	queue   *mapping.Queue
	item    *mapping.Item
	offset  int64            // physical
	command protocol.Command // for the broker that has it
}

func newSegmentPull(r *remoting.Request, q *mapping.Queue) (*segmentPull, error) {
	h, err := remoting.ParseHeader[protocol.PullMessageRequestHeader](r)
	if err != nil {
		return nil, err
	}
	p := &segmentPull{queue: q}
	if q.Led() {
		p.item = q.Of(h.QueueOffset.V)
	}
	if p.item == nil {
		return nil, notLeader(q, "cannot find mapping item")
	}
	p.offset = mapping.Physical(p.item, h.QueueOffset.V)
	set := append(physical(p.item), numeric("queueOffset", p.offset))
	if mapping.Ended(p.item) && h.MaxMsgNums.Set {
		set = append(set, numeric("maxMsgNums", int32(min(int64(h.MaxMsgNums.V), p.item.EndOffset-p.item.StartOffset))))
	}
	if p.item != q.Leader() {
		h.SysFlag.V &^= pullSuspend
	}
	if h.SysFlag.V&pullCommit != 0 {
		if q.Of(h.CommitOffset.V) == p.item && p.item.Bname == q.Broker {
			set = append(set, numeric("commitOffset", mapping.Physical(p.item, h.CommitOffset.V)))
		} else { // clients commit by requests of their own too
			h.SysFlag.V &^= pullCommit
		}
	}
	set = append(set, numeric("sysFlag", h.SysFlag.V))
	p.command = rewrite(&r.Command, set...)
	return p, nil
}

// local turns the answer about the physical queue into that about the logical one.
func (p *segmentPull) local(resp *protocol.Response) {
	h, ok := resp.Header.(*protocol.PullMessageResponseHeader)
	if !ok || !h.NextBeginOffset.Set || !h.MinOffset.Set || !h.MaxOffset.Set {
		return // a refusal
	}
	i, next, first, end := p.item, h.NextBeginOffset.V, h.MinOffset.V, h.MaxOffset.V
	leader, earliest := p.item == p.queue.Leader(), p.item == p.queue.Of(0)
	if resp.Code != protocol.RespSuccess {
		switch {
		case p.offset < first:
			next, resp.Code = first, protocol.RespPullRetryImmediately
			if earliest {
				resp.Code = protocol.RespPullOffsetMoved
			}
		case leader && !earliest && p.offset > end && resp.Code == protocol.RespPullOffsetMoved:
			next = end
		case leader && !earliest, p.offset < end:
		default:
			resp.Code = protocol.RespPullNotFound // the next segment's place may not be decided yet
			if following := p.queue.Next(i); following != nil {
				resp.Code = protocol.RespPullRetryImmediately
				i, next, first, end = following, following.StartOffset, following.StartOffset, following.StartOffset
			}
		}
		resp.Remark = protocol.Opt[string]{}
	}
	if mapping.Ended(i) {
		next = min(next, i.EndOffset)
	}
	h.NextBeginOffset = protocol.Some(mapping.Logical(i, next))
	h.MinOffset = protocol.Some(mapping.Logical(i, max(i.StartOffset, first)))
	h.MaxOffset = protocol.Some(max(mapping.Logical(i, end), p.queue.Max()))
	h.OffsetDelta = protocol.Some(i.LogicOffset - i.StartOffset)
}
