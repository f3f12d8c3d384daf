// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"encoding/json"
	"errors"
	"strings"
)

// looseJSON reads JSON as the Java servers print it: keys of maps may be bare numbers or objects. Such a key becomes
// its own text.
func looseJSON(text string) (any, error) {
	p := looseParser{rest: text}
	v := p.value()
	p.space()
	if p.bad || p.rest != "" {
		return nil, errLoose
	}
	return v, nil
}

var errLoose = errors.New("not JSON")

type looseParser struct {
	rest string
	bad  bool
}

func (p *looseParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// eat takes one character if it is next.
func (p *looseParser) eat(c byte) bool {
	p.space()
	if p.bad || p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *looseParser) need(c byte) {
	if !p.eat(c) {
		p.bad = true
	}
}

func (p *looseParser) value() any {
	switch {
	case p.eat('{'):
		m := map[string]any{}
		p.sequence('}', func() {
			k := p.key()
			p.need(':')
			m[k] = p.value()
		})
		return m
	case p.eat('['):
		a := []any{}
		p.sequence(']', func() { a = append(a, p.value()) })
		return a
	}
	return p.scalar()
}

// sequence reads elements with commas between them up to the closing character.
func (p *looseParser) sequence(end byte, element func()) {
	if p.eat(end) {
		return
	}
	for !p.bad {
		element()
		if p.eat(end) {
			return
		}
		p.need(',')
	}
}

func (p *looseParser) key() string {
	v := p.value()
	if s, ok := v.(string); ok {
		return s
	}
	return canonical(v)
}

// scalar reads a string, number, boolean or null with the standard decoder.
func (p *looseParser) scalar() any {
	p.space()
	d := json.NewDecoder(strings.NewReader(p.rest))
	d.UseNumber()
	var v any
	if p.bad || d.Decode(&v) != nil {
		p.bad = true
		return nil
	}
	p.rest = p.rest[d.InputOffset():]
	return v
}

// canonical is a text by which equal values have equal texts.
func canonical(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
