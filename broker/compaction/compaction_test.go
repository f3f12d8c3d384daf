// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queue is one queue of the topic C, with all its messages from min on.
type queue struct {
	min     int64
	records [][]byte
}

func (q *queue) MinOffset(string, int32) int64 { return q.min }
func (q *queue) MaxOffset(_ string, id int32) int64 {
	if id > 0 {
		return 0
	}
	return int64(len(q.records))
}

func (q *queue) Unit(_ string, _ int32, offset int64) (store.Unit, bool) {
	if offset < q.min || offset >= int64(len(q.records)) {
		return store.Unit{}, false
	}
	return store.Unit{PhyOffset: offset, Size: int32(len(q.records[offset]))}, true
}

func (q *queue) Record(dst []byte, phyOffset int64, _ int32) ([]byte, bool) {
	return append(dst, q.records[phyOffset]...), true
}

func (q *queue) Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult) {
	res := store.GetResult{Status: store.OffsetOverflowOne, NextBeginOffset: r.Offset, MinOffset: q.min, MaxOffset: int64(len(q.records))}
	if r.Offset < res.MaxOffset {
		dst = append(dst, q.records[r.Offset]...)
		res.Status, res.NextBeginOffset, res.Count = store.Found, r.Offset+1, 1
	}
	return dst, res
}

var host = netip.MustParseAddrPort("127.0.0.1:10911")

// put appends a message to the queue and tells the service, if there is one.
func (q *queue) put(s *Service, key, body string) {
	m := message.Message{Topic: "C", BornHost: host, StoreHost: host, Body: []byte(body)}
	if key != "" {
		m.Properties = message.AppendProperty(nil, message.PropKeys, key)
	}
	offset := int64(len(q.records))
	q.records = append(q.records, message.AppendRecord(nil, &m, message.BodyCRC(m.Body), message.Position{QueueOffset: offset, PhyOffset: offset}))
	if s != nil {
		s.Arrived(store.Arrival{Topic: "C", Offset: offset})
	}
}

func start(t *testing.T, dir string, q *queue) *Service {
	t.Helper()
	s, err := New(Options{
		Dir: dir, LogFileSize: 8192, QueueFileSize: 6 * 46, KeyMemory: 1 << 20, FlushInterval: func() time.Duration { return time.Second }, Store: q,
		Interval:  func() time.Duration { return time.Minute },
		Compacted: func(topic string) bool { return topic == "C" },
		Topics:    func() map[string]int32 { return map[string]int32{"C": 2} },
		Log:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// bodies reads everything from the start.
func bodies(t *testing.T, s *Service) string {
	t.Helper()
	var list []string
	for next := int64(0); ; {
		body, res := s.Get(nil, store.GetRequest{Topic: "C", Offset: next, MaxCount: 32})
		if res.Status != store.Found {
			return strings.Join(list, " ")
		}
		next = res.NextBeginOffset
		for len(body) > 0 {
			r, err := message.ParseRecord(body)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(r.Body))
			body = body[r.Size:]
		}
	}
}

// The service works when there is something to do, and keeps how far it came.
func TestCompactsAndRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, q := t.TempDir(), &queue{}
		s := start(t, dir, q)
		go func() { _ = s.Run(t.Context()) }()
		for i := range 7 {
			q.put(s, "k", fmt.Sprint("v", i))
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := bodies(t, s); got != "v0 v1 v2 v3 v4 v5 v6" {
			t.Error("before it is time:", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := bodies(t, s); got != "v4 v5 v6" {
			t.Error("afterwards:", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "compaction", "position-checkpoint"))
		if want := "{\n\t\"empty\":false,\n\t\"queueOffsetMap\":{\n\t\t\"C_0\":4\n\t}\n}"; err != nil || string(text) != want {
			t.Errorf("%s %v", text, err)
		}
		again := start(t, dir, q)
		if again.positions["C_0"] != 4 || bodies(t, again) != "v4 v5 v6" {
			t.Error(again.positions, bodies(t, again))
		}
	})
}

// What the log lacks when the broker starts comes from the queue; what the queue has lost goes.
func TestStartSettles(t *testing.T) {
	dir, q := t.TempDir(), &queue{}
	for i := range 8 { // a broker without compaction
		q.put(nil, fmt.Sprint("k", i), fmt.Sprint("v", i))
	}
	s := start(t, dir, q)
	if got := bodies(t, s); got != "v0 v1 v2 v3 v4 v5 v6 v7" {
		t.Error(got)
	}
	_ = s.Close()

	q.records = q.records[:6] // a crash of the machine, and other messages since
	q.put(nil, "k", "w6")
	q.put(nil, "k", "w7")
	q.put(nil, "", "keyless")
	q.put(nil, "k", "w9")
	s = start(t, dir, q)
	if got := bodies(t, s); got != "v0 v1 v2 v3 v4 v5 w6 w7 w9" {
		t.Error(got)
	}
	_ = s.Close()

	q.min = 9 // the commit log has lost them, the compacted log has not
	s = start(t, dir, q)
	if got := bodies(t, s); got != "v0 v1 v2 v3 v4 v5 w6 w7 w9" {
		t.Error(got)
	}
	_ = s.Close()

	q.min, q.records = 0, nil // deleted and made again while a broker of Java ran, which leaves the log
	for i := range 12 {
		q.put(nil, "k", fmt.Sprint("n", i))
	}
	s = start(t, dir, q)
	if got := bodies(t, s); got != "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11" {
		t.Error(got)
	}
}

// While messages cannot be added, consumers read the commit log; nothing is left out afterwards.
func TestDiskFails(t *testing.T) {
	dir, q := t.TempDir(), &queue{}
	s := start(t, dir, q)
	q.put(s, "a", "v0")
	e := s.find(key{"C", 0})
	good := e.log
	_ = good.Close()
	q.put(s, "a", "v1")
	q.put(s, "b", "v2")
	if got := bodies(t, s); got != "v0 v1 v2" {
		t.Error(got)
	}
	s.mu.Lock()
	delete(s.logs, e.key)
	s.mu.Unlock()
	q.put(s, "c", "v3")
	if got := bodies(t, s); got != "v0 v1 v2 v3" || s.find(e.key).log.Next() != 4 {
		t.Error(got, s.find(e.key).log.Next())
	}
}

func TestDelete(t *testing.T) {
	dir, q := t.TempDir(), &queue{}
	s := start(t, dir, q)
	for i := range 8 {
		q.put(s, "a", fmt.Sprint("v", i))
	}
	s.compact(t.Context(), s.find(key{"C", 0}))
	s.DeleteTopics([]string{"D"})
	if got := bodies(t, s); got != "v4 v5 v6 v7" {
		t.Error(got)
	}
	q.records = nil
	s.DeleteTopics([]string{"C", "D"})
	q.put(s, "a", "new")
	if got := bodies(t, s); got != "new" || len(s.positions) != 0 {
		t.Error(got, s.positions)
	}
}

// A topic without the policy is none of its business.
func TestOtherTopics(t *testing.T) {
	dir, q := t.TempDir(), &queue{}
	s := start(t, dir, q)
	q.put(nil, "a", "v")
	s.Arrived(store.Arrival{Topic: "T", Offset: 0})
	if _, res := s.Get(nil, store.GetRequest{Topic: "T", MaxCount: 1}); res.Status != store.Found {
		t.Error(res)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "compaction"))
	if err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() }) {
		t.Error("there are logs:", entries)
	}
}
