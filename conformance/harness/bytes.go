// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"rocketmq-go/conformance/storedbytes"
)

// ownBytes are settings of the runs that compare what is stored: nothing happens by itself while requests are sent.
var ownBytes = map[string]string{
	"transactionTimeOut": "3600000", "transactionCheckInterval": "3600000", "transactionOpBatchInterval": "100",
}

// storedBytes sends the same requests to Apache's brokers of the named releases and to ours, and compares the logs.
func storedBytes(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("bytes", flag.ExitOnError)
	clusterFlags(fs, &s)
	if err := fs.Parse(args); err != nil {
		return err
	}
	var failed error
	for _, release := range fs.Args() {
		java, ours := s, s
		java.server, java.compat = "apache-"+release, ""
		ours.server, ours.compat = "ours", ""
		if strings.HasPrefix(release, "4.") {
			ours.compat = release
		}
		want, err := playBytes(ctx, java, release)
		if err != nil {
			return err
		}
		got, err := playBytes(ctx, ours, release)
		if err != nil {
			return err
		}
		res := storedbytes.Compare(want, got)
		for i, d := range res.Differences {
			if i == 200 {
				fmt.Println("…")
				break
			}
			fmt.Println(d)
		}
		fmt.Printf("bytes %s: %d requests, %d records, %d differences; made by the brokers:", release, res.Requests, res.Records, len(res.Differences))
		for _, name := range slices.Sorted(maps.Keys(res.Masked)) {
			fmt.Printf(" %s %d", name, res.Masked[name])
		}
		fmt.Println()
		if len(res.Differences) > 0 {
			failed = errors.Join(failed, fmt.Errorf("what we store differs from %s", release))
		}
	}
	return failed
}

func playBytes(ctx context.Context, s settings, release string) (*storedbytes.Run, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	s.extra, s.java = ownBytes, []string{"-Djava.net.preferIPv4Stack=true"} // ids made by the broker are as long as ours then
	c, err := startCluster(ctx, s)
	if err != nil {
		return nil, err
	}
	recordings := []string{filepath.Join(s.root, "broker", "testdata", "behaviour", "a_send.jsonl.gz")}
	sections, err := storedbytes.Sections(recordings...)
	var run *storedbytes.Run
	if err == nil {
		p := &storedbytes.Player{
			Addr: c.broker.addr(), Log: storedbytes.OpenLog(filepath.Join(c.broker.dir, "store", "commitlog")), V4: strings.HasPrefix(release, "4."),
		}
		run, err = p.Play(sections)
	}
	// what the brokers leave behind does not matter, and Apache's takes its time to stop
	err = errors.Join(err, c.broker.stop(syscall.SIGKILL), c.namesrv.stop(syscall.SIGKILL))
	if err != nil {
		fmt.Fprintln(os.Stderr, "kept:", c.work)
		return nil, err
	}
	c.removeWork()
	return run, nil
}
