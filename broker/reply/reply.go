// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package reply brings the answers of request–reply to those who asked.
//
// A requester sends an ordinary message that says who it is (REPLY_TO_CLIENT, its client id). The consumer sends its answer
// with SEND_REPLY_MESSAGE (324, 325) to any broker that the requester is connected to as a producer; the broker pushes it
// over that connection (PUSH_REPLY_MESSAGE_TO_CLIENT, 326) and tells the consumer whether the requester took it.
package reply

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Property of an answer: the requester's client id.
const PropClient = "REPLY_TO_CLIENT"

// timeout is how long a requester may take, as in Java.
const timeout = 10 * time.Second

// Options are the service's parts.
type Options struct {
	Channel func(clientID string) remoting.Channel // a producer's connection, nil if it has none
	Limit   func() int                             // replyThreadPoolQueueCapacity: pushes under way
	Log     *slog.Logger
}

// Service is safe for concurrent use.
type Service struct {
	o        Options
	underWay atomic.Int64
	pushes   sync.WaitGroup
}

// New makes the service.
func New(o Options) *Service {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Service{o: o}
}

// Push sends the answer to a requester. done is called once, before Push returns or from another goroutine: without error
// when the requester took the answer. Neither header nor body may be views.
func (s *Service) Push(client string, header *protocol.ReplyMessageRequestHeader, body []byte, done func(error)) {
	if client == "" {
		done(protocol.Errorf(protocol.RespSystemError, "reply message properties[%s] is null", PropClient))
		return
	}
	ch := s.o.Channel(client)
	if ch == nil {
		done(protocol.Errorf(protocol.RespSystemError, "push reply message fail, channel of <%s> not found.", client))
		return
	}
	if s.underWay.Add(1) > int64(s.o.Limit()) {
		s.underWay.Add(-1)
		done(protocol.Errorf(protocol.RespSystemBusy, "[OVERLOAD]system busy, start flow control for a while"))
		return
	}
	s.pushes.Go(func() {
		defer s.underWay.Add(-1)
		done(s.push(ch, client, header, body))
	})
}

func (s *Service) push(ch remoting.Channel, client string, header *protocol.ReplyMessageRequestHeader, body []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := &protocol.Command{Code: protocol.ReqPushReplyMessageToClient, Body: body}
	header.AppendFields(&cmd.Fields)
	answer, err := ch.Call(ctx, cmd)
	if err == nil && answer.Code == protocol.RespSuccess {
		return nil
	}
	if err != nil {
		s.o.Log.Warn("reply not taken", "client", client, "error", err)
	} else {
		s.o.Log.Warn("reply not taken", "client", client, "code", answer.Code, "remark", answer.Remark.V)
	}
	return protocol.Errorf(protocol.RespSystemError, "push reply message to %sfail.", client)
}

// Wait waits for the pushes under way; they end at the latest when the connections are closed.
func (s *Service) Wait() { s.pushes.Wait() }
