// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func sample() *Message {
	return &Message{
		Topic: "TopicTest", QueueID: 3, Flag: -7, SysFlag: SysCompressed | SysCommit, BornTimestamp: 1700000000001,
		BornHost: netip.MustParseAddrPort("10.1.2.3:65535"), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"),
		ReconsumeTimes: 2, PreparedTransactionOffset: 99, Properties: []byte("KEYS\x01k\x02TAGS\x01t\x02"), Body: []byte("hello"),
	}
}

func TestRecordRoundTrip(t *testing.T) {
	v6 := netip.MustParseAddrPort("[fd00::1]:10911")
	for name, change := range map[string]func(m *Message){
		"plain":        func(*Message) {},
		"empty":        func(m *Message) { m.Body, m.Properties, m.Topic = nil, nil, "" },
		"v6 born":      func(m *Message) { m.BornHost = v6 },
		"v6 store":     func(m *Message) { m.StoreHost = v6 },
		"v6 both":      func(m *Message) { m.BornHost, m.StoreHost = v6, v6 },
		"stale flags":  func(m *Message) { m.SysFlag |= SysBornHostV6 | SysStoreHostV6 },
		"mapped v4":    func(m *Message) { m.BornHost = netip.MustParseAddrPort("[::ffff:1.2.3.4]:5") },
		"topic of 127": func(m *Message) { m.Topic = strings.Repeat("t", 127) },
		"topic of 128": func(m *Message) { m.Topic = strings.Repeat("t", 128) },
		"large":        func(m *Message) { m.Body, m.Properties = make([]byte, 1<<20), bytes.Repeat([]byte{'p'}, MaxProperties) },
	} {
		m := sample()
		change(m)
		raw := AppendRecord([]byte("before"), m, BodyCRC(m.Body), Position{5, 1 << 40, 1700000000002})[6:]
		if len(raw) != RecordSize(m, len(m.Properties)) {
			t.Fatalf("%s: %d bytes, RecordSize %d", name, len(raw), RecordSize(m, len(m.Properties)))
		}
		r, err := ParseRecord(append(raw[:len(raw):len(raw)], "behind"...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := r.Message()
		flags := HostFlags(m.BornHost, m.StoreHost)
		if got.SysFlag != m.SysFlag&^(SysBornHostV6|SysStoreHostV6)|flags || got.Topic != m.Topic || !bytes.Equal(got.Body, m.Body) ||
			!bytes.Equal(got.Properties, m.Properties) || got.BornHost.Addr() != m.BornHost.Addr().Unmap() ||
			got.BornHost.Port() != m.BornHost.Port() || got.StoreHost != m.StoreHost || got.Flag != m.Flag ||
			got.QueueID != m.QueueID || got.ReconsumeTimes != 2 || got.PreparedTransactionOffset != 99 ||
			got.BornTimestamp != m.BornTimestamp || r.QueueOffset != 5 || r.PhyOffset != 1<<40 || r.StoreTimestamp != 1700000000002 {
			t.Errorf("%s: %+v", name, r)
		}
		if (r.Magic == MagicV2) != (len(m.Topic) > 127) || !r.CRCOK() {
			t.Errorf("%s: magic %x, crc %v", name, r.Magic, r.CRCOK())
		}
		if ts, ok := StoreTimestampOf(raw); !ok || ts != 1700000000002 {
			t.Errorf("%s: store time %d", name, ts)
		}
		for cut := range min(len(raw), 200) {
			if _, err := ParseRecord(raw[:cut]); !errors.Is(err, ErrRecord) {
				t.Fatalf("%s: cut to %d: %v", name, cut, err)
			}
		}
	}
}

func TestRecordCRCOfZeroAndDamage(t *testing.T) {
	m := sample()
	m.Properties = AppendProperty(m.Properties, PropCRC, "0000000000")
	raw := AppendRecord(nil, m, BodyCRC(m.Body), Position{})
	PutRecordCRC(raw)
	if !RecordCRCOK(raw) {
		t.Fatal("fresh record")
	}
	for i := range raw {
		raw[i] ^= 1
		if RecordCRCOK(raw) && i < len(raw)-1 && i != len(raw)-CRCPropertySize+len(PropCRC) {
			t.Errorf("byte %d flipped and not noticed", i)
		}
		raw[i] ^= 1
	}
	if RecordCRCOK([]byte("short")) {
		t.Error("short")
	}
}

func TestProperties(t *testing.T) {
	for in, want := range map[string]map[string]string{
		"":                                   {},
		"a\x01b":                             {"a": "b"},
		"a\x01b\x02":                         {"a": "b"},
		"a\x01b\x02c\x01d":                   {"a": "b", "c": "d"},
		"a\x01\x02c\x01d\x02":                {"c": "d"}, // empty value
		"\x01b\x02c\x01d\x02":                {"c": "d"}, // empty name
		"a\x01b\x02a\x01c\x02":               {"a": "c"},
		"a\x01b\x01c\x02":                    {"a": "b\x01c"},
		"\x02\x02\x02x\x02a\x01b":            {"a": "b"},
		"TAGS\x01\u4e2d\u6587\x02x\x01é\x02": {"TAGS": "\u4e2d\u6587", "x": "é"},
	} {
		got := PropertyMap([]byte(in))
		if len(got) != len(want) {
			t.Errorf("%q: %q", in, got)
		}
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%q: %q", in, got)
			}
			if p, ok := Property([]byte(in), k); !ok || string(p) != v {
				t.Errorf("%q: property %s %q", in, k, p)
			}
		}
	}
	k := ScanKnown([]byte("KEYS\x01a b\x02UNIQ_KEY\x01u\x02TAGS\x01t\x02WAIT\x01false\x02DELAY\x013"))
	if string(k.Keys) != "a b" || string(k.UniqKey) != "u" || string(k.Tags) != "t" || string(k.Wait) != "false" || string(k.Delay) != "3" {
		t.Errorf("%q", k)
	}
}

