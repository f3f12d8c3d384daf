// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

// offsetMap is a store of offsets in memory.
type offsetMap map[string]int64

func (m offsetMap) Query(_, topic string, _ int32) (int64, bool) {
	o, ok := m[topic]
	return o, ok
}

func (m offsetMap) Commit(_, _, topic string, _ int32, offset int64) bool {
	m[topic] = offset
	return true
}

// bench makes a service that nobody runs.
func bench(t testing.TB, release string) (*Service, *fakeStore, *put.Pipeline) {
	f := newFakeStore()
	cfg, _, err := config.LoadBroker(config.Options{Set: map[string]string{"brokerIP1": "127.0.0.1"}, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	var s *Service
	pipeline := put.New(put.Options{
		Profile: compat.For(release), Store: f, Config: cfg.Load, Topics: topicTable{},
		MaxLevel: func() int32 { return 18 }, IDs: message.NewIDGenerator(brokerHost.Addr(), 1, time.Now),
		Prepared: func(topic string) { s.Prepared(topic) },
	})
	s, err = New(Options{
		Dir: t.TempDir(), Profile: compat.For(release), Store: f, Put: pipeline, Offsets: offsetMap{}, Topics: topicTable{},
		Producer: func(string) remoting.Channel { return nil }, Rules: func() Rules { return rulesOf(cfg.Load()) },
		Host: func() netip.AddrPort { return brokerHost }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, f, pipeline
}

// A round passes over whatever stands in the op queue and in a half message, and settles both queues in the end.
func FuzzRound(f *testing.F) {
	f.Add("12,13,17,", "d", "PGROUP\x01g\x02REAL_TOPIC\x01T\x02REAL_QID\x010\x02", int64(0))
	f.Add("0", "d", "CHECK_IMMUNITY_TIME_IN_SECONDS\x019223372036854775807\x02TRAN_PREPARED_QUEUE_OFFSET\x01-5\x02", int64(1))
	f.Add("-1,,9223372036854775807,x", "d", "TRANSACTION_CHECK_TIMES\x01-2147483648\x02REAL_QID\x01x\x02", int64(-1))
	f.Add("", "", "TRANSACTION_CHECK_TIMES\x0199999999999999999999\x02", int64(1)<<62)
	f.Fuzz(func(t *testing.T, body, tag, properties string, born int64) {
		if len(properties) > message.MaxProperties-100 || len(tag) > 100 {
			return
		}
		s, f, _ := bench(t, compat.Release497)
		for _, m := range []*message.Message{
			{Topic: halfTopic, BornTimestamp: born, Properties: []byte(properties), Body: []byte("half")},
			{Topic: opTopic, Properties: []byte("TAGS\x01" + tag + "\x02"), Body: []byte(body)},
		} {
			m.BornHost, m.StoreHost = clientHost, brokerHost
			f.Put(m, func(store.PutResult) {})
		}
		rules := s.o.Rules()
		rules.CheckMax, rules.Reserved = 2, 0 // everything is old
		for i := range 4 {
			s.o.Now = func() time.Time { return time.Now().Add(time.Duration(i) * time.Second) }
			s.check(context.Background(), rules)
			s.ops.writers.Wait() // what the round noted is in the queue
		}
		if op := s.progress(opTopic); op < 1 {
			t.Errorf("op queue settled up to %d", op)
		}
		// A message from the future, or one with a time of its own, may rest.
		if half := s.progress(halfTopic); half < 1 && born < time.Now().UnixMilli()-1 && !hasImmunity(properties) {
			t.Errorf("half queue settled up to %d", half)
		}
	})
}

func hasImmunity(properties string) bool {
	_, ok := message.Property([]byte(properties), propImmunity)
	return ok
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte(`{"dataVersion":{"counter":18,"stateVersion":0,"timestamp":1},"transactionCount":{"GTx":{"count":0,"timeStamp":1}}}`))
	f.Add([]byte(`{"transactionCount":{"a":null,"b":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &metrics{}
		if m.load(text) != nil {
			return
		}
		again := &metrics{}
		if err := again.load(m.render()); err != nil {
			t.Errorf("%q is written as %q: %v", text, m.render(), err)
		}
	})
}

// A transaction: half message, commit, and the note of its end.
func BenchmarkCommit(b *testing.B) {
	s, f, pipeline := bench(b, compat.Release533)
	var at store.PutResult
	var e put.Entry
	b.ReportAllocs()
	for b.Loop() {
		e.Reset()
		e.Topic, e.BornHost, e.StoreHost, e.Body = "T", clientHost, brokerHost, []byte("body")
		pipeline.Open(&e, "TRAN_MSG\x01true\x02PGROUP\x01g\x02UNIQ_KEY\x017F0000010000620C0000000000000000\x02")
		if err := pipeline.Send(&e, put.Retry{}, func(r store.PutResult) { at = r }); err != nil {
			b.Fatal(err)
		}
		s.End(End{Group: "g", QueueOffset: at.QueueOffset, PhyOffset: at.PhyOffset, Commit: true}, func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		})
		f.forget()
	}
}

// A round over half messages that have all ended.
func BenchmarkRound(b *testing.B) {
	s, f, _ := bench(b, compat.Release533)
	const n = 10_000
	for range n {
		f.Put(&message.Message{Topic: halfTopic, BornHost: clientHost, StoreHost: brokerHost}, func(store.PutResult) {})
	}
	for b.Loop() {
		s.passed = 0
		s.o.Offsets.Commit("", Group, halfTopic, queue, 0)
		for i := range int64(n) {
			s.ended.add(i)
		}
		s.check(context.Background(), s.o.Rules())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/half")
}
