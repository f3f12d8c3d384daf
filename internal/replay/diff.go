// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Difference is one value that is not as recorded. An absent value is nil.
type Difference struct {
	Path      string
	Want, Got any
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Path, orAbsent(d.Want), orAbsent(d.Got))
}

func orAbsent(v any) string {
	if v == nil {
		return "<absent>"
	}
	return canonical(v)
}

// Compare compares an answer with the recorded one.
func (st *Step) Compare(got map[string]any) []Difference {
	switch {
	case st.NoCheck:
		return nil
	case st.CodeOnly:
		if same(st.Expect["code"], got["code"]) {
			return nil
		}
		return []Difference{{"code", st.Expect["code"], got["code"]}}
	}
	return diff(st.Expect, got, st.Volatile, st.Unordered)
}

// compactKeys turns object keys in paths, as the recorder prints them, into the form that flatten gives them.
var compactKeys = strings.NewReplacer(`": `, `":`, `, "`, `,"`)

func diff(want, got map[string]any, volatile, unordered []string) []Difference {
	e, g := flatten(sorted(want, unordered)), flatten(sorted(got, unordered))
	varies := make([]*regexp.Regexp, 0, len(volatile))
	for _, path := range volatile {
		path = compactKeys.Replace(path)
		p := strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, `[^.]*`)
		varies = append(varies, regexp.MustCompile("^(?:"+p+"|"+regexp.QuoteMeta(path)+`\..*)$`))
	}
	paths := maps.Clone(e)
	maps.Copy(paths, g)
	var out []Difference
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		w, inWant := e[path]
		v, inGot := g[path]
		isVolatile := slices.ContainsFunc(varies, func(r *regexp.Regexp) bool { return r.MatchString(path) })
		if inWant != inGot || !isVolatile && !same(w, v) {
			out = append(out, Difference{path, w, v})
		}
	}
	return out
}

// sorted is v with the arrays at the given paths in a canonical order. Paths into a JSON body start with bodyJson.
func sorted(v map[string]any, paths []string) map[string]any {
	if len(paths) == 0 {
		return v
	}
	v = maps.Clone(v)
	if text, ok := v["bodyText"].(string); ok {
		if body, err := looseJSON(text); err == nil {
			delete(v, "bodyText")
			v["bodyJson"] = body
		}
	}
	for _, path := range paths {
		if list, ok := lookup(v, path).([]any); ok {
			slices.SortFunc(list, func(a, b any) int { return cmp.Compare(canonical(a), canonical(b)) })
		}
	}
	return v
}

// same compares scalars; numbers by value.
func same(a, b any) bool {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if !okX || !okY {
		return canonical(a) == canonical(b)
	}
	if x == y {
		return true
	}
	fx, errX := x.Float64()
	fy, errY := y.Float64()
	return errX == nil && errY == nil && fx == fy && strings.ContainsAny(string(x+y), ".eE")
}

// flatten makes a map from the path of each scalar to its value. JSON bodies are taken apart; a list has its length
// at "#".
func flatten(v map[string]any) map[string]any {
	out := make(map[string]any)
	flattenInto(out, "", v)
	return out
}

func flattenInto(out map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 && path != "" {
			out[path] = map[string]any{}
		}
		for k, e := range v {
			if text, ok := e.(string); ok && k == "bodyText" && strings.IndexAny(text, "{[") == 0 {
				if body, err := looseJSON(text); err == nil {
					flattenInto(out, join(path, "bodyJson"), body)
					continue
				}
			}
			flattenInto(out, join(path, k), e)
		}
	case []any:
		out[join(path, "#")] = number(int64(len(v)))
		for i, e := range v {
			flattenInto(out, join(path, strconv.Itoa(i)), e)
		}
	case string:
		out[path] = normal(v)
	default:
		out[path] = v
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// lookup finds a value by its path; bodyJson is the parsed body.
func lookup(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		case map[string]any:
			next, ok := at[name]
			if text, isText := at["bodyText"].(string); !ok && isText && name == "bodyJson" {
				next, _ = looseJSON(text)
			}
			v = next
		default:
			return nil
		}
	}
	return v
}

var (
	localPort  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	diskRatios = regexp.MustCompile(`CL: +[\d.-]+ CQ: +[\d.-]+ INDEX: +[\d.-]+`)
)

// normal takes out of a text what depends on the machine.
func normal(s string) string {
	s = localPort.ReplaceAllString(s, "127.0.0.1:<port>")
	return diskRatios.ReplaceAllString(s, "CL: <r> CQ: <r> INDEX: <r>")
}
