// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
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
	fullEnv     = "ROCKETMQ_STORE_FULL"
	readOnlyEnv = "ROCKETMQ_STORE_READ_ONLY"
	cleaningEnv = "ROCKETMQ_STORE_CLEANING"
)

// A full file system must be an error for senders, not the end of the process; when there is space again, sending goes
// on, and nothing that was acknowledged is lost. The test runs in a child with a file system of its own.
func TestDiskFull(t *testing.T) {
	inNamespace(t, fullEnv)
}

// A directory of the log that takes no new files may lie on a disk that cannot be written to.
func TestReadOnlyDisk(t *testing.T) { inNamespace(t, readOnlyEnv) }

// With Java's ratios a small disk takes any number of messages: old files make room.
func TestCleaningMakesRoom(t *testing.T) { inNamespace(t, cleaningEnv) }

// inNamespace runs this test binary as a child that may mount.
func inNamespace(t *testing.T, env string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), env+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Logf("this machine gives no file system of one's own to a test: %v", err)
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// runDiskFull is the child.
func runDiskFull(dir string) error {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 3<<20), 0o644); err != nil {
		return err
	}
	cfg := killConfig(filepath.Join(dir, "store"), 0)
	var said bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	s, err := store.Open(cfg)
	if err != nil {
		return err
	}
	var acks []ack
	next := uint64(0)
	try := func() store.PutStatus {
		done := make(chan store.PutResult, 1)
		s.Put(seeded(next), func(r store.PutResult) { done <- r })
		r := <-done
		if r.Status == store.PutOK {
			acks = append(acks, ack{next, r.PhyOffset, r.QueueOffset})
			next++
		}
		return r.Status
	}
	refused := 0
	for range 20000 {
		if st := try(); st != store.PutOK {
			refused++
			if st != store.ServiceNotAvailable && st != store.CreateMappedFileFailed {
				return fmt.Errorf("status %d", st)
			}
		}
	}
	if refused == 0 || len(acks) == 0 {
		return fmt.Errorf("%d refused, %d acknowledged", refused, len(acks))
	}
	if s.Writable() {
		return errors.New("it seems to take messages")
	}
	full := len(acks)
	if _, ok := s.Record(nil, acks[0].phy, 0); !ok {
		return fmt.Errorf("old messages cannot be read")
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	for start := time.Now(); try() != store.PutOK; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			return fmt.Errorf("nothing can be stored after there is space again")
		}
	}
	if !s.Writable() {
		return errors.New("it seems to refuse messages")
	}
	for range 300 {
		if st := try(); st != store.PutOK {
			return fmt.Errorf("status %d although there is space", st)
		}
	}
	fmt.Printf("%d messages until the file system was full, %d refused, %d afterwards\n", full, refused, len(acks)-full)
	if err := s.Close(); err != nil {
		return err
	}
	if n := strings.Count(said.String(), "messages are refused"); n == 0 || n > 5 { // by the log, or by what is made of it
		return fmt.Errorf("%d messages were refused, and this is said:\n%s", refused, said.String())
	}
	if err := startOnFullDisk(dir, cfg); err != nil {
		return err
	}
	if s, err = store.Open(cfg); err != nil {
		return err
	}
	if err := verify(s, acks); err != nil {
		return err
	}
	return s.Close()
}

// startOnFullDisk opens a store whose queues have to be made again while there is no space: that fails at once, and the
// error says why.
func startOnFullDisk(dir string, cfg store.Config) error {
	for _, name := range []string{"consumequeue", "index"} {
		if err := os.RemoveAll(filepath.Join(cfg.Dir, name)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(cfg.Dir, "abort"), nil, 0o644); err != nil {
		return err
	}
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	opened := make(chan error, 1)
	go func() {
		s, err := store.Open(cfg)
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("a start on a full disk: %v", err)
		}
	case <-time.After(time.Minute):
		return errors.New("a start on a full disk does not end")
	}
	return os.Remove(filler)
}

