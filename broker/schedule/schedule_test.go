// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

func TestParseLevels(t *testing.T) {
	delays, err := ParseLevels(DefaultLevels)
	if err != nil || len(delays) != 18 || delays[0] != time.Second || delays[17] != 2*time.Hour {
		t.Error(delays, err)
	}
	if delays, err := ParseLevels("3d 0s "); err != nil || fmt.Sprint(delays) != "[72h0m0s 0s]" {
		t.Error(delays, err)
	}
	for _, bad := range []string{"", " 1s", "1s  2s", "1", "s", "1x", "1.5s", "1s,2s", "99999999999d"} {
		if _, err := ParseLevels(bad); err == nil || !strings.Contains(err.Error(), "messageDelayLevel") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A file that Java wrote is written again with the same bytes.
func TestJavaFiles(t *testing.T) {
	delays, err := ParseLevels(DefaultLevels)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set  string
		is49 bool
	}{{"497-main", true}, {"497-kill", true}, {"533-main", false}, {"533-kill", false}} {
		t.Run(c.set, func(t *testing.T) {
			dir := t.TempDir()
			want, err := os.ReadFile(filepath.Join("testdata", c.set, "delayOffset.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "config", "delayOffset.json"), want, 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := New(Options{Dir: dir, Levels: delays, Store: newFakeStore(), Compat49: c.is49})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.render(); string(got) != string(want) {
				t.Errorf("written differently\n got %s\nwant %s", got, want)
			}
		})
	}
}

// service makes one with the default levels that runs until the test ends.
func service(t *testing.T, f *fakeStore) *Service {
	t.Helper()
	delays, err := ParseLevels(DefaultLevels)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Dir: t.TempDir(), Levels: delays, Store: f, Put: f.put, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f.service = s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Everything of the message is kept, the properties byte by byte; only topic and queue are the real ones.
func TestDeliveredMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		var got *message.Message
		f.outcome = func(m *message.Message, _ func(store.PutResult)) bool {
			c := *m
			c.Properties, c.Body = slices.Clone(m.Properties), slices.Clone(m.Body)
			got = &c
			return false
		}
		service(t, f)
		f.add(1, time.Second, "GDelay", "body")
		time.Sleep(time.Second)
		synctest.Wait()
		if got == nil {
			t.Fatal("not delivered")
		}
		if got.Topic != "GDelay" || got.QueueID != 3 || got.Flag != 7 || got.SysFlag != message.SysCompressed || got.BornTimestamp != 1234 ||
			got.BornHost != host || got.StoreHost != host || got.ReconsumeTimes != 2 || got.PreparedTransactionOffset != 0 ||
			string(got.Body) != "body" || string(got.Properties) != "DELAY\x011\x02REAL_TOPIC\x01GDelay\x02REAL_QID\x013\x02TAGS\x01a\x02" {
			t.Errorf("%+v", got)
		}
	})
}

// What cannot be delivered is passed over and counted; a half message is dropped, as in Java.
func TestSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		s := service(t, f)
		due := time.Now().Add(time.Second)
		f.addRaw(1, due, "REAL_TOPIC\x01RMQ_SYS_TRANS_HALF_TOPIC\x02REAL_QID\x010\x02", "half")
		f.addRaw(1, due, "REAL_QID\x010\x02", "no topic")
		f.addRaw(1, due, "REAL_TOPIC\x01T\x02REAL_QID\x01x\x02", "no queue")
		f.addRaw(1, due, "REAL_TOPIC\x01T\x02", "no queue")
		f.add(1, time.Second, "T", "deleted")
		f.add(1, time.Second, "T", "damaged")
		f.mu.Lock()
		delete(f.records, f.queues[0][4].PhyOffset)
		f.records[f.queues[0][5].PhyOffset][4] = 0
		f.mu.Unlock()
		f.add(1, time.Second, "T", "good")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := f.take(); len(got) != 1 || got[0] != "1s T-3 good" {
			t.Error(got)
		}
		if s.Stats() != (Stats{Delivered: 1, Skipped: 5}) {
			t.Errorf("%+v", s.Stats())
		}
		if p := s.Progress(); len(p) != 1 || p[0].Delivered != 7 {
			t.Error(p)
		}
	})
}

