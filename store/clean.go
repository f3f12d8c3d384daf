// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/store/segment"
)

// CleaningRules say when old files may be deleted. The names are Java's keys; ratios are fractions of a disk.
type CleaningRules struct {
	CleanResourceInterval           time.Duration // between two looks at the disks; 10 s if not positive
	DeleteWhen                      string        // hours of the day, local time, separated by semicolons
	FileReservedTime                time.Duration // since its last change, after which a file of the log expires
	DeleteFileBatchMax              int           // files of the log in one round; 10 if not positive
	DeleteCommitLogFilesInterval    time.Duration // pause between two of them
	DeleteConsumeQueueFilesInterval time.Duration // pause between two queues of which files were deleted
	DiskMaxUsedSpaceRatio           float64       // above, expired files go at any hour
	DiskSpaceCleanForciblyRatio     float64       // above, files go that have not expired; within 0.30 and 0.85
	CleanFileForciblyEnable         bool          // allows that
	DiskSpaceWarningLevelRatio      float64       // above, messages are refused; within 0.35 and 0.90
}

// CleanKind is what CleanNow is to delete.
type CleanKind uint8

const (
	// CleanCommitLog deletes expired files of the log at any hour, in the next 20 rounds (code 329).
	CleanCommitLog CleanKind = iota
	// CleanConsumeQueues deletes files of consume queues and index whose messages are gone from the log (code 306). Java
	// drops queues without messages as a whole: their offsets begin at 0 again, and consumers, who are further, miss
	// what comes next. Here the last file of a queue always stays.
	CleanConsumeQueues
)

// orderedRounds is how many rounds an order of CleanCommitLog holds.
const orderedRounds = 20

// cleaner deletes old files. One goroutine looks at the disks every CleanResourceInterval, also while the other one is
// deleting, which may take long. Consume queues and index follow only when the beginning of the log has moved: 100,000
// queues cost nothing as long as nothing is deleted.
type cleaner struct {
	s    *Store
	disk disk

	signal chan struct{} // to the deleting goroutine
	// writeAll has the consume queues written to disk; false if that was in vain.
	writeAll func() bool
	quit     chan struct{}
	done     sync.WaitGroup

	ordered atomic.Int32 // rounds to come of an order
	queues  atomic.Bool  // ordered

	mu sync.Mutex // held while files of a queue are deleted; behind that of the dispatcher

	// of the deleting goroutine
	followed int64 // where the log began when queues and index last followed it
	helpless bool  // it was said that nothing can be done
}

func (c *cleaner) init(s *Store) {
	c.s = s
	c.disk.init(s)
	c.signal = make(chan struct{}, 1)
	c.writeAll = func() bool { return s.upkeep.writeAll(c.quit) }
	c.quit = make(chan struct{})
}

func (c *cleaner) rules() CleaningRules {
	r := c.s.cfg.Cleaning()
	if r.CleanResourceInterval <= 0 {
		r.CleanResourceInterval = 10 * time.Second
	}
	if r.DeleteFileBatchMax <= 0 {
		r.DeleteFileBatchMax = 10
	}
	r.DiskSpaceCleanForciblyRatio = min(max(r.DiskSpaceCleanForciblyRatio, 0.30), 0.85)
	r.DiskSpaceWarningLevelRatio = min(max(r.DiskSpaceWarningLevelRatio, 0.35), 0.90)
	return r
}

// start begins cleaning, unless the store was opened without.
func (c *cleaner) start() {
	if c.s.cfg.Cleaning == nil {
		return
	}
	r := c.rules()
	c.disk.look(&r)
	c.done.Add(2)
	go c.watch(r.CleanResourceInterval)
	go c.run()
}

func (c *cleaner) stop() {
	close(c.quit)
	c.done.Wait()
}

func (c *cleaner) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// watch looks at the disks again and again and has files deleted.
func (c *cleaner) watch(interval time.Duration) {
	defer c.done.Done()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.quit:
			return
		}
		r := c.rules()
		c.disk.look(&r)
		c.wake()
		timer.Reset(r.CleanResourceInterval)
	}
}

func (c *cleaner) run() {
	defer c.done.Done()
	for {
		select {
		case <-c.signal:
		case <-c.quit:
			return
		}
		c.cleanLog()
		c.follow()
	}
}

// pause waits between two deletions; false when the store closes.
func (c *cleaner) pause(d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.quit:
		return false
	}
}

// reason is why files may be deleted now, the name of a key or "ordered", and whether the disks are so full that they
// need not have expired. Empty: nothing may.
func (c *cleaner) reason(r *CleaningRules) (why string, forcibly bool) {
	ordered := c.ordered.Load() > 0
	if ordered {
		c.ordered.Add(-1)
	}
	used := c.disk.used()
	switch {
	case used > r.DiskSpaceCleanForciblyRatio && r.CleanFileForciblyEnable:
		return "diskSpaceCleanForciblyRatio", true
	case used > min(r.DiskMaxUsedSpaceRatio, r.DiskSpaceCleanForciblyRatio):
		return "diskMaxUsedSpaceRatio", false
	case hourOf(c.s.cfg.Now(), r.DeleteWhen):
		return "deleteWhen", false
	case ordered:
		return "ordered", false
	}
	return "", false
}

