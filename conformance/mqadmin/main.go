// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Command mqadmin runs Java's mqadmin, all its sub-commands, against this project's name server and broker, and compares
// what they print with what they print for Apache's servers.
//
//	mqadmin --version 4.9.7 --peer DIR [--compat 4.9.7]
//
//	mqadmin --tool ours --namesrv ADDR --broker ADDR --controller ADDR [--compat 4.9.7]
//
// The second form runs our own tool against servers that are there, such as Apache's. (Against ours it runs as a test.)
// With --compat the servers follow, or are, those of 4.9.7 instead of 5.3.3.
//
// peer is the folder of the recorder (run.py, which prepares a known state and runs the commands, and the configuration of
// the recorded servers). It fails for each difference that is not in the list of known ones, and for each known one that is
// there no more.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"rocketmq-go/admin/mqadmin"
)

type settings struct {
	version, compat, peer, golden, jars, binary, known, work, results string
	record                                                            bool
	tool, namesrv, broker, controller                                 string
}

// combination is the name in the list of known differences.
func (s settings) combination() string {
	name := s.version
	if s.tool == "ours" {
		name = "ours-java"
	}
	if s.compat != "" {
		name += "@" + s.compat
	}
	return name
}

// recorded are the outputs of Java's tool on Apache's servers of the release.
func (s settings) recorded() (map[string]*output, error) {
	if s.golden != "" {
		return load(s.golden)
	}
	return recordings(s.version, s.compat)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	flag.StringVar(&s.version, "version", "5.3.3", "of the tools")
	flag.StringVar(&s.peer, "peer", "../shared/peer/mqadmin", "folder of run.py")
	flag.StringVar(&s.compat, "compat", "", "release of the servers, if not 5.3.3")
	flag.StringVar(&s.golden, "golden", "", "folder of recorded outputs, a file for each invocation (default: those in testdata)")
	flag.StringVar(&s.jars, "jars", "", "folder of the tools' jars (default: run.py's)")
	flag.StringVar(&s.binary, "bin", "bin/rocketmq", "our binary")
	flag.StringVar(&s.known, "known", "conformance/mqadmin-known.txt", "list of known differences")
	flag.StringVar(&s.work, "work", "", "folder for stores and logs (default: a temporary one, removed after success)")
	flag.StringVar(&s.results, "results", "", "compare the outputs in this folder instead of running anything")
	flag.BoolVar(&s.record, "record", false, "write the differences of known invocations into the list")
	flag.StringVar(&s.tool, "tool", "java", "java or ours")
	flag.StringVar(&s.namesrv, "namesrv", "", "address of the name server for our tool")
	flag.StringVar(&s.broker, "broker", "", "address of the broker for our tool")
	flag.StringVar(&s.controller, "controller", "127.0.0.1:1", "address of the controller for our tool")
	table := flag.String("table", "", "bring the tables in this file up to date instead of running anything")
	flag.Parse()
	if *table != "" {
		if err := writeTables(*table, s.known); err != nil {
			fmt.Fprintln(os.Stderr, "mqadmin:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "mqadmin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.results != "" {
		return judge(s, s.results)
	}
	work := s.work
	if work == "" {
		var err error
		if work, err = os.MkdirTemp("", "rocketmq-mqadmin-"); err != nil {
			return err
		}
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	results := filepath.Join(work, "out")
	if s.tool == "ours" {
		err = runOurs(ctx, s, work, results)
	} else if err = collect(ctx, s, work, results); err == nil {
		err = judge(s, results)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; logs and outputs are in %s", err, work)
	case s.work == "":
		return os.RemoveAll(work)
	}
	return nil
}

// runOurs runs our tool against servers that are there.
func runOurs(ctx context.Context, s settings, work, results string) error {
	recorded, err := s.recorded()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	known, err := filepath.Abs(s.known)
	if err != nil {
		return err
	}
	s.known = known
	if err := os.Chdir(work); err != nil { // consumerStatus writes files here
		return err
	}
	if code := mqadmin.Run(ctx, mqadmin.Env{Stdout: os.Stdout, Stderr: os.Stderr}, []string{"wait", "-b", brokerName, "-n", s.namesrv}); code != 0 {
		return errors.New("the broker is not ready")
	}
	r := &ours{
		namesrv: s.namesrv, broker: s.broker, controller: s.controller, release: s.compat, work: work, recorded: recorded, results: results,
	}
	got, err := r.run(ctx)
	if err != nil {
		return err
	}
	return compare(s, comparableAll(recorded), comparableAll(got))
}

// judge compares the outputs in a folder, or records their differences.
func judge(s settings, results string) error {
	golden, err := s.recorded()
	if err != nil {
		return err
	}
	got, err := load(results)
	if err != nil {
		return err
	}
	return compare(s, withoutPolls(golden, s.version), withoutPolls(got, s.version))
}

func compare(s settings, golden, got map[string]*output) error {
	known, err := readKnown(s.known)
	if err != nil {
		return err
	}
	if s.record {
		known.record(s.combination(), golden, got)
		if err := os.WriteFile(s.known, []byte(known.String()), 0o644); err != nil {
			return err
		}
	}
	return report(os.Stdout, s.combination(), golden, got, known)
}

// changes to the recorder: file, what stands there, what stands in its place.
var changes = [][3]string{
	// The scenario waits this long before the commands begin. Java's clients store their offsets ten seconds after their
	// start for the first time, and here that much may not have passed.
	{"java/Scenario.java", "Thread.sleep(6000);", "Thread.sleep(15000);"},
	// Commands that never end are stopped after so many seconds.
	{"run.py", "kill=20", "kill=8"},
	// A client of 5.x waits up to three seconds for its thread of events when it stops: here that is woken.
	{"java/Batch.java", "t.join(Long.parseLong(f[2]) * 1000);", `for (long end = System.currentTimeMillis() + Long.parseLong(f[2]) * 1000; t.isAlive() && System.currentTimeMillis() < end; ) {
                t.join(50);
                for (StackTraceElement at : t.getStackTrace()) if (at.getClassName().endsWith("NettyRemotingClient") && at.getMethodName().equals("shutdown"))
                    for (Thread x : Thread.getAllStackTraces().keySet()) if (x.getName().startsWith("NettyEventExecutor")) x.interrupt();
            }`},
	// At the end come options that its plan does not have.
	{"run.py", "    return P\n", `    masks = {"rate": TPS, "number": INT, "millis": (r"\b\d+ms", "<N>ms"), "queues": (r"\(\d+,\d+ms(?:\|[^)]*)?\)", "<Q>"), "rest": (r"(?<=<F>)\s+.*", "  <REST>")}
    words = dict({"<NS>": c["ns"], "<BROKER>": b, "<WORK>": w}, **{"{%s}" % k: v for k, v in f.items()})
    for x in json.load(open(os.path.join(HERE, "options.json"))) if c["five"] else []:
        args = []
        for a in x["args"]:
            for k, v in words.items(): a = a.replace(k, v)
            args.append(a)
        add(x["name"], args, ns=False, masks=[masks[m] for m in x.get("masks", [])], loose=x.get("loose"), file=x.get("file"))
    return P
`},
}

// recorder makes a copy of the recorder with the changes, and returns its script.
func recorder(peer, work string) (string, error) {
	dir := filepath.Join(work, "recorder")
	if err := os.CopyFS(dir, os.DirFS(peer)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "options.json"), optionsText, 0o644); err != nil {
		return "", err
	}
	for _, c := range changes {
		file := filepath.Join(dir, c[0])
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if !bytes.Contains(text, []byte(c[1])) {
			return "", fmt.Errorf("%s has no %q", c[0], c[1])
		}
		if err := errors.Join(os.Chmod(file, 0o644), os.WriteFile(file, bytes.ReplaceAll(text, []byte(c[1]), []byte(c[2])), 0o644)); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "run.py"), nil
}

// collect starts the servers and runs the commands.
func collect(ctx context.Context, s settings, work, results string) (err error) {
	c, err := start(ctx, s, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	script, err := recorder(s.peer, work)
	if err != nil {
		return err
	}
	args := []string{
		script, "run", "--namesrv", c.namesrv(), "--controller", c.controller(), "--version", s.version,
		"--out", results,
	}
	if s.jars != "" {
		args = append(args, "--jars", s.jars)
	}
	log, err := os.Create(filepath.Join(work, "run.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	limited, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limited, "python3", args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run.py: %w, see %s", err, log.Name())
	}
	return nil
}
