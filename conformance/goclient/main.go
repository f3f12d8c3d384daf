// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// A testCase sends, consumes and fills its ledger; an error is a violated expectation other than the ledger's own.
type testCase struct {
	name string
	run  func(*run) error
	// restarts names the way the case has the broker restarted ("term" or "kill"); such cases run after all others.
	restarts string
}

type row struct {
	name, result, sent, received, dups, note string
}

func (r row) String() string {
	return fmt.Sprintf("%-20s | %-6s | %6s | %8s | %5s", r.name, r.result, r.sent, r.received, r.dups)
}

type options struct {
	namesrv, restart string
	suffix           string
	parallel         int
	timeout          time.Duration
	only             map[string]bool
	auth             string
}

func (o *options) cases() []testCase {
	if o.auth != "" {
		return authCases()
	}
	return allCases()
}

func main() {
	var o options
	var cases, log string
	flag.StringVar(&o.namesrv, "namesrv", os.Getenv("ROCKETMQ_NAMESRV"), "name server, host:port")
	flag.StringVar(&o.restart, "restart-cmd", os.Getenv("ROCKETMQ_RESTART_CMD"),
		"command that restarts the broker and returns when it serves again; called with \"term\" or \"kill\"")
	flag.StringVar(&cases, "cases", "", "comma-separated names of the cases to run (default all)")
	flag.StringVar(&o.suffix, "suffix", fmt.Sprintf("%x", time.Now().UnixMilli()), "suffix of all topics and groups")
	flag.IntVar(&o.parallel, "parallel", 6, "cases that run side by side")
	flag.DurationVar(&o.timeout, "timeout", 180*time.Second, "limit of one case (twice this for a broker restart)")
	flag.StringVar(&log, "client-log", "client.log", "log file of the client")
	flag.StringVar(&o.auth, "auth", "", "acl or users: the cases for brokers with such access rules")
	list := flag.Bool("list", false, "print the names of the cases and end")
	flag.Parse()
	if *list {
		for _, c := range o.cases() {
			fmt.Println(c.name)
		}
		return
	}
	if o.namesrv == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: goclient -namesrv host:port [-restart-cmd CMD] [-cases a,b]")
		os.Exit(2)
	}
	if cases != "" {
		o.only = map[string]bool{}
		for _, n := range strings.Split(cases, ",") {
			o.only[n] = true
		}
	}
	rlog.SetLogLevel("warn")
	if err := rlog.SetOutputPath(log); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(report(runAll(o)))
}

// report prints the table and the reasons of failures and returns the exit code.
func report(rows []row) int {
	fmt.Println(row{name: "case", result: "result", sent: "sent", received: "received", dups: "dups"})
	failed := 0
	for _, r := range rows {
		fmt.Println(r)
		if r.result == "fail" {
			failed++
		}
	}
	for _, r := range rows {
		if r.note != "" {
			fmt.Printf("# %s: %s\n", r.name, strings.ReplaceAll(r.note, "\n", "; "))
		}
	}
	if failed > 0 {
		return 1
	}
	return 0
}

func runAll(o options) []row {
	var chosen []testCase
	for _, c := range o.cases() {
		if o.only == nil || o.only[c.name] {
			chosen = append(chosen, c)
		}
	}
	rows := make([]row, len(chosen))
	sideBySide(o, chosen, rows, o.timeout, func(c testCase) bool { return c.restarts == "" })
	if o.restart != "" {
		sideBySide(o, chosen, rows, 2*o.timeout, func(c testCase) bool { return c.restarts != "" })
	}
	for i, c := range chosen {
		if rows[i].name == "" {
			rows[i] = row{name: c.name, result: "n/a", sent: "-", received: "-", dups: "-"}
		}
	}
	return rows
}

// sideBySide runs the cases that want says and puts their rows where they belong.
func sideBySide(o options, cases []testCase, rows []row, limit time.Duration, want func(testCase) bool) {
	slots := make(chan struct{}, o.parallel)
	var wg sync.WaitGroup
	for i, c := range cases {
		if !want(c) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			rows[i] = runCase(o, c, limit)
		})
	}
	wg.Wait()
}

func runCase(o options, c testCase, limit time.Duration) row {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	r := &run{options: o, name: c.name, ledger: newLedger(), ctx: ctx}
	start := time.Now()
	err := guarded(r, c)
	r.close()
	res := r.ledger.row(c.name, err)
	fmt.Fprintf(os.Stderr, "%s %-18s %-5s %5.1fs\n", time.Now().Format("15:04:05"), c.name, res.result, time.Since(start).Seconds())
	return res
}

// guarded turns a panic of a case into its failure, so that the other cases still get their line.
func guarded(r *run, c testCase) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.run(r)
}

// restartBroker calls the harness and returns when the broker serves again.
func (r *run) restartBroker(how string) error {
	args := append(strings.Fields(r.restart), how)
	out, err := exec.CommandContext(r.ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restart command: %w: %s", err, out)
	}
	return nil
}
