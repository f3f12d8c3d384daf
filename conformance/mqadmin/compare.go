// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// output is what one invocation of mqadmin did: the lines of its parts, in their order, with blanks joined.
type output struct {
	loose bool   // its rows depend on timing
	exit  string // the line "# exit N"
	parts map[string][]string
}

// calls is the part with the requests that were sent and the codes of their answers.
const calls = "calls"

var blanks = regexp.MustCompile(`\s+`)

// routePoll is the call with which 4.x tools look for routes in the background, if they run long enough.
const routePoll = "<NS> 105 -> 0"

// load reads the outputs in a folder.
func load(dir string) (map[string]*output, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no outputs in %s", dir)
	}
	all := map[string]*output{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = parse(string(text))
	}
	return all, nil
}

// withoutPolls leaves out what tools of 4.x ask in the background.
func withoutPolls(all map[string]*output, version string) map[string]*output {
	if strings.HasPrefix(version, "4.") {
		for _, o := range all {
			o.parts[calls] = slices.DeleteFunc(o.parts[calls], func(line string) bool { return line == routePoll })
		}
	}
	return all
}

func parse(text string) *output {
	o := &output{parts: map[string][]string{}}
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(blanks.ReplaceAllString(line, " "))
		switch name, isPart := strings.CutPrefix(line, "--- "); {
		case isPart:
			part, _, _ = strings.Cut(name, " ")
		case part == "" && line == "# loose":
			o.loose = true
		case part == "" && strings.HasPrefix(line, "# exit ended"):
			o.exit = "# exit ended" // after how long is the recorder's choice
		case part == "" && strings.HasPrefix(line, "# exit"):
			o.exit = line
		case part != "" && line != "":
			o.parts[part] = append(o.parts[part], line)
		}
	}
	return o
}

// differences are the lines that only one of two outputs has: "- " of the recorded one, "+ " of ours. The order of lines
// is that of hash tables and says nothing.
func differences(golden, got *output) []string {
	if got == nil {
		return []string{"- the output"}
	}
	if golden.loose && sameShape(golden, got) {
		return nil
	}
	var diff []string
	if golden.exit != got.exit {
		diff = append(diff, "- "+golden.exit, "+ "+got.exit)
	}
	names := slices.Collect(maps.Keys(golden.parts))
	for name := range got.parts {
		if golden.parts[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if name == calls && golden.loose {
			continue
		}
		diff = append(diff, missing("- ", golden.parts[name], got.parts[name])...)
		diff = append(diff, missing("+ ", got.parts[name], golden.parts[name])...)
	}
	return diff
}

// missing are the lines of a that b does not have as often, sorted.
func missing(prefix string, a, b []string) []string {
	count := map[string]int{}
	for _, line := range b {
		count[line]++
	}
	var lines []string
	for _, line := range a {
		if count[line]--; count[line] < 0 {
			lines = append(lines, prefix+line)
		}
	}
	slices.Sort(lines)
	return lines
}

var numbers = regexp.MustCompile(`<\w+>|\d+`)

// sameShape compares what does not depend on timing: the first line, errors, exit state.
func sameShape(a, b *output) bool {
	first := func(o *output) string {
		var lines []string
		for _, line := range o.parts["stdout"] {
			lines = append(lines, numbers.ReplaceAllString(line, "#"))
		}
		if len(lines) == 0 {
			return ""
		}
		return slices.Min(lines)
	}
	return first(a) == first(b) && slices.Equal(a.parts["stderr"], b.parts["stderr"]) && a.exit == b.exit
}

// report prints a line per invocation that differs, and fails if one of them is not known, or a known one is the same.
func report(w io.Writer, version string, golden, got map[string]*output, known *list) error {
	same, expected, failed := 0, 0, 0
	fail := func(format string, args ...any) {
		failed++
		fmt.Fprintf(w, "FAIL "+format+"\n", args...)
	}
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		diff := differences(golden[name], got[name])
		k := known.find(version, name)
		switch {
		case k == nil && len(diff) == 0:
			same++
		case k == nil:
			fail("%s\n    %s", name, strings.Join(diff, "\n    "))
		case len(diff) == 0 && k.timing():
			same++
		case len(diff) == 0:
			fail("%s is the same: take it off the list of known differences (%s)", name, k.reason)
		case !k.covers(diff):
			fail("%s differs in another way than is known (%s)\n    %s", name, k.reason, strings.Join(diff, "\n    "))
		default:
			expected++
			fmt.Fprintf(w, "known %-32s %s\n", name, k.reason)
		}
	}
	for _, k := range known.entries {
		if k.version == version && golden[k.name] == nil {
			fail("%s is on the list of known differences, and was not recorded", k.name)
		}
	}
	fmt.Fprintf(w, "mqadmin %s: %d invocations, %d the same, %d known differences, %d failures\n",
		version, len(golden), same, expected, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d invocations failed", failed, len(golden))
	}
	return nil
}
