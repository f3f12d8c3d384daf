// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
)

// batchConfig makes B a topic with batch queues, of 10 units to a file.
func batchConfig(dir string) Config {
	cfg := testConfig(dir)
	cfg.BatchQueueFileSize = 10 * consumequeue.BatchUnitSize
	cfg.BatchTopic = func(topic string) bool { return topic == "B" }
	return cfg
}

// inner is a batch of n messages as one record.
func inner(topic string, queueID int32, n int, props string) *message.Message {
	m := newMessage(topic, queueID, "", props)
	m.Body = nil
	for i := range n {
		m.Body = message.AppendBatchEntry(m.Body, 0, fmt.Append(nil, "m", i), nil)
	}
	m.SysFlag = message.SysInnerBatch | message.SysNeedUnwrap
	m.Properties = message.AppendProperty(m.Properties, message.PropInnerNum, strconv.Itoa(n))
	return m
}

// Which messages are taken. What Java takes beyond that has no units, or a unit at which its queue ends.
func TestInnerBatchRules(t *testing.T) {
	const flag = message.SysInnerBatch
	for _, c := range []struct {
		topic   string
		sysFlag int32
		props   string
		split   bool // by PutBatch
		want    PutStatus
		takes   int64 // queue offsets
	}{
		{"B", 0, "", false, PutOK, 1},
		{"B", flag, "INNER_NUM\x013\x02", false, PutOK, 3},
		{"B", flag | message.SysNeedUnwrap | message.SysCompressed, "INNER_NUM\x0132767\x02", false, PutOK, 32767},
		{"B", flag, "INNER_NUM\x012\x02INNER_BASE\x0177\x02", false, PutOK, 2},
		{"B", flag, "", false, PutOK, 1},
		{"B", 0, "", true, PutOK, 2},
		{"B", 0, "INNER_NUM\x013\x02", false, MessageIllegal, 0},
		{"B", flag, "INNER_NUM\x010\x02", false, MessageIllegal, 0},
		{"B", flag, "INNER_NUM\x01-3\x02", false, MessageIllegal, 0},
		{"B", flag, "INNER_NUM\x0132768\x02", false, MessageIllegal, 0},
		{"B", flag, "INNER_NUM\x01x\x02", false, MessageIllegal, 0},
		{"B", flag | message.SysPrepared, "INNER_NUM\x013\x02", false, MessageIllegal, 0},
		{"B", flag | message.SysCommit, "INNER_NUM\x013\x02", false, MessageIllegal, 0},
		{"B", flag, "INNER_NUM\x012\x02", true, MessageIllegal, 0},
		{"B", 0, "INNER_NUM\x012\x02", true, MessageIllegal, 0},
		{"T", flag, "INNER_NUM\x013\x02", false, MessageIllegal, 0},
		{"T", flag, "", false, MessageIllegal, 0},
		{"T", 0, "INNER_NUM\x013\x02", false, MessageIllegal, 0},
		{"T", flag, "", true, MessageIllegal, 0},
	} {
		s := openTest(t, batchConfig(t.TempDir()))
		put(t, s, newMessage(c.topic, 0, "first", ""))
		m := newMessage(c.topic, 0, "x", c.props)
		m.SysFlag = c.sysFlag
		store := s.Put
		if c.split {
			m.Body = message.AppendBatchEntry(message.AppendBatchEntry(nil, 0, []byte("a"), nil), 0, []byte("b"), nil)
			store = s.PutBatch
		}
		var got PutResult
		store(m, func(r PutResult) { got = r })
		visible(t, s)
		if got.Status != c.want || s.MaxOffset(c.topic, 0) != 1+c.takes || got.Messages != int(c.takes) {
			t.Errorf("%+v: status %d, %d messages, queue offset %d", c, got.Status, got.Messages, s.MaxOffset(c.topic, 0))
		}
	}
}