// The two strings are from stores that Java 4.9.7 and 5.3.3 wrote.
func TestRebuildAsJava(t *testing.T) {
	in := "KEYS\x01l0\x02UNIQ_KEY\x017F0000010000000B0000000000000075\x02z\x011\x02WAIT\x01true\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02"
	offset := [2]string{PropMultiQueueOffset, "0"}
	got := string(Rebuild([]byte(in), Java49, offset, [2]string{PropWait, Removed}))
	want := "KEYS\x01l0\x02z\x011\x02UNIQ_KEY\x017F0000010000000B0000000000000075\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02INNER_MULTI_QUEUE_OFFSET\x010"
	if got != want {
		t.Errorf("4.9 %q", got)
	}
	got = string(Rebuild([]byte(in), Java5, offset, [2]string{PropWait, Removed}))
	want = "UNIQ_KEY\x017F0000010000000B0000000000000075\x02INNER_MULTI_QUEUE_OFFSET\x010\x02KEYS\x01l0\x02INNER_MULTI_DISPATCH\x01%LMQ%a\x02z\x011\x02"
	if got != want {
		t.Errorf("5.x %q", got)
	}
}

func TestHashCode(t *testing.T) {
	for text, want := range map[string]int32{
		"": 0, "a": 97, "Aa": 2112, "BB": 2112, "never": 104712844,
		"TopicTest#ogaQmc": math.MinInt32, "TopicTest#ogaRNc": math.MinInt32,
		"\u4e2d\u6587": 646394, "\U0001F600": 0xD83D*31 + 0xDE00,
	} {
		if got := HashCode(0, text); got != want {
			t.Errorf("%q: %d, expected %d", text, got, want)
		}
		if got := HashCode(0, []byte(text)); got != want {
			t.Errorf("%q as bytes: %d, expected %d", text, got, want)
		}
	}
	if HashCode(HashCode(0, "Topic#"), "key") != HashCode(0, "Topic#key") {
		t.Error("not continued")
	}
	b := []byte("some tag \u4e2d")
	if n := testing.AllocsPerRun(100, func() { HashCode(0, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOffsetID(t *testing.T) {
	for id, want := range map[string]struct {
		host string
		off  int64
	}{
		"7F000001000056C20000000000014188":                         {"127.0.0.1:22210", 0x14188},
		"FD00000000000000000000000000000100002A9F7FFFFFFFFFFFFFFF": {"[fd00::1]:10911", math.MaxInt64},
	} {
		host, off, err := ParseOffsetID(id)
		if err != nil || host.String() != want.host || off != want.off {
			t.Errorf("%s: %v %d %v", id, host, off, err)
		}
		if got := OffsetID(host, off); got != id {
			t.Errorf("%s came back as %s", id, got)
		}
	}
	for _, bad := range []string{"", "7F", strings.Repeat("G", 32), strings.Repeat("0", 33), "7F000001FFFFFFFF0000000000014188"} {
		if _, _, err := ParseOffsetID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestIDGenerator(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 59, 59, 0, time.Local)
	g := NewIDGenerator(netip.MustParseAddr("127.0.0.1"), 7, func() time.Time { return now })
	seen := map[string]bool{}
	for range 1000 {
		id := g.Next()
		if len(id) != 32 || seen[id] || !strings.HasPrefix(id, "7F000001") {
			t.Fatal(id)
		}
		seen[id] = true
	}
	before := g.Next()
	now = now.Add(2 * time.Second) // the next month: time begins anew
	if after := g.Next(); after[20:28] >= before[20:28] {
		t.Errorf("%s then %s", before, after)
	}
	if id := NewIDGenerator(netip.MustParseAddr("fd00::1"), 7, nil).Next(); len(id) != 56 {
		t.Error(id)
	}
}

func TestBatch(t *testing.T) {
	b := AppendBatchEntry(nil, 1, []byte("one"), []byte("a\x01b"))
	b = AppendBatchEntry(b, -2, nil, nil)
	e := ScanBatch(b)
	if !e.Next() || e.Flag != 1 || string(e.Body) != "one" || string(e.Properties) != "a\x01b" {
		t.Fatalf("%+v", e)
	}
	if !e.Next() || e.Flag != -2 || len(e.Body) != 0 || e.Next() || e.Err() != nil {
		t.Fatalf("%+v", e)
	}
	for cut := 1; cut < len(b); cut++ {
		e := ScanBatch(b[:cut])
		for e.Next() {
		}
		if first := len(AppendBatchEntry(nil, 1, []byte("one"), []byte("a\x01b"))); cut != first && !errors.Is(e.Err(), ErrBatch) {
			t.Errorf("cut to %d: %v", cut, e.Err())
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	m := sample()
	f.Add(AppendRecord(nil, m, BodyCRC(m.Body), Position{}))
	m.Topic, m.BornHost = strings.Repeat("t", 200), netip.MustParseAddrPort("[fd00::1]:1")
	f.Add(AppendRecord(nil, m, BodyCRC(m.Body), Position{}))
	f.Add(make([]byte, 91))
	f.Fuzz(func(t *testing.T, b []byte) {
		StoreTimestampOf(b)
		RecordCRCOK(b)
		r, err := ParseRecord(b)
		if err != nil {
			return
		}
		// what can be read comes out the same when it is written again, unless it has a form we do not write
		m := r.Message()
		again := AppendRecord(nil, &m, r.BodyCRC, Position{r.QueueOffset, r.PhyOffset, r.StoreTimestamp})
		r2, err := ParseRecord(again)
		if err != nil || !bytes.Equal(r.Body, r2.Body) || !bytes.Equal(r.Topic, r2.Topic) || !bytes.Equal(r.Properties, r2.Properties) {
			t.Fatalf("%v: %+v / %+v", err, r, r2)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte("a\x01b\x02c\x01d"))
	f.Add([]byte("\x02TAGS\x01\x02TAGS\x01\x01\x02TAGSx\x01a\x02KEYS\x01k\x01l\x02INNER_NUM\x011\x02WAIT\x02\x01DELAY"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := PropertyMap(b)
		k := ScanKnown(b)
		for name, got := range map[string][]byte{
			PropTags: k.Tags, PropKeys: k.Keys, PropUniqKey: k.UniqKey, PropDelay: k.Delay, PropWait: k.Wait,
			PropMultiDispatch: k.MultiDispatch, PropMultiQueueOffset: k.MultiQueueOffset, PropInnerNum: k.InnerNum,
		} {
			if string(got) != m[name] {
				t.Fatalf("%s is %q in %q", name, got, b)
			}
		}
		for _, d := range []Dialect{Java5, Java49} {
			again := PropertyMap(Rebuild(b, d))
			if len(again) != len(m) {
				t.Fatalf("%q became %q", m, again)
			}
			for k, v := range m {
				if again[k] != v {
					t.Fatalf("%q became %q", m, again)
				}
			}
		}
	})
}

func FuzzBatch(f *testing.F) {
	f.Add(AppendBatchEntry(AppendBatchEntry(nil, 1, []byte("one"), []byte("a\x01b")), 2, nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		for e := ScanBatch(b); e.Next(); n += len(e.Body) + len(e.Properties) {
		}
		if n > len(b) {
			t.Fatal("more than there is")
		}
	})
}

func FuzzOffsetID(f *testing.F) {
	f.Add("7F000001000056C20000000000014188")
	f.Fuzz(func(t *testing.T, id string) {
		host, off, err := ParseOffsetID(id)
		if err == nil && !host.Addr().Is4In6() && OffsetID(host, off) != strings.ToUpper(id) {
			t.Fatal(id)
		}
	})
}

// Until it is sealed a record begins with zeros, whatever was in its place: the end of a log.
func TestSeal(t *testing.T) {
	for _, topic := range []string{"T", strings.Repeat("t", 200)} {
		m := &Message{Topic: topic, Body: []byte("body"), Properties: []byte("KEYS\x01k\x02")}
		place := bytes.Repeat([]byte{0xFF}, 1000)
		rec := AppendUnsealed(place[:0], m, BodyCRC(m.Body), Position{})
		if !bytes.Equal(rec[:8], make([]byte, 8)) {
			t.Errorf("begins with % x", rec[:8])
		}
		Seal(rec, topic)
		if r, err := ParseRecord(rec); err != nil || string(r.Topic) != topic || int(r.Size) != len(rec) {
			t.Errorf("%+v %v", r, err)
		}
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	m := sample()
	m.Body = make([]byte, 1024)
	buf := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		AppendRecord(buf, m, 1, Position{})
	}
}

func BenchmarkParseRecord(b *testing.B) {
	m := sample()
	m.Body = make([]byte, 1024)
	raw := AppendRecord(nil, m, 1, Position{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRecord(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScanKnown(b *testing.B) {
	props := []byte("UNIQ_KEY\x017F0000010000000B0000000000000075\x02WAIT\x01true\x02TAGS\x01t\x02CLUSTER\x01DefaultCluster\x02")
	b.ReportAllocs()
	for b.Loop() {
		ScanKnown(props)
	}
}

func BenchmarkRebuild(b *testing.B) {
	encoded := []byte("WAIT\x01true\x02UNIQ_KEY\x017F0000010000000B0000000000000001\x02CLUSTER\x01DefaultCluster\x02MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02INNER_NUM\x0132\x02")
	b.ReportAllocs()
	for b.Loop() {
		Rebuild(encoded, Java5, [2]string{PropInnerBase, "4711"})
	}
}
