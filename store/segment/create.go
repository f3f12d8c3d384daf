// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package segment

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CreateFile makes a file of size zero bytes that appears under its name with that size: a process that is killed
// meanwhile leaves no shorter one, which Java 4.9 would refuse to start with. A file of that name that is there already
// is an error that is fs.ErrExist.
func CreateFile(path string, size int64) (*os.File, error) {
	f, err := createUnnamed(path, size)
	if err == nil || !cannotUnnamed(err) {
		return f, err
	}
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	return f, nil
}

func createUnnamed(path string, size int64) (*os.File, error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, err
	}
	// linking a descriptor itself needs a privilege, its name in /proc does not
	if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return f, nil
}

// cannotUnnamed tells whether it is the file system, or a missing /proc, that does not do it in this way.
func cannotUnnamed(err error) bool {
	switch err.(*fs.PathError).Err {
	case unix.EOPNOTSUPP, unix.EISDIR, unix.ENOENT, unix.EXDEV, unix.EINVAL:
		return true
	}
	return false
}
