// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metrics_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/rocketmqtest"
	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/metrictest"
)

// play sends recorded traffic to a broker. The connections stay open until the test ends. Where a step waits for what comes
// by itself, settled tells when it has come; nil: the time of the recording.
func play(t *testing.T, traffic, addr string, settled func() bool) {
	t.Helper()
	steps, err := replay.LoadFile("testdata/" + traffic + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	r := replay.NewRunner(func(string) (net.Conn, error) { return net.Dial("tcp", addr) })
	t.Cleanup(r.Close)
	for _, st := range steps {
		if st.WaitMs > 0 && settled != nil {
			for deadline := time.Now().Add(time.Minute); !settled() && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			st.WaitMs = 0
		}
		got, err := r.Do(st)
		if err != nil {
			t.Fatalf("%s %s: %v", st.ID, st.Note, err)
		}
		want, none := fmt.Sprint(st.Expect["code"]), st.Expect["none"] == true
		if !none && fmt.Sprint(got["code"]) != want {
			t.Errorf("%s %s: code %v, want %v (%v)", st.ID, st.Note, got["code"], want, got["remark"])
		}
		if fields, ok := st.Expect["extFields"]; ok && !reflect.DeepEqual(fields, got["extFields"]) {
			t.Errorf("%s %s: %v, want %v", st.ID, st.Note, got["extFields"], fields)
		}
	}
}

// series are samples by name and sorted labels.
type series map[string]float64

// common are the labels that every sample of either broker has.
var common = map[string]string{
	"otel_scope_name": "broker-meter", "cluster": "DefaultCluster", "node_id": "broker-a", "node_type": "broker",
	"zone": "z1", "rack": "r2",
}

// parse reads the text format. Samples without all common labels are left out.
func parse(t *testing.T, text []byte) series {
	t.Helper()
	all := series{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, ok := strings.Cut(line, "{")
		end := strings.LastIndex(rest, "} ")
		if !ok || end < 0 {
			continue
		}
		labels := map[string]string{}
		for _, pair := range strings.Split(rest[:end], "\",") {
			if key, value, ok := strings.Cut(pair, "=\""); ok {
				labels[key] = strings.TrimSuffix(value, "\"")
			}
		}
		if !remove(labels, common) {
			continue
		}
		value, err := strconv.ParseFloat(strings.Fields(rest[end+2:])[0], 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		key := name
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			key += " " + label + "=" + labels[label]
		}
		if _, twice := all[key]; twice {
			t.Errorf("%s stands twice", key)
		}
		all[key] = value
	}
	return all
}

// remove takes labels off; false if one is missing or has another value.
func remove(from, labels map[string]string) bool {
	for name, value := range labels {
		if from[name] != value {
			return false
		}
		delete(from, name)
	}
	return true
}

// A recording of testdata is made anew with the addresses of a fresh Java broker 5.3.3, whose metricsLabel is zone:z1,rack:r2:
//
//	ROCKETMQ_METRICS_TRAFFIC=traffic ROCKETMQ_METRICS_BROKER=127.0.0.1:10911 \
//	ROCKETMQ_METRICS_URL=http://127.0.0.1:5557/metrics go test -run Record ./broker/metrics
func TestRecord(t *testing.T) {
	traffic, addr, url := os.Getenv("ROCKETMQ_METRICS_TRAFFIC"), os.Getenv("ROCKETMQ_METRICS_BROKER"), os.Getenv("ROCKETMQ_METRICS_URL")
	if addr == "" || url == "" {
		t.Log("nothing to record from")
		return
	}
	play(t, traffic, addr, nil)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		if line[0] != '#' {
			at := strings.LastIndex(strings.TrimSuffix(line, "\n"), " ")
			if strings.HasSuffix(line[:at], "}") {
				at = len(line) - 1 // no time of the sample
			}
			line = line[:at] + "\n"
		}
		out.WriteString(line)
	}
	if err := os.WriteFile("testdata/"+traffic+".prom", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// varying are metrics whose values depend on the machine and the time; only their series are compared.
var varying = []string{
	"rocketmq_rpc_latency_milliseconds_bucket", "rocketmq_rpc_latency_milliseconds_sum",
	"rocketmq_topic_create_execution_time_milliseconds_bucket", "rocketmq_topic_create_execution_time_milliseconds_sum",
	"rocketmq_consumer_group_create_execution_time_milliseconds_bucket", "rocketmq_consumer_group_create_execution_time_milliseconds_sum",
	"rocketmq_storage_", "rocketmq_consumer_lag_latency_milliseconds", "rocketmq_consumer_queueing_latency_milliseconds",
	"rocketmq_finish_message_latency_milliseconds_sum", "rocketmq_delay_message_latency_seconds_sum",
	"rocketmq_timer_enqueue_latency_milliseconds", "rocketmq_timer_dequeue_latency_milliseconds", "rocketmq_pop_revive_latency_milliseconds",
}

func hasPrefix(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// The same requests as were sent to a Java broker make the same series with the same values.
func TestSameAsJava(t *testing.T) {
	t.Parallel()
	compare(t, "traffic", func(now series) bool {
		return now["rocketmq_timer_dequeue_total storage_medium=disk storage_type=local topic=MTopic"] == 1 &&
			now["rocketmq_messages_out_total consumer_group=SCHEDULE_CONSUMER is_system=true topic=SCHEDULE_TOPIC_XXXX"] == 2
	}, different, "")
}

// Groups that pop: with clients that say so, that say push, and that say nothing; some tags, in order, with messages that
// come again. Timers and requests are compared above.
func TestPopsSameAsJava(t *testing.T) {
	t.Parallel()
	compare(t, "pops", func(now series) bool {
		return now["rocketmq_pop_revive_retry_messages_total consumer_group=GC put_status=PUT_OK topic=PopC"] == 2
	}, differentPops, "rocketmq_messages_out_", "rocketmq_throughput_out_", "rocketmq_consumer_lag_", "rocketmq_consumer_inflight_",
		"rocketmq_consumer_ready_", "rocketmq_consumer_queueing_", "rocketmq_consumer_connections", "rocketmq_pop_")
}

// compare plays traffic and compares the series whose names begin with one of about with the recording's.
func compare(t *testing.T, traffic string, settled func(now series) bool, different map[string]string, about ...string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + traffic + ".prom")
	if err != nil {
		t.Fatal(err)
	}
	java := parse(t, text)
	mq := rocketmqtest.Start(t, rocketmqtest.WithConfig("brokerName", "broker-a"), rocketmqtest.WithConfig("brokerClusterName", "DefaultCluster"),
		rocketmqtest.WithConfig("metricsLabel", "zone:z1,rack:r2"), rocketmqtest.WithConfig("metricsExporterType", "PROM"),
		rocketmqtest.WithConfig("brokerIP1", "127.0.0.1"))
	collect := func() []byte {
		var text metric.Text
		mq.Broker.Collect(metric.NewWriter(&text))
		return text.Bytes()
	}
	play(t, traffic, mq.BrokerAddr, func() bool { return settled(parse(t, collect())) })
	text = collect()
	if _, err := metrictest.Parse(string(text)); err != nil {
		t.Error(err)
	}
	ours := parse(t, text)
	for key, value := range java {
		got, ok := ours[key]
		switch {
		case different[key] != "" || !hasPrefix(key, about):
		case !ok:
			t.Errorf("missing: %s %v", key, value)
		case got != value && !hasPrefix(key, varying):
			t.Errorf("%s: %v, Java has %v", key, got, value)
		}
	}
	for key, value := range ours {
		if _, ok := java[key]; !ok && different[key] == "" && hasPrefix(key, about) && !strings.HasPrefix(key, "rocketmq_broker_") {
			t.Errorf("not there in Java: %s %v", key, value)
		}
	}
}

// Reasons why series differ.
const (
	gone    = "the topic is deleted: its series end"
	behind  = "a queue of POP without messages is not 1 behind"
	scanned = "checkpoints are stored at once: there is no buffer to look through"
	whoDied = "who consumes, not who sends the retry; and the topic of the message, not that of the retry"
)

// different are series that differ, and why.
var different = func() map[string]string {
	all := map[string]string{
		"rocketmq_send_to_dlq_messages_total consumer_group=CLIENT_INNER_PRODUCER is_system=false topic=%RETRY%MDead": whoDied,
		"rocketmq_send_to_dlq_messages_total consumer_group=MDead is_system=false topic=MTopic":                       whoDied,
	}
	labels := " message_type=normal topic=MGone"
	for _, name := range []string{"message_size_sum", "message_size_count", "messages_in_total", "throughput_in_total"} {
		all["rocketmq_"+name+" is_system=false"+labels] = gone
	}
	unlike(all)
	for _, le := range []string{"1024.0", "4096.0", "524288.0", "1048576.0", "2097152.0", "4194304.0", "+Inf"} {
		all["rocketmq_message_size_bucket is_system=false le="+le+labels] = gone
	}
	return all
}()

// unlike are the series of POP that differ in all traffic.
func unlike(all map[string]string) {
	for queue := range 8 {
		all["rocketmq_pop_revive_lag_milliseconds queue_id="+strconv.Itoa(queue)] = behind
	}
	scans := "rocketmq_pop_buffer_scan_time_consume_milliseconds_"
	all[scans+"sum"], all[scans+"count"] = scanned, scanned
	for _, le := range []string{"1.0", "10.0", "100.0", "1000.0", "2000.0", "3000.0", "+Inf"} {
		all[scans+"bucket le="+le] = scanned
	}
}

// differentPops are series of groups that pop that differ, and why.
var differentPops = func() map[string]string {
	const (
		push   = "a group that pops is known by its pops, too, whatever its clients say"
		twice  = "messages that are popped in order and not acknowledged are not counted as ready, too"
		inside = "the broker is not its own consumer"
		reread = "Java counts acknowledgements each time it reads them"
	)
	all := map[string]string{
		"rocketmq_consumer_ready_messages consumer_group=GE is_retry=false is_system=false topic=PopE":                                 twice,
		"rocketmq_consumer_lag_messages consumer_group=GE is_retry=false is_system=false topic=PopE":                                   twice,
		"rocketmq_messages_out_total consumer_group=CID_RMQ_SYS_REVIVE_GROUP is_system=true topic=rmq_sys_REVIVE_LOG_DefaultCluster":   inside,
		"rocketmq_throughput_out_total consumer_group=CID_RMQ_SYS_REVIVE_GROUP is_system=true topic=rmq_sys_REVIVE_LOG_DefaultCluster": inside,
	}
	for _, name := range []string{"lag_messages", "inflight_messages", "ready_messages", "lag_latency_milliseconds", "queueing_latency_milliseconds"} {
		for _, retry := range []string{"true", "false"} {
			all["rocketmq_consumer_"+name+" consumer_group=GB is_retry="+retry+" is_system=false topic=PopB"] = push
		}
	}
	for queue := range 8 {
		all["rocketmq_pop_revive_out_message_total consumer_group=GC queue_id="+strconv.Itoa(queue)+" revive_message_type=ACK topic=PopC"] = reread
	}
	unlike(all)
	return all
}()
