// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `
case                 | result |   sent | received |  dups
sync                 | ok     |     64 |       64 |     0
rebalance            | ok     |    160 |      160 |   any
pop                  | unsup  |      - |        - |     -
# rebalance: 2 received twice
`

func parsed(t *testing.T, text string) table {
	t.Helper()
	tab, err := parseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestTableTextParsesAgain(t *testing.T) {
	first := parsed(t, sample)
	if len(first.rows) != 3 || len(first.notes) != 1 {
		t.Fatalf("%d rows, %d notes", len(first.rows), len(first.notes))
	}
	if again := parsed(t, first.text()); again.text() != first.text() {
		t.Errorf("%s\nbecame\n%s", first.text(), again.text())
	}
	if _, err := parseTable("no table here\n"); err == nil {
		t.Error("text without a table was taken")
	}
}

func TestCompare(t *testing.T) {
	known := map[string]string{"pop": "not there yet"}
	for _, c := range []struct {
		name, got string
		known     map[string]string
		fails     string // part of the output at the failing case, "" for success
	}{
		{name: "equal", got: sample},
		{name: "lost message", got: strings.Replace(sample, "64 |     0", "63 |     0", 1), fails: "DIFFERS"},
		{name: "duplicate", got: strings.Replace(sample, "64 |     0", "64 |     1", 1), fails: "DIFFERS"},
		{name: "missing case", got: strings.Replace(sample, "sync ", "#sync", 1), fails: "missing"},
		{name: "additional case", got: sample + "new | ok | 1 | 1 | 0\n", fails: "missing"},
		{name: "known", got: strings.Replace(sample, "unsup", "fail", 1), known: known},
		{name: "known no more", got: sample, known: known, fails: "DIFFERS NO MORE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := compare(&out, "want", parsed(t, sample), "got", parsed(t, c.got), c.known)
			if (err != nil) != (c.fails != "") || !strings.Contains(out.String(), c.fails) {
				t.Errorf("error %v\n%s", err, out.String())
			}
		})
	}
}

func TestReadKnown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("# comment\n\ngo pop two words\njava533 timer other\n")
	known, err := readKnown(file, "go")
	if err != nil || len(known) != 1 || known["pop"] != "two words" {
		t.Errorf("%v %v", known, err)
	}
	write("go pop\n")
	if _, err := readKnown(file, "go"); err == nil {
		t.Error("a line without a reason was taken")
	}
}

func TestExpectedTablesAreClean(t *testing.T) {
	files, err := filepath.Glob("../expected/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if tab := parsed(t, string(text)); tab.failures() != nil || len(tab.notes) != 0 {
			t.Errorf("%s: %v %v", f, tab.failures(), tab.notes)
		}
	}
}
