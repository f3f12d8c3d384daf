// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// broadcastWorld is a Broadcast whose clients are online when online says so; it runs until the test ends.
type broadcastWorld struct {
	*Broadcast
	store *Store

	mu     sync.Mutex
	online []string
}

func (w *broadcastWorld) setOnline(ids ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.online = ids
}

func newBroadcastWorld(t testing.TB) *broadcastWorld {
	w := &broadcastWorld{store: newStore(t, Options{})}
	w.Broadcast = NewBroadcast(BroadcastOptions{
		Offsets: w.store,
		Online: func(string) []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.online
		},
		Start:  func(string, int32) int64 { return 77 },
		Expiry: func() (offline, online time.Duration) { return 120 * time.Second, 300 * time.Second },
		Now:    time.Now,
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = w.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return w
}

func (w *broadcastWorld) pulled(client string, proxy bool, offset int64) {
	w.Pulled(&BroadcastPull{Topic: "T", Group: "G", Client: client, Proxy: proxy}, offset)
}

// begin asks for a client that pulls at offset.
func (w *broadcastWorld) begin(client string, proxy bool, offset int64) string {
	at, ok := w.Begin(&BroadcastPull{Topic: "T", Group: "G", Client: client, Proxy: proxy, Offset: offset})
	if !ok {
		return "as it asks"
	}
	return fmt.Sprint(at)
}

func (w *broadcastWorld) common() string {
	at, ok := w.store.Query("G@broadcast", "T", 0)
	if !ok {
		return "none"
	}
	return fmt.Sprint(at)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s instead of %s", what, got, want)
	}
}

func TestBroadcastBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBroadcastWorld(t)
		expect(t, "unknown group, broker", w.begin("a", false, -1), "as it asks")
		expect(t, "unknown group, proxy", w.begin("a", true, 4), "as it asks")
		expect(t, "unknown group, proxy without offset", w.begin("a", true, -1), "77")
		w.pulled("a", false, 5)
		expect(t, "stays with the broker", w.begin("a", false, 3), "as it asks")
		expect(t, "stays with the broker without offset", w.begin("a", false, -1), "as it asks")
		expect(t, "goes to the proxy", w.begin("a", true, 3), "5")
		expect(t, "another client at the proxy, before the first commit", w.begin("b", true, -1), "77")
		time.Sleep(6 * time.Second)
		expect(t, "another client at the proxy", w.begin("b", true, -1), "5")
		w.pulled("a", true, 9)
		expect(t, "stays with the proxy", w.begin("a", true, 3), "as it asks")
		expect(t, "proxy without offset", w.begin("a", true, -1), "9")
		expect(t, "back to the broker", w.begin("a", false, 3), "9")
		w.pulled("a", false, 2)
		expect(t, "offsets only grow", w.begin("a", true, 3), "9")
	})
}

// Whether a client is online decides how long it may be silent, and whether it still counts.
func TestBroadcastExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBroadcastWorld(t)
		w.setOnline("on")
		time.Sleep(time.Second) // off the grid of the looks
		w.pulled("on", false, 20)
		w.pulled("off", true, 10)
		time.Sleep(5 * time.Second)
		expect(t, "both", w.common(), "10")
		w.pulled("off2", true, 15)
		time.Sleep(110 * time.Second)
		expect(t, "after 115 s", w.common(), "10")
		time.Sleep(10 * time.Second)
		expect(t, "off is gone after 125 s", w.common()+" "+w.begin("off", false, 3), "15 as it asks")
		time.Sleep(10 * time.Second)
		expect(t, "off2 is gone too", w.common(), "20")
		time.Sleep(160 * time.Second)
		expect(t, "on is kept for 295 s", w.begin("on", true, 3), "20")
		time.Sleep(10 * time.Second)
		expect(t, "on is gone", w.begin("on", true, 3)+" "+w.common(), "as it asks 20")
		if n := w.clients.Load(); n != 0 || len(w.groups) != 0 {
			t.Errorf("%d clients, %d groups are left", n, len(w.groups))
		}
		w.pulled("late", true, 1)
		time.Sleep(5 * time.Second)
		expect(t, "one that comes late", w.common(), "1")
	})
}

// What is forgotten is not committed again by a look that was under way.
func TestBroadcastForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBroadcastWorld(t)
		w.pulled("a", true, 5)
		w.Pulled(&BroadcastPull{Topic: "T2", Group: "G", Client: "a", Proxy: true}, 6)
		time.Sleep(6 * time.Second)
		g := w.groups[key{"T", "G"}]
		w.Forget(func(topic, _ string) bool { return topic == "T" })
		w.store.RemoveTopic("T")
		w.settle(g, time.Now())
		expect(t, "removed topic", w.common(), "none")
		w.Forget(func(_, group string) bool { return group == "G" })
		w.store.RemoveGroup("G")
		time.Sleep(6 * time.Second)
		if json := string(w.store.JSON()); strings.Contains(json, "broadcast") || w.clients.Load() != 0 {
			t.Error(json)
		}
		(*Broadcast)(nil).Forget(nil)
		_ = (*Broadcast)(nil).Run(t.Context())
	})
}

// Anybody can name clients: their number and names are bounded.
func TestBroadcastBounds(t *testing.T) {
	w := &broadcastWorld{store: newStore(t, Options{})}
	w.Broadcast = NewBroadcast(BroadcastOptions{Offsets: w.store, Start: func(string, int32) int64 { return 77 }, Now: time.Now})
	w.pulled(strings.Repeat("x", maxClientID+1), true, 5)
	if w.clients.Load() != 0 {
		t.Error("a client with a long name is kept")
	}
	for i := range maxBroadcastClients + 10 {
		w.pulled(fmt.Sprint(i), true, 5)
	}
	if n := w.clients.Load(); n != maxBroadcastClients {
		t.Error(n, "clients")
	}
	expect(t, "one beyond", w.begin(fmt.Sprint(maxBroadcastClients+1), false, 3), "as it asks")
}

func BenchmarkBroadcastPulled(b *testing.B) {
	s := newStore(b, Options{})
	w := NewBroadcast(BroadcastOptions{Offsets: s, Now: time.Now})
	p := &BroadcastPull{Topic: "T", Group: "G", Client: "c"}
	w.Pulled(p, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := w.Begin(p); ok {
			b.Fatal("moved")
		}
		w.Pulled(p, int64(i))
	}
}
