// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Memory that is a file can be gone when it is touched: the device fails, or somebody made the file shorter. That ends a
// process which has not asked for a panic instead. So all that touches the log or the index through a mapping runs in
// guarded, in guardedGet, or between SetPanicOnFault and catchFault; recovery reads with system calls.

var errFault = errors.New("store: a mapped file cannot be read")

// guarded runs op and tells whether it came to its end.
func (s *Store) guarded(op func()) (ok bool) {
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			ok = false
			s.log.Error("store: panic while reading", "panic", r, "stack", string(debug.Stack()))
			s.cleaner.disk.checkFiles()
		}
	}(debug.SetPanicOnFault(true))
	op()
	return true
}

// readable tells whether memory can be read.
func (s *Store) readable(b []byte) bool { return s.guarded(func() { touch(b) }) }

// touch reads a byte of each page of b. The sum keeps the compiler from leaving that out.
//
//go:noinline
func touch(b []byte) (sum byte) {
	for i := 0; i < len(b); i += 4096 {
		sum ^= b[i]
	}
	if len(b) > 0 {
		sum ^= b[len(b)-1]
	}
	return sum
}

// explained tells what to do about a directory that cannot be used.
func explained(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: user id %d must be allowed to read and write %s and all that is in it", err, os.Geteuid(), dir)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("%w: the file system of %s must be mounted for writing", err, dir)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: make room in the file system of %s", err, dir)
	}
	return err
}
