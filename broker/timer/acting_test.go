// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/timerlog"
)

// A slave that acts as master delivers elsewhere what it has entered, also what waits for days, and leaves the timer topic as it
// is. The master that returns passes over that, and delivers what the slave did not have.
func TestActAndTakeOver(t *testing.T) {
	for _, c := range []struct {
		name      string
		acts      time.Duration
		elsewhere []string
		master    []string // delivers in the next days
	}{
		{"for a moment", 12 * time.Second, []string{"5s", "10s"}, []string{"unseen", "60s", "3d"}},
		{"for days", 4 * 24 * time.Hour, []string{"5s", "10s", "60s", "3d"}, []string{"unseen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.open()
				begin := time.Now()
				for _, d := range []string{"5s", "10s", "60s"} {
					wait, _ := time.ParseDuration(d)
					r.put(timed(d, begin.Add(wait)))
				}
				r.put(timed("3d", begin.Add(72*time.Hour)))
				var sent []string
				slave := r.service2(t, func(m *message.Message, done func(store.PutResult)) {
					sent = append(sent, string(m.Body))
					done(store.PutResult{Status: store.PutOK})
				})
				slave.MasterAt(timerlog.Checkpoint{ReadTime: begin.UnixMilli(), MasterQueueOffset: 4, StateVersion: 1, Timestamp: 2, Counter: 3})
				during(t, slave.Follow, time.Second)
				during(t, slave.Act, c.acts)
				r.put(timed("unseen", begin.Add(8*time.Second)))
				during(t, slave.Follow, time.Second)
				cp := slave.Checkpoint()
				if !slices.Equal(sent, c.elsewhere) || r.store.MaxOffset(Topic, queue) != 5 {
					t.Errorf("delivered elsewhere %q, %d in the timer topic", sent, r.store.MaxOffset(Topic, queue))
				}
				if cp.QueueOffset != 4 || cp.MasterQueueOffset != 4 || cp.StateVersion != 1 || cp.Counter < versionSteps {
					t.Errorf("checkpoint %+v", cp)
				}
				master := r.service2(t, func(m *message.Message, done func(store.PutResult)) { r.store.Put(m, done) })
				master.TakeOver(cp)
				during(t, master.Run, 4*24*time.Hour)
				if bodies, _ := r.got(); !slices.Equal(bodies, c.master) {
					t.Errorf("the master has delivered %q, want %q", bodies, c.master)
				}
				for _, s := range []*Service{slave, master} {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
				r.close()
			})
		})
	}
}

// A message that is late already, and that nobody takes, is the master's to deliver, and so is what came behind it: an acting slave
// does not say that it was entered.
func TestActLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		begin := time.Now()
		var sent []string
		slave := r.service2(t, func(m *message.Message, done func(store.PutResult)) {
			if string(m.Body) == "late" {
				done(store.PutResult{Status: store.ServiceNotAvailable})
				return
			}
			sent = append(sent, string(m.Body))
			done(store.PutResult{Status: store.PutOK})
		})
		slave.MasterAt(timerlog.Checkpoint{ReadTime: begin.UnixMilli()})
		r.put(timed("before", begin.Add(20*time.Second)))
		r.put(timed("late", begin.Add(2*time.Second)))
		r.put(timed("behind", begin.Add(20*time.Second)))
		during(t, slave.Follow, 5*time.Second)
		during(t, slave.Act, 30*time.Second)
		during(t, slave.Follow, 5*time.Second)
		if cp := slave.Checkpoint(); !slices.Equal(sent, []string{"before"}) || cp.QueueOffset != 1 {
			t.Errorf("delivered elsewhere %q, checkpoint %+v", sent, cp)
		}
		master := r.service2(t, func(m *message.Message, done func(store.PutResult)) { r.store.Put(m, done) })
		master.TakeOver(slave.Checkpoint())
		during(t, master.Run, 30*time.Second)
		if bodies, _ := r.got(); !slices.Equal(bodies, []string{"late", "behind"}) {
			t.Errorf("the master has delivered %q", bodies)
		}
		for _, s := range []*Service{slave, master} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		r.close()
	})
}

// What a master could not deliver when it was late is not called entered: a slave that follows would take it for delivered.
func TestLateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.put(timed("late", time.Now().Add(2*time.Second)))
		time.Sleep(5 * time.Second)
		fails := true
		master := r.service2(t, func(m *message.Message, done func(store.PutResult)) {
			if fails {
				done(store.PutResult{Status: store.InSyncReplicasNotEnough})
				return
			}
			r.store.Put(m, done)
		})
		during(t, master.Run, 5*time.Second)
		slave := r.service2(t, func(m *message.Message, done func(store.PutResult)) { r.store.Put(m, done) })
		slave.MasterAt(master.Checkpoint())
		during(t, slave.Follow, 5*time.Second)
		during(t, slave.Act, 5*time.Second)
		if bodies, _ := r.got(); !slices.Equal(bodies, []string{"late"}) {
			t.Errorf("the slave has delivered %q", bodies)
		}
		fails = false
		during(t, master.Run, 5*time.Second)
		if bodies, _ := r.got(); !slices.Equal(bodies, []string{"late", "late"}) || master.Checkpoint().QueueOffset != 1 {
			t.Errorf("with the master %q are delivered", bodies)
		}
		for _, s := range []*Service{slave, master} {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		r.close()
	})
}

// during runs a service for some time.
func during(t *testing.T, run func(context.Context) error, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	time.Sleep(d)
	synctest.Wait()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// service2 is another service over the rig's store.
func (r *rig) service2(t *testing.T, put func(*message.Message, func(store.PutResult))) *Service {
	t.Helper()
	s, err := New(Options{Dir: t.TempDir(), Store: r.store, Put: put, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r.running.Store(s)
	return s
}
