// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"rocketmq-go/compat/fastjson"
)

// printer prints what a sub-command says, as text with Java's formats or as one document at the end.
type printer struct {
	w    *bufio.Writer
	mode string // "", json, yaml, wide
	doc  object
	wide *table // whose rows are printed when all of them are known
}

// object is a JSON object that keeps its order.
type object []member

type member struct {
	key   string
	value any // string, bool, number, object, []any, json.RawMessage
}

func newPrinter(w io.Writer, mode string) (*printer, error) {
	switch mode {
	case "", "json", "yaml", "wide":
		return &printer{w: bufio.NewWriter(w), mode: mode}, nil
	case "text":
		return &printer{w: bufio.NewWriter(w)}, nil
	}
	return nil, fmt.Errorf("--output %s: want json, yaml, wide or text", mode)
}

// document tells whether the output is JSON or YAML.
func (p *printer) document() bool { return p.mode == "json" || p.mode == "yaml" }

// printf prints text that says nothing new in a document: titles, blank lines.
func (p *printer) printf(format string, args ...any) {
	if p.document() {
		return
	}
	p.endTable()
	fmt.Fprintf(p.w, format, args...)
}

// done says what was achieved: a line of text, a member of "messages" in a document.
func (p *printer) done(format string, args ...any) {
	p.printf(format, args...)
	if p.document() {
		p.add("messages", strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// field prints a value with a format, or makes it a member of the document.
func (p *printer) field(key, format string, value any) {
	p.printf(format, value)
	p.set(key, value)
}

// set makes a value a member of the document.
func (p *printer) set(key string, value any) {
	if p.document() {
		p.doc = append(p.doc, member{key, plain(value)})
	}
}

// add appends a value to a list in the document.
func (p *printer) add(key string, value any) {
	if !p.document() {
		return
	}
	for i := range p.doc {
		if list, ok := p.doc[i].value.([]any); ok && p.doc[i].key == key {
			p.doc[i].value = append(list, plain(value))
			return
		}
	}
	p.doc = append(p.doc, member{key, []any{plain(value)}})
}

// plain makes a body of the protocol a JSON text; other values stay.
func plain(v any) any {
	switch v := v.(type) {
	case nil, string, bool, int, int32, int64, float64, object, []any, json.RawMessage:
		return v
	case []string:
		list := []any{}
		for _, s := range v {
			list = append(list, s)
		}
		return list
	case cell:
		return plain(v.value)
	case fmt.Stringer:
		return v.String()
	}
	return json.RawMessage(fastjson.Options{Standard: true}.Marshal(v))
}

// cell is a value of a table that is printed in another form than it has in a document.
type cell struct {
	text  string
	value any
}

func (c cell) String() string { return c.text }

// table is a list of rows with the same columns.
type table struct {
	p      *printer
	row    string // format
	titles []string
	keys   []string
	list   int // its place in the document
	rows   [][]any
}

// table begins a table: its name in a document, formats of Java for head and rows (with v as the verb), and titles.
func (p *printer) table(name, head, row string, titles ...string) *table {
	t := &table{p: p, row: row, titles: titles}
	for _, title := range titles {
		t.keys = append(t.keys, keyOf(title))
	}
	switch {
	case p.document():
		t.list = len(p.doc)
		p.doc = append(p.doc, member{name, []any{}})
	case p.mode == "wide":
		p.endTable()
		p.wide = t
	case head != "":
		words := make([]any, len(titles))
		for i := range titles {
			words[i] = titles[i]
		}
		fmt.Fprintf(p.w, head, words...)
	}
	return t
}

// add appends a row.
func (t *table) add(values ...any) {
	switch {
	case t.p.document():
		o := make(object, 0, len(values))
		for i, v := range values {
			o = append(o, member{t.keys[i], plain(v)})
		}
		m := &t.p.doc[t.list]
		m.value = append(m.value.([]any), o)
	case t.p.mode == "wide":
		t.rows = append(t.rows, values)
	default:
		fmt.Fprintf(t.p.w, t.row, values...)
	}
}

func (p *printer) endTable() {
	t := p.wide
	if t == nil {
		return
	}
	p.wide = nil
	w := tabwriter.NewWriter(p.w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.titles, "\t"))
	for _, row := range t.rows {
		for i, v := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, strings.TrimSpace(fmt.Sprint(v)))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // into a buffer whose errors flush reports
}

// flush prints the document, or what is left of the text.
func (p *printer) flush() error {
	switch p.mode {
	case "json":
		if p.doc == nil {
			p.doc = object{}
		}
		text, err := json.MarshalIndent(p.doc, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(p.w, "%s\n", text)
	case "yaml":
		if p.doc == nil {
			fmt.Fprintln(p.w, "{}")
			break
		}
		if err := writeYAML(p.w, p.doc); err != nil {
			return err
		}
	}
	p.endTable()
	return p.w.Flush()
}

// MarshalJSON keeps the order of the members.
func (o object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, key...), ':'), value...)
	}
	return append(text, '}'), nil
}

// keyOf makes a key of a title: "#Broker Name" is brokerName, "#InTPS(LOAD)" inTPSLoad.
func keyOf(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var b strings.Builder
	for i, w := range words {
		upper := strings.ToUpper(w) == w
		switch {
		case i == 0 && upper:
			b.WriteString(strings.ToLower(w))
		case i == 0:
			// A run of capitals is small up to the one that begins the next word: PCWait is pcWait.
			n := 1
			for n+1 < len(w) && unicode.IsUpper(rune(w[n])) && unicode.IsUpper(rune(w[n+1])) {
				n++
			}
			b.WriteString(strings.ToLower(w[:n]) + w[n:])
		case upper:
			b.WriteString(w[:1] + strings.ToLower(w[1:]))
		default:
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

// whole makes a body of the protocol the document.
func (p *printer) whole(body any) error {
	if !p.document() {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(string(fastjson.Options{Standard: true}.Marshal(body))))
	d.UseNumber()
	v, err := ordered(d)
	if o, ok := v.(object); ok && err == nil {
		p.doc = append(p.doc, o...)
	}
	return err
}
