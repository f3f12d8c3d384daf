// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"slices"
	"strings"

	"rocketmq-go/message"
)

// linearLimit is the number of properties up to which a name is looked for one by one.
const linearLimit = 64

// Properties are the properties of one message while the broker changes them: message.Rebuild for the hot path, without
// allocation. The zero value is empty; Parse reuses the memory. Names and values are views into the text.
type Properties struct {
	// Built tells that the broker makes the message itself. Then a 5.x broker's map begins small, as that of 4.9 always
	// does. Reset and Parse clear it.
	Built bool

	list  []property
	index map[string]int // only above linearLimit
	order []uint64       // scratch of Append: bucket, index
}

type property struct {
	name, value string
	hash        uint32
}

// Parse replaces p by the properties of text. As in Java, properties without name or without value are dropped, and
// of two with one name the later value wins at the earlier one's place.
func (p *Properties) Parse(text string) {
	p.Reset()
	for text != "" {
		var one string
		if end := strings.IndexByte(text, message.PairEnd); end >= 0 {
			one, text = text[:end], text[end+1:]
		} else {
			one, text = text, ""
		}
		if at := strings.IndexByte(one, message.NameEnd); at > 0 && at < len(one)-1 {
			p.Set(one[:at], one[at+1:])
		}
	}
}

// Reset makes p empty and keeps the memory.
func (p *Properties) Reset() {
	clear(p.list)
	p.list = p.list[:0]
	p.index = nil
	p.Built = false
}

// Len is the number of properties.
func (p *Properties) Len() int { return len(p.list) }

// Get returns the value of a name, or "".
func (p *Properties) Get(name string) string {
	if i := p.find(name, hashOf(name)); i >= 0 {
		return p.list[i].value
	}
	return ""
}

// Has tells whether a name is there, even with an empty value.
func (p *Properties) Has(name string) bool { return p.find(name, hashOf(name)) >= 0 }

// Set gives a name a value.
func (p *Properties) Set(name, value string) {
	hash := hashOf(name)
	if i := p.find(name, hash); i >= 0 {
		p.list[i].value = value
		return
	}
	p.list = append(p.list, property{name, value, hash})
	if p.index != nil {
		p.index[name] = len(p.list) - 1
	}
}

// Delete removes a name.
func (p *Properties) Delete(name string) {
	if i := p.find(name, hashOf(name)); i >= 0 {
		p.list = slices.Delete(p.list, i, i+1)
		p.index = nil
	}
}

// Append writes the properties as a Java broker of that dialect does: in the order of its HashMap, whose first size
// differs, with or without a separator behind the last one.
func (p *Properties) Append(dst []byte, d message.Dialect) []byte {
	buckets := uint32(128)
	if d == message.Java49 || p.Built {
		buckets = 16
	}
	for len(p.list) > int(buckets)/4*3 {
		buckets *= 2
	}
	p.order = p.order[:0]
	for i := range p.list {
		h := p.list[i].hash
		bucket := (h ^ h>>16) & (buckets - 1)
		p.order = append(p.order, uint64(bucket)<<32|uint64(i))
	}
	slices.Sort(p.order)
	for _, o := range p.order {
		e := &p.list[uint32(o)]
		dst = append(dst, e.name...)
		dst = append(dst, message.NameEnd)
		dst = append(dst, e.value...)
		dst = append(dst, message.PairEnd)
	}
	if d == message.Java49 && len(p.list) > 0 {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func (p *Properties) find(name string, hash uint32) int {
	if len(p.list) > linearLimit {
		return p.lookup(name)
	}
	for i := range p.list {
		if p.list[i].hash == hash && p.list[i].name == name {
			return i
		}
	}
	return -1
}

func (p *Properties) lookup(name string) int {
	if p.index == nil {
		p.index = make(map[string]int, 2*len(p.list))
		for i := range p.list {
			p.index[p.list[i].name] = i
		}
	}
	if i, ok := p.index[name]; ok {
		return i
	}
	return -1
}

func hashOf(name string) uint32 { return uint32(message.HashCode(0, name)) }
