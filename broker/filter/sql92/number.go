// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

const maxFloat = math.MaxFloat64

// decimalOf reads a string as Integer.valueOf (bits 32) or Long.valueOf (64) does: one sign, then digits of any script.
func decimalOf(s string, bits int) value {
	digits := strings.TrimPrefix(s, "-")
	negative := len(digits) < len(s)
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	limit := uint64(1) << (bits - 1) // of the magnitude
	if !negative {
		limit--
	}
	var n uint64
	for _, c := range digits {
		d := digit(c)
		if d < 0 || n > (limit-uint64(d))/10 {
			return value{kind: isFailed}
		}
		n = n*10 + uint64(d)
	}
	if digits == "" {
		return value{kind: isFailed}
	}
	k := isLong
	if bits == 32 {
		k = isInt
	}
	if negative {
		return value{kind: k, num: -int64(n)}
	}
	return value{kind: k, num: int64(n)}
}

// digit is the value of a decimal digit, -1 of another character. Java looks at 16 bits at a time here, so that digits
// beyond are none.
func digit(c rune) int {
	if c <= unicode.MaxASCII {
		if '0' <= c && c <= '9' {
			return int(c - '0')
		}
		return -1
	}
	for _, r := range unicode.Nd.R16 {
		if rune(r.Lo) <= c && c <= rune(r.Hi) {
			return int(c-rune(r.Lo)) % 10
		}
	}
	return -1
}

// doubleOf reads a string as Double.valueOf does: blanks and control characters around it do not count, it may end with
// d or f, be hexadecimal, NaN or Infinity; a number that is too large is infinite.
func doubleOf(s string) value {
	s = trim(s)
	if !isDouble(s) {
		return value{kind: isFailed}
	}
	switch s[len(s)-1] {
	case 'd', 'D', 'f', 'F':
		s = s[:len(s)-1]
	}
	f, _ := strconv.ParseFloat(s, 64) // the only error left is that of the range
	return value{kind: isFloat, float: f}
}

// trim is String.trim.
func trim(s string) string {
	for len(s) > 0 && s[0] <= ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// isDouble tells whether Java would read s as a double. Go's parser takes more words and underscores.
func isDouble(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	if s == "NaN" || s == "Infinity" {
		return true
	}
	hexadecimal := len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x'
	mark, digits := byte('e'), isDigit
	if hexadecimal {
		s, mark, digits = s[2:], 'p', isHexDigit
	}
	count := 0
	run := func(of func(byte) bool) {
		for count = 0; s != "" && of(s[0]); count++ {
			s = s[1:]
		}
	}
	run(digits)
	mantissa := count
	if s != "" && s[0] == '.' {
		s = s[1:]
		run(digits)
		mantissa += count
	}
	if mantissa == 0 {
		return false
	}
	if s != "" && s[0]|0x20 == mark {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if run(isDigit); count == 0 {
			return false
		}
	} else if hexadecimal {
		return false
	}
	return s == "" || len(s) == 1 && (s[0]|0x20 == 'd' || s[0]|0x20 == 'f')
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// compareLiterals orders the two literals of a BETWEEN, the higher one first. Strings are compared as such here.
func compareLiterals(low, high value) (order, error) {
	if low.kind == isString && high.kind == isString {
		return orderOf(high.text, low.text), nil
	}
	o := compare(&high, &low)
	if o != badOrder {
		return o, nil
	}
	s, k := low.text, high.kind
	if high.kind == isString {
		s, k = high.text, low.kind
	}
	switch {
	case k == isBool:
		return o, fail("java.lang.ClassCastException: class java.lang.Boolean cannot be cast to class java.lang.String " +
			"(java.lang.Boolean and java.lang.String are in module java.base of loader 'bootstrap')")
	case k == isFloat:
		if s = trim(s); s == "" {
			return o, refusal("java.lang.NumberFormatException: empty String")
		}
	}
	return o, refusal("java.lang.NumberFormatException: For input string: \"%s\"", s)
}
