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
	s, err := store.Open(store.Config{Dir: b.TempDir(), CommitLogFileSize: 16 << 20, IndexDisabled: true, Log: slog.New(slog.DiscardHandler)})
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
		"tags": tags,
		"sql":  sql("price BETWEEN 20 AND 30 OR region IN ('us-east-1', 'us-west-1')"),
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
