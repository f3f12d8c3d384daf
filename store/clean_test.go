// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// cleaningTest is a store of small files in virtual time, with a disk that is as full as the test says.
type cleaningTest struct {
	t     testing.TB
	cfg   Config
	s     *Store
	rules atomic.Pointer[CleaningRules]
	used  atomic.Int32 // percent
}

const cleanFileSize = 128 << 10

func (c *cleaningTest) open(dir string, change func(*Config)) {
	c.cfg = testConfig(dir)
	c.cfg.CommitLogFileSize = cleanFileSize
	c.cfg.ConsumeQueueFileSize = 20 * 20
	c.cfg.IndexUnits = 30
	c.cfg.DiskUsage = func(string) float64 { return float64(c.used.Load()) / 100 }
	if c.rules.Load() == nil {
		c.set(func(*CleaningRules) {})
	}
	c.cfg.Cleaning = func() CleaningRules { return *c.rules.Load() }
	if change != nil {
		change(&c.cfg)
	}
	c.s = openTest(c.t, c.cfg)
}

// set changes the rules, from Java's defaults.
func (c *cleaningTest) set(change func(*CleaningRules)) {
	r := CleaningRules{
		CleanResourceInterval: 10 * time.Second, DeleteWhen: "x", FileReservedTime: 72 * time.Hour, DeleteFileBatchMax: 10,
		DeleteCommitLogFilesInterval: 100 * time.Millisecond, DeleteConsumeQueueFilesInterval: 100 * time.Millisecond,
		DiskMaxUsedSpaceRatio: 0.75, DiskSpaceCleanForciblyRatio: 0.85, CleanFileForciblyEnable: true, DiskSpaceWarningLevelRatio: 0.90,
	}
	change(&r)
	c.rules.Store(&r)
}

// fill puts messages, 10 to a log file, into queues 0 and 1 of T in turn. Message n is in queue n%2.
func (c *cleaningTest) fill(from, to int) {
	c.t.Helper()
	for n := from; n < to; n++ {
		put(c.t, c.s, newMessage("T", int32(n%2), fmt.Sprintf("%d %s", n, strings.Repeat("x", 12000)), fmt.Sprintf("UNIQ_KEY\x01u%d", n)))
	}
	visible(c.t, c.s)
	if err := c.s.cl.Flush(0); err != nil {
		c.t.Fatal(err)
	}
}

// age makes log files look as if they had last been changed so long ago.
func (c *cleaningTest) age(ages ...time.Duration) {
	c.t.Helper()
	files := c.s.cl.Sequence().Files()
	for i, age := range ages {
		then := time.Now().Add(-age)
		if err := os.Chtimes(files[i].Path(), then, then); err != nil {
			c.t.Fatal(err)
		}
	}
}

// files are the numbers of the log's files, in the sequence and on disk.
func (c *cleaningTest) files() (list []int64) {
	c.t.Helper()
	for _, f := range c.s.cl.Sequence().Files() {
		list = append(list, f.Base()/cleanFileSize)
		if _, err := os.Stat(f.Path()); err != nil {
			c.t.Error(err)
		}
	}
	return list
}

// after lets virtual time pass.
func (c *cleaningTest) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const hour = time.Hour

