// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// row is one case of a suite's table: result, sent, received, dups.
type row struct {
	name   string
	fields []string
}

// table is the output of a suite; lines that start with # carry the reasons of failures.
type table struct {
	rows  []row
	notes []string
}

func parseTable(text string) (table, error) {
	var t table
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "#"):
			t.notes = append(t.notes, line)
		case len(cells) == 5 && strings.TrimSpace(cells[0]) != "case":
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			t.rows = append(t.rows, row{cells[0], cells[1:]})
		}
	}
	if len(t.rows) == 0 {
		return t, errors.New("no table in the output")
	}
	return t, nil
}

func (t table) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s | %-6s | %6s | %8s | %5s\n", "case", "result", "sent", "received", "dups")
	for _, r := range t.rows {
		fmt.Fprintf(&b, "%-20s | %-6s | %6s | %8s | %5s\n", r.name, r.fields[0], r.fields[1], r.fields[2], r.fields[3])
	}
	for _, n := range t.notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func (t table) only(names []string) table {
	return table{rows: slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool { return !slices.Contains(names, r.name) })}
}

func (t table) find(name string) (row, bool) {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, false
	}
	return t.rows[i], true
}

func (t table) failures() error {
	var names []string
	for _, r := range t.rows {
		if r.fields[0] == "fail" {
			names = append(names, r.name)
		}
	}
	if names != nil {
		return fmt.Errorf("failed: %s\n%s", strings.Join(names, " "), strings.Join(t.notes, "\n"))
	}
	return nil
}

// compare prints both tables side by side and fails if any case differs. known are the cases that may, with the
// reason; one that does not differ any more fails too, so that the list only shrinks.
func compare(w io.Writer, wantName string, want table, gotName string, got table, known map[string]string) error {
	fmt.Fprintf(w, "%-20s | %-34s | %-34s\n", "", wantName, gotName)
	cells := func(r row, ok bool) string {
		if !ok {
			return "missing"
		}
		return fmt.Sprintf("%-6s %6s %8s %5s", r.fields[0], r.fields[1], r.fields[2], r.fields[3])
	}
	names := make([]string, 0, len(want.rows))
	for _, r := range want.rows {
		names = append(names, r.name)
	}
	for _, r := range got.rows {
		if _, ok := want.find(r.name); !ok {
			names = append(names, r.name)
		}
	}
	differ, excused := 0, 0
	for _, n := range names {
		a, aok := want.find(n)
		b, bok := got.find(n)
		same := aok && bok && slices.Equal(a.fields, b.fields)
		reason, isKnown := known[n]
		mark := ""
		switch {
		case same && isKnown:
			mark = "  DIFFERS NO MORE: take it off the list of known differences"
			differ++
		case !same && isKnown:
			mark = "  known: " + reason
			excused++
		case !same:
			mark = "  DIFFERS"
			differ++
		}
		fmt.Fprintf(w, "%-20s | %-34s | %-34s%s\n", n, cells(a, aok), cells(b, bok), mark)
	}
	for _, n := range got.notes {
		fmt.Fprintln(w, n)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", len(names)-differ-excused, differ, excused)
	if differ > 0 {
		return fmt.Errorf("%d of %d cases differ", differ, len(names))
	}
	return nil
}

// readKnown reads the known differences of a client (CLIENT or CLIENT@COMPAT): lines of client, case and reason; # starts a comment.
func readKnown(file, client string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		f := strings.Fields(line)
		if len(f) < 3 {
			return nil, fmt.Errorf("%s: a line needs client, case and reason: %q", file, line)
		}
		if f[0] == client {
			known[f[1]] = strings.Join(f[2:], " ")
		}
	}
	return known, nil
}

func compareFiles(_ context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%w: compare A.txt B.txt", errUsage)
	}
	var tables [2]table
	for i, f := range args {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if tables[i], err = parseTable(string(text)); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return compare(os.Stdout, args[0], tables[0], args[1], tables[1], nil)
}