// Java's answers for a queue of a batch of 3, a single message, and batches of 4 and 2 (recorded from a 5.3.3 broker).
func TestGetBatches(t *testing.T) {
	s := openTest(t, batchConfig(t.TempDir()))
	put(t, s, inner("B", 0, 3, ""))
	put(t, s, newMessage("B", 0, "single", "TAGS\x01x\x02"))
	put(t, s, inner("B", 0, 4, "TAGS\x01x\x02"))
	put(t, s, inner("B", 0, 2, ""))
	visible(t, s)
	for _, c := range []struct {
		offset  int64
		max     int
		status  GetStatus
		next    int64
		offsets []int64 // of the records
		count   int
	}{
		{-1, 32, OffsetTooSmall, 0, nil, 0},
		{0, -1, Found, 3, []int64{0}, 3},
		{0, 1, Found, 3, []int64{0}, 3},
		{0, 3, Found, 3, []int64{0}, 3},
		{0, 4, Found, 4, []int64{0, 3}, 4},
		{0, 7, Found, 4, []int64{0, 3}, 4},
		{0, 8, Found, 8, []int64{0, 3, 4}, 8},
		{0, 32, Found, 10, []int64{0, 3, 4, 8}, 10},
		{2, 4, Found, 4, []int64{0, 3}, 4},
		{3, 4, Found, 4, []int64{3}, 1},
		{3, 5, Found, 8, []int64{3, 4}, 5},
		{4, 4, Found, 8, []int64{4}, 4},
		{7, 5, Found, 8, []int64{4}, 4},
		{7, 8, Found, 10, []int64{4, 8}, 6},
		{9, 1, Found, 10, []int64{8}, 2},
		{10, 32, OffsetOverflowOne, 10, nil, 0},
		{11, 32, OffsetOverflowBadly, 10, nil, 0},
	} {
		got, r := s.Get(nil, GetRequest{Topic: "B", Offset: c.offset, MaxCount: c.max})
		offsets := offsetsOf(t, got)
		if r.Status != c.status || r.NextBeginOffset != c.next || !slices.Equal(offsets, c.offsets) || r.Count != c.count ||
			r.MinOffset != 0 || r.MaxOffset != 10 {
			t.Errorf("from %d, up to %d: %+v, records %v; expected %+v", c.offset, c.max, r, offsets, c)
		}
	}
	tag := onlyTag(message.TagsCode([]byte("x")))
	if got, r := s.Get(nil, GetRequest{Topic: "B", Offset: 1, MaxCount: 32, Match: tag}); r.Status != Found ||
		r.NextBeginOffset != 10 || !slices.Equal(offsetsOf(t, got), []int64{3, 4}) {
		t.Errorf("%+v", r)
	}
	if _, r := s.Get(nil, GetRequest{Topic: "B", Offset: 8, MaxCount: 32, Match: tag}); r.Status != NoMatchedMessage || r.NextBeginOffset != 10 {
		t.Errorf("%+v", r)
	}
}

// onlyTag matches one tag.
type onlyTag int64

func (m onlyTag) MatchUnit(code int64) bool { return code == int64(m) }
func (onlyTag) MatchRecord([]byte) bool     { return true }
func (onlyTag) NeedRecord() bool            { return false }

func offsetsOf(t *testing.T, records []byte) (out []int64) {
	t.Helper()
	for len(records) > 0 {
		r, err := message.ParseRecord(records)
		if err != nil {
			t.Fatal(err)
		}
		base, _ := message.Property(r.Properties, message.PropInnerBase)
		if inner := r.SysFlag&message.SysInnerBatch != 0; inner != (string(base) == strconv.FormatInt(r.QueueOffset, 10)) {
			t.Errorf("the record at %d has INNER_BASE %q", r.QueueOffset, base)
		}
		out, records = append(out, r.QueueOffset), records[r.Size:]
	}
	return out
}

// The limits of one Get count messages and bytes; one batch alone is never too large. (Recorded from Java, too.)
func TestLimitsOfGetBatches(t *testing.T) {
	cfg := batchConfig(t.TempDir())
	cfg.BatchQueueFileSize = 0
	s := openTest(t, cfg)
	put(t, s, inner("B", 0, 5, ""))
	for range 40 {
		put(t, s, inner("B", 0, 2, ""))
	}
	large := inner("B", 2, 2, "")
	large.Body = message.AppendBatchEntry(large.Body, 0, make([]byte, 100000), nil)
	put(t, s, inner("B", 1, 50, ""))
	for range 4 {
		put(t, s, large)
	}
	visible(t, s)
	for _, c := range []struct {
		queue        int32
		offset       int64
		max, records int
		next         int64
	}{
		{0, 5, 32, 16, 37},
		{0, 5, 100, 16, 37},
		{0, 6, 32, 16, 37},
		{0, 0, 1000, 15, 33},
		{0, 0, 6, 1, 5},
		{0, 0, 7, 2, 7},
		{0, 69, 100, 8, 85},
		{0, 84, 32, 1, 85},
		{2, 0, 32, 2, 4},
		{2, 1, 32, 2, 4},
		{2, 3, 2, 1, 4},
		{2, 4, 3, 1, 6},
		{1, 0, 32, 1, 50},
		{1, 49, 1, 1, 50},
	} {
		got, r := s.Get(nil, GetRequest{Topic: "B", QueueID: c.queue, Offset: c.offset, MaxCount: c.max})
		if n := len(offsetsOf(t, got)); n != c.records || r.NextBeginOffset != c.next || r.Status != Found {
			t.Errorf("%+v: %d records, %+v", c, n, r)
		}
	}
}

