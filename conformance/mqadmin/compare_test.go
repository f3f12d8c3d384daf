// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"slices"
	"strings"
	"testing"
)

const recorded = `# mqadmin topicStatus -t T -n <NS>
# exit 0
--- calls
<NS> 105 -> 0
<BROKER> 202 -> 0
--- stdout
#Broker Name   #QID
broker-a       0
broker-a       1
--- stderr
--- file x.json
{
`

func TestDifferences(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new string
		want     []string
	}{
		{"nothing", "", "", nil},
		{"blanks", "broker-a       0", "broker-a 0", nil},
		{"order", "broker-a       0\nbroker-a       1", "broker-a 1\nbroker-a 0", nil},
		{"a line twice", "broker-a       1", "broker-a 1\nbroker-a 1", []string{"+ broker-a 1"}},
		{"a line", "broker-a       1", "broker-a 7", []string{"- broker-a 1", "+ broker-a 7"}},
		{"a call", "202 -> 0", "202 -> 1", []string{"- <BROKER> 202 -> 0", "+ <BROKER> 202 -> 1"}},
		{"exit", "exit 0", "exit 1", []string{"- # exit 0", "+ # exit 1"}},
		{"an error", "--- stderr\n", "--- stderr\nException\n", []string{"+ Exception"}},
		{"a file", "{", "{}", []string{"- {", "+ {}"}},
	} {
		if got := differences(parse(recorded), parse(strings.Replace(recorded, c.old, c.new, 1))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	if got := differences(parse(recorded), nil); len(got) == 0 {
		t.Error("an output that is not there differs")
	}
}

// Rows of loose outputs may differ, their head and errors may not.
func TestLoose(t *testing.T) {
	loose := strings.Replace(recorded, "--- calls", "# loose\n--- calls", 1)
	rows := strings.ReplaceAll(strings.Replace(loose, "broker-a       1\n", "", 1), "202 -> 0", "202 -> 1")
	if got := differences(parse(loose), parse(rows)); got != nil {
		t.Errorf("rows: %q", got)
	}
	for _, other := range []string{
		strings.Replace(loose, "#QID", "#Queue", 1), strings.Replace(loose, "--- stderr\n", "--- stderr\nException\n", 1),
	} {
		if got := differences(parse(loose), parse(other)); got == nil {
			t.Errorf("no difference in %s", other)
		}
	}
}

func TestReport(t *testing.T) {
	golden := map[string]*output{"same": parse(recorded), "changed": parse(recorded)}
	got := map[string]*output{"same": parse(recorded), "changed": parse(strings.Replace(recorded, "broker-a       1", "x", 1))}
	for _, c := range []struct {
		what, known string
		fails       string
	}{
		{"unknown", "", "FAIL changed\n"},
		{"known", "5.3.3 changed reason\n\t- broker-a 1\n\t+ x\n", ""},
		{"known without lines", "5.3.3 changed reason\n", ""},
		{"of another version", "4.9.7 changed reason\n", "FAIL changed\n"},
		{"known otherwise", "5.3.3 changed reason\n\t+ y\n", "FAIL changed differs in another way"},
		{"known, the same", "5.3.3 changed reason\n5.3.3 same reason\n", "FAIL same is the same"},
		{"timing, the same", "5.3.3 changed reason\n5.3.3 same timing: of a row\n", ""},
		{"timing, some of the lines", "5.3.3 changed timing: of a row\n\t+ w\n\t- broker-a 1\n\t+ x\n", ""},
		{"timing, another line", "5.3.3 changed timing: of a row\n\t- broker-a 1\n", "FAIL changed differs"},
		{"known, not there", "5.3.3 changed reason\n5.3.3 gone reason\n", "FAIL gone is on the list"},
	} {
		known, err := parseKnown("# head\n" + c.known)
		if err != nil {
			t.Fatal(err)
		}
		if known.String() != "# head\n"+c.known {
			t.Errorf("%s: written as %q", c.what, known)
		}
		var w strings.Builder
		err = report(&w, "5.3.3", golden, got, known)
		if (err != nil) != (c.fails != "") || !strings.Contains(w.String(), c.fails) {
			t.Errorf("%s: %v, %s", c.what, err, &w)
		}
	}
	if _, err := parseKnown("\tline\n"); err == nil {
		t.Error("lines of no invocation")
	}
	if _, err := parseKnown("5.3.3 name\n"); err == nil {
		t.Error("no reason")
	}
}

func TestRecord(t *testing.T) {
	golden := map[string]*output{"same": parse(recorded), "changed": parse(recorded)}
	got := map[string]*output{"same": parse(recorded), "changed": parse(strings.Replace(recorded, "broker-a       1", "x", 1))}
	known, err := parseKnown("4.9.7 same other\n5.3.3 same a\n5.3.3 changed b\n\t+ old\n")
	if err != nil {
		t.Fatal(err)
	}
	known.record("5.3.3", golden, got)
	if want := "4.9.7 same other\n5.3.3 changed b\n\t- broker-a 1\n\t+ x\n"; known.String() != want {
		t.Errorf("%s", known)
	}
}
