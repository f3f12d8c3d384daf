// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// dirDisk notes which directories were synced, and fails if it is told to.
type dirDisk struct {
	OS
	mu   sync.Mutex
	dirs []string
	err  error
}

func (d *dirDisk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.dirs = append(d.dirs, dir)
	}
	return d.err
}

func (d *dirDisk) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	dirs := d.dirs
	d.dirs = nil
	return dirs
}

// A file is on disk when its name is, and those of the directories above it; once.
func TestNamesAreSynced(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "topic", "0")
	disk := new(dirDisk)
	s, err := Load(Options{Dirs: []string{dir}, Size: size, Sync: &Syncer{Disk: disk}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := s.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := disk.take(); got != nil {
		t.Errorf("synced before the file: %v", got)
	}
	disk.err = errors.New("no disk")
	if err := f.Sync(); !errors.Is(err, disk.err) {
		t.Errorf("the name could not be synced: %v", err)
	}
	disk.err = nil
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if want, got := []string{dir, filepath.Dir(dir), root}, disk.take(); !slices.Equal(got, want) {
		t.Errorf("synced %v, expected %v", got, want)
	}
	if _, err := s.Create(size); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil || len(disk.take()) != 1 {
		t.Errorf("after another file: %v", err)
	}
	if err := s.Remove(f); err != nil || !slices.Equal(disk.take(), []string{dir}) {
		t.Errorf("a removal was not synced: %v", err)
	}
}
