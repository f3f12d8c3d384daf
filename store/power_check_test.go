// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rocketmq-go/store/consumequeue"
)

// checkPromises holds what is on the disk against the checkpoint on it.
func (p *powerTest) checkPromises() {
	cp, err := os.ReadFile(filepath.Join(p.disk.Root, "checkpoint"))
	if err != nil || len(cp) < 24 || p.clockBack {
		return
	}
	physic, logics := int64(binary.BigEndian.Uint64(cp)), int64(binary.BigEndian.Uint64(cp[8:]))
	firstLog := p.firstOnDisk("commitlog")
	began := p.began()
	for _, m := range p.all {
		if m.phy < firstLog {
			continue
		}
		if m.time < physic && p.lostOnDisk(m) { // of one millisecond there may be some that are not
			p.fail("physicMsgTimestamp is %d, the record at %d of %d is not on disk", physic, m.phy, m.time)
		}
		if m.time >= min(physic, logics) || !m.queued || p.isDeleted(m) || m.phy < began[place{m.topic, m.queueID}] { // units of what the log may lose go with it
			continue
		}
		if !p.unitOnDisk(m) {
			p.fail("logicsMsgTimestamp is %d, the unit %d of %s-%d of %d (record at %d) is not on disk; checkpoint %x", logics, m.offset, m.topic, m.queueID, m.time, m.phy, cp[:usedSize])
		}
	}
}

func (p *powerTest) firstOnDisk(dir string) int64 {
	entries, _ := os.ReadDir(filepath.Join(p.disk.Root, dir))
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// queueText is what a queue should have, and when its topic was deleted.
func (p *powerTest) queueText(topic string, id int32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the log begins at %d, the topic was deleted at %d; records:", p.s.MinPhyOffset(), p.deleted[topic])
	for _, m := range p.all {
		if m.topic == topic && m.queueID == id && m.queued {
			fmt.Fprintf(&b, " %d@%d", m.offset, m.phy)
		}
	}
	return b.String()
}

// isDeleted tells whether the topic was, or may have been, deleted behind a message.
func (p *powerTest) isDeleted(m *stored) bool {
	return m.phy < max(p.deleted[m.topic], p.deleting[m.topic])
}

// place is a queue.
type place struct {
	topic string
	id    int32
}

// began tells where in the log the numbers of queues begin that have begun anew: the master of this store has deleted their
// topics. If a power failure has taken the record there, what the queue has of older ones is anybody's guess until the record
// comes again.
func (p *powerTest) began() map[place]int64 {
	began, next := make(map[place]int64), make(map[place]int64)
	if p.master == nil {
		return began
	}
	for _, m := range p.master.all {
		if m.phy >= p.copied {
			break
		}
		if at := (place{m.topic, m.queueID}); m.queued {
			if m.offset < next[at] {
				began[at] = m.phy
			}
			next[at] = m.offset + m.count
		}
	}
	return began
}

// check holds a store that was just opened against what was put: all below promised must be there.
func (p *powerTest) check(promised int64) {
	p.t.Helper()
	s := p.s
	end := s.cl.End()
	kept := p.all[:0:0]
	for _, m := range p.all {
		if m.end() <= end {
			kept = append(kept, m)
			continue
		}
		if m.end() <= promised {
			p.fail("the record at %d is gone, the log ends at %d, %d was promised", m.phy, end, promised)
		}
	}
	p.all = kept
	for topic := range p.deleting {
		was := p.deleted[topic]
		is := s.gone.before[topic]
		if is != min(was, end) && is != min(p.deleting[topic], end) && is != 0 {
			p.fail("topic %s deleted at %d, it was %d", topic, is, was)
		}
		if is < min(was, end) && was > s.cl.Min() {
			p.fail("the deletion of %s at %d is forgotten: %d", topic, was, is)
		}
		p.deleted[topic] = is
		p.deleting[topic] = is
	}
	first := max(s.MinPhyOffset(), 0)
	next, began := make(map[place]int64), p.began()
	expect := func(m *stored, topic string, id int32, offset, count int64) {
		if m.phy < p.deleted[topic] || m.phy < began[place{topic, id}] {
			return
		}
		for n := offset; n < offset+count; n += max(count-1, 1) {
			u, ok := s.Unit(topic, id, n)
			if !ok || u.PhyOffset != m.phy || int64(u.Size) != m.size {
				p.fail("unit %d of %s-%d is %+v (%v), the record is at %d; the queue is [%d, %d), %s", n, topic, id, u, ok, m.phy,
					s.MinOffset(topic, id), s.MaxOffset(topic, id), p.queueText(topic, id))
			}
		}
		at := place{topic, id}
		if n, ok := next[at]; ok && n != offset {
			p.fail("%s-%d: unit %d follows %d", topic, id, offset, n-1)
		} else if !ok && s.MinOffset(topic, id) != offset {
			p.fail("%s-%d begins at %d, its first record has %d", topic, id, s.MinOffset(topic, id), offset)
		}
		next[at] = offset + count
	}
	pos := first
	for _, m := range p.all {
		if m.phy < first {
			continue
		}
		if m.phy != pos && m.phy != s.cl.NextFile(pos) {
			p.fail("there is no record at %d, the next one is at %d", pos, m.phy)
		}
		pos = m.end()
		raw, ok := s.Record(nil, m.phy, 0)
		if !ok || string(raw) != string(m.raw) {
			p.fail("the record at %d is not what was put (%v)", m.phy, ok)
		}
		if m.queued {
			expect(m, m.topic, m.queueID, m.offset, m.count)
			for i, topic := range m.further {
				expect(m, topic, 0, m.furtherOffsets[i], 1)
			}
			if m.phy >= began[place{m.topic, m.queueID}] {
				p.checkExt(m)
			}
		}
		if !m.rolledBack && p.indexed {
			if hits := s.QueryIndex(m.topic, m.key, 64, 0, math.MaxInt64).PhyOffsets; len(hits) != 1 || hits[0] != m.phy {
				p.fail("the key of the record at %d finds %v; index files %+v, indexMsgTimestamp %d, safe %v", m.phy, hits, s.ix.Headers(), s.cp.index.Load(), p.cfg.IndexSafe)
			}
		}
	}
	if end != pos && end != s.cl.NextFile(pos) {
		p.fail("the log ends at %d, the last record at %d", end, pos)
	}
	for key, q := range s.queues {
		if began[place(key)] >= end {
			continue
		}
		if n, ok := next[place(key)]; ok && q.Max() != n || !ok && q.Max() != q.Min() {
			p.fail("%s-%d is [%d, %d), expected its end at %d", key.topic, key.id, q.Min(), q.Max(), n)
		}
	}
}

// checkExt looks at the extension of a message's unit. One that leads nowhere costs a look at the message, one that leads
// to another message's loses it.
func (p *powerTest) checkExt(m *stored) {
	q := p.s.lookup(m.topic, m.queueID)
	if q == nil || m.batch || m.phy < p.deleted[m.topic] {
		return
	}
	u, ok := q.Queue.Unit(m.offset)
	if !ok || !consumequeue.IsExtAddress(u.TagsCode) {
		return
	}
	if x, ok := p.s.Ext(m.topic, m.queueID, m.offset); !ok || !m.sameExt(x) {
		p.fail("unit %d of %s-%d (record at %d of %d) leads to the extension %d %.20q (%v) at %d, its message has %.20q", m.offset, m.topic, m.queueID,
			m.phy, m.time, x.StoreTime, x.BitMap, ok, consumequeue.ExtPosition(u.TagsCode), m.ext.BitMap)
	}
}
