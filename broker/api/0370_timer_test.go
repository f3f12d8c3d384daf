// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"strconv"
	"strings"
	"testing"
)

// A handle that was given is understood; any other text is refused or understood, too.
func FuzzRecallHandle(f *testing.F) {
	f.Add("djEgVG9waWNBIGJyb2tlci1hIDE3OTU5ODgyNDUwMDEgRkQwMDAw", "T", "broker-a", int64(1795988245000), "id")
	f.Add("!!!", "", "", int64(-1), "")
	f.Add("AAAA", "a b", "c", int64(1<<62), "d e")
	f.Fuzz(func(t *testing.T, text, topic, broker string, out int64, id string) {
		if h, err := parseHandle(text); err == nil && strings.Contains(h.topic+h.broker+h.text+h.uniqKey, " ") {
			t.Fatalf("%+v", h)
		}
		if out == 1<<63-1 || strings.Contains(topic+broker+id, " ") {
			return
		}
		h, err := parseHandle(recallHandle(topic, broker, out, id))
		if id == "" {
			if err == nil {
				t.Fatal("a handle without id")
			}
			return
		}
		want := handle{topic: topic, broker: broker, text: strconv.FormatInt(out+1, 10), ms: out + 1, uniqKey: id}
		if err != nil || h != want {
			t.Fatalf("%+v %v, want %+v", h, err, want)
		}
	})
}
