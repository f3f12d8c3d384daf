// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package pop_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"rocketmq-go/internal/brokerchild"
)

// A Java broker gives again what nobody acknowledged at ours, and ours what nobody acknowledged at Java's: over one store, in
// turn. Nothing that was acknowledged comes again. Needs Java and the jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	store := t.TempDir()
	l := newLedger(t)
	for life := range 3 {
		name, broker := "ours", (*brokerchild.Child)(nil)
		if life%2 == 1 {
			name, broker = "Java", brokerchild.StartJava(ctx, t, "5.3.3", settings(store))
		} else {
			broker = brokerchild.Start(t, store)
		}
		c := newClient(broker.Addr)
		open := l.missing()
		began := time.Now()
		l.until(ctx, c, func() bool { return l.missing() == 0 })
		t.Logf("%s: %d that the other one left were given again within %v", name, open, time.Since(began).Round(time.Second))
		for i := range 8 {
			body := strconv.Itoa(life) + "." + strconv.Itoa(i)
			if !c.send(ctx, body) {
				t.Fatal("not sent")
			}
			l.mu.Lock()
			l.sent[body] = true
			l.mu.Unlock()
		}
		l.until(ctx, c, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.seen) == len(l.sent)
		})
		_ = c.Close()
		broker.Stop(t)
	}
	if ctx.Err() != nil {
		t.Errorf("%d of %d were not given again", l.missing(), len(l.sent))
	}
	if n := l.missing(); n != 4 { // of the last life
		t.Errorf("%d are open", n)
	}
}

// until pops until something is so.
func (l *ledger) until(ctx context.Context, c *client, is func() bool) {
	for ctx.Err() == nil && !is() {
		list, err := c.pop(ctx, 500)
		if err != nil {
			l.t.Error(err)
			return
		}
		for i := range list {
			if g := &list[i]; l.take(g) {
				l.ackedNow(g, c.ack(ctx, g))
			}
		}
	}
}
