// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newTable(t *testing.T, o Options) *Table {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Log = slog.New(slog.DiscardHandler)
	table, err := NewTable(o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func closeTable(t *testing.T, table *Table) {
	t.Helper()
	if err := table.Close(); err != nil {
		t.Error(err)
	}
}

// stored is the file's text.
func stored(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "config", file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func sql(topic, expression string, version int64) protocol.SubscriptionData {
	return protocol.SubscriptionData{Topic: topic, SubString: expression, ExpressionType: TypeSQL92, SubVersion: version}
}

// describe tells what a table knows of topic T and group G.
func describe(table *Table) string {
	d := table.Get("T", "G")
	if d == nil {
		return "none"
	}
	state := "alive"
	if d.dead() {
		state = "dead"
	}
	return fmt.Sprintf("%s %d %s, born %d", d.body.Expression, d.Version, state, d.body.BornTime)
}

// TestRegister follows what Java's ConsumerFilterManager answers to the same calls.
func TestRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t, Options{})
		defer closeTable(t, table)
		start := time.Now().UnixMilli()
		for i, step := range []struct {
			do   func()
			want string
		}{
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 10)}) }, "a > 1 10 alive, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 2", 10)}) }, "a > 1 10 alive, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 2", 9)}) }, "a > 1 10 alive, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 11)}) }, "a > 1 11 alive, born 0"},
			{func() { table.Retire("T", "G") }, "a > 1 11 dead, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 10)}) }, "a > 1 11 dead, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 5", 11)}) }, "a > 1 11 alive, born 0"},
			{func() { table.Retire("T", "G") }, "a > 1 11 dead, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 12)}) }, "a > 1 12 alive, born 0"},
			{func() { table.Retire("T", "G") }, "a > 1 12 dead, born 0"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a > 3", 13)}) }, "a > 3 13 alive, born 10"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a >", 14)}) }, "none"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "a >", 15)}) }, "none"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("T", "", 15)}) }, "none"},
			{func() {
				table.Register("G", []protocol.SubscriptionData{
					{Topic: "T", SubString: "a", ExpressionType: "GROOVY", SubVersion: 15},
					{Topic: "T", SubString: "a", ExpressionType: "TAG", SubVersion: 15},
					{Topic: "T", SubString: "a", SubVersion: 15},
				})
			}, "none"},
			{func() { table.Retire("T", "G"); table.Retire("U", "G") }, "none"},
			{func() { table.Register("G", []protocol.SubscriptionData{sql("U", "a > 4", 1), sql("T", "a > 4", 1)}) }, "a > 4 1 alive, born 16"},
		} {
			step.do()
			got := describe(table)
			if d := table.Get("T", "G"); d != nil {
				got = fmt.Sprintf("%s %d", got[:len(got)-len(fmt.Sprint(d.body.BornTime))-1], d.body.BornTime-start)
			}
			if got != step.want {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
			time.Sleep(time.Millisecond)
		}
		if table.Get("U", "G") == nil || table.Get("T", "H") != nil {
			t.Error("other topics and groups")
		}
	})
}

// TestFile reads a file of a Java broker and writes it again: the same bytes, the bits of the Bloom filter included.
func TestFile(t *testing.T) {
	golden, err := os.ReadFile("testdata/consumerFilter.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", file), golden, 0o644); err != nil {
		t.Fatal(err)
	}
	table := newTable(t, Options{Dir: dir})
	if got := table.render(); !bytes.Equal(got, golden) {
		t.Errorf("written again:\n%s", got)
	}
	d := table.Get("GSql", "g_sql")
	if d == nil || d.Version != 1 || !d.Matcher.MatchRecord(encode("a", "3", "color", "red")) || d.Matcher.MatchRecord(encode("a", "3")) {
		t.Error("the expression of the file")
	}
	closeTable(t, table)

	// With another Bloom filter the expressions stay and get other bits; the old bit maps say nothing of them.
	now := time.UnixMilli(2e12)
	table = newTable(t, Options{Dir: dir, Consumers: 64, Now: func() time.Time { return now }})
	defer closeTable(t, table)
	d = table.Get("GSql", "g_sql")
	if d == nil || d.body.BornTime != 2e12 || !d.dead() || d.body.BloomFilterData.BitNum != 216 {
		t.Errorf("with another Bloom filter: %+v", d)
	}
}

