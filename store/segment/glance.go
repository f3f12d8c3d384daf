// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// What a start does for each of perhaps 100,000 queues is here: with as few system calls as possible, and without making
// the file system write an access time for each.

// openQuiet opens a path for reading and leaves its access time alone where that is allowed, to owners.
func openQuiet(path string, flags int) (fd int, err error) {
	for flags |= unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOATIME; ; {
		fd, err = unix.Open(path, flags, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.EPERM && flags&unix.O_NOATIME != 0:
			flags &^= unix.O_NOATIME
		case err != nil:
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		default:
			return fd, nil
		}
	}
}

// found is a file in a directory.
type found struct {
	path       string
	base, size int64
}

// list appends what is named like files of a sequence in a directory.
func list(all []found, dir string) ([]found, error) {
	fd, err := openQuiet(dir, unix.O_DIRECTORY)
	if err != nil {
		return all, err
	}
	defer unix.Close(fd)
	var buf [4096]byte
	var few [4]string
	for names := few[:0]; ; {
		n, err := unix.ReadDirent(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return all, &fs.PathError{Op: "readdir", Path: dir, Err: err}
		}
		if n > 0 {
			_, _, names = unix.ParseDirent(buf[:n], -1, names)
			continue
		}
		for _, name := range names {
			base, err := strconv.ParseInt(name, 10, 64)
			if err != nil || base < 0 {
				continue
			}
			var info unix.Stat_t
			if err := unix.Fstatat(fd, name, &info, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return all, &fs.PathError{Op: "stat", Path: filepath.Join(dir, name), Err: err}
			}
			if info.Mode&unix.S_IFMT != unix.S_IFDIR {
				all = append(all, found{filepath.Join(dir, name), base, info.Size})
			}
		}
		return all, nil
	}
}

// Glance is a file that is open for a moment, to be read.
type Glance struct {
	f  *File
	fd int
}

// Glance opens a file that Close has to close: the cache of descriptors does not know of it.
func (f *File) Glance() (Glance, error) {
	fd, err := openQuiet(f.path, 0)
	return Glance{f, fd}, err
}

// Close closes it.
func (g Glance) Close() { _ = unix.Close(g.fd) }

// ReadAt reads at a position in the file; less than asked for is an error.
func (g Glance) ReadAt(p []byte, pos int64) error {
	for len(p) > 0 {
		n, err := unix.Pread(g.fd, p, pos)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return &fs.PathError{Op: "read", Path: g.f.path, Err: err}
		}
		p, pos = p[n:], pos+int64(n)
	}
	return nil
}

// DataEnd is File.DataEnd for the part of the file from a position on, which it is if there is nothing but zeros.
func (g Glance) DataEnd(from int64) int64 { return dataEnd(g.fd, from, g.f.size) }
