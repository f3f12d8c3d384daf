// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/store"
)

// What a message of 1 KiB costs from the timer topic into its slot, and from there to its topic, the put included.
// "same" are messages of one second, "spread" those of the next hour.
func BenchmarkTimer(b *testing.B) {
	const n = 20000
	for _, spread := range []time.Duration{time.Second, time.Hour} {
		body := make([]byte, 1024)
		for _, part := range []string{"enter", "deliver"} {
			b.Run(fmt.Sprintf("%s/%v", part, spread), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					var clock atomic.Int64
					begin := time.UnixMilli(1_800_000_000_000)
					now := func() time.Time { return begin.Add(time.Duration(clock.Load())) }
					st, err := store.Open(store.Config{Dir: b.TempDir(), CommitLogFileSize: 256 << 20, IndexDisabled: true, Now: now, Log: slog.New(slog.DiscardHandler)})
					if err != nil {
						b.Fatal(err)
					}
					s, err := New(Options{Dir: b.TempDir(), Store: st, Put: st.Put, Now: now, Log: slog.New(slog.DiscardHandler)})
					if err != nil {
						b.Fatal(err)
					}
					for i := range n {
						m := timed(strconv.Itoa(i), begin.Add(time.Second+time.Duration(rand.Int64N(int64(spread)))))
						m.Body = body
						st.Put(m, func(store.PutResult) {})
					}
					for st.MaxOffset(Topic, 0) < n {
						time.Sleep(time.Millisecond)
					}
					s.recover()
					if part == "enter" {
						b.StartTimer()
					}
					s.enterArrived(context.Background(), func() bool { return true })
					if part == "deliver" {
						clock.Store(int64(spread + 5*time.Second))
						b.StartTimer()
						s.deliverDue(context.Background())
					}
					b.StopTimer()
					if x := s.Stats(); x.Entered != n || part == "deliver" && x.Delivered != n {
						b.Fatalf("%+v", x)
					}
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
					if err := st.Close(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/message")
			})
		}
	}
}
