// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/store/segment"
)

// What a start makes of each kind of damage, after a clean stop and after a crash. The golden corruptions of package
// inspect have those kinds with Java's result beside ours that Java was asked about; here are those besides.
func TestDamage(t *testing.T) {
	const n, half = 200, 100
	at := func(d damaged, i int) int64 { return d.phy[i] }
	for name, c := range map[string]struct {
		damage       func(d damaged) error
		clean, crash int // messages that are there; -1: the start is refused
	}{
		"nothing":                 {func(damaged) error { return nil }, n, n},
		"checkpoint of next year": {func(d damaged) error { return d.checkpoint(365 * 24 * 3600 * 1000) }, n, n},
		"checkpoint of last year": {func(d damaged) error { return d.checkpoint(-365 * 24 * 3600 * 1000) }, n, n},
		"checkpoint of no bytes":  {func(d damaged) error { return os.Truncate(d.path("checkpoint"), 0) }, n, n},
		"checkpoint cut":          {func(d damaged) error { return os.Truncate(d.path("checkpoint"), 11) }, n, n},
		"no checkpoint":           {func(d damaged) error { return os.Remove(d.path("checkpoint")) }, n, n},
		"tail of zeros":           {func(d damaged) error { return d.zero(at(d, half)) }, half, half},
		"torn record":             {func(d damaged) error { return d.zero(at(d, half) + 50) }, half, half},
		// after a clean stop the log is trusted, as in Java; clients check the CRC
		"flipped bit in a body":        {func(d damaged) error { return d.flip(at(d, half) + 200) }, n, half},
		"flipped bit in a length":      {func(d damaged) error { return d.flip(at(d, half) + 3) }, n - 1, half},
		"flipped bit in the last":      {func(d damaged) error { return d.flip(at(d, n-1) + 200) }, n - 1, n - 1},
		"no queue file":                {func(d damaged) error { return os.Remove(d.queue()) }, n, n},
		"queue file of no bytes":       {func(d damaged) error { return os.Truncate(d.queue(), 0) }, n, n},
		"queue file cut":               {func(d damaged) error { return os.Truncate(d.queue(), 600) }, -1, -1},
		"queue file too long":          {func(d damaged) error { return os.Truncate(d.queue(), 50000) }, -1, -1},
		"log file cut":                 {func(d damaged) error { return os.Truncate(d.log(), 4096) }, -1, -1},
		"log file of no bytes":         {func(d damaged) error { return os.Truncate(d.log(), 0) }, 0, 0},
		"no index":                     {func(d damaged) error { return os.RemoveAll(d.path("index")) }, n, n},
		"index file of no bytes":       {func(d damaged) error { return d.indexes(0) }, n, n},
		"index file cut":               {func(d damaged) error { return d.indexes(1000) }, n, n},
		"queues of a longer log":       {func(d damaged) error { return d.more(50) }, n, n},
		"last units of the queue gone": {func(d damaged) error { return d.zeroQueue(half) }, n, n},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %v", name, crash), func(t *testing.T) {
				cfg := testConfig(t.TempDir())
				d := damagedStore(t, cfg, n)
				if crash {
					if err := os.WriteFile(d.path("abort"), nil, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.damage(d); err != nil {
					t.Fatal(err)
				}
				want := c.clean
				if crash {
					want = c.crash
				}
				s, err := Open(cfg)
				var size *segment.SizeError
				if want < 0 {
					if !errors.As(err, &size) {
						t.Fatalf("opened: %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				visible(t, s)
				got := readable(s)
				if got != want {
					t.Errorf("%d messages, expected %d; queue [%d, %d)", got, want, s.MinOffset("T", 0), s.MaxOffset("T", 0))
				}
				// log and queue go on together
				res := put(t, s, newMessage("T", 0, "new", "UNIQ_KEY\x01new\x02"))
				visible(t, s)
				if u, ok := s.Unit("T", 0, res.QueueOffset); !ok || u.PhyOffset != res.PhyOffset || readable(s) != got+1 {
					t.Errorf("a new message at %d: unit %+v %v", res.PhyOffset, u, ok)
				}
				if hits := s.QueryIndex("T", "new", 32, 0, 1<<60).PhyOffsets; len(hits) != 1 {
					t.Errorf("a new message is found %d times by its key", len(hits))
				}
			})
		}
	}
}

// readable is how many messages of the queue can be read.
func readable(s *Store) (n int) {
	for offset := s.MinOffset("T", 0); offset < s.MaxOffset("T", 0); offset++ {
		if u, ok := s.Unit("T", 0, offset); ok {
			if _, ok := s.Record(nil, u.PhyOffset, u.Size); ok {
				n++
			}
		}
	}
	return n
}

// damaged is the directory of a store that was stopped.
type damaged struct {
	dir string
	phy []int64 // of the messages
}

func damagedStore(t *testing.T, cfg Config, n int) damaged {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := damaged{dir: cfg.Dir}
	for i := range n {
		res := put(t, s, newMessage("T", 0, strings.Repeat("b", 400), fmt.Sprintf("UNIQ_KEY\x01u%d\x02", i)))
		d.phy = append(d.phy, res.PhyOffset)
	}
	visible(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d damaged) path(name string) string { return filepath.Join(d.dir, name) }
func (d damaged) log() string             { return d.path("commitlog/" + segment.Name(0)) }
func (d damaged) queue() string           { return d.path("consumequeue/T/0/" + segment.Name(0)) }

func edit(path string, change func(b []byte)) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	change(b)
	return os.WriteFile(path, b, 0o644)
}

func (d damaged) zero(from int64) error { return edit(d.log(), func(b []byte) { clear(b[from:]) }) }
func (d damaged) flip(at int64) error   { return edit(d.log(), func(b []byte) { b[at] ^= 0x10 }) }

func (d damaged) zeroQueue(from int) error {
	return edit(d.queue(), func(b []byte) { clear(b[from*20:]) })
}

// more gives the queue units of records behind the end of the log.
func (d damaged) more(n int) error {
	return edit(d.queue(), func(b []byte) {
		last := d.phy[len(d.phy)-1]
		for i := range n {
			u := Unit{PhyOffset: last + int64(i+1)*600, Size: 600}
			at := b[(len(d.phy)+i)*20:]
			binary.BigEndian.PutUint64(at, uint64(u.PhyOffset))
			binary.BigEndian.PutUint32(at[8:], uint32(u.Size))
		}
	})
}

// checkpoint moves its times by ms.
func (d damaged) checkpoint(ms int64) error {
	return edit(d.path("checkpoint"), func(b []byte) {
		for i := range 3 {
			t := int64(binary.BigEndian.Uint64(b[8*i:]))
			binary.BigEndian.PutUint64(b[8*i:], uint64(t+ms))
		}
	})
}

func (d damaged) indexes(size int64) error {
	return filepath.WalkDir(d.path("index"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Truncate(path, size)
	})
}
