// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// goldenFrame is one recorded frame.
type goldenFrame struct {
	Where   string // file and sequence number
	Link    string // who talks to whom: client-broker, broker-namesrv …
	Dir     string // c2s or s2c
	ReqCode int32  // of the request that a response answers
	Frame   []byte
}

// loose are the entries that interceptors of real clients and servers put into extFields beside the custom header.
var loose = []string{
	"MSG_REGION", "TRACE_ON", "IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE", "ReqT", "AccessKey", "Signature", "SecurityToken",
	"_UNIQUE_KEY_QUERY",
}

// foreign are the fields that some sender puts into a request although the header of that code does not have them.
var foreign = map[int32][]string{
	ReqSendMessage: {"bname", "batch", "maxReconsumeTimes", "defaultTopic"}, ReqSendBatchMessage: {"bname"},
}

func TestGoldenFrames(t *testing.T) {
	f, err := os.Open("testdata/frames.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var count goldenCount
	sc := bufio.NewScanner(z)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var g goldenFrame
		var b64 string
		if _, err := fmt.Sscan(sc.Text(), &g.Where, &g.Link, &g.Dir, &g.ReqCode, &b64); err != nil {
			t.Fatal(err)
		}
		if g.Frame, err = base64.StdEncoding.DecodeString(b64); err != nil {
			t.Fatal(err)
		}
		checkGolden(t, g, &count)
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
	t.Log(count)
	if count.identical < 100 || count.equal < 100 {
		t.Error("too few frames in the extract")
	}
}

// goldenCount counts frames that were encoded again to identical bytes, and to equal fields.
type goldenCount struct{ frames, identical, equal int }

func checkGolden(t *testing.T, g goldenFrame, count *goldenCount) {
	t.Helper()
	count.frames++
	var c Command
	if err := c.Decode(bytes.Clone(g.Frame)); err != nil {
		t.Errorf("%s: %v", g.Where, err)
		return
	}
	if c.Serialize == JSON {
		compareWithJSON(t, g, &c)
	}

	// A command with its fields as they stand is encoded to the same bytes, if Java wrote it.
	java := c.Language == LanguageJava
	if b, err := AppendFrame(nil, &c); err != nil || java && !bytes.Equal(b, g.Frame) {
		t.Errorf("%s: AppendFrame differs: %v\n got %q\nwant %q", g.Where, err, b, g.Frame)
	}

	h := NewRequestHeader(c.Code)
	if c.IsResponse() {
		h = NewResponseHeader(g.ReqCode)
	}
	var typed Fields
	if h != nil {
		if err := h.ParseFields(&c.Fields); err != nil {
			t.Errorf("%s: %v", g.Where, err)
			return
		}
		h.AppendFields(&typed)
	}
	extra := unknownFields(t, g, &c, &typed)

	// Servers print the headers that they build in the same order as we do.
	byServer := g.Dir == "s2c" || g.Link == "broker-namesrv"
	var e Encoder
	e.Version = c.Version
	var b []byte
	var err error
	switch {
	case !java || !byServer:
		compareFields(t, g, &c, &typed, extra)
		count.equal++
		return
	case !c.Fields.Present:
		b, err = e.AppendResponse(nil, c.Opaque, c.Serialize, &Response{Code: c.Code, Remark: c.Remark, Body: c.Body})
		if !c.IsResponse() {
			b, err = e.AppendRequest(nil, c.Code, c.Opaque, c.Flag, c.Serialize, nil, c.Body)
		}
	case c.IsResponse():
		if len(extra) > 0 && len(typed.List) == 0 {
			h = nil
		}
		r := Response{Code: c.Code, Remark: c.Remark, Header: h, Extra: extra, Body: c.Body}
		b, err = e.AppendResponse(nil, c.Opaque, c.Serialize, &r)
	default:
		b, err = e.AppendRequest(nil, c.Code, c.Opaque, c.Flag, c.Serialize, h, c.Body)
	}
	if err != nil || !bytes.Equal(b, g.Frame) {
		t.Errorf("%s: encoded anew it differs: %v\n got %.400q\nwant %.400q", g.Where, err, b, g.Frame)
	}
	count.identical++
}

// compareWithJSON checks the decoder against encoding/json.
func compareWithJSON(t *testing.T, g goldenFrame, c *Command) {
	t.Helper()
	var want struct {
		Code, Flag, Opaque, Version int32
		Language                    string
		Remark                      *string
		ExtFields                   map[string]string
	}
	size := int(g.Frame[5])<<16 | int(g.Frame[6])<<8 | int(g.Frame[7])
	if err := json.Unmarshal(g.Frame[8:8+size], &want); err != nil {
		t.Errorf("%s: %v", g.Where, err)
		return
	}
	if c.Code != want.Code || c.Flag != want.Flag || c.Opaque != want.Opaque || c.Version != want.Version ||
		c.Language.String() != want.Language || c.Remark.Set != (want.Remark != nil) ||
		c.Remark.Set && c.Remark.V != *want.Remark || c.Fields.Present != (want.ExtFields != nil) ||
		!maps.Equal(fieldMap(&c.Fields), want.ExtFields) || !bytes.Equal(c.Body, g.Frame[8+size:]) {
		t.Errorf("%s: decoded %+v, want %+v", g.Where, c, want)
	}
}

func fieldMap(f *Fields) map[string]string {
	m := map[string]string{}
	for _, e := range f.List {
		m[e.Key] = e.Value
	}
	return m
}

// unknownFields are the entries that the typed header does not have; they must be of the known kinds.
func unknownFields(t *testing.T, g goldenFrame, c *Command, typed *Fields) (extra []Field) {
	t.Helper()
	for _, e := range c.Fields.List {
		if _, ok := typed.Get(e.Key); ok {
			continue
		}
		extra = append(extra, e)
		if !slices.Contains(loose, e.Key) && (c.Language == LanguageJava || !slices.Contains(foreign[c.Code], e.Key)) {
			t.Errorf("%s: field %s=%q is not in the header", g.Where, e.Key, e.Value)
		}
	}
	return extra
}

// compareFields checks that the typed header and the extra entries are what the frame had. Fields that a primitive type
// always has may come in addition when the sender's header does not know them.
func compareFields(t *testing.T, g goldenFrame, c *Command, typed *Fields, extra []Field) {
	t.Helper()
	had := fieldMap(&c.Fields)
	got := fieldMap(typed)
	for _, e := range extra {
		got[e.Key] = e.Value
	}
	for k, v := range got {
		if old, ok := had[k]; ok && old != v {
			t.Errorf("%s: %s=%q became %q", g.Where, k, old, v)
		} else if !ok && !strings.Contains("0 -1 true false", v) {
			t.Errorf("%s: %s=%q was added", g.Where, k, v)
		}
	}
	for k, v := range had {
		if _, ok := got[k]; !ok {
			t.Errorf("%s: %s=%q got lost", g.Where, k, v)
		}
	}
}
