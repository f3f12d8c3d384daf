// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError says where and why a text cannot be read.
type SyntaxError struct {
	Offset int // bytes from the start of the text
	Field  string
	Msg    string
}

func (e *SyntaxError) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("json: %s, field %s, offset %d", e.Msg, e.Field, e.Offset)
	}
	return fmt.Sprintf("json: %s, offset %d", e.Msg, e.Offset)
}

type kind uint8

const (
	end    kind = iota
	punct       // one of { } [ ] , :
	text        // a string literal
	number      // a number literal without its suffix
	word        // true, null, an unquoted name …
)

// token is one lexical unit. text aliases the input unless the literal has escapes.
type token struct {
	kind  kind
	punct byte
	text  []byte
	pos   int
}

func (t token) is(c byte) bool { return t.kind == punct && t.punct == c }

// lexer splits a text into tokens. It is lenient about what separates them: white space, comments and a byte order mark.
type lexer struct {
	data []byte
	pos  int
}

func (l *lexer) fail(format string, args ...any) error {
	return &SyntaxError{Offset: l.pos, Msg: fmt.Sprintf(format, args...)}
}

func (l *lexer) skipSpace() error {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case c == ' ' || '\b' <= c && c <= '\r':
			l.pos++
		case c == '/':
			if err := l.skipComment(); err != nil {
				return err
			}
		case c == 0xef && bytes.HasPrefix(l.data[l.pos:], []byte("\ufeff")):
			l.pos += 3
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) skipComment() error {
	rest := l.data[l.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			return l.fail("comment without end")
		}
		l.pos += n + 4
	case bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		l.pos += n
	default:
		return l.fail("unexpected character '/'")
	}
	return nil
}

func (l *lexer) next() (token, error) {
	if err := l.skipSpace(); err != nil {
		return token{}, err
	}
	t := token{pos: l.pos}
	if l.pos == len(l.data) {
		return t, nil
	}
	switch c := l.data[l.pos]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		l.pos++
		t.kind, t.punct = punct, c
	case c == '"' || c == '\'':
		return l.literal(t, c)
	case '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.':
		t.kind, t.text = number, l.number()
	case isNameByte(c):
		start := l.pos
		for l.pos < len(l.data) && isNameByte(l.data[l.pos]) {
			l.pos++
		}
		t.kind, t.text = word, l.data[start:l.pos]
	default:
		return t, l.fail("unexpected character %q", c)
	}
	return t, nil
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == '-' || c == '.' || c >= utf8.RuneSelf
}

// number takes a number and drops the type suffix that fastjson knows (0L, 1.5D).
func (l *lexer) number() []byte {
	start := l.pos
	for l.pos < len(l.data) && strings.IndexByte("0123456789+-.eE", l.data[l.pos]) >= 0 {
		l.pos++
	}
	n := l.data[start:l.pos]
	if l.pos < len(l.data) && strings.IndexByte("LSBFD", l.data[l.pos]) >= 0 {
		l.pos++
	}
	return n
}

// literal reads a string that starts with quote.
func (l *lexer) literal(t token, quote byte) (token, error) {
	l.pos++
	t.kind = text
	start := l.pos
	for ; l.pos < len(l.data); l.pos++ {
		switch l.data[l.pos] {
		case quote:
			t.text = l.data[start:l.pos]
			l.pos++
			return t, nil
		case '\\':
			return l.unescape(t, start, quote)
		}
	}
	return t, l.fail("string without end")
}

// unescape goes on with a literal at its first backslash.
func (l *lexer) unescape(t token, start int, quote byte) (token, error) {
	out := append([]byte(nil), l.data[start:l.pos]...)
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		switch {
		case c == quote:
			t.text = out
			return t, nil
		case c != '\\':
			out = append(out, c)
		default:
			var err error
			if out, err = l.escape(out); err != nil {
				return t, err
			}
		}
	}
	return t, l.fail("string without end")
}

const (
	escapeLetters = `"'\/bfnrtv01234567`
	escapeValues  = "\"'\\/\b\f\n\r\t\v\x00\x01\x02\x03\x04\x05\x06\x07"
)

// escape appends what stands behind a backslash.
func (l *lexer) escape(out []byte) ([]byte, error) {
	if l.pos == len(l.data) {
		return nil, l.fail("string without end")
	}
	c := l.data[l.pos]
	l.pos++
	if i := strings.IndexByte(escapeLetters, c); i >= 0 {
		return append(out, escapeValues[i]), nil
	}
	switch c {
	case 'x':
		r, err := l.hex(2)
		return utf8.AppendRune(out, r), err
	case 'u':
		r, err := l.hex(4)
		if err == nil && utf16.IsSurrogate(r) {
			r, err = l.lowSurrogate(r)
		}
		return utf8.AppendRune(out, r), err
	}
	return nil, l.fail("unknown escape \\%c", c)
}

// lowSurrogate completes a pair; a surrogate alone becomes a question mark, as in Java's UTF-8.
func (l *lexer) lowSurrogate(high rune) (rune, error) {
	if !bytes.HasPrefix(l.data[l.pos:], []byte(`\u`)) {
		return '?', nil
	}
	back := l.pos
	l.pos += 2
	low, err := l.hex(4)
	if err != nil {
		return 0, err
	}
	if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
		return r, nil
	}
	l.pos = back
	return '?', nil
}

func (l *lexer) hex(digits int) (rune, error) {
	if l.pos+digits > len(l.data) {
		return 0, l.fail("escape without end")
	}
	var r rune
	for _, c := range l.data[l.pos : l.pos+digits] {
		i := strings.IndexByte("0123456789abcdefABCDEF", c)
		if i < 0 {
			return 0, l.fail("bad hex digit %q", c)
		}
		if i >= 16 {
			i -= 6
		}
		r = r<<4 | rune(i)
	}
	l.pos += digits
	return r, nil
}

// skip passes over one value of any kind, whose first token is t.
func (l *lexer) skip(t token, depth int) error {
	switch {
	case depth > maxDepth:
		return l.fail("nested too deeply")
	case t.is('{'), t.is('['):
		return l.skipTo(t.punct+2, depth) // in ASCII the closing brackets are two behind the opening ones
	case t.kind == end || t.kind == punct:
		return &SyntaxError{Offset: t.pos, Msg: "value expected"}
	}
	return nil
}

// skipTo passes over keys and values until the closing bracket.
func (l *lexer) skipTo(closing byte, depth int) error {
	for {
		t, err := l.next()
		if err != nil {
			return err
		}
		switch {
		case t.is(closing):
			return nil
		case t.is(','), t.is(':') && closing == '}':
		default:
			if err := l.skip(t, depth+1); err != nil {
				return err
			}
		}
	}
}
