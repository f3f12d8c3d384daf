// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// File is one file of a sequence.
type File struct {
	path string
	base int64
	size int64
	fds  *FDs
	sync *Syncer

	refs atomic.Int32 // the sequence holds one
	fd   atomic.Pointer[os.File]
	used atomic.Bool // since the last look of the descriptor cache
	mu   sync.Mutex  // opening and mapping
	data atomic.Pointer[[]byte]
}

// Base is the offset of the first byte in the stream, End that behind the last one.
func (f *File) Base() int64 { return f.base }

// End is the offset in the stream behind the last byte.
func (f *File) End() int64 { return f.base + f.size }

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Acquire takes a reference; false if the file is gone already.
func (f *File) Acquire() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back. The last one unmaps and closes the file.
func (f *File) Release() {
	if f.refs.Add(-1) != 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.data.Swap(nil); d != nil {
		_ = unix.Munmap(*d)
	}
	if fd := f.fd.Swap(nil); fd != nil {
		fd.Close()
		f.fds.forget(f)
	}
}

// open returns the descriptor, opening it if needed.
func (f *File) open() (*os.File, error) {
	if fd := f.fd.Load(); fd != nil {
		if f.fds != nil && !f.used.Load() {
			f.used.Store(true)
		}
		return fd, nil
	}
	f.mu.Lock()
	if fd := f.fd.Load(); fd != nil {
		f.mu.Unlock()
		return fd, nil
	}
	fd, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if errors.Is(err, unix.EROFS) { // a directory that takes no new files may be mounted so
		fd, err = os.Open(f.path)
	}
	if err == nil {
		f.fd.Store(fd)
	}
	f.mu.Unlock()
	if err == nil {
		f.fds.remember(f)
	}
	return fd, err
}

func (f *File) install(fd *os.File) {
	f.fd.Store(fd)
	f.fds.remember(f)
}

// control runs op with the descriptor, which the cache cannot close meanwhile.
func (f *File) control(op func(fd int) error) error {
	for {
		file, err := f.open()
		if err != nil {
			return err
		}
		raw, err := file.SyscallConn()
		if err != nil {
			return err
		}
		var opErr error
		ran := false
		err = raw.Control(func(fd uintptr) { ran, opErr = true, op(int(fd)) })
		if ran {
			return opErr
		}
		if f.fd.Load() == file { // not the cache has closed it, which is not told as fs.ErrClosed here
			return err
		}
	}
}

// ReadAt reads at a position in the file. Like WriteAt it does not go through the mapping: it never faults.
func (f *File) ReadAt(p []byte, pos int64) (int, error) {
	for {
		fd, err := f.open()
		if err != nil {
			return 0, err
		}
		n, err := fd.ReadAt(p, pos)
		if err == nil || !errors.Is(err, fs.ErrClosed) {
			return n, err
		}
	}
}

// WriteAt writes at a position in the file.
func (f *File) WriteAt(p []byte, pos int64) (int, error) {
	for {
		fd, err := f.open()
		if err != nil {
			return 0, err
		}
		n, err := fd.WriteAt(p, pos)
		if err == nil || !errors.Is(err, fs.ErrClosed) {
			return n, err
		}
	}
}

// Map returns the file as memory, mapping it at the first call. It is valid while the caller holds a reference.
// Writing where nothing was reserved can kill the process when the disk is full.
func (f *File) Map() ([]byte, error) {
	if d := f.data.Load(); d != nil {
		return *d, nil
	}
	var data []byte
	err := f.control(func(fd int) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if d := f.data.Load(); d != nil {
			data = *d
			return nil
		}
		var err error
		data, err = unix.Mmap(fd, 0, int(f.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return &fs.PathError{Op: "mmap", Path: f.path, Err: err}
		}
		f.data.Store(&data)
		return nil
	})
	return data, err
}

// Mapped is the file as memory if Map was called before, else nil.
func (f *File) Mapped() []byte {
	if d := f.data.Load(); d != nil {
		return *d
	}
	return nil
}

// Reserve makes sure that the file system has space for the bytes [from, to) of the file.
func (f *File) Reserve(from, to int64) error {
	return f.control(func(fd int) error {
		err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, to-from)
		if err == unix.EOPNOTSUPP {
			return writeZeros(fd, from, to)
		}
		if err != nil {
			return &fs.PathError{Op: "fallocate", Path: f.path, Err: err}
		}
		return nil
	})
}

