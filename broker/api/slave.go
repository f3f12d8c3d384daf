// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What a slave does not do. Its messages and tables are copies of its master's: it stores nothing of its own but the offsets
// that consumers commit to it, and it answers from what it has.

func isSlave(cfg *config.BrokerValues) bool { return cfg.Store.BrokerRole == config.Slave }

var (
	// errRejected is the answer of 5.x before it looks at a request that a slave does not take.
	errRejected = protocol.Errorf(protocol.RespSystemBusy, "[REJECTREQUEST]system busy, start flow control for a while")
	errNotHere  = protocol.Errorf(protocol.RespSystemError,
		"Can't modify topic or subscription group from slave broker, please execute it from master broker.")
)

// reject answers it.
func reject(r *remoting.Request) {
	resp := &protocol.Response{}
	fail(resp, errRejected)
	r.Reply(resp)
}

// master is a handler of requests that change a table which slaves have from their master.
func (s *Services) master(h handler) handler {
	return func(r *remoting.Request) (*protocol.Response, error) {
		if isSlave(s.Config.Load()) {
			return nil, errNotHere
		}
		return h(r)
	}
}
