// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"bytes"

	"rocketmq-go/compat/javahash"
)

// Separators of an encoded property string: name NameEnd value PairEnd …
const (
	NameEnd = 0x01
	PairEnd = 0x02
)

// Property names that the store or the broker act upon.
const (
	PropTags             = "TAGS"
	PropKeys             = "KEYS"
	PropUniqKey          = "UNIQ_KEY"
	PropDelay            = "DELAY"
	PropRealTopic        = "REAL_TOPIC"
	PropRealQueueID      = "REAL_QID"
	PropWait             = "WAIT"
	PropMultiDispatch    = "INNER_MULTI_DISPATCH"
	PropMultiQueueOffset = "INNER_MULTI_QUEUE_OFFSET"
	PropInnerNum         = "INNER_NUM"
	PropInnerBase        = "INNER_BASE"
	PropCRC              = "__CRC32#"
)

// MaxProperties is the longest property string a record can carry, in bytes.
const MaxProperties = 32767

// Properties walks over the pairs of an encoded property string without copying.
// The zero value is an empty walk; Name and Value are views into the string.
type Properties struct {
	Name, Value []byte
	rest        []byte
}

// ScanProperties starts a walk. Pairs with an empty name or value are passed over, as Java's parser does; a value may
// contain NameEnd. Both forms of the end (with and without a last PairEnd) are accepted.
func ScanProperties(encoded []byte) Properties { return Properties{rest: encoded} }

// Next steps to the next pair and reports whether there is one.
func (p *Properties) Next() bool {
	for len(p.rest) > 0 {
		pair := p.rest
		if i := bytes.IndexByte(pair, PairEnd); i >= 0 {
			pair, p.rest = pair[:i], pair[i+1:]
		} else {
			p.rest = nil
		}
		if i := bytes.IndexByte(pair, NameEnd); i > 0 && i < len(pair)-1 {
			p.Name, p.Value = pair[:i], pair[i+1:]
			return true
		}
	}
	return false
}

// Property finds one property. When a name occurs more than once the last one counts (Java puts them into a map).
func Property(encoded []byte, name string) ([]byte, bool) {
	var value []byte
	for p := ScanProperties(encoded); p.Next(); {
		if string(p.Name) == name {
			value = p.Value
		}
	}
	return value, value != nil
}

// PropertyMap decodes a property string.
func PropertyMap(encoded []byte) map[string]string {
	m := make(map[string]string, 8)
	for p := ScanProperties(encoded); p.Next(); {
		m[string(p.Name)] = string(p.Value)
	}
	return m
}

// AppendProperty appends one pair, with a separator before it if dst needs one.
// The result ends with PairEnd.
func AppendProperty(dst []byte, name, value string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != PairEnd {
		dst = append(dst, PairEnd)
	}
	dst = append(dst, name...)
	dst = append(dst, NameEnd)
	dst = append(dst, value...)
	return append(dst, PairEnd)
}

// Known holds the properties that matter to the store, as views into the encoded string.
type Known struct {
	Tags, Keys, UniqKey, Delay, Wait, MultiDispatch, MultiQueueOffset, InnerNum []byte
}

// ScanKnown finds all of them in one pass. It is done for every message that is stored: of a pair only the first byte is
// looked at before it is compared with a name.
func ScanKnown(encoded []byte) (k Known) {
	for rest := encoded; len(rest) > 0; {
		pair := rest
		if i := bytes.IndexByte(rest, PairEnd); i >= 0 {
			pair, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		if len(pair) == 0 {
			continue
		}
		switch pair[0] {
		case PropTags[0]:
			pick(&k.Tags, pair, PropTags)
		case PropKeys[0]:
			pick(&k.Keys, pair, PropKeys)
		case PropUniqKey[0]:
			pick(&k.UniqKey, pair, PropUniqKey)
		case PropDelay[0]:
			pick(&k.Delay, pair, PropDelay)
		case PropWait[0]:
			pick(&k.Wait, pair, PropWait)
		case PropInnerNum[0]:
			pick(&k.MultiDispatch, pair, PropMultiDispatch)
			pick(&k.MultiQueueOffset, pair, PropMultiQueueOffset)
			pick(&k.InnerNum, pair, PropInnerNum)
		}
	}
	return k
}

// pick sets value to that of a pair with this name, if it has one.
func pick(value *[]byte, pair []byte, name string) {
	if n := len(name); len(pair) > n+1 && pair[n] == NameEnd && string(pair[:n]) == name {
		*value = pair[n+1:]
	}
}

// Dialect tells which Java release writes a property string: they differ in the map they use and in how they end.
type Dialect uint8

const (
	Java5  Dialect = iota // HashMap(128), a separator after the last pair
	Java49                // default HashMap, no separator after the last pair
)

// Removed is the value of a change that removes a property: no property can have it.
const Removed = "\x02"

// Rebuild decodes a property string, applies the changes and writes it again as a Java
// broker of the dialect would: in HashMap order.
func Rebuild(encoded []byte, d Dialect, changes ...[2]string) []byte {
	text := string(encoded)
	values := make(map[string]string, 16)
	names := make([]string, 0, 16)
	put := func(name, value string) {
		if _, ok := values[name]; !ok {
			names = append(names, name)
		}
		values[name] = value
	}
	for p := ScanProperties(encoded); p.Next(); {
		at := cap(encoded) - cap(p.Name) // names and values are parts of one string
		value := at + len(p.Name) + 1
		put(text[at:value-1], text[value:value+len(p.Value)])
	}
	for _, c := range changes {
		put(c[0], c[1])
	}
	capacity := 128 // of the map that 5.x decodes into
	if d == Java49 {
		capacity = javahash.DefaultCapacity
	}
	javahash.SortHashMap(names, javahash.String, capacity)
	out := make([]byte, 0, len(encoded)+64)
	for _, name := range names {
		if values[name] != Removed {
			out = AppendProperty(out, name, values[name])
		}
	}
	if d == Java49 && len(out) > 0 {
		out = out[:len(out)-1]
	}
	return out
}
