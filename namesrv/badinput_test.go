// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"strings"
	"testing"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting/protocol"
)

var allCodes = []int32{
	100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319, 322, 327, 901, 904,
}

// U017 and the like: whatever is missing or wrong, there is one answer, and the next request is served.
func TestBadInput(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	p.register("b", 0, 1, twoTopics, nil)
	long := strings.Repeat("x", 100_000)
	for _, f := range []fields{
		nil,
		{},
		{"brokerId": "abc", "bodyCrc32": "x", "compressed": "maybe", "heartbeatTimeoutMillis": "1e9"},
		{"brokerId": "-1", "brokerName": "b", "brokerAddr": "a", "clusterName": "C"},
		{"brokerId": "9223372036854775808", "brokerName": "b", "brokerAddr": "a", "clusterName": "C"},
		{"topic": long, "brokerName": long, "brokerAddr": long, "clusterName": long, "cluster": long, "namespace": long, "key": long},
		{"topic": "T1", "brokerName": nil, "clusterName": nil, "unknown": map[string]any{"deep": []int{1}}},
		{"topic": "\x00\u2028<é>", "brokerName": "\n", "__ZONE_MODE": "true", "__ZONE_NAME": "\x01"},
	} {
		for _, body := range []string{"", "{", "null", "[]", "\x78\x9c\x00", "\xff\xfe", `{"topicConfigSerializeWrapper":7}`, long} {
			for _, code := range allCodes {
				if a := p.ask(code, f, body); a.Code < 0 || a.Code > 22 {
					t.Errorf("request %d %.80v: code %d %.200s", code, f, a.Code, remark(a))
				}
			}
		}
	}
	if got := p.route("T2"); got == "17" { // T1 was deleted by a 216 among the above
		t.Error("the broker's route did not survive")
	}
	for _, c := range []struct {
		change fields
		want   string
	}{
		{fields{"brokerName": nil}, "the custom field <brokerName> is null"},
		{fields{"brokerAddr": ""}, "the custom field <brokerAddr> is null"},
		{fields{"clusterName": nil}, "the custom field <clusterName> is null"},
		{fields{"brokerId": nil}, "the custom field <brokerId> is null"},
		{fields{"brokerId": "-7"}, "brokerId -7 is negative"},
	} {
		for _, code := range []int32{protocol.ReqRegisterBroker, protocol.ReqUnregisterBroker} {
			p.refused(code, registration("b", 0, c.change), body(1, twoTopics), 1, c.want)
		}
	}
	p.refused(9999, nil, "", 3, " request type 9999 not supported")
	p.refused(-1, nil, "", 3, " request type -1 not supported")
	p.refused(217, nil, "{}", 1, "the custom field <topic> is null")
}

func TestOnewayIsNotAnswered(t *testing.T) {
	s := start(t, "", namesrv.Options{})
	p := s.connect(t)
	for i, code := range append(allCodes, 9999) {
		if _, err := p.Write(&replay.Frame{Code: code, Language: "JAVA", Version: 479, Flag: 2}); err != nil {
			t.Fatal(i, err)
		}
	}
	opaque, err := p.Write(&replay.Frame{Code: 105, Language: "JAVA", Version: 479})
	if err != nil {
		t.Fatal(err)
	}
	for n := range opaque {
		if a, _ := p.Wait(n, time.Millisecond); a != nil {
			t.Errorf("request %d was answered: %+v", n, a)
		}
	}
	if a, err := p.Wait(opaque, 5*time.Second); err != nil || a == nil {
		t.Fatal(a, err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(int32(103), "brokerName", "b", "brokerAddr", "a", body(1, twoTopics))
	f.Add(int32(105), "topic", "T1", "__ZONE_MODE", "true", "")
	f.Add(int32(318), "", "", "", "", "a=b\n#c\nd=\\u0041")
	f.Add(int32(217), "topic", "x", "", "", `{"queueDatas":[{"brokerName":"b"}]}`)
	f.Add(int32(322), "brokerAddr", "a", "clusterName", "C", `{"counter":1}`)
	f.Fuzz(func(t *testing.T, code int32, k1, v1, k2, v2, text string) {
		s := start(t, "", namesrv.Options{})
		defer s.Close()
		p := s.connect(t)
		p.register("b", 0, 1, twoTopics, nil)
		change := fields{k1: v1, k2: v2}
		p.ask(code, change, text)
		p.ask(code, registration("b", 0, change), text)
		p.ask(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1"}, "")
	})
}
