// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build java

package timer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/internal/brokerchild"
)

// A Java broker delivers what we have entered, and we what it has: over one store, in turn, stopped cleanly and killed.
// Needs Java and the jars that conformance/harness fetches.
func TestJavaContinues(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Minute)
	defer cancel()
	store := t.TempDir()
	b := &book{due: map[string]time.Time{}, taken: map[string]bool{}, maybe: map[string]bool{}}
	by := map[string]string{} // who took each message
	var lives []string
	var killed [][2]time.Time
	for life, name := range []string{"ours", "Java", "ours, killed", "Java, killed", "ours", "Java", "ours"} {
		var broker *brokerchild.Child
		if strings.HasPrefix(name, "ours") {
			broker = brokerchild.Start(t, store)
		} else {
			broker = brokerchild.StartJava(ctx, t, "5.3.3", settings(store))
		}
		began := time.Now()
		c := newClient(t, broker.Addr)
		before := len(c.delivered(ctx))
		if life < 6 {
			for i := range 60 {
				body := fmt.Sprintf("%d.%d", life, i)
				// Within this life, the next one, or some later one.
				due := time.UnixMilli(time.Now().Add(time.Duration(i) * 500 * time.Millisecond).UnixMilli())
				handle, ok := c.send(ctx, body, due)
				if !ok {
					t.Fatal("not sent")
				}
				b.due[body], by[body] = due, name
				if i%7 == 6 {
					b.taken[body] = c.recall(ctx, handle)
				}
			}
			time.Sleep(6 * time.Second)
		} else {
			for end := time.Now().Add(3 * time.Minute); !complete(b, c.delivered(ctx)) && time.Now().Before(end); {
				time.Sleep(500 * time.Millisecond)
			}
		}
		after := len(c.delivered(ctx))
		lives = append(lives, fmt.Sprintf("%s %v: %d delivered", name, time.Since(began).Round(time.Second), after-before))
		if life == 6 {
			checkAll(t, b, by, c.delivered(ctx), killed)
		}
		_ = c.Close()
		if strings.HasSuffix(name, "killed") {
			broker.Kill(t)
			killed = append(killed, [2]time.Time{began, time.Now()})
		} else {
			broker.Stop(t)
		}
	}
	t.Log(strings.Join(lives, "; "))
}

// complete tells whether all messages have come that shall.
func complete(b *book, seen map[string][]time.Time) bool {
	for body := range b.due {
		if !b.taken[body] && len(seen[body]) == 0 {
			return false
		}
	}
	return true
}

// checkAll also looks for messages that came twice: they may if they came first in a life that was killed.
func checkAll(t *testing.T, b *book, by map[string]string, seen map[string][]time.Time, killed [][2]time.Time) {
	twice := map[string]int{}
	for body, due := range b.due {
		times := seen[body]
		switch {
		case b.taken[body] && len(times) > 0:
			t.Errorf("message %s, sent to %s, was taken back and came", body, by[body])
		case !b.taken[body] && len(times) == 0:
			t.Errorf("message %s, sent to %s, did not come", body, by[body])
		case len(times) > 1:
			twice[by[body]]++
			if !slices.ContainsFunc(killed, func(life [2]time.Time) bool {
				return times[0].After(life[0]) && times[0].Before(life[1])
			}) {
				t.Errorf("message %s, sent to %s, came twice: %v", body, by[body], times)
			}
		}
		for _, at := range times {
			if at.Before(due) {
				t.Errorf("message %s, sent to %s, came %v early", body, by[body], due.Sub(at))
			}
		}
	}
	t.Logf("%d messages; twice came %v", len(b.due), twice)
}
