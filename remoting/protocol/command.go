// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import "fmt"

// SerializeType is the top byte of a frame's header word.
type SerializeType uint8

const (
	JSON   SerializeType = 0 // header as a JSON object
	Binary SerializeType = 1 // "ROCKETMQ": fixed binary layout
)

// Bits of Command.Flag.
const (
	FlagResponse = 1
	FlagOneway   = 2
)

// Command is one frame: a request or a response. After Decode its strings and Body are views into the frame,
// valid until the handler returns.
type Command struct {
	Code      int32
	Language  Language
	Version   int32 // MQVersion ordinal of the sender
	Opaque    int32
	Flag      int32
	Remark    Opt[string]
	Fields    Fields
	Body      []byte
	Serialize SerializeType
}

func (c *Command) IsResponse() bool { return c.Flag&FlagResponse != 0 }
func (c *Command) IsOneway() bool   { return c.Flag&FlagOneway != 0 }

// Response is what a handler answers. The zero value is code 0 (SUCCESS) without remark, fields or body.
type Response struct {
	Code   int32
	Remark Opt[string]
	Header Header  // nil: extFields absent; a header with no field present: empty extFields
	Extra  []Field // further entries beside those of Header, such as MSG_REGION
	Body   []byte
}

// Error is a refusal with the response code and the remark that the client sees.
type Error struct {
	Code   int32
	Remark string
}

func (e *Error) Error() string { return fmt.Sprintf("code %d: %s", e.Code, e.Remark) }

// Errorf makes an Error; it travels up to the route table, which turns it into a response.
func Errorf(code int32, format string, args ...any) *Error {
	return &Error{Code: code, Remark: fmt.Sprintf(format, args...)}
}
