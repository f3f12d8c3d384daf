// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"rocketmq-go/compat/fastjson"
)

// valueKind is the type of a value.
type valueKind uint8

const (
	isNull   valueKind = iota
	isFailed           // what could not be computed: the message does not match, whatever else the expression says
	isBool             // num is 0 or 1
	isInt              // Java's Integer
	isLong             // Java's Long
	isFloat            // Java's Double
	isString
)

// value is what a part of an expression comes to.
type value struct {
	kind  valueKind
	num   int64
	float float64
	text  string // may be a view of the message
}

func truth(b bool) value {
	if b {
		return value{kind: isBool, num: 1}
	}
	return value{kind: isBool}
}

func text(s string) value { return value{kind: isString, text: s} }

// integer has the smaller of Java's two types that holds it.
func integer(i int64) value {
	if i == int64(int32(i)) {
		return value{kind: isInt, num: i}
	}
	return value{kind: isLong, num: i}
}

// is tells whether v is the condition b.
func (v *value) is(b bool) bool { return v.kind == isBool && (v.num != 0) == b }

// String is the value as Java prints it.
func (v value) String() string {
	switch v.kind {
	case isBool:
		return strconv.FormatBool(v.num != 0)
	case isInt, isLong:
		return strconv.FormatInt(v.num, 10)
	case isFloat:
		return string(fastjson.Options{}.Marshal(v.float))
	}
	return v.text
}

// literal is the value as it is written in an expression.
func (v value) literal() string {
	switch v.kind {
	case isNull:
		return "NULL"
	case isBool:
		return strings.ToUpper(v.String())
	case isString:
		return "'" + strings.ReplaceAll(v.text, "'", "''") + "'"
	}
	return v.String()
}

// order is the outcome of a comparison.
type order int8

const (
	lessOrder    order = -1
	equalOrder   order = 0
	greaterOrder order = 1
	noOrder      order = 2 // of types that have nothing to do with each other
	badOrder     order = 3 // what the other side is cannot be made of a string
)

func orderOf[T int64 | string](a, b T) order {
	switch {
	case a < b:
		return lessOrder
	case a > b:
		return greaterOrder
	}
	return equalOrder
}

// orderOfFloats is Java's: NaN is equal to itself and above everything, -0.0 is below 0.0.
func orderOfFloats(a, b float64) order {
	switch {
	case a < b:
		return lessOrder
	case a > b:
		return greaterOrder
	}
	x, y := int64(math.Float64bits(a)), int64(math.Float64bits(b))
	if a != a {
		x = math.MaxInt64
	}
	if b != b {
		y = math.MaxInt64
	}
	return orderOf(x, y)
}

// asFloat is the value of a number as a double.
func (v *value) asFloat() float64 {
	if v.kind == isFloat {
		return v.float
	}
	return float64(v.num)
}

func (v *value) numeric() bool { return v.kind >= isInt && v.kind <= isFloat }

// compare orders two values that are not null. A string is read as what the other side is, two of them as doubles. A
// boolean can be compared with a string to its left only.
func compare(a, b *value) order {
	switch {
	case a.kind == isString && b.kind == isString:
		x, y := doubleOf(a.text), doubleOf(b.text)
		return compareRead(&x, &y)
	case a.kind == isString:
		x := readAs(b.kind, a.text)
		return compareRead(&x, b)
	case a.kind == isBool && b.kind == isString:
		return badOrder
	case b.kind == isString:
		y := readAs(a.kind, b.text)
		return compareRead(a, &y)
	}
	return compareRead(a, b)
}

// compareRead orders two values that are not strings.
func compareRead(a, b *value) order {
	switch {
	case a.kind == isFailed || b.kind == isFailed:
		return badOrder
	case a.kind == isBool && b.kind == isBool:
		return orderOf(a.num, b.num)
	case !a.numeric() || !b.numeric():
		return noOrder
	case a.kind == isFloat || b.kind == isFloat:
		return orderOfFloats(a.asFloat(), b.asFloat())
	}
	return orderOf(a.num, b.num)
}

// readAs reads a string as a value of a kind.
func readAs(k valueKind, s string) value {
	switch k {
	case isBool:
		return truth(strings.EqualFold(s, "true"))
	case isInt:
		return decimalOf(s, 32)
	case isLong:
		return decimalOf(s, 64)
	}
	return doubleOf(s)
}

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
