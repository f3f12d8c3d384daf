// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BrokerRole is the value of brokerRole.
type BrokerRole string

// The roles of a broker.
const (
	AsyncMaster BrokerRole = "ASYNC_MASTER"
	SyncMaster  BrokerRole = "SYNC_MASTER"
	Slave       BrokerRole = "SLAVE"
)

// FlushDiskType is the value of flushDiskType.
type FlushDiskType string

// When a send is answered: after the log reached the disk, or before.
const (
	SyncFlush  FlushDiskType = "SYNC_FLUSH"
	AsyncFlush FlushDiskType = "ASYNC_FLUSH"
)

// MetricsExporterType is the value of metricsExporterType.
type MetricsExporterType string

// The exporters, in the order of their numbers, which the file may use in place of the names.
const (
	MetricsDisable  MetricsExporterType = "DISABLE"
	MetricsOTLPGRPC MetricsExporterType = "OTLP_GRPC"
	MetricsProm     MetricsExporterType = "PROM"
	MetricsLog      MetricsExporterType = "LOG"
)

// LogLevel is the value of logLevel, LogFormat that of logFormat.
type (
	LogLevel  string
	LogFormat string
)

// JSONLines is the logFormat that writes an object a line.
const JSONLines LogFormat = "json"

// MessageRequestMode is the value of defaultMessageRequestMode, which no file can set.
type MessageRequestMode string

// The ways a consumer fetches messages.
const (
	ModePull MessageRequestMode = "PULL"
	ModePop  MessageRequestMode = "POP"
)

// enum lists the values of an enumeration type in Java's order; numbered means that the position serves as a value too.
type enum struct {
	javaName string
	values   []string
	numbered bool
}

func enumOf(t reflect.Type) (enum, bool) {
	switch t {
	case reflect.TypeFor[BrokerRole]():
		return enum{"BrokerRole", []string{"ASYNC_MASTER", "SYNC_MASTER", "SLAVE"}, false}, true
	case reflect.TypeFor[FlushDiskType]():
		return enum{"FlushDiskType", []string{"SYNC_FLUSH", "ASYNC_FLUSH"}, false}, true
	case reflect.TypeFor[MetricsExporterType]():
		return enum{"MetricsExporterType", []string{"DISABLE", "OTLP_GRPC", "PROM", "LOG"}, true}, true
	case reflect.TypeFor[LogLevel]():
		return enum{"LogLevel", []string{"debug", "info", "warn", "error"}, false}, true
	case reflect.TypeFor[LogFormat]():
		return enum{"LogFormat", []string{"text", "json"}, false}, true
	case reflect.TypeFor[MessageRequestMode]():
		return enum{"MessageRequestMode", []string{"PULL", "POP"}, false}, true
	}
	return enum{}, false
}

// Millis turns a key that counts milliseconds into a duration.
func Millis[N int | int64](n N) time.Duration { return time.Duration(n) * time.Millisecond }

// javaType names the Java type of a field.
func javaType(t reflect.Type) string {
	if e, ok := enumOf(t); ok {
		return e.javaName
	}
	switch t.Kind() {
	case reflect.Int:
		return "int"
	case reflect.Int64:
		return "long"
	case reflect.Float64:
		return "double"
	case reflect.Bool:
		return "boolean"
	}
	return "String"
}

// setText converts text as Java's setters do and stores it in field. It reports false, and leaves the field alone,
// where Java's conversion fails.
func setText(field reflect.Value, text string) bool {
	if e, ok := enumOf(field.Type()); ok {
		if n, err := strconv.Atoi(text); e.numbered && err == nil && n >= 0 && n < len(e.values) {
			text = e.values[n]
		}
		if text = trim(text); !slices.Contains(e.values, text) {
			return false
		}
		field.SetString(text)
		return true
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(trim(text))
	case reflect.Bool:
		field.SetBool(strings.EqualFold(text, "true"))
	case reflect.Float64:
		f, ok := parseDouble(text)
		if !ok {
			return false
		}
		field.SetFloat(f)
	default:
		bits := 32
		if field.Kind() == reflect.Int64 {
			bits = 64
		}
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return false
		}
		field.SetInt(n)
	}
	return true
}

// trim does what String.trim does: it removes every leading and trailing character up to the blank.
func trim(s string) string { return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) }

// parseDouble accepts what Double.parseDouble accepts, hexadecimal notation aside.
func parseDouble(s string) (float64, bool) {
	s = trim(s)
	switch strings.TrimLeft(s, "+-") {
	case "NaN", "Infinity":
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	if n := len(s); n > 1 && strings.ContainsRune("dDfF", rune(s[n-1])) {
		s = s[:n-1]
	}
	if s == "" || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// text writes a value as Java's toString does.
func text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return formatDouble(v.Float())
	}
	return v.String()
}

// formatDouble writes a double as Double.toString does: plain digits from 10^-3 up to 10^7, otherwise d.dE±n.
func formatDouble(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case f > math.MaxFloat64:
		return "Infinity"
	case f < -math.MaxFloat64:
		return "-Infinity"
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if abs := max(f, -f); abs != 0 && (abs < 1e-3 || abs >= 1e7) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
