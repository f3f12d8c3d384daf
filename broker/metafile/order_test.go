// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metafile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A table iterates in the order in which Java's hash table of that many entries would be sorted, whatever was put and
// deleted before.
func TestTableOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table Table[int]
	places, seq := map[string]Place{}, uint64(0)
	for step := range 20000 {
		name := fmt.Sprint("T", rng.IntN(6000))
		if rng.IntN(10) < 3+5*(step/5000%2) { // it grows and shrinks
			_, there := places[name]
			delete(places, name)
			if table.Delete(name) != there {
				t.Fatalf("step %d: %s was there: %v", step, name, there)
			}
		} else {
			if _, ok := places[name]; !ok {
				seq++
				places[name] = PlaceOf(name, seq)
			}
			table.Set(name, step)
			if v, ok := table.Get(name); !ok || v != step {
				t.Fatalf("step %d: %s is %d", step, name, v)
			}
		}
		if step%500 != 499 {
			continue
		}
		var want, got []string
		for name := range places {
			want = append(want, name)
		}
		InJavaOrder(ConfigTable, want, func(name string) Place { return places[name] })
		for name := range table.All() {
			got = append(got, name)
		}
		if !slices.Equal(want, got) || table.Len() != len(want) {
			t.Fatalf("step %d: %d names in another order than %d", step, len(got), len(want))
		}
	}
}
