// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// env are the values that steps saved, and the first use of one that is not there.
type env struct {
	values map[string]any
	err    error
}

var (
	variable = regexp.MustCompile(`\$\{([^}]+)\}`)
	sum      = regexp.MustCompile(`^(\w+)([+-]\d+)$`)
)

// fill replaces the variables in every string of v.
func (e *env) fill(v any) any {
	if s, ok := v.(string); ok {
		return e.text(s)
	}
	return v
}

func (e *env) text(s string) string {
	return variable.ReplaceAllStringFunc(s, func(m string) string { return e.value(m[2 : len(m)-1]) })
}

func (e *env) value(name string) string {
	var plus int64
	if m := sum.FindStringSubmatch(name); m != nil {
		name = m[1]
		plus, _ = strconv.ParseInt(m[2], 10, 64)
		return strconv.FormatInt(e.number(name)+plus, 10)
	}
	if name == "now" {
		return strconv.FormatInt(e.number(name), 10)
	}
	v, ok := e.values[name]
	if !ok || v == nil {
		e.fail("no value for ${%s}", name)
		return ""
	}
	return fmt.Sprint(v)
}

func (e *env) number(name string) int64 {
	if name == "now" {
		return time.Now().UnixMilli()
	}
	n, err := strconv.ParseInt(fmt.Sprint(e.values[name]), 10, 64)
	if err != nil {
		e.fail("${%s} is not a number: %v", name, e.values[name])
	}
	return n
}

// offsetOf is the commit log offset in an offset message id: its low eight bytes.
func (e *env) offsetOf(name string) int64 {
	id := fmt.Sprint(e.values[name])
	if len(id) < 16 {
		e.fail("${%s} is not a message id: %v", name, e.values[name])
		return 0
	}
	n, err := strconv.ParseUint(id[len(id)-16:], 16, 64)
	if err != nil {
		e.fail("${%s} is not a message id: %v", name, id)
	}
	return int64(n)
}

func (e *env) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}
