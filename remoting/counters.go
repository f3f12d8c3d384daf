// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/remoting/protocol"
)

// counters of one server or client, see Counters.
type counters struct {
	accepted, refused, badFrames, foreign, idle, slow, crowded atomic.Int64
}

// Counters says what happened to connections since the start.
type Counters struct {
	Accepted  int64 // connections taken
	Refused   int64 // beyond the maximum of connections
	BadFrames int64 // closed because of an undecodable frame
	Foreign   int64 // closed because the peer spoke another protocol
	Idle      int64 // closed because nothing was read or written for too long
	Slow      int64 // closed because the peer did not read
	Crowded   int64 // closed because all connections together were receiving too many large frames
}

func (c *counters) snapshot() Counters {
	return Counters{
		Accepted: c.accepted.Load(), Refused: c.refused.Load(), BadFrames: c.badFrames.Load(),
		Foreign: c.foreign.Load(), Idle: c.idle.Load(), Slow: c.slow.Load(),
		Crowded: c.crowded.Load(),
	}
}

// Reasons for which a connection is closed, beside *protocol.FrameError and errors of the network.
var (
	errIdle = errors.New("remoting: nothing read or written for too long")
	errSlow = errors.New("remoting: the peer does not read")
	// errCrowded ends connections, not requests: the frame cannot be passed over.
	errCrowded = errors.New("remoting: too many large frames are being received")
)

// count notes why a connection ended.
func (c *counters) count(err error) {
	var frame *protocol.FrameError
	var other *foreignError
	switch {
	case errors.Is(err, errIdle):
		c.idle.Add(1)
	case errors.Is(err, errSlow):
		c.slow.Add(1)
	case errors.Is(err, errCrowded):
		c.crowded.Add(1)
	case errors.As(err, &other):
		c.foreign.Add(1)
	case errors.As(err, &frame):
		c.badFrames.Add(1)
	}
}

// quietLog lets each kind of warning through once a minute and says how many were left out.
type quietLog struct {
	mu   sync.Mutex
	last map[string]time.Time
	left map[string]int
}

func (q *quietLog) warn(log *slog.Logger, kind, msg string, args ...any) {
	q.mu.Lock()
	now := time.Now()
	if last, ok := q.last[kind]; ok && now.Sub(last) < time.Minute {
		q.left[kind]++
		q.mu.Unlock()
		return
	}
	if q.last == nil {
		q.last, q.left = map[string]time.Time{}, map[string]int{}
	}
	q.last[kind] = now
	if n := q.left[kind]; n > 0 {
		args = append(args, "suppressed", n)
		delete(q.left, kind)
	}
	q.mu.Unlock()
	log.Warn(msg, args...)
}
