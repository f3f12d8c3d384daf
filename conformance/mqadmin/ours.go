// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"rocketmq-go/admin/mqadmin"
)

// The plan is that of the recorder, with more options at the end.
var (
	//go:embed plan.json
	planText []byte
	//go:embed options.json
	optionsText []byte
)

// step is one invocation of the plan.
type step struct {
	Name   string
	Args   []string
	Masks  []string
	Loose  bool    // its rows depend on timing
	Before bool    // comes before the scenario
	Kill   float64 // it never ends: seconds after which it is stopped
	File   string  // that it writes
}

func plan() ([]step, error) {
	var steps, options []step
	err := errors.Join(json.Unmarshal(planText, &steps), json.Unmarshal(optionsText, &options))
	return append(steps, options...), err
}

// ours runs our tool, in this process, through the plan.
type ours struct {
	namesrv, broker, controller string
	release                     string // of the servers, "" for 5.3.3
	dial                        func(ctx context.Context, addr string) (net.Conn, error)
	work                        string
	recorded                    map[string]*output // whose clients' answers the scenario gives
	results                     string             // folder for the outputs, "" for none
}

const (
	topicsFile = `[{"topicName": "GoldList1", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}, {"topicName": "GoldList2", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}]`
	groupsFile = `[{"groupName": "GID_list1", "retryMaxTimes": 3}, {"groupName": "GID_list2", "retryMaxTimes": 3}]`
)

func (r *ours) run(ctx context.Context) (map[string]*output, error) {
	steps, err := plan()
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"topics.json": topicsFile, "groups.json": groupsFile} {
		if err := os.WriteFile(filepath.Join(r.work, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	m := newMasks(r.work, map[string]string{r.namesrv: "<NS>", r.broker: "<BROKER>", r.controller: "<CONTROLLER>"})
	all := map[string]*output{}
	var s *scene
	for _, step := range steps {
		if !step.Before && s == nil {
			if s, err = r.prepare(ctx); err != nil {
				return nil, fmt.Errorf("scenario: %w", err)
			}
			defer s.close()
		}
		var facts map[string]string
		if s != nil {
			facts = s.facts
		}
		text, err := r.invoke(ctx, step, facts, m)
		if err != nil {
			return nil, err
		}
		all[step.Name] = parse(text)
		if r.results != "" {
			if err := os.WriteFile(filepath.Join(r.results, step.Name+".txt"), []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func (r *ours) fill(arg string, facts map[string]string) string {
	arg = strings.NewReplacer("<NS>", r.namesrv, "<BROKER>", r.broker, "<CONTROLLER>", r.controller, "<WORK>", r.work).Replace(arg)
	for name, value := range facts {
		arg = strings.ReplaceAll(arg, "{"+name+"}", value)
	}
	return arg
}

// invoke runs one sub-command and returns what it did in the form of the recordings.
func (r *ours) invoke(ctx context.Context, s step, facts map[string]string, m *masks) (string, error) {
	args := make([]string, len(s.Args))
	for i, a := range s.Args {
		args[i] = r.fill(a, facts)
	}
	if s.Kill > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.Kill*float64(time.Second)))
		defer cancel()
	}
	var stdout, stderr, calls bytes.Buffer
	code := mqadmin.Run(ctx, mqadmin.Env{Stdout: &stdout, Stderr: &stderr, Dial: r.dial, Trace: &calls}, args)
	exit := fmt.Sprint(code)
	if s.Kill > 0 && ctx.Err() != nil {
		exit = "ended"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# mqadmin %s\n# exit %s\n", strings.Join(args, " "), exit)
	if s.Loose {
		b.WriteString("# loose\n")
	}
	part := func(title, text string, masks []string) {
		fmt.Fprintf(&b, "--- %s\n", title)
		for line := range strings.Lines(text) {
			b.WriteString(m.line(strings.TrimRight(line, "\n"), masks) + "\n")
		}
	}
	part("calls", calls.String(), nil)
	part("stdout", stdout.String(), s.Masks)
	part("stderr", stderr.String(), s.Masks)
	if s.File != "" {
		text, err := os.ReadFile(filepath.Join(r.work, s.File))
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		part("file "+s.File, string(text), s.Masks)
	}
	return b.String(), nil
}

var (
	javaRefusal  = regexp.MustCompile(`CODE: ?\d+ *DESC: ?.*`)
	brokerSuffix = regexp.MustCompile(` BROKER: \S+$`)
	toolPrefix   = regexp.MustCompile(`^mqadmin [a-zA-Z ]+: `)
)

const someError = "(an error)"

// comparable makes what Java's tool printed, or ours, what both are meant to say: the same on standard output; of errors
// code and remark; the exit state by our rule, since Java's is 0 for failures.
func (o *output) comparable() *output {
	c := &output{loose: o.loose, exit: o.exit, parts: map[string][]string{}}
	for name, lines := range o.parts {
		if name != calls && name != "stderr" {
			c.parts[name] = lines
		}
	}
	stderr := o.parts["stderr"]
	failed := slices.ContainsFunc(stderr, func(l string) bool {
		return strings.Contains(l, "SubCommandException") || strings.HasPrefix(l, "java.lang.RuntimeException")
	})
	ofJava := failed || slices.ContainsFunc(stderr, func(l string) bool { return strings.HasPrefix(l, "org.apache.") })
	switch {
	case ofJava && !failed: // printed on the way, not a failure
		return c
	case failed:
		c.exit = "# exit 1"
	case o.exit == "# exit 1" && len(stderr) == 1 && !toolPrefix.MatchString(stderr[0]):
		c.exit = "# exit 2" // wrong usage
		c.parts["stderr"] = stderr
		return c
	}
	if o.exit == "# exit 2" && !slices.ContainsFunc(stderr, toolPrefix.MatchString) {
		c.parts["stderr"] = stderr
		return c
	}
	var says []string
	for _, line := range stderr {
		if found := javaRefusal.FindString(line); found != "" {
			says = append(says, brokerSuffix.ReplaceAllString(found, ""))
		}
	}
	if len(says) == 0 && (failed || slices.ContainsFunc(stderr, toolPrefix.MatchString)) {
		says = []string{someError}
	}
	if says != nil {
		c.parts["stderr"] = says
	}
	return c
}

func comparableAll(all map[string]*output) map[string]*output {
	out := map[string]*output{}
	for name, o := range all {
		out[name] = o.comparable()
	}
	return out
}
