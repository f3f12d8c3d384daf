// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metric

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Writer prints samples. Samples of one name must be written one after the other.
type Writer struct {
	buf    []byte
	common string // labels of every sample, encoded
}

// NewWriter makes a Writer with room for some bytes.
func NewWriter(room int) *Writer { return &Writer{buf: make([]byte, 0, room)} }

// Labels sets labels, as name, value, …, that every following sample has.
func (w *Writer) Labels(pairs ...string) {
	var b []byte
	for i := 0; i+1 < len(pairs); i += 2 {
		b = appendLabel(b, pairs[i], pairs[i+1])
	}
	w.common = string(b)
}

// Bytes is what was written so far.
func (w *Writer) Bytes() []byte { return w.buf }

// Family writes samples of one name.
type Family struct {
	w          *Writer
	name, help string
	kind       string
	begun      bool
}

// Gauge begins the samples of a value that goes up and down.
func (w *Writer) Gauge(name, help string) *Family { return w.family(name, help, "gauge") }

// Counter begins the samples of a value that only goes up. Its name ends in _total.
func (w *Writer) Counter(name, help string) *Family { return w.family(name, help, "counter") }

// Histogram begins the samples of histograms.
func (w *Writer) Histogram(name, help string) *Family { return w.family(name, help, "histogram") }

func (w *Writer) family(name, help, kind string) *Family {
	return &Family{w: w, name: name, help: help, kind: kind}
}

// begin writes what stands before the first sample; a family without samples leaves no trace.
func (f *Family) begin() {
	if f.begun {
		return
	}
	f.begun = true
	b := f.w.buf
	b = append(append(append(b, "# HELP "...), f.name...), ' ')
	b = append(append(b, escape(f.help, false)...), '\n')
	b = append(append(append(b, "# TYPE "...), f.name...), ' ')
	f.w.buf = append(append(b, f.kind...), '\n')
}

// Value writes a sample with labels given as name, value, ….
func (f *Family) Value(v float64, pairs ...string) {
	f.begin()
	f.w.sample(f.name, "", f.w.labels(pairs), "", v)
}

// Histogram writes the samples of a histogram.
func (f *Family) Histogram(h *Histogram, pairs ...string) {
	f.begin()
	labels := f.w.labels(pairs)
	var n int64
	for i, bound := range h.texts {
		n += h.counts[i].Load()
		f.w.sample(f.name, "_bucket", labels, bound, float64(n))
	}
	n += h.counts[len(h.texts)].Load()
	f.w.sample(f.name, "_bucket", labels, "+Inf", float64(n))
	f.w.sample(f.name, "_sum", labels, "", float64(h.sum.Load())/h.unit)
	f.w.sample(f.name, "_count", labels, "", float64(n))
}

func (w *Writer) labels(pairs []string) string {
	if len(pairs) == 0 {
		return w.common
	}
	b := make([]byte, 0, 256)
	b = append(b, w.common...)
	for i := 0; i+1 < len(pairs); i += 2 {
		b = appendLabel(b, pairs[i], pairs[i+1])
	}
	return string(b)
}

func (w *Writer) sample(name, suffix, labels, le string, v float64) {
	b := append(append(w.buf, name...), suffix...)
	if labels != "" || le != "" {
		b = append(append(b, '{'), labels...)
		if le != "" {
			b = appendLabel(b, "le", le)
		}
		b[len(b)-1] = '}' // in place of the last comma
	}
	w.buf = append(appendNumber(append(b, ' '), v), '\n')
}

func appendLabel(b []byte, name, value string) []byte {
	b = append(append(b, name...), '=', '"')
	return append(append(b, escape(value, true)...), '"', ',')
}

var (
	escapeText  = strings.NewReplacer("\\", "\\\\", "\n", "\\n")
	escapeLabel = strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\"", "\\\"")
)

func escape(s string, label bool) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if label {
		return escapeLabel.Replace(s)
	}
	return escapeText.Replace(s)
}

func appendNumber(b []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
