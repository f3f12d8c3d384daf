// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDiskUsage(t *testing.T) {
	if u := DiskUsage(t.TempDir()); u < 0 || u > 1 || math.Abs(math.Round(u*100)-u*100) > 1e-9 {
		t.Error(u)
	}
	if u := DiskUsage(filepath.Join(t.TempDir(), "none")); u != -1 {
		t.Error(u)
	}
}

func TestSeveralLogDirectories(t *testing.T) {
	root := t.TempDir()
	a, b, d := filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "d")
	var tight atomic.Pointer[string]
	tight.Store(new(string))
	in := func(dir string) (list []int64) {
		for _, n := range names(t, dir) {
			var base int64
			fmt.Sscanf(n, "%d", &base)
			list = append(list, base/cleanFileSize)
		}
		return list
	}
	synctest.Test(t, func(t *testing.T) {
		c := &cleaningTest{t: t}
		several := func(cfg *Config) {
			cfg.CommitLogDirs = []string{b, a, a + "/"}
			cfg.DiskUsage = func(dir string) float64 {
				if strings.Contains(*tight.Load(), dir) {
					return 0.86
				}
				return 0.10
			}
		}
		c.open(filepath.Join(root, "store"), several)
		c.fill(0, 35)
		if !slices.Equal(in(a), []int64{0, 2}) || !slices.Equal(in(b), []int64{1, 3}) {
			t.Errorf("%v %v", in(a), in(b))
		}
		tight.Store(&b)
		c.after(10 * time.Second)
		c.fill(35, 75)
		if !slices.Equal(in(a), []int64{0, 2, 4, 5, 6, 7}) || !slices.Equal(in(b), []int64{1, 3}) {
			t.Errorf("%v %v", in(a), in(b))
		}
		both := a + b
		tight.Store(&both)
		c.set(func(r *CleaningRules) { r.CleanFileForciblyEnable = false })
		c.after(10 * time.Second)
		c.fill(75, 85)
		if !slices.Equal(in(a), []int64{0, 2, 4, 5, 6, 7, 8}) {
			t.Errorf("%v %v", in(a), in(b))
		}
		if err := c.s.Close(); err != nil {
			t.Fatal(err)
		}
		// a takes no more files; they go to d
		readOnly := func(cfg *Config) {
			several(cfg)
			cfg.CommitLogDirs, cfg.ReadOnlyCommitLogDirs = []string{b, d}, []string{a}
		}
		tight.Store(new(string))
		c.open(filepath.Join(root, "store"), readOnly)
		if n := len(bodies(t, c.s, "T", 0)) + len(bodies(t, c.s, "T", 1)); n != 85 {
			t.Errorf("%d messages", n)
		}
		c.fill(85, 115)
		if !slices.Equal(in(a), []int64{0, 2, 4, 5, 6, 7, 8}) || !slices.Equal(in(b), []int64{1, 10, 3}) && !slices.Equal(in(b), []int64{1, 3, 10}) || !slices.Equal(in(d), []int64{9, 11}) {
			t.Errorf("%v %v %v", in(a), in(b), in(d))
		}
		c.age(100*hour, 100*hour, 100*hour)
		c.s.CleanNow(CleanCommitLog)
		c.after(time.Second)
		if !slices.Equal(in(a), []int64{4, 5, 6, 7, 8}) || !slices.Equal(in(b), []int64{3, 10}) {
			t.Errorf("%v %v", in(a), in(b))
		}
	})
	cfg := testConfig(filepath.Join(root, "none"))
	cfg.CommitLogDirs, cfg.ReadOnlyCommitLogDirs = []string{a}, []string{a}
	if _, err := Open(cfg); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened without a directory for new files: %v", err)
	}
}
