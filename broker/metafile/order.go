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
	mask := uint32(grown(table, len(entries)) - 1)
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

// grown is the size of a Java hash table with n entries that began with a size.
func grown(size, n int) int {
	for n*4 >= size*3 {
		size *= 2
	}
	return size
}

// Table maps names to values and iterates in Java's order, so that a file that a Java broker wrote is written again
// with the same bytes: it has Java's buckets. It is not safe for concurrent use.
type Table[V any] struct {
	slots   map[string]*slot[V]
	buckets []*slot[V] // the first of each
	seq     uint64
}

type slot[V any] struct {
	name  string
	value V
	place Place
	next  *slot[V] // of the same bucket, in the order of insertion
}

// Get returns the value of a name, which may be a view.
func (t *Table[V]) Get(name string) (v V, ok bool) {
	if s := t.slots[name]; s != nil {
		return s.value, true
	}
	return v, false
}

// Set puts a value; the name is kept.
func (t *Table[V]) Set(name string, v V) {
	if s := t.slots[name]; s != nil {
		s.value = v
		return
	}
	if t.slots == nil {
		t.slots = map[string]*slot[V]{}
	}
	t.seq++
	s := &slot[V]{name: name, value: v, place: PlaceOf(name, t.seq)}
	t.slots[name] = s
	if !t.fit() {
		t.chain(s)
	}
}

// fit makes as many buckets as Java would have; false: they were as many.
func (t *Table[V]) fit() bool {
	size := grown(ConfigTable, len(t.slots))
	if size == len(t.buckets) {
		return false
	}
	t.buckets = make([]*slot[V], size)
	for _, s := range t.slots {
		s.next = nil
	}
	for _, s := range t.slots {
		t.chain(s)
	}
	return true
}

func (t *Table[V]) bucket(p Place) **slot[V] { return &t.buckets[p.Hash&uint32(len(t.buckets)-1)] }

// chain puts a slot into its bucket.
func (t *Table[V]) chain(s *slot[V]) {
	at := t.bucket(s.place)
	for *at != nil && (*at).place.Seq < s.place.Seq {
		at = &(*at).next
	}
	s.next, *at = *at, s
}

// Delete removes a name and tells whether it was there.
func (t *Table[V]) Delete(name string) bool {
	s := t.slots[name]
	if s == nil {
		return false
	}
	at := t.bucket(s.place)
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
	delete(t.slots, name)
	t.fit()
	return true
}

// Len is the number of entries.
func (t *Table[V]) Len() int { return len(t.slots) }

// All iterates in Java's order.
func (t *Table[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, s := range t.buckets {
			for ; s != nil; s = s.next {
				if !yield(s.name, s.value) {
					return
				}
			}
		}
	}
}

// NextVersion is the version of a table after a change.
func NextVersion(v protocol.DataVersion, now time.Time) protocol.DataVersion {
	return protocol.DataVersion{StateVersion: v.StateVersion, Timestamp: now.UnixMilli(), Counter: v.Counter + 1}
}

// supersedingSteps is more than a version makes between two copies of its table.
const supersedingSteps = 1000

// Superseding is a version that counts as newer than those of all copies of a table, of this one and of the one that it is a
// copy of.
func Superseding(v protocol.DataVersion, now time.Time) protocol.DataVersion {
	v = NextVersion(v, now)
	v.Counter += supersedingSteps
	return v
}
