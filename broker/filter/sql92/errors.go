// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Error says why an expression is refused. Its text is the remark that a Java broker answers, the name of the Java
// exception included: consumers show it.
type Error struct {
	text   string
	syntax bool // of the parser. It is apart from the others because a plus sign looks ahead for one
}

func (e *Error) Error() string { return e.text }

// maxError bounds the text, which may quote the expression, in bytes.
const maxError = 4096

// fail makes an error.
func fail(text string) error {
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "")
	}
	return &Error{text: text}
}

// refusal is an error of an expression that is well formed and makes no sense.
func refusal(format string, args ...any) error {
	return fail("java.lang.RuntimeException: " + fmt.Sprintf(format, args...))
}

// unexpected makes the error for a token that does not fit. expected is a set of kinds, by bits.
func unexpected(text string, t token, expected kinds) error {
	var b strings.Builder
	b.WriteString(`org.apache.rocketmq.filter.parser.ParseException: Encountered "`)
	p := at(text, t.from)
	if t.kind == tokEnd {
		p = end(text)
		b.WriteString(kindNames[tokEnd])
	} else {
		fmt.Fprintf(&b, ` %s "`, kindNames[t.kind])
		escape(&b, text[t.from:min(t.to, t.from+maxError)])
		b.WriteString(` "`)
	}
	fmt.Fprintf(&b, "\" at %s.\nWas expecting", p)
	if expected&(expected-1) != 0 {
		b.WriteString(" one of")
	}
	b.WriteString(":\n    ")
	for k, name := range kindNames {
		if expected&of(kind(k)) != 0 {
			b.WriteString(name)
			b.WriteString(" ...\n    ")
		}
	}
	return &Error{text: b.String(), syntax: true}
}

// place is a position as Java counts: lines from 1, columns from 1 in UTF-16 units, a tab goes to the next multiple of 8.
type place struct{ line, column int }

func (p place) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.column) }

// end is the place of the last character.
func end(text string) place { return at(text, len(text)) }

// at is the place of the first UTF-16 unit of the character at byte i, or of the last unit of the text if i is its end.
func at(text string, i int) place {
	p := place{line: 1}
	if text == "" {
		return place{}
	}
	var last rune
	for n, c := range text {
		switch {
		case last == '\n', last == '\r' && c != '\n':
			p.line, p.column = p.line+1, 1
		default:
			p.column++
		}
		if c == '\t' {
			const tab = 8
			p.column--
			p.column += tab - p.column%tab
		}
		if n == i {
			break
		}
		if c > 0xffff {
			p.column++
		}
		last = c
	}
	return p
}

// escape writes text as Java does in its errors.
func escape(b *strings.Builder, text string) {
	for _, c := range text {
		for _, u := range utf16Units(c) {
			escapeUnit(b, u)
		}
	}
}

func utf16Units(c rune) []uint16 { return utf16.AppendRune(nil, c) }

func escapeUnit(b *strings.Builder, u uint16) {
	const plain, escaped = "\b\t\n\f\r\"'\\", `btnfr"'\`
	i := strings.IndexRune(plain, rune(u))
	switch {
	case u == 0: // left out
	case i >= 0:
		b.WriteByte('\\')
		b.WriteByte(escaped[i])
	case u < 0x20 || u > 0x7e:
		fmt.Fprintf(b, `\u%04x`, u)
	default:
		b.WriteByte(byte(u))
	}
}
