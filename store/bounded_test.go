// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// sparseLog makes a log of so many files of 1 GiB in which each file but the last has a record at its beginning and a
// blank behind it: it takes next to no space.
func sparseLog(t *testing.T, cfg Config, files int64, storeTime func(file int64) int64) {
	t.Helper()
	dir := filepath.Join(cfg.Dir, "commitlog")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := newMessage("Old", 0, "body", benchProps)
	for n := range files {
		base := n * cfg.CommitLogFileSize
		b := message.AppendRecord(nil, m, message.BodyCRC(m.Body), message.Position{QueueOffset: n, PhyOffset: base, StoreTimestamp: storeTime(n)})
		b = binary.BigEndian.AppendUint32(b, uint32(cfg.CommitLogFileSize-int64(len(b))))
		b = binary.BigEndian.AppendUint32(b, message.MagicBlank)
		path := filepath.Join(dir, segment.Name(base))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, cfg.CommitLogFileSize); err != nil {
			t.Fatal(err)
		}
	}
}

// What a start reads after a crash depends on what was stored since the last checkpoint, not on the size of the store:
// 2 GB and 100 GB, the process killed and the machine gone down.
func TestRecoveryIsBounded(t *testing.T) {
	type cost struct{ bytes, records int64 }
	costs := make(map[string]cost)
	for _, files := range []int64{2, 100} {
		dir := memoryDir(t)
		cfg := testConfig(dir)
		cfg.CommitLogFileSize, cfg.IndexSlots, cfg.IndexUnits = 1<<30, 50000, 200000
		cfg.disk = new(countingDisk)
		var clock atomic.Int64
		clock.Store(1700000000000)
		cfg.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
		sparseLog(t, cfg, files, func(n int64) int64 { return 1600000000000 + n*1000 })
		s, err := newStore(cfg)
		if err != nil {
			t.Fatal(err)
		}
		store := func(n int) {
			for i := range n {
				m := newMessage("T", int32(i%4), strings.Repeat("x", 1000), benchProps)
				s.Put(m, func(PutResult) {})
				clock.Add(10)
			}
			s.dispatch.work()
		}
		store(2000)
		if err := s.flush.flush(0); err != nil {
			t.Fatal(err)
		}
		s.upkeep.round(true)
		store(500) // since the last checkpoint
		for _, crash := range []string{"killed", "power failure"} {
			s.release()
			if crash == "power failure" { // the machine is another one
				overwrite(t, filepath.Join(cfg.Dir, "checkpoint"), hintPos+8, make([]byte, hintSize-8))
			}
			_, begin := reads(t)
			start := time.Now()
			if s, err = newStore(cfg); err != nil {
				t.Fatal(err)
			}
			_, end := reads(t)
			c := cost{end - begin, int64(s.dispatch.scanned)}
			t.Logf("%d GB, %s: %d bytes and %d records were read in %v", files, crash, c.bytes, c.records, time.Since(start).Round(time.Millisecond))
			if got := s.MaxOffset("T", 0); got != 625 {
				t.Errorf("%d messages in a queue", got)
			}
			if small, ok := costs[crash]; ok {
				if c.records != small.records || c.bytes > small.bytes+200<<10 {
					t.Errorf("%d GB, %s: %+v, with 2 GB it was %+v", files, crash, c, small)
				}
			}
			costs[crash] = c
		}
		s.release()
	}
	if got := costs["killed"].records; got > 500 {
		t.Errorf("%d records were read after a kill, 500 had come since the checkpoint", got)
	}
	if got := costs["power failure"].records; got > 2501 {
		t.Errorf("%d records were read after a power failure, the last file has 2501", got)
	}
}

// U103 (R#2321, R#7279): a store of a terabyte is mapped, but page tables grow only with what is read.
func TestPageTablesAreBounded(t *testing.T) {
	const files, limitKB = 1000, 16 << 10
	cfg := testConfig(memoryDir(t))
	cfg.CommitLogFileSize, cfg.IndexSlots, cfg.IndexUnits = 1<<30, 50000, 200000
	sparseLog(t, cfg, files, func(n int64) int64 { return 1600000000000 + n*1000 })
	before := pageTables(t)
	s, err := newStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	for n := range int64(files) {
		if _, ok := s.Record(nil, n*cfg.CommitLogFileSize, 0); !ok {
			t.Fatalf("the message of file %d is not there", n)
		}
	}
	grown := pageTables(t) - before
	t.Logf("%d KB of page tables", grown)
	if grown > limitKB {
		t.Errorf("%d KB of page tables for a message in each of %d files, at most %d are right", grown, files, limitKB)
	}
}

// pageTables is how much memory this process's page tables take, in KB.
func pageTables(t *testing.T) (kb int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmPTE:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}
