// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"strconv"
	"strings"

	"rocketmq-go/broker/topic"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

const (
	propTransaction   = "TRAN_MSG"
	propTransactionID = "__transactionId__"
)

// isHalf tells whether a send begins a transaction. A committed message that a consumer sends back still has the property.
func isHalf(e *Entry) (bool, error) {
	if !strings.EqualFold(e.Props.Get(propTransaction), "true") {
		return false, nil
	}
	level, err := levelOf(e)
	return err == nil && (level <= 0 || e.ReconsumeTimes <= 0), err
}

// half stores the half message of a transaction: topic and queue wait in its properties. A delay that it asks for waits
// for the commit; a Java broker loses such messages.
func (p *Pipeline) half(e *Entry, done func(store.PutResult)) error {
	if cfg := p.Config(); cfg.RejectTransactionMessage {
		return protocol.Errorf(protocol.RespNoPermission,
			"the broker[%s] sending transaction message is forbidden", cfg.BrokerIP1)
	}
	e.SysFlag &^= message.SysTransactionMask
	if level, err := p.level(e); err != nil {
		return err // the commit would fail
	} else if level <= 0 {
		if _, err := p.deliverAt(e); err != nil {
			return err
		}
	}
	if p.Profile.Transactions5 && e.UniqKey != "" {
		e.Props.Set(propTransactionID, e.UniqKey)
	}
	realTopic := e.Topic
	e.Props.Set(message.PropRealTopic, realTopic)
	e.Props.Set(message.PropRealQueueID, strconv.Itoa(int(e.QueueID)))
	e.Topic, e.QueueID = topic.TransHalfTopic, 0
	e.encoded = e.Props.Append(e.encoded[:0], p.dialect)
	e.Properties = e.encoded
	p.Store.Put(&e.Message, func(r store.PutResult) {
		if p.Prepared != nil && p.Answer(r.Status) == nil {
			p.Prepared(realTopic)
		}
		done(r)
	})
	return nil
}

// Commit stores the message of a transaction that was committed, with the properties as they are. A delay that it asks for
// begins now.
func (p *Pipeline) Commit(e *Entry, done func(store.PutResult)) error {
	e.Props.Parse(view(e.Properties))
	if delayed, err := p.asksForDelay(e); err != nil {
		return err
	} else if delayed {
		return p.Put(e, done)
	}
	p.Store.Put(&e.Message, done)
	return nil
}

func (p *Pipeline) asksForDelay(e *Entry) (bool, error) {
	level, err := levelOf(e)
	if err != nil || level > 0 {
		return true, err
	}
	at, err := p.deliverAt(e)
	return at > 0, err
}
