// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package metrictest reads Prometheus' text format (0.0.4) in tests, and is strict about it.
package metrictest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sample is one value.
type Sample struct {
	Name   string // with _bucket, _sum or _count
	Labels map[string]string
	Value  float64
}

// Key is the name with all labels, sorted: name a=x b=y.
func (s *Sample) Key() string {
	key := s.Name
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		key += " " + label + "=" + s.Labels[label]
	}
	return key
}

// Text is what an endpoint told.
type Text struct {
	Samples []Sample
	Types   map[string]string // by family
}

// Has tells whether there are samples of a name.
func (t *Text) Has(name string) bool {
	return slices.ContainsFunc(t.Samples, func(s Sample) bool { return s.Name == name })
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$`)
	label      = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$)`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// Parse reads a text. It is an error if a family has two types, or none, if its samples do not stand together, or if a
// sample stands twice.
func Parse(text string) (*Text, error) {
	t := &Text{Types: map[string]string{}}
	family, seen := "", map[string]bool{}
	for n, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fail := func(format string, args ...any) (*Text, error) {
			return nil, fmt.Errorf("line %d: %s: %s", n+1, line, fmt.Sprintf(format, args...))
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			if t.Types[name] != "" {
				return fail("the family stands twice")
			}
			if kind != "gauge" && kind != "counter" && kind != "histogram" {
				return fail("unknown type")
			}
			family, t.Types[name] = name, kind
			continue
		}
		s, err := parseSample(line)
		if err != nil {
			return fail("%v", err)
		}
		if !belongs(s.Name, family, t.Types[family]) {
			return fail("does not belong to %s", family)
		}
		if seen[s.Key()] {
			return fail("stands twice")
		}
		seen[s.Key()] = true
		t.Samples = append(t.Samples, s)
	}
	return t, nil
}

func belongs(name, family, kind string) bool {
	if kind != "histogram" {
		return family != "" && name == family && (kind != "counter" || strings.HasSuffix(name, "_total"))
	}
	suffix, ok := strings.CutPrefix(name, family)
	return ok && (suffix == "_bucket" || suffix == "_sum" || suffix == "_count")
}

func parseSample(line string) (Sample, error) {
	m := sampleLine.FindStringSubmatch(line)
	if m == nil {
		return Sample{}, fmt.Errorf("not understood")
	}
	value, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Name: m[1], Labels: map[string]string{}, Value: value}
	for rest := strings.TrimSuffix(strings.TrimPrefix(m[2], "{"), "}"); rest != ""; {
		l := label.FindStringSubmatch(rest)
		if l == nil {
			return Sample{}, fmt.Errorf("labels not understood: %s", rest)
		}
		if _, twice := s.Labels[l[1]]; twice {
			return Sample{}, fmt.Errorf("label %s stands twice", l[1])
		}
		s.Labels[l[1]] = unescape.Replace(l[2])
		rest = rest[len(l[0]):]
	}
	return s, nil
}
