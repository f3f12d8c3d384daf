// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/otlp"
	"rocketmq-go/telemetry/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is what tests export.
type counted struct {
	messages atomic.Int64
	sizes    *metric.Histogram
}

func (c *counted) collect(w *metric.Writer) {
	w.Labels("otel_scope_name", "broker-meter", "cluster", "C")
	w.Counter("rocketmq_messages_in_total", "Messages.").Value(float64(c.messages.Load()), "topic", "T\xff", "is_system", "false")
	if c.sizes.Count() > 0 {
		w.Histogram("rocketmq_message_size", "Sizes.").Histogram(c.sizes, "topic", "T")
	}
	w.Gauge("rocketmq_storage_size_bytes", "Bytes.").Value(1 << 40)
	w.Gauge("rocketmq_nothing", "Has no samples.")
	w.Labels()
	w.Gauge("rocketmq_broker_disk_used_ratio", "Used part.").Value(1)
	w.Counter("process_cpu_seconds_total", "Time.").Value(0.5)
}

// rig is an exporter whose collector is in memory. Its time is that of synctest.
type rig struct {
	*otlptest.Receiver
	*counted
	exporter *otlp.Exporter
	listener *bufconn.Listener
	dials    atomic.Int32
	down     atomic.Bool
	log      text
}

// text is what was logged.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(line)
}

// take returns what was logged since the last call.
func (t *text) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.b.String()
	t.b.Reset()
	return said
}

func (r *rig) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	r.dials.Add(1)
	if r.down.Load() {
		return nil, errors.New("nobody listens")
	}
	return r.listener.DialContext(ctx)
}

func start(t *testing.T, delta bool) *rig {
	t.Helper()
	r := &rig{counted: &counted{sizes: metric.NewBounds(1, 10, 100).New()}, listener: bufconn.Listen(1 << 20)}
	r.messages.Store(1)
	r.Receiver = otlptest.Start(t, r.listener)
	client := otlp.NewClient(otlp.ClientOptions{
		Target: &url.URL{Scheme: "http", Host: "collector:4317", Path: "/ignored"}, Header: http.Header{"Authorization": {"Bearer t"}},
		Timeout: 3 * time.Second, Dial: r.dial,
	})
	r.exporter = otlp.Start(otlp.Options{
		Collect: []func(*metric.Writer){r.collect}, To: client, Interval: time.Minute, Delta: delta,
		Log: slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})),
	})
	t.Cleanup(func() { r.exporter.Close() })
	return r
}

// same compares lines, in any order.
func same(t *testing.T, got []string, want string) {
	t.Helper()
	slices.Sort(got)
	if g := strings.Join(got, "\n") + "\n"; g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
}

func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, false)
		begun := time.Now()
		r.sizes.Observe(10)
		r.sizes.Observe(1000)
		p := <-r.Pushes
		if since := time.Since(begun); since != time.Minute {
			t.Errorf("pushed after %v", since)
		}
		same(t, p.Lines(), `metric process_cpu_seconds_total = sum cumulative monotonic
metric rocketmq_broker_disk_used_ratio = gauge
metric rocketmq_message_size = histogram cumulative bounds [10 100]
metric rocketmq_messages_in_total = sum cumulative monotonic
metric rocketmq_storage_size = gauge unit bytes
point process_cpu_seconds_total = double 0.5
point rocketmq_broker_disk_used_ratio = double 1
point rocketmq_message_size cluster=C topic=T = count 2 sum 1010 buckets [1 0 1] min 10 max 1000
point rocketmq_messages_in_total cluster=C is_system:bool=false topic=T`+"\uFFFD"+` = int 1
point rocketmq_storage_size cluster=C = int 1099511627776
scope  = 2 metrics
scope broker-meter = 3 metrics
`)
		header := fmt.Sprint(p.Header.Get("authorization"), p.Header.Get("content-type"), p.Header.Get("user-agent"), p.Timeout)
		if header != "[Bearer t] [application/grpc] [rocketmq-go] 3s" {
			t.Error(header)
		}
		point := p.Request.ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints[0]
		if point.StartTimeUnixNano != uint64(begun.UnixNano()) || point.TimeUnixNano != uint64(begun.Add(time.Minute).UnixNano()) {
			t.Error(point)
		}
		synctest.Wait()
		defer r.Discard()()
		r.exporter.Close()
		if said := r.log.take(); r.dials.Load() != 1 || said != "" {
			t.Errorf("%d connections; %s", r.dials.Load(), said)
		}
	})
}

