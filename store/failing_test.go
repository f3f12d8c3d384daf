// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/store/segment"
)

// failingDisk fails, or takes its time, for files and directories whose path has a text in it.
type failingDisk struct {
	segment.OS
	mu    sync.Mutex
	part  string
	err   error
	delay time.Duration
	dirs  []time.Time // when a directory of the log was synced
}

func (d *failingDisk) set(part string, err error, delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.part, d.err, d.delay = part, err, delay
}

func (d *failingDisk) fail(path string) error {
	d.mu.Lock()
	err, delay := d.err, d.delay
	if d.part == "" || !strings.Contains(path, d.part) {
		err, delay = nil, 0
	}
	d.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	return err
}

func (d *failingDisk) Sync(_ int, path string, _ []byte, _, _ int64) error { return d.fail(path) }

func (d *failingDisk) SyncDir(dir string) error {
	if filepath.Base(dir) == "commitlog" {
		d.mu.Lock()
		d.dirs = append(d.dirs, time.Now())
		d.mu.Unlock()
	}
	return d.fail(dir + "/")
}

// The device fails: nothing is acknowledged that is not on disk, nothing is promised, nothing stops for good, and when the
// device works again so does the store. EROFS is what a file system gives that turned read-only by itself.
func TestDeviceErrors(t *testing.T) {
	for _, err := range []error{unix.EIO, unix.EROFS, unix.ENOSPC} {
		for _, part := range []string{"/commitlog/", "/consumequeue/", "/index/", "/checkpoint"} {
			t.Run(fmt.Sprint(err, " ", part), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) { deviceErrors(t, dir, part, err) })
			})
		}
	}
}

func deviceErrors(t *testing.T, dir, part string, deviceErr error) {
	disk := new(failingDisk)
	cfg := testConfig(dir)
	cfg.SyncFlush, cfg.IndexUnits, cfg.disk = true, 20, disk
	s := openTest(t, cfg)
	n := 0
	send := func(count int) (statuses []PutStatus) {
		for range count {
			n++
			s.Put(newMessage("T", 0, "body", fmt.Sprintf("UNIQ_KEY\x01u%d\x02", n)), func(r PutResult) {
				if !slices.Contains(statuses, r.Status) {
					statuses = append(statuses, r.Status)
				}
			})
			synctest.Wait()
		}
		return statuses
	}
	if got := send(30); !slices.Equal(got, []PutStatus{PutOK}) {
		t.Fatalf("%v", got)
	}
	time.Sleep(2 * time.Minute) // all is on disk
	physic, logics, index := s.Timestamps()
	flushed := s.FlushedOffset()
	disk.set(part, deviceErr, 0)
	got := send(30)
	want := PutOK
	if part == "/commitlog/" {
		want = FlushDiskTimeout
	}
	if !slices.Equal(got, []PutStatus{want}) {
		t.Errorf("statuses %v, expected %d", got, want)
	}
	time.Sleep(2 * time.Minute)
	p, l, x := s.Timestamps()
	switch part {
	case "/commitlog/":
		if s.FlushedOffset() != flushed || p != physic || s.MaxOffset("T", 0) != 30 {
			t.Errorf("flushed to %d, it was %d; physicMsgTimestamp %d, it was %d; %d visible", s.FlushedOffset(), flushed, p, physic, s.MaxOffset("T", 0))
		}
	case "/consumequeue/":
		if l != logics {
			t.Errorf("logicsMsgTimestamp %d, it was %d", l, logics)
		}
	case "/index/":
		if x != index {
			t.Errorf("indexMsgTimestamp %d, it was %d", x, index)
		}
	}
	if _, res := s.Get(nil, GetRequest{Topic: "T", MaxCount: 32}); res.Status != Found {
		t.Errorf("%+v", res)
	}
	disk.set("", nil, 0)
	if got := send(1); !slices.Equal(got, []PutStatus{PutOK}) {
		t.Errorf("after the device came back: %v", got)
	}
	time.Sleep(2 * time.Minute)
	if p, l, x := s.Timestamps(); p <= physic || l <= logics || x <= index || s.MaxOffset("T", 0) != 61 {
		t.Errorf("physicMsgTimestamp %d, logicsMsgTimestamp %d, indexMsgTimestamp %d; %d visible", p, l, x, s.MaxOffset("T", 0))
	}
	disk.set(part, deviceErr, 0)
	send(1)
	if err := s.Close(); err == nil {
		t.Error("a stop that could not write to disk was clean")
	}
	if _, err := os.Stat(s.abortPath()); err != nil {
		t.Errorf("the next start will not check the log: %v", err)
	}
	disk.set("", nil, 0)
	s = openTest(t, cfg)
	if got := len(bodies(t, s, "T", 0)); got != 62 {
		t.Errorf("%d messages", got)
	}
	s.Close()
}

// U053 (R#7799): 50 files are due at once and deleting each takes two seconds. They go one after the other, with the pause
// that is configured; no append waits for that, and the disk is looked at meanwhile.
func TestSlowDeletionStallsNobody(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		disk := new(failingDisk)
		c := &cleaningTest{t: t}
		c.set(func(r *CleaningRules) { r.DeleteFileBatchMax = 50 })
		c.open(dir, func(cfg *Config) { cfg.disk = disk })
		c.fill(0, 515) // 52 files
		ages := make([]time.Duration, 50)
		for i := range ages {
			ages[i] = 100 * hour
		}
		c.age(ages...)
		disk.set("/commitlog/", nil, 2*time.Second)
		disk.dirs = nil
		c.used.Store(80)
		begin := time.Now()
		for time.Since(begin) < 3*time.Minute {
			before := time.Now()
			put(t, c.s, newMessage("T", 0, "x", ""))
			if took := time.Since(before); took != 0 {
				t.Fatalf("an append took %v", took)
			}
			time.Sleep(500 * time.Millisecond)
			if at := time.Since(begin); at > 40*time.Second && at < 41*time.Second {
				if n := len(c.files()); n < 30 {
					t.Errorf("%d files are left after %v", n, at)
				}
				c.used.Store(95)
				time.Sleep(10 * time.Second)
				if c.s.Writable() {
					t.Error("a full disk is not noticed while files are deleted")
				}
				c.used.Store(80)
				time.Sleep(11 * time.Second)
			}
		}
		if n := len(c.files()); n != 2 {
			t.Errorf("%d files are left", n)
		}
		for i, at := range disk.dirs[1:] {
			if pause := at.Sub(disk.dirs[i]); pause < 2100*time.Millisecond {
				t.Errorf("a file was deleted %v after the one before", pause)
			}
		}
		disk.set("", nil, 0)
		c.s.Close()
	})
}
