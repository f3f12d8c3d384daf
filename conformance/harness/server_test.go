// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFreeTriplesAreFreeAndApart(t *testing.T) {
	ports, err := freeTriples(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		for _, q := range []int{p - 2, p, p + 1} {
			if !free(q) || q >= 32768 {
				t.Errorf("port %d of triple %d", q, p)
			}
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if free(l.Addr().(*net.TCPAddr).Port) {
		t.Error("a port in use counts as free")
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		s               settings
		label, expected string
	}{
		{settings{server: "ours"}, "ours", "apache-5.3.3"},
		{settings{server: "ours", compat: "4.9.7"}, "ours-4.9.7", "apache-4.9.7"},
		{settings{server: "apache-4.9.7"}, "apache-4.9.7", "apache-4.9.7"},
		{settings{server: "ours", brokerKind: "apache-5.3.3"}, "ours+apache-5.3.3", "apache-5.3.3"},
		{settings{server: "ours", namesrvKind: "apache-4.9.7"}, "apache-4.9.7+ours", "apache-5.3.3"},
	} {
		if err := c.s.complete(); err != nil {
			t.Fatal(err)
		}
		if c.s.label() != c.label || c.s.expectedBroker() != c.expected {
			t.Errorf("%+v: %s %s", c.s, c.s.label(), c.s.expectedBroker())
		}
	}
	if err := (&settings{server: "rabbit"}).complete(); err == nil {
		t.Error("unknown server was taken")
	}
}

// A process that ends before it listens must be reported with what it printed.
func TestStartTellsWhyAProcessEnded(t *testing.T) {
	dir := t.TempDir()
	ports, err := freeTriples(1)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		kind: "ours", role: "broker", port: ports[0], dir: dir, log: filepath.Join(dir, "out"),
		argv: []string{"sh", "-c", "echo the reason; exit 3"}, env: []string{"A=b"},
	}
	err = s.start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("%v", err)
	}
}

// A server that listens is stopped by its own process id, and a stop twice is no error.
func TestStopEndsTheProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // stands for the port that the process would open
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	s := &server{
		kind: "ours", role: "broker", port: l.Addr().(*net.TCPAddr).Port, dir: dir, log: filepath.Join(dir, "out"),
		argv: []string{"sleep", "60"},
	}
	if err := s.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := s.process.Process.Pid
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Error("still there")
	}
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.log); err != nil {
		t.Error(err)
	}
}
