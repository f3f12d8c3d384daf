// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mapping

import (
	"math"

	"rocketmq-go/remoting/protocol"
)

// Item is one segment of a logical queue: some physical queue of some broker, from a physical offset (StartOffset) on,
// which is LogicOffset in the logical queue. A LogicOffset of -1 is not decided yet, an EndOffset that is not above
// StartOffset is open.
type Item = protocol.LogicQueueMappingItem

// Logical is the offset in the logical queue of a physical one.
func Logical(i *Item, physical int64) int64 { return i.LogicOffset + physical - i.StartOffset }

// Answered is Logical for what a producer or an administrator is told: never outside of the segment, and -1 while the
// segment's place in the logical queue is not decided.
func Answered(i *Item, physical int64) int64 {
	switch {
	case i.LogicOffset < 0:
		return -1
	case physical < i.StartOffset:
		return i.LogicOffset
	case Ended(i) && physical > i.EndOffset:
		physical = i.EndOffset
	}
	return Logical(i, physical)
}

// Physical is the offset in the segment's queue of a logical one.
func Physical(i *Item, logical int64) int64 { return logical - i.LogicOffset + i.StartOffset }

// Ended tells whether the segment's end is known.
func Ended(i *Item) bool { return i.EndOffset > i.StartOffset }

// end is the first logical offset behind the segment, as far as the mapping tells.
func end(i *Item) int64 {
	if i.EndOffset >= i.StartOffset {
		return Logical(i, i.EndOffset)
	}
	return i.LogicOffset
}

// Queue is one logical queue as a broker that hosts, or hosted, it knows it. It is immutable.
type Queue struct {
	Topic  string
	ID     int32
	Broker string // that knows it
	Items  []Item // from the oldest to that in which messages are stored
}

// Leader is the segment in which messages are stored, nil for a queue that the broker does not know.
func (q *Queue) Leader() *Item {
	if len(q.Items) == 0 {
		return nil
	}
	return &q.Items[len(q.Items)-1]
}

// Led tells whether the broker itself stores the messages of the queue. Only then it answers for it.
func (q *Queue) Led() bool {
	l := q.Leader()
	return l != nil && l.Bname == q.Broker
}

// Decided are the segments whose place in the queue is known.
func (q *Queue) Decided() []*Item {
	var list []*Item
	for i := range q.Items {
		if q.Items[i].LogicOffset >= 0 {
			list = append(list, &q.Items[i])
		}
	}
	return list
}

// Of is the segment to which a logical offset belongs: the oldest one for offsets before all, the newest for those behind.
// It is nil if no segment's place is known.
func (q *Queue) Of(logical int64) *Item {
	decided := q.Decided()
	for i := len(decided) - 1; i >= 0; i-- {
		if logical >= decided[i].LogicOffset {
			return decided[i]
		}
	}
	if len(decided) > 0 {
		return decided[0]
	}
	return nil
}

// Last is the newest segment whose place is known, nil if there is none.
func (q *Queue) Last() *Item { return q.Of(math.MaxInt64) }

// Next is the segment behind i whose place is known, nil if there is none.
func (q *Queue) Next(i *Item) *Item {
	for _, next := range q.Decided() {
		if next.Gen > i.Gen {
			return next
		}
	}
	return nil
}

// Max is the end of the queue as far as the mapping tells without asking brokers.
func (q *Queue) Max() int64 {
	if last := q.Last(); last != nil {
		return end(last)
	}
	return -1
}
