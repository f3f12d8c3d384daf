// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting/protocol"
)

// compressed bodies in the form of 4.9 and of 5.x, as a client sent them to real name servers that took them.
const (
	body497 = "789c63606050af564ace2fcd2b492d52b232d6512ac9cc4d2d2e49cc2d50b23234378003e35a0606062620160e71543001423385604f3f771fd7f8104777b070143661a6e858009e791625"
	body533 = "789c636060b0a8564ace2fcd2b492d52b232d6512a2e492c490d4b2d2acecccf53b232d0512ac9cc4d050ae6162859199a1bc081712d03030313100b87382a9800a19942b0a79fbb8f6b7c88a33b58380a9b3053742c906400007de01c17"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deflate makes a compressed body of parts, each a string (with its length before it) or a number.
func deflate(parts ...any) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			binary.Write(z, binary.BigEndian, int32(p))
		case string:
			binary.Write(z, binary.BigEndian, int32(len(p)))
			z.Write([]byte(p))
		}
	}
	z.Close()
	return b.Bytes()
}

const (
	version  = `{"counter":3,"stateVersion":1,"timestamp":1700000000003}`
	mapping  = `{"bname":"b1","currIdMap":{0:0},"dirty":false,"epoch":5,"scope":"__global__","topic":"ST","totalQueues":1}`
	jsonBody = `{"filterServerList":["f:1"],"topicConfigSerializeWrapper":{"dataVersion":` + version + `,
"topicConfigTable":{"T":{"attributes":{"+a":"b"},"order":true,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":2,"writeQueueNums":8}},
"topicQueueMappingInfoMap":{"ST":` + mapping + `}}}`
)

var dataVersion = route.DataVersion{StateVersion: 1, Timestamp: 1700000000003, Counter: 3}

func TestJSON(t *testing.T) {
	b, err := Decode([]byte(jsonBody), 479, false)
	if err != nil {
		t.Fatal(err)
	}
	if b.Version != dataVersion || !reflect.DeepEqual(b.Filters, []string{"f:1"}) ||
		!reflect.DeepEqual(b.Topics, []route.TopicQueues{{Name: "T", Queues: route.Queues{Read: 4, Write: 8, Perm: 6, SysFlag: 2}}}) {
		t.Errorf("%+v", b)
	}
	if len(b.Mappings) != 1 || b.Mappings[0].Topic != "ST" || b.Mappings[0].Epoch != 5 || b.Mappings[0].CurrIdMap.Len() != 1 {
		t.Errorf("mappings %+v", b.Mappings)
	}
}

func TestMissingParts(t *testing.T) {
	for _, c := range []struct {
		body    string
		version int32
		filters []string
	}{
		{"", 479, []string{}},
		{"{}", 479, []string{}},
		{`{"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"timestamp":2}}}`, 407, []string{}},
		{`{"topicConfigSerializeWrapper":null,"filterServerList":null}`, 407, []string{}},
		{`{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":null},"topicQueueMappingInfoMap":{"T":null}}}`, 479, []string{}},
		{`{"dataVersion":{"counter":1,"timestamp":2}}`, 36, nil}, // before V3_0_11: the table alone, filters as they are
	} {
		b, err := Decode([]byte(c.body), c.version, false)
		if err != nil || len(b.Topics) != 0 || len(b.Mappings) != 0 || !reflect.DeepEqual(b.Filters, c.filters) {
			t.Errorf("%s: %+v, %v", c.body, b, err)
		}
	}
	b, err := Decode([]byte(`{"topicConfigTable":{"T":{"topicName":"T","perm":6}}}`), 36, false)
	if err != nil || len(b.Topics) != 1 || b.Topics[0].Perm != 6 {
		t.Errorf("%+v, %v", b, err)
	}
}

