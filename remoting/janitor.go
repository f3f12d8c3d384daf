// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"log/slog"
	"time"

	"rocketmq-go/remoting/protocol"
)

func (e *endpoint) set(l Limits, version int32, lang protocol.Language, d Dispatcher, cl ConnListener, log *slog.Logger) {
	e.Limits, e.version, e.language, e.dispatcher, e.listener, e.log = l, version, lang, d, cl, log
	e.gatherer, _ = d.(Gatherer)
}

// janitor looks at all connections now and then, so that reading and writing need no timers.
func janitor(e *endpoint, stop <-chan struct{}, each func(func(*conn))) {
	tick := max(min(e.IdleTimeout, e.WriteTimeout)/12, time.Millisecond)
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			each(func(c *conn) { c.check(tick) })
		case <-stop:
			return
		}
	}
}

// check closes the connection if it has been idle, or its peer has read nothing, for too long.
func (c *conn) check(tick time.Duration) {
	c.mu.Lock()
	writing := c.writing
	c.mu.Unlock()
	writes := c.writes.Load()
	if writing && writes == c.lastWrites {
		c.stuck += tick
	} else {
		c.stuck = 0
	}
	c.lastWrites = writes
	if c.active.Swap(false) {
		c.quiet = 0
	} else {
		c.quiet += tick
	}
	// In a goroutine, because closing a TLS connection may wait for its peer.
	switch {
	case c.stuck >= c.WriteTimeout:
		go c.close(errSlow)
	case c.quiet >= c.IdleTimeout:
		go c.close(errIdle)
	}
}
