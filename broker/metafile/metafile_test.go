// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metafile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// goodText is what the tests' decode takes.
func goodText(text []byte) error {
	if !bytes.HasPrefix(text, []byte("good")) {
		return errors.New("not good")
	}
	return nil
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if text == "missing" {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "missing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Which copy is used, for each state a crash or a power loss may leave; and a bad main file never replaces a good .bak.
func TestLoadMatrix(t *testing.T) {
	for _, c := range []struct {
		main, bak string
		want      Source
		refused   bool
		bakAfter  string // after the first write
	}{
		{"good 1", "good 0", FromMain, false, "good 1"},
		{"good 1", "cut", FromMain, false, "good 1"},
		{"good 1", "missing", FromMain, false, "good 1"},
		{"", "good 0", FromBackup, false, "good 0"},
		{" \n", "good 0", FromBackup, false, "good 0"},
		{"cut", "good 0", FromBackup, false, "good 0"},
		{"missing", "good 0", FromBackup, false, "good 0"},
		{"missing", "missing", FromNothing, false, "missing"},
		{"", "missing", FromBroken, false, "missing"},
		{"cut", "missing", FromBroken, false, "missing"},
		{"missing", "cut", FromNothing, true, ""},
		{"cut", "cut", FromNothing, true, ""},
		{"", "", FromNothing, true, ""},
	} {
		t.Run(fmt.Sprintf("main=%q,bak=%q", c.main, c.bak), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "topics.json")
			put(t, path, c.main)
			put(t, path+".bak", c.bak)
			f, source, err := Load(path, goodText)
			if (err != nil) != c.refused || source != c.want {
				t.Fatalf("source %q, err %v", source, err)
			}
			if c.refused {
				if !strings.Contains(err.Error(), "topics.json.bak") || !strings.Contains(err.Error(), "topics.json:") &&
					!strings.Contains(err.Error(), "topics.json: ") {
					t.Errorf("the error does not name both files: %v", err)
				}
				return
			}
			if c.want == FromBroken && c.main != "" && read(t, path+".broken") != c.main {
				t.Error("the broken text was not kept")
			}
			if err := f.Write([]byte("good 2")); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != "good 2" {
				t.Errorf("main: %q", got)
			}
			if got := read(t, path+".bak"); got != c.bakAfter && !(c.bakAfter == "missing" && got == "missing") {
				t.Errorf("bak: %q, want %q", got, c.bakAfter)
			}
			if err := f.Write([]byte("good 3")); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path+".bak"); got != "good 2" {
				t.Errorf("bak after the second write: %q", got)
			}
		})
	}
}

func TestWriteShorterText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "f.json")
	f, _, err := Load(path, goodText)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"good and long", "good", "good"} {
		if err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "good" {
		t.Errorf("main: %q", got)
	}
	if got := read(t, path+".bak"); got != "good and long" {
		t.Errorf("writing the same text again moved it to the .bak: %q", got)
	}
	if got := read(t, path+".tmp"); got != "missing" {
		t.Errorf("tmp: %q", got)
	}
}

// A crash between the two renames leaves only the .bak; it is used and kept.
func TestCrashBetweenRenames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	put(t, path+".bak", "good 1")
	put(t, path+".tmp", "good 2")
	_, source, err := Load(path, goodText)
	if err != nil || source != FromBackup {
		t.Fatal(source, err)
	}
}

// newWriter makes a writer of a counter in a fresh directory.
func newWriter(t *testing.T, o Options) (w *Writer, set func(int), path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "f.json")
	f, _, err := Load(path, goodText)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	w = NewWriter(f, func() []byte { return fmt.Appendf(nil, "good %d", n.Load()) }, o)
	return w, func(v int) { n.Store(int64(v)); w.Changed() }, path
}

func TestWriterCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, set, path := newWriter(t, Options{})
		for i := range 1000 {
			set(i)
		}
		time.Sleep(coalesce - time.Millisecond)
		synctest.Wait()
		if got := read(t, path); got != "missing" {
			t.Errorf("written too early: %q", got)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := read(t, path); got != "good 999" {
			t.Errorf("got %q", got)
		}
		if s := w.Stats(); s.Writes != 1 {
			t.Errorf("%d writes", s.Writes)
		}
	})
}

func TestSyncWaitsForItsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, set, path := newWriter(t, Options{})
		begin := time.Now()
		for i := range 3 {
			set(i)
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := read(t, path); got != fmt.Sprintf("good %d", i) {
				t.Errorf("got %q", got)
			}
		}
		if d := time.Since(begin); d != 0 {
			t.Errorf("Sync slept %v", d)
		}
		set(7)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != "good 7" {
			t.Errorf("Close left %q", got)
		}
		set(8)
		if err := w.Sync(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Sync after Close: %v", err)
		}
	})
}

func TestManySyncsShareWrites(t *testing.T) {
	w, set, path := newWriter(t, Options{})
	done := make(chan error, 64)
	for i := range cap(done) {
		go func() {
			set(i)
			done <- w.Sync(context.Background())
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if s := w.Stats(); s.Writes > uint64(cap(done)) || read(t, path) == "missing" {
		t.Errorf("%d writes, file %q", s.Writes, read(t, path))
	}
}

// A write that fails is told, counted and tried again until it works.
func TestWriterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		w, set, path := newWriter(t, Options{Failed: func(error) { told.Add(1) }})
		// A directory in place of the temporary file makes each write fail.
		if err := os.Mkdir(path+".tmp", 0o755); err != nil {
			t.Fatal(err)
		}
		set(1)
		if err := w.Sync(t.Context()); err == nil {
			t.Error("Sync hides the error")
		}
		time.Sleep(3*retryAfter + coalesce)
		synctest.Wait()
		if n := told.Load(); n < 3 || w.Stats().Failures != uint64(n) {
			t.Errorf("told %d times, counted %d", n, w.Stats().Failures)
		}
		if err := os.Remove(path + ".tmp"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * retryAfter)
		synctest.Wait()
		if got := read(t, path); got != "good 1" {
			t.Errorf("not written when it was possible again: %q", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSyncEndsWithContext(t *testing.T) {
	f := &File{path: filepath.Join(t.TempDir(), "f.json")}
	block := make(chan struct{})
	w := NewWriter(f, func() []byte { <-block; return []byte("good") }, Options{})
	w.Changed()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(block)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestTableIteratesInJavaOrder(t *testing.T) {
	var table Table[int]
	names := []string{"TBW102", "broker-a", "SELF_TEST_TOPIC", "DefaultCluster", "OFFSET_MOVED_EVENT"}
	for i, name := range names {
		table.Set(name, i)
	}
	table.Set("TBW102", 9)
	table.Delete("broker-a")
	var got []string
	for name := range table.All() {
		got = append(got, name)
	}
	// Order of a ConcurrentHashMap(1024) of Java 8.
	if want := "SELF_TEST_TOPIC DefaultCluster TBW102 OFFSET_MOVED_EVENT"; len(got) != 4 || strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if v, ok := table.Get("TBW102"); !ok || v != 9 || table.Len() != 4 {
		t.Error(v, ok, table.Len())
	}
}

// Keys whose hashes are equal keep the order of insertion; a table that is three quarters full was doubled.
func TestInJavaOrder(t *testing.T) {
	keys := []string{"BB", "Aa", "C"}
	seq := map[string]uint64{"Aa": 2, "BB": 1, "C": 3}
	InJavaOrder(16, keys, func(k string) Place { return PlaceOf(k, seq[k]) })
	if got := strings.Join(keys, " "); got != "BB Aa C" {
		t.Errorf("got %s", got)
	}
	// 12 numbers fill a table of 16, which was doubled: 17 comes behind 11.
	ids := []int{17, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11}
	InJavaOrder(16, ids, func(id int) Place { return Place{Hash: uint32(id)} })
	if got := fmt.Sprint(ids); got != "[0 1 2 3 4 5 6 7 8 9 11 17]" {
		t.Errorf("got %s", got)
	}
}
