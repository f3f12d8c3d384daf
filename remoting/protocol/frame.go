// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// MaxFrame is the default limit of a whole frame in bytes, length word included. Java closes a connection that sends
// a longer one, so a server must not send one either.
const MaxFrame = 16 << 20

const (
	lengthSize    = 4
	prefixSize    = 8 // length and header word
	maxHeaderSize = 1<<24 - 1
)

// FrameError is the reason why a frame cannot be decoded or encoded. A connection that sent such a frame is closed
// without an answer, as Java does.
type FrameError struct {
	Kind   FrameErrorKind
	Detail string
}

// FrameErrorKind groups frame errors, for metrics.
type FrameErrorKind string

const (
	BadLength        FrameErrorKind = "frame length"
	BadSerializeType FrameErrorKind = "serialize type"
	BadHeaderLength  FrameErrorKind = "header length"
	BadJSONHeader    FrameErrorKind = "JSON header"
	BadBinaryHeader  FrameErrorKind = "binary header"
	NotEncodable     FrameErrorKind = "not encodable"
)

func (e *FrameError) Error() string { return "bad " + string(e.Kind) + ": " + e.Detail }

func frameErrorf(kind FrameErrorKind, format string, args ...any) error {
	return &FrameError{kind, fmt.Sprintf(format, args...)}
}

// FrameSize is the size of the frame that starts with b, length word included, or 0 when b is shorter than the length
// word. It refuses frames above limit and those that are too short to hold the header word.
func FrameSize(b []byte, limit int) (int, error) {
	if len(b) < lengthSize {
		return 0, nil
	}
	n := int64(int32(binary.BigEndian.Uint32(b)))
	if n < prefixSize-lengthSize || n+lengthSize > int64(limit) {
		return 0, frameErrorf(BadLength, "%d", n)
	}
	return int(n) + lengthSize, nil
}

// Decode reads one whole frame, length word included, and keeps the memory of Fields. The command's strings and Body
// are views into frame, whose header part is changed where JSON escapes are resolved. After an error c is undefined.
func (c *Command) Decode(frame []byte) error {
	fields := c.Fields
	fields.Reset()
	*c = Command{Fields: fields}

	if len(frame) < prefixSize || int64(binary.BigEndian.Uint32(frame)) != int64(len(frame)-lengthSize) {
		return frameErrorf(BadLength, "%d bytes", len(frame))
	}
	word := binary.BigEndian.Uint32(frame[lengthSize:])
	size := int(word & maxHeaderSize)
	if size > len(frame)-prefixSize {
		return frameErrorf(BadHeaderLength, "%d of %d", size, len(frame)-prefixSize)
	}
	header := frame[prefixSize : prefixSize+size : prefixSize+size]
	if body := frame[prefixSize+size:]; len(body) > 0 {
		c.Body = body
	}
	switch t := word >> 24; SerializeType(t) {
	case JSON:
		c.Serialize = JSON
		return c.decodeJSON(header)
	case Binary:
		c.Serialize = Binary
		return c.decodeBinary(header)
	default:
		return frameErrorf(BadSerializeType, "%d", t)
	}
}

// Clone makes a copy that owns its memory.
func (c *Command) Clone() *Command {
	d := *c
	d.Remark.V = strings.Clone(c.Remark.V)
	d.Body = append([]byte(nil), c.Body...)
	d.Fields = c.Fields.Clone()
	return &d
}
