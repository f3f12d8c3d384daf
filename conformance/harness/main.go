// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Command harness starts a name server and a broker, Apache's or this project's, runs a conformance suite of an
// official client against them, stops them, and compares the table of results with the expected one.
//
//	harness run --server ours --client go        one run; also --namesrv-kind and --broker-kind for mixed clusters
//	harness compare A.txt B.txt                  two tables side by side
//	harness up --server apache-5.3.3             a cluster to try things on, until interrupted
//	harness admin --server ours --tools 5.3.3    the calls of the console and of the exporter, with Java's tools
//	harness bytes 5.3.3 4.9.7                    what we store is what Apache's brokers store
//	harness replicate apache-5.3.3/ours ours/…   a master and a slave of different kinds
//	harness failover 5.3.3                       Apache's brokers in controller mode with our controller
//	harness jars 5.3.3 4.9.7                     fetches the jars of Apache's servers, for other tests
//	harness restart --control HOST:PORT term     asks a running harness to restart its broker (the suites do)
//
// It ends only processes that it started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A reader of the output that goes away must not end the harness before it has stopped its servers.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "harness:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: harness run|admin|compare|bytes|replicate|failover|acting|up|restart|jars …")

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	commands := map[string]func(context.Context, []string) error{
		"run": run, "admin": admin, "compare": compareFiles, "up": up, "restart": restart, "jars": fetchJars, "bytes": storedBytes, "replicate": replicate, "failover": failOver, "acting": standIn,
	}
	f, ok := commands[args[0]]
	if !ok {
		return errUsage
	}
	return f(ctx, args[1:])
}

// clusterFlags are common to run and up.
func clusterFlags(fs *flag.FlagSet, s *settings) {
	fs.StringVar(&s.server, "server", "ours", "ours, apache-5.3.3 or apache-4.9.7: name server and broker")
	fs.StringVar(&s.namesrvKind, "namesrv-kind", "", "name server, if not --server")
	fs.StringVar(&s.brokerKind, "broker-kind", "", "broker, if not --server")
	fs.StringVar(&s.compat, "compat", "", "compatVersion of our broker and name server (4.9.7)")
	fs.StringVar(&s.root, "root", ".", "root of the repository")
	fs.StringVar(&s.binary, "bin", "", "our binary (default ROOT/bin/rocketmq)")
	fs.BoolVar(&s.withProxy, "proxy", false, "Apache's proxy before the servers, and the cases for it")
	fs.StringVar(&s.work, "work", "", "folder for stores and logs (default: a temporary one, removed after success)")
}

func run(ctx context.Context, args []string) error {
	var s settings
	var client, cases, out, expect string
	fs := flag.NewFlagSet("run", flag.ExitOnError)
	clusterFlags(fs, &s)
	fs.StringVar(&client, "client", "go", "go, java497 or java533")
	fs.StringVar(&cases, "cases", "", "comma-separated cases (default all)")
	fs.StringVar(&out, "out", "", "folder for the table (default ROOT/build/conformance)")
	fs.StringVar(&expect, "expect", "", "expected table, or \"none\" (default ROOT/conformance/expected/BROKER.CLIENT.txt)")
	fs.StringVar(&s.auth, "auth", "", "acl or users: the cases for brokers with access rules of 4.x or 5.x")
	record := fs.Bool("record", false, "write the table as the expected one instead of comparing")
	_ = fs.Parse(args)
	if err := s.complete(); err != nil {
		return err
	}
	suffix := ""
	if s.withProxy {
		suffix = ".proxy"
	}
	if s.auth != "" {
		suffix += "." + s.auth
	}
	if expect == "" {
		expect = filepath.Join(s.root, "conformance", "expected", s.expectedBroker()+"."+client+suffix+".txt")
	}
	if out == "" {
		out = filepath.Join(s.root, "build", "conformance")
	}
	suite, err := prepareSuite(ctx, s, client)
	if err != nil {
		return err
	}
	got, err := runSuite(ctx, s, suite, cases)
	if err != nil {
		return err
	}
	file := filepath.Join(out, s.label()+"."+client+suffix+".txt")
	if *record {
		if err := got.failures(); err != nil {
			return err
		}
		file, got.notes = expect, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(got.text()), 0o644); err != nil {
		return err
	}
	if *record || expect == "none" {
		return got.failures()
	}
	text, err := os.ReadFile(expect)
	if err != nil {
		return err
	}
	want, err := parseTable(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", expect, err)
	}
	var known map[string]string
	if s.brokerKind == "ours" && s.auth == "" {
		name := client
		if s.compat != "" {
			name += "@" + s.compat
		}
		if known, err = readKnown(filepath.Join(s.root, "conformance", "known-differences.txt"), name); err != nil {
			return err
		}
	}
	if cases != "" {
		names := strings.Split(cases, ",")
		want = want.only(names)
		maps.DeleteFunc(known, func(c, _ string) bool { return !slices.Contains(names, c) })
	}
	return compare(os.Stdout, filepath.Base(expect), want, filepath.Base(file), got, known)
}