// hourOf tells whether the hour is among those of deleteWhen; what is no number is passed over.
func hourOf(now time.Time, when string) bool {
	hour := now.Local().Hour()
	for part := range strings.SplitSeq(when, ";") {
		if n, err := strconv.Atoi(strings.TrimSpace(part)); err == nil && n == hour {
			return true
		}
	}
	return false
}

// cleanLog deletes files of the log from the oldest on, up to the first that may not go. The last one is never deleted,
// nor what the dispatcher has still to read.
func (c *cleaner) cleanLog() {
	r := c.rules()
	why, forcibly := c.reason(&r)
	if why == "" {
		c.helpless = false
		return
	}
	files := c.s.cl.Sequence().Files()
	deleted := 0
	for _, f := range files[:max(len(files)-1, 0)] {
		if deleted == r.DeleteFileBatchMax || f.End() > c.s.dispatch.pos.Load() {
			break
		}
		if f.End() > c.s.cp.safe.Load() && !(c.writeAll() && f.End() <= c.s.cp.safe.Load()) {
			break
		}
		changed, err := f.ModTime()
		expired := err == nil && !changed.Add(r.FileReservedTime).After(c.s.cfg.Now())
		// what has not expired goes only as long as that is needed
		if !expired && !(forcibly && c.disk.look(&r) > r.DiskSpaceCleanForciblyRatio) {
			break
		}
		if deleted > 0 && !c.pause(r.DeleteCommitLogFilesInterval) {
			return
		}
		if !c.deleteLogFile(f, why, changed, expired) {
			break
		}
		deleted++
	}
	full := why == "diskSpaceCleanForciblyRatio" || why == "diskMaxUsedSpaceRatio"
	if helpless := full && deleted == 0; helpless != c.helpless {
		c.helpless = helpless
		if helpless {
			c.s.log.Warn("store: the disk is filling up, and no file of the commit log may be deleted", "rule", why,
				"used", c.disk.used(), "files", len(files), "fileReservedTime", r.FileReservedTime)
		}
	}
}

// deleteLogFile deletes one file; it is tried again in the next round if that fails.
func (c *cleaner) deleteLogFile(f *segment.File, why string, changed time.Time, expired bool) bool {
	if err := c.s.cl.Sequence().Remove(f); err != nil {
		c.s.log.Error("store: cannot delete a commit-log file", "file", f.Path(), "err", err)
		return false
	}
	c.s.log.Info("store: deleted a commit-log file", "file", f.Path(), "rule", why, "expired", expired,
		"lastModified", changed, "used", c.disk.used())
	return true
}

// follow makes consume queues and index fit the log if its beginning has moved, or if that was ordered.
func (c *cleaner) follow() {
	s := c.s
	ordered := c.queues.Swap(false)
	minPhy := s.cl.Min()
	if minPhy <= c.followed && !ordered {
		return
	}
	pause := c.rules().DeleteConsumeQueueFilesInterval
	failed := false
	queues := s.allQueues()
	slices.SortFunc(queues, func(a, b *queue) int { return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id)) })
	for _, q := range queues {
		deleted, err := c.cleanQueue(q, minPhy)
		if err != nil {
			failed = true
			s.log.Error("store: cannot clean a consume queue", "topic", q.topic, "queueId", q.id, "err", err)
		}
		if deleted > 0 {
			s.log.Info("store: deleted consume-queue files", "topic", q.topic, "queueId", q.id, "files", deleted, "minPhyOffset", minPhy)
		}
		if !c.proceed(deleted > 0, pause) {
			return
		}
	}
	if s.ix != nil {
		deleted, err := s.ix.DeleteBefore(minPhy)
		if err != nil {
			failed = true
			s.log.Error("store: cannot clean the index", "err", err)
		}
		if deleted > 0 {
			s.log.Info("store: deleted index files", "files", deleted, "minPhyOffset", minPhy)
		}
	}
	if !failed { // else all is tried again in the next round
		c.followed = minPhy
	}
}

func (c *cleaner) cleanQueue(q *queue, minPhy int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.deleted.Load() {
		return 0, nil
	}
	return q.Clean(minPhy)
}

// proceed goes on to the next queue, after a pause if files were deleted. Meanwhile the log is seen to when it is time:
// many queues may take long. False when the store closes.
func (c *cleaner) proceed(deleted bool, pause time.Duration) bool {
	if deleted && !c.pause(pause) {
		return false
	}
	select {
	case <-c.quit:
		return false
	case <-c.signal:
		c.cleanLog()
	default:
	}
	return true
}

// CleanNow orders what the cleaner would do later or never, and returns at once. A store that was opened without
// Config.Cleaning does nothing.
func (s *Store) CleanNow(kind CleanKind) {
	switch kind {
	case CleanCommitLog:
		s.cleaner.ordered.Store(orderedRounds)
	case CleanConsumeQueues:
		s.cleaner.queues.Store(true)
	}
	s.cleaner.wake()
}