func TestBatchQueueQuestions(t *testing.T) {
	var clock atomic.Int64
	cfg := batchConfig(t.TempDir())
	cfg.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	var arrived []int64
	cfg.Arrived = func(a Arrival) { arrived = append(arrived, a.Offset) }
	s := openTest(t, cfg)
	for i, n := range []int{3, 2, 4} {
		clock.Store(int64(1000 * (i + 1)))
		put(t, s, inner("B", 0, n, fmt.Sprintf("UNIQ_KEY\x01u%d\x02", i)))
		visible(t, s)
	}
	if !slices.Equal(arrived, []int64{0, 3, 5}) {
		t.Errorf("arrivals %v", arrived)
	}
	for _, c := range []struct {
		ms, lower, upper int64
	}{{0, 0, 0}, {1000, 0, 0}, {1001, 3, 0}, {2000, 3, 3}, {2500, 5, 3}, {3000, 5, 5}, {3001, 9, 5}} {
		if lo, up := s.OffsetByTime("B", 0, c.ms, Lower), s.OffsetByTime("B", 0, c.ms, Upper); lo != c.lower || up != c.upper {
			t.Errorf("%d ms: %d and %d, expected %+v", c.ms, lo, up, c)
		}
	}
	for off, want := range map[int64]int64{-1: -1, 0: 1000, 2: 1000, 3: 2000, 4: 2000, 8: 3000, 9: -1} {
		if got := s.StoreTime("B", 0, off); got != want {
			t.Errorf("message %d was stored at %d, expected %d", off, got, want)
		}
	}
	if span, ok := s.Span("B", 0, 4); !ok || span.Offset != 3 || span.Count != 2 {
		t.Errorf("%+v %v", span, ok)
	}
	if _, ok := s.Span("B", 1, 0); ok {
		t.Error("a queue that is not there has a unit")
	}
	if hits := s.QueryIndex("B", "u2", 9, 0, 1<<62); len(hits.PhyOffsets) != 1 {
		t.Errorf("%+v", hits)
	}
	if got := s.Queues(); !slices.Equal(got["B"], []int32{0}) {
		t.Error(got)
	}
}

