// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import "strings"

// eval computes a node. properties are the values of the names by slot, "" where the message has none.
func (n *node) eval(properties []string) value {
	switch n.op {
	case opLiteral:
		return n.value
	case opName:
		if s := properties[n.slot]; s != "" {
			return text(s)
		}
		return value{}
	case opAnd, opOr:
		return n.evalLogic(properties)
	case opNot:
		return negate(n.left.condition(properties))
	case opNegate:
		v := n.left.eval(properties)
		if !v.numeric() && v.kind != isFailed {
			return value{}
		}
		v.num, v.float = -v.num, -v.float
		return v
	case opIsNull:
		v := n.left.eval(properties)
		if v.kind == isFailed {
			return v
		}
		return truth(v.kind == isNull)
	case opIn, opNotIn:
		s := properties[n.left.slot]
		if s == "" {
			return value{}
		}
		_, found := n.set[s]
		return truth(found == (n.op == opIn))
	case opEqual:
		return n.evalEqual(properties)
	case opGreater, opGreaterEqual, opLess, opLessEqual:
		return n.evalOrder(properties)
	}
	return n.evalSearch(properties)
}

// condition computes a node where a condition is wanted: a property is none, so it is false, or null if it is missing.
func (n *node) condition(properties []string) value {
	if n.op != opName {
		return n.eval(properties)
	}
	if properties[n.slot] == "" {
		return value{}
	}
	return truth(false)
}

func negate(v value) value {
	if v.kind == isBool {
		v.num ^= 1
	}
	return v
}

// evalLogic stops as soon as the left side decides, so that what fails on the right is not noticed then.
func (n *node) evalLogic(properties []string) value {
	decides := n.op == opOr
	left := n.left.condition(properties)
	if left.kind == isFailed || left.is(decides) {
		return left
	}
	right := n.right.condition(properties)
	if right.kind == isFailed || right.is(decides) || left.kind != isNull {
		return right
	}
	return left
}

// evalEqual is not symmetric: a missing right side is unequal, a missing left side is unknown.
func (n *node) evalEqual(properties []string) value {
	left, right := n.left.eval(properties), n.right.eval(properties)
	switch {
	case left.kind == isFailed:
		return left
	case right.kind == isFailed:
		return right
	case left.kind == isNull && right.kind == isNull:
		return truth(true)
	case left.kind == isNull:
		return value{}
	case right.kind == isNull:
		return truth(false)
	case left.kind == isString && right.kind == isString:
		return truth(left.text == right.text)
	}
	o := compare(&left, &right)
	if o == badOrder {
		return value{kind: isFailed}
	}
	return truth(o == equalOrder)
}

func (n *node) evalOrder(properties []string) value {
	left := n.left.eval(properties)
	if left.kind == isFailed || left.kind == isNull {
		return left
	}
	right := n.right.eval(properties)
	if right.kind == isFailed || right.kind == isNull {
		return right
	}
	o := compare(&left, &right)
	if o == badOrder {
		return value{kind: isFailed}
	}
	switch n.op {
	case opGreater:
		return truth(o == greaterOrder)
	case opGreaterEqual:
		return truth(o == greaterOrder || o == equalOrder)
	case opLess:
		return truth(o == lessOrder)
	}
	return truth(o == lessOrder || o == equalOrder)
}

// evalSearch is CONTAINS and its like. What is not there, or no string, contains nothing and does not not contain either.
func (n *node) evalSearch(properties []string) value {
	want := n.value.text
	if want == "" {
		return truth(false)
	}
	v := n.left.eval(properties)
	if v.kind == isFailed {
		return v
	}
	if v.kind != isString {
		return truth(false)
	}
	var found bool
	switch n.op {
	case opContains, opNotContains:
		found = strings.Contains(v.text, want)
	case opStartsWith, opNotStartsWith:
		found = strings.HasPrefix(v.text, want)
	default:
		found = strings.HasSuffix(v.text, want)
	}
	negated := n.op == opNotContains || n.op == opNotStartsWith || n.op == opNotEndsWith
	return truth(found != negated)
}
