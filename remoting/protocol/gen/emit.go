// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// goTypes maps Java's types to those of the structs. Boxed types may be absent.
var goTypes = map[string]string{
	"String": "Opt[string]", "Integer": "Opt[int32]", "Long": "Opt[int64]", "Boolean": "Opt[bool]",
	"int": "int32", "long": "int64", "boolean": "bool",
}

// verbs are the endings of the add… and set… functions in fields.go.
var verbs = map[string]string{
	"Integer": "OptInt32", "Long": "OptInt64", "Boolean": "OptBool",
	"int": "Int32", "long": "Int64", "boolean": "Bool",
}

var versionNotes = map[string]string{"all": "", "4.9": "4.9.7 only", "5.x": "5.x only", "5.4": "5.4 only"}

// goName turns a field's wire name into the struct's.
func goName(wire string) string {
	s := strings.ToUpper(wire[:1]) + wire[1:]
	if p, ok := strings.CutSuffix(s, "Id"); ok {
		s = p + "ID"
	}
	return s
}

// constName turns a Java constant into CamelCase.
func constName(prefix, java string) string {
	var b strings.Builder
	for _, w := range strings.Split(java, "_") {
		if w != "" {
			b.WriteString(w[:1] + strings.ToLower(w[1:]))
		}
	}
	return prefix + goName(b.String())
}

