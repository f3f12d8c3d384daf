// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"math"
	"strconv"
	"strings"
)

// decodeJSON reads the header in one pass. It accepts what fastjson 1.2 accepts: any field order and white space,
// comments, unknown fields, quoted numbers, unquoted and single-quoted names, a comma before the closing brace, names
// that differ in case, '_' and '-'. It refuses anything behind the closing brace, numbers that do not fit an int, and
// language numbers it does not know.
func (c *Command) decodeJSON(header []byte) error {
	s := scanner{b: header}
	if s.space() != '{' {
		return s.errorf("no object")
	}
	err := s.object(func(name string) error { return c.jsonField(&s, name) })
	if err != nil {
		return err
	}
	if s.space() != 0 || s.i < len(s.b) {
		return s.errorf("text after the closing brace")
	}
	return nil
}

func (c *Command) jsonField(s *scanner, name string) error {
	switch name {
	case "code":
		return s.int32(&c.Code)
	case "flag":
		return s.int32(&c.Flag)
	case "opaque":
		return s.int32(&c.Opaque)
	case "version":
		return s.int32(&c.Version)
	case "language":
		return s.language(&c.Language)
	case "remark":
		v, ok, err := s.stringValue()
		c.Remark = Opt[string]{v, ok}
		return err
	case "extFields":
		return s.fields(&c.Fields)
	case "serializeTypeCurrentRPC": // what counts is the type byte of the frame
		return s.skip(0)
	}
	for _, known := range [...]string{"code", "flag", "opaque", "version", "language", "remark", "extFields"} {
		if similar(name, known) {
			return c.jsonField(s, known)
		}
	}
	return s.skip(0)
}

// similar is fastjson's smart match: case, '_' and '-' do not count.
func similar(a, b string) bool {
	j := 0
	for i := range len(a) {
		if a[i] == '_' || a[i] == '-' {
			continue
		}
		if j == len(b) || a[i]|0x20 != b[j]|0x20 {
			return false
		}
		j++
	}
	return j == len(b)
}

func (s *scanner) int32(p *int32) error {
	switch t := s.space(); {
	case t == '"' || t == '\'':
		v, err := s.quoted()
		if err != nil || v == "" || strings.EqualFold(v, "null") {
			return err
		}
		return s.number(p, v)
	case t == '-' || t == '+' || t >= '0' && t <= '9':
		return s.number(p, s.digits())
	}
	switch word := s.word(); word {
	case "null":
		return nil
	case "true":
		*p = 1
		return nil
	case "false":
		*p = 0
		return nil
	default:
		return s.errorf("not a number: %q", word)
	}
}

func (s *scanner) number(p *int32, text string) error {
	v, err := strconv.ParseInt(text, 10, 32)
	if err == nil {
		*p = int32(v)
		return nil
	}
	// Fractions are cut off.
	if f, ferr := strconv.ParseFloat(text, 64); ferr == nil && strings.ContainsAny(text, ".eE") && math.Abs(f) < 1<<31 {
		*p = int32(f)
		return nil
	}
	return s.errorf("%.20q is no int", text)
}

func (s *scanner) language(p *Language) error {
	if t := s.space(); t >= '0' && t <= '9' || t == '-' {
		n, err := strconv.Atoi(s.digits())
		if err != nil || n < 0 || n >= len(languageNames) {
			return s.errorf("unknown language number")
		}
		*p = Language(n)
		return nil
	}
	v, ok, err := s.stringValue()
	*p = LanguageOther
	if ok {
		*p = ParseLanguage(v)
	}
	return err
}

func (s *scanner) fields(f *Fields) error {
	f.Reset()
	if s.space() != '{' {
		if w := s.word(); w != "null" {
			return s.errorf("extFields is no object")
		}
		return nil
	}
	f.Present = true
	entries := 0
	return s.object(func(name string) error {
		if entries++; entries > maxFields {
			return s.errorf("more than %d extFields", maxFields)
		}
		v, ok, err := s.stringValue()
		if err != nil {
			return err
		}
		if ok {
			f.List = append(f.List, Field{name, v})
		} else {
			f.remove(name)
		}
		return nil
	})
}

// stringValue reads any value as text; ok is false for null. Objects and arrays are their JSON text.
func (s *scanner) stringValue() (v string, ok bool, err error) {
	switch t := s.space(); t {
	case '"', '\'':
		v, err = s.quoted()
		return v, err == nil, err
	case '{', '[':
		start := s.i
		if err = s.skip(0); err != nil {
			return "", false, err
		}
		return s.text(s.b[start:s.i], 0x80), true, nil
	default:
		if t == '-' || t >= '0' && t <= '9' {
			return s.digits(), true, nil
		}
	}
	switch w := s.word(); w {
	case "null":
		return "", false, nil
	case "true", "false":
		return w, true, nil
	default:
		return "", false, s.errorf("not a value: %.20q", w)
	}
}
