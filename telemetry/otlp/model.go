// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"encoding/json"
	"strconv"
)

// Batch is what one collection found, in OTLP's words: encoding/json gives OTLP's JSON, appendRequest its protobuf.
type Batch struct {
	Resource struct{}        `json:"resource"` // Java's broker says nothing of itself here, but in each point
	Scopes   []*scopeMetrics `json:"scopeMetrics"`
}

type scopeMetrics struct {
	Scope   scope     `json:"scope"`
	Metrics []*family `json:"metrics"`
}

type scope struct {
	Name string `json:"name"`
}

// family is what OTLP calls a metric: one of Gauge, Sum and Histogram is there.
type family struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Unit        string `json:"unit,omitempty"`
	Gauge       *data  `json:"gauge,omitempty"`
	Sum         *data  `json:"sum,omitempty"`
	Histogram   *data  `json:"histogram,omitempty"`
}

// data are the points of a family.
type data struct {
	Points      []*point    `json:"dataPoints"`
	Temporality temporality `json:"aggregationTemporality,omitempty"` // 0 for gauges
	Monotonic   bool        `json:"isMonotonic,omitempty"`
}

func (f *family) data() *data {
	switch {
	case f.Gauge != nil:
		return f.Gauge
	case f.Sum != nil:
		return f.Sum
	}
	return f.Histogram
}

// with is the family with other points.
func (f *family) with(points []*point) *family {
	n := *f
	d := *f.data()
	d.Points = points
	switch {
	case f.Gauge != nil:
		n.Gauge = &d
	case f.Sum != nil:
		n.Sum = &d
	default:
		n.Histogram = &d
	}
	return &n
}

type temporality int

// The temporalities, as OTLP numbers them.
const (
	delta      temporality = 1 // since the last push
	cumulative temporality = 2 // since the start
)

// point is a number or the state of a histogram. Times are nanoseconds since 1970.
type point struct {
	Attributes []attribute `json:"attributes"`
	Start      uint64      `json:"startTimeUnixNano,string"`
	Time       uint64      `json:"timeUnixNano,string"`

	Int    *int64   `json:"asInt,string,omitempty"`
	Double *float64 `json:"asDouble,omitempty"`

	Count  uint64    `json:"count,string,omitempty"`
	Sum    *float64  `json:"sum,omitempty"`
	Counts []count   `json:"bucketCounts,omitempty"`
	Bounds []float64 `json:"explicitBounds,omitempty"`
	Min    *float64  `json:"min,omitempty"` // of all since the start; nil when something was taken off
	Max    *float64  `json:"max,omitempty"`
}

// set makes the point a number, a whole one unless it has, or may have, a fraction.
func (p *point) set(v float64, fractions bool) {
	p.Int, p.Double = nil, &v
	if n := int64(v); !fractions && float64(n) == v {
		p.Int, p.Double = &n, nil
	}
}

func (p *point) number() float64 {
	if p.Int != nil {
		return float64(*p.Int)
	}
	return *p.Double
}

// count is a number that OTLP's JSON has as text.
type count uint64

func (c count) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(c), 10), nil }

// attribute is a label. Flags are booleans in OTLP.
type attribute struct {
	key, value string
	flag       bool
}

func (a attribute) MarshalJSON() ([]byte, error) {
	value := any(map[string]string{"stringValue": a.value})
	if a.flag {
		value = map[string]bool{"boolValue": a.value == "true"}
	}
	return json.Marshal(struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}{a.key, value})
}

// split divides a batch into batches of a number of points at most.
func (b *Batch) split(most int) []*Batch {
	var all []*Batch
	room := 0
	for _, s := range b.Scopes {
		var part *scopeMetrics // of the last batch
		for _, f := range s.Metrics {
			for points := f.data().Points; len(points) > 0; {
				if room == 0 {
					all, room, part = append(all, &Batch{}), most, nil
				}
				if part == nil {
					part = &scopeMetrics{Scope: s.Scope}
					last := all[len(all)-1]
					last.Scopes = append(last.Scopes, part)
				}
				n := min(room, len(points))
				part.Metrics = append(part.Metrics, f.with(points[:n:n]))
				points, room = points[n:], room-n
			}
		}
	}
	return all
}
