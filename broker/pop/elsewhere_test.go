// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"rocketmq-go/remoting/protocol"
)

// A broker that does not answer is asked for one message of all that it left, lest what this one has to revive waits.
func TestSilentBrokerIsAskedOnce(t *testing.T) {
	f, asked := newFakeStore(), 0
	s, err := New(Options{
		Dir: t.TempDir(), Store: f, Put: f, Offsets: f, Topics: fakeTopics{f}, Stats: &fakeStats{},
		HasGroup: func(string) bool { return true }, Settled: f.Settled,
		Rules: func() Rules { return Rules{Broker: "b", Cluster: "C", ReviveQueues: 1} }, Polling: func() Polling { return Polling{} },
		Host: func() netip.AddrPort { return brokerHost }, Log: slog.New(slog.DiscardHandler),
		Elsewhere: func(context.Context, string, string, string, int32, int64) ([]byte, error) {
			asked++
			return nil, errors.New("silent")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := newReviver(s, ReviveTopic("C"), 0)
	ck := &checkpoint{
		PopCheckPoint: protocol.PopCheckPoint{Topic: "T", Cid: "G", BrokerName: "other", Num: 3, PopTime: 1, InvisibleTime: 1},
		acked:         map[int]bool{},
	}
	if !w.work(t.Context(), ck) {
		t.Error("the messages are not put off")
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	if clear(w.silent); !w.work(t.Context(), &checkpoint{PopCheckPoint: ck.PopCheckPoint, acked: map[int]bool{}}) || asked != 2 {
		t.Errorf("asked %d times after another round began", asked)
	}
}
