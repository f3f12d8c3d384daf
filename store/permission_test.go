// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/store"
)

const (
	remountEnv    = "ROCKETMQ_STORE_REMOUNT"
	permissionEnv = "ROCKETMQ_STORE_PERMISSION"

	nobody = 65534 // user id of the child if the test runs as root, whom permissions do not stop
)

// Directories and files lose their permissions, while the store runs and before it starts: messages are refused, or the
// start says what to do, and all goes on when the permissions are back. The test runs in a child with another user id.
func TestPermissionLost(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), permissionEnv+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// A file system that turns read-only. The kernel does not let anybody do that below open files: what an ext4 with an
// error does is played in TestDeviceErrors. Here it is so at the start.
func TestRemountedReadOnly(t *testing.T) { inNamespace(t, remountEnv) }

// sender stores messages one after the other, and keeps what was acknowledged.
type sender struct {
	s    *store.Store
	next uint64
	acks []ack
}

func (x *sender) send() store.PutStatus {
	done := make(chan store.PutResult, 1)
	x.s.Put(seeded(x.next), func(r store.PutResult) { done <- r })
	r := <-done
	x.next++
	if r.Status == store.PutOK {
		x.acks = append(x.acks, ack{x.next - 1, r.PhyOffset, r.QueueOffset})
	}
	return r.Status
}

// until sends until the answer is one of those; no other than them and PutOK may come before.
func (x *sender) until(statuses ...store.PutStatus) error {
	for start := time.Now(); ; {
		got := x.send()
		for _, s := range statuses {
			if got == s {
				return nil
			}
		}
		if got != store.PutOK && got != store.ServiceNotAvailable && got != store.CreateMappedFileFailed {
			return fmt.Errorf("status %d", got)
		}
		if got != store.PutOK {
			time.Sleep(time.Millisecond)
		}
		if time.Since(start) > time.Minute {
			return fmt.Errorf("the status stays %d, never %v", got, statuses)
		}
	}
}

// verify waits until all that was acknowledged is visible, and looks at it.
func (x *sender) verify() error {
	for start := time.Now(); x.s.DispatchBehind() > 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			return errors.New("messages do not become visible")
		}
	}
	return verify(x.s, x.acks)
}

// runPermission is the child.
func runPermission(dir string) error {
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody)); err != nil {
			return err
		}
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	fmt.Println("user id", os.Getuid())
	cfg := killConfig(filepath.Join(dir, "store"), 0)
	cfg.ConsumeQueueFileSize, cfg.IndexUnits = 2000, 300
	var err error
	x := new(sender)
	if x.s, err = store.Open(cfg); err != nil {
		return err
	}
	for range 50 {
		if st := x.send(); st != store.PutOK {
			return fmt.Errorf("status %d", st)
		}
	}
	// the next file of the log, then that of a new queue, cannot be made
	for _, part := range []string{"commitlog", "consumequeue/Kill0/0", "consumequeue/Kill1/1", "index"} {
		if err := x.withoutPermission(filepath.Join(cfg.Dir, part), part != "index"); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	if err := x.s.Close(); err != nil {
		return err
	}
	for _, part := range []string{".", "lock", "commitlog", "checkpoint", "consumequeue", "consumequeue/Kill0/0", "index"} {
		if err := startWithoutPermission(cfg, filepath.Join(cfg.Dir, part)); err != nil {
			return fmt.Errorf("start, %s: %w", part, err)
		}
	}
	if x.s, err = store.Open(cfg); err != nil {
		return err
	}
	if err := x.verify(); err != nil {
		return err
	}
	if st := x.send(); st != store.PutOK {
		return fmt.Errorf("status %d at the end", st)
	}
	fmt.Println(len(x.acks), "of", x.next, "messages acknowledged")
	return x.s.Close()
}

// withoutPermission takes the permission of a directory away, sends until messages are refused, and gives it back.
func (x *sender) withoutPermission(path string, refuses bool) error {
	if err := os.Chmod(path, 0); err != nil {
		return err
	}
	if refuses {
		if err := x.until(store.ServiceNotAvailable, store.CreateMappedFileFailed); err != nil {
			return err
		}
	} else {
		for range 400 {
			x.send()
		}
	}
	first := seeded(x.acks[0].seed)
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // the dispatcher may be behind
		_, res := x.s.Get(nil, store.GetRequest{Topic: first.Topic, QueueID: first.QueueID, MaxCount: 1})
		if res.Status == store.Found {
			break
		}
		if time.Since(start) > time.Minute {
			return fmt.Errorf("nothing can be read: %+v", res)
		}
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return err
	}
	if err := x.until(store.PutOK); err != nil {
		return err
	}
	return x.verify()
}

// startWithoutPermission wants a start to say which file it is and who needs it, and to change nothing.
func startWithoutPermission(cfg store.Config, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0); err != nil {
		return err
	}
	s, openErr := store.Open(cfg)
	if err := os.Chmod(path, info.Mode().Perm()); err != nil {
		return err
	}
	if openErr == nil {
		s.Close()
		return errors.New("it started")
	}
	who := fmt.Sprintf("user id %d", os.Geteuid())
	if !errors.Is(openErr, fs.ErrPermission) || !strings.Contains(openErr.Error(), filepath.Clean(path)) || !strings.Contains(openErr.Error(), who) {
		return fmt.Errorf("the start says: %w", openErr)
	}
	return nil
}

// runRemount is the child that has a file system of its own.
func runRemount(dir string) error {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=32m"); err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	remount := func(flags uintptr) error { return unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT|flags, "size=32m") }
	cfg := killConfig(filepath.Join(dir, "store"), 2)
	x := new(sender)
	var err error
	for range 3 {
		if x.s, err = store.Open(cfg); err != nil {
			return err
		}
		for range 200 {
			if st := x.send(); st != store.PutOK {
				return fmt.Errorf("status %d", st)
			}
		}
		if err := remount(unix.MS_RDONLY); !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("read-only below open files: %v: this kernel does it, and it should be tested here", err)
		}
		if st := x.send(); st != store.PutOK {
			return fmt.Errorf("status %d", st)
		}
		if err := x.verify(); err != nil {
			return err
		}
		if err := x.s.Close(); err != nil {
			return err
		}
		if err := remount(unix.MS_RDONLY); err != nil {
			return err
		}
		s, err := store.Open(cfg)
		if err == nil {
			s.Close()
			return errors.New("started on a read-only file system")
		}
		if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), cfg.Dir) || !strings.Contains(err.Error(), "mounted for writing") {
			return fmt.Errorf("the start says: %w", err)
		}
		if err := remount(0); err != nil {
			return err
		}
	}
	if x.s, err = store.Open(cfg); err != nil {
		return err
	}
	if err := x.verify(); err != nil {
		return err
	}
	fmt.Println(len(x.acks), "messages acknowledged, all there")
	return x.s.Close()
}
