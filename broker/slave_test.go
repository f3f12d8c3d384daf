// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/internal/replay"
)

// What Java slaves answered, step by step, is what this slave answers: the recordings begin with what was done at the
// master. testdata/slave/known.txt lists what differs and why.
func TestSlaveAnswers(t *testing.T) {
	local := time.Local
	time.Local = time.UTC // as recorded
	defer func() { time.Local = local }()
	known, err := replay.LoadKnown("testdata/slave/known.txt")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, release := range []string{"5.3.3", "4.9.7"} {
		t.Run(release, func(t *testing.T) {
			steps, err := replay.LoadFile("testdata/slave/" + release + ".jsonl.gz")
			if err != nil {
				t.Fatal(err)
			}
			here := replay.Known{}
			for _, st := range steps {
				if reason, ok := known[st.ID]; ok {
					here[st.ID] = reason
				}
			}
			used += len(here)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(recordedAt))
				p := newPair(t, "compatVersion="+release, "initAuthenticationUser=", "authenticationMetadataProvider=x", "authorizationMetadataProvider=x")
				p.master()
				p.slave()
				dial := func(to string) (net.Conn, error) {
					host := masterHost
					if to == "slave" {
						host = slaveHost
					}
					conn, err := p.Dial(context.Background(), host+":10911")
					return settled{conn, synctest.Wait}, err
				}
				at := 0
				for at < len(steps) && steps[at].To == "master" {
					at++
				}
				replay.Play(t, dial, steps[:at], nil)
				p.settle()
				replay.Play(t, dial, steps[at:], here)
			})
		})
	}
	if used != len(known) {
		t.Errorf("known.txt names %d steps that are in no recording", len(known)-used)
	}
}
