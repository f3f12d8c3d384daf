// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// rig is a service over a real store.
type rig struct {
	t       *testing.T
	dir     string
	cfg     store.Config
	o       Options
	store   *store.Store
	service *Service
	running atomic.Pointer[Service]
	stopRun func()
	slave   bool // the next start follows
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir()}
	r.cfg = store.Config{
		Dir: r.dir, CommitLogFileSize: 64 << 20, ConsumeQueueFileSize: 600000, IndexDisabled: true, Log: slog.New(slog.DiscardHandler),
		Arrived: func(a store.Arrival) {
			if s := r.running.Load(); s != nil {
				s.Arrived(a)
			}
		},
	}
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	if r.store, err = store.Open(r.cfg); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) start() {
	r.t.Helper()
	r.o.Dir, r.o.Store = r.dir, r.store
	if r.o.Put == nil {
		r.o.Put = func(m *message.Message, done func(store.PutResult)) { r.store.Put(m, done) }
	}
	if r.o.Log == nil {
		r.o.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.service, err = New(r.o); err != nil {
		r.t.Fatal(err)
	}
	r.running.Store(r.service)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	service := r.service
	run := service.Run
	if r.slave {
		run = service.Follow
	}
	go func() { done <- run(ctx) }()
	r.stopRun = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

func (r *rig) stop() {
	r.stopRun()
	if err := r.service.Close(); err != nil {
		r.t.Error(err)
	}
}

// kill ends the service as a killed process does: nothing is written.
func (r *rig) kill() {
	r.stopRun()
	r.running.Store(nil)
	_ = r.service.counts.writer.Close()
	r.service.files.Close()
}

func (r *rig) close() {
	if err := r.store.Close(); err != nil {
		r.t.Error(err)
	}
}

// timed makes a message as the put pipeline stores it.
func timed(body string, at time.Time, more ...string) *message.Message {
	out := (at.UnixMilli() - 1) / 1000 * 1000
	properties := "UNIQ_KEY\x01id-" + body + "\x02TIMER_DELIVER_MS\x01" + strconv.FormatInt(at.UnixMilli(), 10) + "\x02TIMER_OUT_MS\x01" +
		strconv.FormatInt(out, 10) + "\x02REAL_TOPIC\x01T\x02REAL_QID\x010\x02"
	for i := 0; i < len(more); i += 2 {
		properties += more[i] + "\x01" + more[i+1] + "\x02"
	}
	return &message.Message{Topic: Topic, Body: []byte(body), Properties: []byte(properties), BornHost: host, StoreHost: host}
}

func (r *rig) put(m *message.Message) {
	r.store.Put(m, func(res store.PutResult) {
		if res.Status != store.PutOK {
			r.t.Errorf("put: status %d", res.Status)
		}
	})
}

// got are the messages of the real topic's queue: body and store time.
func (r *rig) got() (bodies []string, at []time.Time) {
	for offset := range r.store.MaxOffset("T", 0) {
		u, _ := r.store.Unit("T", 0, offset)
		raw, _ := r.store.Record(nil, u.PhyOffset, u.Size)
		m, err := message.ParseRecord(raw)
		if err != nil {
			r.t.Fatal(err)
		}
		bodies = append(bodies, string(m.Body))
		at = append(at, time.UnixMilli(m.StoreTimestamp))
	}
	return bodies, at
}

// Ten thousand messages of one second come in that second, in the order in which they were sent, those that were taken
// back left out.
func TestManyInOneSecond(t *testing.T) {
	for _, sync := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.SyncFlush = sync
			r.open()
			r.start()
			const n = 10000
			due := time.Now().Add(10 * time.Second)
			put := func(m *message.Message) {
				m.Properties = append(m.Properties, "WAIT\x01false\x02"...)
				r.put(m)
			}
			for i := range n {
				put(timed(strconv.Itoa(i), due))
			}
			for i := 0; i < n; i += 100 {
				put(timed("0", due, "TIMER_DEL_UNIQKEY", "T+id-"+strconv.Itoa(i)))
			}
			time.Sleep(9 * time.Second)
			if x := r.service.Stats(); x.Entered != n+n/100 || x.Delivered != 0 || x.Waiting != n-n/100 {
				t.Errorf("before: %+v", x)
			}
			time.Sleep(2 * time.Second)
			bodies, at := r.got()
			if len(bodies) != n-n/100 {
				t.Fatalf("%d delivered", len(bodies))
			}
			last := 0
			for i := range bodies {
				number, _ := strconv.Atoi(bodies[i])
				if number <= last || number%100 == 0 {
					t.Fatalf("%d after %d", number, last)
				}
				last = number
				if early := due.Sub(at[i]); early > 0 || early < -time.Second {
					t.Fatalf("%d came at %v, due at %v", number, at[i], due)
				}
			}
			if x := r.service.Stats(); x.Waiting != 0 || x.Taken != n/100 {
				t.Errorf("behind: %+v", x)
			}
			r.stop()
			r.close()
		})
	}
}

