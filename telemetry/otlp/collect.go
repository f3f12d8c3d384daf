// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"strings"
	"time"
	"unicode/utf8"

	"rocketmq-go/telemetry/metric"
)

// collect asks everybody who counts. start is since when sums are summed up.
func collect(from []func(*metric.Writer), start, now time.Time) *Batch {
	s := &sink{batch: &Batch{}, start: uint64(start.UnixNano()), now: uint64(now.UnixNano())}
	w := metric.NewWriter(s)
	for _, f := range from {
		w.Labels()
		f(w)
	}
	return s.batch
}

// sink is a metric.Sink that makes a batch.
type sink struct {
	batch      *Batch
	start, now uint64

	scope     string
	common    []attribute
	in        *scopeMetrics // nil: the scope has no families yet
	family    *family
	fractions bool // its numbers may have some
}

// scopeLabel is the label by which Prometheus' text names the scope.
const scopeLabel = "otel_scope_name"

func (s *sink) Labels(pairs []string) {
	s.scope, s.common, s.in = "", nil, nil
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == scopeLabel {
			s.scope = pairs[i+1]
		} else {
			s.common = append(s.common, attributeOf(pairs[i], pairs[i+1]))
		}
	}
}

func (s *sink) Family(name, help string, kind metric.Kind) {
	if s.in == nil {
		s.in = &scopeMetrics{Scope: scope{s.scope}}
		s.batch.Scopes = append(s.batch.Scopes, s.in)
	}
	i := instrumentOf(name)
	s.fractions = i.fractions
	s.family = &family{Name: i.name, Unit: i.unit, Description: help}
	switch kind {
	case metric.KindGauge:
		s.family.Gauge = &data{}
	case metric.KindCounter:
		s.family.Sum = &data{Temporality: cumulative, Monotonic: true}
	case metric.KindHistogram:
		s.family.Histogram = &data{Temporality: cumulative}
	}
	s.in.Metrics = append(s.in.Metrics, s.family)
}

func (s *sink) Value(v float64, pairs []string) { s.point(pairs).set(v, s.fractions) }

func (s *sink) Histogram(h *metric.Histogram, pairs []string) {
	p := s.point(pairs)
	upper, counts := h.Buckets()
	sum := h.Total()
	p.Sum, p.Bounds, p.Counts = &sum, upper, make([]count, len(counts))
	for i, n := range counts {
		p.Counts[i] = count(n)
		p.Count += uint64(n)
	}
	if least, most, ok := h.Extremes(); ok {
		p.Min, p.Max = &least, &most
	}
}

func (s *sink) point(pairs []string) *point {
	p := &point{Start: s.start, Time: s.now, Attributes: make([]attribute, len(s.common), len(s.common)+len(pairs)/2)}
	copy(p.Attributes, s.common)
	for i := 0; i+1 < len(pairs); i += 2 {
		p.Attributes = append(p.Attributes, attributeOf(pairs[i], pairs[i+1]))
	}
	d := s.family.data()
	d.Points = append(d.Points, p)
	return p
}

// attributeOf knows flags by their names, is_….
func attributeOf(name, value string) attribute {
	if !utf8.ValidString(value) {
		value = strings.ToValidUTF8(value, "\uFFFD") // who receives protobuf refuses the whole push
	}
	return attribute{name, value, strings.HasPrefix(name, "is_") && (value == "true" || value == "false")}
}

// instrument is what a family is called in OTLP, where the unit is not a part of the name.
type instrument struct {
	name, unit string
	fractions  bool
}

// odd are the instruments of Java's broker that are not as its others are.
var odd = map[string]instrument{
	"rocketmq_storage_flush_behind_bytes":          {"rocketmq_storage_flush_behind_bytes", "bytes", false},
	"rocketmq_storage_dispatch_behind_bytes":       {"rocketmq_storage_dispatch_behind_bytes", "bytes", false},
	"rocketmq_finish_message_latency_milliseconds": {"rocketmq_finish_message_latency", "ms", false},
}

// instrumentOf takes the unit off a name of Prometheus.
func instrumentOf(name string) instrument {
	if i, ok := odd[name]; ok {
		return i
	}
	for _, unit := range []string{"milliseconds", "seconds", "bytes"} {
		if rest, ok := strings.CutSuffix(name, "_"+unit); ok {
			return instrument{rest, unit, false}
		}
	}
	return instrument{name, "", strings.HasSuffix(name, "_ratio") || strings.HasSuffix(name, "_seconds_total")}
}
