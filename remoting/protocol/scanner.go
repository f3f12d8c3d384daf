// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks over the JSON text of a header. Strings are views into the text; escapes are resolved in place, which
// works because an escape is never shorter than what it stands for.
type scanner struct {
	b []byte
	i int
}

// maxDepth bounds the nesting of unknown values, so that a frame cannot exhaust the stack.
const maxDepth = 512

func (s *scanner) errorf(format string, args ...any) error {
	return frameErrorf(BadJSONHeader, format, args...)
}

// space skips white space and comments and returns the byte that follows, 0 at the end.
func (s *scanner) space() byte {
	if s.i < len(s.b) {
		if c := s.b[s.i]; c > ' ' && c != '/' { // the usual case, small enough to be inlined
			return c
		}
	}
	return s.skipSpace()
}

func (s *scanner) skipSpace() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r', '\f', '\b':
			s.i++
		case '/':
			if !s.comment() {
				return c
			}
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) comment() bool {
	if s.i+1 >= len(s.b) {
		return false
	}
	switch s.b[s.i+1] {
	case '/':
		for s.i < len(s.b) && s.b[s.i] != '\n' {
			s.i++
		}
		return true
	case '*':
		for j := s.i + 2; j+1 < len(s.b); j++ {
			if s.b[j] == '*' && s.b[j+1] == '/' {
				s.i = j + 2
				return true
			}
		}
	}
	return false
}

// object reads from '{' to the matching '}' and calls member with the scanner at each value.
func (s *scanner) object(member func(name string) error) error {
	s.i++
	for {
		if s.space() == '}' {
			s.i++
			return nil
		}
		name, err := s.name()
		if err != nil {
			return err
		}
		if s.space() != ':' {
			return s.errorf("no colon after %.40q", name)
		}
		s.i++
		if err := member(name); err != nil {
			return err
		}
		switch s.space() {
		case ',':
			s.i++
		case '}':
		default:
			return s.errorf("no comma or brace after the value of %.40q", name)
		}
	}
}

func (s *scanner) name() (string, error) {
	if c := s.space(); c == '"' || c == '\'' {
		return s.quoted()
	}
	if w := s.word(); w != "" {
		return w, nil
	}
	return "", s.errorf("no name at byte %d", s.i)
}

// word reads an unquoted name or literal.
func (s *scanner) word() string {
	start := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c < 0x80 && c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			break
		}
		s.i++
	}
	return s.text(s.b[start:s.i], 0x80)
}

// digits reads the characters of a number.
func (s *scanner) digits() string {
	start := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			break
		}
		s.i++
	}
	return view(s.b[start:s.i])
}

// quoted reads the string that starts with the quote at the scanner's position.
func (s *scanner) quoted() (string, error) {
	q := s.b[s.i]
	b, start := s.b, s.i+1
	var high byte
	for i := start; i < len(b); i++ {
		switch c := b[i]; c {
		case q:
			s.i = i + 1
			return s.text(b[start:i], high), nil
		case '\\':
			return s.escaped(start, i, high)
		default:
			high |= c
		}
	}
	return "", s.errorf("string not closed")
}

// escaped goes on behind quoted, from the first backslash at i, and moves the rest of the string to the left.
func (s *scanner) escaped(start, i int, high byte) (string, error) {
	b, q, w := s.b, s.b[start-1], i
	for i < len(b) {
		c := b[i]
		if c == q {
			s.i = i + 1
			return s.text(b[start:w], high), nil
		}
		if c != '\\' {
			b[w] = c
			high |= c
			i, w = i+1, w+1
			continue
		}
		if i+1 >= len(b) {
			break
		}
		r, n := unescape(b[i:])
		if n == 0 {
			return "", s.errorf("bad escape %.6q", b[i:])
		}
		// n input bytes, at least 2, become at most 1, 3 (from 6) or 4 (from 12) bytes.
		if r < utf8.RuneSelf {
			b[w] = byte(r)
			w++
		} else {
			w += utf8.EncodeRune(b[w:], r)
		}
		i += n
	}
	return "", s.errorf("string not closed")
}

var escapes = [256]byte{
	'1': 1, '2': 2, '3': 3, '4': 4, '5': 5, '6': 6, '7': 7,
	'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'F': '\f', 'r': '\r',
	'"': '"', '\'': '\'', '/': '/', '\\': '\\',
}

// unescape reads the escape at the start of b, of which two bytes are there; n is 0 when it is none.
// A lone surrogate becomes '?', what Java makes of it when it writes UTF-8.
func unescape(b []byte) (r rune, n int) {
	switch c := b[1]; c {
	case 'u':
		r, ok := hexRune(b, 2, 4)
		if !ok {
			return 0, 0
		}
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low, ok := hexRune(b, 8, 4); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, 12
				}
			}
		}
		return '?', 6
	case 'x':
		r, ok := hexRune(b, 2, 2)
		if !ok {
			return 0, 0
		}
		return r, 4
	case '0':
		return 0, 2
	default:
		if e := escapes[c]; e != 0 {
			return rune(e), 2
		}
		return 0, 0
	}
}

func hexRune(b []byte, from, n int) (rune, bool) {
	if len(b) < from+n {
		return 0, false
	}
	var r rune
	for _, c := range b[from : from+n] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// text makes a string of b. Bytes that are no UTF-8 become U+FFFD, as in Java.
func (s *scanner) text(b []byte, high byte) string {
	if high >= utf8.RuneSelf {
		return utf8Text(b)
	}
	return view(b)
}

// skip passes over one value of any kind.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("nested too deeply")
	}
	switch c := s.space(); c {
	case '"', '\'':
		_, err := s.quoted()
		return err
	case '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case '[':
		return s.skipArray(depth)
	default:
		if c == '-' || c == '+' || c >= '0' && c <= '9' {
			s.digits()
			return nil
		}
		switch w := s.word(); w {
		case "null", "true", "false", "undefined", "NaN":
			return nil
		default:
			return s.errorf("not a value: %.20q", w)
		}
	}
}

func (s *scanner) skipArray(depth int) error {
	s.i++
	for {
		if s.space() == ']' {
			s.i++
			return nil
		}
		if err := s.skip(depth + 1); err != nil {
			return err
		}
		switch s.space() {
		case ',':
			s.i++
		case ']':
		default:
			return s.errorf("array not closed")
		}
	}
}
