// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"errors"
	"reflect"
)

// maxDepth is how deeply objects and lists may be nested; RocketMQ's own texts need seven.
const maxDepth = 64

// A text may take 16 MiB plus eight times its length when decoded. Real texts take less than twice their length; the
// bound is for "[{},{},{},…" and for references that multiply.
const (
	baseMemory   = 16 << 20
	memoryFactor = 8
)

// ErrNull is returned for an empty text, "null", and a list where an object is wanted: Java's reader makes a null
// object of them.
var ErrNull = errors.New("json: no object")

// Unmarshal reads data into v, a pointer to a struct, list or Map. Nothing in v aliases data afterwards.
func Unmarshal(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return errors.New("json: Unmarshal needs a pointer")
	}
	rv = rv.Elem()
	d := decoder{lexer: lexer{data: data}, memory: baseMemory + memoryFactor*len(data)}
	t, err := d.peek()
	if err != nil {
		return err
	}
	if t.kind == end || isNull(t) || t.is('[') && rv.Kind() == reflect.Struct {
		return ErrNull
	}
	c := codecOf(rv.Type())
	setDefaults(c, rv)
	if err := c.decode(&d, rv, false); err != nil {
		return err
	}
	if t, err = d.next(); err != nil {
		return err
	}
	if t.kind != end {
		return &SyntaxError{Offset: t.pos, Msg: "text behind the end"}
	}
	return nil
}

type decoder struct {
	lexer
	depth  int
	memory int            // bytes that may still be taken
	refs   map[string]int // offsets of the values that $ref paths name
}

func (d *decoder) peek() (token, error) {
	pos := d.pos
	t, err := d.next()
	d.pos = pos
	return t, err
}

// take accounts for memory before it is kept.
func (d *decoder) take(n int) error {
	if d.memory -= n; d.memory < 0 {
		return d.fail("text takes too much memory")
	}
	return nil
}

func isNull(t token) bool {
	return t.kind == word && (string(t.text) == "null" || string(t.text) == "undefined" || string(t.text) == "NaN")
}

func setDefaults(c *codec, v reflect.Value) {
	v.SetZero()
	if c.defaults {
		v.Addr().Interface().(Defaulter).SetDefaults()
	}
}

// object reads the entries of an object. member gets each key token with the position behind the colon; again decodes
// the whole value once more and is called at the place that a $ref names.
func (d *decoder) object(again func() error, member func(key token) error) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if !t.is('{') {
		return &SyntaxError{Offset: t.pos, Msg: "object expected"}
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("nested too deeply")
	}
	defer func() { d.depth-- }()
	for {
		if t, err = d.next(); err != nil {
			return err
		}
		switch {
		case t.is('}'):
			return nil
		case t.is(','):
			continue
		case t.kind == text && string(t.text) == "$ref":
			return d.reference(again)
		}
		if err := d.colon(t); err != nil {
			return err
		}
		if err := member(t); err != nil {
			return err
		}
	}
}

// colon checks that t can be a key and passes over the colon behind it.
func (d *decoder) colon(key token) error {
	if key.kind == end || key.kind == punct && key.punct != '{' {
		return &SyntaxError{Offset: key.pos, Msg: "name expected"}
	}
	if key.is('{') {
		if err := d.skip(key, d.depth); err != nil {
			return err
		}
	}
	t, err := d.next()
	if err != nil {
		return err
	}
	if !t.is(':') {
		return &SyntaxError{Offset: t.pos, Msg: "colon expected"}
	}
	return nil
}

// key decodes a map key, which is an object, a text that holds one, or a scalar.
func (d *decoder) key(t token, c *codec, v reflect.Value) error {
	if c.typ.Kind() != reflect.Struct {
		return d.scalar(t, c, v)
	}
	sub := decoder{lexer: d.lexer, depth: d.depth, memory: d.memory}
	switch t.kind {
	case text:
		sub.data, sub.pos = t.text, 0
	case punct:
		sub.pos = t.pos
	default:
		return &SyntaxError{Offset: t.pos, Msg: "object expected as key"}
	}
	setDefaults(c, v)
	err := c.decode(&sub, v, false)
	d.memory = sub.memory
	return err
}

// scalar decodes a token that was read already.
func (d *decoder) scalar(t token, c *codec, v reflect.Value) error {
	back := d.pos
	d.pos = t.pos
	err := c.decode(d, v, false)
	d.pos = back
	return err
}

