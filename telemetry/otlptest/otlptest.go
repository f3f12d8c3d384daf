// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package otlptest receives metrics in tests as an OpenTelemetry collector does: with the official gRPC server and
// messages, neither of which is in the server's binary.
package otlptest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Push is what came with one call.
type Push struct {
	Header  metadata.MD
	Timeout time.Duration // 0: the caller named none
	Request *collector.ExportMetricsServiceRequest
}

// Receiver is a running collector.
type Receiver struct {
	Pushes chan *Push // the receiver waits until each is taken

	mu     sync.Mutex
	answer func(*Push) (*collector.ExportMetricsServiceResponse, error)
}

// Start receives until the test ends.
func Start(t testing.TB, l net.Listener, options ...grpc.ServerOption) *Receiver {
	t.Helper()
	r := &Receiver{Pushes: make(chan *Push)}
	s := grpc.NewServer(options...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.metrics.v1.MetricsService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: export}},
	}, r)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Errorf("receiver: %v", err)
		}
	})
	return r
}

// Answer makes the receiver answer otherwise than with success.
func (r *Receiver) Answer(with func(*Push) (*collector.ExportMetricsServiceResponse, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = with
}

// Discard takes all pushes until end is called.
func (r *Receiver) Discard() (end func()) {
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-r.Pushes:
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

func export(service any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	r := service.(*Receiver)
	p := &Push{Request: &collector.ExportMetricsServiceRequest{}}
	if err := decode(p.Request); err != nil {
		return nil, err
	}
	p.Header, _ = metadata.FromIncomingContext(ctx)
	if at, ok := ctx.Deadline(); ok {
		p.Timeout = time.Until(at)
	}
	select {
	case r.Pushes <- p:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	answer := r.answer
	r.mu.Unlock()
	if answer != nil {
		return answer(p)
	}
	return &collector.ExportMetricsServiceResponse{}, nil
}

// Lines tells what a push has, a line for each attribute of the resource, each scope, each metric and each point of it:
//
//	resource service.name = unknown_service:java
//	scope broker-meter = 12 metrics
//	metric rocketmq_message_size = histogram cumulative bounds [1024 4096]
//	point rocketmq_message_size is_system:bool=false topic=T = count 2 sum 300 buckets [2 0 0]
//
// Descriptions and times are left out.
func (p *Push) Lines() []string {
	var all []string
	for _, r := range p.Request.ResourceMetrics {
		for _, a := range r.GetResource().GetAttributes() {
			all = append(all, "resource "+a.Key+" = "+text(a.Value))
		}
		for _, s := range r.ScopeMetrics {
			all = append(all, fmt.Sprintf("scope %s%s = %d metrics", s.GetScope().GetName(), s.GetScope().GetVersion(), len(s.Metrics)))
			for _, m := range s.Metrics {
				all = append(all, lines(m)...)
			}
		}
	}
	return all
}

func lines(m *metrics.Metric) []string {
	var head string
	var points []string
	number := func(list []*metrics.NumberDataPoint) {
		for _, p := range list {
			value := fmt.Sprint("int ", p.GetAsInt())
			if _, ok := p.Value.(*metrics.NumberDataPoint_AsDouble); ok {
				value = fmt.Sprint("double ", p.GetAsDouble())
			}
			points = append(points, point(m.Name, p.Attributes)+value)
		}
	}
	switch data := m.Data.(type) {
	case *metrics.Metric_Gauge:
		head = "gauge"
		number(data.Gauge.DataPoints)
	case *metrics.Metric_Sum:
		head = "sum " + temporality(data.Sum.AggregationTemporality)
		if data.Sum.IsMonotonic {
			head += " monotonic"
		}
		number(data.Sum.DataPoints)
	case *metrics.Metric_Histogram:
		head = "histogram " + temporality(data.Histogram.AggregationTemporality)
		for i, p := range data.Histogram.DataPoints {
			if i == 0 {
				head += fmt.Sprint(" bounds ", p.ExplicitBounds)
			}
			line := point(m.Name, p.Attributes) + fmt.Sprintf("count %d sum %v buckets %v", p.Count, p.GetSum(), p.BucketCounts)
			if p.Min != nil || p.Max != nil {
				line += fmt.Sprintf(" min %v max %v", p.GetMin(), p.GetMax())
			}
			points = append(points, line)
		}
	}
	if m.Unit != "" {
		head += " unit " + m.Unit
	}
	slices.Sort(points)
	return append([]string{"metric " + m.Name + " = " + head}, points...)
}

func temporality(t metrics.AggregationTemporality) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "AGGREGATION_TEMPORALITY_"))
}

func point(name string, attributes []*common.KeyValue) string {
	labels := make([]string, len(attributes))
	for i, a := range attributes {
		switch a.GetValue().GetValue().(type) {
		case *common.AnyValue_BoolValue:
			labels[i] = " " + a.Key + ":bool=" + text(a.Value)
		default:
			labels[i] = " " + a.Key + "=" + text(a.Value)
		}
	}
	slices.Sort(labels)
	return "point " + name + strings.Join(labels, "") + " = "
}

func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	}
	return v.String()
}
