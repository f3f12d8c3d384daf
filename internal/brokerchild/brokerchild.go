// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package brokerchild runs brokers in processes of their own, so that tests can kill them: the test binary runs itself
// again, and Main makes a broker of that run. StartJava runs Apache's, for stores that go from one to the other.
package brokerchild

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"rocketmq-go/broker"
	"rocketmq-go/config"
)

// env has the store's directory in the environment of a child.
const env = "ROCKETMQ_BROKER_CHILD"

// Settings are the configuration of a broker with small files on dir, and more keys.
func Settings(dir string, more map[string]string) map[string]string {
	set := map[string]string{
		"brokerName": "broker-a", "brokerIP1": "127.0.0.1", "bindAddress": "127.0.0.1", "listenPort": "0",
		"storePathRootDir": dir, "rocketmqHome": dir, "mappedFileSizeCommitLog": "4194304", "maxIndexNum": "20000",
		"mappedFileSizeConsumeQueue": "60000", "maxHashSlotNum": "5000",
	}
	maps.Copy(set, more)
	return set
}

// Main returns at once, but in a child: there it is a broker until standard input ends, and then ends the process.
func Main(settings func(dir string) map[string]string) {
	dir := os.Getenv(env)
	if dir == "" {
		return
	}
	if err := run(settings(dir)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(set map[string]string) error {
	cfg, _, err := config.LoadBroker(config.Options{Set: set, Env: func(string) string { return "" }})
	if err != nil {
		return err
	}
	b, err := broker.New(broker.Options{Config: cfg})
	if err != nil {
		return err
	}
	if err := b.Start(context.Background()); err != nil {
		return err
	}
	fmt.Println(b.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return b.Close(context.Background())
}

// Child is a running broker.
type Child struct {
	Addr  string
	cmd   *exec.Cmd
	stdin io.Closer // ours alone
	java  bool
}

// Start runs a broker on a directory and waits until it is ready.
func Start(t testing.TB, dir string) *Child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the broker did not start: %v", err)
	}
	return &Child{Addr: strings.TrimSpace(line), cmd: cmd, stdin: in}
}

// Stop ends the broker cleanly.
func (c *Child) Stop(t testing.TB) {
	t.Helper()
	if c.java {
		c.stopJava(t)
		return
	}
	_ = c.stdin.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Kill ends it at once, by SIGKILL.
func (c *Child) Kill(t testing.TB) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.cmd.Wait() // it says that it was killed
}
