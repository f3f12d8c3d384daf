// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"rocketmq-go/admin/mqadmin"
)

//go:embed testdata/recorded-5.3.3.txt.gz
var recordedText []byte

// recordings are the outputs of Java's mqadmin 5.3.3 on Apache's 5.3.3.
func recordings() (map[string]*output, error) {
	z, err := gzip.NewReader(bytes.NewReader(recordedText))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	all := map[string]*output{}
	for part := range strings.SplitSeq("\n"+string(text), "\n=== ") {
		if name, body, ok := strings.Cut(part, "\n"); ok && name != "" {
			all[name] = parse(body)
		}
	}
	return all, nil
}

// The generated part of docs/mqadmin.md.
const (
	tableBegin = "<!-- made by conformance/mqadmin --table, from the lists that the comparisons keep -->\n"
	tableEnd   = "<!-- end -->\n"
)

// combinations are the columns of the table: versions in the list of known differences.
var combinations = [][2]string{
	{"5.3.3", "Java's tool, our servers"}, {"ours", "our tool, our servers"}, {"ours-java", "our tool, Apache's servers"},
}

// tableText is a row for each sub-command that was recorded: what the comparisons of its invocations say.
func tableText(recorded map[string]*output, known *list) string {
	byCommand := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		command, _, _ := strings.Cut(name, ".")
		byCommand[command] = append(byCommand[command], name)
	}
	var b strings.Builder
	same := make([]int, len(combinations))
	head, line := "| command | invocations", "| --- | ---"
	for _, c := range combinations {
		head, line = head+" | "+c[1], line+" | ---"
	}
	fmt.Fprintf(&b, "%s |\n%s |\n", head, line)
	row := func(command string) {
		names := byCommand[command]
		delete(byCommand, command)
		if len(names) == 0 {
			return
		}
		fmt.Fprintf(&b, "| %s | %d", command, len(names))
		for i, c := range combinations {
			cell, n := cellText(names, c[0], known)
			same[i] += n
			b.WriteString(" | " + cell)
		}
		b.WriteString(" |\n")
	}
	for _, c := range mqadmin.Commands() {
		row(c.Name)
	}
	for _, command := range slices.Sorted(maps.Keys(byCommand)) { // the list itself, wrong usage
		row(command)
	}
	fmt.Fprintf(&b, "| all | %d", len(recorded))
	for _, n := range same {
		fmt.Fprintf(&b, " | %d same", n)
	}
	b.WriteString(" |\n")
	return b.String()
}

// cellText says how some invocations compare, and how many are the same.
func cellText(names []string, version string, known *list) (string, int) {
	same := 0
	var reasons []string
	for _, name := range names {
		k := known.find(version, name)
		if k == nil {
			same++
		} else if !slices.Contains(reasons, k.reason) {
			reasons = append(reasons, k.reason)
		}
	}
	switch {
	case len(reasons) == 0:
		return "same", same
	case same == 0:
		return strings.Join(reasons, "; "), same
	}
	return fmt.Sprintf("%d same; %s", same, strings.Join(reasons, "; ")), same
}

// withTable replaces the table in a text.
func withTable(text, table string) (string, error) {
	before, rest, ok := strings.Cut(text, tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return "", fmt.Errorf("no place for the table: want the lines %q and %q", tableBegin, tableEnd)
	}
	return before + tableBegin + table + tableEnd + after, nil
}

// writeTable brings the table in a file up to date.
func writeTable(path, knownPath string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	recorded, err := recordings()
	if err != nil {
		return err
	}
	known, err := readKnown(knownPath)
	if err != nil {
		return err
	}
	changed, err := withTable(string(text), tableText(recorded, known))
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}
