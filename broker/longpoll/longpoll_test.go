// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package longpoll

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"rocketmq-go/remoting"
	"rocketmq-go/store"
)

type tag int64

func (t tag) MatchUnit(code int64) bool { return int64(t) == code }
func (t tag) MatchRecord([]byte) bool   { return true }
func (t tag) NeedRecord() bool          { return false }

type channel struct {
	remoting.Channel
	done chan struct{}
}

func (c channel) Done() <-chan struct{} { return c.done }

// bench is a holder with a queue and what was woken.
type bench struct {
	*Holder
	max   atomic.Int64
	mu    sync.Mutex
	woken []*Pull
}

func start(t *testing.T, limit int) *bench {
	b := &bench{}
	b.Holder = New(Options{
		Now:       time.Now,
		MaxOffset: func(string, int32) int64 { return b.max.Load() },
		Wake: func(p *Pull) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.woken = append(b.woken, p)
		},
		Interval: func() time.Duration { return 5 * time.Second },
		Limit:    limit,
	})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) pull(offset int64, m store.Matcher, suspend time.Duration) *Pull {
	return &Pull{Topic: "T", Offset: offset, Match: m, Deadline: time.Now().Add(suspend).UnixMilli()}
}

func (b *bench) arrive(tagsCode int64) {
	offset := b.max.Add(1) - 1
	b.Arrived(store.Arrival{Topic: "T", Offset: offset, TagsCode: tagsCode})
}

func (b *bench) expect(t *testing.T, held int, woken ...*Pull) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Held() != held {
		t.Errorf("%d held, want %d", b.Held(), held)
	}
	if len(b.woken) != len(woken) {
		t.Fatalf("%d woken, want %d", len(b.woken), len(woken))
	}
	for _, p := range woken {
		found := false
		for _, q := range b.woken {
			found = found || p == q
		}
		if !found {
			t.Errorf("pull from %d was not woken", p.Offset)
		}
	}
	b.woken = nil
}

func TestArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 0)
		all, tag1, tag2 := b.pull(0, nil, time.Minute), b.pull(0, tag(1), time.Minute), b.pull(0, tag(2), time.Minute)
		later := b.pull(2, nil, time.Minute)
		other := &Pull{Topic: "T", QueueID: 1, Deadline: all.Deadline, Offset: 9}
		for _, p := range []*Pull{all, tag1, tag2, later, other} {
			b.Hold(p)
		}
		b.arrive(1)
		b.expect(t, 3, all, tag1)
		b.arrive(7)
		b.expect(t, 3)
		b.arrive(2)
		b.expect(t, 1, tag2, later)
	})
}

func TestMessageBeforeHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 0)
		b.arrive(1)
		p := b.pull(0, nil, time.Minute)
		b.Hold(p)
		b.expect(t, 0, p)
	})
}

func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 0)
		expires := b.pull(0, nil, time.Second)
		expires.Offset = 5
		overtaken := b.pull(0, tag(9), time.Minute)
		closed := b.pull(5, nil, time.Minute)
		ch := channel{done: make(chan struct{})}
		closed.Channel = ch
		for _, p := range []*Pull{expires, overtaken, closed} {
			b.Hold(p)
		}
		b.arrive(1)
		close(ch.done)
		time.Sleep(4 * time.Second)
		b.expect(t, 3)
		time.Sleep(2 * time.Second)
		b.expect(t, 0, expires, overtaken)
	})
}

// An arrival answers what is overdue, whether it matches or not.
func TestOverdueAtArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 0)
		p := b.pull(0, tag(9), time.Second)
		b.Hold(p)
		time.Sleep(2 * time.Second)
		b.arrive(1)
		b.expect(t, 0, p)
	})
}

// Pulls may bring expressions of megabytes; together they are bounded, those of heartbeats do not count.
func TestLimitOfExpressions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 100)
		b.o.Bytes = 250
		hold := func(sysFlag int32) {
			p := b.pull(0, nil, time.Minute)
			p.Expression, p.SysFlag = strings.Repeat("x", 100), sysFlag
			b.Hold(p)
		}
		for range 10 {
			hold(2)
		}
		for i := range 3 {
			if b.Full() {
				t.Errorf("full with %d expressions", i)
			}
			hold(2 | ownSubscription)
		}
		if !b.Full() {
			t.Error("not full")
		}
		b.arrive(1)
		synctest.Wait()
		if b.Held() != 0 || b.Full() || b.bytes.Load() != 0 {
			t.Error("no room after all were woken")
		}
	})
}

// Pulls that are woken at once on one queue do not keep those of another waiting.
func TestQueuesTakeTurns(t *testing.T) {
	h := New(Options{MaxOffset: func(string, int32) int64 { return 0 }})
	const crowd = 5000
	for i := range crowd {
		h.Hold(&Pull{Topic: "Crowd", Offset: int64(i)})
	}
	all := func(*Pull) bool { return true }
	h.take(queueKey{"Crowd", 0}, all)
	for n := range crowd + 100 {
		if n%50 == 49 && n < 5000 {
			h.Hold(&Pull{Topic: "Other", Offset: int64(n)})
			h.take(queueKey{"Other", 0}, all)
			first, second := h.dequeue(), h.dequeue()
			if first.Topic != "Other" && second.Topic != "Other" {
				t.Fatalf("after %d of the crowd: %s and %s", n, first.Topic, second.Topic)
			}
			continue
		}
		h.dequeue()
	}
	if p := h.dequeue(); p != nil || len(h.woken) != 0 || h.Held() != 0 {
		t.Errorf("%+v is left, %d lists", p, len(h.woken))
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2)
		for i := range 3 {
			if b.Full() != (i == 2) {
				t.Errorf("full with %d held: %v", b.Held(), b.Full())
			}
			if !b.Full() {
				b.Hold(b.pull(0, nil, time.Minute))
			}
		}
		b.arrive(1)
		synctest.Wait()
		if b.Held() != 0 || b.Full() {
			t.Error("no room after all were woken")
		}
	})
}

func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(Pull{}); size > 200 {
		t.Errorf("a held pull has %d bytes", size)
	}
}

func BenchmarkArrived(b *testing.B) {
	h := New(Options{Now: time.Now, MaxOffset: func(string, int32) int64 { return 0 }})
	for i := range 10_000 {
		h.Hold(&Pull{Topic: fmt.Sprint("T", i), Deadline: 1 << 60})
	}
	a := store.Arrival{Topic: "other"}
	b.ReportAllocs()
	for b.Loop() {
		h.Arrived(a)
	}
}
