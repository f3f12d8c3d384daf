// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import (
	"strconv"
	"strings"

	"rocketmq-go/compat/javahash"
)

// op is what a node of the expression does.
type op uint8

const (
	opLiteral op = iota // value
	opName              // the property in slot
	opNot
	opNegate // unary minus
	opAnd
	opOr
	opEqual
	opGreater
	opGreaterEqual
	opLess
	opLessEqual
	opIsNull
	opIn
	opNotIn
	opContains
	opNotContains
	opStartsWith
	opNotStartsWith
	opEndsWith
	opNotEndsWith
)

// opNames is how operators are written in errors.
var opNames = [...]string{
	opNot: "NOT", opNegate: "-",
	opAnd: "&&", opOr: "||", opEqual: "==", opGreater: ">", opGreaterEqual: ">=", opLess: "<", opLessEqual: "<=",
	opIn: "IN", opNotIn: "NOT IN",
	opContains: "CONTAINS", opNotContains: "NOT CONTAINS", opStartsWith: "STARTSWITH",
	opNotStartsWith: "NOT STARTSWITH", opEndsWith: "ENDSWITH", opNotEndsWith: "NOT ENDSWITH",
}

// node is a part of a compiled expression. It is immutable.
type node struct {
	op          op
	left, right *node
	value       value               // opLiteral; the text that CONTAINS and its like look for
	slot        int                 // opName: index of its value
	name        string              // opName
	set         map[string]struct{} // IN
	list        []string            // IN, in the order of the text
}

// boolean tells whether a node is a condition. A property is none by itself, though it may stand where one must.
func (n *node) boolean() bool {
	switch n.op {
	case opName, opNegate:
		return false
	case opLiteral:
		return n.value.kind == isBool || n.value.kind == isNull
	}
	return true
}

// String writes the node as Java does in its errors.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	switch n.op {
	case opLiteral:
		b.WriteString(n.value.literal())
		return
	case opName:
		b.WriteString(n.name)
		return
	case opIn, opNotIn:
		n.left.write(b)
		b.WriteString(" " + opNames[n.op] + " ( ")
		b.WriteString(strings.Join(inJavaOrder(n.list), ", "))
		b.WriteString(" )")
		return
	}
	b.WriteByte('(')
	if n.right == nil && n.op != opIsNull {
		b.WriteString(opNames[n.op] + " ")
	}
	n.left.write(b)
	if n.op == opIsNull {
		b.WriteString(" == NULL")
	} else if n.right != nil {
		b.WriteString(" " + opNames[n.op] + " ")
		n.right.write(b)
	}
	b.WriteByte(')')
}

// inJavaOrder sorts the strings of an IN as Java prints them: a set if there are five or more.
func inJavaOrder(list []string) []string {
	if len(list) < 5 {
		return list
	}
	var set []string
	seen := make(map[string]struct{}, len(list))
	for _, text := range list {
		if _, ok := seen[text]; !ok {
			seen[text] = struct{}{}
			set = append(set, text)
		}
	}
	javahash.SortHashMap(set, javahash.String, max(len(list)*4/3+1, javahash.DefaultCapacity))
	return set
}

// number makes a literal of a decimal or a float.
func number(t token, text string) (*node, error) {
	if t.kind == tokDecimal {
		digits := strings.TrimRight(text, "lL")
		i, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fail(`java.lang.NumberFormatException: For input string: "` + digits + `"`)
		}
		return &node{value: integer(i)}, nil
	}
	f, _ := strconv.ParseFloat(text, 64)
	const smallest, largest = "4.9E-324", "1.7976931348623157E308"
	switch {
	case f == 0:
		return nil, refusal("%s is less than %s", text, smallest)
	case f > maxFloat:
		return nil, refusal("%s is greater than %s", text, largest)
	}
	return &node{value: value{kind: isFloat, float: f}}, nil
}

// condition checks that a node may stand where a condition must.
func condition(n *node) error {
	if n.boolean() || n.op == opName {
		return nil
	}
	return fail("org.apache.rocketmq.filter.parser.ParseException: Expression will not result in a boolean value: " + n.String())
}

// logic makes n AND m, n OR m.
func logic(o op, n, m *node) (*node, error) {
	for _, side := range [...]*node{n, m} {
		if err := condition(side); err != nil {
			return nil, err
		}
	}
	return &node{op: o, left: n, right: m}, nil
}

func not(n *node) (*node, error) {
	if err := condition(n); err != nil {
		return nil, err
	}
	return &node{op: opNot, left: n}, nil
}

// equal makes n = m.
func equal(n, m *node) (*node, error) {
	for _, side := range [...]*node{n, m} {
		if side.op == opLiteral && side.value.kind == isNull {
			return nil, refusal("'NULL' cannot be compared.")
		}
	}
	if n.op == opLiteral && m.op == opLiteral && n.boolean() && !m.boolean() {
		return nil, refusal("'%s' cannot be compared with '%s'", n, m)
	}
	return &node{op: opEqual, left: n, right: m}, nil
}

// ordered makes n > m and its like: literals must be numbers, conditions are refused.
func ordered(o op, n, m *node) (*node, error) {
	for _, side := range [...]*node{n, m} {
		if side.boolean() || side.op == opLiteral && side.value.kind == isString {
			return nil, refusal("Value '%s' cannot be compared.", side)
		}
	}
	return &node{op: o, left: n, right: m}, nil
}

// between makes n BETWEEN low AND high, as two comparisons.
func between(n, low, high *node) (*node, error) {
	if low.op == opLiteral && high.op == opLiteral {
		if low.value.kind == isNull || high.value.kind == isNull {
			return nil, refusal("Illegal values of between, values can not be null!")
		}
		order, err := compareLiterals(low.value, high.value)
		if err != nil {
			return nil, err
		}
		if order != equalOrder && order != greaterOrder {
			return nil, refusal("Illegal values of between, left value(%s) must less than or equal to right value(%s)",
				low.value, high.value)
		}
	}
	return pair(opAnd, n, opGreaterEqual, low, opLessEqual, high)
}

// notBetween makes n NOT BETWEEN low AND high. The order of the two is not checked.
func notBetween(n, low, high *node) (*node, error) {
	return pair(opOr, n, opLess, low, opGreater, high)
}

func pair(o op, n *node, first op, low *node, second op, high *node) (*node, error) {
	left, err := ordered(first, n, low)
	if err != nil {
		return nil, err
	}
	right, err := ordered(second, n, high)
	if err != nil {
		return nil, err
	}
	return logic(o, left, right)
}

// in makes n IN list.
func in(o op, n *node, list []string) (*node, error) {
	if n.op != opName {
		return nil, refusal("Expected a property for In expression, got: %s", n)
	}
	in := &node{op: o, left: n, list: list, set: make(map[string]struct{}, len(list))}
	for _, text := range list {
		in.set[text] = struct{}{}
	}
	return in, nil
}
