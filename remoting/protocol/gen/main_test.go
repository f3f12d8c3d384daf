// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed sources are what the table says.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate("../headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current, run go generate ./remoting/protocol (%v)", name, err)
		}
	}
}

func TestTableErrors(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense":                              "line 1: not understood",
		"request x SEND all - -":                "line 1: strconv",
		"request 1 SEND all Missing -":          "unknown header Missing",
		"file a: b\nheader X all\nheader X all": "line 3: header X stands twice",
		"header X all":                          "before the first file",
		"file a: b\nheader X : Y all":           "unknown base Y",
		"file a: b\nheader X all\n  f Float":    "unknown type Float",
		"file a: b\n  f String":                 "without header",
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
