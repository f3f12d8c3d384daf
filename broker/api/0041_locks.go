// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/broker/lock"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42): which queues a client that consumes in order may read. Nothing in the
// body is checked for existence.
type locks struct{ table *lock.Table }

func (l *locks) lock(r *remoting.Request) (*protocol.Response, error) {
	var b protocol.LockBatchRequestBody
	if err := body(r, &b); err != nil {
		return nil, err
	}
	locked := l.table.Lock(b.ConsumerGroup, b.ClientID, b.MqSet)
	return answerJSON(&protocol.LockBatchResponseBody{LockOKMQSet: locked}), nil
}

func (l *locks) unlock(r *remoting.Request) (*protocol.Response, error) {
	var b protocol.UnlockBatchRequestBody
	if err := body(r, &b); err != nil {
		return nil, err
	}
	l.table.Unlock(b.ConsumerGroup, b.ClientID, b.MqSet)
	return &protocol.Response{}, nil
}
