// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"rocketmq-go/message"
)

// encode makes a property string of name, value, name, value …
func encode(pairs ...string) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = message.AppendProperty(b, pairs[i], pairs[i+1])
	}
	return b
}

func compile(t testing.TB, expression string) *Filter {
	f, err := Compile(expression)
	if err != nil {
		t.Fatalf("%.100s: %v", expression, err)
	}
	return f
}

func TestProperties(t *testing.T) {
	f := compile(t, "a = 2")
	for _, c := range []struct {
		properties string
		want       Result
	}{
		{"", Null},
		{"a\x012\x02", True},
		{"a\x012", True}, // without the last separator, as 4.9 writes it
		{"b\x011\x02a\x012\x02c\x013", True},
		{"a\x011\x02a\x012\x02", True}, // the last one counts
		{"a\x012\x02a\x011\x02", False},
		{"a\x01\x02", Null},
		{"aa\x012\x02", Null},
		{"a\x012\x01\x02", Failed}, // a value may contain the inner separator
		{"\x02\x01\x02\x01", Null},
	} {
		if got := f.Eval([]byte(c.properties)); got != c.want {
			t.Errorf("%q: %v, want %v", c.properties, got, c.want)
		}
		if f.Match([]byte(c.properties)) != (c.want == True) {
			t.Errorf("%q: Match", c.properties)
		}
	}
}

// Expressions with many names keep their values elsewhere: nothing of one message may be seen by the next.
func TestManyNames(t *testing.T) {
	var terms, pairs []string
	for i := range 40 {
		terms = append(terms, fmt.Sprintf("p%d = %d", i, i))
		pairs = append(pairs, fmt.Sprint("p", i), fmt.Sprint(i))
	}
	all, some := compile(t, strings.Join(terms, " AND ")), compile(t, strings.Join(terms, " OR "))
	full, one := encode(pairs...), encode(pairs[78:]...)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				for i, got := range []Result{all.Eval(full), all.Eval(one), all.Eval(nil), some.Eval(full), some.Eval(one), some.Eval(nil)} {
					if want := []Result{True, Null, Null, True, True, Null}[i]; got != want {
						t.Errorf("case %d: %v, want %v", i, got, want)
					}
				}
			}
		})
	}
	group.Wait()
}

func TestLimits(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{strings.Repeat("(", 900) + "a" + strings.Repeat(")", 900), ""},
		{strings.Repeat("NOT ", 900) + "a", ""},
		{strings.Repeat("+", 900) + "a", ""},
		{"TRUE" + strings.Repeat(" OR TRUE", 10_000), ""},
		{"a IN ('x'" + strings.Repeat(",'x'", 100_000) + ")", ""},
		{strings.Repeat("(", 100_000), "nested more than 1000 deep"},
		{strings.Repeat("(+", 100_000), "nested more than 1000 deep"},
		{strings.Repeat("NOT ", 100_000) + "a", "nested more than 1000 deep"},
		{strings.Repeat("- ", 100_000) + "a", "nested more than 1000 deep"},
		{strings.Repeat("+", 100_000) + "a", "nested more than 1000 deep"},
		{"TRUE" + strings.Repeat(" OR TRUE", 100_000), "more than 20000 operators"},
		{"'" + strings.Repeat("x", 1<<20), "Lexical error"},
		{"a = " + strings.Repeat("9", 1<<20), "NumberFormatException"},
		{"(a " + strings.Repeat("b", 1<<20), `Encountered " <ID> "bbb`},
		{"(TRUE" + strings.Repeat(" OR TRUE", 10_000) + ") IN ('x')", "Expected a property"},
		{strings.Repeat("-", 1<<20), "nested"},
		{strings.Repeat("/**/", 1<<18) + "~", "Lexical"},
		{strings.Repeat("-- \n", 1<<18) + "~", "Lexical"},
		{strings.Repeat("''", 1<<18), "boolean"},
	} {
		start := time.Now()
		_, err := Compile(c.expression)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.20s…: %.200v", c.expression, err)
		}
		if err != nil && len(err.Error()) > 2*maxError {
			t.Errorf("%.20s…: error of %d bytes", c.expression, len(err.Error()))
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%.20s…: %v", c.expression, d)
		}
	}
	if !compile(t, "none"+strings.Repeat(" OR none", 10_000)+" OR TRUE").Match(nil) {
		t.Error("a long expression")
	}
}

// Errors of the limits and the cut ones are texts like others.
func TestErrorIsUTF8(t *testing.T) {
	for i := range 4 {
		_, err := Compile("a BETWEEN '" + strings.Repeat("x", i) + strings.Repeat("中", maxError) + "' AND 1")
		if err == nil || !utf8.ValidString(err.Error()) {
			t.Error(err)
		}
	}
}

// FuzzCompile compiles and evaluates anything: no panic, one of four results, and always the same.
func FuzzCompile(f *testing.F) {
	for _, line := range []string{
		"a BETWEEN 1 AND 2.5 OR NOT b IN ('x','y''') AND +c <> -1", "a IS NOT NULL -- x\n/* y */", "(a STARTSWITH 'x'", "a = 9999999999999999999",
	} {
		f.Add(line, []byte("a\x011\x02b\x01x\x02"))
	}
	debug.SetMaxStack(16 << 20)
	f.Fuzz(func(t *testing.T, expression string, properties []byte) {
		filter, err := Compile(expression)
		if err != nil {
			if !utf8.ValidString(err.Error()) || err.Error() == "" {
				t.Errorf("error %q", err)
			}
			return
		}
		before := string(properties)
		first := filter.Eval(properties)
		if again := filter.Eval(properties); first != again || first > Failed {
			t.Errorf("%v, then %v", first, again)
		}
		if string(properties) != before {
			t.Error("the properties were changed")
		}
		_ = filter.root.String()
	})
}

func BenchmarkMatch(b *testing.B) {
	properties := encode("KEYS", "order-20240101-000017", "UNIQ_KEY", "AF110001000000000000000000000000", "WAIT", "true",
		"region", "eu-central-1", "price", "17", "weight", "2.75", "TAGS", "TagA", "INSTANCE_ID", "i-0123456789")
	for _, c := range []struct{ name, expression string }{
		{"one", "price > 10"},
		{"string", "region = 'eu-central-1'"},
		{"range", "price BETWEEN 10 AND 20 AND region IN ('eu-central-1', 'us-east-1')"},
		{"float", "weight < 3.5 AND weight > 0.5"},
		{"search", "region STARTSWITH 'eu' AND KEYS CONTAINS '20240101' AND NOT (TAGS = 'TagB')"},
		{"missing", "none > 10 OR nobody = 'x' OR price = 17"},
		{"nine names", "a = 1 OR b = 1 OR c = 1 OR d = 1 OR e = 1 OR f = 1 OR g = 1 OR h = 1 OR price = 17"},
	} {
		f := compile(b, c.expression)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !f.Match(properties) {
					b.Fatal("no match")
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, "price BETWEEN 10 AND 20 AND region IN ('eu-central-1', 'us-east-1')")
	}
}