func TestCleaningRules(t *testing.T) {
	now := func(*CleaningRules) {}
	at := func(offset time.Duration) func(*CleaningRules) {
		return func(r *CleaningRules) { r.DeleteWhen = "77;" + time.Now().Add(offset).Local().Format("15") + ";x" }
	}
	for _, c := range []struct {
		name  string
		used  int32
		rules func(*CleaningRules)
		ages  []time.Duration // of five files; the sixth is the last one
		order bool
		left  []int64
	}{
		{"nothing is due", 75, now, []time.Duration{100 * hour, 100 * hour}, false, []int64{0, 1, 2, 3, 4, 5}},
		{"another hour", 10, at(5 * hour), []time.Duration{100 * hour}, false, []int64{0, 1, 2, 3, 4, 5}},
		{"the hour", 10, at(0), []time.Duration{100 * hour, 72 * hour, 71 * hour}, false, []int64{2, 3, 4, 5}},
		{"up to the first that may not go", 10, at(0), []time.Duration{1 * hour, 100 * hour}, false, []int64{0, 1, 2, 3, 4, 5}},
		{"never the last one", 10, at(0), slices.Repeat([]time.Duration{100 * hour}, 6), false, []int64{5}},
		{"a batch", 10, func(r *CleaningRules) { at(0)(r); r.DeleteFileBatchMax = 2 }, slices.Repeat([]time.Duration{100 * hour}, 6), false, []int64{2, 3, 4, 5}},
		{"little space: what has expired", 76, now, []time.Duration{100 * hour, 71 * hour}, false, []int64{1, 2, 3, 4, 5}},
		{"hardly any space", 86, now, nil, false, []int64{5}},
		{"hardly any space, but not forcibly", 86, func(r *CleaningRules) { r.CleanFileForciblyEnable = false }, []time.Duration{100 * hour, hour}, false, []int64{1, 2, 3, 4, 5}},
		{"limits of the forced ratio", 86, func(r *CleaningRules) { r.DiskSpaceCleanForciblyRatio = 0.99 }, nil, false, []int64{5}},
		{"a lower forced ratio", 60, func(r *CleaningRules) { r.DiskSpaceCleanForciblyRatio = 0.5 }, nil, false, []int64{5}},
		{"ordered", 10, now, []time.Duration{100 * hour, 71 * hour}, true, []int64{1, 2, 3, 4, 5}},
		{"reserved time is up to now", 10, func(r *CleaningRules) { at(0)(r); r.FileReservedTime = 48 * hour }, []time.Duration{48 * hour, 47 * hour}, false, []int64{1, 2, 3, 4, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				test := &cleaningTest{t: t}
				test.used.Store(10)
				test.open(dir, nil)
				test.fill(0, 55)
				test.age(c.ages...)
				test.used.Store(c.used)
				test.set(c.rules)
				if c.order {
					test.s.CleanNow(CleanCommitLog)
					test.after(0)
				} else {
					test.after(12 * time.Second)
				}
				if got := test.files(); !slices.Equal(got, c.left) {
					t.Errorf("left %v, expected %v", got, c.left)
				}
			})
		})
	}
}

// Deleting what has not expired stops as soon as there is space.
func TestForcedCleaningStopsInTime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		c.open(dir, func(cfg *Config) {
			cfg.DiskUsage = func(string) float64 {
				files, _ := os.ReadDir(filepath.Join(dir, "commitlog"))
				return float64(80+len(files)) / 100 // above 0.85 with six files or more
			}
		})
		c.fill(0, 65)
		c.after(12 * time.Second)
		if got := c.files(); !slices.Equal(got, []int64{2, 3, 4, 5, 6}) {
			t.Errorf("left %v", got)
		}
	})
}

func TestOrderHoldsForTwentyRounds(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		c.open(dir, nil)
		c.fill(0, 55)
		c.s.CleanNow(CleanCommitLog)
		c.after(185 * time.Second) // 19 rounds
		c.age(100 * hour)
		c.after(10 * time.Second)
		if got := c.files(); !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
			t.Errorf("left %v in the last round", got)
		}
		c.age(100 * hour)
		c.after(time.Minute)
		if got := c.files(); !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
			t.Errorf("left %v after the last round", got)
		}
	})
}

