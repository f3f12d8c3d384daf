// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// BenchmarkStoreGet reads a queue of which no message matches, 800 in each Get: what a filter costs for each message,
// reading its unit and record included.
func BenchmarkStoreGet(b *testing.B) {
	t, err := NewTable(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	const expression = "price BETWEEN 20 AND 30 OR region IN ('us-east-1', 'us-west-1')"
	t.Register("G", []protocol.SubscriptionData{{Topic: "T", SubString: expression, ExpressionType: TypeSQL92, SubVersion: 1}})
	time.Sleep(2 * time.Millisecond) // until what is stored is younger than the expression
	s, err := store.Open(store.Config{
		Dir: b.TempDir(), CommitLogFileSize: 16 << 20, IndexDisabled: true, ExtEnabled: true, FilterBitMap: t.BitMap,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const messages = 800
	for i := range messages {
		s.Put(&message.Message{
			Topic: "T", Body: make([]byte, 1024), BornTimestamp: time.Now().UnixMilli(),
			Properties: encode("UNIQ_KEY", fmt.Sprintf("%032d", i), "WAIT", "true", "region", "eu-central-1", "price", "17", "TAGS", "A"),
		}, func(r store.PutResult) {
			if r.Status != store.PutOK {
				b.Error(r.Status)
			}
		})
	}
	for s.MaxOffset("T", 0) < messages {
		time.Sleep(time.Millisecond)
	}
	sql := func(expression string) store.Matcher {
		m, err := SQL(&protocol.SubscriptionData{SubString: expression, ExpressionType: TypeSQL92})
		if err != nil {
			b.Fatal(err)
		}
		return m
	}
	tags, err := Tags("B||C")
	if err != nil {
		b.Fatal(err)
	}
	for name, m := range map[string]store.Matcher{
		"tags":           tags,
		"sql":            sql(expression),
		"sql by bit map": t.Get("T", "G").Matcher,
	} {
		b.Run(name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				var r store.GetResult
				dst, r = s.Get(dst[:0], store.GetRequest{Topic: "T", MaxCount: 32, Match: m})
				if r.Status != store.NoMatchedMessage || r.NextBeginOffset != messages {
					b.Fatal(r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/messages, "ns/message")
		})
	}
}

// BenchmarkBitMap makes the bit map of a message, for topics with a number of expressions.
func BenchmarkBitMap(b *testing.B) {
	for _, groups := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			t, err := NewTable(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			defer t.Close()
			for i := range groups {
				t.Register(fmt.Sprintf("G%d", i), []protocol.SubscriptionData{{
					Topic: "T", SubString: "price BETWEEN 20 AND 30 OR region IN ('us-east-1', 'us-west-1')", ExpressionType: TypeSQL92, SubVersion: 1,
				}})
			}
			props := encode("UNIQ_KEY", fmt.Sprintf("%032d", 7), "WAIT", "true", "region", "eu-central-1", "price", "17", "TAGS", "A")
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = t.BitMap(dst[:0], "T", props, 1)
			}
		})
	}
}