// The largest message, and one whose properties leave no room for the times of delivery, are delivered (U077).
func TestLargest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.start()
		due := time.Now().Add(3 * time.Second)
		large := timed("large", due, "p", strings.Repeat("x", 30<<10))
		large.Body = bytes.Repeat([]byte("b"), 4<<20)
		r.put(large)
		full := timed("full", due)
		full.Properties = message.AppendProperty(full.Properties, "p", strings.Repeat("x", message.MaxProperties-3-len(full.Properties)))
		r.put(full)
		r.put(timed("small", due))
		time.Sleep(4 * time.Second)
		bodies, _ := r.got()
		if len(bodies) != 3 || len(bodies[0]) != 4<<20 || bodies[1] != "full" || bodies[2] != "small" {
			t.Errorf("%d delivered", len(bodies))
		}
		u, _ := r.store.Unit("T", 0, 1)
		raw, _ := r.store.Record(nil, u.PhyOffset, u.Size)
		if m, err := message.ParseRecord(raw); err != nil || string(m.Properties) != string(full.Properties) {
			t.Errorf("the properties of the full one changed: %v", err)
		}
		r.stop()
		r.close()
	})
}

// The commit log loses its end, and other messages take the place (U078): what is left of the waiting messages is
// delivered, the rest of the timer files does no harm.
func TestLogCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.start()
		due := time.Now().Add(30 * time.Second)
		for i := range 100 {
			r.put(timed(fmt.Sprintf("%02d", i), due.Add(time.Duration(i%3)*time.Second)))
		}
		time.Sleep(5 * time.Second)
		cut, _ := r.store.Unit(Topic, 0, 59)
		r.stop()
		r.close()
		log, err := os.OpenFile(filepath.Join(r.dir, "commitlog", "00000000000000000000"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.WriteAt(make([]byte, 100), cut.PhyOffset); err != nil {
			t.Fatal(err)
		}
		log.Close()
		if err := os.WriteFile(filepath.Join(r.dir, "abort"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r.open()
		r.start()
		for i := range 100 {
			r.put(&message.Message{Topic: "Other", Body: []byte(strings.Repeat("o", i)), Properties: []byte("A\x01b\x02"), BornHost: host, StoreHost: host})
		}
		r.put(timed("new", due))
		time.Sleep(time.Minute)
		bodies, at := r.got()
		seen := map[string]bool{}
		for i, b := range bodies {
			if seen[b] || at[i].Before(due) || at[i].After(due.Add(3*time.Second)) {
				t.Errorf("%s at %v", b, at[i])
			}
			seen[b] = true
		}
		if len(seen) != 60 || !seen["new"] || !seen["58"] || seen["59"] {
			t.Errorf("%d delivered: %v", len(seen), bodies)
		}
		if x, cp := r.service.Stats(), r.service.Checkpoint(); x.Waiting != 0 || cp.QueueOffset != r.store.MaxOffset(Topic, 0) {
			t.Errorf("%+v %+v", x, cp)
		}
		r.stop()
		r.close()
	})
}

// A clock that is set back delivers nothing twice, and what is sent then at its time.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offset atomic.Int64
		now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
		r := newRig(t)
		r.cfg.Now, r.o.Now = now, now
		r.open()
		r.start()
		begin := now()
		for i := range 5 {
			r.put(timed(fmt.Sprint("a", i), begin.Add(time.Duration(i)*time.Second)))
		}
		time.Sleep(6 * time.Second)
		offset.Store(int64(-time.Hour))
		r.put(timed("b", now().Add(3*time.Second)))
		r.put(timed("c", begin.Add(10*time.Second)))
		time.Sleep(2 * time.Second)
		r.stop()
		r.start()
		time.Sleep(3 * time.Second)
		if bodies, _ := r.got(); fmt.Sprint(bodies) != "[a0 a1 a2 a3 a4 b]" {
			t.Errorf("before the old time: %v", bodies)
		}
		time.Sleep(time.Hour + 10*time.Second)
		if bodies, _ := r.got(); fmt.Sprint(bodies) != "[a0 a1 a2 a3 a4 b c]" {
			t.Errorf("behind it: %v", bodies)
		}
		// And forward: what is between comes at once.
		r.put(timed("d", now().Add(30*time.Minute)))
		time.Sleep(time.Second)
		offset.Store(int64(time.Hour))
		time.Sleep(longestSleep)
		if bodies, _ := r.got(); fmt.Sprint(bodies) != "[a0 a1 a2 a3 a4 b c d]" {
			t.Errorf("set forward: %v", bodies)
		}
		r.stop()
		r.close()
	})
}