// Queues and index follow the log, readers get Java's answers, and a restart changes nothing.
func TestQueuesFollowTheLog(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		c.open(dir, nil)
		for n := range 3 {
			put(t, c.s, newMessage("Old", 0, fmt.Sprint(n), ""))
		}
		c.fill(0, 105)
		c.age(slices.Repeat([]time.Duration{100 * hour}, 5)...)
		c.s.CleanNow(CleanCommitLog)
		synctest.Wait()

		// the log's files go one by one; meanwhile a record is gone, or going, while its unit is still there
		_, res := c.s.Get(nil, GetRequest{Topic: "T", QueueID: 0, Offset: 0, MaxCount: 32})
		if res.Status != MessageWasRemoving && res.Status != Found || res.NextBeginOffset == 0 {
			t.Errorf("while cleaning: %+v", res)
		}
		c.after(5 * time.Second)
		check := func() {
			t.Helper()
			first := c.firstOf(t, 0)
			if c.s.MinPhyOffset() != 5*cleanFileSize || first < 20 || c.s.MinOffset("T", 0) != first {
				t.Errorf("log from %d, queue from %d, expected %d", c.s.MinPhyOffset(), c.s.MinOffset("T", 0), first)
			}
			for q := range int32(2) {
				got := bodies(t, c.s, "T", q)
				if want := int(c.s.MaxOffset("T", q) - c.s.MinOffset("T", q)); len(got) != want || want == 0 {
					t.Errorf("queue %d: %d messages of %d", q, len(got), want)
				}
			}
			_, res := c.s.Get(nil, GetRequest{Topic: "T", QueueID: 0, Offset: first - 1, MaxCount: 1})
			if res.Status != OffsetTooSmall || res.NextBeginOffset != first || res.MinOffset != first {
				t.Errorf("below the minimum: %+v", res)
			}
			// nothing is left of this topic but its offset
			if lo, hi := c.s.MinOffset("Old", 0), c.s.MaxOffset("Old", 0); lo != 3 || hi != 3 {
				t.Errorf("[%d,%d) of a topic whose messages are all gone", lo, hi)
			}
			for offset, want := range map[int64]GetStatus{2: OffsetTooSmall, 3: OffsetOverflowOne, 4: OffsetOverflowBadly} {
				if _, res := c.s.Get(nil, GetRequest{Topic: "Old", Offset: offset, MaxCount: 1}); res.Status != want {
					t.Errorf("offset %d: %+v", offset, res)
				}
			}
			if hits := c.s.QueryIndex("T", "u3", 10, 0, math.MaxInt64).PhyOffsets; len(hits) != 0 {
				t.Errorf("a deleted message is found: %v", hits)
			}
			if hits := c.s.QueryIndex("T", "u100", 10, 0, math.MaxInt64).PhyOffsets; len(hits) != 1 {
				t.Errorf("a message is not found: %v", hits)
			}
			if got := names(t, c.cfg.Dir, "consumequeue", "T", "0"); got[0] != segment.Name(first/20*400) {
				t.Errorf("queue files %v", got)
			}
			if got := names(t, c.cfg.Dir, "consumequeue", "Old", "0"); len(got) != 1 {
				t.Errorf("queue files %v", got)
			}
			if h := c.s.ix.Headers(); h[0].EndPhyOffset < c.s.MinPhyOffset() || len(names(t, c.cfg.Dir, "index")) != len(h) {
				t.Errorf("%d index files", len(h))
			}
			if off := c.s.OffsetByTime("T", 0, 0, Lower); off != first {
				t.Errorf("offset by time %d", off)
			}
		}
		check()
		for _, crash := range []bool{false, true} {
			if err := c.s.Close(); err != nil {
				t.Fatal(err)
			}
			if crash {
				os.WriteFile(filepath.Join(dir, "abort"), nil, 0o644)
				os.Remove(filepath.Join(dir, "checkpoint"))
			}
			c.open(dir, nil)
			check()
		}
		if r := put(t, c.s, newMessage("Old", 0, "again", "")); r.QueueOffset != 3 {
			t.Errorf("queue offset %d after all messages of the queue were deleted", r.QueueOffset)
		}
		visible(t, c.s)
		if got := bodies(t, c.s, "Old", 0); len(got) != 1 || got[0] != "again" {
			t.Errorf("%q", got)
		}
		c.after(time.Minute)
		if lo := c.s.MinOffset("Old", 0); lo != 3 {
			t.Errorf("minimum %d", lo)
		}
	})
}

