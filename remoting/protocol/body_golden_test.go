// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

var rewriteBodies = flag.Bool("rewrite-bodies", false, "write testdata/bodies/wire.txt.gz from the recordings")

// record is one frame of golden/wire (see its README).
type record struct {
	Link, Dir, Kind string
	Conn            int
	Code, ReqCode   int32
	Header          struct {
		Version   int32
		Opaque    int32
		Language  string
		ExtFields map[string]string
	}
	Frame []byte
}

func (r *record) body() []byte {
	if len(r.Frame) < 8 {
		return nil
	}
	return r.Frame[8+binary.BigEndian.Uint32(r.Frame[4:])&0xffffff:]
}

// readRecording lists the JSON bodies of one file.
func readRecording(t *testing.T, file string) (bodies []wireBody) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	standard := map[string]bool{} // connection and opaque of route requests that want standard JSON
	for in.Scan() {
		var r record
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		id := fmt.Sprint(r.Link, r.Conn, r.Header.Opaque)
		w := wireBody{code: r.Code, version: r.Header.Version, language: r.Header.Language, text: r.body()}
		if r.Kind == "response" {
			w.code, w.response = r.ReqCode, true
			var asked bool
			if w.standard, asked = standard[id]; !asked && r.ReqCode == 105 { // the recording began in between
				w.standard = bytes.Contains(w.text, []byte(`{"0":`))
			}
		} else if r.Code == 105 {
			standard[id] = r.Header.Version >= 401 || r.Header.ExtFields["acceptStandardJsonOnly"] == "true"
		}
		if n := len(w.text); n > 1 && (w.text[0] == '{' && w.text[n-1] == '}' || w.text[0] == '[' && w.text[n-1] == ']') {
			bodies = append(bodies, w)
		}
	}
	return bodies
}

// Every JSON body of the recordings (ROCKETMQ_GOLDEN=…/golden).
func TestBodyWireFull(t *testing.T) {
	var files []string
	for _, pattern := range []string{"wire/*.jsonl", "wire/admin/*.jsonl", "ha/*remoting.jsonl", "ha/*rpc.jsonl"} {
		match, _ := filepath.Glob(filepath.Join(os.Getenv("ROCKETMQ_GOLDEN"), pattern))
		files = append(files, match...)
	}
	if len(files) < 50 {
		t.Fatalf("ROCKETMQ_GOLDEN: %d recordings", len(files))
	}
	n, identical := 0, 0
	lean := map[string]string{}
	for _, file := range files {
		for _, w := range readRecording(t, file) {
			w.check(t)
			n++
			if w.language == "JAVA" {
				identical++
			}
			form, kind := "plain", "request"
			if w.standard {
				form = "standard"
			}
			if w.response {
				kind = "response"
			}
			key := fmt.Sprintf("%d\t%s\t%d\t%s\t%s", w.code, kind, w.version, w.language, form)
			if len(w.text) > len(lean[key]) && len(w.text) < 20000 {
				lean[key] = string(w.text)
			}
		}
	}
	t.Logf("%d bodies in %d files, %d printed by Java, %d kinds", n, len(files), identical, len(lean))
	if *rewriteBodies {
		writeLean(t, lean)
	}
}

// Every file under store/config in the golden stores, and the static topics.
func TestConfigFilesFull(t *testing.T) {
	root := os.Getenv("ROCKETMQ_GOLDEN")
	stores, _ := filepath.Glob(filepath.Join(root, "store", "*", "store.tar.gz"))
	n := 0
	for _, store := range stores {
		dir := t.TempDir()
		if out, err := exec.Command("tar", "xzf", store, "-C", dir).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", store, err, out)
		}
		files, _ := filepath.Glob(filepath.Join(dir, "store", "config", "*"))
		for _, file := range files {
			if configBody[strings.TrimSuffix(filepath.Base(file), ".bak")] == "" {
				continue // timercheck is binary
			}
			checkConfigFile(t, file, strings.Contains(store, "497"))
			n++
		}
	}
	mappings, _ := filepath.Glob(filepath.Join(root, "ha", "static-topic-*-topicQueueMapping.json"))
	for _, file := range mappings {
		link := filepath.Join(t.TempDir(), "topicQueueMapping.json")
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		checkConfigFile(t, link, false)
		n++
	}
	if n < 40 {
		t.Errorf("only %d files", n)
	}
	t.Logf("%d files", n)
}

func writeLean(t *testing.T, lean map[string]string) {
	f, err := os.Create("testdata/bodies/wire.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	keys := make([]string, 0, len(lean))
	for k := range lean {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(z, "%s\t%s\n", k, lean[k])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
