// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"strconv"
	"strings"
	"testing/synctest"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
)

// topic is one of three with ordinary queues, or of two with batch queues.
func (p *powerTest) topic() string {
	return [...]string{"T0", "T1", "T2", "B0", "B1"}[p.rng.IntN(5)]
}

// bitMap is what filters make of a message in these tests: of any length, and no two messages have the same.
func bitMap(dst []byte, _ string, props []byte, _ int64) []byte {
	key := string(message.ScanKnown(props).UniqKey)
	n, _ := strconv.Atoi(key[1:])
	if n%7 == 0 {
		return dst
	}
	return append(dst, strings.Repeat(key+" ", 1+n*n%97)...)
}

// put stores something: a message, an inner batch, or a batch that becomes several records.
func (p *powerTest) put() {
	p.now += p.rng.Int64N(1500)
	topic, id := p.topic(), p.rng.Int32N(2)
	before := len(p.s.pending)
	st := &stored{topic: topic, queueID: id, queued: true, count: 1, batch: topic[0] == 'B' && !p.cfg.Compat49}
	switch n := p.rng.IntN(8); {
	case n == 0:
		p.putBatch(st)
	case st.batch && n < 6:
		st.count = 1 + p.rng.Int64N(40)
		key, props := p.properties()
		st.key = key
		p.s.Put(inner(topic, id, int(st.count), props), func(PutResult) {})
	default:
		p.putOne(st)
	}
	synctest.Wait() // the log's helper may be at work, and the power fail there
	entries := p.s.pending[before:]
	if len(entries) == 0 {
		p.fail("refused: a message for %s", topic)
	}
	for _, e := range entries {
		p.all = append(p.all, p.appended(*st, e))
		p.step("put %d+%d", e.phyOffset, e.size)
	}
}

// properties are those of the next message, and its key.
func (p *powerTest) properties() (key, props string) {
	p.nextSeed++
	key = fmt.Sprint("u", p.nextSeed)
	return key, fmt.Sprintf("UNIQ_KEY\x01%s\x02KEYS\x01k%d\x02TAGS\x01t%d\x02", key, p.nextSeed%5, p.nextSeed%3)
}

func (p *powerTest) body() string { return strings.Repeat("b", p.rng.IntN(1<<p.rng.IntN(12))) }

func (p *powerTest) putOne(st *stored) {
	m := newMessage(st.topic, st.queueID, p.body(), "")
	_, props := p.properties()
	switch p.rng.IntN(12) {
	case 0:
		props += "INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"
	case 1:
		m.SysFlag, st.queued = message.SysPrepared, false
	case 2:
		m.SysFlag, st.queued, st.rolledBack = message.SysRollback, false, true
	case 3:
		props += "WAIT\x01false\x02"
	}
	m.Properties = []byte(props)
	p.s.Put(m, func(PutResult) {})
}

func (p *powerTest) putBatch(st *stored) {
	m := newMessage(st.topic, st.queueID, "", "")
	m.Body = nil
	for range 1 + p.rng.IntN(5) {
		_, props := p.properties()
		m.Body = message.AppendBatchEntry(m.Body, 0, []byte(p.body()), []byte(props))
	}
	p.s.PutBatch(m, func(PutResult) {})
}

// appended is a record that is in the log now.
func (p *powerTest) appended(st stored, e entry) *stored {
	raw, ok := p.s.Record(nil, e.phyOffset, e.size)
	if !ok {
		p.fail("the record at %d cannot be read", e.phyOffset)
	}
	st.raw, st.phy, st.size, st.offset, st.time = raw, e.phyOffset, int64(e.size), e.queueOffset, e.storeTime
	r, err := message.ParseRecord(raw)
	if err != nil {
		p.fail("%v", err)
	}
	known := message.ScanKnown(r.Properties)
	st.key = string(known.UniqKey)
	if len(known.MultiDispatch) > 0 && !st.batch {
		st.further = strings.Split(string(known.MultiDispatch), ",")
		for _, n := range strings.Split(string(known.MultiQueueOffset), ",") {
			offset, _ := strconv.ParseInt(n, 10, 64)
			st.furtherOffsets = append(st.furtherOffsets, offset)
		}
	}
	if !st.batch {
		st.ext = ExtUnit{TagsCode: message.TagsCode(known.Tags), StoreTime: e.storeTime, BitMap: bitMap(nil, st.topic, r.Properties, e.storeTime)}
	}
	return &st
}

// sameExt tells whether the extension of a unit is that of its message.
func (m *stored) sameExt(x ExtUnit) bool {
	return x.TagsCode == m.ext.TagsCode && x.StoreTime == m.ext.StoreTime && string(x.BitMap) == string(m.ext.BitMap)
}

// unitOnDisk is the unit of a message as the disk has it, with what its extension is there; false if it is not there.
func (p *powerTest) unitOnDisk(m *stored) bool {
	if m.batch {
		return p.batchOnDisk(m)
	}
	queue := fmt.Sprintf("%s/%d", m.topic, m.queueID)
	b := p.diskBytes("consumequeue/"+queue, m.offset*consumequeue.UnitSize, consumequeue.UnitSize, p.cfg.ConsumeQueueFileSize)
	if b == nil {
		return false
	}
	u := consumequeue.ParseUnit(b)
	if u.PhyOffset != m.phy || !consumequeue.IsExtAddress(u.TagsCode) {
		return u.PhyOffset == m.phy
	}
	b = p.diskBytes("consumequeue_ext/"+queue, consumequeue.ExtPosition(u.TagsCode), m.ext.Size(), p.cfg.ExtFileSize)
	x, _, ok := consumequeue.ParseExtUnit(b)
	return ok && m.sameExt(x)
}

// batchOnDisk looks for the unit of a batch, whose number nobody knows.
func (p *powerTest) batchOnDisk(m *stored) bool {
	dir := fmt.Sprintf("batchconsumequeue/%s/%d", m.topic, m.queueID)
	for at := p.firstOnDisk(dir); ; at += p.cfg.BatchQueueFileSize {
		b := p.diskBytes(dir, at, int(p.cfg.BatchQueueFileSize), p.cfg.BatchQueueFileSize)
		if b == nil {
			return false
		}
		for ; len(b) > 0; b = b[consumequeue.BatchUnitSize:] {
			if u := consumequeue.ParseBatchUnit(b); u.InUse() && u.PhyOffset == m.phy {
				return u.Offset == m.offset && int64(u.Count) == m.count
			}
		}
	}
}
