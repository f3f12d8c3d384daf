// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"errors"
	"strconv"
	"strings"
	"unsafe"
)

// The generated headers read and write their fields with the functions of this file. Numbers are printed into the
// Fields' own buffer, so that encoding a header allocates nothing once the buffer has grown.

func (f *Fields) addOptString(key string, o Opt[string]) {
	if o.Set {
		f.Add(key, o.V)
	}
}

func (f *Fields) addInt32(key string, v int32) { f.AddInt(key, int64(v)) }
func (f *Fields) addInt64(key string, v int64) { f.AddInt(key, v) }

func (f *Fields) addBool(key string, v bool) {
	if v {
		f.Add(key, "true")
	} else {
		f.Add(key, "false")
	}
}

func (f *Fields) addOptInt32(key string, o Opt[int32]) {
	if o.Set {
		f.AddInt(key, int64(o.V))
	}
}

func (f *Fields) addOptInt64(key string, o Opt[int64]) {
	if o.Set {
		f.AddInt(key, o.V)
	}
}

func (f *Fields) addOptBool(key string, o Opt[bool]) {
	if o.Set {
		f.addBool(key, o.V)
	}
}

// AddInt appends an entry with a decimal number. The value is a view, valid until Reset.
func (f *Fields) AddInt(key string, v int64) {
	if v >= 0 && v < 10 {
		f.Add(key, "0123456789"[v:v+1])
		return
	}
	start := len(f.digits)
	f.digits = strconv.AppendInt(f.digits, v, 10)
	// When append moves the buffer, older views keep the old memory alive.
	f.Add(key, view(f.digits[start:]))
}

// view is b as a string without a copy.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func own(o *Opt[string]) { o.V = strings.Clone(o.V) }

// The set functions keep the field as it is when the text does not parse, as Java's reflective decoder does (it logs).

func setInt32(p *int32, s string) {
	if v, err := strconv.ParseInt(s, 10, 32); err == nil {
		*p = int32(v)
	}
}

func setInt64(p *int64, s string) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		*p = v
	}
}

func setBool(p *bool, s string) { *p = strings.EqualFold(s, "true") }

func setOptInt32(p *Opt[int32], s string) {
	if v, err := strconv.ParseInt(s, 10, 32); err == nil {
		*p = Some(int32(v))
	}
}

func setOptInt64(p *Opt[int64], s string) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		*p = Some(v)
	}
}

func setOptBool(p *Opt[bool], s string) { *p = Some(strings.EqualFold(s, "true")) }

// The parse functions refuse what does not parse, as Java's hand-written decoders do.

func parseOptInt32(p *Opt[int32], s string) error {
	v, err := strconv.ParseInt(s, 10, 32)
	*p = Some(int32(v))
	return numberFormat(s, err)
}

func parseOptInt64(p *Opt[int64], s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	*p = Some(v)
	return numberFormat(s, err)
}

// numberFormat is the answer of a Java server to a number that it cannot read.
func numberFormat(s string, err error) error {
	switch {
	case err == nil:
		return nil
	case s == "":
		return Errorf(RespSystemError, `java.lang.NumberFormatException: For input string: ""`)
	case errors.Is(err, strconv.ErrRange):
		return Errorf(RespSystemError, `java.lang.NumberFormatException: For input string: "%s" under radix 10`, s)
	}
	return Errorf(RespSystemError, `java.lang.NumberFormatException: For input string: "%s"`, s)
}
