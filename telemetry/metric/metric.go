// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package metric counts, and prints what was counted as Prometheus reads it (text format 0.0.4).
//
// There is no registry. Whoever counts keeps plain numbers and Histograms; when Prometheus asks, or it is time to export,
// it writes them into a Writer, together with what it only finds out then, such as lags:
//
//	w.Counter("rocketmq_messages_in_total", "Messages that producers sent.").Value(12, "topic", "T")
//	w.Histogram("rocketmq_message_size", "Sizes of messages, bytes.").Histogram(sizes, "topic", "T")
//
// So a series lives as long as the thing that it is about, and counting costs an atomic addition or two.
package metric

import (
	"math"
	"sync/atomic"
)

// Histogram counts observations by size. It is safe for concurrent use; observing allocates nothing.
type Histogram struct {
	*Bounds
	counts []atomic.Int64
	sum    atomic.Int64

	least, most atomic.Int64 // observations; of an empty histogram least is above most
}

// Bounds are the upper bounds of a kind of histogram.
type Bounds struct {
	unit  float64
	upper []float64
	raw   []int64  // in the unit of Observe
	texts []string // as the label le shows them
}

// NewBounds makes bounds, ascending. unit says how many of what is observed make one of the printed unit: 1e6 for
// nanoseconds printed as milliseconds.
func NewBounds(unit float64, upper ...float64) *Bounds {
	b := &Bounds{unit: unit, upper: upper}
	for _, u := range upper {
		b.raw = append(b.raw, int64(u*unit))
		b.texts = append(b.texts, javaDouble(u))
	}
	return b
}

// New makes an empty histogram.
func (b *Bounds) New() *Histogram {
	h := &Histogram{Bounds: b, counts: make([]atomic.Int64, len(b.raw)+1)}
	h.least.Store(math.MaxInt64)
	h.most.Store(math.MinInt64)
	return h
}

// Observe counts one observation.
func (h *Histogram) Observe(v int64) {
	i := 0
	for i < len(h.raw) && v > h.raw[i] {
		i++
	}
	for l := h.least.Load(); v < l && !h.least.CompareAndSwap(l, v); l = h.least.Load() {
	}
	for m := h.most.Load(); v > m && !h.most.CompareAndSwap(m, v); m = h.most.Load() {
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

// Extremes are the least and the greatest observation, in the printed unit; ok is false when there was none.
func (h *Histogram) Extremes() (least, most float64, ok bool) {
	l, m := h.least.Load(), h.most.Load()
	return float64(l) / h.unit, float64(m) / h.unit, l <= m
}

// Count is how many observations there were.
func (h *Histogram) Count() (n int64) {
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// Sum is the sum of all observations, in the unit of Observe.
func (h *Histogram) Sum() int64 { return h.sum.Load() }

// Total is the sum of all observations, in the printed unit.
func (h *Histogram) Total() float64 { return float64(h.sum.Load()) / h.unit }

// Buckets are the bounds, in the printed unit, and how many observations there were up to each and not up to the one
// before; the last number is of those beyond all bounds. The bounds are not the caller's.
func (h *Histogram) Buckets() (upper []float64, counts []int64) {
	counts = make([]int64, len(h.counts))
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
	}
	return h.upper, counts
}

// javaDouble prints a bound as Java prints a double: 5.0. Prometheus 2 compares the label's text.
func javaDouble(f float64) string {
	text := string(appendNumber(nil, f))
	if f == math.Trunc(f) && math.Abs(f) < 1e7 {
		text += ".0"
	}
	return text
}
