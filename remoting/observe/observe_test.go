// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package observe_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/observe"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
	"rocketmq-go/telemetry/metrictest"
)

func collect(t *testing.T, r *observe.Requests) *metrictest.Text {
	t.Helper()
	var text metric.Text
	w := metric.NewWriter(&text)
	r.Collect(w, observe.Latency)
	told, err := metrictest.Parse(string(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func TestRequestsAreCountedByWhatBecameOfThem(t *testing.T) {
	var r observe.Requests
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 250 {
				r.Observe(remoting.Observation{Request: protocol.ReqSendMessageV2, Took: 2 * time.Millisecond})
				r.Observe(remoting.Observation{Request: protocol.ReqPullMessage, Response: protocol.RespPullNotFound, Took: time.Second, Held: true})
				r.Observe(remoting.Observation{Request: 77777, Response: protocol.RespRequestCodeNotSupported, Oneway: true})
			}
		})
	}
	all.Wait()
	got := map[string]float64{}
	text := collect(t, &r)
	for i := range text.Samples {
		got[text.Samples[i].Key()] = text.Samples[i].Value
	}
	const name = "rocketmq_rpc_latency_milliseconds"
	for key, want := range map[string]float64{
		"_count is_long_polling=false protocol_type=remoting request_code=send_message_v2 response_code=success result=success":         1000,
		"_sum is_long_polling=false protocol_type=remoting request_code=send_message_v2 response_code=success result=success":           2000,
		"_bucket is_long_polling=false le=1.0 protocol_type=remoting request_code=send_message_v2 response_code=success result=success": 0,
		"_bucket is_long_polling=false le=3.0 protocol_type=remoting request_code=send_message_v2 response_code=success result=success": 1000,
		"_count is_long_polling=true protocol_type=remoting request_code=pull_message response_code=pull_not_found result=success":      1000,
		"_count is_long_polling=false protocol_type=remoting request_code=77777 response_code=request_code_not_supported result=oneway": 1000,
	} {
		if value, ok := got[name+key]; !ok || value != want {
			t.Errorf("%s: %v, want %v", key, value, want)
		}
	}
}

// Codes that nobody has heard of cost a bounded number of series.
func TestStrangeCodesAreBounded(t *testing.T) {
	var r observe.Requests
	for code := range int32(5000) {
		r.Observe(remoting.Observation{Request: 100_000 + code})
	}
	codes := map[string]bool{}
	for _, s := range collect(t, &r).Samples {
		codes[s.Labels["request_code"]] = true
	}
	if len(codes) != 2000 {
		t.Errorf("%d codes", len(codes))
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	var r observe.Requests
	o := remoting.Observation{Request: protocol.ReqSendMessageV2, Took: 80 * time.Microsecond}
	r.Observe(o)
	if n := testing.AllocsPerRun(1000, func() { r.Observe(o) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	var r observe.Requests
	for code := range int32(40) { // as many as a busy broker has
		r.Observe(remoting.Observation{Request: code})
	}
	o := remoting.Observation{Request: protocol.ReqSendMessageV2, Took: 80 * time.Microsecond}
	b.ReportAllocs()
	for b.Loop() {
		r.Observe(o)
	}
}

func ExampleRequests_Collect() {
	var r observe.Requests
	r.Observe(remoting.Observation{Request: protocol.ReqHeartBeat, Took: 300 * time.Microsecond})
	var text metric.Text
	w := metric.NewWriter(&text)
	r.Collect(w, "heartbeats_milliseconds")
	fmt.Println(strings.Split(string(text.Bytes()), "\n")[2])
	// Output: heartbeats_milliseconds_bucket{protocol_type="remoting",request_code="heart_beat",response_code="success",is_long_polling="false",result="success",le="1.0"} 1
}