// firstOf is the queue offset of the first message of a queue of T that is in the log.
func (c *cleaningTest) firstOf(t *testing.T, queueID int32) int64 {
	first := int64(-1)
	_, err := c.s.cl.Scan(c.s.MinPhyOffset(), math.MaxInt64, 0, func(_ int64, r *message.Record, _ []byte) error {
		if first < 0 && string(r.Topic) == "T" && r.QueueID == queueID {
			first = r.QueueOffset
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func names(t *testing.T, parts ...string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// A record that is gone while its unit is still there.
func TestGetWhoseRecordIsGone(t *testing.T) {
	c := &cleaningTest{t: t}
	c.open(t.TempDir(), nil)
	c.fill(0, 25)
	if err := c.s.cl.Sequence().Remove(c.s.cl.Sequence().Files()[0]); err != nil {
		t.Fatal(err)
	}
	_, res := c.s.Get(nil, GetRequest{Topic: "T", QueueID: 0, Offset: 2, MaxCount: 1})
	if res.Status != Found || res.NextBeginOffset != 6 { // what is gone is passed over
		t.Errorf("%+v", res)
	}
	for range 2 {
		if err := c.s.cl.Sequence().Remove(c.s.cl.Sequence().Files()[0]); err != nil {
			t.Fatal(err)
		}
	}
	_, res = c.s.Get(nil, GetRequest{Topic: "T", QueueID: 0, Offset: 2, MaxCount: 1})
	if res.Status != MessageWasRemoving || res.NextBeginOffset != 13 {
		t.Errorf("%+v", res)
	}
}

// The process died after files of the log were deleted and before queues and index followed.
func TestCrashWhileCleaning(t *testing.T) {
	for _, cut := range []int{1, 3, 9} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				c := &cleaningTest{t: t}
				c.open(dir, nil)
				c.fill(0, 105)
				if err := c.s.Close(); err != nil {
					t.Fatal(err)
				}
				for n := range cut {
					if err := os.Remove(filepath.Join(dir, "commitlog", segment.Name(int64(n)*cleanFileSize))); err != nil {
						t.Fatal(err)
					}
				}
				// and the first of two files of a queue whose messages are gone
				if cut > 5 {
					os.Remove(filepath.Join(dir, "consumequeue", "T", "1", segment.Name(0)))
				}
				crashed(t, c.cfg)
				c.open(dir, nil)
				first := c.firstOf(t, 0)
				if got := c.s.MinOffset("T", 0); got != first || first == 0 {
					t.Errorf("queue from %d, expected %d", got, first)
				}
				bodies(t, c.s, "T", 0)
				bodies(t, c.s, "T", 1)
				c.after(30 * time.Second) // the cleaner's first round
				if got, want := len(names(t, dir, "consumequeue", "T", "0")), int(3-first/20); got != want {
					t.Errorf("%d queue files, expected %d", got, want)
				}
				if h := c.s.ix.Headers(); h[0].EndPhyOffset < c.s.MinPhyOffset() {
					t.Error("an index file is left")
				}
				if first := c.firstOf(t, 1); c.s.MinOffset("T", 1) != first {
					t.Errorf("queue from %d, expected %d", c.s.MinOffset("T", 1), first)
				}
				c.fill(105, 120)
				bodies(t, c.s, "T", 1)
			})
		})
	}
}

// U052 (R#1400): above the warning level messages are refused, and reading goes on; that is noticed while deleting takes
// its time.
func TestFullDiskRefusesMessages(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		c.set(func(r *CleaningRules) { r.DeleteCommitLogFilesInterval = 1000 * hour })
		c.open(dir, nil)
		status := func() (st PutStatus) {
			c.s.Put(newMessage("T", 0, "x", ""), func(r PutResult) { st = r.Status })
			return st
		}
		c.fill(0, 55)
		for _, step := range []struct {
			used int32
			want PutStatus
		}{{90, PutOK}, {91, ServiceNotAvailable}, {100, ServiceNotAvailable}, {90, PutOK}, {91, ServiceNotAvailable}, {20, PutOK}} {
			c.used.Store(step.used)
			c.after(10 * time.Second)
			if got := status(); got != step.want || c.s.Writable() != (step.want == PutOK) {
				t.Errorf("%d%%: status %d, writable %v", step.used, got, c.s.Writable())
			}
		}
		if got := c.files(); got[0] != 1 { // the deleting goroutine stands still
			t.Errorf("files %v", got)
		}
		if _, res := c.s.Get(nil, GetRequest{Topic: "T", Offset: 5, MaxCount: 32}); res.Status != Found {
			t.Errorf("%+v", res)
		}
		c.used.Store(95)
		if log, queues, index := c.s.DiskUsage(); log != 0.95 || queues != 0.95 || index != 0.95 {
			t.Error(log, queues, index)
		}
		if err := c.s.Close(); err != nil {
			t.Fatal(err)
		}
		c.open(dir, nil) // and from the start on
		if got := status(); got != ServiceNotAvailable {
			t.Errorf("status %d", got)
		}
	})
}

