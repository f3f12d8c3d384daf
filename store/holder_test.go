// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Whoever finds the directory locked is told by whom, also where the lock is ours, which names no process.
func TestLockedByThisProcess(t *testing.T) {
	dir := t.TempDir()
	f, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = lockDir(dir)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !strings.HasSuffix(err.Error(), "is locked by this process") {
		t.Error(err)
	}
}

func TestLockedAsJavaDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err = lockDir(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "by this process") {
		t.Error(err)
	}
}

func TestLockedErrorText(t *testing.T) {
	for want, e := range map[string]*LockedError{
		"x/lock is locked":                           {Path: "x/lock"},
		"x/lock is locked by process 1":              {Path: "x/lock", PID: 1},
		"x/lock is locked by process 1 (java o.a.B)": {Path: "x/lock", PID: 1, Command: "java o.a.B"},
	} {
		if got := e.Error(); got != "store: Lock failed, MQ already started: "+want {
			t.Error(got)
		}
	}
	if got := commandOf(os.Getpid()); !strings.HasPrefix(got, "store.test") {
		t.Error(got)
	}
}
