// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case punct:
		return strconv.QuoteRune(rune(t.punct))
	}
	return strconv.Quote(string(t.text))
}

func (t token) fail(what string) error {
	return &SyntaxError{Offset: t.pos, Msg: fmt.Sprintf("%s expected, not %s", what, t)}
}

// decodeString takes scalars as their text; of an object or list it takes the text as it stands.
func decodeString(d *decoder, v reflect.Value, _ bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	s := t.text
	switch {
	case isNull(t):
		s = nil
	case t.is('{'), t.is('['):
		if err := d.skip(t, d.depth); err != nil {
			return err
		}
		s = d.data[t.pos:d.pos]
	case t.kind == end || t.kind == punct:
		return t.fail("text")
	}
	if err := d.take(len(s)); err != nil {
		return err
	}
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\ufffd"))
	}
	v.SetString(string(s))
	return nil
}

func decodeBool(d *decoder, v reflect.Value, _ bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	switch strings.ToLower(string(t.text)) {
	case "true", "1", "y", "t":
		v.SetBool(true)
	case "false", "0", "n", "f":
		v.SetBool(false)
	default:
		if keepsDefault(t) {
			return nil
		}
		return t.fail("boolean")
	}
	return nil
}

// keepsDefault is for null and the empty text, which leave a number or boolean as it is.
func keepsDefault(t token) bool {
	return isNull(t) || t.kind == text && (len(t.text) == 0 || string(t.text) == "null")
}

func decodeInt(d *decoder, v reflect.Value, _ bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if keepsDefault(t) {
		return nil
	}
	n, err := t.integer()
	if err != nil {
		return err
	}
	if v.OverflowInt(n) {
		return t.fail("smaller integer")
	}
	v.SetInt(n)
	return nil
}

func (t token) integer() (int64, error) {
	s := string(bytes.TrimSpace(t.text))
	switch {
	case t.kind == end || t.kind == punct:
		return 0, t.fail("integer")
	case t.kind == word && s == "true":
		return 1, nil
	case t.kind == word && s == "false":
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "L"), 10, 64)
	if err == nil {
		return n, nil
	}
	// 6.0 and 6e0 are integers too, as long as a float64 holds them exactly.
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, t.fail("integer")
	}
	return int64(f), nil
}

func decodeFloat(d *decoder, v reflect.Value, _ bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if keepsDefault(t) {
		return nil
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(t.text)), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return t.fail("number")
	}
	v.SetFloat(f)
	return nil
}

// decodeBytes takes base64 (fastjson 1.x) and a list of signed numbers (fastjson2).
func decodeBytes(d *decoder, v reflect.Value, set bool) error {
	t, err := d.peek()
	if err != nil {
		return err
	}
	if t.is('[') {
		var signed []int8
		if err := codecOf(reflect.TypeFor[[]int8]()).decode(d, reflect.ValueOf(&signed).Elem(), set); err != nil {
			return err
		}
		b := make([]byte, len(signed))
		for i, n := range signed {
			b[i] = byte(n)
		}
		v.SetBytes(b)
		return nil
	}
	_, _ = d.next()
	if isNull(t) {
		v.SetZero()
		return nil
	}
	if t.kind != text {
		return t.fail("base64")
	}
	if err := d.take(len(t.text)); err != nil {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(string(t.text))
	if err != nil {
		return t.fail("base64")
	}
	v.SetBytes(b)
	return nil
}

// decodeEnum takes a name in any case or an ordinal. Anything else is Java's null.
func (c *codec) decodeEnum(d *decoder, v reflect.Value, _ bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if t.kind == end || t.kind == punct {
		return t.fail("name")
	}
	ordinal := slices.IndexFunc(c.names, func(name string) bool { return strings.EqualFold(name, string(t.text)) })
	if ordinal < 0 {
		if n, err := strconv.Atoi(string(t.text)); err == nil && n >= 0 && n < len(c.names) {
			ordinal = n
		}
	}
	switch {
	case v.Kind() == reflect.String && ordinal >= 0:
		v.SetString(c.names[ordinal])
	case v.Kind() == reflect.String:
		v.SetString("")
	case ordinal >= 0 && v.CanUint():
		v.SetUint(uint64(ordinal))
	case ordinal >= 0:
		v.SetInt(int64(ordinal))
	}
	return nil
}
