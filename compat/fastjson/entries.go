// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"cmp"
	"reflect"
	"slices"
	"unicode/utf16"
)

// entries is how the codec reaches into a Map of any type.
type entries interface {
	encodeEntries(e *encoder, set bool)
	decodeEntries(d *decoder, set bool) error
}

func (m *Map[K, V]) encodeEntries(e *encoder, set bool) {
	if len(m.entries) == 0 {
		e.buf = append(e.buf, "{}"...)
		return
	}
	list := m.entries
	if e.Standard {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b entry[K, V]) int { return compareKeys(reflect.ValueOf(a.key), reflect.ValueOf(b.key)) })
	}
	key, value := codecOf(reflect.TypeFor[K]()), codecOf(reflect.TypeFor[V]())
	named := key.typ.Kind() == reflect.String
	e.buf = append(e.buf, '{')
	e.indent++
	first := true
	begin := len(e.buf)
	for i := range list {
		if i == sample {
			e.room(begin, len(list))
		}
		v := reflect.ValueOf(&list[i].value).Elem()
		if v.Kind() == reflect.Pointer && v.IsNil() {
			continue
		}
		e.comma(first)
		first = false
		if named { // entries with other keys share a line
			e.newline()
		}
		e.key(key, reflect.ValueOf(&list[i].key).Elem())
		e.buf = append(e.buf, ':')
		value.encode(e, v, set)
	}
	e.indent--
	e.newline()
	e.buf = append(e.buf, '}')
}

// key prints a map key; standard JSON needs a string.
func (e *encoder) key(c *codec, v reflect.Value) {
	if e.Standard && v.Kind() != reflect.String {
		text := encoder{Options: Options{Standard: true, Omit: e.Omit}}
		c.encode(&text, v, false)
		e.buf = appendString(e.buf, string(text.buf), true)
		return
	}
	c.encode(e, v, false)
}

// compareKeys is the order of a TreeMap: numbers by value, strings by UTF-16 units.
func compareKeys(a, b reflect.Value) int {
	switch {
	case a.Kind() == reflect.String:
		return compareUTF16(a.String(), b.String())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	}
	return 0
}

func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func (m *Map[K, V]) decodeEntries(d *decoder, set bool) error {
	m.Clear()
	key, value := codecOf(reflect.TypeFor[K]()), codecOf(reflect.TypeFor[V]())
	cost := int(key.typ.Size()+value.typ.Size()) + 16
	return d.object(func() error { return m.decodeEntries(d, set) }, func(k token) error {
		var ent entry[K, V]
		if err := d.key(k, key, reflect.ValueOf(&ent.key).Elem()); err != nil {
			return err
		}
		v := reflect.ValueOf(&ent.value).Elem()
		if err := value.decode(d, v, set); err != nil {
			return err
		}
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return nil
		}
		m.Set(ent.key, ent.value)
		return d.take(cost)
	})
}
