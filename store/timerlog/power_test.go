// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"rocketmq-go/store/segment"
)

// What a power failure leaves of the timer files, and no kill does.

// countingDisk counts the syncs of each file.
type countingDisk map[string]int

func (d countingDisk) Sync(_ int, path string, _ []byte, _, _ int64) error {
	d[filepath.Base(path)]++
	return nil
}

func (d countingDisk) SyncDir(dir string) error {
	d[filepath.Base(dir)+"/"]++
	return nil
}

func openOn(t *testing.T, dir string, disk segment.Disk) *Files {
	t.Helper()
	f, err := Open(Options{Dir: dir, FileSize: 1 << 20, Sync: &segment.Syncer{Disk: disk}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// enterUnits enters n units, one of 100 bytes of the commit log each, and writes all to disk.
func enterUnits(t *testing.T, f *Files, n int, time func(i int) int64) {
	t.Helper()
	for i := range n {
		u := Unit{Magic: MagicDefault, WriteTime: 1000000, Delay: int32(time(i) - 1000000), PhyOffset: int64(i) * 100, Size: 100}
		if err := f.Enter(&u); err != nil {
			t.Fatal(err)
		}
	}
	f.Wheel.Freeze()
	cp := Checkpoint{FlushPos: f.Log.End(), QueueOffset: int64(n)}
	for _, err := range []error{f.Log.Write(), f.Log.Sync(), f.Wheel.Flush(), f.Check.Write(&cp), f.Check.Sync()} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The wheel's name or size is lost: an old message that waits is found before any number of newer ones that do not.
func TestWheelLost(t *testing.T) {
	const units = 3 * windowSize / UnitSize
	for _, lose := range []func(string) error{os.Remove, func(path string) error { return os.Truncate(path, 0) }} {
		dir := t.TempDir()
		f := openOn(t, dir, nil)
		enterUnits(t, f, units, func(i int) int64 {
			if i == 0 {
				return 5000000
			}
			return 2000000
		})
		f.Close()
		if err := lose(filepath.Join(dir, "timerwheel")); err != nil {
			t.Fatal(err)
		}
		f = openOn(t, dir, nil)
		found, err := f.Recover(3000000, units*100)
		if s, ok := f.Wheel.Slot(5000000); err != nil || found.Pending != 1 || !ok || s.Num != 1 {
			t.Errorf("%v, %d wait, slot %+v %v", err, found.Pending, s, ok)
		}
	}
}

// The page with the end of a unit is lost: the unit is none, so its message is entered again.
func TestTornUnit(t *testing.T) {
	for _, kept := range []int64{16, 20, 24, 28, 32, 36} {
		dir := t.TempDir()
		f := openOn(t, dir, nil)
		enterUnits(t, f, 10, func(int) int64 { return 2000000 })
		for i := range int64(5) {
			u := Unit{Magic: MagicDefault, WriteTime: 1000000, Delay: 1000000, PhyOffset: 1000 + i*100, Size: 100}
			if err := f.Enter(&u); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Log.Write(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := os.Truncate(filepath.Join(dir, "timerlog", segment.Name(0)), 12*UnitSize+kept); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, "timerlog", segment.Name(0)), 1<<20); err != nil {
			t.Fatal(err)
		}
		f = openOn(t, dir, nil)
		found, err := f.Recover(1500000, 10000)
		_, entered := found.Entered[1200]
		if err != nil || found.Lost || len(found.Entered) != 2 || entered || found.Pending != 12 || f.Log.End() != 12*UnitSize {
			t.Errorf("%d bytes kept: %v, %+v, end %d", kept, err, found, f.Log.End())
		}
	}
}

// What Recover cuts off is cut off on the disk, names of files are synced when who made them may have been killed.
func TestRecoverSyncs(t *testing.T) {
	dir := t.TempDir()
	f := openOn(t, dir, nil)
	enterUnits(t, f, 10, func(int) int64 { return 2000000 })
	f.Close()
	disk := countingDisk{}
	f = openOn(t, dir, disk)
	if _, err := f.Recover(1500000, 600); err != nil {
		t.Fatal(err)
	}
	if disk[segment.Name(0)] == 0 {
		t.Errorf("the cut was not synced: %v", disk)
	}
	clear(disk)
	enterUnits(t, f, 2, func(int) int64 { return 2000000 })
	for _, name := range []string{segment.Name(0), "timerwheel", "timercheck"} {
		if disk[name] == 0 {
			t.Errorf("%s was not synced: %v", name, disk)
		}
	}
	clear(disk)
	g := openOn(t, t.TempDir(), disk)
	enterUnits(t, g, 2, func(int) int64 { return 2000000 })
	if disk["timerlog/"] == 0 || disk["config/"] == 0 {
		t.Errorf("names were not synced: %v", disk)
	}
}