// With slow puts (synchronous flush) many are in flight; the order stays, and the offset is that of the first without
// result.
func TestSlowPuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.outcome = func(m *message.Message, done func(store.PutResult)) bool {
			f.note(m)
			time.AfterFunc(50*time.Millisecond, func() { done(store.PutResult{Status: store.FlushDiskTimeout}) })
			return true
		}
		s := service(t, f)
		const n = 3 * maxInFlight
		for i := range n {
			f.add(1, time.Second, "T", fmt.Sprint(i))
		}
		time.Sleep(time.Second + 25*time.Millisecond)
		synctest.Wait()
		if got := len(f.take()); got != maxInFlight {
			t.Errorf("%d puts in flight", got)
		}
		if p := s.Progress()[0].Delivered; p != 0 {
			t.Errorf("offset %d before any result", p)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if p := s.Progress()[0].Delivered; p != n {
			t.Errorf("offset %d at the end", p)
		}
	})
}

// Results that come in any order, with failures: everything is delivered at least once, and the last time in order.
func TestResultsInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		var order []string
		n := 0
		f.outcome = func(m *message.Message, done func(store.PutResult)) bool {
			n++
			status := store.PutOK
			if n%7 == 0 {
				status = store.OSPageCacheBusy
			} else {
				order = append(order, string(m.Body))
			}
			time.AfterFunc(time.Duration(n*37%11)*time.Millisecond, func() { done(store.PutResult{Status: status}) })
			return true
		}
		s := service(t, f)
		const total = 40
		for i := range total {
			f.add(1, time.Second, "T", fmt.Sprintf("%02d", i))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := s.Progress()[0].Delivered; p != total {
			t.Fatalf("offset %d", p)
		}
		last := -1
		for i := range total {
			at := -1
			for j, body := range order {
				if body == fmt.Sprintf("%02d", i) {
					at = j
				}
			}
			if at <= last {
				t.Fatalf("message %d was last delivered at place %d, the one before at %d: %v", i, at, last, order)
			}
			last = at
		}
	})
}

// Ten thousand messages of one second, and a steady stream: each is delivered in its millisecond.
func TestOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		service(t, f)
		for i := range 10_000 {
			f.add(1, time.Second, "T", time.Now().Add(time.Second).Sub(f.begin).String())
			if i%10 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		got := f.take()
		if len(got) != 10_000 {
			t.Fatalf("%d delivered", len(got))
		}
		for _, line := range got {
			at, rest, _ := strings.Cut(line, " ")
			if _, want, _ := strings.Cut(rest, " "); at != want {
				t.Fatalf("delivered at %s, due at %s", at, want)
			}
		}
	})
}

// The offsets' version grows every VersionStep deliveries.
func TestVersionSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		s := service(t, f)
		for range 401 {
			f.add(1, time.Second, "T", "x")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s.version.Counter != 2 {
			t.Errorf("%+v", s.version)
		}
	})
}

func BenchmarkDeliver(b *testing.B) {
	f := newFakeStore()
	s, err := New(Options{
		Dir: b.TempDir(), Levels: []time.Duration{time.Second}, Store: f,
		Put: func(_ *message.Message, done func(store.PutResult)) { done(store.PutResult{}) },
	})
	if err != nil {
		b.Fatal(err)
	}
	f.addRaw(1, time.Now().Add(-time.Hour), "REAL_TOPIC\x01T\x02REAL_QID\x013\x02", string(make([]byte, 1024)))
	unit := f.queues[0][0]
	b.ReportAllocs()
	for b.Loop() {
		s.levels[0].put(s.levels[0].next, unit)
	}
}

// A slave takes over how far its master is, and starts there when it is made the master.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	open := func() *Service {
		s, err := New(Options{Dir: dir, Levels: []time.Duration{time.Second, time.Minute}, Store: newFakeStore()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	slave := open()
	const master = `{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":9},"offsetTable":{1:7,2:8,18:9}}`
	if err := slave.Replace([]byte(master)); err != nil {
		t.Fatal(err)
	}
	if err := slave.Replace([]byte("nonsense")); err == nil {
		t.Error("nonsense was taken")
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	again := open()
	defer again.Close()
	if got := string(again.JSON()); got != master {
		t.Errorf("after a restart %s", got)
	}
}
