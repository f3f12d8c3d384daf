// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"testing"
	"testing/synctest"
	"time"
)

// What is settled has come, be the service late or not, and it does not take long.
func TestSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		defer s.close()
		s.start("", "")
		// hasCome tells whether the log had n messages when it ended at end.
		hasCome := func(n, end int64) bool {
			unit, ok := s.store.Unit("T", 3, n-1)
			return ok && unit.PhyOffset < end
		}
		watch := func(due time.Time, n int64) {
			t.Helper()
			for range 40 {
				settled, end := s.service.Settled(), s.store.MaxPhyOffset()
				synctest.Wait() // for the dispatcher
				if settled >= due.UnixMilli() && !hasCome(n, end) {
					t.Fatalf("%v is settled and has not come", due)
				}
				if time.Since(due) > 2*time.Second && settled < due.UnixMilli() {
					t.Fatalf("%v after %v settled is %v", time.Since(due), due, time.UnixMilli(settled))
				}
				time.Sleep(100 * time.Millisecond)
			}
			if s.store.MaxOffset("T", 3) < n {
				t.Fatal("has not come")
			}
		}
		due := time.Now().Add(1500 * time.Millisecond)
		s.send("a", due, "")
		watch(due, 1)
		s.end(true)
		due = time.Now().Add(time.Second)
		s.send("b", due, "")
		time.Sleep(time.Minute)
		s.start("", "")
		late := time.Now()
		settled, end := s.service.Settled(), s.store.MaxPhyOffset()
		synctest.Wait()
		if settled >= due.UnixMilli() && !hasCome(2, end) {
			t.Error("settled before it has come")
		}
		watch(late.Add(-2*time.Second), 2)
	})
}

// What is not entered has not come, however long ago it was due.
func TestSettledWhileNothingIsEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		defer s.close()
		s.stopEnter.Store(true)
		s.start("", "")
		sent, due := time.Now(), time.Now().Add(time.Second)
		s.send("a", due, "")
		time.Sleep(time.Minute)
		if settled := time.UnixMilli(s.service.Settled()); settled.Before(sent) || !settled.Before(due) {
			t.Errorf("settled is %v, sent at %v and due at %v", settled, sent, due)
		}
		s.stopEnter.Store(false)
		time.Sleep(time.Minute)
		if settled := time.UnixMilli(s.service.Settled()); settled.Before(due) || s.store.MaxOffset("T", 3) != 1 {
			t.Errorf("settled is %v, due was %v", settled, due)
		}
	})
}
