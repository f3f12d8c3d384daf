// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Command random prints random filter expressions for Verdicts.java: most are well formed, some are spoilt.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
)

func main() {
	n := flag.Int("n", 1000, "how many")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	g := generator{rand.New(rand.NewPCG(*seed, 0))}
	for range *n {
		e := g.or(3)
		if g.IntN(4) == 0 {
			e = g.spoil(e)
		}
		fmt.Println(strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\t", `\t`).Replace(e))
	}
}

type generator struct{ *rand.Rand }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

func (g generator) word(w string) string { return pick(g, w, w, w, strings.ToLower(w)) }

func (g generator) or(depth int) string  { return g.chain("OR", depth, g.and) }
func (g generator) and(depth int) string { return g.chain("AND", depth, g.equal) }

func (g generator) chain(op string, depth int, part func(int) string) string {
	e := part(depth)
	for g.IntN(4) == 0 {
		e += " " + g.word(op) + " " + part(depth)
	}
	return e
}

func (g generator) equal(depth int) string {
	e := g.compare(depth)
	for range pick(g, 0, 0, 1, 1, 1, 1, 2) {
		e += pick(g,
			func() string { return pick(g, " = ", "=", " <> ") + g.compare(depth) },
			func() string { return " IS " + pick(g, "NULL", "NOT NULL") },
		)()
	}
	return e
}

func (g generator) compare(depth int) string {
	e := g.unary(depth)
	for range pick(g, 0, 0, 0, 1, 1, 2) {
		not := pick(g, "", "", g.word("NOT")+" ")
		e += pick(g,
			func() string { return pick(g, " > ", ">=", " < ", "<=") + g.unary(depth) },
			func() string {
				return " " + not + pick(g, "CONTAINS", "STARTSWITH", "ENDSWITH", "contains") + " " + g.text()
			},
			func() string { return " " + not + "BETWEEN " + g.unary(depth) + " AND " + g.unary(depth) },
			func() string {
				list := g.text()
				for g.IntN(2) == 0 {
					list += "," + g.text()
				}
				return " " + not + "IN (" + list + ")"
			},
		)()
	}
	return e
}

func (g generator) unary(depth int) string {
	switch g.IntN(16) {
	case 0:
		return "-" + g.unary(depth)
	case 1:
		return "+" + g.unary(depth)
	case 2:
		return "NOT " + g.unary(depth)
	case 3, 4:
		if depth > 0 {
			return "(" + g.or(depth-1) + ")"
		}
	case 5, 6, 7:
		return g.number()
	case 8:
		return g.text()
	case 9:
		return g.word(pick(g, "TRUE", "FALSE", "NULL"))
	}
	return g.name()
}

func (g generator) name() string {
	return pick(g, "a", "a", "a", "b", "b", "c", "c", "f", "s", "s", "A", "none", "a1", "$d", "_u", "TAGS")
}

func (g generator) text() string {
	return "'" + pick(g, "", "1", "2", "a", "abc", "b", "x", "true", "it''s", "3.0", "TagA", " 4 ", "''", "5", "中文", "c") + "'"
}

func (g generator) number() string {
	return pick(g, "0", "1", "2", "3", "5", "7", "10", "4", "9999999999", "2147483647", "2147483648", "1.5", "3.0", "5.", ".5",
		"2.5e1", "1E5", "9223372036854775807", "9223372036854775808", "1L", "32.0", "12", "0.0", "1e309")
}

// spoil damages an expression.
func (g generator) spoil(e string) string {
	runes := []rune(e)
	i := g.IntN(len(runes))
	junk := pick(g, "~", "'", "(", ")", " NOT ", "+", "-", "--", "/*", " /**/ ", "\n", "\t", " AND ", " IS ", ",", ".", "é", "😀", "=", " LIKE ", "\\", "\"")
	switch g.IntN(4) {
	case 0:
		return string(runes[:i])
	case 1:
		return string(runes[:i]) + string(runes[i+1:])
	default:
		return string(runes[:i]) + junk + string(runes[i:])
	}
}