// A collector that is away, hangs or refuses is told of once, and its coming back too; each push has a connection of its
// own until one works.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name       string
		begin, end func(*rig)
		want       string
	}{
		{
			"away", func(r *rig) { r.down.Store(true) }, func(r *rig) { r.down.Store(false) }, `error="nobody listens"`,
		},
		{"unavailable", func(r *rig) {
			r.Answer(func(*otlptest.Push) (*collector.ExportMetricsServiceResponse, error) {
				return nil, status.Error(codes.Unavailable, "later, 100 %\nät")
			})
		}, func(r *rig) { r.Answer(nil) }, `error="gRPC status UNAVAILABLE later, 100 %\nät"`},
		{"refuses some", func(r *rig) {
			r.Answer(func(*otlptest.Push) (*collector.ExportMetricsServiceResponse, error) {
				return &collector.ExportMetricsServiceResponse{PartialSuccess: &collector.ExportMetricsPartialSuccess{
					RejectedDataPoints: 3, ErrorMessage: "too old",
				}}, nil
			})
		}, func(r *rig) { r.Answer(nil) }, `error="the collector refused 3 points: too old"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, false)
				defer r.Discard()()
				c.begin(r)
				time.Sleep(3*time.Minute + time.Second)
				synctest.Wait()
				if got := r.log.take(); got != "level=WARN msg=\"metrics are not exported\" "+c.want+"\n" {
					t.Error(got)
				}
				c.end(r)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if got := r.log.take(); got != "level=INFO msg=\"metrics are exported again\"\n" {
					t.Error(got)
				}
				r.exporter.Close()
			})
		})
	}
}

// A collector that takes connections and never answers costs a push its timeout and the stop nothing; the next push does
// not use the connection again.
func TestCollectorThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, false) // nobody takes the pushes
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		if said := r.log.take(); said != "" || r.dials.Load() != 1 {
			t.Errorf("before the timeout: %s, %d connections", said, r.dials.Load())
		}
		time.Sleep(time.Minute + 2*time.Second)
		synctest.Wait()
		if said := r.log.take(); r.dials.Load() != 2 || strings.Count(said, "deadline exceeded") != 1 {
			t.Errorf("%d connections; %s", r.dials.Load(), said)
		}
		begun := time.Now()
		r.exporter.Close()
		if took := time.Since(begun); took != 0 {
			t.Errorf("the stop took %v", took)
		}
	})
}

// The last push may take a second.
func TestStopWhileTheCollectorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, false)
		time.Sleep(time.Second)
		begun := time.Now()
		r.exporter.Close()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("the stop took %v", took)
		}
	})
}

func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, true)
		begun := time.Now()
		next := func() (points []string, since time.Duration) {
			p := <-r.Pushes
			synctest.Wait() // until it is answered
			for _, s := range p.Request.ResourceMetrics[0].ScopeMetrics {
				for _, m := range s.Metrics {
					for _, point := range m.GetSum().GetDataPoints() {
						since = time.Duration(point.StartTimeUnixNano - uint64(begun.UnixNano()))
					}
					for _, point := range m.GetHistogram().GetDataPoints() {
						since = time.Duration(point.StartTimeUnixNano - uint64(begun.UnixNano()))
					}
				}
			}
			for _, line := range p.Lines() {
				if strings.Contains(line, "rocketmq_message") || strings.Contains(line, "cpu") {
					points = append(points, line)
				}
			}
			return points, since
		}
		expect := func(want string, from time.Duration) {
			t.Helper()
			points, since := next()
			same(t, points, want)
			if since != from {
				t.Errorf("since %v, want %v", since, from)
			}
		}
		const metrics = `metric rocketmq_message_size = histogram delta bounds [10 100]
metric rocketmq_messages_in_total = sum delta monotonic
`
		const topic = "point rocketmq_messages_in_total aggregation=delta cluster=C is_system:bool=false topic=T\uFFFD = int "
		r.messages.Store(5)
		r.sizes.Observe(7)
		expect("metric process_cpu_seconds_total = sum delta monotonic\n"+metrics+`point process_cpu_seconds_total aggregation=delta = double 0.5
point rocketmq_message_size aggregation=delta cluster=C topic=T = count 1 sum 7 buckets [1 0 0] min 7 max 7
`+topic+"5\n", 0)
		r.messages.Store(12)
		r.sizes.Observe(50)
		r.sizes.Observe(5)
		expect(metrics+`point rocketmq_message_size aggregation=delta cluster=C topic=T = count 2 sum 55 buckets [1 1 0]
`+topic+"7\n", time.Minute)
		// Nothing is sent where nothing was added.
		r.sizes.Observe(500)
		expect(`metric rocketmq_message_size = histogram delta bounds [10 100]
point rocketmq_message_size aggregation=delta cluster=C topic=T = count 1 sum 500 buckets [0 0 1]
`, 2*time.Minute)
		// What does not arrive comes with the next push.
		r.Answer(func(*otlptest.Push) (*collector.ExportMetricsServiceResponse, error) {
			return nil, status.Error(codes.Unavailable, "")
		})
		r.messages.Store(20)
		next()
		r.Answer(nil)
		r.messages.Store(21)
		expect("metric rocketmq_messages_in_total = sum delta monotonic\n"+topic+"9\n", 3*time.Minute)
		// A topic that is made anew begins at 0.
		r.messages.Store(4)
		expect("metric rocketmq_messages_in_total = sum delta monotonic\n"+topic+"4\n", 5*time.Minute)
		defer r.Discard()()
		r.exporter.Close()
	})
}

// What is too large for one call is divided.
func TestManyPoints(t *testing.T) {
	l := bufconn.Listen(1 << 20)
	r := otlptest.Start(t, l)
	client := otlp.NewClient(otlp.ClientOptions{
		Target: &url.URL{Scheme: "http", Host: "c"}, Timeout: time.Minute,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.DialContext(ctx) },
	})
	h := metric.NewBounds(1, 1, 2, 3, 4, 5, 6, 7, 8, 9).New()
	h.Observe(3)
	const topics = 1500
	e := otlp.Start(otlp.Options{To: client, Interval: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Collect: []func(*metric.Writer){
		func(w *metric.Writer) {
			w.Labels("otel_scope_name", "broker-meter")
			for _, name := range []string{"rocketmq_a", "rocketmq_b", "rocketmq_c"} {
				f := w.Histogram(name, "")
				for i := range topics {
					f.Histogram(h, "topic", fmt.Sprint("T", i), "consumer_group", strings.Repeat("g", 200))
				}
			}
		},
	}})
	seen := map[string]bool{}
	for range 3 {
		p := <-r.Pushes
		points := 0
		for _, line := range p.Lines() {
			if strings.HasPrefix(line, "point ") {
				points++
				seen[line] = true
			}
		}
		if points > 2000 {
			t.Errorf("%d points in one call", points)
		}
	}
	if len(seen) != 3*topics {
		t.Errorf("%d points, want %d", len(seen), 3*topics)
	}
	defer r.Discard()()
	e.Close()
}

// A line of the log is what Java's OtlpJsonLoggingMetricExporter writes, but for what is empty.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log text
		c := &counted{sizes: metric.NewBounds(1, 10, 100).New()}
		c.messages.Store(3)
		c.sizes.Observe(42)
		e := otlp.Start(otlp.Options{
			Collect: []func(*metric.Writer){c.collect}, Interval: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
			To: otlp.Lines{To: slog.New(slog.NewTextHandler(&log, nil))},
		})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		const times = `"startTimeUnixNano":"946684800000000000","timeUnixNano":"946684810000000000"`
		const cluster = `{"key":"cluster","value":{"stringValue":"C"}}`
		want := `{"resource":{},"scopeMetrics":[{"scope":{"name":"broker-meter"},"metrics":[` +
			`{"name":"rocketmq_messages_in_total","description":"Messages.","sum":{"dataPoints":[{"attributes":[` + cluster +
			`,{"key":"topic","value":{"stringValue":"T` + "\uFFFD" + `"}},{"key":"is_system","value":{"boolValue":false}}],` + times +
			`,"asInt":"3"}],"aggregationTemporality":2,"isMonotonic":true}},` +
			`{"name":"rocketmq_message_size","description":"Sizes.","histogram":{"dataPoints":[{"attributes":[` + cluster +
			`,{"key":"topic","value":{"stringValue":"T"}}],` + times + `,"count":"1","sum":42,"bucketCounts":["0","1","0"],"explicitBounds":[10,100],"min":42,"max":42}],` +
			`"aggregationTemporality":2}},` +
			`{"name":"rocketmq_storage_size","description":"Bytes.","unit":"bytes","gauge":{"dataPoints":[{"attributes":[` + cluster + `],` + times +
			`,"asInt":"1099511627776"}]}}]},` +
			`{"scope":{"name":""},"metrics":[` +
			`{"name":"rocketmq_broker_disk_used_ratio","description":"Used part.","gauge":{"dataPoints":[{"attributes":[],` + times + `,"asDouble":1}]}},` +
			`{"name":"process_cpu_seconds_total","description":"Time.","sum":{"dataPoints":[{"attributes":[],` + times +
			`,"asDouble":0.5}],"aggregationTemporality":2,"isMonotonic":true}}]}]}`
		got := strings.ReplaceAll(log.take(), `\"`, `"`)
		if _, got, _ = strings.Cut(got, `msg="`); strings.TrimSuffix(got, "\"\n") != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		e.Close()
	})
}
