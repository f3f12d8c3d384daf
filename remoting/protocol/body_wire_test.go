// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"os"
	"strconv"
	"strings"
	"testing"

	"rocketmq-go/compat/fastjson"
)

// wireBody is a JSON body as it was recorded between real clients and servers.
type wireBody struct {
	code     int32 // of the request
	response bool
	version  int32  // of the sender
	language string // of the sender
	standard bool   // an answer to a client that wants standard JSON
	text     []byte
}

// check decodes the body and encodes it again: Java must have printed the same bytes. With the text of the Go client a
// second decode and encode must change nothing.
func (w wireBody) check(t *testing.T) {
	t.Helper()
	body := BodyOf(w.code, w.response)
	if body == nil {
		t.Errorf("code %d response=%v has no body type: %.200s", w.code, w.response, w.text)
		return
	}
	if err := fastjson.Unmarshal(w.text, body); err != nil {
		t.Errorf("code %d response=%v: %v: %.300s", w.code, w.response, err, w.text)
		return
	}
	o := fastjson.Options{Standard: w.standard}
	if w.version < 413 {
		o.Omit = "v5"
	}
	got := o.Marshal(body)
	if w.language == "JAVA" {
		if !bytes.Equal(got, w.text) {
			t.Errorf("code %d response=%v version %d:\n got %.2000s\nwant %.2000s", w.code, w.response, w.version, got, w.text)
		}
		return
	}
	again := BodyOf(w.code, w.response)
	if err := fastjson.Unmarshal(got, again); err != nil || !bytes.Equal(o.Marshal(again), got) {
		t.Errorf("code %d response=%v: %s is not stable, %v", w.code, w.response, got, err)
	}
}

// testdata/bodies/wire.txt.gz has one recorded body per code, direction, sender and form.
func TestBodyWire(t *testing.T) {
	f, err := os.Open("testdata/bodies/wire.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<20)
	n := 0
	for ; in.Scan(); n++ {
		w := strings.SplitN(in.Text(), "\t", 6)
		code, _ := strconv.Atoi(w[0])
		version, _ := strconv.Atoi(w[2])
		wireBody{int32(code), w[1] == "response", int32(version), w[3], w[4] == "standard", []byte(w[5])}.check(t)
	}
	if n < 45 || in.Err() != nil {
		t.Errorf("%d bodies, %v", n, in.Err())
	}
}
