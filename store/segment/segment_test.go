// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

const size = 64 << 10

func load(t *testing.T, dir string, fds *FDs) *Sequence {
	t.Helper()
	s, err := Load(Options{Dirs: []string{dir}, Size: size, FDs: fds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestSequence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	s := load(t, dir, nil)
	if s.First() != -1 || s.Acquire(0) != nil {
		t.Fatal("empty sequence has files")
	}
	for base := int64(5 * size); base < 9*size; base += size {
		f, err := s.Create(base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{byte(base / size)}, size-1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(8 * size); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file was created anew: %v", err)
	}
	check := func(s *Sequence) {
		t.Helper()
		for off, want := range map[int64]int64{
			0: -1, 5*size - 1: -1, 5 * size: 5, 6*size - 1: 5, 6 * size: 6, 9*size - 1: 8, 9 * size: -1, 1 << 60: -1,
		} {
			f := s.Acquire(off)
			if (f == nil) != (want < 0) || f != nil && f.Base() != want*size {
				t.Errorf("offset %d: %v, expected file %d", off, f, want)
			}
			if f == nil {
				continue
			}
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, size-1); err != nil || b[0] != byte(want) {
				t.Errorf("offset %d: %v %v", off, b, err)
			}
			if m, err := f.Map(); err != nil || m[size-1] != byte(want) {
				t.Errorf("offset %d mapped: %v", off, err)
			}
			f.Release()
		}
	}
	check(s)
	check(load(t, dir, nil))
	check(load(t, dir, NewFDs(1)))
}

func TestLoadRules(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(Name(0), size)
	write(Name(size), size)
	write(Name(2*size), 0)
	write("notes.txt", 5)
	if err := os.Mkdir(filepath.Join(dir, "123"), 0o755); err != nil {
		t.Fatal(err)
	}
	if n := len(load(t, dir, nil).Files()); n != 2 {
		t.Errorf("%d files", n)
	}
	if _, err := os.Stat(filepath.Join(dir, Name(2*size))); err == nil {
		t.Error("the empty file is still there")
	}
	write(Name(2*size), 0)
	write(Name(size), size-1)
	_, err := Load(Options{Dirs: []string{dir}, Size: size})
	var se *SizeError
	if !errors.As(err, &se) || se.Path != filepath.Join(dir, Name(size)) {
		t.Errorf("wrong size: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, Name(2*size))); err != nil {
		t.Error("a refused directory was changed")
	}
}

func TestRemoveWhileRead(t *testing.T) {
	s := load(t, t.TempDir(), nil)
	f, err := s.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	held := s.Acquire(0)
	data, err := held.Map()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(f); err != nil {
		t.Fatal(err)
	}
	if s.Acquire(0) != nil {
		t.Error("a removed file is found")
	}
	data[0] = 1 // would fault if it had been unmapped
	held.Release()
	if held.Acquire() || held.Mapped() != nil {
		t.Error("file lives on after its last user")
	}
}

func TestReserveAndZero(t *testing.T) {
	s := load(t, t.TempDir(), nil)
	f, err := s.Create(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.DataEnd(); got != 0 {
		t.Errorf("data of a fresh file ends at %d", got)
	}
	if err := f.Reserve(0, size/2); err != nil {
		t.Fatal(err)
	}
	data, err := f.Map()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Populate(100, size/2); err != nil {
		t.Fatal(err)
	}
	copy(data[1000:], bytes.Repeat([]byte{7}, 20000))
	if err := f.SyncRange(1000, 21000); err != nil {
		t.Fatal(err)
	}
	if got := f.DataEnd(); got < 21000 || got > size {
		t.Errorf("data ends at %d", got)
	}
	if err := f.Zero(5000, 30000); err != nil {
		t.Fatal(err)
	}
	for i, b := range data[:size] {
		if want := i >= 1000 && i < 5000; (b == 7) != want {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
}

// Many files share few descriptors, which are closed under their users.
func TestDescriptorCache(t *testing.T) {
	fds := NewFDs(3)
	var files []*File
	for range 12 {
		f, err := load(t, t.TempDir(), fds).Create(0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			b := make([]byte, 8)
			for i := range 500 {
				f := files[(i*7+w)%len(files)]
				at := int64(w * 8)
				if _, err := f.WriteAt([]byte("abcdefgh"), at); err != nil {
					t.Error(err)
					return
				}
				if _, err := f.ReadAt(b, at); err != nil || string(b) != "abcdefgh" {
					t.Errorf("%q %v", b, err)
					return
				}
				if i%50 == 0 {
					if err := f.Sync(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	open := 0
	for _, f := range files {
		if f.fd.Load() != nil {
			open++
		}
	}
	if open > 3 {
		t.Errorf("%d descriptors are open", open)
	}
}

// What cannot be deleted stays, and is deleted when that works again; a second Remove does no harm to readers.
func TestRemoveAgain(t *testing.T) {
	dir := t.TempDir()
	s := load(t, dir, nil)
	for base := int64(0); base < 3*size; base += size {
		if _, err := s.Create(base); err != nil {
			t.Fatal(err)
		}
	}
	f := s.Acquire(0)
	data, err := f.Map()
	if err != nil {
		t.Fatal(err)
	}
	blocker := filepath.Join(f.Path(), "x")
	if err := errors.Join(os.Remove(f.Path()), os.MkdirAll(blocker, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(f); err == nil || s.First() != 0 {
		t.Fatalf("%v, sequence from %d", err, s.First())
	}
	if err := os.RemoveAll(f.Path()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Remove(f); err != nil || s.First() != size {
			t.Fatalf("%v, sequence from %d", err, s.First())
		}
	}
	data[7] = 7 // still mapped
	f.Release()
	if f.Acquire() {
		t.Error("a file that is gone was acquired")
	}
}

// Where no unnamed files can be made, or the name is taken, CreateFile does or says so.
func TestCreateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name(0))
	f, err := CreateFile(path, 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := os.Stat(path); err != nil || info.Size() != 4096 || info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := f.WriteAt([]byte("x"), 4095); err != nil {
		t.Error(err)
	}
	if _, err := CreateFile(path, 4096); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := CreateFile("/proc/"+Name(0), 4096); err == nil {
		t.Error("a file in /proc")
	}
}

// Descriptors may be closed by the cache at any moment, also between finding one and using it.
func TestDescriptorsAreClosedWhileInUse(t *testing.T) {
	fds := NewFDs(1)
	s := load(t, t.TempDir(), fds)
	var files []*File
	for i := range int64(4) {
		f, err := s.Create(i * size)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for j := range 3000 {
				f := files[(i+j)%len(files)]
				var b [1]byte
				if _, err := f.ReadAt(b[:], 0); err != nil {
					t.Error(err)
					return
				}
				if err := f.control(func(int) error { return nil }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	users.Wait()
}
