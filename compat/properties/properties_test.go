// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package properties

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a=1\nb=2\n", `"a"="1" "b"="2"`},
		{"line ends", "a=1\r\nb=2\rc=3", `"a"="1" "b"="2" "c"="3"`},
		{"separators", "a 1\nb:2\nc = 3\nd\t:\t4\ne==5\nf: =6\ng", `"a"="1" "b"="2" "c"="3" "d"="4" "e"="=5" "f"="=6" "g"=""`},
		{"comments", "# x\n  ! y\n\n \t\f\na=1 # no comment\n", `"a"="1 # no comment"`},
		{"leading and trailing blanks", "  a = 1 \t\nhaListenPort=10912 \n", `"a"="1 \t" "haListenPort"="10912 "`},
		{"continuation", "a=1,\\\n   2,\\\r\n\t3\nb=\\\n# data\n", `"a"="1,2,3" "b"="# data"`},
		{"even backslashes do not continue", "a=1\\\\\nb=2", `"a"="1\\" "b"="2"`},
		{"continuation into the void", "a=1\\", `"a"="1"`},
		{"blank continuation ends", "a=1\\\n   \nb=2", `"a"="1" "b"="2"`},
		{"a comment does not continue", "#x\\\na=1", `"a"="1"`},
		{"escapes", `a\ b\=c\:d=\t\n\r\f\\\q\"`, `"a b=c:d"="\t\n\r\f\\q\""`},
		{"unicode", `a=\u00e9\u4E2D\uD83D\uDE00`, `"a"="é中😀"`},
		{"surrogates alone", `a=\uD83Dx\uDE00`, "\"a\"=\"\ufffdx\ufffd\""},
		{"Latin-1", "a=\xe9", `"a"="é"`},
		{"UTF-8 is read as Latin-1", "a=é", `"a"="Ã©"`},
		{"Windows path", `storePathRootDir=C:\store\new`, "\"storePathRootDir\"=\"C:store\\new\""},
		{"later wins", "a=1\nb=2\na=3", `"a"="3" "b"="2"`},
		{"empty key", "=1\n:2", `""="2"`},
		{"empty", "", ""},
	} {
		list, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var got []string
		for _, e := range list {
			got = append(got, fmt.Sprintf("%q=%q", e.Key, e.Value))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

func TestMalformedEscape(t *testing.T) {
	for _, text := range []string{`a=1` + "\n" + `b=\u12`, "\n" + `b=\u12g4`, "#\n" + `\u=1`, "\n" + `b=\uD83D\u`} {
		_, err := Parse([]byte(text))
		var s *SyntaxError
		if !errors.As(err, &s) || s.Line != 2 {
			t.Errorf("%q: %v, want an error in line 2", text, err)
		}
	}
}

// What is written without characters that need escapes is read back.
func TestAppend(t *testing.T) {
	list := List{{"brokerName", "a"}, {"namesrvAddr", "10.0.0.1:9876;10.0.0.2:9876"}, {"empty", ""}, {"eq", "a=b"}}
	text := list.Append(nil)
	if want := "brokerName=a\nnamesrvAddr=10.0.0.1:9876;10.0.0.2:9876\nempty=\neq=a=b\n"; string(text) != want {
		t.Errorf("got %q", text)
	}
	back, err := Parse(text)
	if err != nil || fmt.Sprint(back) != fmt.Sprint(list) {
		t.Errorf("read back %v, %v", back, err)
	}
	if v, ok := back.Get("eq"); !ok || v != "a=b" {
		t.Errorf("Get: %q %v", v, ok)
	}
	if _, ok := back.Get("none"); ok {
		t.Error("Get finds what is not there")
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a=1\\\r\n # 2\r!x\n\\u0041:\\\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, err := Lines(text)
		if err != nil {
			return
		}
		pos := 0
		for _, l := range lines {
			if l.Start != pos || l.End <= l.Start {
				t.Fatalf("range %d-%d behind %d", l.Start, l.End, pos)
			}
			pos = l.End
		}
		if pos != len(text) {
			t.Fatalf("%d of %d bytes in lines", pos, len(text))
		}
	})
}