// TestRestart: an expression outlives the broker, and counts as that of an absent group until the next heartbeat.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		table := newTable(t, Options{Dir: dir})
		table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 10)})
		born := time.Now().UnixMilli()
		if err := table.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		alive := stored(t, dir)
		closeTable(t, table)
		time.Sleep(time.Minute)

		table = newTable(t, Options{Dir: dir})
		if got, want := describe(table), fmt.Sprint("a > 1 10 dead, born ", born); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if d := table.Get("T", "G"); d.body.DeadTime != time.Now().UnixMilli()-30_000 {
			t.Error("time of death:", d.body.DeadTime)
		}
		table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 10)})
		closeTable(t, table)
		if got := stored(t, dir); got != alive {
			t.Errorf("%s\nwant %s", got, alive)
		}
	})
}

func TestBadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"filterDataByTopic":{"N":null,"T":{"groupFilterData":{"N":null,
		"G":{"bornTime":5,"clientVersion":7,"expression":"a > 1","expressionType":"SQL92"},
		"H":{"bornTime":5,"clientVersion":7,"expression":"a >","expressionType":"SQL92"},
		"I":{"bornTime":5,"clientVersion":7,"expression":"a","expressionType":"GROOVY"}}}}}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	table := newTable(t, Options{Dir: dir})
	if table.Get("T", "G") == nil || table.Get("T", "H") != nil || table.Get("T", "I") != nil || len(table.topics) != 1 {
		t.Error("what of the file is used")
	}
	closeTable(t, table)
	for _, bad := range []string{"", "{", `{"filterDataByTopic":7}`, "[]"} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		table := newTable(t, Options{Dir: dir})
		if len(table.topics) != 0 {
			t.Errorf("%q", bad)
		}
		closeTable(t, table)
	}
}

func TestClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		table := newTable(t, Options{Dir: dir})
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() { _ = table.Run(ctx) })
		table.Register("G", []protocol.SubscriptionData{sql("T", "a > 1", 10), sql("U", "a > 1", 10)})
		table.Register("H", []protocol.SubscriptionData{sql("T", "a > 2", 10)})
		table.Retire("T", "G")
		table.Retire("T", "H")
		time.Sleep(23 * time.Hour)
		table.Register("H", []protocol.SubscriptionData{sql("T", "a > 2", 10)})
		time.Sleep(59 * time.Minute)
		if table.Get("T", "G") == nil {
			t.Error("forgotten too early")
		}
		time.Sleep(2 * time.Minute)
		if table.Get("T", "G") != nil || table.Get("T", "H") == nil || table.Get("U", "G") == nil {
			t.Error("after a day")
		}
		cancel()
		group.Wait()
		table.Retire("T", "H")
		table.Retire("U", "G")
		time.Sleep(24 * time.Hour)
		table.Clean()
		closeTable(t, table)
		if got := stored(t, dir); got != "{\n\t\"filterDataByTopic\":{}\n}" {
			t.Error(got)
		}
	})
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	table := newTable(t, Options{Lifetime: func() time.Duration { return 0 }})
	defer closeTable(t, table)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 200 {
				table.Register("G", []protocol.SubscriptionData{sql("T", fmt.Sprint("a > ", i%3), int64(i))})
				if d := table.Get("T", "G"); d != nil {
					d.Matcher.MatchRecord(encode("a", "1"))
				}
				table.Retire("T", "G")
				if i%50 == 0 {
					table.Clean()
					table.render()
				}
			}
		})
	}
	group.Wait()
}

func encode(pairs ...string) []byte {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = message.AppendProperty(b, pairs[i], pairs[i+1])
	}
	return b
}

