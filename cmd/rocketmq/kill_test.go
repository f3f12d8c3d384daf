// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rocketmq-go/admin/client"
)

// The kill tests run this test binary again as the rocketmq command.
const commandEnv = "ROCKETMQ_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		if dir := os.Getenv(smallDiskEnv); dir != "" {
			mountSmallDisk(dir)
		}
		main()
	}
	home, err := os.MkdirTemp("", "rocketmq-home-")
	if err == nil {
		err = os.Setenv("HOME", home) // log files go there
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// server is a process that runs the command.
type server struct {
	t    *testing.T
	args []string
	file string // of its ports
	disk string // a directory that gets a small file system, which only the process sees; "": none
	cmd  *exec.Cmd
	out  output
	at   ports
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	s := &server{t: t, args: args}
	s.begin()
	return s
}

func (s *server) begin() {
	s.t.Helper()
	t := s.t
	s.file = filepath.Join(t.TempDir(), "ports.json")
	s.start()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
}

func (s *server) start() {
	s.t.Helper()
	_ = os.Remove(s.file)
	s.cmd = exec.Command(os.Args[0], append(s.args, "--port-file", s.file)...)
	s.cmd.Env = append(os.Environ(), commandEnv+"=1")
	s.onSmallDisk()
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{code: make(chan int, 1)}
	s.at = p.ready(s.t, s.file)
}

// end sends a signal and waits for the end of the process.
func (s *server) end(sig os.Signal) error {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	return s.cmd.Wait()
}

// ledger is what producers were told.
type ledger struct {
	mu   sync.Mutex
	acks map[place]string // body
}

type place struct {
	topic  string
	queue  int32
	offset int64
}

func (l *ledger) add(t *testing.T, p place, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, twice := l.acks[p]; twice {
		t.Errorf("%+v was given to %s and to %s", p, other, body)
	}
	l.acks[p] = body
}

// grow waits for so many more acknowledged messages.
func (l *ledger) grow(t *testing.T, more int) {
	size := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.acks)
	}
	before := size()
	for begin := time.Now(); size() < before+more; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatal("the servers take no messages")
		}
	}
}

// produce sends until ctx ends, as a producer does that goes on after errors.
func (l *ledger) produce(ctx context.Context, t *testing.T, namesrv, name string) {
	c := client.New(client.Options{Namesrv: []string{namesrv}, Timeout: time.Second})
	defer c.Close()
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf("%s-%d", name, n)
		m := &client.Message{Topic: fmt.Sprintf("T%d-%s", n/200, name), Body: []byte(body), Keys: []string{body}}
		sent, err := c.Send(ctx, m)
		if err != nil {
			time.Sleep(2 * time.Millisecond)
			continue
		}
		l.add(t, place{m.Topic, sent.Queue.ID, sent.QueueOffset}, body)
	}
}

// check reads all queues that the ledger knows and compares.
func (l *ledger) check(t *testing.T, namesrv string) {
	c := client.New(client.Options{Namesrv: []string{namesrv}})
	defer c.Close()
	ctx := context.Background()
	type queue struct {
		topic string
		id    int32
	}
	ends := map[queue]int64{}
	for p := range l.acks {
		ends[queue{p.topic, p.queue}] = max(ends[queue{p.topic, p.queue}], p.offset+1)
	}
	found := map[place]string{}
	for q, end := range ends {
		queues, err := c.Queues(ctx, q.topic, 4)
		if err != nil || int(q.id) >= len(queues) {
			t.Errorf("queue %+v with acknowledged messages: %d queues, %v", q, len(queues), err)
			continue
		}
		for offset := int64(0); offset < end; {
			got, err := c.Pull(ctx, client.PullRequest{Topic: q.topic, Queue: queues[q.id], Group: "G", Offset: offset, Suspend: 2 * time.Second})
			if err != nil || got.Next <= offset {
				t.Errorf("%+v ends at %d, acknowledged up to %d: %+v %v", q, offset, end, got, err)
				break
			}
			for i := range got.Messages {
				found[place{q.topic, q.id, got.Messages[i].QueueOffset}] = string(got.Messages[i].Body)
			}
			offset = got.Next
		}
	}
	lost := 0
	for p, body := range l.acks {
		if found[p] != body {
			if lost++; lost <= 5 {
				t.Errorf("%+v: %q instead of %q", p, found[p], body)
			}
		}
	}
	t.Logf("%d messages acknowledged, %d lost", len(l.acks), lost)
	if len(l.acks) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// Broker and name server are killed, or asked to stop, at any moment while producers send: what was acknowledged is
// there, once, at the offset that was told, also in topics that the sends made (R#5905 and others, U015).
func TestKilledWhileProducersSend(t *testing.T) {
	for _, extra := range []string{"", "flushDiskType=SYNC_FLUSH", "compatVersion=4.9.7"} {
		t.Run(extra, func(t *testing.T) {
			dir := t.TempDir()
			conf := func(name string, lines ...string) string {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return file
			}
			ns := startServer(t, "namesrv", "-c", conf("ns.conf", "listenPort=0", "bindAddress=127.0.0.1"))
			conf("ns.conf", "bindAddress=127.0.0.1", "listenPort="+ns.at.Namesrv[strings.LastIndex(ns.at.Namesrv, ":")+1:])
			broker := []string{
				"brokerName=b1", "brokerIP1=127.0.0.1", "bindAddress=127.0.0.1", "storePathRootDir=" + dir + "/store",
				"mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000", "maxIndexNum=20000",
				"maxHashSlotNum=5000", extra,
			}
			b := startServer(t, "broker", "-n", ns.at.Namesrv, "-c", conf("broker.conf", append(broker, "listenPort=0")...))
			conf("broker.conf", append(broker, "listenPort="+b.at.Broker[strings.LastIndex(b.at.Broker, ":")+1:])...)

			l := &ledger{acks: map[place]string{}}
			ctx, cancel := context.WithCancel(t.Context())
			var producers sync.WaitGroup
			for i := range 4 {
				producers.Go(func() { l.produce(ctx, t, ns.at.Namesrv, fmt.Sprint("p", i)) })
			}
			rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
			for round := range 8 {
				l.grow(t, 20) // it is used again
				time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
				switch round % 4 {
				case 0, 2:
					_ = b.end(syscall.SIGKILL)
					b.start()
				case 1:
					_ = ns.end(syscall.SIGKILL)
					ns.start()
				case 3:
					if err := b.end(syscall.SIGTERM); err != nil {
						t.Errorf("the broker ends with %v\n%s", err, &b.out)
					}
					if _, err := os.Stat(filepath.Join(dir, "store", "abort")); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("after a clean stop: abort file: %v", err)
					}
					b.start()
				}
			}
			l.grow(t, 20)
			cancel()
			producers.Wait()
			_ = b.end(syscall.SIGKILL)
			b.start()
			l.check(t, ns.at.Namesrv)
		})
	}
}
