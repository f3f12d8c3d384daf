// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// rawFrame puts a header of either type into a frame without checking it.
func rawFrame(t SerializeType, header string, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(t)<<24|uint32(len(header)))
	return append(append(b, header...), body...)
}

// What Java 4.9.7 and 5.3.3 read, found by running their decoders.
func TestDecodeJSONLikeFastjson(t *testing.T) {
	ext := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		name, header string
		want         Command
		ext          map[string]string
	}{
		{"empty object", `{}`, Command{}, nil},
		{"unknown fields", `{"x":{"y":[1,{"z":"a\"}"}],"e":[]},"code":105,"n":null,"f":-1.5e3,"opaque":3}`, Command{Code: 105, Opaque: 3}, nil},
		{"quoted numbers", `{"code":"105","opaque":"3","flag":"1"}`, Command{Code: 105, Opaque: 3, Flag: 1}, nil},
		{"negative", `{"code":-5,"opaque":-2147483648}`, Command{Code: -5, Opaque: -2147483648}, nil},
		{"language", `{"language":"GO"}`, Command{Language: LanguageGo}, nil},
		{"language NODE_JS", `{"language":"NODE_JS"}`, Command{Language: LanguageNodeJS}, nil},
		{"language unknown", `{"language":"ZIG"}`, Command{Language: LanguageOther}, nil},
		{"language number", `{"language":9}`, Command{Language: LanguageGo}, nil},
		{"language null", `{"language":null}`, Command{Language: LanguageOther}, nil},
		{"ext number bool null", `{"extFields":{"queueId":5,"b":true,"n":null,"f":1.50}}`, Command{}, ext("queueId", "5", "b", "true", "f", "1.50")},
		{"ext object", `{"extFields":{"queueId":{"x":1},"a":[1,2]}}`, Command{}, ext("queueId", `{"x":1}`, "a", "[1,2]")},
		{"ext twice", `{"extFields":{"a":"1","a":"2","b":"1","b":null}}`, Command{}, ext("a", "2")},
		{"ext null", `{"extFields":null,"code":1}`, Command{Code: 1}, nil},
		{"ext empty", `{"extFields":{}}`, Command{}, ext()},
		{"case and underscore", `{"CODE":105,"Op-aque":3,"ext_fields":{"a":"b"}}`, Command{Code: 105, Opaque: 3}, ext("a", "b")},
		{"white space", " \t\r\n{ \"code\" :\f 105 , \"extFields\" : { \"a\" : \"b\" , } , } \n", Command{Code: 105}, ext("a", "b")},
		{"comments", `{/* a */"code":1,// b` + "\n" + `"flag":2}`, Command{Code: 1, Flag: 2}, nil},
		{"single quotes", `{'code':105,'extFields':{'a':'it\'s "b"'}}`, Command{Code: 105}, ext("a", `it's "b"`)},
		{"unquoted names", `{code:105,extFields:{a_1:"b",中:1}}`, Command{Code: 105}, ext("a_1", "b", "中", "1")},
		{"serialize type ignored", `{"code":1,"serializeTypeCurrentRPC":"ROCKETMQ"}`, Command{Code: 1}, nil},
		{"float", `{"code":1.5,"version":"479"}`, Command{Code: 1, Version: 479}, nil},
		{"remark", `{"remark":"\u4e2d\/x\u0041\t"}`, Command{Remark: Some("中/xA\t")}, nil},
		{"remark empty", `{"remark":""}`, Command{Remark: Some("")}, nil},
		{"remark null", `{"remark":null}`, Command{}, nil},
		{"surrogates", `{"remark":"\ud83d\ude00\ud83dx\udc00"}`, Command{Remark: Some("😀?x?")}, nil},
		{"odd escapes", `{"remark":"\0\7\v\F\x41"}`, Command{Remark: Some("\x00\x07\v\fA")}, nil},
		{"raw controls", "{\"remark\":\"a\x01b\nc\"}", Command{Remark: Some("a\x01b\nc")}, nil},
		{"bad UTF-8", "{\"remark\":\"a\xffb\"}", Command{Remark: Some("a\uFFFDb")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Command
			if err := c.Decode(rawFrame(JSON, tt.header)); err != nil {
				t.Fatal(err)
			}
			if c.Code != tt.want.Code || c.Language != tt.want.Language || c.Version != tt.want.Version ||
				c.Opaque != tt.want.Opaque || c.Flag != tt.want.Flag || c.Remark != tt.want.Remark {
				t.Errorf("got %+v, want %+v", c, tt.want)
			}
			if c.Fields.Present != (tt.ext != nil) || !maps.Equal(fieldMap(&c.Fields), tt.ext) {
				t.Errorf("extFields %+v, want %v", c.Fields, tt.ext)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	tests := []struct {
		name  string
		frame []byte
		kind  FrameErrorKind
	}{
		{"six bytes", []byte{0, 0, 0, 2, 0, 0}, BadLength},
		{"length word only", []byte{0, 0, 0, 0}, BadLength},
		{"header length beyond frame", []byte{0, 0, 0, 6, 0, 0, 0, 3, '{', '}'}, BadHeaderLength},
		{"type 2", rawFrame(2, `{"code":1}`), BadSerializeType},
		{"type -1", rawFrame(255, `{"code":1}`), BadSerializeType},
		{"empty header", rawFrame(JSON, ""), BadJSONHeader},
		{"null", rawFrame(JSON, "null"), BadJSONHeader},
		{"no JSON", rawFrame(JSON, "hello"), BadJSONHeader},
		{"array", rawFrame(JSON, "[]"), BadJSONHeader},
		{"cut", rawFrame(JSON, `{"code":`), BadJSONHeader},
		{"cut string", rawFrame(JSON, `{"remark":"abc`), BadJSONHeader},
		{"cut escape", rawFrame(JSON, `{"remark":"abc\`), BadJSONHeader},
		{"cut unicode", rawFrame(JSON, `{"remark":"\u00`), BadJSONHeader},
		{"bad escape", rawFrame(JSON, `{"remark":"\q"}`), BadJSONHeader},
		{"trailing", rawFrame(JSON, `{"code":1}x`), BadJSONHeader},
		{"big opaque", rawFrame(JSON, `{"opaque":4294967295}`), BadJSONHeader},
		{"word as number", rawFrame(JSON, `{"code":"abc"}`), BadJSONHeader},
		{"object as number", rawFrame(JSON, `{"code":{}}`), BadJSONHeader},
		{"language 99", rawFrame(JSON, `{"language":99}`), BadJSONHeader},
		{"language 14", rawFrame(JSON, `{"language":14}`), BadJSONHeader},
		{"extFields a string", rawFrame(JSON, `{"extFields":"x"}`), BadJSONHeader},
		{"no colon", rawFrame(JSON, `{"code" 1}`), BadJSONHeader},
		{"no comma", rawFrame(JSON, `{"code":1 "flag":2}`), BadJSONHeader},
		{"nested deeply", rawFrame(JSON, `{"x":`+deep), BadJSONHeader},
		{"objects nested deeply", rawFrame(JSON, strings.Repeat(`{"x":`, 100_000)), BadJSONHeader},
		{"1,025 extFields", rawFrame(JSON, manyFields(maxFields+1)), BadJSONHeader},
		{"a million extFields, taken back", rawFrame(JSON, `{"extFields":{`+strings.Repeat(`"a":"1",`, 500_000)+strings.Repeat(`"a":null,`, 500_000)+`}}`), BadJSONHeader},
		{"1,025 binary extFields", rawFrame(Binary, binaryFields(maxFields+1)), BadBinaryHeader},
		{"binary too short", rawFrame(Binary, strings.Repeat("\x00", 20)), BadBinaryHeader},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Command
			err := c.Decode(tt.frame)
			var fe *FrameError
			if !errors.As(err, &fe) || fe.Kind != tt.kind {
				t.Errorf("error %v, want kind %q", err, tt.kind)
			}
		})
	}
}

func manyFields(n int) string {
	return `{"extFields":{` + strings.Repeat(`"a":"1",`, n) + `}}`
}

func binaryFields(n int) string {
	const entry = "\x00\x01a\x00\x00\x00\x011"
	return strings.Repeat("\x00", 17) + string(binary.BigEndian.AppendUint32(nil, uint32(n*len(entry)))) + strings.Repeat(entry, n)
}

func TestDecodeMostFields(t *testing.T) {
	for name, frame := range map[string][]byte{
		"JSON": rawFrame(JSON, manyFields(maxFields)), "binary": rawFrame(Binary, binaryFields(maxFields)),
	} {
		var c Command
		if err := c.Decode(frame); err != nil || len(c.Fields.List) != maxFields {
			t.Errorf("%s: %d fields, %v", name, len(c.Fields.List), err)
		}
	}
}

// U002: lengths that claim more than there is are refused, and nothing of the claimed size is allocated.
func TestDecodeBinaryLyingLengths(t *testing.T) {
	c := Command{Code: 105, Serialize: Binary, Remark: Some("remark")}
	c.Fields.Add("topic", "TopicTest")
	good, err := AppendFrame(nil, &c)
	if err != nil {
		t.Fatal(err)
	}
	const remark = prefixSize + 13
	ext := remark + 4 + len("remark")
	key := ext + 4
	value := key + 2 + len("topic")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2500 {
		for _, at := range []int{remark, ext, value} {
			left := len(good) - at - 4
			for _, n := range []int{-1, 0x7FFFFFFF, left + 1} {
				bad := bytes.Clone(good)
				binary.BigEndian.PutUint32(bad[at:], uint32(n))
				if err := c.Decode(bad); err == nil {
					t.Fatalf("length %d at %d was taken", n, at)
				}
			}
		}
		for _, n := range []int{-1, 0x7FFF, len(good) - key - 2 + 1} {
			bad := bytes.Clone(good)
			binary.BigEndian.PutUint16(bad[key:], uint16(n))
			if err := c.Decode(bad); err == nil {
				t.Fatalf("key length %d was taken", n)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 20<<20 {
		t.Errorf("%d bytes allocated", grown)
	}
}

func TestDecodeBinary(t *testing.T) {
	read := func(s string) *Command {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		c := &Command{}
		if err := c.Decode(b); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := read("0000002d 01000029 0069 00 0197 00000007 00000000 00000000 00000014 0005 746f706963 00000009 546f70696354657374")
	if v, _ := c.Fields.Get("topic"); c.Code != 105 || c.Version != 407 || c.Opaque != 7 || v != "TopicTest" || c.Body != nil {
		t.Errorf("%+v", c)
	}
	c = read("00000019 01000015 0022 0d 0197 00000008 00000002 00000000 00000000")
	if c.Code != 34 || !c.IsOneway() || c.Fields.Present || c.Remark.Set || c.Language != LanguageNodeJS {
		t.Errorf("%+v", c)
	}
	// Unknown languages are served; empty values and keys are null; a body may follow.
	c = read("00000028 01000022 0069 c8 0197 00000005 00000000 00000000 0000000d 0001 6b 00000000 0000 00000000 6869")
	if c.Language != LanguageOther || !c.Fields.Present || len(c.Fields.List) != 0 || string(c.Body) != "hi" {
		t.Errorf("%+v", c)
	}
}

// U008: the key length of a binary header is a signed 16-bit number.
func TestBinaryLimits(t *testing.T) {
	c := Command{Serialize: Binary}
	c.Fields.Add(strings.Repeat("k", 32767), "v")
	b, err := AppendFrame(nil, &c)
	if err != nil {
		t.Fatal(err)
	}
	var d Command
	if err := d.Decode(b); err != nil || len(d.Fields.List) != 1 || len(d.Fields.List[0].Key) != 32767 {
		t.Error("a key of 32,767 bytes does not come back:", err)
	}
	c.Fields.List[0].Key += "k"
	if b, err := AppendFrame([]byte("x"), &c); err == nil || string(b) != "x" {
		t.Error("a key of 32,768 bytes was encoded")
	}
	c = Command{Code: ReqPopMessage, Serialize: Binary}
	if _, err := AppendFrame(nil, &c); err == nil {
		t.Error("a code above 32,767 was encoded")
	}
	c = Command{Body: make([]byte, MaxFrame)}
	if _, err := AppendFrame(nil, &c); err == nil {
		t.Error("a frame above the limit was encoded")
	}
}

// Whole frames as the classes of 5.3.3 wrote them.
func TestEncodeLikeJava(t *testing.T) {
	send := &SendMessageRequestHeaderV2{
		A: Some("pg"), B: Some("TopicTest"), C: Some("TBW102"), D: Some[int32](4), E: Some[int32](1), F: Some[int32](0),
		G: Some[int64](1700000000000), H: Some[int32](0), I: Some("KEYS\x01k1\x02TAGS\x01A\x02"), J: Some[int32](0), K: Some(false),
	}
	topic := &GetRouteInfoRequestHeader{Topic: Some("TopicTest")}
	e := Encoder{Version: 479}
	request := func(code, opaque, flag int32, st SerializeType, h Header, body string) func() ([]byte, error) {
		return func() ([]byte, error) { return e.AppendRequest(nil, code, opaque, flag, st, h, []byte(body)) }
	}
	response := func(r Response) func() ([]byte, error) {
		return func() ([]byte, error) { return e.AppendResponse(nil, 9, JSON, &r) }
	}
	tests := []struct {
		name   string
		encode func() ([]byte, error)
		want   string
	}{
		{"105 JSON", request(105, 7, 0, JSON, topic, ""), "00000087000000837b22636f6465223a3130352c226578744669656c6473223a7b22746f706963223a22546f70696354657374227d2c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a372c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d"},
		{"105 ROCKETMQ", request(105, 7, 0, Binary, topic, ""), "0000002d0100002900690001df000000070000000000000000000000140005746f70696300000009546f70696354657374"},
		{"34 no header", request(34, 8, 0, JSON, nil, "{}"), "00000066000000607b22636f6465223a33342c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a382c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d7b7d"},
		{"34 oneway ROCKETMQ", request(34, 8, FlagOneway, Binary, nil, ""), "000000190100001500220001df00000008000000020000000000000000"},
		{"odd remark", response(Response{Code: 1, Remark: Some("err 中 \"q\" \\ / \t\n <b> \u2028 \u007f 😀")}), "0000009d000000997b22636f6465223a312c22666c6167223a312c226c616e6775616765223a224a415641222c226f7061717565223a392c2272656d61726b223a2265727220e4b8ad205c22715c22205c5c202f205c745c6e203c623e205c7532303238205c753030374620f09f9880222c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d"},
		{"empty extFields", response(Response{Header: &ViewMessageResponseHeader{}}), "000000720000006e7b22636f6465223a302c226578744669656c6473223a7b7d2c22666c6167223a312c226c616e6775616765223a224a415641222c226f7061717565223a392c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d"},
		{"empty remark", response(Response{Remark: Some("")}), "0000006f0000006b7b22636f6465223a302c22666c6167223a312c226c616e6775616765223a224a415641222c226f7061717565223a392c2272656d61726b223a22222c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d"},
		{"200050", request(200050, 10, 0, JSON, nil, ""), "00000069000000657b22636f6465223a3230303035302c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a31302c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d"},
		{"310 JSON", request(310, 11, 0, JSON, send, "hi"), "0000010e000001087b22636f6465223a3331302c226578744669656c6473223a7b2261223a227067222c2262223a22546f70696354657374222c2263223a22544257313032222c2264223a2234222c2265223a2231222c2266223a2230222c2267223a2231373030303030303030303030222c2268223a2230222c2269223a224b4559535c75303030316b315c7530303032544147535c7530303031415c7530303032222c226a223a2230222c226b223a2266616c7365227d2c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a31312c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a3437397d6869"},
		{"310 ROCKETMQ", request(310, 11, 0, Binary, send, ""), "0000009d0100009901360001df0000000b00000000000000000000008400016100000002706700016200000009546f70696354657374000163000000065442573130320001640000000134000165000000013100016600000001300001670000000d3137303030303030303030303000016800000001300001690000000f4b455953016b31025441475301410200016a000000013000016b0000000566616c7365"},
	}
	for _, tt := range tests {
		b, err := tt.encode()
		if want, _ := hex.DecodeString(tt.want); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v\n got %q\nwant %q", tt.name, err, b, want)
		}
	}
}

func TestFrameSize(t *testing.T) {
	tests := []struct {
		start []byte
		size  int
		bad   bool
	}{
		{[]byte{0, 0, 0}, 0, false},
		{[]byte{0, 0, 0, 4}, 8, false},
		{[]byte{0, 0, 0, 3}, 0, true},
		{[]byte{0, 0, 0, 0}, 0, true},
		{[]byte{0xFF, 0xFF, 0xFF, 0xFF}, 0, true},
		{[]byte{0x00, 0xFF, 0xFF, 0xFC}, MaxFrame, false},
		{[]byte{0x00, 0xFF, 0xFF, 0xFD}, 0, true},
		{[]byte("GET / HTTP/1.1"), 0, true},
	}
	for _, tt := range tests {
		n, err := FrameSize(tt.start, MaxFrame)
		if n != tt.size || (err != nil) != tt.bad {
			t.Errorf("%x: %d, %v", tt.start, n, err)
		}
	}
}

// The strings of a decoded command live in the frame; a clone does not.
func TestViewsAndClone(t *testing.T) {
	c := Command{Code: 105, Remark: Some("remark"), Body: []byte("body")}
	c.Fields.Add("topic", "TopicTest")
	for _, st := range []SerializeType{JSON, Binary} {
		c.Serialize = st
		frame, err := AppendFrame(nil, &c)
		if err != nil {
			t.Fatal(err)
		}
		var d Command
		if err := d.Decode(frame); err != nil {
			t.Fatal(err)
		}
		var h GetRouteInfoRequestHeader
		if err := h.ParseFields(&d.Fields); err != nil {
			t.Fatal(err)
		}
		own, kept := d.Clone(), h.Clone()
		for i := range frame {
			frame[i] = 'X'
		}
		if v, _ := own.Fields.Get("topic"); v != "TopicTest" || own.Remark.V != "remark" || string(own.Body) != "body" || kept.Topic.V != "TopicTest" {
			t.Errorf("the clones changed: %+v %+v", own, kept)
		}
		if h.Topic.V == "TopicTest" || d.Remark.V == "remark" {
			t.Error("the decoder copied strings")
		}
	}
}

func TestHeaderDefaultsAndBadNumbers(t *testing.T) {
	var none Fields
	var max GetMaxOffsetRequestHeader
	if err := max.ParseFields(&none); err != nil || !max.Committed || max.QueueID.Set {
		t.Errorf("%+v %v", max, err)
	}
	bad := Fields{Present: true, List: []Field{{"topic", "t"}, {"queueId", "abc"}, {"committed", "FALSE"}}}
	if err := max.ParseFields(&bad); err != nil || max.Topic.V != "t" || max.QueueID.Set || max.Committed {
		t.Errorf("%+v %v", max, err)
	}
	// Headers that Java decodes by hand refuse.
	bad = Fields{Present: true, List: []Field{{"b", "t"}, {"d", "abc"}}}
	err := new(SendMessageRequestHeaderV2).ParseFields(&bad)
	var e *Error
	if !errors.As(err, &e) || e.Code != RespSystemError || e.Remark != `java.lang.NumberFormatException: For input string: "abc"` {
		t.Error(err)
	}
	if err := new(PullMessageRequestHeader).ParseFields(&Fields{List: []Field{{"queueId", "99999999999"}}}); err == nil {
		t.Error("a number beyond int was taken")
	}
	reset := NewResetOffsetRequestHeader()
	if reset.QueueID != -1 {
		t.Error("the default of queueId is -1")
	}
}

// Every header survives a round trip, and its fields have no duplicates.
func TestAllHeaders(t *testing.T) {
	for code := range int32(300_000) {
		for _, h := range []Header{NewRequestHeader(code), NewResponseHeader(code)} {
			if h == nil {
				continue
			}
			var f, again Fields
			h.AppendFields(&f)
			if err := h.ParseFields(&f); err != nil {
				t.Errorf("%d: %v", code, err)
			}
			h.AppendFields(&again)
			if !slices.Equal(f.List, again.List) {
				t.Errorf("%d: %v became %v", code, f.List, again.List)
			}
			if RequestName(code) == "" {
				t.Errorf("%d has no name", code)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(rawFrame(JSON, `{"code":105,"extFields":{"a":"b\u0001","n":null},"remark":'x'}`, 1, 2))
	f.Add(rawFrame(JSON, `{code:"1",x:[{},[1.5e3,true]],/**/language:9}`))
	c := Command{Code: 310, Serialize: Binary, Remark: Some("r"), Body: []byte("b")}
	c.Fields.Add("k", "v")
	b, _ := AppendFrame(nil, &c)
	f.Add(b)
	f.Fuzz(func(t *testing.T, frame []byte) {
		if n, err := FrameSize(frame, MaxFrame); err == nil && n > MaxFrame {
			t.Fatal(n)
		}
		var c, d Command
		if c.Decode(bytes.Clone(frame)) != nil {
			return
		}
		for _, code := range []int32{c.Code, ReqSendMessageV2, ReqPullMessage} {
			if h := NewRequestHeader(code); h != nil {
				if h.ParseFields(&c.Fields) == nil {
					var e Encoder
					if _, err := e.AppendRequest(nil, 1, 1, 0, c.Serialize, h, nil); err != nil && c.Serialize == JSON {
						t.Fatal(err)
					}
				}
			}
		}
		b, err := AppendFrame(nil, &c)
		if err != nil {
			return
		}
		if err := d.Decode(bytes.Clone(b)); err != nil {
			t.Fatalf("%v: what was decoded from %q is encoded as %q", err, frame, b)
		}
		if c.Serialize == Binary {
			// Empty values and keys of a binary header are null, so only the frames can be compared.
			return
		}
		if c.Code != d.Code || c.Flag != d.Flag || c.Opaque != d.Opaque || c.Version != d.Version || c.Language != d.Language ||
			c.Remark != d.Remark || c.Fields.Present != d.Fields.Present || !maps.Equal(fieldMap(&c.Fields), fieldMap(&d.Fields)) || !bytes.Equal(c.Body, d.Body) {
			t.Fatalf("%+v became %+v", c, d)
		}
	})
}

func BenchmarkDecodeJSONSend(b *testing.B) {
	e := Encoder{Version: 479}
	h := &SendMessageRequestHeaderV2{
		A: Some("producerGroup"), B: Some("TopicTest"), C: Some("TBW102"), D: Some[int32](4), E: Some[int32](1), F: Some[int32](0),
		G: Some[int64](1700000000000), H: Some[int32](0), I: Some("UNIQ_KEY\x01C00002026C970000000094d0c9580001\x02WAIT\x01true\x02"),
		J: Some[int32](0), K: Some(false), M: Some(false), N: Some("broker-a"),
	}
	benchDecode(b, func(st SerializeType) ([]byte, error) {
		return e.AppendRequest(nil, ReqSendMessageV2, 1, 0, st, h, make([]byte, 1024))
	}, func() Header { return new(SendMessageRequestHeaderV2) })
}

func BenchmarkDecodeJSONPull(b *testing.B) {
	e := Encoder{Version: 479}
	h := &PullMessageRequestHeader{
		ConsumerGroup: Some("consumerGroup"), Topic: Some("TopicTest"), QueueID: Some[int32](1), QueueOffset: Some[int64](123456),
		MaxMsgNums: Some[int32](32), SysFlag: Some[int32](2), CommitOffset: Some[int64](0), SuspendTimeoutMillis: Some[int64](15000),
		SubVersion: Some[int64](1700000000000), ExpressionType: Some("TAG"),
	}
	benchDecode(b, func(st SerializeType) ([]byte, error) {
		return e.AppendRequest(nil, ReqPullMessage, 1, 0, st, h, nil)
	}, func() Header { return new(PullMessageRequestHeader) })
}

func benchDecode(b *testing.B, encode func(SerializeType) ([]byte, error), header func() Header) {
	for st, name := range []string{"json", "binary"} {
		b.Run(name, func(b *testing.B) {
			frame, err := encode(SerializeType(st))
			if err != nil {
				b.Fatal(err)
			}
			var c Command
			h := header()
			buf := make([]byte, len(frame))
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				copy(buf, frame)
				if err := c.Decode(buf); err != nil {
					b.Fatal(err)
				}
				if err := h.ParseFields(&c.Fields); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeSendResponse(b *testing.B) {
	h := &SendMessageResponseHeader{
		MsgID: Some("7F000002000052130000000000000BB4"), QueueID: Some[int32](3), QueueOffset: Some[int64](123456789),
		TransactionID: Some("C00002026C970000000094d0c9580001"),
	}
	r := &Response{Header: h, Extra: []Field{{"MSG_REGION", "DefaultRegion"}, {"TRACE_ON", "true"}}}
	benchEncode(b, r)
}

func BenchmarkEncodePullResponse(b *testing.B) {
	h := &PullMessageResponseHeader{
		SuggestWhichBrokerID: Some[int64](0), NextBeginOffset: Some[int64](1234567), MinOffset: Some[int64](0), MaxOffset: Some[int64](2345678),
		TopicSysFlag: Some[int32](0), GroupSysFlag: Some[int32](0),
	}
	benchEncode(b, &Response{Remark: Some("FOUND"), Header: h, Body: make([]byte, 32<<10)})
}

func benchEncode(b *testing.B, r *Response) {
	e := Encoder{Version: 479}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = e.AppendResponse(buf[:0], 12345, JSON, r); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}
