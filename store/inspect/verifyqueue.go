// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"strconv"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/consumequeue"
)

// queueCheck follows one consume queue along the log: the units of a queue are in the order of their records.
type queueCheck struct {
	*queueFiles
	report *Report
	minPhy int64

	next, end int64 // units: not looked at yet, behind the last one
	buf       []byte
	bufAt     int64

	seen    int64 // records
	last    int64 // queue offset of the newest record
	missing span  // records without units
	strays  span  // units without records
	blanks  int64
	former  int64 // records of a topic that was deleted and created again
	bare    int64 // units whose extension is not there
	unfit   int64 // records that belong into no queue of this kind
}

func newQueueCheck(q *queueFiles, report *Report, minPhy int64) (*queueCheck, error) {
	c := &queueCheck{queueFiles: q, report: report, minPhy: minPhy, last: -1}
	begin, end, err := q.bounds()
	c.next, c.end = begin, end
	return c, err
}

// peek is the next unit.
func (c *queueCheck) peek() (u consumequeue.Span, ok bool, err error) {
	if c.next >= c.end {
		return u, false, nil
	}
	size := c.unitSize()
	at := (c.next - c.bufAt) * size
	if at < 0 || at+size > int64(len(c.buf)) {
		if c.buf == nil {
			c.buf = make([]byte, 0, 100*size)
		}
		if c.buf, err = c.readAt(c.buf[:cap(c.buf)], c.next*size); err != nil {
			return u, false, err
		}
		c.bufAt, at = c.next, 0
		if int64(len(c.buf)) < size { // a file is missing or short
			c.flushMissing()
			c.report.damage(c.String(), "units %d..%d cannot be read: a file is missing or too short", c.next, c.end-1)
			c.next = c.end
			return u, false, nil
		}
	}
	u, _ = c.parse(c.buf[at:], c.next)
	return u, true, nil
}

// outOfOrder tells that the next unit leads further than both of its followers, which makes it the wrong one.
func (c *queueCheck) outOfOrder(phy int64) bool {
	size := c.unitSize()
	n := min(2, c.end-1-c.next)
	var b [2 * consumequeue.BatchUnitSize]byte
	got := b[:0]
	if at := (c.next + 1 - c.bufAt) * size; at+n*size <= int64(len(c.buf)) {
		got = c.buf[at : at+n*size]
	} else if more, err := c.readAt(b[:n*size], (c.next+1)*size); err == nil {
		got = more
	}
	for ; int64(len(got)) >= size; got = got[size:] {
		if u := consumequeue.ParseUnit(got); phy <= u.PhyOffset || isBlank(u) {
			return false
		}
	}
	return n > 0
}

// record looks for the unit of a record with queue offset off.
func (c *queueCheck) record(r *message.Record, off int64, tagsOK func(int64) bool) error {
	phy := r.PhyOffset
	if off == 0 && c.last >= 0 { // the topic was deleted and created again, or its queues were
		c.former += c.missing.n
		c.missing = span{}
	}
	c.last = off
	c.seen++
	for {
		u, ok, err := c.peek()
		if err != nil {
			return err
		}
		switch {
		case ok && isBlank(u.Unit) && c.next < off:
			c.blanks++
			c.next++
			continue
		case ok && isBlank(u.Unit) && c.next == off:
			c.next++
			ok = false
		case ok && !isBlank(u.Unit) && (u.PhyOffset < phy || u.PhyOffset > phy && c.outOfOrder(u.PhyOffset)):
			c.stray(u.Unit)
			continue
		}
		if !ok || u.PhyOffset != phy {
			c.miss(off, r)
			return nil
		}
		c.flushMissing()
		c.flushStrays()
		c.check(u, r, off, tagsOK)
		if consumequeue.IsExtAddress(u.TagsCode) {
			if err := c.ext(u.TagsCode, r, tagsOK); err != nil {
				return err
			}
		}
		c.next++
		c.report.Units++
		return nil
	}
}

func (c *queueCheck) check(u consumequeue.Span, r *message.Record, off int64, tagsOK func(int64) bool) {
	switch {
	case u.Offset != off && (off != 0 || c.batch):
		c.report.damage(c.place(c.next), "unit %d is that of the message with queue offset %d (log %d)", u.Offset, off, u.PhyOffset)
	case u.Size != r.Size:
		c.report.damage(c.place(c.next), "unit %d has size %d, its record at %d has %d", u.Offset, u.Size, u.PhyOffset, r.Size)
	case c.batch && int64(u.Count) != c.count(r):
		c.report.damage(c.place(c.next), "unit %d stands for %d messages, its record at %d has %d", u.Offset, u.Count, u.PhyOffset, c.count(r))
	case !consumequeue.IsExtAddress(u.TagsCode) && !tagsOK(u.TagsCode):
		c.report.damage(c.place(c.next), "unit %d has the wrong tagsCode %d (log %d)", c.next, u.TagsCode, u.PhyOffset)
	}
}

