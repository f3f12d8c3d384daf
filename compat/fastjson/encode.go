// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"encoding/base64"
	"reflect"
	"slices"
	"strconv"
)

// Options choose among the texts that fastjson can print. The zero value is its default form.
type Options struct {
	// Standard is what name servers answer to clients that want standard JSON (BrowserCompatible): all keys quoted,
	// maps sorted by key, non-ASCII as \uXXXX, a slash as \/.
	Standard bool
	// Pretty is the form of the files under store/config (PrettyFormat): tabs, one member per line.
	Pretty bool
	// Omit leaves out the fields whose tag carries this mark.
	Omit string
}

// Marshal prints v, a struct, list or map or a pointer to one, in the default form. A type that has no JSON form is a
// programming error and panics.
func Marshal(v any) []byte { return Options{}.Append(nil, v) }

// Marshal prints v in the form of these options.
func (o Options) Marshal(v any) []byte { return o.Append(nil, v) }

// Append appends the text of v to dst.
func (o Options) Append(dst []byte, v any) []byte {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return append(dst, "null"...)
	}
	e := encoder{Options: o, buf: dst}
	codecOf(rv.Type()).encode(&e, rv, false)
	return e.buf
}

type encoder struct {
	Options
	buf    []byte
	indent int
}

const (
	// sample is after how many elements the size of a list or map is estimated.
	sample = 8
	// mostRoom bounds what an estimate may claim, in bytes.
	mostRoom = 16 << 20
)

// room makes room for the rest of n elements, of which sample stand behind begin: a large answer is not copied again and
// again while it grows.
func (e *encoder) room(begin, n int) {
	e.buf = slices.Grow(e.buf, min((len(e.buf)-begin)/sample*(n-sample)*9/8, mostRoom))
}

// newline starts a line of the pretty form.
func (e *encoder) newline() {
	if e.Pretty {
		e.buf = append(e.buf, '\n')
		for range e.indent {
			e.buf = append(e.buf, '\t')
		}
	}
}

func (e *encoder) comma(first bool) {
	if !first {
		e.buf = append(e.buf, ',')
	}
}

func encodeString(e *encoder, v reflect.Value, _ bool) {
	e.buf = appendString(e.buf, v.String(), e.Standard)
}

func encodeBool(e *encoder, v reflect.Value, _ bool) { e.buf = strconv.AppendBool(e.buf, v.Bool()) }

func encodeInt(e *encoder, v reflect.Value, _ bool)   { e.buf = strconv.AppendInt(e.buf, v.Int(), 10) }
func encodeFloat(e *encoder, v reflect.Value, _ bool) { e.buf = appendDouble(e.buf, v.Float()) }

func encodeBytes(e *encoder, v reflect.Value, _ bool) {
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, v.Bytes())
	e.buf = append(e.buf, '"')
}

func (c *codec) encodeEnum(e *encoder, v reflect.Value, _ bool) {
	name := ""
	switch {
	case v.Kind() == reflect.String:
		name = v.String()
	case v.CanUint() && v.Uint() < uint64(len(c.names)):
		name = c.names[v.Uint()]
	case v.CanInt() && v.Int() >= 0 && v.Int() < int64(len(c.names)):
		name = c.names[v.Int()]
	}
	if name == "" {
		e.buf = append(e.buf, "null"...)
		return
	}
	e.buf = appendString(e.buf, name, e.Standard)
}

func (c *codec) encodePointer(e *encoder, v reflect.Value, set bool) {
	if v.IsNil() {
		e.buf = append(e.buf, "null"...)
		return
	}
	c.elem.encode(e, v.Elem(), set)
}

func (c *codec) encodeOption(e *encoder, v reflect.Value, set bool) {
	if !v.Field(1).Bool() {
		e.buf = append(e.buf, "null"...)
		return
	}
	c.elem.encode(e, v.Field(0), set)
}

// encodeList keeps sets on one line in the pretty form; lists have one element per line.
func (c *codec) encodeList(e *encoder, v reflect.Value, set bool) {
	if v.Len() == 0 {
		e.buf = append(e.buf, "[]"...)
		return
	}
	e.buf = append(e.buf, '[')
	e.indent++
	begin := len(e.buf)
	for i := range v.Len() {
		if i == sample {
			e.room(begin, v.Len())
		}
		e.comma(i == 0)
		if !set {
			e.newline()
		}
		c.elem.encode(e, v.Index(i), false)
	}
	e.indent--
	if !set {
		e.newline()
	}
	e.buf = append(e.buf, ']')
}

func (c *codec) encodeStruct(e *encoder, v reflect.Value, _ bool) {
	e.buf = append(e.buf, '{')
	e.indent++
	e.newline()
	first := true
	for _, f := range c.fields {
		fv := v.FieldByIndex(f.index)
		if f.isNull != nil && !f.empty && f.isNull(fv) || e.Omit != "" && slices.Contains(f.marks, e.Omit) {
			continue
		}
		if !first {
			e.buf = append(e.buf, ',')
			e.newline()
		}
		first = false
		e.buf = append(e.buf, f.label...)
		f.encode(e, fv, f.set)
	}
	e.indent--
	e.newline()
	e.buf = append(e.buf, '}')
}
