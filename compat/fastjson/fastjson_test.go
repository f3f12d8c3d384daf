// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package fastjson

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

type color string

func (color) EnumNames() []string { return []string{"RED", "GREEN"} }

type tongue uint8

func (tongue) EnumNames() []string { return []string{"JAVA", "GO"} }

type opt struct {
	V   int64
	Set bool
}

type key struct {
	Topic string `fastjson:"topic"`
	ID    int32  `fastjson:"id"`
}

type node struct {
	key
	Name   string               `fastjson:"name"`
	On     bool                 `fastjson:"on"`
	F      float64              `fastjson:"f"`
	Small  int8                 `fastjson:"small"`
	Color  color                `fastjson:"color"`
	Tongue tongue               `fastjson:"tongue"`
	Opt    opt                  `fastjson:"opt"`
	Bytes  []byte               `fastjson:"bytes"`
	List   []string             `fastjson:"list,empty"`
	Set    []key                `fastjson:"set,set"`
	Next   *node                `fastjson:"next,v5"`
	Nodes  []node               `fastjson:"nodes"`
	ByInt  Map[int32, string]   `fastjson:"byInt,alt=byNumber"`
	ByKey  Map[key, int64]      `fastjson:"byKey"`
	ByName Map[string, *node]   `fastjson:"byName"`
	Deep   []Map[string, []key] `fastjson:"deep"`
}

func (n *node) SetDefaults() { n.Small = 6 }

