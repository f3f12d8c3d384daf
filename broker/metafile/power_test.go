// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metafile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"rocketmq-go/internal/powerdisk"
)

// The power fails at any moment of any write, again and again: what Write has promised is there, or what came after it,
// and never a text that was not written. ROCKETMQ_POWER_ROUNDS is how many schedules, ROCKETMQ_POWER_SEED the first.
func TestPowerFailures(t *testing.T) {
	for seed := range powerdisk.Seeds(60) {
		base, err := os.MkdirTemp("/dev/shm", "power") // nothing here needs a real disk
		if err != nil {
			base = t.TempDir()
		}
		defer os.RemoveAll(base)
		powerFailures(t, rand.New(rand.NewPCG(seed, 7)), base, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: %s", seed, fmt.Sprintf(format, args...))
		})
	}
}

func powerFailures(t *testing.T, rng *rand.Rand, base string, fail func(string, ...any)) {
	t.Helper()
	text := func(n int) []byte { return fmt.Appendf(nil, "good %d %s.", n, strings.Repeat("x", n*1000%9000)) }
	number := func(text []byte) (n int) {
		fmt.Sscanf(string(text), "good %d ", &n)
		return n
	}
	dir := filepath.Join(base, "0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	disk := powerdisk.New(dir, rng)
	last, promised := 0, 0
	for run := 1; run < 6; run++ {
		path := filepath.Join(dir, "store", "config", "f.json")
		held := 0
		f, source, err := Load(path, func(b []byte) error {
			if held = number(b); string(b) != string(text(held)) {
				return fmt.Errorf("a broken text of %d bytes", len(b))
			}
			return nil
		})
		if err != nil || held < promised || held > last || source != FromMain && promised > 0 {
			fail("run %d: loaded %d from %q (%v), promised %d, written %d", run, held, source, err, promised, last)
		}
		last = held
		f.Disk = disk
		failed := false
		disk.Arm(rng.IntN(20), func() {
			failed = true
			disk.WriteBack(rng.Float64())
			if err := disk.Save(filepath.Join(base, strconv.Itoa(run))); err != nil {
				t.Fatal(err)
			}
		})
		for !failed {
			if rng.IntN(3) > 0 {
				last++
			}
			if err := f.Write(text(last)); err != nil {
				fail("write: %v", err)
			}
			if !failed {
				promised = last
			}
			if rng.IntN(10) == 0 && !failed {
				disk.Fail()
			}
		}
		disk.Close()
		dir = filepath.Join(base, strconv.Itoa(run))
		disk = powerdisk.New(dir, rng)
		if err := disk.Take(); err != nil {
			t.Fatal(err)
		}
	}
	disk.Close()
}

// dirDisk fails to write directories to disk as long as err is set.
type dirDisk struct {
	err  error
	dirs int
}

func (d *dirDisk) Sync(int, string, []byte, int64, int64) error { return nil }

func (d *dirDisk) SyncDir(string) error {
	d.dirs++
	return d.err
}

// A text whose name did not reach the disk is not taken for written, though the file has it: neither the next time, nor
// after a kill.
func TestNameIsTriedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	disk := &dirDisk{err: os.ErrInvalid}
	for range 2 {
		f, _, err := Load(path, goodText)
		if err != nil {
			t.Fatal(err)
		}
		f.Disk = disk
		for range 2 {
			if err := f.Write([]byte("good 1")); err != os.ErrInvalid {
				t.Fatalf("%v", err)
			}
		}
	}
	f, _, _ := Load(path, goodText)
	f.Disk, disk.err, disk.dirs = disk, nil, 0
	for range 2 {
		if err := f.Write([]byte("good 1")); err != nil || disk.dirs != 3 {
			t.Fatalf("%v, %d directories", err, disk.dirs)
		}
	}
}

// Whoever looks, at any moment of a write, finds the file.
func TestMainIsAlwaysThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	f, _, err := Load(path, goodText)
	if err != nil {
		t.Fatal(err)
	}
	f.Disk = new(dirDisk)
	if err := f.Write([]byte("good")); err != nil {
		t.Fatal(err)
	}
	done := make(chan int)
	var stop atomic.Bool
	go func() {
		missing := 0
		for !stop.Load() {
			if _, err := os.Stat(path); err != nil {
				missing++
			}
		}
		done <- missing
	}()
	for i := range 100 {
		if err := f.Write(fmt.Appendf(nil, "good %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	if n := <-done; n > 0 {
		t.Errorf("missing %d times", n)
	}
}