func emitCodes(b *bytes.Buffer, t *table) {
	b.WriteString("// Request codes: Java's RequestCode.\nconst (\n")
	for _, c := range t.Requests {
		fmt.Fprintf(b, "%s = %d // %s\n", constName("Req", c.Name), c.Code, join(c.Note, versionNotes[c.Versions]))
	}
	b.WriteString(")\n\n// Response codes: Java's ResponseCode.\nconst (\n")
	for _, c := range t.Responses {
		fmt.Fprintf(b, "%s = %d", constName("Resp", c.Name), c.Code)
		if n := versionNotes[c.Versions]; n != "" {
			fmt.Fprintf(b, " // %s", n)
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n\n")

	b.WriteString("// RequestName is the name of a request code in Java, as in SEND_MESSAGE_V2, or \"\" for an unknown code.\n")
	emitNames(b, "RequestName", "Req", t.Requests)
	b.WriteString("// ResponseName is the name of a response code in Java, or \"\" for an unknown code. A code that 4.9 and 5.x use\n" +
		"// for different things has the name of 5.x.\n")
	emitNames(b, "ResponseName", "Resp", t.Responses)

	b.WriteString("// NewRequestHeader makes the custom header that requests of a code carry, with Java's defaults;\n// nil if the code is unknown or has none.\n")
	emitConstructors(b, t, "NewRequestHeader", func(c code) string { return c.Request })
	b.WriteString("// NewResponseHeader makes the custom header of answers to a request code, with Java's defaults;\n// nil if the code is unknown or has none.\n")
	emitConstructors(b, t, "NewResponseHeader", func(c code) string { return c.Response })
}

func join(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}

func emitNames(b *bytes.Buffer, fn, prefix string, codes []code) {
	fmt.Fprintf(b, "func %s(code int32) string {\nswitch code {\n", fn)
	twice := map[int]bool{}
	for _, c := range codes {
		if c.Versions != "4.9" {
			twice[c.Code] = true
		}
	}
	for _, c := range codes {
		if c.Versions == "4.9" && twice[c.Code] {
			continue
		}
		fmt.Fprintf(b, "case %s:\nreturn %q\n", constName(prefix, c.Name), c.Name)
	}
	b.WriteString("}\nreturn \"\"\n}\n\n")
}

func emitConstructors(b *bytes.Buffer, t *table, fn string, of func(code) string) {
	fmt.Fprintf(b, "func %s(code int32) Header {\nswitch code {\n", fn)
	for _, f := range t.Files {
		for _, h := range f.Headers {
			var names []string
			for _, c := range t.Requests {
				if of(c) == h.Name {
					names = append(names, constName("Req", c.Name))
				}
			}
			if names == nil {
				continue
			}
			expr := "new(" + h.Name + ")"
			if h.defaults() != "" {
				expr = "New" + h.Name + "()"
			}
			fmt.Fprintf(b, "case %s:\nreturn %s\n", strings.Join(names, ", "), expr)
		}
	}
	b.WriteString("}\nreturn nil\n}\n\n")
}

func emitHeaders(b *bytes.Buffer, t *table, f *file) {
	fmt.Fprintf(b, "// Headers of: %s.\n\n", f.About)
	for _, h := range f.Headers {
		h.emitStruct(b)
		h.emitAppend(b, t)
		h.emitParse(b)
		h.emitClone(b)
	}
}

func (h *header) emitStruct(b *bytes.Buffer) {
	doc := "is the Java class of that name"
	if len(h.Codes) > 0 {
		doc = "belongs to " + strings.Join(h.Codes, ", ")
	}
	if n := versionNotes[h.Versions]; n != "" {
		doc += " (" + n + ")"
	}
	fmt.Fprintf(b, "// %s %s.\ntype %s struct {\n", h.Name, doc, h.Name)
	for _, f := range h.Fields {
		fmt.Fprintf(b, "%s %s", goName(f.Name), goTypes[f.Type])
		var note []string
		if f.Required && strings.HasPrefix(goTypes[f.Type], "Opt") {
			note = append(note, "required")
		}
		if f.Default != "" {
			note = append(note, "default "+f.Default)
		}
		note = append(note, versionNotes[f.Versions])
		if s := join(note...); s != "" {
			fmt.Fprintf(b, " // %s", s)
		}
		b.WriteString("\n")
	}
	if h.Base != "" {
		fmt.Fprintf(b, "%s\n", h.Base)
	}
	b.WriteString("}\n\n")
	if d := h.defaults(); d != "" {
		fmt.Fprintf(b, "// New%s makes one with Java's defaults.\nfunc New%s() *%s {\nreturn &%s%s\n}\n\n", h.Name, h.Name, h.Name, h.Name, d)
	}
}

// defaults is the composite literal's body, "" if all fields start with their zero value. The default "now" is the
// sender's matter.
func (h *header) defaults() string {
	var parts []string
	for _, f := range h.Fields {
		if f.Default == "" || f.Default == "now" {
			continue
		}
		v := f.Default
		if g, ok := strings.CutPrefix(goTypes[f.Type], "Opt["); ok {
			if f.Type != "Boolean" && f.Type != "String" {
				v = strings.TrimSuffix(g, "]") + "(" + v + ")"
			}
			v = "Some(" + v + ")"
		}
		parts = append(parts, goName(f.Name)+": "+v)
	}
	if parts == nil {
		return ""
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (h *header) emitAppend(b *bytes.Buffer, t *table) {
	h.emitAdd(b, "AppendFields", h.javaOrder(t))
	if h.Fast {
		var fields []field
		for c := h; c != nil; c = t.headers[c.Base] {
			fields = append(fields, c.Fields...)
		}
		h.emitAdd(b, "appendDeclared", fields)
	}
}

func (h *header) emitAdd(b *bytes.Buffer, method string, fields []field) {
	if len(fields) == 0 {
		fmt.Fprintf(b, "func (h *%s) %s(*Fields) {}\n\n", h.Name, method)
		return
	}
	fmt.Fprintf(b, "func (h *%s) %s(f *Fields) {\n", h.Name, method)
	for _, f := range fields {
		verb := verbs[f.Type]
		if f.Type == "String" {
			verb = "OptString"
		}
		fmt.Fprintf(b, "f.add%s(%q, h.%s)\n", verb, f.Name, goName(f.Name))
	}
	b.WriteString("}\n\n")
}

func (h *header) emitParse(b *bytes.Buffer) {
	init := h.Name + "{}"
	if d := h.defaults(); d != "" {
		init = h.Name + d
	}
	if len(h.Fields) == 0 && h.Base == "" {
		fmt.Fprintf(b, "func (h *%s) ParseFields(*Fields) error { return nil }\n\n", h.Name)
		return
	}
	fmt.Fprintf(b, "func (h *%s) ParseFields(f *Fields) error {\n*h = %s\n", h.Name, init)
	b.WriteString("for i := range f.List {\n")
	if h.Fast {
		b.WriteString("if err := h.parse(&f.List[i]); err != nil {\nreturn err\n}\n")
	} else {
		b.WriteString("h.parse(&f.List[i])\n")
	}
	b.WriteString("}\nreturn nil\n}\n\n")

	result := ""
	if h.Fast {
		result = " error"
	}
	fmt.Fprintf(b, "func (h *%s) parse(e *Field)%s {\n", h.Name, result)
	if len(h.Fields) == 0 {
		fmt.Fprintf(b, "h.%s.parse(e)\n}\n\n", h.Base)
		return
	}
	b.WriteString("switch e.Key {\n")
	for _, f := range h.Fields {
		fmt.Fprintf(b, "case %q:\n", f.Name)
		switch {
		case f.Type == "String":
			fmt.Fprintf(b, "h.%s = Some(e.Value)\n", goName(f.Name))
		case h.Fast && !strings.EqualFold(f.Type, "boolean"):
			fmt.Fprintf(b, "return parse%s(&h.%s, e.Value)\n", verbs[f.Type], goName(f.Name))
		default:
			fmt.Fprintf(b, "set%s(&h.%s, e.Value)\n", verbs[f.Type], goName(f.Name))
		}
	}
	if h.Base != "" {
		fmt.Fprintf(b, "default:\nh.%s.parse(e)\n", h.Base)
	}
	b.WriteString("}\n")
	if h.Fast {
		b.WriteString("return nil\n")
	}
	b.WriteString("}\n\n")
}

func (h *header) emitClone(b *bytes.Buffer) {
	fmt.Fprintf(b, "// Clone makes a copy that owns its strings.\nfunc (h *%s) Clone() *%s {\nc := *h\nc.own()\nreturn &c\n}\n\n", h.Name, h.Name)
	if !slices.ContainsFunc(h.Fields, func(f field) bool { return f.Type == "String" }) && h.Base == "" {
		fmt.Fprintf(b, "func (h *%s) own() {}\n\n", h.Name)
		return
	}
	fmt.Fprintf(b, "func (h *%s) own() {\n", h.Name)
	for _, f := range h.Fields {
		if f.Type == "String" {
			fmt.Fprintf(b, "own(&h.%s)\n", goName(f.Name))
		}
	}
	if h.Base != "" {
		fmt.Fprintf(b, "h.%s.own()\n", h.Base)
	}
	b.WriteString("}\n\n")
}
