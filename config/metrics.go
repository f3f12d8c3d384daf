// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// MetricsAddress is where the broker answers HTTP, as host:port; empty: nowhere.
func (v *BrokerValues) MetricsAddress() string {
	switch {
	case v.Own.HTTPListen != "":
		return v.Own.HTTPListen
	case v.MetricsExporterType == MetricsProm:
		return net.JoinHostPort(v.MetricsPromExporterHost, strconv.Itoa(v.MetricsPromExporterPort))
	}
	return ""
}

// MetricsTold tells whether anybody is told of metrics.
func (v *BrokerValues) MetricsTold() bool {
	return v.MetricsAddress() != "" || v.MetricsExporterType == MetricsLog || v.MetricsExporterType == MetricsOTLPGRPC
}

// OTLPTarget is the collector that metrics are pushed to. Without http:// it is one with TLS.
func (v *BrokerValues) OTLPTarget() (*url.URL, error) {
	text := v.MetricsGrpcExporterTarget
	if text == "" {
		return nil, errors.New("metricsGrpcExporterTarget is empty")
	}
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		text = "https://" + text
	}
	target, err := url.Parse(text)
	if err == nil && target.Hostname() == "" {
		err = errors.New("no host")
	}
	return target, err
}

// OTLPHeader is what each push has in its header, and parts of metricsGrpcExporterHeader that are not name:value. Java
// leaves those out, too, but for names with blanks, with which it does not start.
func (v *BrokerValues) OTLPHeader() (header map[string]string, bad []string) {
	header = map[string]string{}
	for part := range strings.SplitSeq(v.MetricsGrpcExporterHeader, ",") {
		name, value, _ := strings.Cut(part, ":")
		switch name, value = trim(name), trim(value); {
		case trim(part) == "":
		case name == "" || value == "" || strings.ContainsAny(value, ":") || strings.ContainsAny(name, " \t"):
			bad = append(bad, part)
		default:
			header[name] = value
		}
	}
	return header, bad
}

// OTLPTimeout is how long a push may take.
func (v *BrokerValues) OTLPTimeout() time.Duration {
	return positive(v.MetricGrpcExporterTimeOutInMills, defaultPushTimeout)
}

// MetricsInterval is the time between two pushes, or two lines in the log.
func (v *BrokerValues) MetricsInterval() time.Duration {
	if v.MetricsExporterType == MetricsLog {
		return positive(v.MetricLoggingExporterIntervalInMills, defaultLogInterval)
	}
	return positive(v.MetricGrpcExporterIntervalInMills, defaultPushInterval)
}

// The defaults of the keys, ms: they hold where Java would not start.
const (
	defaultPushTimeout  = 3000
	defaultPushInterval = 60000
	defaultLogInterval  = 10000
)

func positive(ms, otherwise int64) time.Duration {
	if ms <= 0 {
		ms = otherwise
	}
	return Millis(ms)
}

// checkMetrics warns of keys with which less is exported than was meant.
func (v *BrokerValues) checkMetrics(l *loader) {
	number := func(key string, ms, otherwise int64) {
		if ms <= 0 {
			l.warn(key, strconv.FormatInt(ms, 10), "not a time; %d is used", otherwise)
		}
	}
	switch v.MetricsExporterType {
	case MetricsLog:
		number("metricLoggingExporterIntervalInMills", v.MetricLoggingExporterIntervalInMills, defaultLogInterval)
	case MetricsOTLPGRPC:
		if _, err := v.OTLPTarget(); err != nil {
			l.warn("metricsGrpcExporterTarget", v.MetricsGrpcExporterTarget, "no metrics are exported: %v", err)
		}
		if _, bad := v.OTLPHeader(); len(bad) > 0 {
			l.warn("metricsGrpcExporterHeader", "…", "%d parts of it are not name:value and are left out", len(bad))
		}
		number("metricGrpcExporterTimeOutInMills", v.MetricGrpcExporterTimeOutInMills, defaultPushTimeout)
		number("metricGrpcExporterIntervalInMills", v.MetricGrpcExporterIntervalInMills, defaultPushInterval)
	}
}
