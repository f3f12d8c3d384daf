// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/replay"
	"rocketmq-go/namesrv"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// inBubble runs a test in virtual time. Everything is closed before the bubble ends.
func inBubble(t *testing.T, lines string, o namesrv.Options, test func(t *testing.T, s *testServer)) {
	synctest.Test(t, func(t *testing.T) { test(t, start(t, lines, o)) })
}

func TestSilentBrokerExpires(t *testing.T) {
	inBubble(t, "", namesrv.Options{}, func(t *testing.T, s *testServer) {
		broker, quick := s.connect(t), s.connect(t)
		broker.register("slow", 0, 1, twoTopics, nil)
		quick.register("quick", 0, 1, []string{"Q1", "Q2"}, fields{"heartbeatTimeoutMillis": "10000"})
		client := s.connect(t)
		gone := func(topic string) bool { return client.route(topic) == "17" }

		time.Sleep(9 * time.Second)
		client.succeed(protocol.ReqBrokerHeartbeat, registration("quick", 0, nil), "")
		time.Sleep(9 * time.Second)
		if gone("Q1") {
			t.Error("gone in spite of its heartbeat")
		}
		client.succeed(protocol.ReqQueryDataVersion, registration("quick", 0, nil), `{"counter":9}`)
		time.Sleep(9 * time.Second)
		if gone("Q1") {
			t.Error("gone in spite of its question for the data version")
		}
		time.Sleep(6*time.Second + time.Millisecond) // 10 s of silence and one scan
		if !gone("Q1") {
			t.Error("not gone after 10 s")
		}
		if _, err := quick.Wait(1<<30, time.Minute); !errors.Is(err, replay.ErrClosed) {
			t.Errorf("the connection of an expired broker: %v", err)
		}
		if gone("T1") {
			t.Error("a broker without timeout of its own went early")
		}
		client.succeed(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1"}, "") // keeps the client's connection from being idle
		time.Sleep(93 * time.Second)
		client.route("T1")
		if again := s.connect(t); again.route("T1") != "17" {
			t.Error("not gone after 120 s")
		}
	})
}

func TestScanIntervalIsHot(t *testing.T) {
	inBubble(t, "scanNotActiveBrokerInterval=60000", namesrv.Options{}, func(t *testing.T, s *testServer) {
		p := s.connect(t)
		p.succeed(protocol.ReqUpdateNamesrvConfig, nil, "scanNotActiveBrokerInterval=-1")
		time.Sleep(60 * time.Second)
		s.connect(t).register("b", 0, 1, twoTopics, fields{"heartbeatTimeoutMillis": "1000"})
		time.Sleep(1100 * time.Millisecond)
		if got := p.route("T1"); got != "17" {
			t.Errorf("route %s", got)
		}
	})
}

func TestHugeTimeout(t *testing.T) {
	inBubble(t, "", namesrv.Options{}, func(t *testing.T, s *testServer) {
		p := s.connect(t)
		for i, ms := range []string{"9223372036854775807", "-5", "0", "x"} {
			p.register(fmt.Sprintf("b%d", i), 0, 1, twoTopics, fields{"heartbeatTimeoutMillis": ms, "brokerAddr": ms})
		}
		time.Sleep(100 * time.Second)
		if a := p.succeed(protocol.ReqGetBrokerClusterInfo, nil, ""); string(a.Body) == "" || p.route("T1") == "17" {
			t.Errorf("%s", a.Body)
		}
	})
}

func TestNotReadyAtFirst(t *testing.T) {
	inBubble(t, "needWaitForService=true", namesrv.Options{}, func(t *testing.T, s *testServer) {
		p := s.connect(t)
		p.register("b", 0, 1, twoTopics, nil)
		p.refused(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1"}, "", 1, "name server not ready")
		time.Sleep(45 * time.Second)
		for range 2 {
			p.succeed(protocol.ReqGetRouteinfoByTopic, fields{"topic": "T1"}, "")
		}
	})
}

// brokers are the listening ends of brokers, which get the notices.
type brokers struct {
	server *remoting.Server
	got    chan string
}

func (b *brokers) Dispatch(r *remoting.Request) {
	var h protocol.NotifyMinBrokerIdChangeRequestHeader
	h.ParseFields(&r.Fields)
	b.got <- fmt.Sprintf("%d oneway=%t min=%d@%s offline=%s ha=%s", r.Code, r.IsOneway(), h.MinBrokerID.V, h.MinBrokerAddr.V,
		h.OfflineBrokerAddr.Or("-"), h.HaBrokerAddr.Or("-"))
}

func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listening := make(map[string]*brokers)
		for id := range 3 {
			b := &brokers{got: make(chan string, 10)}
			b.server = remoting.NewServer(remoting.ServerConfig{Dispatcher: b})
			defer b.server.Close()
			listening[addr("b", id)] = b
		}
		dial := func(ctx context.Context, addr string) (net.Conn, error) {
			if b := listening[addr]; b != nil {
				return b.server.Pipe(), nil
			}
			<-ctx.Done() // a host that does not answer
			return nil, ctx.Err()
		}
		s := start(t, "notifyMinBrokerIdChanged=true", namesrv.Options{Dial: dial})
		defer s.Close()
		expect := func(what string, want map[int][]string) {
			t.Helper()
			time.Sleep(time.Second)
			for id := range 3 {
				var got []string
				b := listening[addr("b", id)]
				for len(b.got) > 0 {
					got = append(got, <-b.got)
				}
				if !reflect.DeepEqual(got, want[id]) {
					t.Errorf("%s: broker %d got %q, want %q", what, id, got, want[id])
				}
			}
		}
		acting := fields{"enableActingMaster": "true"}
		conns := make([]*peer, 3)
		for id := range conns {
			conns[id] = s.connect(t)
		}
		for _, id := range []int{0, 1, 2} {
			conns[id].register("b", id, 1, twoTopics, acting)
		}
		expect("nobody has a smaller id", nil)
		conns[0].Close()
		left := "905 oneway=true min=1@10.0.0.1:10001 offline=10.0.0.1:10000 ha=-"
		expect("the master's connection ended", map[int][]string{1: {left}, 2: {left}})
		conns[2].succeed(protocol.ReqUnregisterBroker, registration("b", 2, nil), "")
		expect("one that was not the smallest left", nil)
		back := s.connect(t)
		back.register("b", 0, 2, twoTopics, acting)
		expect("the master came back", map[int][]string{1: {"905 oneway=true min=0@10.0.0.1:10000 offline=- ha=10.0.0.1:100000"}})
		// A member that does not answer must not keep the others waiting for long.
		lost := s.connect(t)
		lost.register("b", 3, 2, nil, fields{"enableActingMaster": "true", "brokerAddr": "nowhere:1"})
		back.Close()
		expect("with a dead member", map[int][]string{1: {left}})
	})
}
