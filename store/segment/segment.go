// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package segment keeps a stream of bytes in a sequence of files of one fixed size.
//
//	stream   0 ............ size ............ 2*size ........
//	files    00000000000000000000   00000000000000…size   …
//
// A file is named by the offset of its first byte, 20 decimal digits. It has its full size from creation on (sparse);
// disk space is reserved in steps ahead of where it is written, so that a full disk shows as an error of Reserve and
// never as a fault in a mapping. The sequence knows nothing of what the bytes mean, nor how far they are valid.
//
// Reading and deleting may run at the same time: whoever uses a file holds a reference (Acquire, Release), and the file
// is unmapped and closed when the last reference is gone. Descriptors of a sequence with an FDs cache are opened when
// needed and may be closed at any time in between.
package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// SizeError refuses a directory: a file does not have the configured size.
type SizeError struct {
	Path       string
	Size, Want int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, the configured file size is %d: check the configuration", e.Path, e.Size, e.Want)
}

// Sequence is a stream of bytes in files of one size. Create and Close must not run concurrently with each other (its
// owner writes), nor may two Remove the same file; all else may be used at any time.
type Sequence struct {
	size  int64
	place func(base int64) string
	fds   *FDs
	sync  *Syncer

	mu    sync.Mutex // writers of files
	files atomic.Pointer[[]*File]
}

// Options of a sequence.
type Options struct {
	Dirs  []string                // all directories that hold files; need not exist
	Place func(base int64) string // the directory for a new file; nil: Dirs[0]
	Size  int64                   // bytes of each file
	FDs   *FDs                    // nil: descriptors stay open
	Sync  *Syncer                 // nil: that of FDs, or one of its own
	Log   *slog.Logger
}

// Load opens the sequence as it is on disk. A last file of no bytes is deleted (a crash can leave it), any other file of
// the wrong size is a SizeError; nothing is changed in that case. What does not look like a file of a sequence is left
// alone.
func Load(o Options) (*Sequence, error) {
	s := &Sequence{size: o.Size, place: o.Place, fds: o.FDs, sync: o.Sync}
	if s.sync == nil && o.FDs != nil {
		s.sync = o.FDs.Sync
	}
	if s.sync == nil {
		s.sync = new(Syncer)
	}
	if s.place == nil {
		dir := o.Dirs[0]
		s.place = func(int64) string { return dir }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	var all []found
	for _, dir := range o.Dirs {
		var err error
		if all, err = list(all, dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b found) int { return int(min(max(a.base-b.base, -1), 1)) })
	empty := ""
	if n := len(all); n > 0 && all[n-1].size == 0 {
		empty, all = all[n-1].path, all[:n-1]
	}
	files := make([]*File, 0, len(all))
	for i, f := range all {
		if f.size != s.size {
			return nil, &SizeError{Path: f.path, Size: f.size, Want: s.size}
		}
		if i > 0 && f.base != all[i-1].base+s.size {
			o.Log.Error("store: files are not adjacent", "file", f.path, "before", all[i-1].path)
		}
		files = append(files, s.newFile(f.path, f.base))
	}
	if empty != "" {
		o.Log.Warn("store: deleted an empty last file", "file", empty)
		if err := os.Remove(empty); err != nil {
			return nil, err
		}
	}
	s.files.Store(&files)
	return s, nil
}

func (s *Sequence) newFile(path string, base int64) *File {
	f := &File{path: path, base: base, size: s.size, fds: s.fds, sync: s.sync}
	f.refs.Store(1)
	return f
}

// FileSize is the size of each file in bytes.
func (s *Sequence) FileSize() int64 { return s.size }

// Files is the sequence at this moment, oldest first. The slice must not be changed; its files are not referenced.
func (s *Sequence) Files() []*File { return *s.files.Load() }

// First is the offset of the oldest file, -1 if there is none.
func (s *Sequence) First() int64 {
	if files := s.Files(); len(files) > 0 {
		return files[0].base
	}
	return -1
}

// Acquire returns the file that holds offset off, with a reference that the caller has to Release; nil if there is none.
func (s *Sequence) Acquire(off int64) *File {
	files := s.Files()
	if len(files) == 0 || off < files[0].base {
		return nil
	}
	i := int((off - files[0].base) / s.size)
	// usually that is it; a gap moves files down
	for i = min(i, len(files)-1); i >= 0; i-- {
		if f := files[i]; f.base <= off {
			if off < f.base+s.size && f.Acquire() {
				return f
			}
			return nil
		}
	}
	return nil
}

// Create adds the file that begins at base, which must lie behind all others.
func (s *Sequence) Create(base int64) (*File, error) {
	f, err := s.Prepare(base)
	if err != nil {
		return nil, err
	}
	s.Add(f)
	return f, nil
}

// Prepare creates a file that Add makes part of the sequence later. Until then its only user is the caller, who removes
// an unwanted one with Discard. A file of that name that is there already is an error.
func (s *Sequence) Prepare(base int64) (*File, error) {
	dir := s.place(base)
	if err := s.sync.MkdirAll(dir); err != nil {
		return nil, err
	}
	f := s.newFile(filepath.Join(dir, Name(base)), base)
	fd, err := CreateFile(f.path, s.size)
	if err != nil {
		return nil, err
	}
	s.sync.Changed(dir)
	f.install(fd)
	return f, nil
}

// Add makes a prepared file the last one of the sequence.
func (s *Sequence) Add(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := append(slices.Clone(s.Files()), f)
	s.files.Store(&files)
}

// Discard deletes a prepared file.
func (f *File) Discard() error {
	err := os.Remove(f.path)
	f.Release()
	return err
}

// Remove deletes a file and takes it out of the sequence; one that cannot be deleted stays in it. Readers that hold the
// file may go on; later ones do not find it. What is no file of the sequence (any more) is left alone.
func (s *Sequence) Remove(f *File) error {
	if !slices.Contains(s.Files(), f) {
		return nil
	}
	// without the lock: a file system may take long over a large file, and appends must not wait for it
	if err := os.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.mu.Lock()
	files := slices.Clone(s.Files())
	i := slices.Index(files, f)
	if i >= 0 {
		files = slices.Delete(files, i, i+1)
		s.files.Store(&files)
	}
	s.mu.Unlock()
	if i >= 0 {
		f.Release()
	}
	// files are removed in order, and no power failure may bring an earlier one back alone
	return s.sync.Removed(f.path)
}

// Close releases all files; they stay on disk.
func (s *Sequence) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.Files() {
		f.Release()
	}
	s.files.Store(&[]*File{})
}

// Name is the name of the file that begins at base.
func Name(base int64) string { return fmt.Sprintf("%020d", base) }
