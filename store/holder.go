// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedError tells that somebody else has the store directory open.
type LockedError struct {
	Path string // of the lock file
	PID  int    // of the holder; 0: not known
	// Command is what the holder runs, as far as it helps to recognise it.
	Command string
}

func (e *LockedError) Error() string {
	text := fmt.Sprintf("store: Lock failed, MQ already started: %s is locked", e.Path)
	switch {
	case e.PID == os.Getpid():
		return text + " by this process"
	case e.PID != 0 && e.Command != "":
		return fmt.Sprintf("%s by process %d (%s)", text, e.PID, e.Command)
	case e.PID != 0:
		return fmt.Sprintf("%s by process %d", text, e.PID)
	}
	return text
}

func lockedError(f *os.File) *LockedError {
	e := &LockedError{Path: f.Name(), PID: LockHolder(f)}
	if e.PID != 0 {
		e.Command = commandOf(e.PID)
	}
	return e
}

// LockHolder is the process that holds the lock of a lock file that f has open, 0 if that cannot be found out. Of Java's
// lock the system knows the process; of ours, which belongs to an open file, only who has that file open, and that only
// for processes of the same user.
func LockHolder(f *os.File) (pid int) {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if unix.FcntlFlock(fd, unix.F_OFD_GETLK, &lock) == nil && lock.Type != unix.F_UNLCK && lock.Pid > 0 {
				pid = int(lock.Pid)
			}
		})
	}
	if pid == 0 {
		pid = whoHasOpen(f)
	}
	return pid
}

// whoHasOpen finds a process that has the file of f open, another one first; 0 if none can be seen.
func whoHasOpen(f *os.File) (pid int) {
	mine, err := f.Stat()
	if err != nil {
		return 0
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || filepath.Base(target) != filepath.Base(f.Name()) {
			continue
		}
		his, err := os.Stat(link)
		if err != nil || !os.SameFile(mine, his) {
			continue
		}
		who, _ := strconv.Atoi(strings.Split(link, "/")[2])
		if who != os.Getpid() {
			return who
		}
		if link != fmt.Sprintf("/proc/%d/fd/%d", who, f.Fd()) {
			pid = who
		}
	}
	return pid
}

// commandOf is the program of a process, and for one of ours its sub-command, for one of Java its class.
func commandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if err != nil || args[0] == "" {
		return ""
	}
	program := filepath.Base(args[0])
	for _, a := range args[1:] {
		if strings.HasPrefix(a, "org.apache.rocketmq.") || program != "java" && !strings.HasPrefix(a, "-") {
			return program + " " + a
		}
	}
	return program
}