// Zero makes the bytes [from, to) read as zeros and gives whole pages of them back to the file system.
func (f *File) Zero(from, to int64) error {
	const page = 4096
	return f.control(func(fd int) error {
		whole := min((from+page-1)&^(page-1), to)
		if err := writeZeros(fd, from, whole); err != nil || whole == to {
			return err
		}
		err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, whole, to-whole)
		if err == unix.EOPNOTSUPP {
			return writeZeros(fd, whole, to)
		}
		if err != nil {
			return &fs.PathError{Op: "fallocate", Path: f.path, Err: err}
		}
		return nil
	})
}

func writeZeros(fd int, from, to int64) error {
	var zeros [64 << 10]byte
	for from < to {
		n, err := unix.Pwrite(fd, zeros[:min(int64(len(zeros)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// Populate faults in the pages of [from, to) of the mapping for writing, in a system call: the Go scheduler knows that
// the caller is away, which it does not during a fault. Kernels before 5.14 cannot; then the faults come one by one.
func (f *File) Populate(from, to int64) error {
	const page = 4096
	data := f.Mapped()
	from &^= page - 1
	if data == nil || from >= to {
		return nil
	}
	err := unix.Madvise(data[from:to], unix.MADV_POPULATE_WRITE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return nil
	}
	return err
}

// SyncRange writes [from, to) of the mapping to disk and waits; Sync does so for the whole file. Both make the file's
// name durable too.
func (f *File) SyncRange(from, to int64) error {
	const page = 4096
	data := f.Mapped()
	if data == nil {
		return f.Sync()
	}
	from &^= page - 1
	if from >= to {
		return nil
	}
	return f.control(func(fd int) error { return f.sync.File(fd, f.path, data, from, to) })
}

// Sync writes all changed bytes of the file to disk and waits.
func (f *File) Sync() error {
	return f.control(func(fd int) error { return f.sync.File(fd, f.path, nil, 0, f.size) })
}

// Rewrite writes the bytes [from, to) once more, as the system has them. After a failed sync it takes them for written:
// without this the next sync would tell that all is well. Nobody may be changing them.
func (f *File) Rewrite(from, to int64) error {
	buf := make([]byte, 64<<10)
	for from < to {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

// DataEnd is the position behind the last part of the file that may hold anything but zeros, a bound for scans.
func (f *File) DataEnd() int64 {
	end := f.size
	_ = f.control(func(fd int) error {
		end = dataEnd(fd, 0, f.size)
		return nil
	})
	return end
}

// dataEnd finds the last hole from a position on by walking extents: sequences are written from the front, so there are
// few.
func dataEnd(fd int, from, size int64) int64 {
	for from < size {
		data, err := unix.Seek(fd, from, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return from
		}
		if err != nil {
			return size
		}
		if from, err = unix.Seek(fd, data, unix.SEEK_HOLE); err != nil {
			return size
		}
	}
	return size
}

// Damaged tells that the file is in no directory any more, or does not have its size. It makes sense for files whose
// descriptor stays open.
func (f *File) Damaged() bool {
	var info unix.Stat_t
	err := f.control(func(fd int) error { return unix.Fstat(fd, &info) })
	return err == nil && (info.Nlink == 0 || info.Size != f.size)
}

// ModTime is when the file was last written to, as the file system tells.
func (f *File) ModTime() (time.Time, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// FDs bounds the number of descriptors that files keep open while nobody uses them. A nil cache closes none.
type FDs struct {
	Sync *Syncer // of sequences that are not given one
	max  int

	mu   sync.Mutex
	open []*File // in a circle
	hand int
}

// NewFDs makes a cache that keeps at most n descriptors.
func NewFDs(n int) *FDs { return &FDs{max: max(n, 1)} }

func (c *FDs) remember(f *File) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.used.Store(true)
	for len(c.open) >= c.max {
		c.hand %= len(c.open)
		victim := c.open[c.hand]
		if victim.used.Swap(false) {
			c.hand++
			continue
		}
		c.open[c.hand] = c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		if fd := victim.fd.Swap(nil); fd != nil {
			fd.Close()
		}
	}
	c.open = append(c.open, f)
}

func (c *FDs) forget(f *File) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, x := range c.open {
		if x == f {
			c.open[i] = c.open[len(c.open)-1]
			c.open = c.open[:len(c.open)-1]
			return
		}
	}
}