// runSuite starts the cluster, runs the suite against it and stops it again.
func runSuite(ctx context.Context, s settings, argv suite, cases string) (table, error) {
	c, err := startCluster(ctx, s)
	if err != nil {
		return table{}, err
	}
	control, err := c.serveControl()
	if err != nil {
		return table{}, errors.Join(err, c.stop())
	}
	self, err := os.Executable()
	if err != nil {
		return table{}, errors.Join(err, c.stop())
	}
	start := time.Now()
	args := []string{"-restart-cmd", self + " restart --control " + control}
	if cases != "" {
		args = append(args, "-cases", cases)
	}
	if s.auth != "" {
		args = append(args, "-auth", s.auth)
	}
	if s.withProxy {
		args = append(args, "-proxy", c.proxy.addr())
	}
	output, runErr := argv.run(ctx, c, args...)
	fmt.Fprintf(os.Stderr, "suite: %.1f s\n", time.Since(start).Seconds())
	stopErr := c.stop()
	t, parseErr := parseTable(output)
	if parseErr != nil {
		return table{}, errors.Join(runErr, parseErr, stopErr)
	}
	var failed *suiteFailed
	if runErr != nil && !errors.As(runErr, &failed) {
		return table{}, errors.Join(runErr, stopErr)
	}
	if stopErr == nil && runErr == nil {
		c.removeWork()
	} else {
		fmt.Fprintln(os.Stderr, "logs and stores are kept in", c.work)
	}
	return t, stopErr
}

func up(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("up", flag.ExitOnError)
	clusterFlags(fs, &s)
	_ = fs.Parse(args)
	if err := s.complete(); err != nil {
		return err
	}
	c, err := startCluster(ctx, s)
	if err != nil {
		return err
	}
	control, err := c.serveControl()
	if err != nil {
		return errors.Join(err, c.stop())
	}
	fmt.Printf("namesrv %s broker %s control %s work %s\n", c.namesrv.addr(), c.broker.addr(), control, c.work)
	if c.proxy != nil {
		fmt.Printf("proxy: gRPC %s, remoting 127.0.0.1:%d\n", c.proxy.addr(), c.proxy.port+1)
	}
	<-ctx.Done()
	return c.stop()
}

// restart asks the harness that listens at --control to restart its broker and waits until that serves again.
func restart(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("restart", flag.ExitOnError)
	control := fs.String("control", "", "address of the harness")
	_ = fs.Parse(args)
	if *control == "" || fs.NArg() != 1 {
		return fmt.Errorf("%w: restart --control HOST:PORT term|kill", errUsage)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+*control+"/restart?how="+url.QueryEscape(fs.Arg(0)), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("restart: %s", text)
	}
	return nil
}