// Batches stay where they are over stops and crashes, also where the log lost its end or the queues did.
func TestBatchQueuesAfterRestart(t *testing.T) {
	const batches = 35 // of 3, in files of 10 units
	for name, c := range map[string]struct {
		hurt func(t *testing.T, dir string)
		want int64 // messages
		lost bool  // the topic's attributes
	}{
		"stop":  {nil, 3 * batches, false},
		"crash": {func(t *testing.T, dir string) { touchAbort(t, dir) }, 3 * batches, false},
		"queues lost": {func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "batchconsumequeue")); err != nil {
				t.Fatal(err)
			}
		}, 3 * batches, false},
		"queues and attributes lost": {func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "batchconsumequeue")); err != nil {
				t.Fatal(err)
			}
		}, 3 * batches, true},
		"end of a queue lost": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "batchconsumequeue/B/0/00000000000000001380")
			if err := os.WriteFile(path, make([]byte, 10*consumequeue.BatchUnitSize), 0o644); err != nil {
				t.Fatal(err)
			}
		}, 3 * batches, false},
		"end of the log lost": {func(t *testing.T, dir string) {
			touchAbort(t, dir)
			path := filepath.Join(dir, "commitlog/00000000000000000000")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for range 12 {
				r, err := message.ParseRecord(data[at:])
				if err != nil {
					t.Fatal(err)
				}
				at += int(r.Size)
			}
			clear(data[at:])
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}, 3 * 12, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := batchConfig(t.TempDir())
			s := openTest(t, cfg)
			for i := range batches {
				put(t, s, inner("B", 0, 3, fmt.Sprintf("UNIQ_KEY\x01u%d\x02", i)))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if c.hurt != nil {
				c.hurt(t, cfg.Dir)
			}
			if c.lost {
				cfg.BatchTopic = nil
			}
			for i := range int64(2) {
				s = openTest(t, cfg)
				if lo, hi := s.MinOffset("B", 0), s.MaxOffset("B", 0); lo != 0 || hi != c.want+3*i {
					t.Fatalf("offsets [%d,%d), expected %d", lo, hi, c.want+3*i)
				}
				for off := range c.want {
					if span, ok := s.Span("B", 0, off); !ok || span.Offset != off/3*3 || span.Count != 3 {
						t.Fatalf("message %d: %+v %v", off, span, ok)
					}
				}
				if r := put(t, s, inner("B", 0, 3, "")); r.QueueOffset != c.want+3*i {
					t.Fatalf("the next batch begins at %d", r.QueueOffset)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func touchAbort(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "abort"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A deleted topic takes its batch queues along, and they do not come back.
func TestDeleteBatchTopic(t *testing.T) {
	cfg := batchConfig(t.TempDir())
	s := openTest(t, cfg)
	put(t, s, inner("B", 0, 3, ""))
	put(t, s, newMessage("T", 0, "x", ""))
	visible(t, s)
	s.DeleteTopics([]string{"B"})
	if _, err := os.Stat(filepath.Join(cfg.Dir, "batchconsumequeue", "B")); !os.IsNotExist(err) || s.MaxOffset("B", 0) != 0 {
		t.Errorf("the queues are still there: %v, %d", err, s.MaxOffset("B", 0))
	}
	if r := put(t, s, inner("B", 0, 2, "")); r.QueueOffset != 0 {
		t.Errorf("the new topic begins at %d", r.QueueOffset)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	touchAbort(t, cfg.Dir)
	if s = openTest(t, cfg); s.MaxOffset("B", 0) != 2 {
		t.Errorf("after a crash the queue ends at %d", s.MaxOffset("B", 0))
	}
}

// Files of batch queues go with those of the log.
func TestCleanBatchQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cleaningTest{t: t}
		c.open(t.TempDir(), func(cfg *Config) {
			b := batchConfig("")
			cfg.BatchTopic, cfg.BatchQueueFileSize = b.BatchTopic, b.BatchQueueFileSize
		})
		for range 60 {
			m := inner("B", 0, 4, "")
			m.Body = message.AppendBatchEntry(m.Body, 0, []byte(strings.Repeat("x", 12000)), nil)
			put(t, c.s, m)
		}
		visible(t, c.s)
		c.age(80*time.Hour, 80*time.Hour, 80*time.Hour)
		c.s.CleanNow(CleanCommitLog)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		first := c.s.MinOffset("B", 0)
		if first != 4*30 || c.s.MinPhyOffset() != 3*cleanFileSize {
			t.Errorf("the queue begins at %d, the log at %d", first, c.s.MinPhyOffset())
		}
		files, err := os.ReadDir(filepath.Join(c.cfg.Dir, "batchconsumequeue/B/0"))
		if err != nil || len(files) != 3 {
			t.Errorf("%d files, %v", len(files), err)
		}
		if _, r := c.s.Get(nil, GetRequest{Topic: "B", Offset: 5, MaxCount: 1}); r.Status != OffsetTooSmall || r.NextBeginOffset != first {
			t.Errorf("%+v", r)
		}
		if _, r := c.s.Get(nil, GetRequest{Topic: "B", Offset: first, MaxCount: 1}); r.Status != Found || r.NextBeginOffset != first+4 {
			t.Errorf("%+v", r)
		}
		if err := c.s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// 4.9 has no batch queues: nothing is written there, and what is there stays.
func TestNoBatchQueuesIn49(t *testing.T) {
	cfg := batchConfig(t.TempDir())
	s := openTest(t, cfg)
	put(t, s, inner("B", 0, 3, ""))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Compat49 = true
	touchAbort(t, cfg.Dir)
	s = openTest(t, cfg)
	if n := s.MaxOffset("B", 0); n != 0 {
		t.Errorf("the queue ends at %d", n)
	}
	s.Put(inner("B", 0, 2, ""), func(r PutResult) {
		if r.Status != MessageIllegal {
			t.Errorf("status %d", r.Status)
		}
	})
	put(t, s, newMessage("B", 1, "x", ""))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for path, there := range map[string]bool{"batchconsumequeue/B/0": true, "batchconsumequeue/B/1": false, "consumequeue/B/0": false, "consumequeue/B/1": true} {
		if _, err := os.Stat(filepath.Join(cfg.Dir, path)); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
	cfg.Compat49 = false
	if s = openTest(t, cfg); s.MaxOffset("B", 0) != 3 || s.MaxOffset("B", 1) != 1 {
		t.Errorf("back in 5.x: %d and %d", s.MaxOffset("B", 0), s.MaxOffset("B", 1))
	}
}

func BenchmarkGetBatch(b *testing.B) {
	cfg := batchConfig(b.TempDir())
	cfg.BatchQueueFileSize = 0
	s := openTest(b, cfg)
	for range 2000 {
		put(b, s, inner("B", 0, 32, ""))
	}
	visible(b, s)
	var dst []byte
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		dst, _ = s.Get(dst[:0], GetRequest{Topic: "B", Offset: int64(i) % 2000 * 32, MaxCount: 32})
	}
}
