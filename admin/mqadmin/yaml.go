// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// writeYAML prints a document as YAML. Values are those of JSON, so that a JSON text of the document is read first.
func writeYAML(w io.Writer, doc object) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := ordered(d)
	if err != nil {
		return err
	}
	var b strings.Builder
	yamlValue(&b, v, 0, false)
	_, err = io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

// ordered reads a JSON value and keeps the order of members.
func ordered(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := ordered(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), value})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := ordered(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// yamlValue prints a value behind "key:" or, inList, behind "-".
func yamlValue(b *strings.Builder, v any, depth int, inList bool) {
	pad := strings.Repeat("  ", depth)
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		for i, m := range v {
			switch {
			case inList && i == 0:
				b.WriteString(" ")
			case i == 0:
				b.WriteString("\n" + pad)
			default:
				b.WriteString(pad)
			}
			b.WriteString(yamlText(m.key) + ":")
			yamlValue(b, m.value, depth+1, false)
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		for _, item := range v {
			b.WriteString(pad + "-")
			yamlValue(b, item, depth+1, true)
		}
	case string:
		b.WriteString(" " + yamlText(v) + "\n")
	case nil:
		b.WriteString(" null\n")
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}

// Texts that need no quotes; everything else is quoted as in JSON, which YAML reads too.
var (
	yamlPlain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@-]*$`)
	yamlWord  = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|y|n)$`)
)

func yamlText(s string) string {
	if yamlPlain.MatchString(s) && !yamlWord.MatchString(s) {
		return s
	}
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}
