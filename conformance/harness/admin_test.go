// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompareAnswers(t *testing.T) {
	const want = "page\tfirst\t{\"result\":{\"a\":1,\"list\":[\"x\",\"y\"]}}\n" + "page\tsecond\t{\"error\":\"CODE: 17\"}\n"
	for _, x := range []struct {
		name, got, known string
		report           string // "": no difference that is not known
	}{
		{"the same", want, "", ""},
		{"another order of a list", strings.Replace(want, `"x","y"`, `"y","x"`, 1), "", ""},
		{"a value", strings.Replace(want, `"a":1`, `"a":2`, 1), "", "/result/a: want 1, got 2"},
		{"a known value", strings.Replace(want, `"a":1`, `"a":2`, 1), "tool\tpage f*\t/result/a\twhy\n", ""},
		{"known of other tools", strings.Replace(want, `"a":1`, `"a":2`, 1), "other\tpage first\t/result/a\twhy\n", "/result/a: want 1, got 2"},
		{"known and the same", want, "tool\tpage first\t/result/a\twhy\n", "DIFFERS NO MORE"},
		{"timing and the same", want, "tool\tpage first\t/result/a\ttiming: why\n", ""},
		{"an element", strings.Replace(want, `"x",`, "", 1), "", "/result/list/x: want is there, got nothing"},
		{"an error instead", strings.Replace(want, `{"error":"CODE: 17"}`, `{"result":null}`, 1), "", `/error: want "CODE: 17", got nothing`},
		{"all of a page", strings.Replace(want, `{"error":"CODE: 17"}`, `{"result":{"b":{"c":1}}}`, 1), "tool,other\tpage s*\t/**\twhy\n", ""},
		{"a call that is missing", want[:strings.Index(want, "\n")+1], "", `page second differs`},
		{"a call too many", want + "page\tthird\t{\"result\":null}\n", "", `page third differs`},
	} {
		file := filepath.Join(t.TempDir(), "known.txt")
		if err := os.WriteFile(file, []byte("# known\n"+x.known), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readKnownAnswers(file, "tool")
		if err != nil {
			t.Fatal(err)
		}
		a, err := parseAnswers(want)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseAnswers(x.got)
		if err != nil {
			t.Fatal(err)
		}
		var w strings.Builder
		err = compareAnswers(&w, a, b, known)
		if (err != nil) != (x.report != "") || !strings.Contains(w.String(), x.report) {
			t.Errorf("%s: %v\n%s", x.name, err, &w)
		}
	}
	for _, bad := range []string{"", "page\tcall\n", "page\tcall\tno JSON\n", "page\tcall\t1\npage\tcall\t1\n"} {
		if _, err := parseAnswers(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
