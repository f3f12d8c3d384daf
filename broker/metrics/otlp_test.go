// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metrics_test

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/rocketmqtest"
	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/otlp"
	"rocketmq-go/telemetry/otlptest"
)

const recordedPush = "testdata/java-5.3.3.otlp"

// The recording is made anew with the address of a fresh Java broker, whose metricsLabel is zone:z1,rack:r2, and which
// exports by OTLP_GRPC to metricsGrpcExporterTarget=http://127.0.0.1:4317 each second:
//
//	ROCKETMQ_METRICS_BROKER=127.0.0.1:10911 ROCKETMQ_METRICS_OTLP=127.0.0.1:4317 go test -run RecordPush ./broker/metrics
func TestRecordPush(t *testing.T) {
	addr, listen := os.Getenv("ROCKETMQ_METRICS_BROKER"), os.Getenv("ROCKETMQ_METRICS_OTLP")
	if addr == "" || listen == "" {
		t.Log("nothing to record from")
		return
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	r := otlptest.Start(t, l)
	play(t, "traffic", addr, nil)
	<-r.Pushes // it may have been made before the end
	lines := short(t, (<-r.Pushes).Lines())
	if err := os.WriteFile(recordedPush, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// short takes the attributes off the points that all of them have, and sorts the lines.
func short(t *testing.T, lines []string) []string {
	t.Helper()
	var out []string
	for _, line := range lines {
		if strings.HasPrefix(line, "point ") {
			for name, value := range common {
				before := len(line)
				if line = strings.Replace(line, " "+name+"="+value+" ", " ", 1); len(line) == before && name != "otel_scope_name" {
					t.Errorf("%s: %s=%s is missing", line, name, value)
				}
			}
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// The same requests as were sent to a Java broker make the same push: scopes, names, units, kinds, temporality,
// attributes with their types, and values.
func TestPushSameAsJava(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(recordedPush)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := otlptest.Start(t, l)
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerName", "broker-a"), rocketmqtest.WithConfig("brokerClusterName", "DefaultCluster"),
		rocketmqtest.WithConfig("metricsLabel", "zone:z1,rack:r2"), rocketmqtest.WithConfig("metricsExporterType", "OTLP_GRPC"),
		rocketmqtest.WithConfig("brokerIP1", "127.0.0.1"))
	client := otlp.NewClient(otlp.ClientOptions{
		Target: &url.URL{Scheme: "http", Host: l.Addr().String()}, Timeout: time.Minute,
	})
	exporter := otlp.Start(otlp.Options{
		Collect: []func(*metric.Writer){mq.Broker.Collect}, To: client, Interval: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	defer exporter.Close()
	push := func() map[string]string { return values(short(t, (<-r.Pushes).Lines())) }
	onDisk := " storage_medium=disk storage_type=local topic=MTopic"
	play(t, "traffic", mq.BrokerAddr, func() bool {
		now := push()
		return now["point rocketmq_timer_dequeue_total"+onDisk] == "int 1" &&
			now["point rocketmq_messages_out_total consumer_group=SCHEDULE_CONSUMER is_system:bool=true topic=SCHEDULE_TOPIC_XXXX"] == "int 2"
	})
	push() // it may have been made before the end
	ours := push()
	java := values(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"))
	for key, value := range java {
		got, ok := ours[key]
		name := ofSeries(key)
		switch {
		case strings.HasPrefix(name, "rocketmq_pop_") || differentPush[key] != "" || strings.HasPrefix(key, "scope "):
		case !ok:
			t.Errorf("missing: %s = %s", key, value)
		case got != value && !(strings.HasPrefix(key, "point ") && varies(name) && alike(got, value)):
			t.Errorf("%s = %s, Java has %s", key, got, value)
		}
	}
	for key, value := range ours {
		if _, ok := java[key]; !ok && !strings.HasPrefix(ofSeries(key), "rocketmq_broker_") {
			t.Errorf("not there in Java: %s = %s", key, value)
		}
	}
}

// values cuts lines at the last =, where their values begin.
func values(lines []string) map[string]string {
	all := map[string]string{}
	for _, line := range lines {
		at := strings.LastIndex(line, " = ")
		all[line[:at]] = line[at+len(" = "):]
	}
	return all
}

// ofSeries is the metric that a line is about.
func ofSeries(key string) string {
	if fields := strings.Fields(key); len(fields) > 1 && fields[0] != "scope" {
		return fields[1]
	}
	return ""
}

// varies tells whether the values of a metric depend on the machine and the time.
func varies(name string) bool {
	return hasPrefix(name, []string{
		"rocketmq_rpc_latency", "rocketmq_topic_create_execution_time", "rocketmq_consumer_group_create_execution_time",
		"rocketmq_storage_", "rocketmq_consumer_lag_latency", "rocketmq_consumer_queueing_latency", "rocketmq_finish_message_latency",
		"rocketmq_delay_message_latency", "rocketmq_timer_enqueue_latency", "rocketmq_timer_dequeue_latency",
	})
}

var measured = regexp.MustCompile(`^int \d+$|sum \S+ buckets .*`)

// alike compares values that vary: their kinds, and the counts of histograms.
func alike(a, b string) bool {
	return measured.ReplaceAllString(a, "") == measured.ReplaceAllString(b, "")
}

// differentPush are points that differ, and why.
var differentPush = map[string]string{
	"point rocketmq_message_size is_system:bool=false message_type=normal topic=MGone":                                       gone,
	"point rocketmq_messages_in_total is_system:bool=false message_type=normal topic=MGone":                                  gone,
	"point rocketmq_throughput_in_total is_system:bool=false message_type=normal topic=MGone":                                gone,
	"point rocketmq_send_to_dlq_messages_total consumer_group=CLIENT_INNER_PRODUCER is_system:bool=false topic=%RETRY%MDead": whoDied,
	"point rocketmq_send_to_dlq_messages_total consumer_group=MDead is_system:bool=false topic=MTopic":                       whoDied,
}
