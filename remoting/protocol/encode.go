// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"encoding/binary"
	"math"
	"strconv"
)

// AppendFrame appends the whole frame of c, its fields in the order in which they stand. On an error (a field name
// above 32,767 bytes in a binary header, a code above 32,767 there, a frame above MaxFrame) dst is returned unchanged.
func AppendFrame(dst []byte, c *Command) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	if c.Serialize == Binary {
		if err := c.checkBinary(); err != nil {
			return dst[:start], err
		}
		dst = c.appendBinary(dst)
	} else {
		dst = c.appendJSON(dst)
	}
	header := len(dst) - start - prefixSize
	if total := prefixSize + header + len(c.Body); header > maxHeaderSize || total > MaxFrame {
		return dst[:start], frameErrorf(NotEncodable, "%d bytes", total)
	}
	dst = append(dst, c.Body...)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-lengthSize))
	binary.BigEndian.PutUint32(dst[start+lengthSize:], uint32(c.Serialize)<<24|uint32(header))
	return dst, nil
}

// appendJSON prints the header as fastjson 1.2 does: properties sorted, null left out, no white space.
func (c *Command) appendJSON(b []byte) []byte {
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, int64(c.Code), 10)
	if c.Fields.Present {
		b = append(b, `,"extFields":{`...)
		for i := range c.Fields.List {
			e := &c.Fields.List[i]
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, e.Key)
			b = append(b, ':')
			b = appendQuoted(b, e.Value)
		}
		b = append(b, '}')
	}
	b = append(b, `,"flag":`...)
	b = strconv.AppendInt(b, int64(c.Flag), 10)
	b = append(b, `,"language":"`...)
	b = append(b, c.Language.String()...)
	b = append(b, `","opaque":`...)
	b = strconv.AppendInt(b, int64(c.Opaque), 10)
	if c.Remark.Set {
		b = append(b, `,"remark":`...)
		b = appendQuoted(b, c.Remark.V)
	}
	b = append(b, `,"serializeTypeCurrentRPC":"JSON","version":`...)
	b = strconv.AppendInt(b, int64(c.Version), 10)
	return append(b, '}')
}

// appendQuoted prints a JSON string with the escapes of fastjson 1.2: the short ones, \uXXXX in upper case for the
// other controls, 0x7F to 0x9F, U+2028 and U+2029; everything else raw.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !special[c] {
			continue
		}
		n, r := 1, rune(c)
		switch {
		case c == 0xC2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] <= 0x9F:
			n, r = 2, rune(s[i+1])
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0xA8 || s[i+2] == 0xA9):
			n, r = 3, 0x2000|rune(s[i+2]-0x80)
		case c >= 0x80:
			continue
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, r)
		i += n - 1
		start = i + 1
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// special marks the bytes at which an escape may start.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	for _, c := range []byte{'"', '\\', 0x7F, 0xC2, 0xE2} {
		t[c] = true
	}
	return t
}()

func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, '\\', 'b')
	case '\t':
		return append(b, '\\', 't')
	case '\n':
		return append(b, '\\', 'n')
	case '\f':
		return append(b, '\\', 'f')
	case '\r':
		return append(b, '\\', 'r')
	}
	const digits = "0123456789ABCDEF"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

func (c *Command) checkBinary() error {
	if c.Code > math.MaxInt16 || c.Code < math.MinInt16 {
		return frameErrorf(NotEncodable, "code %d does not fit a binary header", c.Code)
	}
	for i := range c.Fields.List {
		if n := len(c.Fields.List[i].Key); n > math.MaxInt16 {
			return frameErrorf(NotEncodable, "a field name of %d bytes does not fit a binary header", n)
		}
	}
	return nil
}

func (c *Command) appendBinary(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(c.Code))
	b = append(b, byte(c.Language))
	b = binary.BigEndian.AppendUint16(b, uint16(c.Version))
	b = binary.BigEndian.AppendUint32(b, uint32(c.Opaque))
	b = binary.BigEndian.AppendUint32(b, uint32(c.Flag))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.Remark.V)))
	b = append(b, c.Remark.V...)
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	for i := range c.Fields.List {
		e := &c.Fields.List[i]
		b = binary.BigEndian.AppendUint16(b, uint16(len(e.Key)))
		b = append(b, e.Key...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(e.Value)))
		b = append(b, e.Value...)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
