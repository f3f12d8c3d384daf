// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Disk makes durable what was written: nothing that was not synced is sure to survive a power failure. Tests put one of
// their own in the place of the operating system, that fails, or forgets.
type Disk interface {
	// Sync makes the bytes [from, to) of a file durable, and its size. mapped is the file's mapping, nil if there is none:
	// then all bytes are.
	Sync(fd int, path string, mapped []byte, from, to int64) error
	// SyncDir makes the names in a directory durable: those that are there, and that others are not.
	SyncDir(dir string) error
}

// OS is the Disk of the operating system.
type OS struct{}

// Sync implements Disk.
func (OS) Sync(fd int, path string, mapped []byte, from, to int64) error {
	op, err := "fdatasync", error(nil)
	if mapped != nil {
		op, err = "msync", unix.Msync(mapped[from:to], unix.MS_SYNC)
	} else {
		err = unix.Fdatasync(fd)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// SyncDir implements Disk.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Syncer makes the files of a store durable with their names: it remembers which directories have names that are not on
// disk yet. The zero value uses the operating system. All sequences of a store share one.
type Syncer struct {
	Disk Disk // nil: OS

	mu    sync.Mutex
	fresh map[string]*freshDir
}

// freshDir is a directory with names that are not on disk.
type freshDir struct {
	mu    sync.Mutex // held while it is written to disk
	done  bool
	began bool // names that are made from now on need another one: guarded by the Syncer's lock
}

func (s *Syncer) disk() Disk {
	if s.Disk == nil {
		return OS{}
	}
	return s.Disk
}

// File is Disk.Sync, followed by Names of the file's directory.
func (s *Syncer) File(fd int, path string, mapped []byte, from, to int64) error {
	if err := s.disk().Sync(fd, path, mapped, from, to); err != nil {
		return err
	}
	return s.Names(filepath.Dir(path))
}

// MkdirAll makes a directory and those above it, as os.MkdirAll does.
func (s *Syncer) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := s.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	s.Changed(parent)
	return nil
}

// Changed notes that a name was made or removed in a directory.
func (s *Syncer) Changed(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.fresh[dir]; d != nil && !d.began {
		return
	}
	if s.fresh == nil {
		s.fresh = make(map[string]*freshDir)
	}
	s.fresh[dir] = new(freshDir)
}

// Removed makes it durable that a path is gone: nothing that is done later may be on disk without it. Others, who need the
// names in that directory, do not wait for it.
func (s *Syncer) Removed(path string) error {
	if err := s.disk().SyncDir(filepath.Dir(path)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Names makes the names in a directory durable, its own name, and so on.
func (s *Syncer) Names(dir string) error {
	for {
		s.mu.Lock()
		d := s.fresh[dir]
		s.mu.Unlock()
		if d != nil {
			if err := s.names(dir, d); err != nil {
				return err
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

func (s *Syncer) names(dir string, d *freshDir) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return nil
	}
	s.mu.Lock()
	d.began = true
	s.mu.Unlock()
	if err := s.disk().SyncDir(dir); err != nil && !os.IsNotExist(err) {
		return err
	}
	d.done = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh[dir] == d {
		delete(s.fresh, dir)
	}
	return nil
}
