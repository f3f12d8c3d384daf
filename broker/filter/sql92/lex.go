// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is what a token is. The order is that in which Java lists what it expected.
type kind uint8

const (
	tokNot kind = iota
	tokAnd
	tokOr
	tokBetween
	tokIn
	tokTrue
	tokFalse
	tokNull
	tokIs
	tokContains
	tokStartsWith
	tokEndsWith
	tokDecimal
	tokFloat
	tokString
	tokName
	tokEqual
	tokNotEqual
	tokGreater
	tokGreaterEqual
	tokLess
	tokLessEqual
	tokOpen
	tokComma
	tokClose
	tokMinus
	tokPlus
	tokEnd
)

// kindNames is how the kinds are named in errors.
var kindNames = [...]string{
	`"NOT"`, `"AND"`, `"OR"`, `"BETWEEN"`, `"IN"`, `"TRUE"`, `"FALSE"`, `"NULL"`, `"IS"`,
	`"CONTAINS"`, `"STARTSWITH"`, `"ENDSWITH"`,
	`<DECIMAL_LITERAL>`, `<FLOATING_POINT_LITERAL>`, `<STRING_LITERAL>`, `<ID>`,
	`"="`, `"<>"`, `">"`, `">="`, `"<"`, `"<="`, `"("`, `","`, `")"`, `"-"`, `"+"`, `<EOF>`,
}

// keyword gives the kind of a word: keywords may be written in any letter case.
func keyword(word string) kind {
	const longest = len("STARTSWITH")
	if len(word) <= longest {
		for k := tokNot; k <= tokEndsWith; k++ {
			name := kindNames[k]
			if strings.EqualFold(word, name[1:len(name)-1]) {
				return k
			}
		}
	}
	return tokName
}

// token is a piece of the expression, text[from:to].
type token struct {
	kind     kind
	from, to int
}

// lexer cuts an expression into tokens, one at a time: what stands behind the end of the condition is never looked at.
type lexer struct {
	text string
	pos  int
	// lastBreak is where the last line ends. A comment that begins with "--" needs an end of line; where none follows
	// the two are minus signs.
	lastBreak int
}

func newLexer(text string) lexer {
	return lexer{text: text, lastBreak: strings.LastIndexAny(text, "\r\n")}
}

// next reads one token.
func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	from := l.pos
	if from == len(l.text) {
		return token{tokEnd, from, from}, nil
	}
	t := token{from: from}
	switch c := l.text[from]; {
	case isLetter(c):
		t.to = from + 1
		for t.to < len(l.text) && (isLetter(l.text[t.to]) || isDigit(l.text[t.to])) {
			t.to++
		}
		t.kind = keyword(l.text[from:t.to])
	case isDigit(c) || c == '.':
		t.kind, t.to = l.number(from)
		if t.to == from {
			return t, l.refuse(from, from+1)
		}
	case c == '\'':
		end, ok := l.stringEnd(from)
		if !ok {
			return t, l.refuse(from, len(l.text))
		}
		t.kind, t.to = tokString, end
	default:
		if t.kind, t.to = l.symbol(from); t.to == from {
			return t, l.refuse(from, from)
		}
	}
	l.pos = t.to
	return t, nil
}

