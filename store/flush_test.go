// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAsyncFlushRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, testConfig(t.TempDir()))
		var calls atomic.Int64
		toDisk := s.flush.toDisk
		s.flush.toDisk = func(least int) error { calls.Add(1); return toDisk(least) }

		first := put(t, s, newMessage("T", 0, "small", ""))
		time.Sleep(600 * time.Millisecond)
		if s.FlushedOffset() != 0 {
			t.Error("less than four pages were flushed after 500 ms")
		}
		time.Sleep(10 * time.Second)
		if s.FlushedOffset() < int64(first.Size) {
			t.Error("not flushed after 10 s")
		}
		put(t, s, newMessage("T", 0, strings.Repeat("x", 20000), ""))
		time.Sleep(600 * time.Millisecond)
		if got := s.FlushedOffset(); got < 16384 || got%4096 != 0 {
			t.Errorf("flushed to %d: whole pages are expected", got)
		}
		time.Sleep(15 * time.Second)
		if s.FlushedOffset() != s.MaxPhyOffset() {
			t.Error("rest is not flushed")
		}
		// all is on disk: nothing ticks any more
		time.Sleep(2 * time.Minute)
		before := calls.Load()
		time.Sleep(24 * time.Hour)
		if n := calls.Load() - before; n != 0 {
			t.Errorf("%d flushes of a clean log", n)
		}
	})
}

// The checkpoint is written every second. It promises nothing of a queue that is not on disk, which may take a minute; how
// far the dispatcher has come is in it at once.
func TestCheckpointPromisesWhatIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, testConfig(t.TempDir()))
		r := put(t, s, newMessage("T", 0, "body", ""))
		look := func(physic, logics int64, found places) {
			t.Helper()
			again, err := openCheckpoint(s.cp.file.Name(), false, s.sync)
			if err != nil {
				t.Fatal(err)
			}
			defer again.close()
			if p, l := again.physic.Load(), again.logics.Load(); p != physic || l != logics {
				t.Errorf("physicMsgTimestamp %d, logicsMsgTimestamp %d, expected %d and %d", p, l, physic, logics)
			}
			if again.found != found {
				t.Errorf("%+v, expected %+v", again.found, found)
			}
		}
		end := int64(r.Size)
		time.Sleep(1100 * time.Millisecond)
		look(0, 0, places{0, 0, end})
		time.Sleep(11 * time.Second)
		look(r.StoreTime, 0, places{end, 0, end})
		time.Sleep(time.Minute)
		look(r.StoreTime, r.StoreTime, places{end, end, end})
	})
}

// A flush that leaves the last page, or all, does not keep the next one from telling the time of the last message.
func TestCheckpointHasTheLastTime(t *testing.T) {
	for name, end := range map[string]func(s *Store){
		"thorough flush": func(*Store) { time.Sleep(11 * time.Second) },
		"clean stop":     func(s *Store) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := openTest(t, testConfig(t.TempDir()))
				put(t, s, newMessage("T", 0, "body", ""))
				time.Sleep(600 * time.Millisecond) // a flush finds less than four pages
				last := put(t, s, newMessage("T", 0, "body", ""))
				end(s)
				if physic, _, _ := s.Timestamps(); physic != last.StoreTime {
					t.Errorf("physicMsgTimestamp %d, the last message is of %d", physic, last.StoreTime)
				}
			})
		})
	}
}

// U022 (R#8239): with sync flush nothing is visible or acknowledged before it is on disk.
func TestSyncFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(t.TempDir())
		cfg.SyncFlush = true
		s := openTest(t, cfg)
		var calls atomic.Int64
		disk := make(chan error)
		toDisk := s.flush.toDisk
		s.flush.toDisk = func(least int) error {
			calls.Add(1)
			if err := <-disk; err != nil {
				return err
			}
			return toDisk(least)
		}
		defer func() { s.flush.toDisk = toDisk }()

		results := make(chan PutResult, 10)
		send := func(props string) { s.Put(newMessage("T", 0, "body", props), func(r PutResult) { results <- r }) }
		send("")
		synctest.Wait() // the disk is at work for the first; the others gather
		for range 5 {
			send("")
		}
		send("WAIT\x01false")
		if r := <-results; r.Status != PutOK || r.QueueOffset != 6 {
			t.Errorf("WAIT=false: %+v", r)
		}
		synctest.Wait()
		if s.MaxOffset("T", 0) != 0 || len(results) != 0 {
			t.Error("visible or acknowledged before it is on disk")
		}
		disk <- nil
		synctest.Wait()
		if len(results) < 1 || len(results) > 6 {
			t.Errorf("%d results", len(results))
		}
		disk <- nil
		synctest.Wait()
		if len(results) != 6 || calls.Load() != 2 || s.MaxOffset("T", 0) != 7 {
			t.Errorf("%d results after %d writes for 7 messages, %d visible", len(results), calls.Load(), s.MaxOffset("T", 0))
		}
		for len(results) > 0 {
			if r := <-results; r.Status != PutOK {
				t.Errorf("%+v", r)
			}
		}

		// a disk that hangs
		send("")
		time.Sleep(4 * time.Second)
		send("")
		time.Sleep(1100 * time.Millisecond)
		if len(results) != 1 {
			t.Errorf("%d results after the time-out of the first", len(results))
		}
		if r := <-results; r.Status != FlushDiskTimeout || r.QueueOffset != 7 {
			t.Errorf("%+v", r)
		}
		time.Sleep(4 * time.Second)
		if r := <-results; r.Status != FlushDiskTimeout || r.QueueOffset != 8 {
			t.Errorf("%+v", r)
		}
		disk <- nil
		synctest.Wait()
		disk <- nil
		synctest.Wait()
		if s.MaxOffset("T", 0) != 9 {
			t.Error("messages are not visible after the disk came back")
		}

		// a disk that fails
		send("")
		disk <- errors.New("I/O error")
		if r := <-results; r.Status != FlushDiskTimeout {
			t.Errorf("%+v", r)
		}
		send("")
		disk <- nil
		if r := <-results; r.Status != PutOK || r.QueueOffset != 10 {
			t.Errorf("%+v", r)
		}
		s.flush.toDisk = toDisk
	})
}
