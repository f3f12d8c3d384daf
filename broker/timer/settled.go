// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import "rocketmq-go/message"

// Settled is the time (ms) up to which messages have come: of those that the timer topic's queue has now, each that is to
// come by then is in the log. What is not entered yet was to come later than it was stored, but for the moments that a put
// takes.
func (s *Service) Settled() int64 {
	s.mu.Lock()
	next, settled := s.next, s.readTime()
	s.mu.Unlock()
	if next >= s.o.Store.MaxOffset(Topic, queue) {
		return settled
	}
	unit, ok := s.o.Store.Unit(Topic, queue, next)
	if !ok {
		return 0
	}
	record, _ := s.o.Store.Record(nil, unit.PhyOffset, unit.Size)
	stored, _ := message.StoreTimestampOf(record)
	return min(settled, stored)
}
