// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"testing"
	"time"
)

func FuzzParseLevels(f *testing.F) {
	f.Add(DefaultLevels)
	f.Add("1d -1s 99999999999999999999h")
	f.Fuzz(func(t *testing.T, text string) {
		delays, err := ParseLevels(text)
		if err == nil && len(delays) == 0 {
			t.Error("no level and no error")
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"dataVersion":{"counter":1},"offsetTable":{1:4,"18":0,-1:5,99:7}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &Service{others: map[int32]int64{}}
		for i := range int32(18) {
			s.levels = append(s.levels, newLevel(s, i, time.Second))
		}
		if s.load(text) != nil {
			return
		}
		again := &Service{others: map[int32]int64{}, levels: s.levels}
		if err := again.load(s.render()); err != nil {
			t.Errorf("%q is written as %q: %v", text, s.render(), err)
		}
	})
}
