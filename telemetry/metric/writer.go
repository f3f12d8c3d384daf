// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metric

// Writer takes samples, those of one name one after the other, and hands them to a Sink.
type Writer struct{ to Sink }

// NewWriter makes a Writer.
func NewWriter(to Sink) *Writer { return &Writer{to} }

// Sink makes something of samples: Prometheus' text, or what else is exported. Labels are given as name, value, …, and
// are the caller's again when the call returns.
type Sink interface {
	// Labels sets what every following sample has; there are none at first.
	Labels(pairs []string)
	// Family begins the samples of a name, if there are any.
	Family(name, help string, kind Kind)
	// Value takes a sample of the family.
	Value(v float64, pairs []string)
	// Histogram takes the state of a histogram of the family.
	Histogram(h *Histogram, pairs []string)
}

// Kind is what a family's values are.
type Kind string

// The kinds of families.
const (
	KindGauge     Kind = "gauge"   // goes up and down
	KindCounter   Kind = "counter" // only goes up; its name ends in _total
	KindHistogram Kind = "histogram"
)

// Labels sets labels, as name, value, …, that every following sample has.
func (w *Writer) Labels(pairs ...string) { w.to.Labels(pairs) }

// Family writes samples of one name.
type Family struct {
	to         Sink
	name, help string
	kind       Kind
	begun      bool
}

// Gauge begins the samples of a value that goes up and down.
func (w *Writer) Gauge(name, help string) *Family { return w.family(name, help, KindGauge) }

// Counter begins the samples of a value that only goes up. Its name ends in _total.
func (w *Writer) Counter(name, help string) *Family { return w.family(name, help, KindCounter) }

// Histogram begins the samples of histograms.
func (w *Writer) Histogram(name, help string) *Family { return w.family(name, help, KindHistogram) }

func (w *Writer) family(name, help string, kind Kind) *Family {
	return &Family{to: w.to, name: name, help: help, kind: kind}
}

// begin leaves no trace of a family without samples.
func (f *Family) begin() {
	if !f.begun {
		f.begun = true
		f.to.Family(f.name, f.help, f.kind)
	}
}

// Value writes a sample with labels given as name, value, ….
func (f *Family) Value(v float64, pairs ...string) {
	f.begin()
	f.to.Value(v, pairs)
}

// Histogram writes the samples of a histogram.
func (f *Family) Histogram(h *Histogram, pairs ...string) {
	f.begin()
	f.to.Histogram(h, pairs)
}
