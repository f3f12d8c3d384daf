// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"math"
	"reflect"
	"testing"
	"time"
)

func TestConversions(t *testing.T) {
	type fields struct {
		Int    int
		Long   int64
		Double float64
		Bool   bool
		Text   string
		Role   BrokerRole
		Metric MetricsExporterType
	}
	const refused = "(refused)"
	for _, c := range []struct{ field, in, want string }{
		{"Int", "-12", "-12"},
		{"Int", "+5", "5"},
		{"Int", "007", "7"},
		{"Int", "2147483647", "2147483647"},
		{"Int", "2147483648", refused},
		{"Int", "", refused},
		{"Int", " 1", refused},
		{"Int", "1 ", refused},
		{"Int", "1L", refused},
		{"Int", "0x1", refused},
		{"Int", "1_0", refused},
		{"Int", "1.0", refused},
		{"Long", "9223372036854775807", "9223372036854775807"},
		{"Long", "9223372036854775808", refused},
		{"Long", "1L", refused},
		{"Double", " 0.8 ", "0.8"},
		{"Double", "1e3", "1000.0"},
		{"Double", "0.8d", "0.8"},
		{"Double", "1F", "1.0"},
		{"Double", ".5", "0.5"},
		{"Double", "12345678", "1.2345678E7"},
		{"Double", "0.0001", "1.0E-4"},
		{"Double", "1e400", "Infinity"},
		{"Double", "NaN", "NaN"},
		{"Double", "-Infinity", "-Infinity"},
		{"Double", "nan", refused},
		{"Double", "0x1p3", refused},
		{"Double", "1_0", refused},
		{"Double", "d", refused},
		{"Double", "", refused},
		{"Double", "inf", refused},
		{"Bool", "true", "true"},
		{"Bool", "TrUe", "true"},
		{"Bool", "true ", "false"},
		{"Bool", "yes", "false"},
		{"Bool", "", "false"},
		{"Text", " a b\t", "a b"},
		{"Text", "\x00a\u00a0", "a\u00a0"},
		{"Text", "", ""},
		{"Role", "SLAVE ", "SLAVE"},
		{"Role", "slave", refused},
		{"Role", "1", refused},
		{"Role", "", refused},
		{"Metric", "PROM", "PROM"},
		{"Metric", "2", "PROM"},
		{"Metric", "4", refused},
		{"Metric", "-1", refused},
		{"Metric", "2 ", refused},
	} {
		var f fields
		field := reflect.ValueOf(&f).Elem().FieldByName(c.field)
		got := refused
		if setText(field, c.in) {
			got = text(field)
		}
		if got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.field, c.in, got, c.want)
		}
	}
}

func TestFormatDouble(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 0.001: "0.001", 9999999: "9999999.0", 1e7: "1.0E7", 1.5e-7: "1.5E-7", -0.25: "-0.25",
		math.MaxFloat64: "1.7976931348623157E308",
	} {
		if got := formatDouble(f); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDerivedValues(t *testing.T) {
	v := mustLoad(t, "").Load()
	s := v.Store
	levels, err := s.DelayLevels()
	if err != nil || len(levels) != 18 || levels[0] != time.Second || levels[4] != time.Minute || levels[17] != 2*time.Hour {
		t.Error(levels, err)
	}
	for text, want := range map[string]bool{"1d": true, "0s 3m": true, "s": false, "1x": false, "-1s": false, "1S": false, "9999999999d": false, "": false} {
		s.MessageDelayLevel = text
		if _, err := s.DelayLevels(); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for in, want := range map[int]int{0: 0, 1: 20, 20: 20, 21: 40, 6000000: 6000000} {
		s.MappedFileSizeConsumeQueue = in
		if got := s.ConsumeQueueFileSize(); got != want {
			t.Errorf("consume queue file %d: %d", in, got)
		}
	}
	for in, want := range map[int]int{5: 10, 75: 75, 99: 95} {
		s.DiskMaxUsedSpaceRatio = in
		if got := s.DiskMaxUsedRatio(); got != want {
			t.Errorf("ratio %d: %d", in, got)
		}
	}
	if v.DiskWarningRatio() != 0.9 || v.DiskCleanForciblyRatio() != 0.85 {
		t.Error(v.DiskWarningRatio(), v.DiskCleanForciblyRatio())
	}
	v = mustLoad(t, "rocketmq.broker.diskSpaceWarningLevelRatio=0.95").Load()
	if v.DiskWarningRatio() != 0.95 {
		t.Error(v.DiskWarningRatio())
	}
	for in, want := range map[string]int{"50": 100, "200": 200, "499": 200, "999": 500, "5000": 1000} {
		if got := mustLoad(t, "timerPrecisionMs="+in).Load().Store.TimerPrecisionMs; got != want {
			t.Errorf("timerPrecisionMs=%s: %d", in, got)
		}
	}
	if Millis(v.Store.SyncFlushTimeout) != 5*time.Second || Millis(v.Store.OsPageCacheBusyTimeOutMills) != time.Second {
		t.Error("Millis")
	}
}
