// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metric

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text is a Sink that prints samples as Prometheus reads them. The zero value is empty.
type Text struct {
	buf    []byte
	name   string // of the family
	common string // labels of every sample, encoded
}

// NewText makes a Text with room for some bytes.
func NewText(room int) *Text { return &Text{buf: make([]byte, 0, room)} }

// Bytes is what was written so far.
func (t *Text) Bytes() []byte { return t.buf }

// Labels sets what every following sample has.
func (t *Text) Labels(pairs []string) {
	t.common = ""
	t.common = t.labels(pairs)
}

// Family writes what stands before a family's first sample.
func (t *Text) Family(name, help string, kind Kind) {
	t.name = name
	b := append(append(append(t.buf, "# HELP "...), name...), ' ')
	b = append(append(b, escape(help, false)...), '\n')
	b = append(append(append(b, "# TYPE "...), name...), ' ')
	t.buf = append(append(b, kind...), '\n')
}

// Value writes a sample.
func (t *Text) Value(v float64, pairs []string) { t.sample("", t.labels(pairs), "", v) }

// Histogram writes the samples of a histogram.
func (t *Text) Histogram(h *Histogram, pairs []string) {
	labels := t.labels(pairs)
	var n int64
	for i, bound := range h.texts {
		n += h.counts[i].Load()
		t.sample("_bucket", labels, bound, float64(n))
	}
	n += h.counts[len(h.texts)].Load()
	t.sample("_bucket", labels, "+Inf", float64(n))
	t.sample("_sum", labels, "", h.Total())
	t.sample("_count", labels, "", float64(n))
}

func (t *Text) labels(pairs []string) string {
	if len(pairs) == 0 {
		return t.common
	}
	b := make([]byte, 0, 256)
	b = append(b, t.common...)
	for i := 0; i+1 < len(pairs); i += 2 {
		b = appendLabel(b, pairs[i], pairs[i+1])
	}
	return string(b)
}

func (t *Text) sample(suffix, labels, le string, v float64) {
	b := append(append(t.buf, t.name...), suffix...)
	if labels != "" || le != "" {
		b = append(append(b, '{'), labels...)
		if le != "" {
			b = appendLabel(b, "le", le)
		}
		b[len(b)-1] = '}' // in place of the last comma
	}
	t.buf = append(appendNumber(append(b, ' '), v), '\n')
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
