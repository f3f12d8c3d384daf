// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"net/netip"
	"strings"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/stats"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// CONSUMER_SEND_MSG_BACK (36): a consumer could not handle a message and wants it again later. The request names the
// message by its physical offset; it is stored anew for the group's retry topic or dead-letter topic.
type sendBack struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	put       *put.Pipeline
	stats     *stats.Table
	storeHost func(remoting.Channel) netip.AddrPort
}

func (s *sendBack) handle(r *remoting.Request) {
	slave := isSlave(s.config())
	if slave && s.profile.SlavesReject && !standsIn(s.config()) {
		reject(r)
		return
	}
	var o outcome
	var e put.Entry
	back, err := s.decode(r)
	if err == nil && slave { // nothing is made for the message, neither group nor topic
		err = protocol.Errorf(protocol.RespSystemError, "%s", put.StatusName(store.ServiceNotAvailable))
	}
	if err == nil {
		answer := func() *protocol.Response { return s.answer(back.Group, &e, o.result) }
		var kept bool
		kept, err = s.put.SendBack(&e, back, func(result store.PutResult) {
			if o.put(result) {
				o.responder.Respond(answer())
			}
		})
		switch {
		case err != nil:
		case !kept:
			r.Reply(&protocol.Response{})
			return
		case o.ready():
			r.Reply(answer())
			return
		default:
			if o.detach(r) {
				o.responder.Respond(answer())
			}
			return
		}
	}
	resp := &protocol.Response{}
	fail(resp, err)
	r.Reply(resp)
}

func (s *sendBack) decode(r *remoting.Request) (back put.SendBack, err error) {
	h, err := remoting.ParseHeader[protocol.ConsumerSendMsgBackRequestHeader](r)
	if err != nil {
		return back, err
	}
	if !h.Offset.Set || !h.Group.Set || !h.DelayLevel.Set {
		return back, missing("offset, group or delayLevel")
	}
	return put.SendBack{
		Group: strings.Clone(h.Group.V), PhyOffset: h.Offset.V, DelayLevel: h.DelayLevel.V, UnitMode: h.UnitMode,
		StoreHost: s.storeHost(r.Channel),
		Retry:     put.Retry{Max: h.MaxReconsumeTimes, Version: r.Version},
	}, nil
}

func (s *sendBack) answer(group string, e *put.Entry, result store.PutResult) *protocol.Response {
	resp := &protocol.Response{}
	switch result.Status {
	case store.PutOK:
		s.stats.SendBack(group, e.Props.Get(put.PropRetryTopic))
	default:
		fail(resp, protocol.Errorf(protocol.RespSystemError, "%s", put.StatusName(result.Status)))
	}
	return resp
}
