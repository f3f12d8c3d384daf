// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package sql92 compiles and evaluates SQL92 filter expressions as Java's rocketmq-filter does.
//
//	f, err := sql92.Compile("price BETWEEN 10 AND 20 AND region IN ('eu', 'us')")
//	if f.Match(record.Properties) { … }
//
// Logic has three values, and a fourth: a comparison that cannot be made, such as that of the property "abc" with a
// number, makes the whole expression fail, also under NOT, unless the side before it of an AND or OR decides already.
// Only TRUE matches.
//
// Some rules that surprise, all of them Java's:
//
//   - the expression ends where the parser has no use for the next token: s LIKE 'a%' is s, a + 1 = 2 is a;
//   - NOT binds more closely than any comparison: NOT a = 1 is (NOT a) = 1;
//   - a property is a string. It is compared with a number or a boolean as one of these, with another property as a
//     double if the two are not equal; an order needs numbers;
//   - a property alone is a condition that is never true;
//   - names and strings are case-sensitive, keywords are not. An empty property is a missing one.
//
// What differs from Java: an expression nested more than 1000 deep or with more than 20,000 operators is refused (there
// the stack overflows, when it is compiled or for each message), errors are cut at 4 KiB, and very few doubles have other
// last digits in them (Java up to 18 does not print the shortest ones).
package sql92

import (
	"strings"
	"sync"

	"rocketmq-go/message"
)

// Filter is a compiled expression. It is immutable: any number of goroutines may use it.
type Filter struct {
	root  *node
	names []string // the properties in use; their order is that of the slots
	slots map[string]int
	pool  sync.Pool // of *[]string, values of the names when they are many
}

// Compile compiles an expression. The error is an *Error. It takes time in proportion to the expression's length.
func Compile(expression string) (*Filter, error) {
	expression = strings.ToValidUTF8(expression, "\uFFFD")
	p := parser{lexer: newLexer(expression), slots: map[string]int{}}
	root, err := p.or()
	if err == nil {
		err = condition(root)
	}
	if err != nil {
		return nil, err
	}
	return &Filter{root: root, names: p.names, slots: p.slots}, nil
}

// Result is what an expression says of a message.
type Result uint8

const (
	Null Result = iota // unknown, because of a missing property
	False
	True
	Failed // a string could not be read as the number it is compared with
)

func (r Result) String() string { return [...]string{"null", "false", "true", "failed"}[r] }

// Match tells whether a message is wanted: only True is. properties is the message's encoded property string.
func (f *Filter) Match(properties []byte) bool { return f.Eval(properties) == True }

// few is the number of names up to which they are compared one by one.
const few = 8

// Eval evaluates the expression over an encoded property string. When a name occurs more than once there, the last
// value counts.
func (f *Filter) Eval(properties []byte) Result {
	if len(f.names) > few {
		return f.evalMany(properties)
	}
	var values [few]string
	for p := message.ScanProperties(properties); p.Next(); {
		for i, name := range f.names {
			if name == string(p.Name) {
				values[i] = view(p.Value)
				break
			}
		}
	}
	return result(f.root.condition(values[:len(f.names)]))
}

func (f *Filter) evalMany(properties []byte) Result {
	values, ok := f.pool.Get().(*[]string)
	if !ok {
		values = new([]string)
		*values = make([]string, len(f.names))
	}
	for p := message.ScanProperties(properties); p.Next(); {
		if i, ok := f.slots[string(p.Name)]; ok {
			(*values)[i] = view(p.Value)
		}
	}
	r := result(f.root.condition(*values))
	clear(*values) // no views of messages are kept
	f.pool.Put(values)
	return r
}

func result(v value) Result {
	switch {
	case v.is(true):
		return True
	case v.is(false):
		return False
	case v.kind == isFailed:
		return Failed
	}
	return Null
}
