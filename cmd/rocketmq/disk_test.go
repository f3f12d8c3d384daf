// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
)

// smallDiskEnv names the directory on which the command mounts a small file system before it starts.
const smallDiskEnv = "ROCKETMQ_SMALL_DISK"

func mountSmallDisk(dir string) {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64m"); err != nil {
		fmt.Println("cannot mount:", err)
		os.Exit(1)
	}
}

// namespace lets the process mount.
func namespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

func (s *server) onSmallDisk() {
	if s.disk != "" {
		s.cmd.Env = append(s.cmd.Env, smallDiskEnv+"="+s.disk)
		s.cmd.SysProcAttr = namespace()
	}
}

// path is where the test finds a file that the process sees on its small disk.
func (s *server) path(elem ...string) string {
	return filepath.Join(append([]string{fmt.Sprintf("/proc/%d/root", s.cmd.Process.Pid), s.disk}, elem...)...)
}

// smallDisks tells whether processes here may mount.
func smallDisks(t *testing.T) bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = namespace()
	if err := cmd.Run(); err != nil {
		t.Logf("this machine gives no file system of one's own to a test: %v", err)
		return false
	}
	return true
}

// U036, U037, U050: the disk fills up, from outside, under a broker that works. Sends get code 14, all else goes on,
// and when there is space again sends do, without a restart and with nothing lost.
func TestBrokerOnFullDisk(t *testing.T) {
	if !smallDisks(t) {
		return
	}
	for _, extra := range []string{"", "flushDiskType=SYNC_FLUSH", "compatVersion=4.9.7"} {
		t.Run(extra, func(t *testing.T) {
			s := &server{t: t, disk: t.TempDir()}
			s.args = []string{
				"standalone", "--store", filepath.Join(s.disk, "store"), "--bind", "127.0.0.1", "--listen-port", "0", "--namesrv-port", "0",
				"--set", "brokerName=b1", "--set", "mappedFileSizeCommitLog=4194304", "--set", "cleanResourceInterval=100",
				"--set", "mappedFileSizeConsumeQueue=60000", "--set", "maxIndexNum=20000", "--set", "maxHashSlotNum=5000",
			}
			if extra != "" {
				s.args = append(s.args, "--set", extra)
			}
			s.begin()
			c := client.New(client.Options{Namesrv: []string{s.at.Namesrv}, Timeout: time.Minute})
			defer c.Close()
			ctx := context.Background()
			l := &ledger{acks: map[place]string{}}
			n := 0
			send := func(size int) int32 {
				n++
				body := fmt.Sprintf("%d-%s", n, strings.Repeat("x", size))
				q := &client.Queue{Broker: "b1", Addr: s.at.Broker}
				sent, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte(body), Queue: q, Keys: []string{fmt.Sprint("k", n)}})
				if err != nil {
					var refusal *protocol.Error
					if !errors.As(err, &refusal) {
						t.Fatalf("%v\n%s", err, &s.out)
					}
					return refusal.Code
				}
				if sent.Code == protocol.RespSuccess {
					l.add(t, place{"T", 0, sent.QueueOffset}, body)
				}
				return sent.Code
			}
			for range 200 {
				if code := send(1000); code != 0 {
					t.Fatalf("code %d while there is space", code)
				}
			}
			filler := s.path("filler")
			fill(t, filler)

			refused := map[int32]int{}
			for begin := time.Now(); refused[protocol.RespServiceNotAvailable] < 200; {
				refused[send(60_000)]++
				if time.Since(begin) > time.Minute {
					break
				}
			}
			if refused[protocol.RespServiceNotAvailable] == 0 || len(refused) > 2 {
				t.Errorf("answers by code: %v", refused)
			}
			q := client.Queue{Broker: "b1", Addr: s.at.Broker}
			if got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: q, Group: "G"}); err != nil || len(got.Messages) == 0 {
				t.Errorf("reading: %+v %v", got, err)
			}
			if err := c.Commit(ctx, "G", "T", q, 7); err != nil {
				t.Error("committing:", err)
			}
			if offset, ok, err := c.Offset(ctx, "G", "T", q); err != nil || !ok || offset != 7 {
				t.Error("offset:", offset, ok, err)
			}
			remove := &protocol.Command{Code: protocol.ReqDeleteTopicInBroker}
			remove.Fields.Add("topic", "None")
			if _, err := c.Call(ctx, s.at.Broker, remove); errors.Is(err, context.DeadlineExceeded) {
				t.Error("deleting a topic waits for space")
			}

			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			for begin := time.Now(); send(1000) != 0; time.Sleep(5 * time.Millisecond) {
				if time.Since(begin) > time.Minute {
					t.Fatalf("nothing can be sent although there is space again\n%s", &s.out)
				}
			}
			for range 500 {
				if code := send(1000); code != 0 {
					t.Errorf("code %d although there is space again", code)
				}
			}
			l.check(t, s.at.Namesrv)
			if err := s.end(syscall.SIGTERM); err != nil {
				t.Errorf("the broker ends with %v\n%s", err, &s.out)
			}
			if lines := strings.Count(s.out.String(), "\n"); lines > 200 {
				t.Errorf("%d lines were logged", lines)
			}
		})
	}
}

// fill makes a file that takes all space there is.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4096} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
