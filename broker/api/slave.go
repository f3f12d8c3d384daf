// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"log/slog"
	"sync"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What a slave does not do. Its messages and tables are copies of its master's: it stores nothing of its own but the offsets
// that consumers commit to it, and it answers from what it has.

// standsIn tells whether this is a slave that may act as master (5.x): it looks at requests that other slaves reject.
func standsIn(cfg *config.BrokerValues) bool { return isSlave(cfg) && cfg.EnableSlaveActingMaster }

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

// stuck says once of each group and queue that its consumer wants what a slave does not have: it began later than its master.
// The consumer stands still until it is reset, or the master is there.
type stuck struct {
	log *slog.Logger

	mu   sync.Mutex
	said map[stuckQueue]struct{}
}

type stuckQueue struct {
	group, topic string
	id           int32
}

// maxStuck bounds the queues that are remembered.
const maxStuck = 10000

func (s *stuck) note(group, topic string, id int32, offset, min int64) {
	q := stuckQueue{group, topic, id}
	s.mu.Lock()
	_, known := s.said[q]
	if !known && len(s.said) < maxStuck {
		if s.said == nil {
			s.said = map[stuckQueue]struct{}{}
		}
		s.said[q] = struct{}{}
	}
	known = known || len(s.said) >= maxStuck
	s.mu.Unlock()
	if !known {
		s.log.Warn("a consumer wants messages that this slave does not have: it stands still until the master is back, or its offset is reset",
			"group", group, "topic", topic, "queue", id, "offset", offset, "min", min)
	}
}
