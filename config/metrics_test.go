// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// The targets and headers are those that a Java broker of 5.3.3 was started with.
func TestOTLPTarget(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "http://c:4317": "http://c:4317", "https://c:4317": "https://c:4317", "c:4317": "https://c:4317", "c": "https://c",
		"http://c:4317/any/path": "http://c:4317/any/path", "http://": "", "c:port": "", "[::1]:4317": "https://[::1]:4317",
	} {
		target, err := (&BrokerValues{BrokerConfig: BrokerConfig{MetricsGrpcExporterTarget: text}}).OTLPTarget()
		if err != nil && want != "" || err == nil && target.String() != want {
			t.Errorf("%q: %v, %v, want %q", text, target, err, want)
		}
	}
}

func TestOTLPHeader(t *testing.T) {
	v := &BrokerValues{BrokerConfig: BrokerConfig{MetricsGrpcExporterHeader: "a:b,x-bad,Au:k:v,E:, G : h h ,:F,,two words:x"}}
	header, bad := v.OTLPHeader()
	if !maps.Equal(header, map[string]string{"a": "b", "G": "h h"}) || !slices.Equal(bad, []string{"x-bad", "Au:k:v", "E:", ":F", "two words:x"}) {
		t.Errorf("%v %q", header, bad)
	}
}

func TestMetricsTold(t *testing.T) {
	for _, c := range []struct {
		text     string
		told     bool
		interval time.Duration
	}{
		{"", false, time.Minute},
		{"metricsExporterType=PROM", true, time.Minute},
		{"httpListen=:0", true, time.Minute},
		{"metricsExporterType=LOG", true, 10 * time.Second},
		{"metricsExporterType=OTLP_GRPC\nmetricGrpcExporterIntervalInMills=1500", true, 1500 * time.Millisecond},
		{"metricsExporterType=LOG\nmetricLoggingExporterIntervalInMills=0", true, 10 * time.Second},
	} {
		v := mustLoad(t, c.text).Load()
		if v.MetricsTold() != c.told || v.MetricsInterval() != c.interval || v.OTLPTimeout() != 3*time.Second {
			t.Errorf("%q: %v, %v, %v", c.text, v.MetricsTold(), v.MetricsInterval(), v.OTLPTimeout())
		}
	}
}
