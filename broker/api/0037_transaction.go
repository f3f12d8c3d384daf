// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/broker/transaction"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// END_TRANSACTION (37): a producer commits the transaction of a half message, rolls it back, or says that it does not know
// yet. Clients send it one way.
//
//   - "Does not know" is not answered at all, whoever asks.
//   - A rollback is answered with the remark that Java puts there when nothing else does.
//
// RESUME_CHECK_HALF_MESSAGE (323): a tool has a half message checked again from the beginning.
type transactions struct {
	config  func() *config.BrokerValues
	service *transaction.Service
}

// commitOrRollback of the request: the transaction part of a sysFlag.
const (
	transactionUnknown  = 0
	transactionCommit   = 8
	transactionRollback = 12
)

func (t *transactions) end(r *remoting.Request) {
	h, err := remoting.ParseHeader[protocol.EndTransactionRequestHeader](r)
	switch {
	case err != nil:
	case isSlave(t.config()):
		err = protocol.Errorf(protocol.RespSlaveNotAvailable, notSet)
	default:
		err = checkEnd(h)
	}
	if err != nil {
		resp := &protocol.Response{}
		fail(resp, err)
		r.Reply(resp)
		return
	}
	if h.CommitOrRollback.V == transactionUnknown {
		r.Hold() // and never answered
		return
	}
	commit := h.CommitOrRollback.V == transactionCommit
	responder := r.Detach()
	t.service.End(transaction.End{
		Group: h.ProducerGroup.V, QueueOffset: h.TranStateTableOffset.V, PhyOffset: h.CommitLogOffset.V,
		Commit: commit, FromCheck: h.FromTransactionCheck.V,
	}, func(err error) {
		resp := &protocol.Response{}
		if err != nil {
			fail(resp, err)
		} else if !commit {
			resp.Remark = protocol.Some(notSet)
		}
		responder.Respond(resp)
	})
}

func checkEnd(h *protocol.EndTransactionRequestHeader) error {
	switch h.CommitOrRollback.V {
	case transactionUnknown, transactionCommit, transactionRollback:
	default:
		return protocol.Errorf(protocol.RespSystemError, "commitOrRollback field wrong")
	}
	switch {
	case !h.CommitOrRollback.Set:
		return missing("commitOrRollback")
	case !h.ProducerGroup.Set || !h.TranStateTableOffset.Set || !h.CommitLogOffset.Set:
		return missing("producerGroup, tranStateTableOffset or commitLogOffset")
	}
	return nil
}

func (t *transactions) resume(r *remoting.Request) {
	h, err := remoting.ParseHeader[protocol.ResumeCheckHalfMessageRequestHeader](r)
	if err != nil {
		resp := &protocol.Response{}
		fail(resp, err)
		r.Reply(resp)
		return
	}
	responder := r.Detach()
	t.service.Resume(h.MsgID.V, func(err error) {
		resp := &protocol.Response{}
		if err != nil {
			fail(resp, err)
		}
		responder.Respond(resp)
	})
}
