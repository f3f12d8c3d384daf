// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package otlp exports metrics as OpenTelemetry has them (OTLP 1): to a collector by gRPC, or as lines of JSON into a log.
//
// What is exported is what Prometheus would be told. Where Java's broker exports it too, scope, names, units, kinds and
// attributes are Java's:
//
//	rocketmq_rpc_latency_milliseconds_bucket{otel_scope_name="broker-meter",is_long_polling="false",…,le="1.0"} 12
//
// is scope broker-meter, metric rocketmq_rpc_latency, unit milliseconds, a histogram with the attribute
// is_long_polling=false, a boolean. There is no OpenTelemetry SDK behind it: see package metric.
package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"rocketmq-go/telemetry/metric"
)

// Target is where batches go.
type Target interface {
	Export(context.Context, *Batch) error
	Close()
}

// Options of an Exporter.
type Options struct {
	Collect  []func(*metric.Writer)
	To       Target
	Interval time.Duration
	Delta    bool         // sums are what was added since the last push, not since the start
	Log      *slog.Logger // told when exports begin to fail, and when they work again
}

// Exporter exports until Close. What it collects from is asked in its goroutine.
type Exporter struct {
	o       Options
	start   time.Time
	deltas  deltas
	failing bool

	end  context.CancelFunc
	done chan struct{}
}

// lastPush is how long Close lets the last push take.
const lastPush = time.Second

// Start begins: the first push comes after the interval.
func Start(o Options) *Exporter {
	ctx, end := context.WithCancel(context.Background())
	e := &Exporter{o: o, start: time.Now(), end: end, done: make(chan struct{})}
	e.deltas.since = uint64(e.start.UnixNano())
	go func() {
		defer close(e.done)
		e.run(ctx)
	}()
	return e
}

// Close pushes for the last time, if pushes arrive, and ends. It takes a second at most.
func (e *Exporter) Close() {
	e.end()
	<-e.done
}

func (e *Exporter) run(ctx context.Context) {
	defer e.o.To.Close()
	ticks := time.NewTicker(e.o.Interval)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			e.push(ctx)
		case <-ctx.Done():
			if e.failing {
				return
			}
			last, cancel := context.WithTimeout(context.Background(), lastPush)
			defer cancel()
			e.push(last)
			return
		}
	}
}

func (e *Exporter) push(ctx context.Context) {
	b := collect(e.o.Collect, e.start, time.Now())
	arrived := func() {}
	if e.o.Delta {
		arrived = e.deltas.apply(b)
	}
	err := e.o.To.Export(ctx, b)
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the last push follows
	}
	if refused := (*Refusal)(nil); err == nil || errors.As(err, &refused) {
		arrived()
	}
	switch {
	case err != nil && !e.failing:
		e.o.Log.Warn("metrics are not exported", "error", err)
	case err == nil && e.failing:
		e.o.Log.Info("metrics are exported again")
	}
	e.failing = err != nil
}

// Lines is a Target that writes each batch as a line, OTLP's JSON, at level info.
type Lines struct{ To *slog.Logger }

// Export writes a line.
func (l Lines) Export(_ context.Context, b *Batch) error {
	text, err := json.Marshal(b)
	if err == nil {
		l.To.Info(string(text))
	}
	return err
}

// Close does nothing.
func (Lines) Close() {}
