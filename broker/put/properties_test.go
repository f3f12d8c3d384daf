// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package put

import (
	"fmt"
	"strings"
	"testing"

	"rocketmq-go/message"
)

func encode(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteString(pairs[i] + "\x01" + pairs[i+1] + "\x02")
	}
	return b.String()
}

// names lists the names of an encoded string in order.
func names(encoded string) string {
	var list []string
	for p := message.ScanProperties([]byte(encoded)); p.Next(); {
		list = append(list, string(p.Name))
	}
	return strings.Join(list, " ")
}

// The orders are those of records that real brokers have written.
func TestAppendOrder(t *testing.T) {
	for _, c := range []struct {
		dialect message.Dialect
		want    string
	}{
		{message.Java5, "MSG_REGION UNIQ_KEY CLUSTER WAIT TRACE_ON"},
		{message.Java5, "BUYER_ID MSG_REGION UNIQ_KEY CLUSTER TAGS color KEYS WAIT TRACE_ON n uni"},
		{message.Java5, "MSG_REGION UNIQ_KEY CLUSTER DELAY TAGS KEYS WAIT TRACE_ON REAL_TOPIC REAL_QID"},
		{message.Java5, "MSG_REGION __SHARDINGKEY UNIQ_KEY CLUSTER TAGS KEYS WAIT TRACE_ON"},
		{message.Java5, "ORIGIN_MESSAGE_ID RETRY_TOPIC MSG_REGION UNIQ_KEY CLUSTER DELAY TAGS KEYS WAIT TRACE_ON REAL_TOPIC REAL_QID"},
		{message.Java5, "MSG_REGION state UNIQ_KEY CLUSTER PGROUP __transactionId__ TAGS TRAN_MSG KEYS WAIT TRACE_ON REAL_TOPIC REAL_QID"},
		{message.Java49, "UNIQ_KEY CLUSTER"},
		{message.Java49, "uni color BUYER_ID KEYS UNIQ_KEY CLUSTER TAGS n"},
		{message.Java49, "REAL_TOPIC KEYS UNIQ_KEY CLUSTER DELAY WAIT TAGS REAL_QID"},
		{message.Java49, "REAL_TOPIC ORIGIN_MESSAGE_ID RETRY_TOPIC KEYS UNIQ_KEY CLUSTER WAIT DELAY TAGS REAL_QID"},
	} {
		var p Properties
		// Names of one bucket keep the order in which they came; all others are put in by Java's hash.
		for _, name := range strings.Fields(c.want) {
			p.Set(name, "v")
		}
		got := string(p.Append(nil, c.dialect))
		if names(got) != c.want {
			t.Errorf("got  %s\nwant %s", names(got), c.want)
		}
		if closed := strings.HasSuffix(got, "\x02"); closed != (c.dialect == message.Java5) {
			t.Errorf("%q: separator at the end: %v", got, closed)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a\x01b", "a\x01b\x02"},
		{"a\x01b\x02", "a\x01b\x02"},
		{"a\x01b\x02a\x01c", "a\x01c\x02"},
		{"a\x01\x02b\x01c\x02\x01d\x02e\x02", "b\x01c\x02"},
		{"a\x01b\x01c\x02", "a\x01b\x01c\x02"},
		{"broken", ""},
		{"\x02\x02\x01\x02", ""},
	} {
		var p Properties
		p.Parse(c.text)
		if got := string(p.Append(nil, message.Java5)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	var p Properties
	p.Parse(encode("x", "1", "y", "2"))
	p.Set("x", "3")
	p.Delete("y")
	p.Delete("none")
	if p.Get("x") != "3" || p.Has("y") || p.Len() != 1 {
		t.Errorf("got %q", p.Append(nil, message.Java5))
	}
}

// Rebuild is the simple form of the same thing.
func FuzzAppend(f *testing.F) {
	f.Add(encode("KEYS", "a b", "TAGS", "t", "€", "x", "😀", "y"), "TAGS", "z", false)
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprint("k", i%130), fmt.Sprint(i))
	}
	f.Add(encode(many...), "k7", "7", true)
	f.Fuzz(func(t *testing.T, text, name, value string, old bool) {
		if name == "" || value == "" || strings.ContainsAny(name+value, "\x01\x02") {
			return
		}
		d := message.Java5
		if old {
			d = message.Java49
		}
		var p Properties
		p.Parse(text)
		p.Set(name, value)
		got, want := p.Append(nil, d), message.Rebuild([]byte(text), d, [2]string{name, value})
		if string(got) != string(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func BenchmarkProperties(b *testing.B) {
	text := encode("KEYS", "order-1234567", "UNIQ_KEY", "7F0000010000620C00000000008088F3", "WAIT", "true", "TAGS", "TagA")
	var p Properties
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(text)
		p.Set("MSG_REGION", "DefaultRegion")
		p.Set("TRACE_ON", "true")
		p.Set("CLUSTER", "DefaultCluster")
		buf = p.Append(buf[:0], message.Java5)
	}
}
