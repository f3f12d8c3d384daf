// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metric_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"rocketmq-go/telemetry/metric"
)

func TestText(t *testing.T) {
	sizes := metric.NewBounds(1, 10, 1024, 0.5*1e8).New()
	for _, v := range []int64{1, 10, 11, 5000, 1 << 40} {
		sizes.Observe(v)
	}
	took := metric.NewBounds(float64(time.Millisecond), 0.5, 7).New()
	took.Observe(int64(300 * time.Microsecond))
	took.Observe(int64(7 * time.Millisecond))

	var text metric.Text
	w := metric.NewWriter(&text)
	w.Gauge("plain", "Without labels.").Value(3)
	w.Labels("cluster", "C")
	w.Gauge("nothing", "Has no samples and leaves no trace.")
	in := w.Counter("in_total", "Two\nlines, a \\.")
	in.Value(12, "topic", `a"b\c`+"\n")
	in.Value(0.25, "topic", "caf\xff")
	in.Value(math.Inf(1))
	w.Histogram("sizes", "Bytes.").Histogram(sizes, "topic", "T")
	w.Histogram("took_milliseconds", "Time.").Histogram(took)
	const want = `# HELP plain Without labels.
# TYPE plain gauge
plain 3
# HELP in_total Two\nlines, a \\.
# TYPE in_total counter
in_total{cluster="C",topic="a\"b\\c\n"} 12
in_total{cluster="C",topic="caf�"} 0.25
in_total{cluster="C"} +Inf
# HELP sizes Bytes.
# TYPE sizes histogram
sizes_bucket{cluster="C",topic="T",le="10.0"} 2
sizes_bucket{cluster="C",topic="T",le="1024.0"} 3
sizes_bucket{cluster="C",topic="T",le="50000000"} 4
sizes_bucket{cluster="C",topic="T",le="+Inf"} 5
sizes_sum{cluster="C",topic="T"} 1099511632798
sizes_count{cluster="C",topic="T"} 5
# HELP took_milliseconds Time.
# TYPE took_milliseconds histogram
took_milliseconds_bucket{cluster="C",le="0.5"} 1
took_milliseconds_bucket{cluster="C",le="7.0"} 2
took_milliseconds_bucket{cluster="C",le="+Inf"} 2
took_milliseconds_sum{cluster="C"} 7.3
took_milliseconds_count{cluster="C"} 2
`
	if got := string(text.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHistogramCountsEverything(t *testing.T) {
	h := metric.NewBounds(1, 1, 2, 3).New()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range int64(1000) {
				h.Observe(i % 5)
			}
		})
	}
	all.Wait()
	if h.Count() != 4000 || h.Sum() != 8000 {
		t.Errorf("count %d, sum %d", h.Count(), h.Sum())
	}
}

func BenchmarkObserve(b *testing.B) {
	h := metric.NewBounds(float64(time.Millisecond), 1, 3, 5, 7, 10, 100, 1000, 2000, 3000).New()
	b.ReportAllocs()
	for b.Loop() {
		h.Observe(80_000)
	}
}

func TestExtremes(t *testing.T) {
	h := metric.NewBounds(float64(time.Millisecond), 5).New()
	if _, _, ok := h.Extremes(); ok {
		t.Error("an empty histogram has extremes")
	}
	var all sync.WaitGroup
	for i := range int64(8) {
		all.Go(func() {
			for j := range int64(1000) {
				h.Observe((3 + (i*1000+j)%7000) * int64(time.Millisecond))
			}
		})
	}
	all.Wait()
	if least, most, ok := h.Extremes(); !ok || least != 3 || most != 7002 {
		t.Errorf("%v to %v, %v", least, most, ok)
	}
}