func TestSQL(t *testing.T) {
	s := sql("T", "a = 2", 0)
	m, err := SQL(&s)
	if err != nil || !m.NeedRecord() || !m.MatchUnit(0) || !m.MatchRecord(encode("a", "2")) || m.MatchRecord(encode("a", "3")) {
		t.Error(err)
	}
	for _, c := range []struct{ expression, kind, want string }{
		{"a > 'x'", TypeSQL92, "java.lang.RuntimeException: Value ''x'' cannot be compared."},
		{"x", "NOPE", "unknown expression type NOPE"},
		{"x", "sql92", "unknown expression type sql92"},
		{"", TypeSQL92, "org.apache.rocketmq.filter.parser.ParseException: Encountered \"<EOF>\" at line 0, column 0."},
	} {
		_, err := SQL(&protocol.SubscriptionData{SubString: c.expression, ExpressionType: c.kind})
		var refusal *protocol.Error
		if !errors.As(err, &refusal) || refusal.Code != protocol.RespSubscriptionParseFailed ||
			len(refusal.Remark) < len(c.want) || refusal.Remark[:len(c.want)] != c.want {
			t.Errorf("%q %s: %v", c.expression, c.kind, err)
		}
	}
}

func TestRetry(t *testing.T) {
	table := newTable(t, Options{})
	defer closeTable(t, table)
	table.Register("G", []protocol.SubscriptionData{sql("T", "a = 2", 1)})
	if m := table.Retry("T", "G", nil); m != nil {
		t.Error("a topic that is no retry topic")
	}
	tags, err := Tags("X")
	if err != nil {
		t.Fatal(err)
	}
	none, own := table.Retry("%RETRY%G", "G", nil), table.Retry("%RETRY%G", "G", tags)
	other := sql("%RETRY%G", "b = 1", 1)
	compiled, err := SQL(&other)
	if err != nil {
		t.Fatal(err)
	}
	both := table.Retry("%RETRY%G", "G", compiled)
	for _, c := range []struct {
		properties                    []byte
		wantNone, wantOwn, wantBothOf bool
	}{
		{encode("RETRY_TOPIC", "T", "a", "2"), true, true, false},
		{encode("RETRY_TOPIC", "T", "a", "2", "b", "1"), true, true, true},
		{encode("RETRY_TOPIC", "T", "a", "3", "b", "1"), false, false, false},
		{encode("RETRY_TOPIC", "U", "a", "3", "b", "1"), true, true, true},
		{encode("a", "3", "b", "1"), true, true, true},
		{nil, true, true, false},
	} {
		for m, want := range map[store.Matcher]bool{none: c.wantNone, own: c.wantOwn, both: c.wantBothOf} {
			if got := m.MatchRecord(c.properties); got != want || !m.NeedRecord() {
				t.Errorf("%q: %v, want %v", c.properties, got, want)
			}
		}
	}
	if !none.MatchUnit(5) || own.MatchUnit(5) || !own.MatchUnit(code("X")) || !both.MatchUnit(5) {
		t.Error("units")
	}
}

// TestBloom has bits that Java's BloomFilter computes.
func TestBloom(t *testing.T) {
	for _, c := range []struct {
		rate, consumers int
		group, topic    string
		want            string
	}{
		{20, 32, "g_sql", "GSql", "112 [31 74 5]"},
		{20, 32, "g", "T", "112 [90 68 28]"},
		{20, 32, "groupj_9", "Topic10", "112 [28 99 53]"},
		{1, 32, "g_sql", "GSql", "312 [159 226 293 48 115 182 249]"},
		{50, 1, "g_sql", "GSql", "8 [7]"},
		{5, 1000, "g_sql", "GSql", "6240 [5151 3658 2165 672 5419]"},
		{99, 10, "g_sql", "GSql", "8 [7]"},
		{33, 7, "g_sql", "GSql", "24 [15 10]"},
	} {
		data := newBloom(c.consumers, c.rate).of(c.group, c.topic)
		if got := fmt.Sprint(data.BitNum, " ", data.BitPos); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	table, err := NewTable(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer table.Close()
	subscriptions := []protocol.SubscriptionData{sql("T", "a > 1", 1)}
	b.Run("get", func(b *testing.B) {
		table.Register("G", subscriptions)
		b.ReportAllocs()
		for b.Loop() {
			if table.Get("T", "G") == nil {
				b.Fatal("nothing")
			}
		}
	})
	b.Run("register again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.Register("G", subscriptions)
		}
	})
}
