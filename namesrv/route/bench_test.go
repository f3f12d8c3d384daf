// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import (
	"fmt"
	"testing"
)

func manyTopics(n int) []string {
	topics := make([]string, n)
	for i := range topics {
		topics[i] = fmt.Sprintf("SomeTopicName%05d", i)
	}
	return topics
}

// BenchmarkLookup is a client's question for a route of two brokers with a slave each.
func BenchmarkLookup(b *testing.B) {
	tb, _ := newTable("5.3.3")
	for _, name := range []string{"broker-a", "broker-b"} {
		tb.Register(reg(name, 0, 1, manyTopics(1000)...), false)
		tb.Register(reg(name, 1, 1), false)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := tb.Lookup("SomeTopicName00500", View{Flavour: Standard}); !ok {
				b.Error("not found")
			}
		}
	})
}

// BenchmarkLookupAfterChange encodes the route each time: the most a change of addresses can cost per topic.
func BenchmarkLookupAfterChange(b *testing.B) {
	tb, _ := newTable("5.3.3")
	for _, name := range []string{"broker-a", "broker-b"} {
		tb.Register(reg(name, 0, 1, manyTopics(1000)...), false)
		tb.Register(reg(name, 1, 1), false)
	}
	b.ReportAllocs()
	for b.Loop() {
		tb.stamp++
		tb.Lookup("SomeTopicName00500", View{Flavour: Standard})
	}
}

// BenchmarkRegister10k applies a decoded registration with 10,000 topics, unchanged or with one of them changed.
func BenchmarkRegister10k(b *testing.B) {
	for name, edit := range map[string]func(*Registration, int){
		"unchanged": func(*Registration, int) {},
		"oneChange": func(r *Registration, i int) { r.Version.Counter, r.Topics[5000].Read = int64(i), int32(i) },
	} {
		b.Run(name, func(b *testing.B) {
			tb, _ := newTable("5.3.3")
			r := reg("broker-a", 0, 1, manyTopics(10_000)...)
			tb.Register(r, false)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				edit(r, i)
				tb.Register(r, false)
			}
		})
	}
}

// BenchmarkRenew repeats a registration whose body did not change.
func BenchmarkRenew(b *testing.B) {
	tb, _ := newTable("5.3.3")
	r := reg("broker-a", 0, 1, manyTopics(10_000)...)
	r.Print = 1
	tb.Register(r, false)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := tb.Renew(r); !ok {
			b.Fatal("not renewed")
		}
	}
}