// Readers, writers and a topic being deleted at the same time as files are: whoever reads a file may finish, and
// everything that is found is whole. Run with -race.
func TestCleaningUnderLoad(t *testing.T) {
	c := &cleaningTest{t: t}
	c.set(func(r *CleaningRules) {
		r.CleanResourceInterval, r.DeleteCommitLogFilesInterval, r.DeleteConsumeQueueFilesInterval = time.Millisecond, 0, 0
	})
	c.open(t.TempDir(), nil)
	c.used.Store(86) // everything but the last file may go
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var found, gone atomic.Int64
	for reader := range 3 {
		wg.Go(func() {
			var buf []byte
			for off := int64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				var res GetResult
				buf, res = c.s.Get(buf[:0], GetRequest{Topic: "T", QueueID: int32(reader % 2), Offset: off, MaxCount: 8})
				for b := buf; len(b) > 0; {
					r, err := message.ParseRecord(b)
					if err != nil || !r.CRCOK() || r.QueueID != int32(reader%2) {
						t.Errorf("a damaged record at %d: %v", off, err)
						return
					}
					b = b[r.Size:]
					found.Add(1)
				}
				c.s.QueryIndex("T", fmt.Sprint("u", off), 10, 0, math.MaxInt64)
				c.s.OffsetByTime("T", int32(reader%2), 1, Lower)
				if off = res.NextBeginOffset; res.Status == OffsetTooSmall || res.Status == MessageWasRemoving {
					gone.Add(1)
				}
				if res.Status == OffsetOverflowOne {
					off = max(res.MinOffset-30, 0)
				}
			}
		})
	}
	for n := 0; n < 1500; n += 50 {
		c.fill(n, n+50)
		put(t, c.s, newMessage("Gone", int32(n/50%3), "x", ""))
		if n%250 == 0 {
			c.s.DeleteTopics([]string{"Gone"})
		}
	}
	until(t, "files are deleted", func() bool { return len(c.s.cl.Sequence().Files()) <= 1 })
	close(stop)
	wg.Wait()
	t.Logf("%d records found, %d times too late", found.Load(), gone.Load())
	if found.Load() == 0 || gone.Load() == 0 {
		t.Error("the test does not test")
	}
	if got := c.s.MaxOffset("T", 0); got != 750 {
		t.Errorf("%d messages", got)
	}
	if err := c.s.Close(); err != nil {
		t.Fatal(err)
	}
	c.open(c.cfg.Dir, nil)
	if n := len(bodies(t, c.s, "T", 0)); n == 0 || n > 10 {
		t.Errorf("%d messages are left", n)
	}
}

// An order for queues does not wait for the next round; what cannot be deleted is tried again in each.
func TestOrderedQueues(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		c.open(dir, nil)
		c.fill(0, 105)
		for range 5 {
			if err := c.s.cl.Sequence().Remove(c.s.cl.Sequence().Files()[0]); err != nil {
				t.Fatal(err)
			}
		}
		blocked := filepath.Join(dir, "consumequeue", "T", "1", segment.Name(0))
		if err := errors.Join(os.Remove(blocked), os.MkdirAll(filepath.Join(blocked, "x"), 0o755)); err != nil {
			t.Fatal(err)
		}
		c.s.CleanNow(CleanConsumeQueues)
		c.after(time.Second)
		for q := range int32(2) {
			if got := c.s.MinOffset("T", q); got != 25 {
				t.Errorf("queue %d: minimum %d", q, got)
			}
		}
		c.after(time.Minute)
		if err := os.RemoveAll(filepath.Join(blocked, "x")); err != nil {
			t.Fatal(err)
		}
		c.after(10 * time.Second)
		if _, err := os.Stat(blocked); err == nil {
			t.Error("the file is still there")
		}
	})
}

// A directory that is removed, or its log, is noticed: messages that nobody could find again are not acknowledged.
func TestRemovedDirectoryRefusesMessages(t *testing.T) {
	for _, what := range []string{".", "commitlog", "lock"} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cleaningTest{t: t}
				dir := filepath.Join(t.TempDir(), "store")
				c.open(dir, nil)
				put(t, c.s, newMessage("T", 0, "body", ""))
				time.Sleep(11 * time.Second)
				synctest.Wait()
				put(t, c.s, newMessage("T", 0, "body", ""))
				if err := os.RemoveAll(filepath.Join(dir, what)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(11 * time.Second)
				synctest.Wait()
				c.s.Put(newMessage("T", 0, "body", ""), func(r PutResult) {
					if r.Status != ServiceNotAvailable {
						t.Errorf("status %d", r.Status)
					}
				})
				if c.s.Writable() {
					t.Error("it says that it can be written to")
				}
				if got := len(bodies(t, c.s, "T", 0)); got != 2 {
					t.Errorf("%d messages can be read", got)
				}
				c.s.Close()
			})
		})
	}
}
