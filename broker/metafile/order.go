// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metafile

import (
	"iter"
	"slices"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// Sizes of the tables that Java's managers start with; they decide the order of the entries in the files.
const (
	ConfigTable = 2048 // topics and groups
	OffsetTable = 1024 // consumer offsets
)

// Place is where an entry stands in a Java hash table: its spread hash, and the order of insertion among equals.
type Place struct {
	Hash uint32
	Seq  uint64
}

// PlaceOf spreads the String.hashCode of a key.
func PlaceOf(key string, seq uint64) Place {
	h := uint32(message.HashCode(0, key))
	return Place{h ^ h>>16, seq}
}

// InJavaOrder sorts entries as a ConcurrentHashMap iterates over them that began with a table of the given size.
func InJavaOrder[E any](table int, entries []E, place func(E) Place) {
	for len(entries)*4 >= table*3 {
		table *= 2
	}
	mask := uint32(table - 1)
	slices.SortFunc(entries, func(a, b E) int {
		p, q := place(a), place(b)
		if x, y := p.Hash&mask, q.Hash&mask; x != y {
			return int(x) - int(y)
		}
		if p.Seq < q.Seq {
			return -1
		}
		return 1
	})
}

// Table maps names to values and iterates in Java's order, so that a file that a Java broker wrote is written again
// with the same bytes. Reading is a map lookup. It is not safe for concurrent use.
type Table[V any] struct {
	slots map[string]slot[V]
	seq   uint64
}

type slot[V any] struct {
	value V
	place Place
}

// Get returns the value of a name, which may be a view.
func (t *Table[V]) Get(name string) (V, bool) {
	s, ok := t.slots[name]
	return s.value, ok
}

// Set puts a value; the name is kept.
func (t *Table[V]) Set(name string, v V) {
	if t.slots == nil {
		t.slots = map[string]slot[V]{}
	}
	s, ok := t.slots[name]
	if !ok {
		t.seq++
		s.place = PlaceOf(name, t.seq)
	}
	s.value = v
	t.slots[name] = s
}

// Delete removes a name and tells whether it was there.
func (t *Table[V]) Delete(name string) bool {
	_, ok := t.slots[name]
	delete(t.slots, name)
	return ok
}

// Len is the number of entries.
func (t *Table[V]) Len() int { return len(t.slots) }

// All iterates in Java's order.
func (t *Table[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		names := make([]string, 0, len(t.slots))
		for name := range t.slots {
			names = append(names, name)
		}
		InJavaOrder(ConfigTable, names, func(name string) Place { return t.slots[name].place })
		for _, name := range names {
			if !yield(name, t.slots[name].value) {
				return
			}
		}
	}
}

// NextVersion is the version of a table after a change.
func NextVersion(v protocol.DataVersion, now time.Time) protocol.DataVersion {
	return protocol.DataVersion{StateVersion: v.StateVersion, Timestamp: now.UnixMilli(), Counter: v.Counter + 1}
}