// U016: the compressed body of 4.9 has no queue mappings.
func TestCompressed(t *testing.T) {
	want := []route.TopicQueues{
		{Name: "TA", Queues: route.Queues{Read: 4, Write: 4, Perm: 6}},
		{Name: "TZ", Queues: route.Queues{Read: 4, Write: 4, Perm: 6}},
	}
	for _, c := range []struct {
		name       string
		body       []byte
		version    int32
		compressed bool
		mappings   int
	}{
		{"4.9", unhex(t, body497), 407, true, 0},
		{"4.9 that says 5.x", unhex(t, body497), 477, true, 0},
		{"5.x", unhex(t, body533), 477, true, 0},
		{"5.x that says no", unhex(t, body533), 479, false, 0},
		{"mappings", deflate(version, 2, "TA 4 4 6 SINGLE_TAG", `TZ 4 4 6 SINGLE_TAG {"a":"x y"}`, `[]`, 1, mapping), 413, true, 1},
		{"mappings that 4.9 does not see", deflate(version, 2, "TA 4 4 6 SINGLE_TAG", "TZ 4 4 6 SINGLE_TAG", `[]`, 1, mapping), 412, true, 0},
	} {
		b, err := Decode(c.body, c.version, c.compressed)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(b.Topics, want) && !reflect.DeepEqual(b.Topics, want[1:]) {
			t.Errorf("%s: topics %+v", c.name, b.Topics)
		}
		if b.Version.Counter != 3 || len(b.Filters) != 0 || b.Filters == nil || len(b.Mappings) != c.mappings {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
	b, err := Decode(deflate(version, 0, `["f:1","f:2"]`, 0), 479, true)
	if err != nil || !reflect.DeepEqual(b.Filters, []string{"f:1", "f:2"}) || b.Version != dataVersion {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestMalformed(t *testing.T) {
	whole := deflate(version, 1, "T 4 4 6 SINGLE_TAG", "[]", 0)
	for name, body := range map[string][]byte{
		"json":            []byte(`{"topicConfigSerializeWrapper":`),
		"no zlib":         []byte("hello"),
		"broken zlib":     append([]byte{0x78, 0x9c}, "hello"...),
		"cut zlib":        whole[:len(whole)-6],
		"nothing inside":  deflate(),
		"negative length": deflate(-1),
		"long length":     deflate(version, 1, 0x7fffffff),
		"negative count":  deflate(version, -5),
		"long count":      deflate(version, 0x7fffffff),
		"four parts":      deflate(version, 1, "T 4 4 6", "[]", 0),
		"no name":         deflate(version, 1, " 4 4 6 SINGLE_TAG", "[]", 0),
		"no number":       deflate(version, 1, "T four 4 6 SINGLE_TAG", "[]", 0),
		"filters":         deflate(version, 0, "[", 0),
		"mapping":         deflate(version, 0, "[]", 1, "{"),
		"mappings cut":    deflate(version, 0, "[]", 2, mapping),
	} {
		_, err := Decode(body, 479, name != "json")
		var e *protocol.Error
		if !errors.As(err, &e) || e.Code != protocol.RespSystemError || !strings.HasPrefix(e.Remark, "registration body is malformed: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A small body must not claim much memory, neither by a stream that inflates without end nor by counts.
func TestBombs(t *testing.T) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 70 {
		z.Write(zeros)
	}
	z.Close()
	if _, err := Decode(b.Bytes(), 479, true); err == nil || !strings.Contains(err.Error(), "when inflated") {
		t.Errorf("a body of %d bytes that inflates to 70 MiB: %v", b.Len(), err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		Decode(deflate(version, 0x7ffffff0), 479, true)
		Decode(deflate(version, 0, "[]", 0x7ffffff0), 479, true)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
		t.Errorf("200 lying bodies cost %d MB", used>>20)
	}
}

func TestCRC(t *testing.T) {
	body := []byte(jsonBody)
	sum := int32(crc32.ChecksumIEEE(body) & 0x7fffffff)
	if err := CheckCRC(body, sum); err != nil {
		t.Error(err)
	}
	if err := CheckCRC(body, 0); err != nil {
		t.Error("0 is not a checksum:", err)
	}
	if err := CheckCRC(body, sum+1); err == nil || err.Error() != "code 1: crc32 not match" {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(jsonBody), int32(479), false)
	f.Add([]byte(`{"topicConfigTable":{"T":{"topicName":"T","perm":6}}}`), int32(30), false)
	f.Add(deflate(version, 1, "T 4 4 6 SINGLE_TAG", "[]", 1, mapping), int32(479), true)
	f.Add(deflate(version, 1, "T 4 4 6 SINGLE_TAG", "[]"), int32(407), true)
	f.Fuzz(func(t *testing.T, body []byte, version int32, compressed bool) {
		b, err := Decode(body, version, compressed)
		if err == nil && len(b.Topics) > len(body)*1100 {
			t.Errorf("%d topics from %d bytes", len(b.Topics), len(body))
		}
		// The parts of a stream, without the compression that a fuzzer cannot get through.
		r := reader{rest: body}
		r.body(compressed)
		if r.err != nil && len(r.rest) > 0 {
			t.Errorf("reading goes on after %v", r.err)
		}
	})
}

func BenchmarkDecode10k(b *testing.B) {
	var table strings.Builder
	table.WriteString(`{"topicConfigSerializeWrapper":{"dataVersion":` + version + `,"topicConfigTable":{`)
	for i := range 10_000 {
		if i > 0 {
			table.WriteByte(',')
		}
		name := "SomeTopicName" + string(rune('0'+i%10)) + hex.EncodeToString([]byte{byte(i >> 8), byte(i)})
		table.WriteString(`"` + name + `":{"attributes":{},"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"` + name + `","topicSysFlag":0,"writeQueueNums":8}`)
	}
	table.WriteString("}}}")
	body := []byte(table.String())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if d, err := Decode(body, 479, false); err != nil || len(d.Topics) != 10_000 {
			b.Fatal(len(d.Topics), err)
		}
	}
}
