// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

// Encoder turns responses and requests with typed headers into frames, in the form of the Java release whose version
// ordinal it carries. It keeps scratch memory, so encoding allocates nothing once it is warm; it must not be used by two
// goroutines at once.
type Encoder struct {
	Version  int32 // MQVersion ordinal, printed in every frame
	Language Language

	cmd   Command
	order []uint32
}

// version5 is the MQVersion ordinal of V5_0_0, from which on extFields maps start large.
const version5 = 413

// AppendResponse appends the frame that answers the request with that opaque.
func (e *Encoder) AppendResponse(dst []byte, opaque int32, t SerializeType, r *Response) ([]byte, error) {
	e.start(r.Code, FlagResponse, opaque, t)
	e.cmd.Remark = r.Remark
	e.cmd.Body = r.Body
	e.fields(r.Header, r.Extra)
	dst, err := AppendFrame(dst, &e.cmd)
	e.cmd.Body = nil
	return dst, err
}

// AppendRequest appends the frame of a request. flag is 0 or FlagOneway; h may be nil.
func (e *Encoder) AppendRequest(dst []byte, code, opaque, flag int32, t SerializeType, h Header, body []byte) ([]byte, error) {
	e.start(code, flag, opaque, t)
	e.cmd.Body = body
	e.fields(h, nil)
	dst, err := AppendFrame(dst, &e.cmd)
	e.cmd.Body = nil
	return dst, err
}

func (e *Encoder) start(code, flag, opaque int32, t SerializeType) {
	fields := e.cmd.Fields
	fields.Reset()
	e.cmd = Command{Code: code, Version: e.Version, Language: e.Language, Opaque: opaque, Flag: flag, Serialize: t, Fields: fields}
}

// fields collects the entries in the order in which Java's HashMap has them. A Java server adds single entries before
// the header; in 5.x the first of them makes the map with 256 buckets, a header alone makes one with 16.
func (e *Encoder) fields(h Header, extra []Field) {
	f := &e.cmd.Fields
	f.Present = h != nil || len(extra) > 0
	if fast, ok := h.(fastHeader); ok && e.cmd.Serialize == Binary {
		// A binary header starts with these fields as declared; only the others come out of the map.
		fast.appendDeclared(f)
		h = nil
	}
	fixed := len(f.List)
	capacity := 16
	if len(extra) > 0 && e.Version >= version5 {
		capacity = 256
	}
	f.List = append(f.List, extra...)
	if h != nil {
		h.AppendFields(f)
	}
	e.order = hashMapOrder(f.List[fixed:], capacity, e.order[:0])
}

// fastHeader is a header for which Java has a hand-written codec.
type fastHeader interface{ appendDeclared(f *Fields) }

// NewRequest makes a request command with the fields of h (nil = none) in Java's order, for senders that are not on a
// hot path. Version and Opaque are left to who sends it.
func NewRequest(code int32, h Header, body []byte) *Command {
	c := &Command{Code: code, Body: body}
	if h != nil {
		c.Fields.Present = true
		h.AppendFields(&c.Fields)
		hashMapOrder(c.Fields.List, 16, nil)
	}
	return c
}

// hashMapOrder sorts entries as a java.util.HashMap iterates over them that was made with the given capacity and got
// them in their present order: by bucket, in a bucket by time. scratch is returned for the next call.
func hashMapOrder(list []Field, capacity int, scratch []uint32) []uint32 {
	for len(list) > capacity*3/4 {
		capacity *= 2
	}
	mask := uint32(capacity - 1)
	for _, e := range list {
		h := hashCode(e.Key)
		scratch = append(scratch, (h^h>>16)&mask)
	}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && scratch[j] < scratch[j-1]; j-- {
			scratch[j], scratch[j-1] = scratch[j-1], scratch[j]
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return scratch
}

// hashCode is java.lang.String.hashCode.
func hashCode(s string) uint32 {
	var h uint32
	for i := range len(s) {
		if s[i] >= 0x80 {
			return hashCodeUTF16(s)
		}
		h = h*31 + uint32(s[i])
	}
	return h
}

func hashCodeUTF16(s string) uint32 {
	var h uint32
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			h = (h*31+uint32(0xD800+r>>10))*31 + uint32(0xDC00+r&0x3FF)
			continue
		}
		h = h*31 + uint32(r)
	}
	return h
}
