// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"bufio"
	"bytes"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"rocketmq-go/message"
)

var verdictTable = flag.String("verdicts", "testdata/verdicts.txt", "table of Verdicts.java")

// unescape undoes \t \n \r \f \\ and \uxxxx (UTF-16 units).
func unescape(t *testing.T, s string) string {
	s, err := strconv.Unquote(`"` + strings.NewReplacer(`"`, `\"`, `\ud83d\ude00`, "\U0001F600").Replace(s) + `"`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines reads a file without its comments.
func lines(t *testing.T, name string) []string {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			list = append(list, s.Text())
		}
	}
	return list
}

// messages are the encoded properties of testdata/messages.txt.
func messages(t *testing.T) [][]byte {
	var all [][]byte
	for _, line := range lines(t, "testdata/messages.txt") {
		var encoded []byte
		for pair := range strings.SplitSeq(line, "\t") {
			if name, v, ok := strings.Cut(pair, "="); ok {
				encoded = message.AppendProperty(encoded, name, unescape(t, v))
			}
		}
		all = append(all, encoded)
	}
	return all
}

var letters = map[Result]string{Null: "n", False: "F", True: "T", Failed: "x"}

// TestVerdicts compares with what Java's filter says of the expressions: refused and why, or what they come to.
func TestVerdicts(t *testing.T) {
	all := messages(t)
	table := lines(t, *verdictTable)
	wrong := 0
	for _, line := range table {
		column := strings.Split(line, "\t")
		expression := unescape(t, column[0])
		var got string
		if f, err := Compile(expression); err != nil {
			got = err.Error()
		} else {
			for _, m := range all {
				got += letters[f.Eval(m)]
			}
		}
		want := column[1]
		if want == "refused" {
			want = unescape(t, column[2])
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", column[0], got, want)
			if wrong++; wrong > 20 {
				t.Fatal("and more")
			}
		}
	}
	t.Log(len(table), "expressions on", len(all), "messages")
}
