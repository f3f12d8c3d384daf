// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"rocketmq-go/compat"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

const tooLarge = "13 the message is illegal, maybe msg body or properties length not matched. msg body length limit 4194304B, msg " +
	"properties length limit 32KB."

// What becomes of a client batch, and of its answer: as Java 5.3.3, but for what is no batch or has no room.
func TestBatch(t *testing.T) {
	three := bytes.Repeat(message.AppendBatchEntry(nil, 0, []byte("x"), nil), 3)
	for _, c := range []struct {
		topic      string
		batches    bool // the topic has batch queues
		properties string
		body       []byte
		want       string
		inner      bool // the answer names the batch
	}{
		{"T", false, "UNIQ_KEY=U", three, "split UNIQ_KEY=U CLUSTER=DefaultCluster", false},
		{"T", true, "", three, "split CLUSTER=DefaultCluster", false},
		{"T", true, "UNIQ_KEY=U WAIT=false", three, "one UNIQ_KEY=U CLUSTER=DefaultCluster WAIT=false INNER_NUM=3", true},
		{"T", true, "UNIQ_KEY=U INNER_NUM=9", three, "one UNIQ_KEY=U CLUSTER=DefaultCluster INNER_NUM=3", true},
		{"T", true, "UNIQ_KEY=U DELAY=0", three, "one UNIQ_KEY=U CLUSTER=DefaultCluster DELAY=0 INNER_NUM=3", true},
		{"T", true, "UNIQ_KEY=U TIMER_DELIVER_MS=5", three, "one TIMER_DELIVER_MS=5 UNIQ_KEY=U CLUSTER=DefaultCluster INNER_NUM=3", true},
		{"T", true, "UNIQ_KEY=U DELAY=1", three, tooLarge, true},
		{"T", true, "UNIQ_KEY=U TIMER_DELAY_SEC=1", three, tooLarge, true},
		{"T", true, "UNIQ_KEY=U", three[1:], tooLarge, true},
		{"T", true, "UNIQ_KEY=U", []byte{}, tooLarge, true},
		{"T", true, "UNIQ_KEY=U", make([]byte, 4194305), tooLarge, true},
		{"T", true, "UNIQ_KEY=U", bytes.Repeat(message.AppendBatchEntry(nil, 0, nil, nil), 32768), tooLarge, true},
		{"%RETRY%G", true, "UNIQ_KEY=U", three, "13 batch request does not support retry group %RETRY%G", false},
	} {
		p, b := pipeline(t, compat.Release533, slots{tick: 1000}, nil)
		e := &Entry{Message: message.Message{Topic: c.topic, Body: c.body}, BatchTopic: c.batches}
		for pair := range strings.FieldsSeq(c.properties) {
			name, value, _ := strings.Cut(pair, "=")
			e.Props.Set(name, value)
		}
		got := outcomeOf(p.Batch(e, func(store.PutResult) {}), b)
		inner := e.SysFlag == message.SysInnerBatch|message.SysNeedUnwrap
		if got != c.want || e.InnerBatch != c.inner || inner != strings.HasPrefix(c.want, "one") {
			t.Errorf("%s %v %q of %d bytes: %s, named %v, sysFlag %d; want %s", c.topic, c.batches, c.properties, len(c.body), got,
				e.InnerBatch, e.SysFlag, c.want)
		}
	}
}

func outcomeOf(err error, b *book) string {
	if refused, ok := err.(*protocol.Error); ok {
		return fmt.Sprint(refused.Code, " ", refused.Remark)
	}
	kind := "one"
	if b.batch {
		kind = "split"
	}
	return kind + " " + strings.NewReplacer("\x01", "=", "\x02", " ").Replace(strings.TrimSuffix(b.properties, "\x02"))
}
