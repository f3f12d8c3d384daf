// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// escapes has the letter behind the backslash for characters with a short escape.
var escapes = [256]byte{'"': '"', '\\': '\\', '\t': 't', '\n': 'n', '\r': 'r', '\b': 'b', '\f': 'f'}

// appendString prints a string literal. The standard form has ASCII only and escapes the slash.
func appendString(b []byte, s string, standard bool) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case escapes[c] != 0 || standard && c == '/':
				esc := escapes[c]
				if c == '/' {
					esc = '/'
				}
				b = append(append(b, s[start:i]...), '\\', esc)
				start = i + 1
			case c < ' ' || c == 0x7f:
				b = appendUnicode(append(b, s[start:i]...), rune(c))
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if standard || r <= 0x9f || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
			b = appendUnicode(append(b, s[start:i]...), r)
			start = i + size
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

func appendUnicode(b []byte, r rune) []byte {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return appendUnicode(appendUnicode(b, hi), lo)
	}
	return append(b, '\\', 'u', upperHex[r>>12], upperHex[r>>8&15], upperHex[r>>4&15], upperHex[r&15])
}

// appendDouble prints a number as Double.toString does: 0.0, 1.0E10, 1.0E-5. NaN and infinities become null.
func appendDouble(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-3 && abs < 1e7 {
		n := len(b)
		b = strconv.AppendFloat(b, f, 'f', -1, 64)
		for _, c := range b[n:] {
			if c == '.' {
				return b
			}
		}
		return append(b, ".0"...)
	}
	var digits [32]byte
	text := strconv.AppendFloat(digits[:0], f, 'e', -1, 64) // d.ddde-05
	e := 0
	for text[e] != 'e' {
		e++
	}
	exp, _ := strconv.Atoi(string(text[e+1:]))
	b = append(b, text[:e]...)
	if e <= 2 && text[e-1] != '.' { // a single digit, perhaps with a sign
		b = append(b, ".0"...)
	}
	return strconv.AppendInt(append(b, 'E'), int64(exp), 10)
}
