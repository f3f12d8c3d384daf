// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package properties

import (
	"errors"
	"strings"
	"unicode/utf16"
)

var errUnicode = errors.New("malformed \\uXXXX escape")

// unicode writes the character whose four hex digits start s, together with a second surrogate that follows as \uXXXX.
// It returns how many bytes it took.
func unicode(b *strings.Builder, s []byte) (int, error) {
	r, err := hex4(s)
	if err != nil {
		return 0, err
	}
	if utf16.IsSurrogate(r) && len(s) >= 6 && s[4] == '\\' && s[5] == 'u' {
		low, err := hex4(s[6:])
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != '\ufffd' {
			b.WriteRune(pair)
			return 10, nil
		}
	}
	b.WriteRune(r)
	return 4, nil
}

func hex4(s []byte) (rune, error) {
	if len(s) < 4 {
		return 0, errUnicode
	}
	var r rune
	for _, c := range s[:4] {
		i := strings.IndexByte("0123456789abcdefABCDEF", c)
		if i < 0 {
			return 0, errUnicode
		}
		if i >= 16 {
			i -= 6
		}
		r = r<<4 | rune(i)
	}
	return r, nil
}
