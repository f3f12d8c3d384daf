// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store/timerlog"
)

// A slave enters what its master has entered, delivers nothing and forgets what the master has delivered. Whoever starts a
// master on its files delivers the rest, once.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.slave = true
		r.start()
		begin := time.Now()
		at := func(d time.Duration) time.Time { return begin.Add(d) }
		for body, d := range map[string]time.Duration{"5s": 5 * time.Second, "30s": 30 * time.Second, "3d": 72 * time.Hour} {
			r.put(timed(body, at(d)))
		}
		r.put(timed("beyond", at(10*time.Second))) // the master has not entered it yet
		master := func(d time.Duration, next int64) {
			r.service.MasterAt(timerlog.Checkpoint{
				ReadTime: at(d).UnixMilli(), QueueOffset: 99, MasterQueueOffset: next, StateVersion: 1, Timestamp: 2, Counter: 3,
			})
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		waiting := func(want int64) {
			t.Helper()
			if s := r.service.Stats(); s.Waiting != want {
				t.Errorf("%v: %d messages wait, want %d", time.Since(begin), s.Waiting, want)
			}
		}
		waiting(0)
		master(0, 3)
		waiting(3)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		waiting(3) // the master may not have delivered what is due
		master(6*time.Second, 3)
		waiting(2)
		cp := r.service.Checkpoint()
		if want := (timerlog.Checkpoint{
			ReadTime: at(6 * time.Second).UnixMilli(), FlushPos: cp.FlushPos, QueueOffset: 3, MasterQueueOffset: 3, StateVersion: 1, Timestamp: 2, Counter: 3,
		}); cp != want || cp.FlushPos == 0 {
			t.Errorf("checkpoint %+v, want %+v", cp, want)
		}
		if bodies, _ := r.got(); len(bodies) != 0 {
			t.Errorf("a slave has delivered %q", bodies)
		}
		r.stop()

		r.slave = false
		r.start()
		time.Sleep(4 * 24 * time.Hour)
		synctest.Wait()
		r.stop()
		if bodies, _ := r.got(); !slices.Equal(bodies, []string{"beyond", "30s", "3d"}) {
			t.Errorf("the master that the slave became has delivered %q", bodies)
		}
		r.close()
	})
}

// A slave that begins late passes over what its master has delivered, and keeps what the master is late with.
func TestFollowFromTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		begin := time.Now()
		r.put(timed("delivered", begin.Add(5*time.Second)))
		r.put(timed("late", begin.Add(20*time.Second)))
		r.put(timed("waits", begin.Add(time.Minute)))
		time.Sleep(30 * time.Second)
		r.slave = true
		r.start()
		for _, next := range []int64{0, 3} {
			r.service.MasterAt(timerlog.Checkpoint{ReadTime: begin.Add(10 * time.Second).UnixMilli(), MasterQueueOffset: next})
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if s := r.service.Stats(); s.Waiting != 2 {
			t.Errorf("%d messages wait", s.Waiting)
		}
		r.kill()
		r.slave = false
		r.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		r.stop()
		if bodies, _ := r.got(); !slices.Equal(bodies, []string{"late", "waits"}) {
			t.Errorf("delivered %q", bodies)
		}
		r.close()
	})
}

// The counts of a slave are its master's.
func TestReplaceCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open()
		r.slave = true
		r.start()
		r.put(timed("x", time.Now().Add(time.Minute)))
		r.service.MasterAt(timerlog.Checkpoint{MasterQueueOffset: 1})
		var master protocol.TimerMetricsSerializeWrapper
		for _, body := range []string{
			`{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":5},"timingCount":{"A":{"count":7,"timeStamp":5}}}`,
			`{"dataVersion":{"counter":2,"stateVersion":0,"timestamp":6},"timingCount":{"B":{"count":1,"timeStamp":6}}}`,
		} {
			master = protocol.TimerMetricsSerializeWrapper{}
			if err := fastjson.Unmarshal([]byte(body), &master); err != nil {
				t.Fatal(err)
			}
			r.service.ReplaceCounts(&master)
			r.service.ReplaceCounts(&master)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		counts := r.service.Counts()
		a, _ := counts.TimingCount.Get("A")
		b, _ := counts.TimingCount.Get("B")
		if counts.DataVersion.Counter != 2 || a == nil || a.Count != 0 || b == nil || b.Count != 1 {
			t.Errorf("counts %s", fastjson.Marshal(counts))
		}
		if own, ok := counts.TimingCount.Get("T"); ok && own.Count != 0 {
			t.Errorf("the slave has counted %d itself", own.Count)
		}
		r.stop()
		r.close()
	})
}
