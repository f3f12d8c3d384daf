// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// adminKeys are set for the calls of the administration beside conformance/broker.conf.
var adminKeys = map[string]string{
	"authenticationMetadataProvider": "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider",
	"authorizationMetadataProvider":  "org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider",
}

// admin makes the calls of the console and of the exporter, with Java's tools, and compares what they return with what
// they returned for Apache's servers.
func admin(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("admin", flag.ExitOnError)
	clusterFlags(fs, &s)
	tools := fs.String("tools", "5.3.3", "version of the tools: that of the console 2.1.0, or 4.9.7")
	record := fs.Bool("record", false, "write the answers as the expected ones instead of comparing")
	results := fs.String("results", "", "compare the answers in this file instead of running anything")
	_ = fs.Parse(args)
	if err := s.complete(); err != nil {
		return err
	}
	s.extra = adminKeys
	name := "admin" + strings.ReplaceAll(*tools, ".", "")
	expect := filepath.Join(s.root, "conformance", "expected", s.expectedBroker()+"."+name+".answers")
	var output string
	var err error
	if *results != "" {
		var text []byte
		text, err = os.ReadFile(*results)
		output = string(text)
	} else {
		output, err = runAdmin(ctx, s, *tools)
	}
	if err != nil {
		return err
	}
	got, err := parseAnswers(output)
	if err != nil {
		return err
	}
	if *record {
		return os.WriteFile(expect, []byte(output), 0o644)
	}
	file := filepath.Join(s.root, "build", "conformance", s.label()+"."+name+".answers")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(output), 0o644)); err != nil {
		return err
	}
	text, err := os.ReadFile(expect)
	if err != nil {
		return err
	}
	want, err := parseAnswers(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", expect, err)
	}
	known, err := readKnownAnswers(filepath.Join(s.root, "conformance", "admin-known.txt"), name)
	if err != nil {
		return err
	}
	if s.brokerKind != "ours" {
		known = nil
	}
	return compareAnswers(os.Stdout, want, got, known)
}

func runAdmin(ctx context.Context, s settings, tools string) (string, error) {
	driver, err := javaSuite(ctx, s, "javaadmin", tools, "rocketmqgo.admin.Main")
	if err != nil {
		return "", err
	}
	c, err := startCluster(ctx, s)
	if err != nil {
		return "", err
	}
	output, runErr := driver.run(ctx, c)
	if err := errors.Join(runErr, c.stop()); err != nil {
		return "", fmt.Errorf("%w; logs and stores are kept in %s", err, c.work)
	}
	c.removeWork()
	return output, nil
}

// answers are what the calls returned: by page and call, each value by its place.
type answers struct {
	calls  []string // page and call
	values map[string]map[string]string
}

func parseAnswers(text string) (answers, error) {
	a := answers{values: map[string]map[string]string{}}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		var v any
		if len(f) != 3 {
			return a, fmt.Errorf("no answer of a call: %q", line)
		}
		if err := json.Unmarshal([]byte(f[2]), &v); err != nil {
			return a, fmt.Errorf("%q: %w", line, err)
		}
		call := f[0] + " " + f[1]
		if a.values[call] != nil {
			return a, fmt.Errorf("%s comes twice", call)
		}
		a.calls = append(a.calls, call)
		a.values[call] = map[string]string{}
		flatten(a.values[call], "", v)
	}
	if a.calls == nil {
		return a, errors.New("no answers in the output")
	}
	return a, nil
}

// flatten notes the values in v by their place: names of fields, numbers of elements, and texts of lists themselves, whose
// order means nothing.
func flatten(into map[string]string, place string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(into, place+"/"+strings.ReplaceAll(k, "/", "|"), x)
		}
	case []any:
		for i, x := range v {
			if s, ok := x.(string); ok {
				into[place+"/"+strings.ReplaceAll(s, "/", "|")] = "is there"
				continue
			}
			flatten(into, fmt.Sprintf("%s/%d", place, i), x)
		}
	}
	if m, ok := v.(map[string]any); !ok || len(m) == 0 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if list, ok := v.([]any); ok {
			v = fmt.Sprintf("%d elements", len(list))
		}
		_ = e.Encode(v)
		into[place] = strings.TrimSpace(b.String())
	}
}

// knownAnswer is a difference that is meant.
type knownAnswer struct {
	call, place, reason string // call and place may be patterns of path.Match; /** is every place
	met                 bool
}

func (k *knownAnswer) covers(call, place string) bool {
	if ok, _ := path.Match(k.call, call); !ok {
		return false
	}
	ok, _ := path.Match(k.place, place)
	return ok || k.place == "/**"
}

// readKnownAnswers reads the known differences of some tools: lines of tools, page and call, place and reason, with tabulators
// between them; # starts a comment.
func readKnownAnswers(file, tools string) ([]*knownAnswer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var known []*knownAnswer
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[3] == "" {
			return nil, fmt.Errorf("%s: a line needs tools, call, place and reason: %q", file, line)
		}
		if slices.Contains(strings.Split(f[0], ","), tools) {
			known = append(known, &knownAnswer{call: f[1], place: f[2], reason: f[3]})
		}
	}
	return known, nil
}

// compareAnswers reports each value that differs and fails if one is not known, or if a known one differs no more. What
// is known as "timing" may come and go.
func compareAnswers(w io.Writer, want, got answers, known []*knownAnswer) error {
	excuse := func(call, place string) bool {
		for _, k := range known {
			if k.covers(call, place) {
				k.met = true
				return true
			}
		}
		return false
	}
	same, excused, differ := 0, 0, 0
	calls := slices.Clone(want.calls)
	for _, c := range got.calls {
		if want.values[c] == nil {
			calls = append(calls, c)
		}
	}
	for _, call := range calls {
		a, b := want.values[call], got.values[call]
		var bad []string
		ok := true
		for _, place := range slices.Sorted(maps.Keys(union(a, b))) {
			x, inA := a[place]
			y, inB := b[place]
			if inA == inB && x == y {
				continue
			}
			ok = false
			if !excuse(call, place) {
				bad = append(bad, fmt.Sprintf("    %s: want %s, got %s", place, orNothing(x, inA), orNothing(y, inB)))
			}
		}
		switch {
		case ok:
			same++
		case bad == nil:
			excused++
		default:
			differ++
			fmt.Fprintf(w, "%s differs:\n%s\n", call, strings.Join(bad, "\n"))
		}
	}
	for _, k := range known {
		if !k.met && !strings.HasPrefix(k.reason, "timing") {
			differ++
			fmt.Fprintf(w, "%s %s DIFFERS NO MORE: take it off the list of known differences\n", k.call, k.place)
		}
	}
	fmt.Fprintf(w, "%d calls: %d the same, %d known to differ, %d not\n", len(calls), same, excused, differ)
	if differ > 0 {
		return fmt.Errorf("%d differences that are not known", differ)
	}
	return nil
}

func union(a, b map[string]string) map[string]string {
	u := maps.Clone(a)
	if u == nil {
		return b
	}
	maps.Copy(u, b)
	return u
}

func orNothing(value string, there bool) string {
	if !there {
		return "nothing"
	}
	return value
}
