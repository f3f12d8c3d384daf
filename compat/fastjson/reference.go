// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"strconv"
	"strings"
)

// reference handles {"$ref":"path"} when the name has been read: again decodes the value at the place that the path
// names. Java clients write such references when one object occurs twice, for example one subscription shared by two
// groups of a heartbeat.
func (d *decoder) reference(again func() error) error {
	var path token
	for _, want := range [...]func(token) bool{
		func(t token) bool { return t.is(':') },
		func(t token) bool { path = t; return t.kind == text },
		func(t token) bool { return t.is('}') },
	} {
		t, err := d.next()
		if err != nil {
			return err
		}
		if !want(t) {
			return &SyntaxError{Offset: t.pos, Msg: "malformed $ref"}
		}
	}
	at, err := d.locate(string(path.text))
	if err != nil {
		return err
	}
	if err := d.take(1024); err != nil { // references cost time, too
		return err
	}
	back := d.pos
	d.pos = at
	err = again()
	d.pos = back
	return err
}

// listReference is for a list that is given as a reference; its brace has been read.
func (d *decoder) listReference(again func() error) error {
	t, err := d.next()
	if err != nil {
		return err
	}
	if t.kind != text || string(t.text) != "$ref" {
		return &SyntaxError{Offset: t.pos, Msg: "list expected"}
	}
	if d.depth++; d.depth > maxDepth {
		return d.fail("nested too deeply")
	}
	defer func() { d.depth-- }()
	return d.reference(again)
}

// locate finds the offset of the value that a path names. Paths start at the root; ".." and "@", the parents, would
// make a cycle.
func (d *decoder) locate(path string) (int, error) {
	if at, ok := d.refs[path]; ok {
		return at, nil
	}
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return 0, d.fail("reference to %q", path)
	}
	l := lexer{data: d.data}
	for rest != "" {
		var step string
		if step, rest, ok = pathStep(rest); !ok {
			return 0, d.fail("reference to %q", path)
		}
		if ok, err := l.enter(step); err != nil || !ok {
			return 0, d.fail("reference to nothing, %q", path)
		}
	}
	if d.refs == nil {
		d.refs = map[string]int{}
	}
	if err := d.take(len(path) + l.pos/2); err != nil { // the scan took time, too
		return 0, err
	}
	d.refs[path] = l.pos
	return l.pos, nil
}

// pathStep splits ".name" or "[0]" off a path. A backslash in a name makes the next character part of it.
func pathStep(path string) (step, rest string, ok bool) {
	if path[0] == '[' {
		return strings.Cut(path[1:], "]")
	}
	if path[0] != '.' {
		return "", "", false
	}
	var name strings.Builder
	i := 1
	for ; i < len(path) && path[i] != '.' && path[i] != '['; i++ {
		if path[i] == '\\' && i+1 < len(path) {
			i++
		}
		name.WriteByte(path[i])
	}
	return name.String(), path[i:], i > 1
}

// enter moves from the start of an object or list to that of the member or element named step.
func (l *lexer) enter(step string) (bool, error) {
	open, err := l.next()
	if err != nil || !open.is('{') && !open.is('[') {
		return false, err
	}
	index := 0
	for {
		back := l.pos
		t, err := l.next()
		if err != nil || t.kind == end || t.is(open.punct+2) {
			return false, err
		}
		if t.is(',') {
			continue
		}
		if open.punct == '[' {
			if strconv.Itoa(index) == step {
				l.pos = back
				return true, nil
			}
			index++
		} else {
			if t.is('{') {
				if err := l.skip(t, 0); err != nil {
					return false, err
				}
			}
			if colon, err := l.next(); err != nil || !colon.is(':') {
				return false, err
			}
			if t.kind != punct && string(t.text) == step {
				return true, nil
			}
			if t, err = l.next(); err != nil {
				return false, err
			}
		}
		if err := l.skip(t, 0); err != nil {
			return false, err
		}
	}
}