func (c *queueCheck) count(r *message.Record) int64 {
	known := message.ScanKnown(r.Properties)
	return countOf(r, &known)
}

// place is where a unit is.
func (c *queueCheck) place(unit int64) string {
	at := unit * c.unitSize()
	if f := c.find(at); f != nil {
		return c.folder() + "/" + fileName(f.path) + "+" + strconv.FormatInt(at-f.base, 10)
	}
	return c.String()
}

func (c *queueCheck) stray(u consumequeue.Unit) {
	if u.PhyOffset >= c.minPhy { // else its record has expired
		c.flushMissing()
		c.strays.add(c.next, u.PhyOffset, u.PhyOffset+int64(u.Size))
	}
	c.next++
}

func (c *queueCheck) miss(off int64, r *message.Record) {
	c.flushStrays()
	if c.missing.n > 0 && c.missing.last+1 != off {
		c.flushMissing()
	}
	c.missing.add(off, r.PhyOffset, r.PhyOffset+int64(r.Size))
	if c.batch {
		c.missing.last += c.count(r) - 1
	}
}

func (c *queueCheck) flushMissing() {
	if c.missing.n > 0 {
		c.report.damage(c.String(), "%s missing: %d messages in the log at %d..%d",
			c.missing.units(), c.missing.n, c.missing.firstPhy, c.missing.endPhy)
		c.missing = span{}
	}
}

func (c *queueCheck) flushStrays() {
	if c.strays.n > 0 {
		c.report.damage(c.place(c.strays.first), "%s: log %d..%d, where it should lead, has no message of this queue",
			c.strays.units(), c.strays.firstPhy, c.strays.endPhy)
		c.strays = span{}
	}
}

// finish looks at what is left when the log is at its end.
func (c *queueCheck) finish(end int64) error {
	for {
		u, ok, err := c.peek()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch {
		case isBlank(u.Unit):
			c.blanks++
			c.next++
		case u.PhyOffset >= end:
			c.flushMissing()
			c.flushStrays()
			c.report.damage(c.place(c.next), "units %d to %d lead behind the end of the log (%d): the first to %d",
				c.next, c.end-1, end, u.PhyOffset)
			c.next = c.end
		default:
			c.stray(u.Unit)
		}
	}
	c.flushStrays()
	c.flushMissing()
	if c.unfit > 0 {
		c.report.note(c.String(), "%d batches in the log cannot be in a consume queue of this kind: they have no units", c.unfit)
	}
	if c.former > 0 {
		c.report.note(c.String(), "%d older messages in the log have no units: the numbering began anew behind them (topic deleted and created again)", c.former)
	}
	if c.bare > 0 {
		c.report.note(c.String(), "the extensions of %d units are not there: their messages are looked at instead", c.bare)
	}
	if c.blanks > 0 && c.seen > 0 {
		c.report.note(c.String(), "%d blank units: the log does not have their messages", c.blanks)
	}
	return nil
}

// tagsCheck tells whether a tagsCode fits a record.
func tagsCheck(r *message.Record, known *message.Known, levels []time.Duration) func(int64) bool {
	return func(got int64) bool {
		topic := string(r.Topic)
		return got == store.UnitTagsCode(topic, known, r.StoreTimestamp, levels) ||
			// delay levels may have been others when it was stored
			topic == "SCHEDULE_TOPIC_XXXX" && len(known.Delay) > 0 && got >= r.StoreTimestamp
	}
}

// further calls visit for each further queue of a multi-dispatched message, with its offset there.
func further(known *message.Known, visit func(topic string, offset int64) error) error {
	names, offsets := known.MultiDispatch, known.MultiQueueOffset
	for len(names) > 0 && len(offsets) > 0 {
		var name, number []byte
		name, names, _ = bytes.Cut(names, []byte{','})
		number, offsets, _ = bytes.Cut(offsets, []byte{','})
		if off, err := strconv.ParseInt(string(number), 10, 64); err == nil && off >= 0 && len(name) > 0 {
			if err := visit(string(name), off); err != nil {
				return err
			}
		}
	}
	return nil
}
