// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"encoding/binary"
	"unicode/utf8"
)

// The binary ("ROCKETMQ") header:
//
//	code i16 | language u8 | version i16 | opaque i32 | flag i32 |
//	remark: i32 n, n bytes | extFields: i32 n, n bytes of entries (key: i16 n, n bytes; value: i32 n, n bytes)
//
// An empty remark, key or value is null: the two kinds of zero length cannot be told apart.
const binaryFixedSize = 21

func (c *Command) decodeBinary(header []byte) error {
	if len(header) < binaryFixedSize {
		return frameErrorf(BadBinaryHeader, "%d bytes", len(header))
	}
	c.Code = int32(int16(binary.BigEndian.Uint16(header)))
	c.Language = Language(header[2])
	if int(c.Language) >= len(languageNames) {
		c.Language = LanguageOther
	}
	c.Version = int32(int16(binary.BigEndian.Uint16(header[3:])))
	c.Opaque = int32(binary.BigEndian.Uint32(header[5:]))
	c.Flag = int32(binary.BigEndian.Uint32(header[9:]))

	remark, rest, ok := cut32(header[13:])
	if !ok || len(rest) < 4 {
		return frameErrorf(BadBinaryHeader, "remark length")
	}
	if len(remark) > 0 {
		c.Remark = Some(utf8Text(remark))
	}
	ext, _, ok := cut32(rest)
	if !ok {
		return frameErrorf(BadBinaryHeader, "extFields length")
	}
	return c.Fields.decodeBinary(ext)
}

func (f *Fields) decodeBinary(ext []byte) error {
	for entries := 0; len(ext) > 0; entries++ {
		f.Present = true
		if entries == maxFields {
			return frameErrorf(BadBinaryHeader, "more than %d extFields", maxFields)
		}
		if len(ext) < 2 {
			return frameErrorf(BadBinaryHeader, "key length")
		}
		n := int(int16(binary.BigEndian.Uint16(ext)))
		if n < 0 || n > len(ext)-2 {
			return frameErrorf(BadBinaryHeader, "key length %d", n)
		}
		key := ext[2 : 2+n]
		value, rest, ok := cut32(ext[2+n:])
		if !ok {
			return frameErrorf(BadBinaryHeader, "value length")
		}
		ext = rest
		switch {
		case len(key) == 0:
		case len(value) == 0:
			f.remove(utf8Text(key))
		default:
			f.List = append(f.List, Field{utf8Text(key), utf8Text(value)})
		}
	}
	return nil
}

// cut32 splits b behind a block with a 32-bit length in front.
func cut32(b []byte) (block, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if n < 0 || n > int64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

func utf8Text(b []byte) string {
	if !utf8.Valid(b) {
		return string([]rune(string(b)))
	}
	return view(b)
}
