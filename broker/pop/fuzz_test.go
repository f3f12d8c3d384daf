// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package pop

import (
	"net/netip"
	"testing"

	"rocketmq-go/message"
)

// A handle that was given is understood; any other text is refused or understood, too.
func FuzzHandle(f *testing.F) {
	f.Add("0 1795986945168 60000 4 1 broker-a 0 0", int64(0), int64(1), int64(2), int32(3), "b")
	f.Add("1 2", int64(-1), int64(1<<62), int64(-1), int32(-1), "")
	f.Fuzz(func(t *testing.T, text string, start, popTime, invisible int64, queue int32, broker string) {
		_, _ = ParseHandle(text)
		h := Handle{StartOffset: start, PopTime: popTime, InvisibleTime: invisible, ReviveQueue: queue, Broker: broker}
		for _, c := range broker {
			if c == ' ' {
				return
			}
		}
		got, err := ParseHandle(string(appendHandle(nil, &h, retryV1, queue, start)))
		if err != nil || got != h {
			t.Fatalf("%+v %v, want %+v", got, err, h)
		}
	})
}

// Whatever is in a revive queue: it is understood or passed over, and what a checkpoint says is worked off once.
func FuzzRevive(f *testing.F) {
	f.Add(`{"bm":0,"bn":"b","c":"G","d":[0,1],"it":10000,"n":2,"pt":1,"q":0,"ro":0,"so":0,"t":"T"}`, "ck", `{"ao":0,"bn":"b","c":"G","pt":1,"q":0,"so":0,"t":"T"}`, "ack")
	f.Add(`{"d":[2147483647],"n":127,"so":9223372036854775807,"c":"G","t":"T","bm":-1}`, "ck", `{"ao":-1,"aol":[0,1],"c":"G","t":"T"}`, "bAck")
	f.Add(`{"n":-1}`, "ck", `[]`, "x")
	f.Fuzz(func(t *testing.T, first, firstTag, second, secondTag string) {
		store := newFakeStore()
		topics := fakeTopics{store}
		topics.CreateRetry("T", 1, 6, 0)
		s, err := New(Options{
			Dir: t.TempDir(), Store: store, Put: store, Offsets: store, Topics: topics, Stats: &fakeStats{}, HasGroup: func(string) bool { return true },
			Settled: store.Settled, Rules: func() Rules { return Rules{Broker: "b", Cluster: "C", ReviveQueues: 1} },
			Polling: func() Polling { return Polling{} }, Host: func() netip.AddrPort { return brokerHost },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := newReviver(s, ReviveTopic("C"), 0)
		for _, m := range [][2]string{{first, firstTag}, {second, secondTag}} {
			properties := message.AppendProperty(nil, message.PropTags, m[1])
			w.note(&message.Record{Properties: properties, Body: []byte(m[0])})
			w.next++
		}
		for _, ck := range w.open {
			if !w.work(t.Context(), ck) {
				t.Fatalf("%+v is never done", ck.PopCheckPoint)
			}
		}
		if n := w.needed(); n < 0 || n > w.next {
			t.Fatalf("needs %d of %d", n, w.next)
		}
	})
}
