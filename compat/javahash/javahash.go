// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package javahash computes Java's hash codes and the order in which Java's hash maps are iterated. That order shows
// in property strings, extFields and JSON texts; no reader depends on it, but with it the same data become the same
// bytes.
package javahash

import (
	"math/bits"
	"slices"
	"unicode/utf8"
)

// String is String.hashCode: 31·h + c over the UTF-16 code units of s.
func String(s string) int32 {
	var h int32
	for _, r := range s {
		switch {
		case r == utf8.RuneError:
			h = 31*h + 0xfffd
		case r > 0xffff:
			r -= 0x10000
			h = 31*h + 0xd800 + r>>10
			h = 31*h + 0xdc00 + r&0x3ff
		default:
			h = 31*h + r
		}
	}
	return h
}

// Long is Long.hashCode.
func Long(n int64) int32 { return int32(n ^ n>>32) }

// spread is how both maps mix a hash code before they choose a bucket.
func spread(h int32) uint32 { return uint32(h) ^ uint32(h)>>16 }

// DefaultCapacity is the table size of a map that was made without one.
const DefaultCapacity = 16

// tableSize rounds a capacity up to a power of two, as both maps do.
func tableSize(capacity int) int {
	if capacity <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(capacity-1))
}

// SortHashMap puts list, which is in the order of insertion, into the order of a HashMap that was made with capacity.
// A bucket keeps the order of insertion. (Buckets of eight and more become trees, which keep it in practice, too.)
func SortHashMap[T any](list []T, hash func(T) int32, capacity int) {
	size := tableSize(capacity)
	for 4*len(list) > 3*size { // grows when more than three quarters full
		size *= 2
	}
	mask := uint32(size - 1)
	slices.SortStableFunc(list, func(a, b T) int {
		return int(spread(hash(a))&mask) - int(spread(hash(b))&mask)
	})
}

// SortConcurrentHashMap does the same for a ConcurrentHashMap. Pass DefaultCapacity for one made without capacity.
// Each time such a map grows it turns part of every bucket around, so the growth is replayed.
func SortConcurrentHashMap[T any](list []T, hash func(T) int32, capacity int) {
	size := DefaultCapacity
	if capacity != DefaultCapacity { // a given capacity is taken as the number of entries to expect
		size = tableSize(capacity + capacity/2 + 1)
	}
	type node struct {
		hash  uint32
		value T
	}
	buckets := make([][]node, size)
	for n, v := range list {
		h := spread(hash(v)) & 0x7fffffff
		i := h & uint32(len(buckets)-1)
		buckets[i] = append(buckets[i], node{h, v})
		if 4*(n+1) < 3*len(buckets) {
			continue
		}
		grown := make([][]node, 2*len(buckets))
		for i, bucket := range buckets {
			low, high := &grown[i], &grown[i+len(buckets)]
			half := func(k int) *[]node {
				if bucket[k].hash&uint32(len(buckets)) == 0 {
					return low
				}
				return high
			}
			// The last run of nodes that go to the same half stays as it is; those before it are put in front one by one.
			run := len(bucket) - 1
			for run > 0 && half(run-1) == half(run) {
				run--
			}
			for k := run - 1; k >= 0; k-- {
				*half(k) = append(*half(k), bucket[k])
			}
			if run >= 0 {
				*half(run) = append(*half(run), bucket[run:]...)
			}
		}
		buckets = grown
	}
	out := list[:0]
	for _, bucket := range buckets {
		for _, n := range bucket {
			out = append(out, n.value)
		}
	}
}
