// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

//go:generate go run ./gen

import (
	"slices"
	"strings"
)

// Header is a typed custom header: the named fields that travel in a command's extFields.
// The implementations are generated from the table in headers.txt (see gen/).
//
// A decoded header is a view: its strings point into the connection's read buffer and are valid until the handler
// returns. What is kept longer must be cloned (Clone of the generated type, or strings.Clone of one field).
type Header interface {
	// AppendFields adds every field that is present, in the order in which Java puts them into the extFields map; the
	// encoder then brings them into the order in which that HashMap prints them.
	AppendFields(f *Fields)
	// ParseFields reads the fields by name. A missing field stays absent; unknown names are ignored. Headers that
	// Java decodes field by field ("fast codec") refuse numbers that do not parse; all others keep the default.
	ParseFields(f *Fields) error
}

// Field is one entry of extFields.
type Field struct{ Key, Value string }

// maxFields bounds the extFields of a frame that is decoded. Real ones have a few dozen; looking for a name among
// millions, which fit into a frame, would take the reader minutes.
const maxFields = 1024

// Fields are the extFields of one command in the order in which they stand on the wire.
// The zero value is an absent map (Java null), which is printed differently from an empty one.
type Fields struct {
	List    []Field
	Present bool

	digits []byte // where AddInt prints
}

// Get returns the value of key; the last one wins when a key stands twice.
func (f *Fields) Get(key string) (string, bool) {
	for i := len(f.List) - 1; i >= 0; i-- {
		if f.List[i].Key == key {
			return f.List[i].Value, true
		}
	}
	return "", false
}

// remove takes out every entry of key: a null value hides the earlier ones.
func (f *Fields) remove(key string) {
	f.List = slices.DeleteFunc(f.List, func(e Field) bool { return e.Key == key })
}

// Clone makes a copy that owns its memory.
func (f *Fields) Clone() Fields {
	c := Fields{Present: f.Present}
	if len(f.List) > 0 {
		c.List = make([]Field, len(f.List))
	}
	for i, e := range f.List {
		c.List[i] = Field{strings.Clone(e.Key), strings.Clone(e.Value)}
	}
	return c
}

// Add appends an entry and makes the map present.
func (f *Fields) Add(key, value string) {
	f.Present = true
	f.List = append(f.List, Field{key, value})
}

// Reset makes the map absent and keeps the memory; numbers that AddInt printed are overwritten by later ones.
func (f *Fields) Reset() {
	f.List = f.List[:0]
	f.Present = false
	f.digits = f.digits[:0]
}
