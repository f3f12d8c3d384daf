// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"log/slog"
	"strings"

	"rocketmq-go/broker/topic"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Cleaning on demand:
//
//	306 CLEAN_EXPIRED_CONSUMEQUEUE  files of queues whose messages are all gone
//	316 CLEAN_UNUSED_TOPIC          queues of topics that are not there any more
//	329 DELETE_EXPIRED_COMMITLOG    files of the log that are older than fileReservedTime
//
// 306 and 329 are orders: the store's cleaner works on them after the answer.
type cleaning struct {
	store  Store
	topics *topic.Table
	log    *slog.Logger
}

const lmqPrefix = "%LMQ%"

func (c *cleaning) order(kind store.CleanKind) func(*remoting.Request) (*protocol.Response, error) {
	return func(r *remoting.Request) (*protocol.Response, error) {
		c.log.Info("cleaning is ordered", "client", r.Channel.RemoteAddr(), "code", r.Command.Code)
		c.store.CleanNow(kind)
		return &protocol.Response{}, nil
	}
}

// unused removes the queues that a topic which was deleted elsewhere, or by an older broker, has left behind.
func (c *cleaning) unused(r *remoting.Request) (*protocol.Response, error) {
	var gone []string
	for name := range c.store.Queues() {
		if c.topics.Get(name) == nil && !c.topics.IsSystem(name) && !strings.HasPrefix(name, lmqPrefix) {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		c.log.Info("queues of topics that do not exist are removed", "client", r.Channel.RemoteAddr(), "topics", gone)
		c.store.DeleteTopics(gone)
	}
	return &protocol.Response{}, nil
}
