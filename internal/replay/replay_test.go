// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeServer answers each request with what handle returns, in order; nil is no answer.
func fakeServer(t *testing.T, handle func(n int, f *Frame) []*Frame) func(string) (net.Conn, error) {
	return func(string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { server.Close() })
		go func() {
			w := NewConn(server)
			defer w.Close()
			for n := 0; ; n++ {
				got := w.TakePushed(time.Minute, func(p []*Frame) bool { return len(p) > 0 })
				if len(got) == 0 {
					return
				}
				for _, f := range got {
					for _, a := range handle(n, f) {
						w.Write(a)
					}
				}
			}
		}()
		return client, nil
	}
}

func load(t *testing.T, lines string) []*Step {
	t.Helper()
	steps, err := Load(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestSaveDeriveAndFill(t *testing.T) {
	var seen []*Frame
	dial := fakeServer(t, func(_ int, f *Frame) []*Frame {
		seen = append(seen, f)
		return []*Frame{{
			Code: 0, Flag: 1, Opaque: f.Opaque,
			ExtFields: map[string]any{"msgId": "7F000002000052130000000000000BB4"}, Body: []byte(`{"a":{0:7}}`),
		}}
	})
	steps := load(t, `{"comment":"no id"}
{"id":"1","code":10,"extFields":{"k":"v"},"propertiesOf":{"i":{"b":"2","a":"1"}},"save":{"id":"extFields.msgId","n":"bodyJson.a.0"},"expect":{"code":0,"extFields":{"msgId":"x"},"bodyText":"{\"a\":{\"0\":7.0}}"},"volatile":["extFields.msgId"]}
{"id":"2","code":11,"derive":{"off":"id"},"extFields":{"o":"${off}","p":"${n+1}"},"bodyRepeat":["ab",3],"expect":{"code":0},"codeOnly":true}
`)
	Play(t, dial, steps, Known{})
	if got := seen[0].ExtFields["i"]; got != "b\x012\x02a\x011\x02" {
		t.Errorf("properties %q", got)
	}
	if got := seen[1].ExtFields; got["o"] != "2996" || got["p"] != "8" {
		t.Errorf("filled fields %v", got)
	}
	if got := string(seen[1].Body); got != "ababab" {
		t.Errorf("body %q", got)
	}
}

func TestPushAnswerAndAwait(t *testing.T) {
	var first *Frame
	dial := fakeServer(t, func(_ int, f *Frame) []*Frame {
		if f.Code == 1 { // held back; the server asks the client instead
			first = f
			return []*Frame{{Code: 40, Flag: 2}, {Code: 41}}
		}
		return []*Frame{{Flag: 1, Opaque: first.Opaque}, {Flag: 1, Opaque: f.Opaque}}
	})
	steps := load(t, `{"id":"1","code":1,"async":true,"expect":{}}
{"id":"2","op":"pushed","onlyCode":41,"first":true,"timeoutMs":2000,"expect":{"pushed":[{"code":41,"flag":0}]}}
{"id":"3","code":2,"expect":{"code":0}}
{"id":"4","op":"await","ref":"1","expect":{"code":0}}
{"id":"5","op":"answer","code":0,"timeoutMs":1,"expect":{"answered":0}}
{"id":"6","op":"close","expect":{}}
`)
	Play(t, dial, steps, Known{})
}

func TestNoAnswerAndClosed(t *testing.T) {
	dial := fakeServer(t, func(int, *Frame) []*Frame { return nil })
	Play(t, dial, load(t, `{"id":"1","code":1,"timeoutMs":10,"expect":{"none":true}}`), Known{})
	gone := func(string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			readFrame(server)
			server.Close()
		}()
		return client, nil
	}
	Play(t, gone, load(t, `{"id":"1","code":1,"expect":{"connectionClosed":true}}`), Known{})
}

func TestCompareTellsWhatDiffers(t *testing.T) {
	const recorded = `{"code":0,"remark":"at 127.0.0.1:10911","extFields":{"id":"A","n":"1"},"bodyText":"{\"list\":[\"a\",\"b\"],\"t\":{{\"q\":1}:5}}"}`
	for _, c := range []struct {
		name, got, want     string
		volatile, unordered []string
	}{
		{name: "equal", got: recorded},
		{name: "port", got: strings.Replace(recorded, "10911", "1", 1)},
		{name: "code", got: strings.Replace(recorded, `"code":0`, `"code":1`, 1), want: "code: want 0, got 1"},
		{name: "value", got: strings.Replace(recorded, `"A"`, `"B"`, 1), want: `extFields.id: want "A", got "B"`},
		{name: "volatile", got: strings.Replace(recorded, `"A"`, `"B"`, 1), volatile: []string{"extFields.*"}},
		{
			name: "volatile but absent", got: strings.Replace(recorded, `"id":"A",`, "", 1), volatile: []string{"extFields.id"},
			want: `extFields.id: want "A", got <absent>`,
		},
		{name: "order", got: strings.Replace(recorded, `\"a\",\"b\"`, `\"b\",\"a\"`, 1), want: `bodyJson.list.0: want "a", got "b"`},
		{name: "set", got: strings.Replace(recorded, `\"a\",\"b\"`, `\"b\",\"a\"`, 1), unordered: []string{"bodyJson.list"}},
		{name: "object key", got: strings.Replace(recorded, `\"q\":1`, `\"q\":2`, 1), want: `bodyJson.t.{"q":1}: want 5, got <absent>`},
	} {
		st := Step{Volatile: c.volatile, Unordered: c.unordered}
		var got map[string]any
		if decodeJSON([]byte(recorded), &st.Expect) != nil || decodeJSON([]byte(c.got), &got) != nil {
			t.Fatal("bad test data")
		}
		if d := list(st.Compare(got)); !strings.HasPrefix(d, c.want) || (d == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, d, c.want)
		}
	}
}

func TestLooseJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{0:"a",{"b":1,"a":2}:3}`: `{"0":"a","{\"a\":2,\"b\":1}":3}`,
		`[1, true ,null,"x"]`:     `[1,true,null,"x"]`,
		` {} `:                    `{}`,
	} {
		if v, err := looseJSON(in); err != nil || canonical(v) != want {
			t.Errorf("%s: %s, %v", in, canonical(v), err)
		}
	}
	for _, in := range []string{"", "{", "{1}", "[1", "[1,", "{} x", `{"a":`, "abc"} {
		if v, err := looseJSON(in); err == nil {
			t.Errorf("%q was read as %v", in, v)
		}
	}
}

func TestKnownList(t *testing.T) {
	k, err := readKnown(strings.NewReader("# note\n\na-1 one reason\n"))
	if err != nil || !reflect.DeepEqual(k, Known{"a-1": "one reason"}) {
		t.Errorf("%v, %v", k, err)
	}
	for _, bad := range []string{"a-1\n", "a-1 x\na-1 y\n"} {
		if _, err := readKnown(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if k, err := LoadKnown(filepath.Join(t.TempDir(), "none")); err != nil || len(k) != 0 {
		t.Errorf("missing file: %v, %v", k, err)
	}
}

// TestMessages reads a message that a Java broker stored and sent.
func TestMessages(t *testing.T) {
	b, err := os.ReadFile("testdata/message.bin")
	if err != nil {
		t.Fatal(err)
	}
	m := decodeMessages(append(b, b...))
	if len(m) != 2 {
		t.Fatalf("%d messages", len(m))
	}
	got, _ := json.Marshal(m[1])
	want, err := os.ReadFile("testdata/message.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != strings.TrimSpace(string(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for n := range len(b) {
		if decodeMessages(b[:n]) != nil && n > 0 {
			t.Errorf("%d of %d bytes were read as a message", n, len(b))
		}
	}
}

func TestBinaryHeader(t *testing.T) {
	h := []byte("\x00\x69\x09\x01\x97\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x02no\x00\x00\x00\x0c\x00\x01k\x00\x00\x00\x05value")
	b := append([]byte{1, 0, 0, byte(len(h))}, append(h, "body"...)...)
	f, err := parseFrame(b)
	if err != nil {
		t.Fatal(err)
	}
	if f.Code != 105 || f.Language != "GO" || f.Version != 407 || f.Opaque != 7 || f.Flag != 1 || *f.Remark != "no" ||
		f.ExtFields["k"] != "value" || string(f.Body) != "body" {
		t.Errorf("%+v", f)
	}
	for n := range 4 + len(h) {
		if _, err := parseFrame(b[:n]); err == nil {
			t.Errorf("%d bytes were accepted", n)
		}
	}
}
