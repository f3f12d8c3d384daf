// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package javahash

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testdata/orders.txt was printed by Java 17: hash codes, and keys in the order in which they were put into maps of a
// capacity (16: made without one) with the order in which those are iterated.
func TestJava(t *testing.T) {
	f, err := os.Open("testdata/orders.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var keys []string
	lines := 0
	for in := bufio.NewScanner(f); in.Scan(); lines++ {
		w := strings.Split(in.Text(), "\t")
		n, _ := strconv.ParseInt(w[1], 10, 64)
		var got any
		switch w[0] {
		case "hash":
			text, err := strconv.Unquote(`"` + pairs.Replace(w[1]) + `"`)
			if err != nil {
				t.Fatal(err)
			}
			got = String(text)
		case "long":
			got = Long(n)
		case "keys":
			keys = strings.Fields(w[2])
			continue
		case "hashmap":
			got = sorted(keys, SortHashMap, int(n))
		case "concurrent":
			got = sorted(keys, SortConcurrentHashMap, int(n))
		}
		if fmt.Sprint(got) != w[2] {
			t.Errorf("%s %s: got %v\nwant %s", w[0], w[1], got, w[2])
		}
	}
	if lines < 100 {
		t.Errorf("%d lines", lines)
	}
}

// pairs spells as Go does what Java escaped as two surrogates.
var pairs = strings.NewReplacer(`\ud83d\ude00`, `\U0001f600`)

func sorted(keys []string, sort func([]string, func(string) int32, int), capacity int) string {
	list := slices.Clone(keys)
	sort(list, String, capacity)
	return strings.Join(list, " ")
}

// A HashMap grows when it is more than three quarters full, a ConcurrentHashMap when it is three quarters full, and the
// latter turns the entries of a bucket around.
func TestGrowth(t *testing.T) {
	var keys []int32
	for i := range int32(12) {
		keys = append(keys, i*16) // bucket 0 of 16
	}
	self := func(k int32) int32 { return k }
	small := slices.Clone(keys)
	SortHashMap(small, self, DefaultCapacity)
	if !slices.Equal(small, keys) {
		t.Errorf("12 entries: %v", small)
	}
	grown := slices.Clone(append(keys, 192))
	SortHashMap(grown, self, DefaultCapacity)
	if got := fmt.Sprint(grown); got != "[0 32 64 96 128 160 192 16 48 80 112 144 176]" {
		t.Errorf("13 entries: %s", got)
	}
	concurrent := slices.Clone(keys)
	SortConcurrentHashMap(concurrent, self, DefaultCapacity)
	if got := fmt.Sprint(concurrent); got != "[160 128 96 64 32 0 144 112 80 48 16 176]" {
		t.Errorf("12 entries, concurrent: %s", got)
	}
}

func BenchmarkSortConcurrentHashMap(b *testing.B) {
	var keys []string
	for i := range 10000 {
		keys = append(keys, fmt.Sprintf("Topic-%d", i))
	}
	list := make([]string, len(keys))
	for b.Loop() {
		copy(list, keys)
		SortConcurrentHashMap(list, String, 1024)
	}
}
