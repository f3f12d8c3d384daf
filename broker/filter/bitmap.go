// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"slices"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/store"
)

// Bit maps: with enableCalcFilterBitMap each message of a topic for which expressions are registered gets a bit map when
// it is dispatched, in consumequeue_ext, with the bits of all expressions that it matches. A pull of one of these groups
// then passes over the messages that lack one of its bits without reading them. What has them is looked at as ever: bits
// may be those of other groups.
//
// A missing bit says nothing of messages that were dispatched when the expression was not registered. They are told by
// their store time: an expression is born at the store time of the newest message that was dispatched without it, or later.

// registered is the matcher of a registered expression.
type registered struct {
	sqlMatcher
	bits []int32
	size int   // bits of a map
	born int64 // store time (ms) of messages behind which all bit maps know the expression
}

// MatchExt is false if the bit map of a message says that the expression does not match it.
func (m *registered) MatchExt(x store.ExtUnit) bool {
	if x.StoreTime <= m.born || len(x.BitMap)*8 != m.size {
		return true
	}
	for _, bit := range m.bits {
		if x.BitMap[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// BitMap appends the bit map of a message that is being dispatched to dst; nothing if no expression is registered for its
// topic. Expressions of absent groups count: those may come back. One goroutine at a time.
func (t *Table) BitMap(dst []byte, topic string, properties []byte, storeTime int64) []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if storeTime > t.newest.Load() {
		t.newest.Store(storeTime)
	}
	f := t.topics[topic]
	if f == nil {
		return dst
	}
	n := len(dst)
	dst = slices.Grow(dst, t.bloom.size/8)[:n+t.bloom.size/8]
	bitMap := dst[n:]
	clear(bitMap)
	for _, e := range f.groups {
		if m := e.data.registered; m.MatchRecord(properties) {
			for _, bit := range m.bits {
				bitMap[bit/8] |= 1 << (bit % 8)
			}
		}
	}
	return dst
}

// Opened tells what the store found when it was opened: the store time (ms) of its newest message, and whether it had been
// stopped cleanly. After a crash the file may be older than the bit maps, which may then be those of other expressions:
// only what comes from now on counts. Nothing may be registered before.
func (t *Table) Opened(newest int64, clean bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest.Store(max(newest, t.newest.Load()))
	if clean && t.current {
		return
	}
	now := max(t.o.Now().UnixMilli(), t.newest.Load())
	for _, f := range t.topics {
		for _, e := range f.groups {
			d := *e.data
			d.body.DeadTime = max(d.body.DeadTime, now)
			e.data = d.bornAt(now)
			t.writer.Changed()
		}
	}
}

// JSON is the data as code 321 shows it.
func (d *Data) JSON() []byte {
	b := d.body
	b.Dead = d.dead()
	return fastjson.Options{Pretty: true}.Marshal(&b)
}

// bornAt is d with another time of birth.
func (d *Data) bornAt(ms int64) *Data {
	n, m := *d, *d.registered
	m.born, n.body.BornTime = ms, ms
	n.registered, n.Matcher = &m, &m
	return &n
}
