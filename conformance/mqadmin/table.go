// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"rocketmq-go/admin/mqadmin"
	"rocketmq-go/compat"
)

//go:embed testdata/*.gz
var recordedTexts embed.FS

// recordings are the outputs of Java's mqadmin of one version on Apache's servers of a release ("" for 5.3.3), packed:
//
//	for f in *.txt; do echo "=== ${f%.txt}"; cat $f; done | gzip -9n
func recordings(version, release string) (map[string]*output, error) {
	name := version
	if release = cmp.Or(release, compat.Release533); release != version {
		name += "-on-" + release
	}
	packed, err := recordedTexts.ReadFile("testdata/recorded-" + name + ".txt.gz")
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
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

// The generated parts of docs/mqadmin.md.
const (
	tableBegin = "<!-- made by conformance/mqadmin --table, from the lists that the comparisons keep -->\n"
	tableEnd   = "<!-- end -->\n"
)

// overview is a table of what the comparisons say: a row for each sub-command, a column for some tool on some servers.
type overview struct {
	release string      // of the recorded servers
	columns [][2]string // version in the list of known differences, title
	brief   bool        // only rows with differences
}

var overviews = []overview{
	{release: compat.Release533, columns: [][2]string{{"5.3.3", "Java's tool, our servers"}, {"ours", "our tool, our servers"}, {"ours-java", "our tool, Apache's servers"}}},
	{release: compat.Release497, columns: [][2]string{
		{"4.9.7", "Java's tool 4.9.7, our servers"},
		{"4.9.7@4.9.7", "Java's tool 4.9.7, our servers as 4.9.7"},
		{"ours@4.9.7", "our tool, our servers as 4.9.7"},
		{"ours-java@4.9.7", "our tool, Apache's 4.9.7"},
	}, brief: true},
}

// text is the table for the invocations with some names.
func (o overview) text(invocations []string, known *list) string {
	byCommand := map[string][]string{}
	for _, name := range slices.Sorted(slices.Values(invocations)) {
		command, _, _ := strings.Cut(name, ".")
		byCommand[command] = append(byCommand[command], name)
	}
	var b strings.Builder
	same := make([]int, len(o.columns))
	head, line := "| command | invocations", "| --- | ---"
	for _, c := range o.columns {
		head, line = head+" | "+c[1], line+" | ---"
	}
	fmt.Fprintf(&b, "%s |\n%s |\n", head, line)
	row := func(command string) {
		names := byCommand[command]
		delete(byCommand, command)
		text, differ := fmt.Sprintf("| %s | %d", command, len(names)), false
		for i, c := range o.columns {
			cell, n := cellText(names, c[0], known)
			same[i] += n
			differ = differ || n < len(names)
			text += " | " + cell
		}
		if len(names) > 0 && (differ || !o.brief) {
			b.WriteString(text + " |\n")
		}
	}
	for _, c := range mqadmin.Commands() {
		row(c.Name)
	}
	for _, command := range slices.Sorted(maps.Keys(byCommand)) { // the list itself, wrong usage
		row(command)
	}
	fmt.Fprintf(&b, "| all | %d", len(invocations))
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

// withTables replaces the tables in a text.
func withTables(text string, known *list) (string, error) {
	var b strings.Builder
	for _, o := range overviews {
		recorded, err := recordings(compat.Release533, o.release)
		if err != nil {
			return "", err
		}
		before, rest, ok := strings.Cut(text, tableBegin)
		_, after, ended := strings.Cut(rest, tableEnd)
		if !ok || !ended {
			return "", fmt.Errorf("no place for a table: want the lines %q and %q", tableBegin, tableEnd)
		}
		b.WriteString(before + tableBegin + o.text(slices.Collect(maps.Keys(recorded)), known) + tableEnd)
		text = after
	}
	return b.String() + text, nil
}

// writeTables brings the tables in a file up to date.
func writeTables(path, knownPath string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known, err := readKnown(knownPath)
	if err != nil {
		return err
	}
	changed, err := withTables(string(text), known)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}
