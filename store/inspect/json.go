// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// line builds one JSON line with its members in the order of the calls, in the form of Java's tool: ASCII only.
type line struct{ sb strings.Builder }

func (l *line) raw(name, value string) *line {
	if l.sb.Len() == 0 {
		l.sb.WriteByte('{')
	} else {
		l.sb.WriteByte(',')
	}
	quote(&l.sb, name)
	l.sb.WriteByte(':')
	l.sb.WriteString(value)
	return l
}

func (l *line) str(name, value string) *line {
	var sb strings.Builder
	quote(&sb, value)
	return l.raw(name, sb.String())
}

func (l *line) int(name string, value int64) *line { return l.raw(name, strconv.FormatInt(value, 10)) }

func (l *line) bool(name string, value bool) *line { return l.raw(name, strconv.FormatBool(value)) }

func (l *line) end() string { return l.sb.String() + "}\n" }

// sortedObject prints a map in the order of its keys.
func sortedObject(m map[string]string) string {
	if len(m) == 0 {
		return "{}"
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareJava)
	var l line
	for _, k := range keys {
		l.str(k, m[k])
	}
	return l.sb.String() + "}"
}

func quote(sb *strings.Builder, s string) {
	sb.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			sb.WriteByte('\\')
			sb.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(sb, "\\u%04x\\u%04x", hi, lo)
		case r < 0x20 || r > 0x7e:
			fmt.Fprintf(sb, "\\u%04x", r)
		default:
			sb.WriteRune(r)
		}
	}
	sb.WriteByte('"')
}
