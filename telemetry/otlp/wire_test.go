// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package otlp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/otlptest"
)

// certificate is one for example.com, and what trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	trust := x509.NewCertPool()
	trust.AddCert(s.Certificate())
	return s.TLS.Certificates[0], trust
}

// An https target is called with TLS, and its certificate is checked.
func TestTLS(t *testing.T) {
	own, trust := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := otlptest.Start(t, l, grpc.Creds(credentials.NewServerTLSFromCert(&own)))
	defer r.Discard()()
	batch := collect([]func(*metric.Writer){func(w *metric.Writer) { w.Gauge("g", "").Value(1) }}, time.Now(), time.Now())
	for _, c := range []struct {
		name, scheme string
		config       *tls.Config
		want         string
	}{
		{"trusted", "https", &tls.Config{RootCAs: trust, ServerName: "example.com"}, ""},
		{"another name", "https", &tls.Config{RootCAs: trust, ServerName: "example.org"}, "certificate is valid for"},
		{"unknown", "https", nil, "certificate"},
		{"without TLS", "http", nil, "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := NewClient(ClientOptions{
				Target: &url.URL{Scheme: c.scheme, Host: l.Addr().String()}, TLS: c.config, Timeout: 10 * time.Second,
			})
			defer client.Close()
			err := client.Export(t.Context(), batch)
			switch {
			case c.want == "" && err != nil, c.want != "" && err == nil, err != nil && c.want != "*" && !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Answers of what is no collector, or no gRPC, are errors that say so.
func TestForeignAnswers(t *testing.T) {
	answers := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"HTTP error": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) }, "HTTP status 502 Bad Gateway"},
		"a page":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "gRPC status missing "},
		"no message": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "0") }, "the collector's answer is no message"},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write([]byte{1, 0, 0, 0, 0})
			w.Header().Set("Grpc-Status", "0")
		}, "the collector's answer is no message"},
		"unknown status": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "77")
			w.Header().Set("Grpc-Message", "100 %")
		}, "gRPC status 77 100 %"},
	}
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(c.answer)
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
			defer s.Close()
			target, _ := url.Parse(s.URL)
			client := NewClient(ClientOptions{Target: target, Timeout: 10 * time.Second})
			defer client.Close()
			batch := &Batch{Scopes: []*scopeMetrics{{Metrics: []*family{{Name: "m", Gauge: &data{Points: []*point{{Int: new(int64)}}}}}}}}
			if err := client.Export(t.Context(), batch); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestTimeoutHeader(t *testing.T) {
	for d, want := range map[time.Duration]string{
		3 * time.Second: "3000m", time.Millisecond: "1m", 40 * time.Hour: "144000S", 1 << 62: "99999999S",
	} {
		if got := timeout(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// What a collector answers can be anything; what the official code can read is read alike.
func FuzzRefusal(f *testing.F) {
	answer, err := proto.Marshal(&collector.ExportMetricsServiceResponse{
		PartialSuccess: &collector.ExportMetricsPartialSuccess{RejectedDataPoints: 3, ErrorMessage: "too old"},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(answer)
	f.Add([]byte{})
	f.Add([]byte{0x0a, 0x05, 0x08})
	f.Fuzz(func(t *testing.T, b []byte) {
		points, why := refusal(b)
		var want collector.ExportMetricsServiceResponse
		if proto.Unmarshal(b, &want) != nil {
			return
		}
		if want.PartialSuccess.GetRejectedDataPoints() != points || want.PartialSuccess.GetErrorMessage() != why {
			again, _ := proto.Marshal(&want)
			if string(again) == string(b) { // else a field stands twice
				t.Errorf("%d %q, want %v", points, why, &want)
			}
		}
	})
}

// BenchmarkPush makes and encodes what 5,000 topics that are read by two groups need.
func BenchmarkPush(b *testing.B) {
	sizes := metric.NewBounds(1, 1<<10, 4<<10, 512<<10, 1<<20, 2<<20, 4<<20).New()
	sizes.Observe(1000)
	topics := make([]string, 5000)
	for i := range topics {
		topics[i] = "Topic" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
	}
	e := &Exporter{o: Options{Collect: []func(*metric.Writer){func(w *metric.Writer) {
		w.Labels("cluster", "C", "node_id", "broker-a", "node_type", "broker")
		h := w.Histogram("rocketmq_message_size", "")
		for _, t := range topics {
			h.Histogram(sizes, "topic", t, "message_type", "normal", "is_system", "false")
		}
		for _, name := range []string{"rocketmq_messages_out_total", "rocketmq_throughput_out_total"} {
			f := w.Counter(name, "")
			for _, t := range topics {
				f.Value(1, "topic", t, "consumer_group", "A", "is_system", "false")
				f.Value(1, "topic", t, "consumer_group", "B", "is_system", "false")
			}
		}
	}}, To: encoder{}, Log: slog.New(slog.DiscardHandler)}, start: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		e.push(context.Background())
	}
}

// encoder is a collector that is infinitely fast.
type encoder struct{}

func (encoder) Export(_ context.Context, b *Batch) error {
	for _, part := range b.split(maxPoints) {
		appendRequest(nil, part)
	}
	return nil
}
func (encoder) Close() {}