// A broker that was down for long delivers what it has; also Java's limit of a week is none.
func TestLongDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.start()
		r.put(timed("a", time.Now().Add(time.Hour)))
		r.put(timed("b", time.Now().Add(time.Hour)))
		time.Sleep(time.Second)
		r.stop()
		time.Sleep(11 * 24 * time.Hour)
		r.start()
		time.Sleep(time.Second)
		if bodies, _ := r.got(); fmt.Sprint(bodies) != "[a b]" {
			t.Errorf("%v", bodies)
		}
		time.Sleep(30 * 24 * time.Hour)
		r.put(timed("c", time.Now().Add(time.Hour)))
		time.Sleep(2 * time.Hour)
		if bodies, _ := r.got(); fmt.Sprint(bodies) != "[a b c]" {
			t.Errorf("%v", bodies)
		}
		r.stop()
		r.close()
	})
}

// Random messages, kills and clean stops: each message comes at least once, none early, none twice unless it was
// being delivered.
func TestRandomKills(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			r := newRig(t)
			r.o.FileSize, r.o.Window = 5000, 20
			r.open()
			r.start()
			due := map[string]time.Time{}
			number := 0
			for range 40 {
				for range rng.IntN(30) {
					body := strconv.Itoa(number)
					number++
					due[body] = time.Now().Add(time.Duration(rng.IntN(40000)+1) * time.Millisecond)
					r.put(timed(body, due[body]))
				}
				time.Sleep(time.Duration(rng.IntN(2500)) * time.Millisecond)
				switch rng.IntN(4) {
				case 0:
					r.kill()
					time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
					r.start()
				case 1:
					r.stop()
					time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
					r.start()
				}
			}
			time.Sleep(time.Minute)
			bodies, at := r.got()
			seen := map[string]int{}
			for i, b := range bodies {
				seen[b]++
				if at[i].Before(due[b]) {
					t.Errorf("seed %d: %s came %v early", seed, b, due[b].Sub(at[i]))
				}
				if at[i].After(due[b].Add(5 * time.Second)) {
					t.Errorf("seed %d: %s came %v late", seed, b, at[i].Sub(due[b]))
				}
			}
			if len(seen) != number {
				t.Errorf("seed %d: %d of %d messages came", seed, len(seen), number)
			}
			if twice := len(bodies) - number; twice > number/100 {
				t.Errorf("seed %d: %d of %d came twice", seed, twice, number)
			}
			if x := r.service.Stats(); x.Waiting != 0 || x.Skipped != 0 || r.service.counts.sum() != 0 {
				t.Errorf("seed %d: %+v, counts %d", seed, x, r.service.counts.sum())
			}
			r.stop()
			r.close()
		})
	}
}

// A slot that was delivered is noted at once: after a kill it does not come again, even if no checkpoint was written yet.
func TestKilledBeforeTheFirstCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.o.FlushTime = time.Hour
		r.open()
		r.start()
		const messages = 10
		for i := range messages {
			r.put(timed(strconv.Itoa(i), time.Now().Add(time.Duration(i+1)*time.Second)))
		}
		for range 3 {
			time.Sleep(2500 * time.Millisecond)
			r.kill()
			r.start()
		}
		time.Sleep(10 * time.Second)
		if bodies, _ := r.got(); strings.Join(bodies, " ") != "0 1 2 3 4 5 6 7 8 9" {
			t.Errorf("delivered: %v", bodies)
		}
		r.stop()
		r.close()
	})
}
