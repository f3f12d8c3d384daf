// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// list is the file of known differences:
//
//	# comments
//	VERSION INVOCATION REASON …
//		- a line of Apache's output that ours does not have
//		+ a line of ours that Apache's does not have
//
// Without lines the whole output may differ. With a reason that begins with "timing" it may also be the same, or differ in
// some of the lines only; with "pending", for what our servers do not have yet, it may also be the same.
type list struct {
	head    string // the comments at the beginning
	entries []*entry
}

type entry struct {
	version, name, reason string
	lines                 []string
}

func (e *entry) timing() bool {
	return strings.HasPrefix(e.reason, "timing") || strings.HasPrefix(e.reason, "pending")
}

// covers tells whether a difference is the known one.
func (e *entry) covers(diff []string) bool {
	switch {
	case len(e.lines) == 0:
		return true
	case !e.timing():
		return slices.Equal(diff, e.lines)
	}
	for _, line := range diff {
		if !slices.Contains(e.lines, line) {
			return false
		}
	}
	return true
}

func readKnown(path string) (*list, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseKnown(string(text))
}

func parseKnown(text string) (*list, error) {
	l := &list{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			l.head += line + "\n"
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t"):
			if len(l.entries) == 0 {
				return nil, fmt.Errorf("line of a difference before the first one: %q", line)
			}
			e := l.entries[len(l.entries)-1]
			e.lines = append(e.lines, strings.TrimPrefix(line, "\t"))
		default:
			words := strings.SplitN(line, " ", 3)
			if len(words) < 3 {
				return nil, fmt.Errorf("a known difference needs version, invocation and reason: %q", line)
			}
			l.entries = append(l.entries, &entry{version: words[0], name: words[1], reason: words[2]})
		}
	}
	return l, nil
}

func (l *list) find(version, name string) *entry {
	for _, e := range l.entries {
		if e.version == version && e.name == name {
			return e
		}
	}
	return nil
}

// record replaces the lines of the entries that have some by those of a run, and drops entries that do not differ.
func (l *list) record(version string, golden, got map[string]*output) {
	var kept []*entry
	for _, e := range l.entries {
		if e.version == version && golden[e.name] != nil {
			diff := differences(golden[e.name], got[e.name])
			if len(diff) == 0 && !e.timing() {
				continue
			}
			if len(e.lines) > 0 && !e.timing() {
				e.lines = diff
			}
		}
		kept = append(kept, e)
	}
	l.entries = kept
}

func (l *list) String() string {
	var b strings.Builder
	b.WriteString(l.head)
	for _, e := range l.entries {
		fmt.Fprintf(&b, "%s %s %s\n", e.version, e.name, e.reason)
		for _, line := range e.lines {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	return b.String()
}
