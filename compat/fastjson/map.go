// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"iter"
	"reflect"
	"slices"

	"rocketmq-go/compat/javahash"
)

// indexFrom is the length from which a Map keeps an index; below it a scan is as fast.
const indexFrom = 8

// Map is a map that keeps the order in which its keys were first set, so that a decoded object is printed in the
// same order again. The zero Map is Java's null, it becomes a map with Set, Clear or by decoding "{}".
// It is not safe for concurrent use. Copies share their entries until one of them is changed: copy with Clone.
type Map[K comparable, V any] struct {
	entries []entry[K, V]
	index   map[K]int
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// MapOf makes an empty, non-null Map with room for n entries.
func MapOf[K comparable, V any](n int) Map[K, V] {
	m := Map[K, V]{entries: []entry[K, V]{}}
	m.Grow(n)
	return m
}

// Grow makes room for n more entries.
func (m *Map[K, V]) Grow(n int) {
	m.entries = slices.Grow(m.entries, n)
	if n > indexFrom && m.index == nil {
		m.makeIndex(len(m.entries) + n)
	}
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// IsNil tells whether the map is Java's null rather than empty.
func (m *Map[K, V]) IsNil() bool { return m.entries == nil }

func (m *Map[K, V]) find(key K) int {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range m.entries {
		if m.entries[i].key == key {
			return i
		}
	}
	return -1
}

// Get returns the value of key, or the zero value and false.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	if i := m.find(key); i >= 0 {
		return m.entries[i].value, true
	}
	return value, false
}

// Set puts a value; a key that is there keeps its place.
func (m *Map[K, V]) Set(key K, value V) {
	if i := m.find(key); i >= 0 {
		m.entries[i].value = value
		return
	}
	m.entries = append(m.entries, entry[K, V]{key, value})
	if m.index != nil {
		m.index[key] = len(m.entries) - 1
	} else if len(m.entries) > indexFrom {
		m.reindex()
	}
}

// Delete removes key and tells whether it was there. It takes time proportional to the length.
func (m *Map[K, V]) Delete(key K) bool {
	i := m.find(key)
	if i < 0 {
		return false
	}
	m.entries = append(m.entries[:i], m.entries[i+1:]...)
	m.reindex()
	return true
}

// Clear makes the map empty and non-null.
func (m *Map[K, V]) Clear() {
	m.entries = []entry[K, V]{}
	m.index = nil
}

// All iterates in order. The map must not change meanwhile.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for i := range m.entries {
			if !yield(m.entries[i].key, m.entries[i].value) {
				return
			}
		}
	}
}

// Clone copies the entries (the values themselves are not copied deeply).
func (m *Map[K, V]) Clone() Map[K, V] {
	if m.entries == nil {
		return Map[K, V]{}
	}
	c := Map[K, V]{entries: append(make([]entry[K, V], 0, len(m.entries)), m.entries...)}
	c.reindex()
	return c
}

func (m *Map[K, V]) reindex() {
	if len(m.entries) <= indexFrom {
		m.index = nil
		return
	}
	m.makeIndex(len(m.entries))
}

func (m *Map[K, V]) makeIndex(room int) {
	m.index = make(map[K]int, room)
	for i := range m.entries {
		m.index[m.entries[i].key] = i
	}
}

// SortHashMap puts the entries, which are in the order of insertion, into the order of a HashMap that Java made with
// capacity. Keys are strings, integers or have a HashCode.
func (m *Map[K, V]) SortHashMap(capacity int) {
	javahash.SortHashMap(m.entries, hashOf[K, V], capacity)
	m.reindex()
}

// SortConcurrentHashMap does the same for a ConcurrentHashMap.
func (m *Map[K, V]) SortConcurrentHashMap(capacity int) {
	javahash.SortConcurrentHashMap(m.entries, hashOf[K, V], capacity)
	m.reindex()
}

func hashOf[K comparable, V any](e entry[K, V]) int32 {
	switch k := any(e.key).(type) {
	case string:
		return javahash.String(k)
	case int32:
		return k
	case int64:
		return javahash.Long(k)
	case interface{ HashCode() int32 }:
		return k.HashCode()
	}
	return javahash.String(reflect.ValueOf(e.key).String()) // string types
}
