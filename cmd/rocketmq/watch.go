// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"log/slog"
	"net/http"

	"rocketmq-go/config"
	"rocketmq-go/telemetry/logs"
	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/otlp"
	"rocketmq-go/telemetry/web"
)

// watch is what tells operators of a server: its log, on standard error and in files, what it answers by HTTP, and the
// metrics that it exports.
type watch struct {
	log   *slog.Logger
	level slog.LevelVar // of the files
	files *logs.Files   // nil: none
	lost  error         // why there are none
	web   *web.Server   // nil: none
	otlp  *otlp.Exporter
}

// noFiles is the value of logDir without which there are log files.
const noFiles = "none"

// newWatch opens the log files. A server whose log files cannot be written starts all the same.
func newWatch(console slog.Handler, main string, own *config.OwnConfig) *watch {
	w := &watch{log: slog.New(console)}
	if own.LogDir == noFiles || own.LogDir == "" {
		return w
	}
	w.setLevel(own.LogLevel)
	files, err := logs.Open(logs.Options{
		Dir: own.LogDir, Main: main, Level: &w.level, JSON: own.LogFormat == config.JSONLines,
	})
	if err != nil {
		w.lost = err
		return w
	}
	w.files = files
	w.log = slog.New(slog.NewMultiHandler(console, files.Handler()))
	return w
}

func (w *watch) setLevel(l config.LogLevel) { _ = w.level.UnmarshalText([]byte(l)) }

// loaded puts into the files what was said of the configuration.
func (w *watch) loaded(warnings []config.Warning) {
	if w.files == nil {
		return
	}
	log := slog.New(w.files.Handler())
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning.String())
	}
}

// fail notes in the files, too, why the server does not start.
func (w *watch) fail(e env, what string, err error) int {
	if w.files != nil {
		slog.New(w.files.Handler()).Error("not started", "error", err)
	}
	return fail(e, what, err)
}

// serve is called when the server runs. It begins to answer HTTP at an address, if there is one.
func (w *watch) serve(addr string, pprof bool, ready func() error, collect ...func(*metric.Writer)) error {
	if w.lost != nil {
		w.log.Warn("no log files; logDir="+noFiles+" turns them off", "error", w.lost)
	}
	if addr == "" {
		return nil
	}
	s, err := web.Start(web.Options{Addr: addr, Collect: collect, Ready: ready, Pprof: pprof})
	if err != nil {
		return fmt.Errorf("metrics and health: %w", err)
	}
	w.web = s
	w.log.Info("metrics and health are told", "addr", s.Addr(), "pprof", pprof)
	return nil
}

// serveBroker is serve for a process with a broker, which may export its metrics, too.
func (w *watch) serveBroker(v *config.BrokerValues, ready func() error, collect ...func(*metric.Writer)) error {
	if err := w.serve(v.MetricsAddress(), v.Own.HTTPPprof, ready, collect...); err != nil {
		return err
	}
	if to := w.exportTo(v); to != nil {
		w.otlp = otlp.Start(otlp.Options{
			Collect: append(collect, web.Process), To: to, Interval: v.MetricsInterval(), Delta: v.MetricsInDelta, Log: w.log,
		})
		w.log.Info("metrics are exported", "type", v.MetricsExporterType, "interval", v.MetricsInterval())
	}
	return nil
}

// exportTo is where metrics are exported to, nil if nowhere.
func (w *watch) exportTo(v *config.BrokerValues) otlp.Target {
	switch v.MetricsExporterType {
	case config.MetricsLog:
		if w.files == nil {
			return otlp.Lines{To: w.log.With(logs.File, metricsLog)}
		}
		return otlp.Lines{To: slog.New(w.files.Unfiltered(metricsLog))} // not on standard error
	case config.MetricsOTLPGRPC:
		target, err := v.OTLPTarget()
		if err != nil {
			return nil // the warnings of the configuration say so
		}
		header := http.Header{}
		fields, _ := v.OTLPHeader()
		for name, value := range fields {
			header.Set(name, value)
		}
		return otlp.NewClient(otlp.ClientOptions{Target: target, Header: header, Timeout: v.OTLPTimeout()})
	}
	return nil
}

// metricsLog is the file that Java's broker exports to.
const metricsLog = "broker_metrics"

// httpAddr is where HTTP is answered, for the port file.
func (w *watch) httpAddr() string {
	if w.web == nil {
		return ""
	}
	return reachable(w.web.Addr())
}

// end must come before what metrics are collected from ends.
func (w *watch) end() error {
	if w.otlp != nil {
		w.otlp.Close()
	}
	if w.web == nil {
		return nil
	}
	return w.web.Close()
}

// close closes the log files, after everything else.
func (w *watch) close() {
	if w.files != nil {
		_ = w.files.Close()
	}
}
