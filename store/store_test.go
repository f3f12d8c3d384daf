// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/message"
)

var (
	bornHost  = netip.MustParseAddrPort("127.0.0.1:41244")
	storeHost = netip.MustParseAddrPort("127.0.0.1:10911")
)

// testConfig has small files, so that tests meet their ends.
func testConfig(dir string) Config {
	return Config{
		Dir: dir, CommitLogFileSize: 1 << 20, ConsumeQueueFileSize: 40000, IndexSlots: 500, IndexUnits: 2000,
		EnableLMQ: true, EnableMultiDispatch: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func openTest(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newMessage(topic string, queueID int32, body, props string) *message.Message {
	return &message.Message{
		Topic: topic, QueueID: queueID, BornTimestamp: 1700000000000, BornHost: bornHost, StoreHost: storeHost,
		Body: []byte(body), Properties: []byte(props),
	}
}

// put stores a message and waits for its result.
func put(t testing.TB, s *Store, m *message.Message) PutResult {
	t.Helper()
	ch := make(chan PutResult, 1)
	s.Put(m, func(r PutResult) { ch <- r })
	r := <-ch
	if r.Status != PutOK {
		t.Fatalf("put: status %d", r.Status)
	}
	return r
}

// until waits for what another goroutine does. A busy machine has all the time it needs.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for begin := time.Now(); !done(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatal("never: " + what)
		}
	}
}

// visible waits until everything is dispatched.
func visible(t testing.TB, s *Store) {
	t.Helper()
	until(t, "records become visible", func() bool { return s.DispatchBehind() == 0 })
	s.dispatch.mu.Lock() // until arrivals were told
	defer s.dispatch.mu.Unlock()
}

// bodies gets all messages of a queue.
func bodies(t testing.TB, s *Store, topic string, queueID int32) []string {
	t.Helper()
	var out []string
	for off := s.MinOffset(topic, queueID); off < s.MaxOffset(topic, queueID); {
		buf, res := s.Get(nil, GetRequest{Topic: topic, QueueID: queueID, Offset: off, MaxCount: 32})
		if res.Status != Found {
			t.Fatalf("get %s-%d at %d: status %d", topic, queueID, off, res.Status)
		}
		for len(buf) > 0 {
			r, err := message.ParseRecord(buf)
			if err != nil {
				t.Fatal(err)
			}
			if r.QueueOffset != off {
				t.Fatalf("%s-%d: record with queue offset %d at %d", topic, queueID, r.QueueOffset, off)
			}
			out = append(out, string(r.Body))
			buf = buf[r.Size:]
			off++
		}
		if off != res.NextBeginOffset {
			t.Fatalf("next begin offset %d, expected %d", res.NextBeginOffset, off)
		}
	}
	return out
}

func TestPutGetReopen(t *testing.T) {
	cfg := testConfig(t.TempDir())
	s := openTest(t, cfg)
	var want [4][]string
	for i := range 3000 { // several log files, two queue files each
		q := int32(i % 4)
		body := fmt.Sprintf("message %d %s", i, strings.Repeat("x", i%700))
		r := put(t, s, newMessage("T", q, body, fmt.Sprintf("KEYS\x01k%d\x02UNIQ_KEY\x01u%d", i%10, i)))
		if r.QueueOffset != int64(i/4) {
			t.Fatalf("queue offset %d of message %d", r.QueueOffset, i)
		}
		want[q] = append(want[q], body)
	}
	visible(t, s)
	check := func(s *Store) {
		t.Helper()
		for q, w := range want {
			if got := bodies(t, s, "T", int32(q)); !slicesEqual(got, w) {
				t.Fatalf("queue %d: %d messages, expected %d", q, len(got), len(w))
			}
		}
		res := s.QueryIndex("T", "u77", 10, 0, time.Now().UnixMilli()+10000)
		if len(res.PhyOffsets) != 1 {
			t.Fatalf("unique key: %v", res)
		}
		if res := s.QueryIndex("T", "k7", 100, 0, time.Now().UnixMilli()+10000); len(res.PhyOffsets) != 64 {
			t.Fatalf("key: %d", len(res.PhyOffsets))
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "abort")); err == nil {
		t.Fatal("abort file is there after a clean stop")
	}
	s = openTest(t, cfg)
	check(s)
	if r := put(t, s, newMessage("T", 0, "one more", "")); r.QueueOffset != 750 {
		t.Fatalf("queue offset after reopening: %d", r.QueueOffset)
	}
}

