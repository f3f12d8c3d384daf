// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package transaction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"rocketmq-go/internal/brokerchild"
)

// A Java broker goes on with the transactions that we began, and we with its own: over one store, in turn. Needs Java and the
// jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	for _, release := range []string{"5.3.3", "4.9.7"} {
		t.Run(release, func(t *testing.T) { continues(t, release) })
	}
}

func continues(t *testing.T, release string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	store := t.TempDir()
	t.Setenv(moreEnv, "compatVersion="+release+";transactionTimeOut=1000;transactionCheckInterval=1000")
	committed := 0
	for life := range 4 {
		name, broker := "ours", (*brokerchild.Child)(nil)
		if life%2 == 1 {
			name, broker = "Java", brokerchild.StartJava(ctx, t, release, settings(store))
		} else {
			broker = brokerchild.Start(t, store)
		}
		c := newClient(t, broker.Addr)
		// Those of the former life are asked about first.
		if err := c.heartbeat(ctx); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); ; {
			if n := count(t, c.delivered(ctx)); n == committed || time.Now().After(end) {
				t.Logf("%s: %d of %d delivered, %d questions", name, n, committed, c.asked.Load())
				if n != committed {
					t.Errorf("%s does not go on", name)
				}
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if life > 0 && c.asked.Load() == 0 {
			t.Errorf("%s asked nothing", name)
		}
		c.forget(ctx)
		for i := range 8 {
			body := []string{"commit", "rollback"}[i%2] + fmt.Sprintf(" %d.%d", life, i)
			queueOffset, phyOffset, ok := c.half(ctx, body)
			if !ok {
				t.Fatal("no half message")
			}
			if i < 4 {
				if err := c.Oneway(ctx, c.addr, end(body, queueOffset, phyOffset, false)); err != nil {
					t.Fatal(err)
				}
			}
			if i%2 == 0 {
				committed++
			}
		}
		time.Sleep(4 * time.Second) // the ends are noted, and the rest is asked about in vain
		_ = c.Close()
		broker.Stop(t)
	}
}

// forget makes the producer unknown: nobody is there to be asked.
func (c *client) forget(ctx context.Context) {
	cmd := command(35, nil, nil)
	cmd.Fields.Add("clientID", "kill")
	cmd.Fields.Add("producerGroup", goodGroup)
	if _, err := c.Call(ctx, c.addr, cmd); err != nil {
		c.t.Fatal(err)
	}
}

// count is how many messages were delivered; all must be those that were committed.
func count(t *testing.T, seen map[string]int) int {
	for body := range seen {
		if !strings.HasPrefix(body, "commit") {
			t.Errorf("%q was rolled back and is delivered", body)
		}
	}
	return len(seen)
}
