// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"log/slog"
	"testing"
)

// Any text of a file is refused or gives offsets that are the same when written and read again.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"dataVersion":{"counter":1},"offsetTable":{"T@g":{0:1,"7":-2},"T@g@broadcast":{},"odd":{1:1}}}`))
	f.Add([]byte(`{"lmqOffsetTable":{"%LMQ%T@%LMQ%g":5},"offsetTable":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o := Options{LMQ: true, Log: slog.New(slog.DiscardHandler)}
		first := &Store{o: o, entries: map[key]*entry{}}
		if first.load(text) != nil {
			return
		}
		second := &Store{o: o, entries: map[key]*entry{}}
		if err := second.load(first.render()); err != nil {
			t.Fatalf("%q is written as %q: %v", text, first.render(), err)
		}
		for k, e := range first.entries {
			for id, c := range e.queues {
				if isLMQ(k.group) && id != 0 {
					continue // a light queue has one offset
				}
				if got := second.Offsets(k.group, k.topic)[id]; got != c.committed {
					t.Errorf("%v queue %d: %d became %d", k, id, c.committed, got)
				}
			}
		}
	})
}
