// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"maps"
	"reflect"
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
			if l.shares != "" && foreign()[name] == l.shares {
				continue
			}
			if note := unknown(name, value, keys, objects, names); note != "" {
				l.warn(name, value, "%s", note)
			}
			continue
		}
		note, stored := "", false
		for _, k := range targets {
			if note, stored = setNote(k, k.valueIn(objects), value); stored {
				set[k.id()] = true
			}
		}
		if note != "" { // one key, one warning: of the object that counts, which is the last
			l.warn(name, value, "%s", note)
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

// setNote stores a value and says what its author should know: that it is not what Java takes it for, or that it
// changes nothing although it looks as if it did.
func setNote(k *Key, field reflect.Value, value string) (note string, stored bool) {
	before := text(field)
	switch {
	case !setText(field, value):
		return fmt.Sprintf("not %s; %s is used", k.wanted(value), orNothing(before)), false
	case k.Type == "boolean" && !isBoolean(value):
		return fmt.Sprintf("not %s; false is used", k.wanted(value)), true
	case k.Type == "String" && strings.Contains(value, " #"):
		return "there are no comments behind values: the text from # on is part of the value", true
	case k.Feature != "" && text(field) != before:
		return fmt.Sprintf("accepted without effect: it belongs to %s, which this version does not have", k.Feature), true
	case k.Name == "messageStorePlugIn" && text(field) != "":
		return "accepted without effect: it " + k.NoEffect, true
	}
	return "", true
}

// wanted says what a value should have been, with a hint at blanks, which Java takes for a part of it.
func (k *Key) wanted(value string) string {
	what := "a Java " + k.Type
	if k.values != nil {
		what = "one of " + strings.Join(k.values, ", ")
	}
	if trim(value) != value {
		what += " (blanks around it count)"
	}
	return what
}

func isBoolean(value string) bool {
	return strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// unknown says what to make of a key that no setter exists for: nothing, when it holds what is so anyway, as in the files
// that Java writes after a hot update.
func unknown(name, value string, keys []Key, objects []object, known []string) string {
	for i := range keys {
		if keys[i].Name != name {
			continue
		}
		if now := text(keys[i].valueIn(objects)); now != value {
			return fmt.Sprintf("cannot be set, in Java neither; %s is used", orNothing(now))
		}
		return ""
	}
	if owner, ok := foreign()[name]; ok {
		return "without effect here: a key of " + owner
	}
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("unknown key, without effect; did you mean %s?", near)
	}
	return "unknown key, without effect"
}

// Nearest finds the known name that takes the fewest edits, letter case aside, if there is one that resembles name; otherwise
// it is empty.
func Nearest(name string, known []string) string {
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
