// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"rocketmq-go/namesrv"
	"rocketmq-go/remoting/protocol"
)

// hotKey proves that a key takes effect while the name server runs: what see tells is before at first, and after once the
// key was set by the request.
type hotKey struct {
	with          string
	set           string
	before, after string
	see           func(t *testing.T, s *testServer) string
}

// codeOf is a look at the code of an answer.
func codeOf(code int32, f fields) func(t *testing.T, s *testServer) string {
	return func(t *testing.T, s *testServer) string { return fmt.Sprint(s.connect(t).ask(code, f, "").Code) }
}

// routeAfterAMinute is a look at the route of a topic, a minute after the start.
func routeAfterAMinute(t *testing.T, s *testServer) string {
	p := s.connect(t)
	p.register("b", 0, 1, twoTopics, nil)
	time.Sleep(time.Minute)
	return fmt.Sprint(p.ask(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1"}, "").Code)
}

var hotKeys = map[string]hotKey{
	"enableAllTopicList": {set: "false", before: "0", after: "1", see: codeOf(protocol.ReqGetAllTopicListFromNameserver, nil)},
	"enableTopicList":    {set: "false", before: "0", after: "1", see: codeOf(protocol.ReqGetTopicsByCluster, fields{"cluster": "C"})},
	"orderMessageEnable": {set: "true", before: "false", after: "true", see: func(t *testing.T, s *testServer) string {
		p := s.connect(t)
		p.register("b", 0, 1, twoTopics, nil)
		p.succeed(protocol.ReqPutKvConfig, fields{"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "b:4"}, "")
		return fmt.Sprint(strings.Contains(p.route("T1"), `"orderTopicConf":"b:4"`))
	}},
	"returnOrderTopicConfigToBroker": {set: "false", before: "true", after: "false", see: func(t *testing.T, s *testServer) string {
		p := s.connect(t)
		p.succeed(protocol.ReqPutKvConfig, fields{"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "b:4"}, "")
		return fmt.Sprint(strings.Contains(string(p.register("b", 0, 1, twoTopics, nil).Body), "b:4"))
	}},
	"supportActingMaster": {set: "true", before: "false", after: "true", see: func(t *testing.T, s *testServer) string {
		p := s.connect(t)
		acting := fields{"enableActingMaster": "true"}
		p.register("b", 0, 1, twoTopics, acting)
		p.register("b", 1, 1, twoTopics, acting)
		p.succeed(protocol.ReqUnregisterBroker, registration("b", 0, nil), "")
		return fmt.Sprint(strings.Contains(p.route("T1"), `{"0":"`+addr("b", 1)))
	}},
	"deleteTopicWithBrokerRegistration": {set: "true", before: "false", after: "true", see: func(t *testing.T, s *testServer) string {
		p := s.connect(t)
		p.register("b", 0, int(time.Now().UnixMilli()), twoTopics, nil)
		time.Sleep(time.Second)
		p.register("b", 0, int(time.Now().UnixMilli()), []string{"T1"}, nil)
		return fmt.Sprint(p.route("T2") == "17")
	}},
	"scanNotActiveBrokerInterval": {set: "3600000", before: "true", after: "false", see: func(t *testing.T, s *testServer) string {
		time.Sleep(6 * time.Second) // the interval that has begun ends
		p := s.connect(t)
		p.register("b", 0, 1, twoTopics, fields{"heartbeatTimeoutMillis": "1000"})
		time.Sleep(10 * time.Second)
		return fmt.Sprint(s.connect(t).route("T1") == "17")
	}},
	"protectPathKeys": {set: "true", before: "0", after: "16", see: func(t *testing.T, s *testServer) string {
		return fmt.Sprint(s.connect(t).ask(protocol.ReqUpdateNamesrvConfig, nil, "logDir=/elsewhere").Code)
	}},
	"needWaitForService":    {with: "waitSecondsForService=3600", set: "true", before: "0", after: "1", see: routeAfterAMinute},
	"waitSecondsForService": {with: "needWaitForService=true", set: "3600", before: "0", after: "1", see: routeAfterAMinute},
	"notifyMinBrokerIdChanged": {set: "true", before: "false", after: "true", see: func(t *testing.T, s *testServer) string {
		acting := fields{"enableActingMaster": "true"}
		master, slave := s.connect(t), s.connect(t)
		n := s.dials.Load()
		master.register("b", 0, 1, twoTopics, acting)
		slave.register("b", 1, 1, nil, acting)
		master.Close()
		time.Sleep(time.Second)
		return fmt.Sprint(s.dials.Load() > n)
	}},
}

// ofOthers are keys of OwnConfig that name servers share a file with brokers for.
var ofOthers = map[string]bool{
	"rocketmq.broker.diskSpaceWarningLevelRatio": true, "rocketmq.broker.diskSpaceCleanForciblyRatio": true,
	"logLevel": true, // of the process: cmd/rocketmq
}

// TestHotKeys goes through the keys of a name server that conf/KEYS.md says to work at once.
func TestHotKeys(t *testing.T) {
	left := len(hotKeys)
	for _, k := range load(t, "").Keys() {
		proof, ok := hotKeys[k.Name]
		switch {
		case !k.Hot() || ofOthers[k.Name]:
			continue
		case !ok:
			t.Errorf("%s is said to take effect while the name server runs, and no test proves it", k.Name)
			continue
		}
		left--
		t.Run(k.Name, func(t *testing.T) {
			var s *testServer
			dial := func(context.Context, string) (net.Conn, error) {
				s.dials.Add(1)
				return nil, errors.New("nobody listens")
			}
			inBubble(t, proof.with, namesrv.Options{Dial: dial}, func(t *testing.T, server *testServer) {
				s = server
				if got := proof.see(t, s); got != proof.before {
					t.Errorf("at first: %q, want %q", got, proof.before)
				}
				s.connect(t).succeed(protocol.ReqUpdateNamesrvConfig, nil, k.Name+"="+proof.set)
				if got := proof.see(t, s); got != proof.after {
					t.Errorf("with %s: %q, want %q", proof.set, got, proof.after)
				}
			})
		})
	}
	if left != 0 {
		t.Errorf("%d entries are of keys that are not hot", left)
	}
}
