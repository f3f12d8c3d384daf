// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"maps"
	"slices"
	"strings"
)

// apply gives the settings of the file to the objects, as Java's setters would take them, and warns of all that Java
// passes over in silence.
func (l *loader) apply(keys []Key, objects []object, set map[string]bool) {
	byName := settable(keys)
	names := slices.Collect(maps.Keys(byName))
	for _, name := range slices.Sorted(maps.Keys(l.given)) {
		value := l.given[name]
		targets := byName[name]
		if len(targets) == 0 {
			l.unknown(name, value, names)
			continue
		}
		for i, k := range targets {
			before := len(l.warnings)
			l.set(k, objects, name, value, set)
			if i > 0 {
				l.warnings = l.warnings[:before] // one key, one warning
			}
		}
	}
}

// settable lists, by the name the file uses, the keys that name sets.
func settable(keys []Key) map[string][]*Key {
	byName := make(map[string][]*Key, len(keys))
	for i := range keys {
		if name := keys[i].SetName; name != "" {
			byName[name] = append(byName[name], &keys[i])
		}
	}
	return byName
}

func (l *loader) set(k *Key, objects []object, name, value string, set map[string]bool) {
	field := k.valueIn(objects)
	before := text(field)
	switch {
	case !setText(field, value):
		l.warn(name, value, "not a Java %s; %s is used", k.Type, before)
		return
	case k.Type == "boolean" && !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false"):
		l.warn(name, value, "neither true nor false; false is used")
	case k.Feature != "" && text(field) != before:
		l.warn(name, value, "accepted without effect: it belongs to %s, which this version does not have", k.Feature)
	case name == "messageStorePlugIn" && trim(value) != "":
		l.warn(name, value, "accepted without effect: %s", k.NoEffect)
	}
	set[k.id()] = true
}

// unknown warns of a key no setter exists for.
func (l *loader) unknown(name, value string, known []string) {
	if near := nearest(name, known); near != "" {
		l.warn(name, value, "unknown key, without effect; did you mean %s?", near)
		return
	}
	l.warn(name, value, "unknown key, without effect")
}

// nearest finds the known key that takes the fewest edits, letter case aside, if there is one that resembles name.
func nearest(name string, known []string) string {
	best, limit := "", 1+len(name)/4
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), limit); d <= limit && (d < limit || best == "" || k < best) {
			best, limit = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts, or something above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(b)]
}
