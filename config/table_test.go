// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"slices"
	"strings"
	"testing"
)

// javaFields reads testdata/fields-*.txt into lines by class, in Java's order.
func javaFields(t *testing.T, version string) map[string][]string {
	byClass := map[string][]string{}
	for line := range strings.Lines(golden(t, "fields-"+version+".txt")) {
		if class, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); class[0] != '#' {
			byClass[class] = append(byClass[class], rest)
		}
	}
	return byClass
}

// Every field of Java's classes is a key here, in the same order, with the same type, default and setter, and there is
// no key that Java does not have.
func TestTableIsJavas(t *testing.T) {
	h := host{name: "$hostName", address: "$hostAddress", home: "$home", cpus: 2}
	objects := append((&BrokerValues{}).objects(), (&NamesrvValues{}).objects()[0], object{value: &ControllerConfig{}})
	for _, version := range []string{V533, V497} {
		fields := javaFields(t, version)
		seen := 0
		for _, o := range objects {
			keys := keysOf(0, o)
			class := keys[0].Object
			if class == "OwnConfig" {
				continue
			}
			seen += len(fields[class])
			var here []string
			for _, k := range keys {
				d, exists := k.in(version)
				if !exists {
					continue
				}
				marks := [2]string{"-", "-"}
				if k.Important {
					marks[0] = "m"
				}
				if k.SetName == k.Name {
					marks[1] = "set"
				}
				here = append(here, strings.Join([]string{k.Name, k.Type, h.expand(d), marks[0], marks[1]}, "\t"))
			}
			java := fields[class]
			for _, line := range java {
				if !slices.Contains(here, line) {
					t.Errorf("%s %s: not here: %q", version, class, line)
				}
			}
			for _, line := range here {
				if !slices.Contains(java, line) {
					t.Errorf("%s %s: not in Java: %q", version, class, line)
				}
			}
			if !t.Failed() && !slices.Equal(here, java) {
				t.Errorf("%s %s: order differs", version, class)
			}
		}
		total := 0
		for _, lines := range fields {
			total += len(lines)
		}
		if seen != total {
			t.Errorf("%s: %d fields of %d compared", version, seen, total)
		}
	}
}

// Every key either works or says why it does not, and every default is one the key's own setter takes.
func TestTableIsConsistent(t *testing.T) {
	for _, objects := range [][]object{(&BrokerValues{}).objects(), (&NamesrvValues{}).objects(), (&ControllerValues{}).objects()} {
		names := map[string]string{}
		for i, o := range objects {
			for _, k := range keysOf(i, o) {
				if k.NoEffect != "" && k.Feature != "" {
					t.Errorf("%s: both none and later", k.id())
				}
				if effect([]*Key{&k}) == "" {
					t.Errorf("%s: no effect known", k.id())
				}
				for _, version := range []string{V533, V497} {
					d, _ := k.in(version)
					expanded := host{cpus: 1}.expand(d)
					if d != null && !setText(k.valueIn(objects), expanded) {
						t.Errorf("%s: default %q of %s is not a %s", k.id(), d, version, k.Type)
					}
					if d == null && k.Type != "String" {
						t.Errorf("%s: only Strings can be null", k.id())
					}
				}
				if before, twice := names[k.Name]; twice && before == k.Object {
					t.Errorf("%s: two keys of one name", k.id())
				}
				names[k.Name] = k.Object
			}
		}
	}
}

func TestKeyNamesOfFields(t *testing.T) {
	for field, want := range map[string]string{"BrokerID": "brokerId", "BrokerIP1": "brokerIP1", "UseTLS": "useTLS", "RegionID": "regionId"} {
		if got := fileName(field); got != want {
			t.Errorf("%s: got %s, want %s", field, got, want)
		}
	}
}
