// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"math"
	"strconv"
	"unsafe"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/store/timerlog"
)

// Properties that delivery adds.
const (
	propEnqueue = "TIMER_ENQUEUE_MS"
	propDequeue = "TIMER_DEQUEUE_MS"
	propRolls   = "TIMER_ROLL_TIMES"
)

// neverEntered is the enqueue time of a message that was due before it could be entered.
const neverEntered = math.MaxInt64

// item is a message that waits or is due: where its record is, and what its unit says.
type item struct {
	phy   int64
	write int64 // ms, when it was entered
	size  int32
	magic int32
	hash  int32
}

func (it *item) rolls() bool   { return it.magic&timerlog.MagicRoll != 0 }
func (it *item) deletes() bool { return it.magic&timerlog.MagicDelete != 0 }

// weight is what the item adds to the count of its topic while it waits.
func (it *item) weight() int64 {
	if it.deletes() {
		return -1
	}
	return 1
}

// waiting is the message of an item, in the buffer that it was read into.
type waiting struct {
	message.Record
	out   int64  // ms, TIMER_OUT_MS
	topic []byte // REAL_TOPIC
	queue int32  // REAL_QID
	uniq  []byte // UNIQ_KEY
	takes []byte // TIMER_DEL_UNIQKEY: what it takes back
	rolls int    // TIMER_ROLL_TIMES
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// message reads the message of an item. Why it cannot be used is the text of a log line.
func (w *work) message(s *Service, it item) (m waiting, why string) {
	if it.size <= 0 || it.size > maxRecord {
		return m, "its queue unit is none"
	}
	var ok bool
	if w.buf, ok = s.o.Store.Record(w.buf[:0], it.phy, it.size); !ok {
		return m, "it is not in the log any more"
	}
	var err error
	if m.Record, err = message.ParseRecord(w.buf); err != nil {
		return m, err.Error()
	}
	if string(m.Topic) != Topic {
		return m, "its place in the log has another message"
	}
	return m, m.parse()
}

// maxRecord bounds the memory that a broken unit can ask for.
const maxRecord = 256 << 20

func (m *waiting) parse() (why string) {
	var out, queue []byte
	for p := message.ScanProperties(m.Properties); p.Next(); {
		switch string(p.Name) {
		case put.PropTimerOut:
			out = p.Value
		case message.PropRealTopic:
			m.topic = p.Value
		case message.PropRealQueueID:
			queue = p.Value
		case message.PropUniqKey:
			m.uniq = p.Value
		case put.PropTimerDelete:
			m.takes = p.Value
		case propRolls:
			m.rolls, _ = strconv.Atoi(view(p.Value))
		}
	}
	var err error
	if m.out, err = strconv.ParseInt(view(out), 10, 64); err != nil {
		return "property TIMER_OUT_MS is missing or not a number"
	}
	switch string(m.topic) {
	case "":
		return "property REAL_TOPIC is missing"
	case Topic, put.ScheduleTopic:
		return "property REAL_TOPIC names a topic where it would wait again"
	}
	id, err := strconv.ParseInt(view(queue), 10, 32)
	if err != nil {
		return "property REAL_QID is missing or not a number"
	}
	m.queue = int32(id)
	return ""
}

// isTaken tells whether a message is taken back: keys are topic+UNIQ_KEY or, from before 5.3, the UNIQ_KEY alone.
func (w *work) isTaken(m *waiting, taken map[string]struct{}) bool {
	if len(taken) == 0 || len(m.uniq) == 0 {
		return false
	}
	w.key = append(append(append(w.key[:0], m.topic...), '+'), m.uniq...)
	if _, ok := taken[view(w.key)]; ok {
		return true
	}
	_, ok := taken[view(m.uniq)]
	return ok
}

// outgoing makes the message that is stored: for the real topic, or once more for the timer topic.
func (w *work) outgoing(m *waiting, it item, now int64) *message.Message {
	record := m.Record
	record.Topic = nil // replaced below
	w.out = record.Message()
	if it.rolls() {
		w.out.Topic, w.out.QueueID = Topic, queue
	} else {
		w.out.Topic, w.out.QueueID = view(m.topic), m.queue
	}
	w.out.PreparedTransactionOffset = 0
	w.props.Parse(view(m.Properties))
	w.number(propEnqueue, 0, it.write)
	if it.rolls() {
		w.number(propRolls, 1, int64(m.rolls)+1)
	}
	w.number(propDequeue, 2, now)
	w.encoded = w.props.Append(w.encoded[:0], message.Java5)
	if len(w.encoded) <= message.MaxProperties {
		w.out.Properties = w.encoded
	} // else it goes as it came: there is no room for the times
	return &w.out
}

func (w *work) number(name string, slot int, n int64) {
	w.numbers[slot] = strconv.AppendInt(w.numbers[slot][:0], n, 10)
	w.props.Set(name, view(w.numbers[slot]))
}
