// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package index

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// indexed is a message of the kill test: its offset is its number times 10.
type indexed struct {
	uniq string
	keys []string
}

// image is what is in the directory: the content of each file by its name.
type image map[string][]byte

func imageOf(t *testing.T, dir string) image {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	img := image{}
	for _, e := range entries {
		if img[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// A process that is killed leaves the stores that it made to its mappings, in their order. Each state that can be seen
// so, after each single store, is continued: then every key finds its message, once.
func TestKilledAfterAnyStore(t *testing.T) {
	var messages []indexed
	for i := range 12 {
		m := indexed{uniq: fmt.Sprint("u", i)}
		for j := range i % 5 {
			m.keys = append(m.keys, []string{"all", "some", fmt.Sprint("k", i), "few"}[j])
		}
		messages = append(messages, m)
	}
	o := options(t.TempDir())
	o.Slots, o.Units = 3, 6
	o.Now = func() time.Time { return time.UnixMilli(1700000000000) }
	x := open(t, o)
	states := 0
	for i, m := range messages {
		for _, key := range append([]string{m.uniq}, m.keys...) {
			before := imageOf(t, o.Dir)
			if err := x.put(KeyHash("T", key), int64(i)*10, 1700000000000, false); err != nil {
				t.Fatal(err)
			}
			for n, state := range statesBetween(before, imageOf(t, o.Dir), x) {
				states++
				continueAfterKill(t, o, state, messages, fmt.Sprintf("message %d, key %s, after store %d", i, key, n))
			}
		}
	}
	if states < 300 {
		t.Errorf("%d states", states)
	}
}

// statesBetween are the images from before a put to after it, in the order of file.put and Index.create.
func statesBetween(before, after image, x *Index) []image {
	f := x.last()
	name := filepath.Base(f.path)
	states := []image{before}
	store := func(from []byte, pos, n int64) {
		next := maps.Clone(states[len(states)-1])
		next[name] = slices.Clone(next[name])
		copy(next[name][pos:pos+n], from[pos:])
		states = append(states, next)
	}
	header := [][2]int64{{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 4}, {36, 4}}
	if before[name] == nil {
		created := maps.Clone(before)
		created[name] = make([]byte, f.size)
		states = append(states, created)
		if files := *x.files.Load(); len(files) > 1 {
			var first [headerSize]byte
			h := files[len(files)-2].head.successor()
			h.encode(first[:])
			for _, field := range header {
				store(first[:], field[0], field[1])
			}
		}
	}
	number := f.head.Count - 1
	unit := f.unitPos(number)
	for _, field := range [][2]int64{{0, 4}, {4, 8}, {12, 4}, {16, 4}} {
		store(after[name], unit+field[0], field[1])
	}
	for slot := range f.slots {
		if pos := f.slotPos(int32(slot)); string(after[name][pos:pos+slotSize]) != string(states[len(states)-1][name][pos:pos+slotSize]) {
			store(after[name], pos, slotSize)
		}
	}
	for _, field := range header {
		store(after[name], field[0], field[1])
	}
	return states
}

// continueAfterKill opens a copy of the image and indexes all messages, as a recovery that begins early does.
func continueAfterKill(t *testing.T, o Options, img image, messages []indexed, state string) {
	t.Helper()
	o.Dir = t.TempDir()
	for name, content := range img {
		if err := os.WriteFile(filepath.Join(o.Dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := Open(o, func(Header) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	want := map[string][]int64{}
	for i, m := range messages {
		keys := ""
		for _, k := range m.keys {
			keys += k + " "
			want[k] = slices.Insert(want[k], 0, int64(i)*10)
		}
		want[m.uniq] = []int64{int64(i) * 10}
		if err := x.Add("T", []byte(m.uniq), []byte(keys), int64(i)*10, 1700000000000); err != nil {
			t.Fatal(err)
		}
	}
	for key, offsets := range want {
		if got := find(t, x, "T", key); !slices.Equal(got, offsets) {
			t.Fatalf("%s: %s finds %v, expected %v", state, key, got, offsets)
		}
	}
}
