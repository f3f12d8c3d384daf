// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// disk knows how full the file systems are that the store lies on.
type disk struct {
	s *Store

	full   atomic.Bool              // above the warning level: messages are refused
	forced atomic.Bool              // above the level at which files go before they expire
	lost   atomic.Bool              // the directory was removed or replaced: messages are refused for good
	level  atomic.Uint64            // bits of used
	tight  atomic.Pointer[[]string] // directories of the log that take no new files for now

	mu sync.Mutex // one look at a time
}

func (d *disk) init(s *Store) {
	d.s = s
	d.tight.Store(&[]string{})
}

// used is the part of the fuller one of log and consume queues, at the last look.
func (d *disk) used() float64 { return math.Float64frombits(d.level.Load()) }

// refuses tells that messages cannot be kept.
func (d *disk) refuses() bool { return d.full.Load() || d.lost.Load() }

// missing tells what is no longer where the store has put it, "" if all is well. Files that were removed can be written
// to as long as they are open, and then all of it is gone.
func (s *Store) missing() string {
	held, err := s.lock.Stat()
	if err != nil {
		return ""
	}
	there, err := os.Stat(s.lock.Name())
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(held, there) {
		return s.lock.Name()
	}
	return s.cl.Missing()
}

// checkFiles refuses messages for good when what they are written to is gone.
func (d *disk) checkFiles() {
	if what := d.s.missing(); what != "" && !d.lost.Swap(true) {
		d.s.log.Error("store: a file was removed, replaced or made shorter while it was in use, messages are refused until the next start", "file", what)
	}
}

// look measures, and decides whether messages are taken and which directories get new files. It returns used.
func (d *disk) look(r *CleaningRules) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.s
	d.checkFiles()
	var tight []string
	for _, dir := range s.writable {
		if s.cfg.DiskUsage(dir) > r.DiskSpaceCleanForciblyRatio {
			tight = append(tight, dir)
		}
	}
	d.tight.Store(&tight)
	log, queues := s.logUsage(), s.cfg.DiskUsage(s.queueRoot())
	used := max(log, queues)
	d.level.Store(math.Float64bits(used))
	forced := used > r.DiskSpaceCleanForciblyRatio
	if was := d.forced.Swap(forced); was != forced {
		if forced {
			s.log.Warn("store: the disk is filling up, files of the log go before they expire", "commitLog", log,
				"consumeQueue", queues, "diskSpaceCleanForciblyRatio", r.DiskSpaceCleanForciblyRatio, "allowed", r.CleanFileForciblyEnable)
		} else {
			s.log.Info("store: files of the log stay until they expire again", "commitLog", log, "consumeQueue", queues)
		}
	}
	full := used > r.DiskSpaceWarningLevelRatio
	if !full {
		s.setFailing(nil) // as far as the disk tells: the next append knows
	}
	if was := d.full.Swap(full); was != full {
		if full {
			s.log.Error("store: the disk is full, messages are refused", "commitLog", log, "consumeQueue", queues,
				"diskSpaceWarningLevelRatio", r.DiskSpaceWarningLevelRatio)
		} else {
			s.log.Info("store: there is space on the disk again, messages are taken", "commitLog", log, "consumeQueue", queues)
		}
	}
	return used
}

// logUsage is how full the emptiest disk of the log is: new files go there.
func (s *Store) logUsage() float64 {
	used := -1.0
	for _, dir := range s.writable {
		if u := s.cfg.DiskUsage(dir); u >= 0 && (used < 0 || u < used) {
			used = u
		}
	}
	return used
}

// DiskUsage is how full the disks of log, consume queues and index are now, as fractions in whole percents; -1 for a
// directory that is not there. Of several directories of the log the emptiest disk counts.
func (s *Store) DiskUsage() (log, queues, index float64) {
	return s.logUsage(), s.cfg.DiskUsage(s.queueRoot()), s.cfg.DiskUsage(filepath.Join(s.cfg.Dir, "index"))
}

// LogDirs are the directories of the commit log that take new files, sorted.
func (s *Store) LogDirs() []string { return slices.Clone(s.writable) }

// logDirs are the directories of the log, all and those that take new files, each once and sorted.
func (c *Config) logDirs() (all, writable []string) {
	dirs := c.CommitLogDirs
	if len(dirs) == 0 {
		dirs = []string{c.CommitLogDir}
	}
	clean := func(dirs []string) []string {
		out := make([]string, len(dirs))
		for i, dir := range dirs {
			out[i] = filepath.Clean(dir)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	dirs, readOnly := clean(dirs), clean(c.ReadOnlyCommitLogDirs)
	writable = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(readOnly, dir) })
	return clean(append(dirs, readOnly...)), writable
}

// place is the directory for a new file of the log: they take turns, as long as their disks have room.
func (s *Store) place(base int64) string {
	tight := *s.cleaner.disk.tight.Load()
	dirs := s.writable
	if len(tight) > 0 && len(tight) < len(dirs) {
		dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(tight, dir) })
	}
	return dirs[base/s.cfg.CommitLogFileSize%int64(len(dirs))]
}

// DiskUsage is the used part of the file system of a directory in whole percents, rounded up as in Java, as a fraction.
// What only the superuser may use is not there. -1: unknown.
func DiskUsage(dir string) float64 {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Blocks == 0 {
		return -1
	}
	used := fs.Blocks - fs.Bfree
	total := used + fs.Bavail
	if total == 0 {
		return -1
	}
	return float64((used*100+total-1)/total) / 100
}
