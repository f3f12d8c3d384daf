// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"slices"
	"strconv"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// End is what a producer says of a transaction (END_TRANSACTION, 37).
type End struct {
	Group       string // of the producer
	QueueOffset int64  // of the half message
	PhyOffset   int64  // of the half message
	Commit      bool   // or else roll back
	FromCheck   bool   // the answer to a question
}

// End commits a transaction or rolls it back. done is called once: before End returns, or from another goroutine when the
// message reached the disk; its error is a *protocol.Error, the refusal. As in Java nothing remembers what has ended: a
// second commit delivers the message again.
func (s *Service) End(e End, done func(error)) {
	rules := s.o.Rules()
	if rules.Slave {
		done(protocol.Errorf(protocol.RespSlaveNotAvailable, notSet))
		return
	}
	buf, ok := s.o.Store.Record(nil, e.PhyOffset, 0)
	h, err := message.ParseRecord(buf)
	if !ok || err != nil {
		done(notFound())
		return
	}
	if err := s.checkEnd(e, &h, rules); err != nil {
		done(err)
		return
	}
	if !e.Commit {
		s.note(&h, false, 0)
		done(nil)
		return
	}
	entry, err := s.final(&h)
	if err != nil {
		done(err)
		return
	}
	err = s.o.Put.Commit(entry, func(r store.PutResult) {
		if !stored(r.Status) {
			done(refused(r.Status, rules))
			return
		}
		s.note(&h, true, r.Size)
		done(nil)
	})
	if err != nil {
		done(err)
	}
}

// notSet is the remark of answers for which Java sets the code only.
const notSet = "not set any response code"

func notFound() error {
	return protocol.Errorf(protocol.RespSystemError, "Find prepared transaction message failed")
}

// checkEnd is whether the producer may end this message. Unlike in Java it must be a half message: the queue offset of any
// other would end the transaction of a stranger.
func (s *Service) checkEnd(e End, h *message.Record, rules Rules) error {
	if string(h.Topic) != halfTopic || h.QueueID != queue {
		return notFound()
	}
	if s.o.Profile.Transactions5 && !e.FromCheck {
		// Its producer will be asked, or was: only that answer counts by now.
		text, own := message.Property(h.Properties, propImmunity)
		if own && s.o.Now().Sub(time.UnixMilli(h.BornTimestamp)) > max(secondsOf(string(text)), rules.TimeOut) {
			return protocol.Errorf(protocol.RespIllegalOperation, notSet)
		}
	}
	group, ok := message.Property(h.Properties, propGroup)
	switch {
	case !ok:
		return protocol.Errorf(protocol.RespSystemError, "The half message has no property %s", propGroup)
	case string(group) != e.Group:
		return protocol.Errorf(protocol.RespSystemError, "The producer group wrong")
	case h.QueueOffset != e.QueueOffset:
		return protocol.Errorf(protocol.RespSystemError, "The transaction state table offset wrong")
	case h.PhyOffset != e.PhyOffset:
		return protocol.Errorf(protocol.RespSystemError, "The commit log offset wrong")
	}
	return nil
}

// secondsOf reads a property, 0 for what is no number.
func secondsOf(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return seconds(n)
}

// final is the message that is delivered. Its properties are those of the half message, REAL_TOPIC and the others included.
func (s *Service) final(h *message.Record) (*put.Entry, error) {
	topic, _ := message.Property(h.Properties, message.PropRealTopic)
	queue, _ := message.Property(h.Properties, message.PropRealQueueID)
	queueID, err := strconv.ParseInt(string(queue), 10, 32)
	if err != nil || len(topic) == 0 {
		return nil, protocol.Errorf(protocol.RespSystemError, "The half message does not tell its real topic and queue")
	}
	e := &put.Entry{Message: h.Message()}
	e.Topic, e.QueueID = string(topic), int32(queueID)
	e.SysFlag = h.SysFlag&^message.SysTransactionMask | message.SysCommit
	e.PreparedTransactionOffset = h.PhyOffset
	return e, nil
}

// note enters the end of a half message; size is that of the message that was stored.
func (s *Service) note(h *message.Record, committed bool, size int32) {
	name, _ := message.Property(h.Properties, message.PropRealTopic)
	topic := string(name)
	if s.end(h.QueueOffset) {
		s.metrics.add(topic, -1)
	}
	s.count(func(n *Stats) {
		if committed {
			n.Committed++
		} else {
			n.RolledBack++
		}
	})
	if s.o.Finished != nil && topic != "" {
		s.o.Finished(topic, committed, int(size), s.o.Now().Sub(time.UnixMilli(h.BornTimestamp)))
	}
}

// refused is the answer to a commit whose message the store did not take.
func refused(status store.PutStatus, rules Rules) error {
	switch status {
	case store.CreateMappedFileFailed:
		return protocol.Errorf(protocol.RespSystemError, "Create mapped file failed.")
	case store.MessageIllegal, store.PropertiesSizeExceeded:
		return protocol.Errorf(protocol.RespMessageIllegal,
			"The message is illegal, maybe msg body or properties length not matched. msg body length limit %dB, "+
				"msg properties length limit 32KB.", rules.MaxMessageSize)
	case store.ServiceNotAvailable:
		return protocol.Errorf(protocol.RespServiceNotAvailable, "Service not available now.")
	case store.OSPageCacheBusy:
		return protocol.Errorf(protocol.RespSystemError, "OS page cache busy, please try another machine")
	case store.UnknownError:
		return protocol.Errorf(protocol.RespSystemError, "UNKNOWN_ERROR")
	}
	return protocol.Errorf(protocol.RespSystemError, "UNKNOWN_ERROR DEFAULT")
}

// Resume puts the half message that an offset message id names back into the half queue, with no checks behind it
// (RESUME_CHECK_HALF_MESSAGE, 323): for those in TRANS_CHECK_MAX_TIME_TOPIC. done is called once, with a *protocol.Error if
// that fails.
func (s *Service) Resume(id string, done func(error)) {
	_, phyOffset, err := message.ParseOffsetID(id)
	var h message.Record
	if err == nil {
		buf, ok := s.o.Store.Record(nil, phyOffset, 0)
		if h, err = message.ParseRecord(buf); !ok && err == nil {
			err = message.ErrRecord
		}
	}
	if err != nil || !isHalf(&h) {
		done(protocol.Errorf(protocol.RespSystemError, "Exception was thrown when putting message back to %s.", halfTopic))
		return
	}
	real, _ := message.Property(h.Properties, message.PropRealTopic)
	realTopic := string(real)
	m := h.Message()
	m.Topic, m.QueueID, m.PreparedTransactionOffset = halfTopic, queue, 0
	m.Properties = message.Rebuild(slices.Clone(h.Properties), s.dialect, [2]string{propChecks, "0"})
	s.o.Put.Raw(&m, func(r store.PutResult) {
		if !stored(r.Status) {
			done(protocol.Errorf(protocol.RespSystemError, "Put message back to %s failed.", halfTopic))
			return
		}
		s.Prepared(realTopic)
		done(nil)
	})
}

// isHalf tells whether a message can be a half message again: it tells where it wants to go, and it is not there yet.
func isHalf(h *message.Record) bool {
	topic, ok := message.Property(h.Properties, message.PropRealTopic)
	return ok && string(h.Topic) != string(topic)
}
