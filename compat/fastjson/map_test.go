// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A Map does what a Go map and a list of keys do together.
func TestMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m Map[int32, int]
	if !m.IsNil() || m.Len() != 0 {
		t.Error("the zero Map is not null")
	}
	model := map[int32]int{}
	var order []int32
	for i := range 5000 {
		k := r.Int32N(40)
		switch _, there := model[k]; {
		case r.IntN(3) == 0:
			if m.Delete(k) != there {
				t.Fatalf("Delete(%d) says %v", k, !there)
			}
			delete(model, k)
			order = slices.DeleteFunc(order, func(o int32) bool { return o == k })
		default:
			m.Set(k, i)
			model[k] = i
			if !there {
				order = append(order, k)
			}
		}
		if i%1000 == 0 {
			m = m.Clone()
		}
		var keys []int32
		for k, v := range m.All() {
			keys = append(keys, k)
			if got, ok := m.Get(k); !ok || got != v || v != model[k] {
				t.Fatalf("key %d: %d %d %v, want %d", k, v, got, ok, model[k])
			}
		}
		if !slices.Equal(keys, order) || m.Len() != len(order) {
			t.Fatalf("order %v, want %v", keys, order)
		}
	}
	m.Clear()
	if _, ok := m.Get(1); ok || m.IsNil() || m.Len() != 0 {
		t.Error("Clear leaves something")
	}
}

func TestCloneIsApart(t *testing.T) {
	var m Map[string, int]
	m.Set("a", 1)
	c := m.Clone()
	c.Set("a", 2)
	c.Set("b", 3)
	if v, _ := m.Get("a"); v != 1 || m.Len() != 1 {
		t.Error("the original changed")
	}
	var null Map[string, int]
	if c = null.Clone(); !c.IsNil() {
		t.Error("the clone of null is not null")
	}
}

func TestJavaOrder(t *testing.T) {
	m := MapOf[string, int](0)
	for i, k := range []string{"suggestWhichBrokerId", "nextBeginOffset", "minOffset", "maxOffset"} {
		m.Set(k, i)
	}
	m.SortHashMap(16)
	var got []string
	for k := range m.All() {
		got = append(got, k)
	}
	if fmt.Sprint(got) != "[suggestWhichBrokerId nextBeginOffset maxOffset minOffset]" {
		t.Error(got)
	}
}

func ExampleMap() {
	var brokerAddrs Map[int64, string]
	brokerAddrs.Set(0, "10.0.0.1:10911")
	brokerAddrs.Set(1, "10.0.0.2:10911")
	fmt.Println(string(Marshal(&brokerAddrs)))
	// Output: {0:"10.0.0.1:10911",1:"10.0.0.2:10911"}
}

// Room that was made changes nothing but the number of allocations.
func TestMapGrow(t *testing.T) {
	for _, n := range []int{0, 1, indexFrom, indexFrom + 1, 100} {
		grown, plain := MapOf[string, int](n), Map[string, int]{}
		plain.Clear()
		for i := range n {
			if i == n/2 {
				grown.Grow(n)
			}
			grown.Set(fmt.Sprint(i/2), i)
			plain.Set(fmt.Sprint(i/2), i)
		}
		if got, want := string(Marshal(&grown)), string(Marshal(&plain)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if v, ok := grown.Get("0"); ok != (n > 0) || n > 1 && v != 1 {
			t.Errorf("%d: %d %v", n, v, ok)
		}
		if _, ok := grown.Get("x"); ok {
			t.Errorf("%d: found what is not there", n)
		}
	}
}