func TestMarshal(t *testing.T) {
	n := node{key: key{"t", 1}, Name: "a", Color: "RED", Tongue: 1, Opt: opt{5, true}, Bytes: []byte{1, 2, 255}}
	n.Set = []key{{"s", 2}}
	n.ByInt.Set(3, "x")
	n.ByInt.Set(1, "")
	n.ByKey.Set(key{"k", 0}, 7)
	n.ByName.Set("one", &node{})
	n.ByName.Set("none", nil)
	want := `{"byInt":{3:"x",1:""},"byKey":{{"id":0,"topic":"k"}:7},"byName":{"one":{"f":0.0,"id":0,"list":[],"on":false,` +
		`"small":0,"tongue":"JAVA"}},"bytes":"AQL/","color":"RED","f":0.0,"id":1,"list":[],"name":"a","on":false,"opt":5,` +
		`"set":[{"id":2,"topic":"s"}],"small":0,"tongue":"GO","topic":"t"}`
	if got := string(Marshal(&n)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	var back node
	if err := Unmarshal(Marshal(n), &back); err != nil {
		t.Fatal(err)
	}
	if got := string(Marshal(back)); got != want {
		t.Errorf("second time:\n got %s\nwant %s", got, want)
	}
}

func TestStandard(t *testing.T) {
	var n struct {
		Text  string             `fastjson:"text"`
		ByInt Map[int64, string] `fastjson:"byInt"`
		ByStr Map[string, int32] `fastjson:"byStr"`
		ByKey Map[key, int32]    `fastjson:"byKey"`
	}
	n.Text = "a/b\x01\x7f中😀\"\\"
	for _, k := range []int64{10, 9, -1} {
		n.ByInt.Set(k, "v")
	}
	for _, k := range []string{"\uffff", "b", "😀", "a"} {
		n.ByStr.Set(k, 0)
	}
	n.ByKey.Set(key{"t", 1}, 2)
	want := `{"byInt":{"-1":"v","9":"v","10":"v"},"byKey":{"{\"id\":1,\"topic\":\"t\"}":2},` +
		`"byStr":{"a":0,"b":0,"\uD83D\uDE00":0,"\uFFFF":0},"text":"a\/b\u0001\u007F\u4E2D\uD83D\uDE00\"\\"}`
	got := string(Options{Standard: true}.Marshal(n))
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestOmit(t *testing.T) {
	n := node{Next: &node{}}
	if got := string(Options{Omit: "v5"}.Marshal(n)); strings.Contains(got, "next") {
		t.Error(got)
	}
	if got := string(Marshal(n)); !strings.Contains(got, "next") {
		t.Error(got)
	}
}

// As printed by fastjson 1.2.83.
func TestSpecialValues(t *testing.T) {
	for in, want := range map[string]string{
		"a/b": `"a/b"`, "<a&'>": `"<a&'>"`, "é中😀": `"é中😀"`,
		"\x00\x01\b\f\x1f\x7f\u0085\u00a0\u2028\u2029\ufeff": `"\u0000\u0001\b\f\u001F\u007F\u0085` + "\u00a0" + `\u2028\u2029` + "\ufeff" + `"`,
		"\v\t\r\n": `"\u000B\t\r\n"`,
	} {
		if got := string(Marshal(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(Marshal(f)); got != "null" {
			t.Errorf("%v: %s", f, got)
		}
	}
}

// testdata/doubles.txt was printed by Java: the bits of a double and its text.
func TestDoubles(t *testing.T) {
	f, err := os.Open("testdata/doubles.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		hex, want, _ := strings.Cut(in.Text(), " ")
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Marshal(math.Float64frombits(bits))); got != want {
			t.Errorf("%s: %s, want %s", hex, got, want)
		}
	}
	if n < 1000 {
		t.Errorf("%d numbers", n)
	}
}

func TestUnmarshal(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"smart names", `{"N_A-ME":"a","isOn":1,"ID":"7"}`, `"id":7,"name":"a","on":true`},
		{"alternative name", `{byNumber:{" 1 ":"x",2L:y}}`, `"byInt":{1:"x",2:"y"}`},
		{"syntax", "\ufeff /*c*/{'name':'it\\'s',// c\n\"list\":[,\"a\",,'b',],}", `"list":["a","b"],"name":"it's"`},
		{"escapes", `{"name":"\u0041\x42\/\v\0\ud83d\ude00\ud83d!"}`, `"name":"AB/\u000B\u0000😀?!"`},
		{"texts of other things", `{"name":5,"list":[true,1.50,null,{"a":[1]},[ ]]}`, `"list":["true","1.50","","{\"a\":[1]}","[ ]"],"name":"5"`},
		{"defaults stay", `{"small":null,"on":null,"f":""}`, ``},
		{"null clears", `{"name":"a","name":null,"list":["a"],"list":null,"next":{},"next":null,"opt":1,"opt":null}`, ``},
		{"the last wins", `{"list":["a"],"list":["b"],"byInt":{1:"a"},"byInt":{2:"b"}}`, `"byInt":{2:"b"},"list":["b"]`},
		{"sets", `{"set":[{"id":1},{"id":2},{"id":1,"topic":""}]}`, `"set":[{"id":1},{"id":2}]`},
		{"bytes", `{"bytes":[1,2,-1]}`, `"bytes":"AQL/"`},
		{"enums", `{"color":"gREEN","tongue":1}`, `"color":"GREEN","tongue":"GO"`},
		{"unknown enums", `{"color":"BLUE","tongue":"C"}`, ``},
		{"ordinals", `{"color":"1"}`, `"color":"GREEN"`},
		{"keys", `{"byKey":{{"id":1,"topic":"t"}:1,"{\"id\":2}":2,{}:3}}`, `"byKey":{{"id":1,"topic":"t"}:1,{"id":2}:2,{}:3}`},
		{"unknown fields", `{"x":{"y":[{{1:2}:3}]},"z":'',name:n}`, `"name":"n"`},
		{"missing nodes", `{"byName":{"a":null,"b":{}}}`, `"byName":{"b":{}}`},
		{"empty text for an object", `{"next":""}`, `"next":{}`},
		{
			"references", `{"nodes":[{"name":"a","set":[{"id":1}]},{"$ref":"$.nodes[0]"},{"set":{"$ref":"$.nodes[0].set"}}]}`,
			`"nodes":[{"name":"a","set":[{"id":1}]},{"name":"a","set":[{"id":1}]},{"set":[{"id":1}]}]`,
		},
		{
			"references forward and by key", `{"next":{"$ref":"$.byName.a\\-b"},"byName":{"a-b":{"name":"x"}}}`,
			`"byName":{"a-b":{"name":"x"}},"next":{"name":"x"}`,
		},
		{
			"reference to a reference", `{"nodes":[{"$ref":"$.nodes[1]"},{"$ref":"$.nodes[2]"},{"name":"a"}]}`,
			`"nodes":[{"name":"a"},{"name":"a"},{"name":"a"}]`,
		},
	} {
		var n node
		if err := Unmarshal([]byte(c.text), &n); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := terse(string(Marshal(n))); got != "{"+c.want+"}" {
			t.Errorf("%s:\n got %s\nwant {%s}", c.name, got, c.want)
		}
	}
}

// terse leaves out the fields of node and key that are at their default.
func terse(s string) string {
	s = regexp.MustCompile(`"(f":0\.0|list":\[\]|on":false|small":6|tongue":"JAVA"|id":0)`).ReplaceAllString(s, "")
	s = regexp.MustCompile(`,+`).ReplaceAllString(s, ",")
	return strings.NewReplacer("{,", "{", ",}", "}").Replace(s)
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		`{`, `{"name"`, `{"name":`, `{"name":"a`, `{"name":"a"`, `{"name":"\`, `{"name":"\u12`, `{"name":"\q"}`, `{"name":}`,
		`{"name" "a"}`, `{:1}`, `{[]:1}`, `{"a":1}}`, `{"a":1} x`, `{"id":1.5}`, `{"id":x}`, `{"id":2147483648}`, `{"small":128}`,
		`{"opt":9223372036854775808}`, `{"on":"maybe"}`, `{"f":"inf"}`, `{"list":{}}`, `{"list":5}`, `{"next":[1]}`, `{"next":5}`,
		`{"byInt":[]}`, `{"byInt":{x:1}}`, `{"byKey":{1:1}}`, `{"byKey":{"x":1}}`, `{"byKey":{"{":1}}`, `{"bytes":5}`, `{"bytes":"="}`,
		`{"bytes":[300]}`, `/`, `{/*}`, `{"color":{}}`, `{"x":]}`, `x`, `5`, `@`,
		`{"next":{"$ref":"$"}}`, `{"next":{"$ref":".."}}`, `{"next":{"$ref":"$.none"}}`, `{"next":{"$ref":5}}`, `{"next":{"$ref":"$.next"}}`,
		`{"next":{"$ref":"$.nodes[0]"},"nodes":[{"$ref":"$.next"}]}`, `{"set":{"$ref":"$.set"}}`, `{"next":{"$ref":"$x"}}`, `{"next":{"$ref":"$."}}`,
	} {
		var n node
		if err := Unmarshal([]byte(text), &n); err == nil || errors.Is(err, ErrNull) {
			t.Errorf("%s: %v, read as %s", text, err, Marshal(n))
		}
	}
	for _, text := range []string{"", " ", "null", "[]", "/* */"} {
		var n node
		if err := Unmarshal([]byte(text), &n); !errors.Is(err, ErrNull) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var s *SyntaxError
	err := Unmarshal([]byte(`{"nodes":[{"id":"x"}]}`), new(node))
	if !errors.As(err, &s) || s.Field != "id" || s.Offset != 16 {
		t.Errorf("%#v", err)
	}
	for _, v := range []any{nil, node{}, (*node)(nil)} {
		if err := Unmarshal([]byte("{}"), v); err == nil {
			t.Errorf("decoded into %T", v)
		}
	}
}

// Small texts must not make us recurse deeply or take much memory.
func TestBounds(t *testing.T) {
	var laughs strings.Builder // each list has the one before ten times
	laughs.WriteString(`{"nodes":[{"name":"ha"}`)
	for i := range 12 {
		fmt.Fprintf(&laughs, `,{"nodes":[%s]}`, strings.Repeat(fmt.Sprintf(`{"$ref":"$.nodes[%d]"},`, i), 10))
	}
	laughs.WriteString("]}")
	for name, text := range map[string]string{
		"nested objects":         strings.Repeat(`{"next":`, 1e5),
		"nested unknown objects": strings.Repeat(`{"x":`, 1e5),
		"nested lists":           `{"x":` + strings.Repeat(`[`, 1e5),
		"nested keys":            `{"byKey":` + strings.Repeat(`{`, 1e5),
		"keys within keys":       `{"x":` + strings.Repeat(`{{}:`, 1e5),
		"empty objects":          `{"nodes":[` + strings.Repeat(`{},`, 1e6) + `]}`,
		"references":             laughs.String(),
	} {
		var n node
		if err := Unmarshal([]byte(text), &n); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestPretty(t *testing.T) {
	var n struct {
		A    Map[string, Map[int32, int64]] `fastjson:"a"`
		None Map[string, string]            `fastjson:"none,empty"`
		Set  []int32                        `fastjson:"set,set"`
		List []key                          `fastjson:"list"`
		Sets Map[string, []string]          `fastjson:"sets,set"`
	}
	offsets := MapOf[int32, int64](2)
	offsets.Set(0, 10)
	offsets.Set(1, 11)
	n.A.Set("t@g", offsets)
	n.Set = []int32{31, 74}
	n.List = []key{{"t", 1}, {"u", 2}}
	n.Sets.Set("g", []string{"a", "b"})
	want := `{
	"a":{
		"t@g":{0:10,1:11
		}
	},
	"list":[
		{
			"id":1,
			"topic":"t"
		},
		{
			"id":2,
			"topic":"u"
		}
	],
	"none":{},
	"set":[31,74],
	"sets":{
		"g":["a","b"]
	}
}`
	if got := string(Options{Pretty: true}.Marshal(n)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func BenchmarkMarshal(b *testing.B) {
	n := sampleNode()
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = Options{}.Append(buf[:0], n)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkUnmarshal(b *testing.B) {
	text := Marshal(sampleNode())
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var n node
		if err := Unmarshal(text, &n); err != nil {
			b.Fatal(err)
		}
	}
}

// sampleNode is about the size of a heartbeat.
func sampleNode() *node {
	n := &node{Name: "127.0.0.1@DEFAULT"}
	for i := range int32(10) {
		n.Nodes = append(n.Nodes, node{Name: "group", Color: "RED", Set: []key{{"topic", i}, {"%RETRY%group", i}}})
	}
	return n
}
