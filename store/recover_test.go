// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/segment"
)

// filled makes a store of n messages in queues 0 and 1 of T, about 300 to a log file, and closes it.
func filled(t *testing.T, n int) Config {
	t.Helper()
	cfg := testConfig(t.TempDir())
	s := openTest(t, cfg)
	for i := range n {
		put(t, s, newMessage("T", int32(i%2), fmt.Sprintf("%d %s", i, strings.Repeat("x", 3300)), fmt.Sprintf("UNIQ_KEY\x01u%d", i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// checkFilled opens a store that filled made and looks at all n messages.
func checkFilled(t *testing.T, cfg Config, n int) *Store {
	t.Helper()
	s := openTest(t, cfg)
	for q := range 2 {
		got := bodies(t, s, "T", int32(q))
		if len(got) != n/2 {
			t.Fatalf("queue %d has %d messages, expected %d", q, len(got), n/2)
		}
		for i, b := range got {
			if !strings.HasPrefix(b, fmt.Sprint(2*i+q, " ")) {
				t.Fatalf("queue %d, message %d: %.10s", q, i, b)
			}
		}
	}
	for i := range n {
		if hits := s.QueryIndex("T", fmt.Sprint("u", i), 64, 0, math.MaxInt64).PhyOffsets; len(hits) != 1 {
			t.Fatalf("key of message %d finds %v", i, hits)
		}
	}
	return s
}

func crashed(t *testing.T, cfg Config) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(cfg.Dir, "abort"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// overwrite changes bytes of a file.
func overwrite(t testing.TB, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		t.Fatal(err)
	}
}

func logFile(cfg Config, n int64) string {
	return filepath.Join(cfg.Dir, "commitlog", segment.Name(n*cfg.CommitLogFileSize))
}

// The clock was set back while records waited for the dispatcher: times do not tell then which of them it has not seen.
func TestCrashAfterTheClockWasSetBack(t *testing.T) {
	const n = 320 // the last few lie in the second file
	cfg := testConfig(t.TempDir())
	late := time.Now()
	var clock atomic.Int64
	cfg.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	clock.Store(late.UnixMilli())
	s := openTest(t, cfg)
	for i := range n {
		if i == 300 {
			clock.Add(-time.Hour.Milliseconds())
		}
		put(t, s, newMessage("T", int32(i%2), fmt.Sprintf("%d %s", i, strings.Repeat("x", 3300)), fmt.Sprintf("UNIQ_KEY\x01u%d", i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for q := range 2 {
		path := filepath.Join(cfg.Dir, "consumequeue", "T", fmt.Sprint(q), segment.Name(0))
		overwrite(t, path, (n/2-20)*consumequeue.UnitSize, make([]byte, 20*consumequeue.UnitSize))
	}
	times := binary.BigEndian.AppendUint64(nil, uint64(late.UnixMilli()))
	overwrite(t, filepath.Join(cfg.Dir, "checkpoint"), 0, append(times, times...))
	crashed(t, cfg)
	checkFilled(t, cfg, n)
}

// Queues that were removed are made again from the whole log, also after a crash.
func TestQueuesRemovedAfterCrash(t *testing.T) {
	const n = 1000
	cfg := testConfig(t.TempDir())
	var clock atomic.Int64
	cfg.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
	clock.Store(time.Now().UnixMilli())
	s := openTest(t, cfg)
	for i := range n {
		clock.Add(time.Second.Milliseconds())
		put(t, s, newMessage("T", int32(i%2), fmt.Sprintf("%d %s", i, strings.Repeat("x", 3300)), fmt.Sprintf("UNIQ_KEY\x01u%d", i)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"consumequeue", "index"} {
		if err := os.RemoveAll(filepath.Join(cfg.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	crashed(t, cfg)
	checkFilled(t, cfg, n)
}

// U030 (R#1434 and others): the tail of an older file must be dispatched again, too; only the newest file was.
func TestCrashBetweenTwoFiles(t *testing.T) {
	const n = 320 // the last few lie in the second file
	cfg := filled(t, n)
	// nothing was dispatched for the last 20: cut queues, drop index and checkpoint
	for q := range 2 {
		path := filepath.Join(cfg.Dir, "consumequeue", "T", fmt.Sprint(q), segment.Name(0))
		overwrite(t, path, (n/2-10)*consumequeue.UnitSize, make([]byte, 10*consumequeue.UnitSize))
	}
	for _, name := range []string{"checkpoint", "index"} {
		if err := os.RemoveAll(filepath.Join(cfg.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	crashed(t, cfg)
	checkFilled(t, cfg, n)
}

// U029 (R#6904): the last file of the log is empty, or shorter than it should be.
func TestEmptyLastLogFileIsDeleted(t *testing.T) {
	cfg := filled(t, 320)
	empty := logFile(cfg, 2)
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	checkFilled(t, cfg, 320)
	if _, err := os.Stat(empty); err == nil {
		t.Error("it is still there")
	}
}

// U029, the other part.
func TestShortLastLogFileIsRefused(t *testing.T) {
	cfg := filled(t, 320)
	short := logFile(cfg, 2)
	if err := os.WriteFile(short, make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, cfg.Dir)
	_, err := Open(cfg)
	var size *segment.SizeError
	if !errors.As(err, &size) || size.Path != short || size.Size != 4096 || size.Want != cfg.CommitLogFileSize {
		t.Fatalf("error %v", err)
	}
	if after := tree(t, cfg.Dir); !slices.Equal(before, after) {
		t.Errorf("files changed: %v, then %v", before, after)
	}
}

// tree lists files with size and time of change.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "lock" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// U032 (R#9728, R#10108): a queue may have a prepared file without any unit behind a full one; Java does not start.
func TestQueueWithEmptyLastFile(t *testing.T) {
	for _, abort := range []bool{false, true} {
		cfg := testConfig(t.TempDir())
		s := openTest(t, cfg)
		for range 2000 { // exactly one file of the queue
			put(t, s, newMessage("T", 0, "b", ""))
		}
		visible(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(cfg.Dir, "consumequeue", "T", "0", segment.Name(40000))
		if err := os.WriteFile(path, make([]byte, 40000), 0o644); err != nil {
			t.Fatal(err)
		}
		if abort {
			crashed(t, cfg)
		}
		s = openTest(t, cfg)
		if lo, hi := s.MinOffset("T", 0), s.MaxOffset("T", 0); lo != 0 || hi != 2000 {
			t.Fatalf("offsets %d..%d", lo, hi)
		}
		for range 3 {
			put(t, s, newMessage("T", 0, "b", ""))
		}
		visible(t, s)
		if got := len(bodies(t, s, "T", 0)); got != 2003 {
			t.Fatalf("%d messages", got)
		}
		s.Close()
	}
}

// What a truncated log leaves behind must not come back: the new end would meet old records.
func TestLeftoversBehindTheEndAreCleared(t *testing.T) {
	cfg := filled(t, 20)
	s := openTest(t, cfg)
	u, _ := s.Unit("T", 0, 5)
	s.Close()
	overwrite(t, logFile(cfg, 0), u.PhyOffset+4, []byte{1, 2, 3, 4}) // destroys the record in the middle
	crashed(t, cfg)
	s = openTest(t, cfg)
	if s.MaxPhyOffset() != u.PhyOffset || s.MaxOffset("T", 0) != 5 || s.MaxOffset("T", 1) != 5 {
		t.Fatalf("log ends at %d, queues at %d and %d", s.MaxPhyOffset(), s.MaxOffset("T", 0), s.MaxOffset("T", 1))
	}
	put(t, s, newMessage("T", 0, "new", ""))
	visible(t, s)
	s.Close()
	crashed(t, cfg)
	s = openTest(t, cfg)
	if s.MaxOffset("T", 0) != 6 || s.MaxOffset("T", 1) != 5 {
		t.Fatalf("queues end at %d and %d", s.MaxOffset("T", 0), s.MaxOffset("T", 1))
	}
	got := bodies(t, s, "T", 0)
	if got[5] != "new" {
		t.Fatalf("%.20q", got)
	}
}

// U027 (R#9121): a record whose CRC happens to be 0 is as good as any; it was taken for none.
func TestRecordCRCOfZero(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.AppendPropCRC, cfg.ForceVerifyPropCRC = true, true
	cfg.Now = func() time.Time { return time.UnixMilli(1700000000000) }
	m := newMessage("T", 0, "0123456789", "A\x01b")
	forge(m)
	s := openTest(t, cfg)
	put(t, s, m)
	visible(t, s)
	raw, _ := s.Record(nil, 0, 0)
	if !strings.HasSuffix(string(raw), message.PropCRC+"\x010000000000\x02") {
		t.Fatalf("%q", raw)
	}
	s.Close()
	crashed(t, cfg)
	s = openTest(t, cfg)
	if s.MaxOffset("T", 0) != 1 {
		t.Fatal("record was refused")
	}
	s.Close()
	overwrite(t, logFile(cfg, 0), 88, []byte{'x'})
	crashed(t, cfg)
	s = openTest(t, cfg)
	if s.MaxOffset("T", 0) != 0 {
		t.Fatal("damaged record was taken")
	}
}

// forge changes the first 4 bytes of the body until the CRC of the record, stored first in a log at 1700000000000 ms, is
// 0 in its lower 31 bits. A CRC is linear in the bits of its input: solve for them.
func forge(m *message.Message) {
	sum := func() uint32 {
		one := *m
		one.Properties = message.AppendProperty(slices.Clone(m.Properties), message.PropCRC, "0000000000")
		// the CRC of the body is part of the record, and changes with it
		raw := message.AppendRecord(nil, &one, message.BodyCRC(m.Body), message.Position{StoreTimestamp: 1700000000000})
		return crc32.ChecksumIEEE(raw[:len(raw)-message.CRCPropertySize])
	}
	base := sum()
	word := func() uint32 { return binary.BigEndian.Uint32(m.Body) }
	set := func(w uint32) { binary.BigEndian.PutUint32(m.Body, w) }
	start := word()
	type row struct{ sum, bits uint32 }
	var basis [32]row // by the highest bit of sum
	reduce := func(r row) row {
		for i := 31; i >= 0; i-- {
			if r.sum>>i&1 != 0 && basis[i].sum != 0 {
				r.sum ^= basis[i].sum
				r.bits ^= basis[i].bits
			}
		}
		return r
	}
	for i := range 32 {
		set(start ^ 1<<i)
		r := reduce(row{sum() ^ base, 1 << i})
		for b := 31; b >= 0; b-- {
			if r.sum>>b&1 != 0 {
				basis[b] = r
				break
			}
		}
	}
	set(start)
	for _, target := range []uint32{base, base ^ 1<<31} {
		if r := reduce(row{target, 0}); r.sum&0x7FFFFFFF == 0 {
			set(start ^ r.bits)
			return
		}
	}
}

// U047 (R#1852): the queues of a deleted topic do not come back when the log is dispatched again.
func TestDeletedTopicStaysDeleted(t *testing.T) {
	cfg := filled(t, 100)
	s := openTest(t, cfg)
	put(t, s, newMessage("Other", 0, "b", ""))
	visible(t, s)
	s.DeleteTopics([]string{"T", "../Other", "unknown"})
	if _, ok := s.Queues()["T"]; ok || s.MaxOffset("T", 0) != 0 || s.MaxOffset("Other", 0) != 1 {
		t.Fatalf("%v", s.Queues())
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, "consumequeue", "T")); err == nil {
		t.Fatal("files are still there")
	}
	// a topic of that name can be used again
	if r := put(t, s, newMessage("T", 0, "again", "")); r.QueueOffset != 0 {
		t.Fatalf("queue offset %d", r.QueueOffset)
	}
	visible(t, s)
	if got := bodies(t, s, "T", 0); len(got) != 1 || got[0] != "again" {
		t.Fatalf("%q", got)
	}
	// and the log is dispatched again
	for range 2 {
		s.Close()
		crashed(t, cfg)
		os.Remove(filepath.Join(cfg.Dir, "checkpoint"))
		s = openTest(t, cfg)
		if got := bodies(t, s, "T", 0); len(got) != 1 || got[0] != "again" || s.MaxOffset("T", 1) != 0 {
			t.Fatalf("after a crash: %.20q", got)
		}
	}
}
