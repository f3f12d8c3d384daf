// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// installation is a folder as operators have it, with the binary and the scripts under bin.
func installation(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, "bin"), os.DirFS("../../bin")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(home, "bin", "rocketmq"), ".") // as make build: compiled once
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return home
}

// TestScripts starts both servers with the scripts, through links and from elsewhere, administers them, and stops them with
// mqshutdown, which sees only these two processes.
func TestScripts(t *testing.T) {
	home := installation(t)
	dir := t.TempDir()
	for _, name := range []string{"mqnamesrv", "mqbroker", "mqadmin"} {
		if err := os.Symlink(filepath.Join(home, "bin", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	conf := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	ns := script(t, dir, "The Name Server boot success.", "mqnamesrv", "-c", conf("ns.conf", "listenPort=0\nbindAddress=127.0.0.1\n"))
	_, addr, _ := strings.Cut(strings.TrimSpace(ns.out.String()), "address ")
	t.Setenv("NAMESRV_ADDR", addr)
	b := script(t, dir, "boot success. serializeType=JSON and name server is "+addr, "mqbroker", "-c",
		conf("broker.conf", "listenPort=0\nbrokerIP1=127.0.0.1\nstorePathRootDir="+dir+"/store\n"))
	checkMQAdmin(t, dir)

	fake := fmt.Sprintf("#!/bin/sh\necho ' %d %s/bin/rocketmq namesrv -c x'\necho ' %d %s/bin/rocketmq broker -c y'\necho ' 1 vi rocketmq broker'\n",
		ns.cmd.Process.Pid, home, b.cmd.Process.Pid, home)
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "ps"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	shut := func(name string) (string, error) {
		stop := exec.Command("sh", filepath.Join(home, "bin", "mqshutdown"), name)
		stop.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
		out, err := stop.CombinedOutput()
		return string(out), err
	}
	for _, s := range []struct {
		name    string
		process *scripted
	}{{"broker", b}, {"namesrv", ns}} {
		out, err := shut(s.name)
		want := fmt.Sprintf("The mq%[1]s(%[2]d) is running...\nSend shutdown request to mq%[1]s(%[2]d) OK\n", s.name, s.process.cmd.Process.Pid)
		if err != nil || out != want {
			t.Errorf("mqshutdown %s: %v\n%s", s.name, err, out)
		}
		if err := <-s.process.ended; err != nil {
			t.Errorf("mq%s ends with %v\n%s", s.name, err, &s.process.out)
		}
	}
	fake = "#!/bin/sh\necho ' 7 /usr/bin/java -Xmx1g org.apache.rocketmq.broker.BrokerStartup -c y'\n"
	if err := os.WriteFile(filepath.Join(path, "ps"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"broker": "A Java broker is running (7): stop it with its own mqshutdown.\n", "namesrv": "No mqnamesrv running.\n",
	} {
		if out, err := shut(name); err == nil || out != want {
			t.Errorf("mqshutdown %s: %v\n%s", name, err, out)
		}
	}
}

type scripted struct {
	cmd   *exec.Cmd
	out   output
	ended chan error
}

// script runs one of the scripts and waits for its boot line.
func script(t *testing.T, dir, boot, name string, args ...string) *scripted {
	t.Helper()
	s := &scripted{cmd: exec.Command("sh", append([]string{filepath.Join(dir, name)}, args...)...), ended: make(chan error, 1)}
	s.cmd.Dir = "/"
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(s.out.String(), boot) {
		select {
		case err := <-s.ended:
			t.Fatalf("%s ends with %v\n%s", name, err, &s.out)
		case <-deadline:
			t.Fatalf("%s does not say %q\n%s", name, boot, &s.out)
		case <-tick.C:
		}
	}
	return s
}
