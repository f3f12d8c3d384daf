// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"fmt"
	"testing"
)

func filled(b *testing.B, groups int) *Store {
	s := newStore(b, Options{})
	for i := range groups {
		for q := range int32(4) {
			s.Commit("", fmt.Sprint("group", i), "topic", q, 1)
		}
	}
	return s
}

func BenchmarkCommit(b *testing.B) {
	s := filled(b, 1000)
	b.ReportAllocs()
	n := int64(1)
	for b.Loop() {
		n++
		s.Commit("client", "group500", "topic", 2, n)
	}
}

func BenchmarkQuery(b *testing.B) {
	s := filled(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		s.Query("group500", "topic", 2)
	}
}

func BenchmarkRender(b *testing.B) {
	s := filled(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		s.render()
	}
}
