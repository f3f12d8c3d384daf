// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import "unicode/utf8"

// HashCode continues java.lang.String.hashCode over UTF-8 text: HashCode(HashCode(0, a), b) is the hash of a+b.
// Java hashes UTF-16 units, so a character beyond U+FFFF counts as its two surrogates. It does not allocate.
func HashCode[T string | []byte](h int32, text T) int32 {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			h = 31*h + int32(c)
			i++
			continue
		}
		// at most 4 bytes make a rune; the conversion of so few stays on the stack
		r, n := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		i += n
		if r > 0xFFFF {
			r -= 0x10000
			h = 31*h + (0xD800 + r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = 31*h + r
	}
	return h
}

// TagsCode is what a consume-queue unit and a tag filter carry for a TAGS property: its hash, 0 if there is none.
func TagsCode(tags []byte) int64 { return int64(HashCode(0, tags)) }
