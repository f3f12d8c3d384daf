// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"math"

	pb "google.golang.org/protobuf/encoding/protowire"
)

// appendRequest appends a batch as an ExportMetricsServiceRequest. The numbers of the fields are those of OTLP 1
// (opentelemetry/proto/collector/metrics/v1 and metrics/v1).
func appendRequest(b []byte, batch *Batch) []byte {
	return appendMessage(b, 1, func(b []byte) []byte { // resource_metrics
		b = appendMessage(b, 1, func(b []byte) []byte { return b }) // resource
		for _, s := range batch.Scopes {
			b = appendMessage(b, 2, func(b []byte) []byte {
				b = appendMessage(b, 1, func(b []byte) []byte { return appendText(b, 1, s.Scope.Name) })
				for _, f := range s.Metrics {
					b = appendMessage(b, 2, func(b []byte) []byte { return appendFamily(b, f) })
				}
				return b
			})
		}
		return b
	})
}

func appendFamily(b []byte, f *family) []byte {
	b = appendText(b, 1, f.Name)
	b = appendText(b, 2, f.Description)
	b = appendText(b, 3, f.Unit)
	switch {
	case f.Gauge != nil:
		return appendMessage(b, 5, func(b []byte) []byte { return appendData(b, f.Gauge, appendNumber) })
	case f.Sum != nil:
		return appendMessage(b, 7, func(b []byte) []byte { return appendData(b, f.Sum, appendNumber) })
	}
	return appendMessage(b, 9, func(b []byte) []byte { return appendData(b, f.Histogram, appendHistogram) })
}

func appendData(b []byte, d *data, appendPoint func([]byte, *point) []byte) []byte {
	for _, p := range d.Points {
		b = appendMessage(b, 1, func(b []byte) []byte { return appendPoint(b, p) })
	}
	if d.Temporality != 0 {
		b = pb.AppendVarint(pb.AppendTag(b, 2, pb.VarintType), uint64(d.Temporality))
	}
	if d.Monotonic {
		b = pb.AppendVarint(pb.AppendTag(b, 3, pb.VarintType), 1)
	}
	return b
}

func appendNumber(b []byte, p *point) []byte {
	b = appendFixed(b, 2, p.Start)
	b = appendFixed(b, 3, p.Time)
	if p.Int != nil {
		b = appendFixed(b, 6, uint64(*p.Int))
	} else {
		b = appendFixed(b, 4, math.Float64bits(*p.Double))
	}
	return appendAttributes(b, 7, p.Attributes)
}

func appendHistogram(b []byte, p *point) []byte {
	b = appendFixed(b, 2, p.Start)
	b = appendFixed(b, 3, p.Time)
	b = appendFixed(b, 4, p.Count)
	b = appendFixed(b, 5, math.Float64bits(*p.Sum))
	b = pb.AppendVarint(pb.AppendTag(b, 6, pb.BytesType), uint64(8*len(p.Counts)))
	for _, n := range p.Counts {
		b = pb.AppendFixed64(b, uint64(n))
	}
	b = pb.AppendVarint(pb.AppendTag(b, 7, pb.BytesType), uint64(8*len(p.Bounds)))
	for _, bound := range p.Bounds {
		b = pb.AppendFixed64(b, math.Float64bits(bound))
	}
	b = appendAttributes(b, 9, p.Attributes)
	if p.Min != nil {
		b = appendFixed(b, 11, math.Float64bits(*p.Min))
		b = appendFixed(b, 12, math.Float64bits(*p.Max))
	}
	return b
}

func appendAttributes(b []byte, field pb.Number, all []attribute) []byte {
	for _, a := range all {
		b = appendMessage(b, field, func(b []byte) []byte {
			b = appendText(b, 1, a.key)
			return appendMessage(b, 2, func(b []byte) []byte {
				if a.flag {
					return pb.AppendVarint(pb.AppendTag(b, 2, pb.VarintType), pb.EncodeBool(a.value == "true"))
				}
				return pb.AppendString(pb.AppendTag(b, 1, pb.BytesType), a.value)
			})
		})
	}
	return b
}

// appendText appends a text; the empty one is what a reader takes for granted.
func appendText(b []byte, field pb.Number, text string) []byte {
	if text == "" {
		return b
	}
	return pb.AppendString(pb.AppendTag(b, field, pb.BytesType), text)
}

func appendFixed(b []byte, field pb.Number, v uint64) []byte {
	return pb.AppendFixed64(pb.AppendTag(b, field, pb.Fixed64Type), v)
}

// appendMessage appends a field that holds the message that fill appends, and moves it to make room for its length.
func appendMessage(b []byte, field pb.Number, fill func([]byte) []byte) []byte {
	b = pb.AppendTag(b, field, pb.BytesType)
	at := len(b)
	b = fill(b)
	n := len(b) - at
	b = pb.AppendVarint(b, uint64(n))
	length := b[at+n:]
	var kept [10]byte
	size := copy(kept[:], length)
	copy(b[at+size:], b[at:at+n])
	copy(b[at:], kept[:size])
	return b
}

// refusal reads what a collector answers when it did not take all points: how many, and why.
func refusal(response []byte) (points int64, why string) {
	partial, _ := pb.ConsumeBytes(fieldOf(response, 1, pb.BytesType))
	n, _ := pb.ConsumeVarint(fieldOf(partial, 1, pb.VarintType))
	text, _ := pb.ConsumeBytes(fieldOf(partial, 2, pb.BytesType))
	return int64(n), string(text)
}

// fieldOf finds the value of a field, nil if it is not there or cannot be read.
func fieldOf(b []byte, field pb.Number, kind pb.Type) []byte {
	for len(b) > 0 {
		number, is, n := pb.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		size := pb.ConsumeFieldValue(number, is, b[n:])
		if size < 0 {
			return nil
		}
		if number == field && is == kind {
			return b[n : n+size]
		}
		b = b[n+size:]
	}
	return nil
}
