// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"fmt"
	"testing"
	"time"

	"rocketmq-go/remoting/protocol"
)

// A client may claim as many groups as fit into a frame. When it goes, all other clients wait for the table: leaving
// must take time in proportion to the groups, not to their square (which would be minutes here).
func TestClientOfAHundredThousandGroupsLeaves(t *testing.T) {
	const groups = 100_000
	for name, leave := range map[string]func(w *world, ch *fakeChannel){
		"closed": func(w *world, ch *fakeChannel) { w.consumers.Closed(ch); w.producers.Closed(ch) },
		"silent": func(w *world, _ *fakeChannel) { w.now = w.now.Add(time.Hour); w.producers.Scan() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			ch := w.channel("a")
			hb := &protocol.HeartbeatData{ClientID: "id"}
			for i := range groups {
				hb.ProducerDataSet = append(hb.ProducerDataSet, protocol.ProducerData{GroupName: fmt.Sprint("p", i)})
				if name == "closed" {
					hb.ConsumerDataSet = append(hb.ConsumerDataSet, protocol.ConsumerData{GroupName: fmt.Sprint("g", i)})
				}
			}
			begin := time.Now()
			w.consumers.Heartbeat(ch, hb, protocol.LanguageGo, 1)
			w.producers.Heartbeat(ch, hb, protocol.LanguageGo, 1)
			entering := time.Since(begin)
			begin = time.Now()
			leave(w, ch)
			if took := time.Since(begin); took > 30*entering {
				t.Errorf("leaving took %v, entering %v", took, entering)
			}
			if n := len(w.consumers.groups) + len(w.consumers.of) + len(w.producers.groups) + len(w.producers.of) + len(w.producers.clients); n != 0 {
				t.Errorf("%d things left behind", n)
			}
		})
	}
}