// verify is checkAcks without a test.
func verify(s *store.Store, acks []ack) error {
	for _, a := range acks {
		if a.phy < s.MinPhyOffset() {
			continue // deleted
		}
		want := seeded(a.seed)
		u, ok := s.Unit(want.Topic, want.QueueID, a.offset)
		if !ok || u.PhyOffset != a.phy {
			return fmt.Errorf("message %d: unit %+v", a.seed, u)
		}
		if _, ok := s.Record(nil, a.phy, u.Size); !ok {
			return fmt.Errorf("message %d cannot be read", a.seed)
		}
	}
	return nil
}

// runReadOnlyDisk is the other child.
func runReadOnlyDisk(dir string) error {
	old := filepath.Join(dir, "old")
	if err := os.Mkdir(old, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("none", old, "tmpfs", 0, "size=32m"); err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	cfg := killConfig(filepath.Join(dir, "store"), 0)
	cfg.CommitLogDirs = []string{old}
	var acks []ack
	fill := func(n uint64) error {
		s, err := store.Open(cfg)
		if err != nil {
			return err
		}
		for end := uint64(len(acks)) + n; uint64(len(acks)) < end; {
			seed := uint64(len(acks))
			done := make(chan store.PutResult, 1)
			s.Put(seeded(seed), func(r store.PutResult) { done <- r })
			r := <-done
			if r.Status != store.PutOK {
				return fmt.Errorf("status %d", r.Status)
			}
			acks = append(acks, ack{seed, r.PhyOffset, r.QueueOffset})
		}
		return s.Close()
	}
	if err := fill(2000); err != nil {
		return err
	}
	// the last file is written to: it moves
	files, err := os.ReadDir(old)
	if err != nil || len(files) < 3 {
		return fmt.Errorf("%d files, %v", len(files), err)
	}
	last := files[len(files)-1].Name()
	data, err := os.ReadFile(filepath.Join(old, last))
	if err != nil {
		return err
	}
	cfg.CommitLogDirs, cfg.ReadOnlyCommitLogDirs = []string{filepath.Join(dir, "new")}, []string{old}
	if err := os.Mkdir(cfg.CommitLogDirs[0], 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cfg.CommitLogDirs[0], last), data, 0o644); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(old, last)); err != nil {
		return err
	}
	if err := unix.Mount("none", old, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := fill(2000); err != nil {
		return err
	}
	s, err := store.Open(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	return verify(s, acks)
}

// runCleaning is the third child.
func runCleaning(dir string) error {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=24m"); err != nil {
		fmt.Println("cannot mount:", err)
		return nil
	}
	cfg := killConfig(filepath.Join(dir, "store"), 0)
	keepFiles(&cfg, 0)
	cfg.DiskUsage = nil
	s, err := store.Open(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	var acks []ack
	refused, fullest := 0, 0.0
	for seed := uint64(0); s.MaxPhyOffset() < 200<<20; seed++ {
		done := make(chan store.PutResult, 1)
		s.Put(seeded(seed), func(r store.PutResult) { done <- r })
		switch r := <-done; r.Status {
		case store.PutOK:
			acks = append(acks, ack{seed, r.PhyOffset, r.QueueOffset})
		case store.ServiceNotAvailable, store.CreateMappedFileFailed: // the cleaner is behind
			refused++
			time.Sleep(time.Millisecond)
		default:
			return fmt.Errorf("status %d", r.Status)
		}
		fullest = max(fullest, store.DiskUsage(dir))
	}
	for start := time.Now(); !s.Writable() || store.DiskUsage(dir) > 0.85; time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			return fmt.Errorf("the disk stays full")
		}
	}
	kept := s.MaxPhyOffset() - s.MinPhyOffset()
	fmt.Printf("%d messages stored, %d times refused, %d bytes kept, disk up to %v full\n", len(acks), refused, kept, fullest)
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // the cleaner may work between two of the three looks
		log, queues, index := s.DiskUsage()
		if log == queues && log == index {
			break
		}
		if time.Since(start) > time.Minute {
			return fmt.Errorf("log %v, queues %v, index %v on one disk", log, queues, index)
		}
	}
	if kept < 12<<20 {
		return fmt.Errorf("too much was deleted")
	}
	for s.DispatchBehind() > 0 {
		time.Sleep(time.Millisecond)
	}
	return verify(s, acks)
}
