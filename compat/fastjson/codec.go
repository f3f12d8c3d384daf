// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Defaulter is a type whose fresh Java object is not all zero.
type Defaulter interface{ SetDefaults() }

// Enum is a type printed by name. Strings hold the name itself, integers its index in EnumNames.
type Enum interface{ EnumNames() []string }

// Unsorted is a type whose fields are printed in the order of declaration, as Java does it from a HashMap.
type Unsorted interface{ Unsorted() }

var (
	defaulterType = reflect.TypeFor[Defaulter]()
	enumType      = reflect.TypeFor[Enum]()
	unsortedType  = reflect.TypeFor[Unsorted]()
	entriesType   = reflect.TypeFor[entries]()
)

// codec is what there is to know about a type.
type codec struct {
	typ      reflect.Type
	encode   func(e *encoder, v reflect.Value, set bool)
	decode   func(d *decoder, v reflect.Value, set bool) error
	isNull   func(v reflect.Value) bool // as a field: left out when true; nil: never
	elem     *codec                     // of pointers, options and lists
	fields   []*fieldCodec              // of structs, in the order in which they are printed
	byName   map[string]*fieldCodec     // exact name
	smart    map[string]*fieldCodec     // name in lower case without _ and -
	defaults bool
	names    []string // of enums
}

type fieldCodec struct {
	*codec
	name  string
	label string // `"name":`
	index []int
	empty bool
	set   bool
	marks []string
}

// codecs caches what codecOf derives from types alone: reflect.Type → *codec.
var codecs sync.Map

func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	b := builder{}
	c := b.build(t)
	for bt, bc := range b { // only now: a codec under construction is not seen by others
		codecs.LoadOrStore(bt, bc)
	}
	return c
}

// builder holds the codecs of one call, so that types may contain themselves.
type builder map[reflect.Type]*codec

func (b builder) build(t reflect.Type) *codec {
	if c, ok := b[t]; ok {
		return c
	}
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	c := &codec{typ: t}
	b[t] = c
	c.defaults = reflect.PointerTo(t).Implements(defaulterType)
	switch {
	case t.Implements(enumType):
		c.enum()
	case reflect.PointerTo(t).Implements(entriesType):
		c.orderedMap()
	default:
		b.kind(c)
	}
	return c
}

func (b builder) kind(c *codec) {
	switch t := c.typ; t.Kind() {
	case reflect.String:
		c.encode, c.decode = encodeString, decodeString
		c.isNull = func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Bool:
		c.encode, c.decode = encodeBool, decodeBool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		c.encode, c.decode = encodeInt, decodeInt
	case reflect.Float32, reflect.Float64:
		c.encode, c.decode = encodeFloat, decodeFloat
	case reflect.Pointer:
		c.elem = b.build(t.Elem())
		c.encode, c.decode, c.isNull = c.encodePointer, c.decodePointer, reflect.Value.IsNil
	case reflect.Slice:
		c.isNull = reflect.Value.IsNil
		if t.Elem().Kind() == reflect.Uint8 {
			c.encode, c.decode = encodeBytes, decodeBytes
			return
		}
		c.elem = b.build(t.Elem())
		c.encode, c.decode = c.encodeList, c.decodeList
	case reflect.Struct:
		if t.NumField() == 2 && t.Field(0).Name == "V" && t.Field(1).Name == "Set" {
			c.elem = b.build(t.Field(0).Type)
			c.encode, c.decode = c.encodeOption, c.decodeOption
			c.isNull = func(v reflect.Value) bool { return !v.Field(1).Bool() }
			return
		}
		c.encode, c.decode = c.encodeStruct, c.decodeStruct
		b.fields(c)
	default:
		panic(fmt.Sprintf("fastjson: type %v has no JSON form", t))
	}
}

func (b builder) fields(c *codec) {
	c.byName = map[string]*fieldCodec{}
	c.smart = map[string]*fieldCodec{}
	for _, sf := range reflect.VisibleFields(c.typ) {
		tag, ok := sf.Tag.Lookup("fastjson")
		if !ok {
			tag, ok = sf.Tag.Lookup("json")
		}
		if !ok || !sf.IsExported() {
			continue
		}
		words := strings.Split(tag, ",")
		f := &fieldCodec{codec: b.build(sf.Type), name: words[0], label: string(appendString(nil, words[0], false)) + ":", index: sf.Index}
		names := words[:1:1]
		for _, w := range words[1:] {
			alt, isAlt := strings.CutPrefix(w, "alt=")
			switch {
			case isAlt:
				names = append(names, alt)
			case w == "empty":
				f.empty = true
			case w == "set":
				f.set = true
			default:
				f.marks = append(f.marks, w)
			}
		}
		for _, n := range names {
			c.byName[n] = f
			c.smart[smartName(n)] = f
		}
		c.fields = append(c.fields, f)
	}
	if !reflect.PointerTo(c.typ).Implements(unsortedType) {
		slices.SortFunc(c.fields, func(a, b *fieldCodec) int { return strings.Compare(a.name, b.name) })
	}
}

// field finds the field for a name in the text, as tolerant as fastjson's smart match.
func (c *codec) field(name []byte) *fieldCodec {
	if f, ok := c.byName[string(name)]; ok {
		return f
	}
	key := smartName(string(name))
	if f, ok := c.smart[key]; ok {
		return f
	}
	if rest, ok := strings.CutPrefix(key, "is"); ok {
		if f := c.smart[rest]; f != nil && f.typ.Kind() == reflect.Bool {
			return f
		}
	}
	return nil
}

func smartName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func (c *codec) enum() {
	c.names = reflect.Zero(c.typ).Interface().(Enum).EnumNames()
	c.encode, c.decode = c.encodeEnum, c.decodeEnum
	if c.typ.Kind() == reflect.String {
		c.isNull = func(v reflect.Value) bool { return v.Len() == 0 }
	}
}

func (c *codec) orderedMap() {
	c.encode = func(e *encoder, v reflect.Value, set bool) {
		if !v.CanAddr() { // an element of a Go map or an interface value
			p := reflect.New(c.typ).Elem()
			p.Set(v)
			v = p
		}
		v.Addr().Interface().(entries).encodeEntries(e, set)
	}
	c.decode = func(d *decoder, v reflect.Value, set bool) error {
		return v.Addr().Interface().(entries).decodeEntries(d, set)
	}
	c.isNull = func(v reflect.Value) bool {
		return v.Field(0).IsNil()
	}
}
