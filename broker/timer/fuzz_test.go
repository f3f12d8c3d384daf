// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"strconv"
	"testing"

	"rocketmq-go/message"
)

// Whatever stands in the timer topic, it is skipped or can be delivered; never to the timer topic, unless it rolls.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("TIMER_OUT_MS\x011000\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02UNIQ_KEY\x01k\x02TIMER_DEL_UNIQKEY\x01T+k\x02"), int32(1), int64(5))
	f.Add([]byte("TIMER_OUT_MS\x01-9223372036854775808\x02REAL_TOPIC\x01rmq_sys_wheel_timer\x02REAL_QID\x01-1\x02"), int32(3), int64(-1))
	f.Add([]byte("TIMER_ROLL_TIMES\x019223372036854775807\x02TIMER_OUT_MS\x011\x02REAL_TOPIC\x01T\x02REAL_QID\x010"), int32(2), int64(neverEntered))
	f.Fuzz(func(t *testing.T, properties []byte, magic int32, write int64) {
		m := waiting{Record: message.Record{Topic: []byte(Topic), Properties: properties, Body: []byte("b")}}
		if m.parse() != "" {
			return
		}
		var w work
		it := item{magic: magic, write: write}
		out := w.outgoing(&m, it, 77)
		if it.rolls() != (out.Topic == Topic) || out.Topic == "" {
			t.Fatalf("to %q", out.Topic)
		}
		if len(out.Properties) > len(properties) {
			got := message.PropertyMap(out.Properties)
			if got[propEnqueue] != strconv.FormatInt(write, 10) || got[propDequeue] != "77" || it.rolls() != (got[propRolls] != "") && len(properties) == 0 {
				t.Fatalf("%q", out.Properties)
			}
		}
		w.isTaken(&m, map[string]struct{}{"k": {}})
	})
}
