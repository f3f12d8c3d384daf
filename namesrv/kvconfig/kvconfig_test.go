// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package kvconfig

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "kvConfig.json")
	s := open(t, path)
	if err := s.Put(OrderTopics, "TA", "b1:4;b2:4"); err != nil {
		t.Fatal(err)
	}
	first := read(t, path)
	if err := s.Put("N2", "k", `v "quoted" ü`); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("N2", "k"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("none", "k"); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), `{"configTable":{"N2":{},"ORDER_TOPIC_CONFIG":{"TA":"b1:4;b2:4"}}}`; got != want {
		t.Errorf("file %s, want %s", got, want)
	}
	if got := read(t, path+".bak"); got == first || got == read(t, path) {
		t.Errorf(".bak %s is not the former content", got)
	}
	for range 2 {
		if v, ok := s.Get(OrderTopics, "TA"); !ok || v != "b1:4;b2:4" {
			t.Errorf("value %q %t", v, ok)
		}
		if _, ok := s.Get("N2", "k"); ok {
			t.Error("a deleted key is there")
		}
		if j, ok := s.Namespace(OrderTopics); !ok || string(j) != `{"table":{"TA":"b1:4;b2:4"}}` {
			t.Errorf("namespace %s %t", j, ok)
		}
		if j, ok := s.Namespace("N2"); !ok || string(j) != `{"table":{}}` {
			t.Errorf("empty namespace %s %t", j, ok)
		}
		if _, ok := s.Namespace("none"); ok {
			t.Error("unknown namespace was found")
		}
		s = open(t, path) // and the same after a restart
	}
}

func TestFileOfJava(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kvConfig.json")
	const java = `{"configTable":{"ORDER_TOPIC_CONFIG":{"TA":"b1:4;b2:4"},"N2":{}}}`
	if err := os.WriteFile(path, []byte(java), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if v, _ := s.Get(OrderTopics, "TA"); v != "b1:4;b2:4" {
		t.Errorf("value %q", v)
	}
	if _, ok := s.Namespace("N2"); !ok {
		t.Error("the empty namespace is lost")
	}
}

func TestDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kvConfig.json")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, `{"configTable":{"N`)
	write(path+".bak", `{"configTable":{"N":{"k":"v"}}}`)
	if v, _ := open(t, path).Get("N", "k"); v != "v" {
		t.Errorf("value from .bak: %q", v)
	}
	write(path+".bak", `{"con`)
	if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two damaged files were accepted")
	}
	write(path, "")
	if _, err := Open(path, slog.New(slog.DiscardHandler)); err != nil {
		t.Errorf("empty file: %v", err)
	}
	if _, err := Open(t.TempDir(), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a directory was accepted")
	}
}

func TestNothingChangesWhenTheFileCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file", "kvConfig.json")
	s := open(t, path)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil { // where the directory should be
		t.Fatal(err)
	}
	if err := s.Put("N", "k", "v"); err == nil {
		t.Error("no error")
	}
	if _, ok := s.Namespace("N"); ok {
		t.Error("readers see what is not on disk")
	}
}
