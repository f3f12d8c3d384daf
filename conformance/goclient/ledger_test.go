// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLedgerRow(t *testing.T) {
	for _, c := range []struct {
		name                         string
		fill                         func(*ledger)
		err                          error
		result, sent, received, dups string
		note                         string
	}{
		{name: "all there", fill: func(l *ledger) { l.send("a"); l.receive("a") }, result: "ok", sent: "1", received: "1", dups: "0"},
		{name: "twice due", fill: func(l *ledger) { l.send("a:1", "b:1"); l.receive("b:1"); l.receive("a:1") }, result: "ok", sent: "1", received: "2", dups: "0"},
		{name: "received before sent is noted", fill: func(l *ledger) { l.receive("a"); l.send("a") }, result: "ok", sent: "1", received: "1", dups: "0"},
		{name: "lost", fill: func(l *ledger) { l.send("a"); l.send("b"); l.receive("a") }, result: "fail", sent: "2", received: "1", dups: "0", note: "missing 1: b"},
		{name: "twice", fill: func(l *ledger) { l.send("a"); l.receive("a"); l.receive("a") }, result: "fail", sent: "1", received: "1", dups: "1", note: "1 duplicates"},
		{
			name: "twice allowed", fill: func(l *ledger) { l.allowDups(); l.send("a"); l.receive("a"); l.receive("a") },
			result: "ok", sent: "1", received: "1", dups: "any", note: "1 received twice",
		},
		{name: "stray", fill: func(l *ledger) { l.receive("x") }, result: "fail", sent: "0", received: "0", dups: "0", note: "not expected 1: x"},
		{name: "fault", fill: func(l *ledger) { l.fault("code %d", 7) }, result: "fail", sent: "0", received: "0", dups: "0", note: "code 7"},
		{name: "error", fill: func(*ledger) {}, err: errors.New("broken"), result: "fail", sent: "0", received: "0", dups: "0", note: "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger()
			c.fill(l)
			r := l.row(c.name, c.err)
			if r.result != c.result || r.sent != c.sent || r.received != c.received || r.dups != c.dups || !strings.Contains(r.note, c.note) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// wait returns only after the due deliveries and a quiet time, in which a duplicate still counts.
func TestLedgerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.send("a")
		start := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			l.receive("a")
			time.Sleep(quiet / 2)
			l.receive("a")
		}()
		if err := l.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 3*time.Second+quiet/2+quiet {
			t.Errorf("waited %s", waited)
		}
		if r := l.row("", nil); r.dups != "1" {
			t.Errorf("%+v", r)
		}
		l.send("b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.wait(ctx); err == nil || !strings.Contains(err.Error(), "missing 1: b") {
			t.Errorf("%v", err)
		}
	})
}