func (c *codec) decodeStruct(d *decoder, v reflect.Value, set bool) error {
	t, err := d.peek()
	if err != nil {
		return err
	}
	if t.kind != punct { // null, and "" as some clients write it
		_, _ = d.next()
		if !isNull(t) && len(t.text) > 0 {
			return &SyntaxError{Offset: t.pos, Msg: "object expected"}
		}
		return nil
	}
	again := func() error {
		setDefaults(c, v)
		return c.decodeStruct(d, v, set)
	}
	return d.object(again, func(key token) error {
		f := c.field(key.text)
		if key.kind == punct || f == nil {
			t, err := d.next()
			if err != nil {
				return err
			}
			return d.skip(t, d.depth)
		}
		return inField(f.name, c.decodeField(d, f, v.FieldByIndex(f.index)))
	})
}

func (c *codec) decodeField(d *decoder, f *fieldCodec, v reflect.Value) error {
	t, err := d.peek()
	if err != nil {
		return err
	}
	if isNull(t) {
		_, _ = d.next()
		if f.isNull != nil {
			v.SetZero()
		}
		return nil
	}
	if f.typ.Kind() == reflect.Struct {
		setDefaults(f.codec, v)
	}
	return f.decode(d, v, f.set)
}

// inField names the innermost field in which an error happened.
func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	var s *SyntaxError
	if errors.As(err, &s) && s.Field == "" {
		return &SyntaxError{Offset: s.Offset, Field: name, Msg: s.Msg}
	}
	return err
}

func (c *codec) decodePointer(d *decoder, v reflect.Value, set bool) error {
	t, err := d.peek()
	if err != nil {
		return err
	}
	if isNull(t) {
		_, err = d.next()
		v.SetZero()
		return err
	}
	if err := d.take(int(c.elem.typ.Size())); err != nil {
		return err
	}
	p := reflect.New(c.elem.typ)
	setDefaults(c.elem, p.Elem())
	if err := c.elem.decode(d, p.Elem(), set); err != nil {
		return err
	}
	v.Set(p)
	return nil
}

func (c *codec) decodeOption(d *decoder, v reflect.Value, set bool) error {
	t, err := d.peek()
	if err != nil {
		return err
	}
	v.SetZero()
	if isNull(t) || t.kind == text && len(t.text) == 0 && c.elem.typ.Kind() != reflect.String {
		_, err = d.next()
		return err
	}
	if err := c.elem.decode(d, v.Field(0), set); err != nil {
		return err
	}
	v.Field(1).SetBool(true)
	return nil
}

func (c *codec) decodeList(d *decoder, v reflect.Value, set bool) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if t.is('{') {
		return d.listReference(func() error { return c.decodeList(d, v, set) })
	}
	if !t.is('[') {
		return t.fail("list")
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("nested too deeply")
	}
	defer func() { d.depth-- }()
	v.Set(reflect.MakeSlice(c.typ, 0, 0))
	for n := 0; ; n++ {
		if t, err = d.element(); err != nil {
			return err
		}
		if t.is(']') {
			break
		}
		if err := d.take(int(c.elem.typ.Size())); err != nil {
			return err
		}
		v.Grow(1)
		v.SetLen(n + 1)
		setDefaults(c.elem, v.Index(n))
		if err := c.elem.decode(d, v.Index(n), set); err != nil {
			return err
		}
	}
	if set && c.elem.typ.Comparable() {
		dropDuplicates(v)
	}
	return nil
}

// element passes over commas to the next element, which it leaves, or to the closing bracket, which it takes.
func (d *decoder) element() (token, error) {
	for {
		back := d.pos
		t, err := d.next()
		if err != nil || t.is(']') {
			return t, err
		}
		if !t.is(',') {
			d.pos = back
			return t, nil
		}
	}
}

func dropDuplicates(list reflect.Value) {
	if list.Len() < 2 {
		return
	}
	seen := make(map[any]struct{}, list.Len())
	kept := 0
	for i := range list.Len() {
		e := list.Index(i)
		k := e.Interface()
		if _, dup := seen[k]; !dup {
			seen[k] = struct{}{}
			list.Index(kept).Set(e)
			kept++
		}
	}
	list.SetLen(kept)
}
