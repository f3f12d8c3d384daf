// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Key is one row of the table of configuration keys. The table is read from the tags of the key structs
// (BrokerConfig, MessageStoreConfig, …), whose fields stand in the order of Java's declarations:
//
//	def    default in 5.3.3: null, a literal, or $… for a value computed at start; ! = no such key
//	v4     default in 4.9.7 where it differs; ! = no such key, !x = no such key, but 4.9.7 acts as with x
//	key    name in the file, where it is not the field name with a small first letter
//	set    name under which the file sets it, where that differs from the name shown
//	sys    Java system property that gives the default
//	env    environment variable that gives the default
//	none   why the key has no effect here
//	later  feature of 5.x the key belongs to, without effect until that is built
//	mark   m printed by -m, r read only at start, d not settable, p holds a path or a class name,
//	       s secret: never shown to clients, u updated by clients although it is not shown
type Key struct {
	Name       string // as shown and, unless SetName differs, as set
	SetName    string // as set by file and hot update; empty: not settable
	Object     string // Java's class, or OwnConfig
	Type       string // Java's type
	Default    string // in 5.3.3, in tag form
	Default497 string // in 4.9.7, in tag form
	NoEffect   string // why it has no effect; empty: it has one
	Feature    string // the 5.x feature it waits for; empty: none
	Important  bool   // printed by -m
	AtStart    bool   // a hot update reaches the memory but changes nothing before the next start
	Path       bool   // value is a path or class name
	Secret     bool   // value is a credential, which getBrokerConfig leaves out
	Always     bool   // hot update takes it although getBrokerConfig does not show it

	values   []string // of an enumeration
	sys, env string
	object   int // position in the list of objects
	field    int
}

// Hot reports whether a hot update of the key takes effect at once.
func (k *Key) Hot() bool { return k.NoEffect == "" && k.Feature == "" && !k.AtStart && k.SetName != "" }

// object is one configuration object of a process.
type object struct {
	name    string
	value   any  // pointer to a key struct
	exposed bool // shown by getBrokerConfig and getNamesrvConfig even when the file does not mention it
	printed bool // part of -p
}

// Hidden reports whether servers may know a key that they do not show when they are asked for their configuration: a
// credential, or one of an object that Java does not show either.
func Hidden(name string) bool {
	for _, objects := range [][]object{(&BrokerValues{}).objects(), (&NamesrvValues{}).objects(), (&ControllerValues{}).objects()} {
		keys := tableOf(objects)
		if slices.ContainsFunc(keys, func(k Key) bool { return k.SetName == name && (k.Secret || !objects[k.object].exposed) }) {
			return true
		}
	}
	return false
}

// tableOf reads the rows of all objects of a process.
func tableOf(objects []object) []Key {
	lists := make([][]Key, len(objects))
	for i, o := range objects {
		lists[i] = keysOf(i, o)
	}
	return slices.Concat(lists...)
}

// keysOf reads the rows of one object from its struct tags.
func keysOf(position int, o object) []Key {
	t := reflect.TypeOf(o.value).Elem()
	keys := make([]Key, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get
		k := Key{
			Name: fileName(f.Name), Object: t.Name(), Type: javaType(f.Type),
			Default: tag("def"), Default497: tag("def"), NoEffect: tag("none"), Feature: tag("later"),
			sys: tag("sys"), env: tag("env"), object: position, field: i,
		}
		if name := tag("key"); name != "" {
			k.Name = name
		}
		if e, ok := enumOf(f.Type); ok {
			k.values = e.values
		}
		if k.Type == "boolean" {
			k.values = []string{"true", "false"}
		}
		if v4, ok := f.Tag.Lookup("v4"); ok {
			k.Default497 = v4
		}
		marks := tag("mark")
		k.Important = strings.Contains(marks, "m")
		k.AtStart = strings.Contains(marks, "r")
		k.Path = strings.Contains(marks, "p")
		k.Secret = strings.Contains(marks, "s")
		k.Always = strings.Contains(marks, "u")
		if !strings.Contains(marks, "d") {
			k.SetName = k.Name
			if name := tag("set"); name != "" {
				k.SetName = name
			}
		}
		keys = append(keys, k)
	}
	return keys
}

// fileName derives the Java name of a field: small first letter, final ID spelt Id.
func fileName(field string) string {
	name := strings.ToLower(field[:1]) + field[1:]
	if base, ok := strings.CutSuffix(name, "ID"); ok {
		name = base + "Id"
	}
	return name
}

// in gives the default of the key in the given version, in tag form, and whether that version has the key.
func (k *Key) in(version string) (string, bool) {
	d := k.Default
	if version == V497 {
		d = k.Default497
	}
	acts, missing := strings.CutPrefix(d, absent)
	switch {
	case !missing:
		return d, true
	case acts != "":
		return acts, false
	case version == V497 && !strings.HasPrefix(k.Default, absent):
		return k.Default, false
	}
	return strings.TrimPrefix(k.Default497, absent), false
}

const (
	null   = "null" // default of a String that is not shown until it is set
	absent = "!"    // marks the default of a key the version does not have
)

// host is what the machine contributes to defaults.
type host struct {
	name, address, home string
	cpus                int
}

func thisHost(system func(string) string) host {
	h := host{cpus: runtime.GOMAXPROCS(0), home: system("user.home")}
	if name, err := os.Hostname(); err == nil && name != "" {
		h.name = name
	} else {
		h.name = "DEFAULT_BROKER"
	}
	if h.home == "" {
		h.home, _ = os.UserHomeDir()
	}
	return h
}

// expand computes a default given in tag form.
func (h host) expand(def string) string {
	if !strings.HasPrefix(def, "$") {
		return def
	}
	if rest, ok := strings.CutPrefix(def, "$home"); ok {
		return h.home + rest
	}
	switch def {
	case "$hostName":
		return h.name
	case "$hostAddress":
		return h.address
	}
	cpus := map[string]int{
		"$cpus": h.cpus, "$min(cpus,4)": min(h.cpus, 4), "$min(cpus,32)": min(h.cpus, 32),
		"$8+cpus": 8 + h.cpus, "$8+2*cpus": 8 + 2*h.cpus, "$16+2*cpus": 16 + 2*h.cpus,
	}
	return strconv.Itoa(cpus[def])
}
