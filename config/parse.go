// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"strconv"
	"strings"
)

// parse reads a java.util.Properties text; later duplicates win.
func parse(data []byte) (map[string]string, error) {
	m := map[string]string{}
	var err error
	for _, line := range logicalLines(data) {
		if line.comment {
			continue
		}
		var key, value string
		if key, value, err = parseLine(line.text); err != nil {
			return nil, err
		}
		m[key] = value
	}
	return m, nil
}

// logicalLine is a key with its value, or a comment or blank line; data[start:end] holds it with its line end.
type logicalLine struct {
	text       string // continuation lines joined, bytes as ISO-8859-1
	start, end int
	comment    bool
}

func logicalLines(data []byte) []logicalLine {
	var lines []logicalLine
	for pos := 0; pos < len(data); {
		l := logicalLine{start: pos}
		var b strings.Builder
		for continued := false; ; continued = true {
			end := pos
			for end < len(data) && data[end] != '\n' && data[end] != '\r' {
				end++
			}
			natural := strings.TrimLeft(string(data[pos:end]), " \t\f")
			pos = end + 1
			if end < len(data) && data[end] == '\r' && pos < len(data) && data[pos] == '\n' {
				pos++
			}
			pos = min(pos, len(data))
			if !continued && (natural == "" || natural[0] == '#' || natural[0] == '!') {
				l.comment = true
				break
			}
			backslashes := len(natural) - len(strings.TrimRight(natural, "\\"))
			if backslashes%2 == 0 || pos >= len(data) {
				if backslashes%2 == 1 {
					natural = natural[:len(natural)-1]
				}
				b.WriteString(natural)
				break
			}
			b.WriteString(natural[:len(natural)-1])
		}
		l.text, l.end = b.String(), pos
		lines = append(lines, l)
	}
	return lines
}

func parseLine(s string) (key, value string, err error) {
	i := 0
	for i < len(s) && !strings.ContainsRune("=: \t\f", rune(s[i])) {
		if s[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(s))
	rest := strings.TrimLeft(s[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	if key, err = unescape(s[:i]); err == nil {
		value, err = unescape(rest)
	}
	return key, value, err
}

func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			b.WriteRune(rune(c))
			continue
		}
		i++
		switch c = s[i]; c {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf("malformed \\uxxxx in %q", s)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf("malformed \\uxxxx in %q", s)
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteRune(rune(c))
		}
	}
	return b.String(), nil
}