// skip passes over white space and comments.
func (l *lexer) skip() error {
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; c {
		case ' ', '\t', '\n', '\r', '\f':
			l.pos++
		case '-':
			if !strings.HasPrefix(l.text[l.pos:], "--") || l.lastBreak < l.pos {
				return nil
			}
			l.pos += strings.IndexAny(l.text[l.pos:], "\r\n") + 1
		case '/':
			if !strings.HasPrefix(l.text[l.pos:], "/*") {
				return l.refuse(l.pos, l.pos+1)
			}
			n := strings.Index(l.text[l.pos+2:], "*/")
			if n < 0 {
				return l.refuse(l.pos, len(l.text))
			}
			l.pos += n + 4
		default:
			return nil
		}
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

// digits gives the end of a run of digits.
func (l *lexer) digits(i int) int {
	for i < len(l.text) && isDigit(l.text[i]) {
		i++
	}
	return i
}

// exponent gives the end of an exponent, i if there is none.
func (l *lexer) exponent(i int) int {
	if i == len(l.text) || l.text[i]|0x20 != 'e' {
		return i
	}
	from := i + 1
	if from < len(l.text) && (l.text[from] == '+' || l.text[from] == '-') {
		from++
	}
	if end := l.digits(from); end > from {
		return end
	}
	return i
}

// number reads 12, 12L, 1.5, 5., .5, 1E1; the longest that it can. A decimal does not begin with a zero: 012 is 0 and
// then 12, 0L is 0 and then L.
// The end is from if there is only a point.
func (l *lexer) number(from int) (k kind, end int) {
	whole := l.digits(from)
	end = whole
	if end < len(l.text) && l.text[end] == '.' {
		end = l.digits(end + 1)
		if whole == from && end == from+1 {
			return tokFloat, from
		}
		return tokFloat, l.exponent(end)
	}
	if end = l.exponent(whole); end > whole {
		return tokFloat, end
	}
	if l.text[from] == '0' {
		return tokDecimal, from + 1
	}
	if whole < len(l.text) && l.text[whole]|0x20 == 'l' {
		whole++
	}
	return tokDecimal, whole
}

// stringEnd finds the quote that ends a string; two of them stand for one inside. If the text ends before, the string is
// what ends at the first of the last two.
func (l *lexer) stringEnd(from int) (end int, ok bool) {
	for i := from + 1; ; i += 2 {
		n := strings.IndexByte(l.text[i:], '\'')
		if n < 0 {
			return end, end > 0
		}
		i += n
		if end = i + 1; end == len(l.text) || l.text[end] != '\'' {
			return end, true
		}
	}
}

// symbol reads an operator or a bracket; the end is from if there is none.
func (l *lexer) symbol(from int) (k kind, end int) {
	for _, k := range [...]kind{
		tokNotEqual, tokGreaterEqual, tokLessEqual, // the longer ones first
		tokEqual, tokGreater, tokLess, tokOpen, tokComma, tokClose, tokMinus, tokPlus,
	} {
		name := kindNames[k]
		if name = name[1 : len(name)-1]; strings.HasPrefix(l.text[from:], name) {
			return k, from + len(name)
		}
	}
	return 0, from
}

// refuse makes the error for text that is no token: it begins at from and breaks at the character at bad, or because it
// ends. As in Java the last character of the text counts as its end.
func (l *lexer) refuse(from, bad int) error {
	var b strings.Builder
	b.WriteString("org.apache.rocketmq.filter.parser.TokenMgrError: Lexical error at ")
	var c rune
	size := 0
	if bad < len(l.text) {
		c, size = utf8.DecodeRuneInString(l.text[bad:])
	}
	// A character beyond 16 bits is two of Java's: the first of them is not the last character of the text.
	if c <= 0xffff && bad+size == len(l.text) {
		p := end(l.text)
		if last := l.text[len(l.text)-1]; last == '\n' || last == '\r' {
			p.line, p.column = p.line+1, 0
		} else {
			p.column++
		}
		fmt.Fprintf(&b, "%s.  Encountered: <EOF> after : \"", p)
		if _, first := utf8.DecodeRuneInString(l.text[from:]); from+first < len(l.text) {
			escape(&b, l.text[from:])
		}
		b.WriteByte('"')
		return fail(b.String())
	}
	units := utf16Units(c)
	fmt.Fprintf(&b, "%s.  Encountered: \"", at(l.text, bad))
	escapeUnit(&b, units[0])
	fmt.Fprintf(&b, "\" (%d), after : \"", units[0])
	escape(&b, l.text[from:bad])
	b.WriteByte('"')
	return fail(b.String())
}
