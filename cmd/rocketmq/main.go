// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Command rocketmq is the one binary: name server, broker, both in one process, and the tools around them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// version is set by the build (-ldflags -X main.version=…).
var version string

// Exit codes of every sub-command, beside those that Java's start-up uses (see config).
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// env is what a sub-command may touch of the process.
type env struct {
	args   []string // behind the sub-command's name
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
}

type command struct {
	name  string
	about string
	run   func(ctx context.Context, e env) int
}

var commands = []command{
	{"standalone", "name server and broker in one process, for a laptop or a CI job", runStandalone},
	{"namesrv", "the name server (what bin/mqnamesrv runs)", runNamesrv},
	{"broker", "the broker (what bin/mqbroker runs)", runBroker},
	{"controller", "the controller of 5.x, which elects masters (what bin/mqcontroller runs)", runController},
	{"mqadmin", "administration: Java's mqadmin, and more (what bin/mqadmin runs)", runMQAdmin},
	{"demo", "send and receive a few messages on a running server and say what happens", runDemo},
	{"store", "a store directory: check before a take-over, stat, verify, repair", runStore},
	{"config", "explain a configuration file: config check FILE", runConfig},
	{"version", "print the version", runVersion},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := dispatch(ctx, env{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv})
	stop()
	os.Exit(code)
}

func dispatch(ctx context.Context, e env) int {
	if len(e.args) == 0 {
		usage(e.stderr)
		return exitUsage
	}
	name := e.args[0]
	e.args = e.args[1:]
	if name == "help" && len(e.args) > 0 {
		name, e.args = e.args[0], append(e.args[1:len(e.args):len(e.args)], "-h")
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, e)
		}
	}
	switch name {
	case "help", "-h", "--help":
		usage(e.stdout)
		return exitOK
	case "-v", "--version":
		return runVersion(ctx, e)
	}
	fmt.Fprintf(e.stderr, "rocketmq: no sub-command %q\n\n", name)
	usage(e.stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: rocketmq COMMAND [options]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-11s %s\n", c.name, c.about)
	}
	fmt.Fprint(w, "\n'rocketmq COMMAND -h' lists the options of a command.\n")
}

func runVersion(_ context.Context, e env) int {
	v := version
	if v == "" {
		v = "devel"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			v = info.Main.Version
		}
	}
	fmt.Fprintf(e.stdout, "rocketmq %s, compatible with Apache RocketMQ 5.3.3 and 4.9.7\n", v)
	return exitOK
}
