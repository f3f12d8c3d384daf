// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"slices"
	"strings"
)

// deltas makes of sums what was added since the last push that arrived. What did not arrive is a part of the next push,
// and so is what arrived without our hearing of it.
type deltas struct {
	since   uint64            // when that push was made
	arrived map[string]*point // the sums then, by family and labels
}

// aggregation is the attribute by which Java's broker tells such points from others.
var aggregation = attribute{key: "aggregation", value: "delta"}

// apply changes a batch; the function that it returns is to be called when the batch has arrived. Points to which nothing
// was added are left out.
func (d *deltas) apply(b *Batch) func() {
	sums := map[string]*point{}
	now := d.since
	for _, s := range b.Scopes {
		kept := s.Metrics[:0]
		for _, f := range s.Metrics {
			d.family(f, sums)
			for _, p := range f.data().Points {
				p.Attributes = append(p.Attributes, aggregation)
				now = p.Time
			}
			if len(f.data().Points) > 0 {
				kept = append(kept, f)
			}
		}
		s.Metrics = kept
	}
	return func() { d.since, d.arrived = now, sums }
}

func (d *deltas) family(f *family, sums map[string]*point) {
	if f.Gauge != nil {
		return
	}
	all := f.data()
	all.Temporality = delta
	kept := all.Points[:0]
	for _, p := range all.Points {
		key := keyOf(f.Name, p.Attributes)
		sum := *p
		sums[key] = &sum
		p.Start = d.since
		if p.subtract(d.arrived[key]) {
			kept = append(kept, p)
		}
	}
	all.Points = kept
}

// subtract takes off what arrived before, and tells whether there is more. If there is less, the sum began anew.
func (p *point) subtract(before *point) bool {
	switch {
	case before == nil:
		return true
	case p.Sum == nil:
		added := p.number() - before.number()
		if added > 0 {
			p.set(added, p.Double != nil)
		}
		return added != 0
	case p.Count < before.Count:
		return true
	}
	p.Min, p.Max = nil, nil // they are not known of what was added
	sum := *p.Sum - *before.Sum
	p.Sum, p.Count = &sum, p.Count-before.Count
	p.Counts = slices.Clone(p.Counts) // the sum keeps its own
	for i := range p.Counts {
		p.Counts[i] -= before.Counts[i]
	}
	return p.Count != 0
}

func keyOf(name string, attributes []attribute) string {
	var b strings.Builder
	b.WriteString(name)
	for _, a := range attributes {
		b.WriteByte(0)
		b.WriteString(a.key)
		b.WriteByte(0)
		b.WriteString(a.value)
	}
	return b.String()
}
