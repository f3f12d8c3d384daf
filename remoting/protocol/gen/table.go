// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// table is headers.txt in memory.
type table struct {
	Requests  []code
	Responses []code
	Files     []*file
	headers   map[string]*header
}

type code struct {
	Code              int
	Name              string // as in Java: SEND_MESSAGE_V2
	Versions          string
	Request, Response string // header names, "" = none
	Note              string
}

type file struct {
	Name, About string
	Headers     []*header
}

type header struct {
	Name     string
	Base     string
	Fast     bool
	Versions string
	Fields   []field
	Codes    []string // constants of the codes that use it
}

type field struct {
	Name     string // on the wire
	Type     string // in Java
	Required bool
	Default  string
	Versions string
}

func parse(r io.Reader) (*table, error) {
	t := &table{headers: map[string]*header{}}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		if err := t.line(sc.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	return t, t.link()
}

func (t *table) line(s string) error {
	indented := strings.HasPrefix(s, " ")
	s, note, _ := strings.Cut(s, "#")
	w := strings.Fields(s)
	if len(w) == 0 {
		return nil
	}
	if indented {
		return t.field(w)
	}
	switch {
	case w[0] == "request" && len(w) == 6:
		c, err := newCode(w)
		c.Request, c.Response, c.Note = name(w[4]), name(w[5]), strings.TrimSpace(note)
		t.Requests = append(t.Requests, c)
		return err
	case w[0] == "response" && len(w) == 4:
		c, err := newCode(w)
		t.Responses = append(t.Responses, c)
		return err
	case w[0] == "file" && len(w) > 2:
		t.Files = append(t.Files, &file{Name: strings.TrimSuffix(w[1], ":"), About: strings.Join(w[2:], " ")})
		return nil
	case w[0] == "header" && len(w) >= 3:
		return t.header(w[1:])
	}
	return fmt.Errorf("not understood: %q", s)
}

func name(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

func newCode(w []string) (code, error) {
	n, err := strconv.Atoi(w[1])
	return code{Code: n, Name: w[2], Versions: w[3]}, err
}

func (t *table) header(w []string) error {
	h := &header{Name: w[0], Versions: w[len(w)-1]}
	for i, s := range w[1 : len(w)-1] {
		switch {
		case s == ":":
			h.Base = w[i+2]
		case s == "fast":
			h.Fast = true
		}
	}
	if t.headers[h.Name] != nil {
		return fmt.Errorf("header %s stands twice", h.Name)
	}
	if len(t.Files) == 0 {
		return fmt.Errorf("header %s before the first file", h.Name)
	}
	t.headers[h.Name] = h
	f := t.Files[len(t.Files)-1]
	f.Headers = append(f.Headers, h)
	return nil
}

func (t *table) field(w []string) error {
	if len(t.Files) == 0 || len(w) < 2 {
		return fmt.Errorf("field without header or type: %q", w)
	}
	hs := t.Files[len(t.Files)-1].Headers
	if len(hs) == 0 {
		return fmt.Errorf("field %s without header", w[0])
	}
	f := field{Name: w[0]}
	f.Type, f.Required = strings.CutSuffix(w[1], "!")
	if goTypes[f.Type] == "" {
		return fmt.Errorf("field %s has the unknown type %s", f.Name, f.Type)
	}
	for _, s := range w[2:] {
		if d, ok := strings.CutPrefix(s, "="); ok {
			f.Default = d
		} else {
			f.Versions = s
		}
	}
	h := hs[len(hs)-1]
	h.Fields = append(h.Fields, f)
	return nil
}

// link checks the names and notes at each header which codes use it.
func (t *table) link() error {
	for _, h := range t.headers {
		if h.Base != "" && t.headers[h.Base] == nil {
			return fmt.Errorf("header %s has the unknown base %s", h.Name, h.Base)
		}
	}
	for _, c := range t.Requests {
		for _, n := range []string{c.Request, c.Response} {
			if n == "" {
				continue
			}
			h := t.headers[n]
			if h == nil {
				return fmt.Errorf("request %d has the unknown header %s", c.Code, n)
			}
			h.Codes = append(h.Codes, c.Name)
		}
	}
	return nil
}
