// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The committed extract is what the full recordings say.
func TestGoldenRecordedTools(t *testing.T) {
	root := os.Getenv("ROCKETMQ_GOLDEN")
	if root == "" {
		t.Log("ROCKETMQ_GOLDEN is not set")
		return
	}
	for line := range bytes.Lines(recorded) {
		var e exchange
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		checkRecorded(t, filepath.Join(root, "wire", "admin", e.File+".jsonl"), &e)
	}
}

// frame is a line of a recording.
type frame struct {
	Conn   int
	Kind   string
	Header struct {
		Code      int32
		Opaque    int32
		Remark    *string
		ExtFields map[string]string
	}
	Frame string
	Body  string
}

func checkRecorded(t *testing.T, file string, e *exchange) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := base64.StdEncoding.EncodeToString(e.Request)
	var asked *frame
	for line := range bytes.Lines(text) {
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Kind == "request" && f.Frame == want:
			asked = &f
		case f.Kind == "response" && asked != nil && f.Conn == asked.Conn && f.Header.Opaque == asked.Header.Opaque:
			if f.Header.Code != e.Code || f.Body != e.Body || len(f.Header.ExtFields) != len(e.Fields) ||
				(f.Header.Remark == nil) != (e.Remark == nil) {
				t.Errorf("%s: the answer of %d is another one", file, asked.Header.Code)
			}
			return
		}
	}
	t.Errorf("%s has no such request, or no answer to it", file)
}