func slicesEqual(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestBatch(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	var body []byte
	for i := range 5 {
		body = message.AppendBatchEntry(body, int32(i), []byte(fmt.Sprint("entry ", i)), []byte(fmt.Sprintf("KEYS\x01b%d", i)))
	}
	m := newMessage("B", 1, "", "CLUSTER\x01c\x02WAIT\x01false\x02")
	m.Body = body
	var res PutResult
	s.PutBatch(m, func(r PutResult) { res = r })
	if res.Status != PutOK || len(res.Offsets) != 5 || res.QueueOffset != 0 {
		t.Fatalf("%+v", res)
	}
	visible(t, s)
	if got := bodies(t, s, "B", 1); len(got) != 5 || got[4] != "entry 4" {
		t.Fatalf("%q", got)
	}
	rec, ok := s.Record(nil, res.Offsets[3], 0)
	if !ok {
		t.Fatal("no record")
	}
	r, _ := message.ParseRecord(rec)
	if string(r.Properties) != "KEYS\x01b3\x02CLUSTER\x01c\x02WAIT\x01false\x02" || r.Flag != 3 || r.QueueOffset != 3 {
		t.Fatalf("%+v %q", r, r.Properties)
	}
	for name, bad := range map[string][]byte{
		"empty": {}, "short": body[:20], "cut": body[:len(body)-1], "length": bytes.Repeat([]byte{0xff}, 64),
	} {
		m.Body = bad
		s.PutBatch(m, func(r PutResult) { res = r })
		if res.Status != MessageIllegal {
			t.Errorf("%s: status %d", name, res.Status)
		}
	}
}

func TestGetStatus(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	for i := range 1000 {
		put(t, s, newMessage("T", 0, "b", fmt.Sprintf("TAGS\x01%s", []string{"a", "b"}[i/999])))
	}
	for range 40 {
		put(t, s, newMessage("Big", 0, strings.Repeat("x", 10<<10), ""))
	}
	put(t, s, newMessage("Huge", 0, strings.Repeat("x", 400<<10), ""))
	put(t, s, newMessage("Huge", 0, "b", ""))
	visible(t, s)
	for _, c := range []struct {
		name    string
		req     GetRequest
		status  GetStatus
		next    int64
		records int
	}{
		{"unknown", GetRequest{Topic: "U", Offset: 3, MaxCount: 32}, NoMessageInQueue, 0, 0},
		{"negative", GetRequest{Topic: "T", Offset: -1, MaxCount: 32}, OffsetTooSmall, 0, 0},
		{"at the end", GetRequest{Topic: "T", Offset: 1000, MaxCount: 32}, OffsetOverflowOne, 1000, 0},
		{"beyond", GetRequest{Topic: "T", Offset: 1001, MaxCount: 32}, OffsetOverflowBadly, 1000, 0},
		{"32 at most", GetRequest{Topic: "T", MaxCount: 64}, Found, 32, 32},
		{"fewer", GetRequest{Topic: "T", MaxCount: 5}, Found, 5, 5},
		{"none wanted", GetRequest{Topic: "T", MaxCount: 0}, Found, 1, 1},
		{"the tail", GetRequest{Topic: "T", Offset: 990, MaxCount: 32}, Found, 1000, 10},
		{"size limit", GetRequest{Topic: "Big", MaxCount: 32}, Found, 25, 25},
		{"one large", GetRequest{Topic: "Huge", MaxCount: 32}, Found, 1, 1},
		{"800 examined", GetRequest{Topic: "T", MaxCount: 32, Match: tag("b")}, NoMatchedMessage, 800, 0},
		{"found behind", GetRequest{Topic: "T", Offset: 800, MaxCount: 32, Match: tag("b")}, Found, 1000, 1},
	} {
		buf, res := s.Get([]byte("prefix"), c.req)
		n := 0
		for rest := buf[6:]; len(rest) > 0; n++ {
			r, err := message.ParseRecord(rest)
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[r.Size:]
		}
		if res.Status != c.status || res.NextBeginOffset != c.next || n != c.records || res.Count != n {
			t.Errorf("%s: %+v with %d records", c.name, res, n)
		}
	}
	for _, topic := range []string{"U", "T"} {
		if _, err := os.Stat(filepath.Join(s.queueRoot(), topic)); (err == nil) != (topic == "T") {
			t.Errorf("directory of %s: %v", topic, err)
		}
	}
}

// tag matches one tag.
type tag string

func (m tag) MatchUnit(code int64) bool { return code == message.TagsCode([]byte(m)) }
func (m tag) MatchRecord(p []byte) bool { return true }
func (m tag) NeedRecord() bool          { return false }

// 4.9 chooses the queue's file by when it was last changed, which a copy of the directory makes meaningless: here the times
// of the messages count.
func TestOffsetByTimeIgnoresFileTimes(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.Compat49, cfg.ConsumeQueueFileSize = true, 200 // ten units
	var now atomic.Int64
	cfg.Now = func() time.Time { return time.UnixMilli(now.Load()) }
	s := openTest(t, cfg)
	for i := range int64(35) {
		now.Store(1000 + 100*i)
		put(t, s, newMessage("T", 0, "b", ""))
	}
	visible(t, s)
	for _, times := range []func(i int) time.Time{
		func(int) time.Time { return time.UnixMilli(1) },
		func(i int) time.Time { return time.Now() },
		func(i int) time.Time { return time.UnixMilli(int64(9000 - i*1000)) },
	} {
		for i, f := range s.lookup("T", 0).Sequence().Files() {
			if err := os.Chtimes(f.Path(), times(i), times(i)); err != nil {
				t.Fatal(err)
			}
		}
		for ms, want := range map[int64]int64{0: 0, 1000: 0, 1949: 9, 1951: 10, 2000: 10, 2951: 20, 4400: 34, 9999: 34} {
			if got := s.OffsetByTime("T", 0, ms, Lower); got != want {
				t.Errorf("%d: offset %d, expected %d", ms, got, want)
			}
		}
	}
}

// U044 (R#4890, R#7878): searching by time, and its boundaries.
func TestOffsetByTime(t *testing.T) {
	for _, compat49 := range []bool{false, true} {
		cfg := testConfig(t.TempDir())
		cfg.Compat49 = compat49
		var now atomic.Int64
		cfg.Now = func() time.Time { return time.UnixMilli(now.Load()) }
		s := openTest(t, cfg)
		for _, ms := range []int64{100, 100, 100, 200, 200} {
			now.Store(ms)
			put(t, s, newMessage("T", 0, "b", ""))
		}
		visible(t, s)
		cases := []struct{ ms, lower, upper int64 }{{50, 0, 0}, {100, 0, 2}, {150, 3, 2}, {200, 3, 4}, {300, 5, 4}}
		if compat49 {
			cases = []struct{ ms, lower, upper int64 }{{50, 0, 0}, {100, 0, 0}, {150, 2, 2}, {151, 3, 3}, {200, 3, 3}, {300, 4, 4}}
		}
		for _, c := range cases {
			if got := s.OffsetByTime("T", 0, c.ms, Lower); got != c.lower {
				t.Errorf("4.9 %v: %d lower: %d, expected %d", compat49, c.ms, got, c.lower)
			}
			if got := s.OffsetByTime("T", 0, c.ms, Upper); got != c.upper {
				t.Errorf("4.9 %v: %d upper: %d, expected %d", compat49, c.ms, got, c.upper)
			}
		}
		if got := s.OffsetByTime("none", 0, 100, Lower); got != 0 {
			t.Errorf("unknown topic: %d", got)
		}
		if got := s.StoreTime("T", 0, 3); got != 200 {
			t.Errorf("store time %d", got)
		}
		if got := s.StoreTime("T", 0, 5); got != -1 {
			t.Errorf("store time of nothing %d", got)
		}
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	cfg := testConfig(t.TempDir())
	openTest(t, cfg)
	_, err := Open(cfg)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(cfg.Dir, "lock")) {
		t.Fatalf("second open: %v", err)
	}
}

func TestArrivalsComeInOrderAndVisible(t *testing.T) {
	cfg := testConfig(t.TempDir())
	var s *Store
	var next atomic.Int64
	failed := make(chan string, 1)
	cfg.Arrived = func(a Arrival) {
		if a.Offset != next.Load() || s.MaxOffset(a.Topic, a.QueueID) <= a.Offset || !bytes.HasPrefix(a.Properties, []byte("TAGS\x01")) {
			select {
			case failed <- fmt.Sprintf("%+v", a):
			default:
			}
		}
		next.Add(1)
	}
	s = openTest(t, cfg)
	for range 2000 {
		put(t, s, newMessage("T", 0, "b", "TAGS\x01a\x02"))
	}
	visible(t, s)
	s.Close()
	select {
	case f := <-failed:
		t.Fatal(f)
	default:
	}
	if next.Load() != 2000 {
		t.Fatalf("%d arrivals", next.Load())
	}
}

func TestPutRefusals(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.MaxMessageSize = 1000
	s := openTest(t, cfg)
	try := func(change func(m *message.Message)) PutStatus {
		m := newMessage("T", 0, "b", "")
		change(m)
		var st PutStatus
		s.Put(m, func(r PutResult) { st = r.Status })
		return st
	}
	for name, c := range map[string]struct {
		change func(m *message.Message)
		want   PutStatus
	}{
		"no body":    {func(m *message.Message) { m.Body = nil }, MessageIllegal},
		"empty body": {func(m *message.Message) { m.Body = []byte{} }, PutOK},
		"body":       {func(m *message.Message) { m.Body = make([]byte, 1001) }, MessageIllegal},
		"properties": {func(m *message.Message) { m.Properties = make([]byte, 32768) }, PropertiesSizeExceeded},
		"topic":      {func(m *message.Message) { m.Topic = strings.Repeat("t", 256) }, MessageIllegal},
		"v2 topic":   {func(m *message.Message) { m.Topic = strings.Repeat("t", 255) }, PutOK},
	} {
		if got := try(c.change); got != c.want {
			t.Errorf("%s: status %d, expected %d", name, got, c.want)
		}
	}
	s.Close()
	if got := try(func(*message.Message) {}); got != ServiceNotAvailable {
		t.Errorf("after close: %d", got)
	}
}
