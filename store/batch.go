// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"path/filepath"
	"strconv"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
)

// Topics with the attribute queue.type=BatchCQ (5.x) have batch queues: a whole client batch is one record there, an inner
// batch, with the flag SysInnerBatch and the property INNER_NUM, the number of its messages. It takes so many queue offsets;
// the store notes the first one in INNER_BASE. Any other record stands for one message, as everywhere.

func (s *Store) batchRoot() string { return filepath.Join(s.cfg.Dir, "batchconsumequeue") }

// isBatchTopic tells which kind of queues a topic gets. Those that are there already stay what they are.
func (s *Store) isBatchTopic(topic string) bool {
	return s.cfg.BatchTopic != nil && !s.cfg.Compat49 && s.cfg.BatchTopic(topic)
}

// innerCount is how many messages a record stands for; false if its properties do not fit its flags. (Java stores an inner
// batch of any number. With none, or more than a unit can tell, its queue ends there for good.)
func innerCount(sysFlag int32, known *message.Known) (int16, bool) {
	switch {
	case sysFlag&message.SysInnerBatch == 0:
		return 1, len(known.InnerNum) == 0
	case len(known.InnerNum) == 0:
		return 1, true
	}
	n, err := strconv.Atoi(string(known.InnerNum))
	return int16(n), err == nil && n > 0 && n <= consumequeue.MaxBatch
}

// basePlace are the properties of an inner batch but for the queue offset of its first message, which is known last.
type basePlace struct{ before, after []byte }

// placeBase makes room for that offset, at the place where Java would put it. (Nothing in a property string is like the
// value that stands for it.)
func placeBase(properties []byte) (p basePlace) {
	room := []byte{message.PairEnd, message.PairEnd}
	p.before, p.after, _ = bytes.Cut(message.Rebuild(properties, message.Java5, [2]string{message.PropInnerBase, string(room)}), room)
	return p
}

// with appends the properties with an offset.
func (p basePlace) with(dst []byte, base int64) []byte {
	return append(strconv.AppendInt(append(dst, p.before...), base, 10), p.after...)
}

// hasBatches tells whether it is a batch queue. What stands for the queue of a deleted topic is none.
func (q *queue) hasBatches() bool { return q.Queue != nil && q.IsBatch() }

// queueOf finds or makes the queue of a record in the log. A batch tells its kind even if its topic's attributes are not
// known, or not yet.
func (s *Store) queueOf(topic string, r *message.Record) (*queue, error) {
	if q := s.lookup(topic, r.QueueID); q != nil {
		return q, nil
	}
	inner := r.SysFlag&message.SysInnerBatch != 0 && !s.cfg.Compat49
	return s.makeQueue(topic, r.QueueID, inner || s.isBatchTopic(topic))
}
