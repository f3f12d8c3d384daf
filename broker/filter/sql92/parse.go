// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package sql92

import "strings"

// Bounds of an expression. A Java broker's stack overflows at somewhat more.
const (
	maxDepth     = 1000   // of brackets, NOT and signs
	maxOperators = 20_000 // an evaluation walks over all of them
)

// kinds is a set of token kinds.
type kinds uint32

func of(list ...kind) (set kinds) {
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

// What may follow, as Java's errors list it. Behind an operand that is the sum of what each level of the grammar would
// go on with, and of the bracket that is open.
var (
	operand     = of(tokNot, tokTrue, tokFalse, tokNull, tokDecimal, tokFloat, tokString, tokName, tokOpen, tokMinus, tokPlus)
	orders      = of(tokGreater, tokGreaterEqual, tokLess, tokLessEqual)
	tests       = of(tokBetween, tokIn, tokContains, tokStartsWith, tokEndsWith)
	equalities  = of(tokEqual, tokNotEqual, tokIs)
	comparisons = of(tokNot) | orders | tests
)

// parser reads an expression by recursive descent:
//
//	or      := and ( OR and )*
//	and     := equal ( AND equal )*
//	equal   := compare ( '=' compare | '<>' compare | IS NULL | IS NOT NULL )*
//	compare := unary ( ('>' | '>=' | '<' | '<=') unary | [NOT] BETWEEN unary AND unary
//	         | [NOT] IN '(' string ( ',' string )* ')' | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) string )*
//	unary   := '+' unary | '-' unary | NOT unary | literal | name | '(' or ')'
//
// Each function returns when it meets a token it has no use for, and nothing asks for the end of the text. A token is
// read only when it is looked at, since what cannot be read is an error of its own.
type parser struct {
	lexer
	ahead []token // read and not yet used, two at most

	names     []string // properties in use, by slot
	slots     map[string]int
	depth     int
	operators int
	// missed collects what the levels that have ended at the next token would have taken.
	missed kinds
	// plus counts the plus signs around, and scanning tells that the text behind the outermost is being tried: then only
	// syntax counts.
	plus     int
	scanning bool
}

// peek gives the token n places ahead (0 or 1).
func (p *parser) peek(n int) (token, error) {
	for len(p.ahead) <= n {
		t, err := p.next()
		if err != nil {
			return t, err
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[n], nil
}

// take uses the next token up.
func (p *parser) take() token {
	t := p.ahead[0]
	p.ahead = append(p.ahead[:0], p.ahead[1:]...)
	p.missed = 0
	return t
}

// expect uses the next token up, which must be of one of the kinds.
func (p *parser) expect(set kinds) (token, error) {
	t, err := p.peek(0)
	if err != nil {
		return t, err
	}
	if of(t.kind)&set == 0 {
		return t, unexpected(p.text, t, set|p.missed)
	}
	return p.take(), nil
}

// when tells whether the next token is of one of the kinds.
func (p *parser) when(set kinds) (kind, bool, error) {
	t, err := p.peek(0)
	if err != nil {
		return 0, false, err
	}
	if of(t.kind)&set != 0 {
		return t.kind, true, nil
	}
	p.missed |= set
	return t.kind, false, nil
}

// made counts an operator. While scanning, what made no sense does not matter.
func (p *parser) made(n *node, err error) (*node, error) {
	if p.operators++; p.operators > maxOperators {
		return nil, fail("expression has more than 20000 operators")
	}
	if p.scanning {
		return scanned, nil
	}
	return n, err
}

// scanned stands for every node while scanning: a property is accepted everywhere.
var scanned = &node{op: opName}

func (p *parser) or() (*node, error)  { return p.chain(tokOr, opOr, p.and) }
func (p *parser) and() (*node, error) { return p.chain(tokAnd, opAnd, p.equal) }

// chain reads operands with the same logic operator between them.
func (p *parser) chain(k kind, o op, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	for err == nil {
		_, more, e := p.when(of(k))
		if e != nil || !more {
			return left, e
		}
		p.take()
		var right *node
		if right, err = operand(); err == nil {
			left, err = p.made(logic(o, left, right))
		}
	}
	return nil, err
}

func (p *parser) equal() (*node, error) {
	left, err := p.compare()
	for err == nil {
		k, more, e := p.when(equalities)
		if e != nil || !more {
			return left, e
		}
		p.take()
		if k == tokIs {
			left, err = p.isNull(left)
			continue
		}
		var right *node
		if right, err = p.compare(); err != nil {
			break
		}
		if left, err = p.made(equal(left, right)); err == nil && k == tokNotEqual {
			left, err = p.made(not(left))
		}
	}
	return nil, err
}

// isNull reads what follows IS.
func (p *parser) isNull(left *node) (*node, error) {
	t, err := p.expect(of(tokNot, tokNull))
	if err != nil {
		return nil, err
	}
	if t.kind == tokNot {
		if _, err = p.expect(of(tokNull)); err != nil {
			return nil, err
		}
	}
	n, err := p.made(&node{op: opIsNull, left: left}, nil)
	if err == nil && t.kind == tokNot {
		return p.made(not(n))
	}
	return n, err
}

func (p *parser) compare() (*node, error) {
	left, err := p.unary()
	for err == nil {
		k, more, e := p.when(comparisons)
		if e != nil || !more {
			return left, e
		}
		negated := k == tokNot
		if negated {
			var t token
			if t, err = p.peek(1); err != nil {
				break
			}
			if k = t.kind; of(k)&tests == 0 {
				err = unexpected(p.text, p.ahead[0], orders|tests)
				break
			}
			p.take()
		}
		p.take()
		left, err = p.comparison(left, k, negated)
	}
	return nil, err
}

// comparison reads what follows the operator k.
func (p *parser) comparison(left *node, k kind, negated bool) (*node, error) {
	switch k {
	case tokBetween:
		low, err := p.unary()
		if err != nil {
			return nil, err
		}
		if _, err = p.expect(of(tokAnd)); err != nil {
			return nil, err
		}
		high, err := p.unary()
		if err != nil {
			return nil, err
		}
		if negated {
			return p.made(notBetween(left, low, high))
		}
		return p.made(between(left, low, high))
	case tokIn:
		list, err := p.list()
		if err != nil {
			return nil, err
		}
		return p.made(in(opIn+negation(negated), left, list))
	case tokContains, tokStartsWith, tokEndsWith:
		t, err := p.expect(of(tokString))
		if err != nil {
			return nil, err
		}
		o := opContains + op(k-tokContains)*2 + negation(negated)
		return p.made(&node{op: o, left: left, value: text(p.unquote(t))}, nil)
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.made(ordered(opGreater+op(k-tokGreater), left, right))
}

// negation is the step from an operator to the one with NOT.
func negation(negated bool) op {
	if negated {
		return 1
	}
	return 0
}

// list reads the strings of IN.
func (p *parser) list() ([]string, error) {
	if _, err := p.expect(of(tokOpen)); err != nil {
		return nil, err
	}
	var list []string
	for {
		t, err := p.expect(of(tokString))
		if err != nil {
			return nil, err
		}
		list = append(list, p.unquote(t))
		if t, err = p.expect(of(tokComma, tokClose)); err != nil || t.kind == tokClose {
			return list, err
		}
	}
}

// unquote gives the text of a string literal.
func (p *parser) unquote(t token) string {
	return strings.ReplaceAll(p.text[t.from+1:t.to-1], "''", "'")
}

func (p *parser) unary() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fail("expression is nested more than 1000 deep")
	}
	defer func() { p.depth-- }()
	k, ok, err := p.when(operand)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unexpected(p.text, p.ahead[0], operand)
	}
	if k == tokPlus {
		return p.plusSign()
	}
	t := p.take()
	switch k {
	case tokMinus:
		n, err := p.unary()
		if err != nil {
			return nil, err
		}
		return p.made(&node{op: opNegate, left: n}, nil)
	case tokNot:
		n, err := p.unary()
		if err != nil {
			return nil, err
		}
		return p.made(not(n))
	case tokOpen:
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		_, err = p.expect(of(tokClose))
		return n, err
	}
	return p.primary(t)
}

// plusSign reads a plus sign and its operand. Java looks first whether an operand can be read at all, and blames the sign
// if not.
func (p *parser) plusSign() (*node, error) {
	if p.plus == 0 {
		if err := p.scan(); err != nil {
			return nil, err
		}
	}
	p.take()
	p.plus++
	defer func() { p.plus-- }()
	return p.unary()
}

func (p *parser) scan() error {
	trial := *p
	trial.ahead = append([]token(nil), p.ahead...)
	sign := trial.take()
	trial.scanning, trial.plus = true, 1
	_, err := trial.unary()
	if e, ok := err.(*Error); ok && e.syntax {
		return unexpected(p.text, sign, operand&^of(tokPlus))
	}
	return err
}

// primary makes the node of a literal or a name.
func (p *parser) primary(t token) (*node, error) {
	if p.scanning {
		return scanned, nil
	}
	s := p.text[t.from:t.to]
	switch t.kind {
	case tokDecimal, tokFloat:
		return number(t, s)
	case tokString:
		return &node{value: text(p.unquote(t))}, nil
	case tokTrue, tokFalse:
		return &node{value: truth(t.kind == tokTrue)}, nil
	case tokNull:
		return &node{}, nil
	}
	slot, ok := p.slots[s]
	if !ok {
		slot = len(p.names)
		p.names = append(p.names, s)
		p.slots[s] = slot
	}
	return &node{op: opName, slot: slot, name: s}, nil
}
