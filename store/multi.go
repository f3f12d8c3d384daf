// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/message"
)

// Multi-dispatch: a message whose property INNER_MULTI_DISPATCH names further queues (joined by commas) gets a unit in
// each of them too. The offsets in these queues are noted in INNER_MULTI_QUEUE_OFFSET when the message is appended, so
// that the units can be made again from the log. Names that begin with %LMQ% are light message queues: queue id 0.

// multiDispatches tells whether messages of a topic may name further queues.
func (s *Store) multiDispatches(topic string) bool {
	if s.cfg.Compat49 {
		return s.cfg.EnableMultiDispatch
	}
	return s.cfg.EnableLMQ && !strings.HasPrefix(topic, retryPrefix) && !strings.HasPrefix(topic, sysPrefix) && topic != scheduleTopic
}

// multiPut is a message on its way into several queues.
type multiPut struct {
	m      *message.Message
	queues []*queue // nil where a name gets no offset
}

func (s *Store) prepareMulti(m *message.Message, names []byte) (*multiPut, error) {
	p := &multiPut{m: m}
	names = bytes.TrimRight(names, ",") // as Java's split
	for name := range strings.SplitSeq(string(names), ",") {
		q, err := s.multiQueue(name, m.QueueID)
		if err != nil {
			return nil, err
		}
		p.queues = append(p.queues, q)
	}
	return p, nil
}

// multiQueue is the queue that a name stands for, nil if it gets no offset.
func (s *Store) multiQueue(name string, queueID int32) (*queue, error) {
	lmq := strings.HasPrefix(name, lmqPrefix)
	switch {
	case name == "" || strings.Contains(name, "/") || !lmq && !s.cfg.Compat49:
		return nil, nil
	case lmq && s.cfg.EnableLMQ:
		queueID = 0
	}
	if q := s.lookup(name, queueID); q != nil {
		return q, nil
	}
	if lmq && int(s.lmqs.Load()) >= s.cfg.MaxLMQ {
		return nil, &putError{LMQQueueNumExceeded, errors.New("store: too many light message queues")}
	}
	return s.queueFor(name, queueID)
}

// properties rebuilds the property string with the offsets. The log's lock is held.
func (p *multiPut) properties(s *Store) []byte {
	var offsets []byte
	for i, q := range p.queues {
		if i > 0 {
			offsets = append(offsets, ',')
		}
		if q != nil {
			offsets = strconv.AppendInt(offsets, q.next, 10)
		}
	}
	changes := [][2]string{{message.PropMultiQueueOffset, string(offsets)}}
	if s.cfg.Compat49 {
		return message.Rebuild(p.m.Properties, message.Java49, append(changes, [2]string{message.PropWait, message.Removed})...)
	}
	return message.Rebuild(p.m.Properties, message.Java5, changes...)
}

// deleted tells whether one of the queues was deleted. The log's lock is held.
func (p *multiPut) deleted() bool {
	return slices.ContainsFunc(p.queues, func(q *queue) bool { return q != nil && q.deleted.Load() })
}

// advance takes the offsets.
func (p *multiPut) advance(s *Store) {
	for i, q := range p.queues {
		// 4.9 counts a queue that is named twice once
		if q != nil && !(s.cfg.Compat49 && slices.Contains(p.queues[:i], q)) {
			q.next++
		}
	}
}

// multiTargets calls visit for each further queue of a stored message, with its offset there.
func (s *Store) multiTargets(known *message.Known, queueID int32, visit func(q *queue, offset int64) error) error {
	names, offsets := known.MultiDispatch, known.MultiQueueOffset
	for len(names) > 0 && len(offsets) > 0 {
		var name, number []byte
		name, names, _ = bytes.Cut(names, []byte{','})
		number, offsets, _ = bytes.Cut(offsets, []byte{','})
		offset, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || offset < 0 {
			continue
		}
		q, err := s.multiQueue(string(name), queueID)
		if err != nil {
			return err
		}
		if q != nil {
			if err := visit(q, offset); err != nil {
				return err
			}
		}
	}
	return nil
}
