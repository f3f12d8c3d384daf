// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quiet is how long nothing may arrive before a case believes that there are no duplicates and no strays.
const quiet = 700 * time.Millisecond

// A ledger holds what was sent, which deliveries are due and which were made. One delivery is named by a key: the
// message's body, with the consumer or the number of the try appended where a message is due more than once.
type ledger struct {
	mu       sync.Mutex
	sent     int
	due      map[string]bool
	got      map[string]int
	total    int
	problems []string
	anyDups  bool
	arrived  chan struct{}
}

func newLedger() *ledger {
	return &ledger{due: map[string]bool{}, got: map[string]int{}, arrived: make(chan struct{}, 1)}
}

// send counts one accepted message and the deliveries that are due for it.
func (l *ledger) send(due ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	for _, k := range due {
		l.due[k] = true
	}
}

// expect adds deliveries that are due once more for messages that were counted already.
func (l *ledger) expect(due ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range due {
		l.due[k] = true
	}
}

func (l *ledger) receive(key string) {
	l.mu.Lock()
	l.got[key]++
	l.total++
	l.mu.Unlock()
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// fault notes a violated expectation that was seen in a callback.
func (l *ledger) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) < 5 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

// allowDups is for cases in which at-least-once delivery permits any number of repetitions.
func (l *ledger) allowDups() {
	l.mu.Lock()
	l.anyDups = true
	l.mu.Unlock()
}

func (l *ledger) missing() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var m []string
	for k := range l.due {
		if l.got[k] == 0 {
			m = append(m, k)
		}
	}
	slices.Sort(m)
	return m
}

// wait returns when each delivery that is due was made and then nothing came for a while.
func (l *ledger) wait(ctx context.Context) error {
	for len(l.missing()) > 0 {
		select {
		case <-l.arrived:
		case <-ctx.Done():
			return fmt.Errorf("time is up, missing %s", some(l.missing()))
		}
	}
	for {
		select {
		case <-l.arrived:
		case <-time.After(quiet):
			return nil
		}
	}
}

func (l *ledger) row(name string, err error) row {
	missing := l.missing()
	l.mu.Lock()
	defer l.mu.Unlock()
	received, dups := 0, 0
	var strays []string
	for k, n := range l.got {
		if !l.due[k] {
			strays = append(strays, k)
			continue
		}
		received++
		dups += n - 1
	}
	slices.Sort(strays)
	errs := []error{err}
	for _, p := range l.problems {
		errs = append(errs, errors.New(p))
	}
	if err == nil && len(missing) > 0 {
		errs = append(errs, fmt.Errorf("missing %s", some(missing)))
	}
	if len(strays) > 0 {
		errs = append(errs, fmt.Errorf("not expected %s", some(strays)))
	}
	r := row{name: name, result: "ok", sent: strconv.Itoa(l.sent), received: strconv.Itoa(received), dups: strconv.Itoa(dups)}
	if l.anyDups {
		r.dups = "any"
		if dups > 0 {
			r.note = fmt.Sprintf("%d received twice", dups)
		}
	} else if dups > 0 {
		errs = append(errs, fmt.Errorf("%d duplicates", dups))
	}
	if e := errors.Join(errs...); e != nil {
		r.result, r.note = "fail", e.Error()
	}
	return r
}

func some(keys []string) string {
	if len(keys) > 8 {
		return fmt.Sprintf("%d: %s …", len(keys), strings.Join(keys[:8], " "))
	}
	return fmt.Sprintf("%d: %s", len(keys), strings.Join(keys, " "))
}
