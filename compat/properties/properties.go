// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package properties reads java.util.Properties texts: broker.conf, namesrv.conf, TLS files and the bodies of the
// requests that change configuration; and it writes the plain "key=value" form that RocketMQ answers.
//
// Reading is done by Java's rules: bytes are Latin-1 characters (other characters need \uXXXX); a line that starts with
// '#' or '!' is a comment; a line that ends in an odd number of backslashes goes on in the next one, whose leading white
// space is dropped; the key ends at the first '=', ':' or white space without a backslash; white space and one '=' or
// ':' behind it are dropped; trailing white space belongs to the value.
package properties

import (
	"bytes"
	"fmt"
	"strings"
)

// Entry is one property.
type Entry struct{ Key, Value string }

// List holds properties in the order of the text. Keys occur once.
type List []Entry

// Get returns the value of key and whether it is there.
func (l List) Get(key string) (string, bool) {
	for i := range l {
		if l[i].Key == key {
			return l[i].Value, true
		}
	}
	return "", false
}

// Append prints each property as "key=value\n" in UTF-8 without escapes, as getBrokerConfig answers and as the
// configuration file is rewritten. A value with a line break or leading blank is not read back as it was.
func (l List) Append(dst []byte) []byte {
	for _, e := range l {
		dst = append(dst, e.Key...)
		dst = append(dst, '=')
		dst = append(dst, e.Value...)
		dst = append(dst, '\n')
	}
	return dst
}

// SyntaxError is a malformed \uXXXX, the one thing for which Java refuses a text.
type SyntaxError struct {
	Line int // counted from 1
	Text string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d: malformed \\uXXXX escape in %q", e.Line, e.Text)
}

// Parse reads a text. Of keys that occur twice the last value counts, at the place of the first.
func Parse(text []byte) (List, error) {
	lines, err := Lines(text)
	if err != nil {
		return nil, err
	}
	var list List
	index := map[string]int{}
	for _, l := range lines {
		if l.Comment {
			continue
		}
		if i, dup := index[l.Key]; dup {
			list[i].Value = l.Value
			continue
		}
		index[l.Key] = len(list)
		list = append(list, l.Entry)
	}
	return list, nil
}

// Line is one line of a text with those that continue it: text[Start:End] including the line end. Lines are what is
// needed to change a value and leave the rest of a file as it is.
type Line struct {
	Entry
	Comment    bool // or empty; there is no Entry
	Start, End int
}

// Lines splits a text. The ranges follow each other without gaps.
func Lines(text []byte) ([]Line, error) {
	var lines []Line
	p := parser{text: text}
	for p.pos < len(text) {
		l := Line{Start: p.pos}
		first := p.line + 1
		raw := p.natural()
		l.Comment = len(raw) == 0 || raw[0] == '#' || raw[0] == '!'
		if !l.Comment {
			raw = p.logical(raw)
			key, value := split(raw)
			var err, err2 error
			l.Key, err = unescape(key)
			l.Value, err2 = unescape(value)
			if err != nil || err2 != nil {
				return nil, &SyntaxError{first, string(raw)}
			}
		}
		l.End = p.pos
		lines = append(lines, l)
	}
	return lines, nil
}

type parser struct {
	text []byte
	pos  int
	line int // lines taken so far
}

// natural takes the next line and drops its leading white space.
func (p *parser) natural() []byte {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] != '\n' && p.text[p.pos] != '\r' {
		p.pos++
	}
	line := p.text[start:p.pos]
	switch {
	case bytes.HasPrefix(p.text[p.pos:], []byte("\r\n")):
		p.pos += 2
	case p.pos < len(p.text):
		p.pos++
	}
	p.line++
	return bytes.TrimLeft(line, " \t\f")
}

// logical joins line with those that continue it.
func (p *parser) logical(line []byte) []byte {
	if !continues(line) {
		return line
	}
	var joined []byte
	for continues(line) {
		joined = append(joined, line[:len(line)-1]...)
		line = p.natural()
	}
	return append(joined, line...)
}

// continues tells whether a line ends in an odd number of backslashes.
func continues(line []byte) bool {
	return (len(line)-len(bytes.TrimRight(line, "\\")))%2 == 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

func split(line []byte) (key, value []byte) {
	end := 0
	for end < len(line) && line[end] != '=' && line[end] != ':' && !isBlank(line[end]) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	start, separated := end, false
	for start < len(line) {
		switch c := line[start]; {
		case isBlank(c):
		case (c == '=' || c == ':') && !separated:
			separated = true
		default:
			return line[:end], line[start:]
		}
		start++
	}
	return line[:end], nil
}

// unescape turns Latin-1 into a string and resolves the backslashes. Pairs of \u surrogates become one character.
func unescape(s []byte) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteRune(rune(s[i]))
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch c := s[i]; c {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			n, err := unicode(&b, s[i+1:])
			if err != nil {
				return "", err
			}
			i += n
		default:
			b.WriteRune(rune(c))
		}
	}
	return b.String(), nil
}
