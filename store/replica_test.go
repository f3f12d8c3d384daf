// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rocketmq-go/message"
)

// replicaConfig is for a master and its slave.
func replicaConfig(dir string, slave bool) Config {
	cfg := batchConfig(dir)
	cfg.CommitLogFileSize, cfg.ConsumeQueueFileSize = 64<<10, 8000
	cfg.Slave = slave
	return cfg
}

// fill puts messages of all kinds.
func fill(t *testing.T, s *Store, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		props := fmt.Sprintf("UNIQ_KEY\x01u%d\x02KEYS\x01k%d\x02TAGS\x01t%d\x02", i+1, i%9, i%3)
		m := newMessage(fmt.Sprint("T", i%3), int32(i%2), strings.Repeat("x", r.IntN(1<<r.IntN(14))), props)
		switch i % 7 {
		case 1:
			m = inner("B", int32(i%2), 1+i%20, props)
		case 2:
			m.Properties = append(m.Properties, "INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"...)
		case 3:
			m.SysFlag = message.SysPrepared
		case 4:
			m.Topic, m.Properties = scheduleTopic, append(m.Properties, "DELAY\x013\x02"...)
		}
		put(t, s, m)
	}
}

// copyLog gives a slave what its master has, in pieces of any size.
func copyLog(t *testing.T, from, to *Store, piece func() int) {
	t.Helper()
	at := to.MaxPhyOffset()
	var rest []byte
	for next := at; next < from.MaxPhyOffset(); {
		n := min(int64(piece()), from.MaxPhyOffset()-next, from.cl.NextFile(next)-next)
		if !from.ViewLog(next, int(n), func(b []byte) { rest = append(rest, b...) }) {
			t.Fatalf("the log cannot be read at %d", next)
		}
		next += n
		took, err := to.AppendLog(at, rest)
		if err != nil {
			t.Fatal(err)
		}
		at += int64(took)
		rest = rest[took:]
	}
	if len(rest) > 0 {
		t.Fatalf("%d bytes are left", len(rest))
	}
}

// files are the contents of all files below a directory of a store.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A slave's files are the master's, to the byte; also after it was killed in the middle.
func TestReplica(t *testing.T) {
	for name, c := range map[string]struct {
		ext   bool // extension files, which a crash changes
		piece func() int
	}{
		"by 32 KiB":   {false, func() int { return 32 << 10 }},
		"by 50 bytes": {false, func() int { return 50 }},
		"as it comes": {true, func() int { return 1 + rand.IntN(1<<rand.IntN(16)) }},
	} {
		t.Run(name, func(t *testing.T) {
			piece := c.piece
			config := func(dir string, slave bool) Config {
				cfg := replicaConfig(dir, slave)
				if cfg.ExtEnabled = c.ext; c.ext {
					cfg.FilterBitMap = bitMap
				}
				return cfg
			}
			masterDir, slaveDir := t.TempDir(), t.TempDir()
			master := openTest(t, config(masterDir, false))
			slave := openTest(t, config(slaveDir, true))
			fill(t, master, 150)
			copyLog(t, master, slave, piece)
			visible(t, slave)
			crashed := filepath.Join(t.TempDir(), "crashed")
			if err := os.CopyFS(crashed, os.DirFS(slaveDir)); err != nil {
				t.Fatal(err)
			}
			again := openTest(t, config(crashed, true))
			fill(t, master, 150)
			visible(t, master)
			for _, s := range []*Store{slave, again} {
				copyLog(t, master, s, piece)
				visible(t, s)
				if got := s.QueryIndex("T0", "u1", 10, 0, time.Now().UnixMilli()); len(got.PhyOffsets) != 2 {
					t.Errorf("%d messages of a key", len(got.PhyOffsets))
				}
			}
			want := map[string]map[string]string{}
			if err := master.Close(); err != nil {
				t.Fatal(err)
			}
			for s, dir := range map[*Store]string{slave: slaveDir, again: crashed} {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				parts := []string{"commitlog", "consumequeue", "batchconsumequeue"}
				if c.ext && dir == crashed {
					parts = parts[:1]
				} else if c.ext {
					parts = append(parts, "consumequeue_ext")
				}
				for _, part := range parts {
					if want[part] == nil {
						want[part] = files(t, filepath.Join(masterDir, part))
					}
					got := files(t, filepath.Join(dir, part))
					if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want[part])); !slices.Equal(a, b) || len(a) == 0 {
						t.Errorf("%s: files %v, want %v", part, a, b)
					}
					for file := range got {
						if got[file] != want[part][file] {
							t.Errorf("%s/%s differs", part, file)
						}
					}
				}
			}
			// The slave takes over.
			s := openTest(t, config(slaveDir, false))
			if r := put(t, s, newMessage("T0", 0, "new", "")); r.QueueOffset != s.MaxOffset("T0", 0) && r.QueueOffset+1 != s.MaxOffset("T0", 0) {
				t.Errorf("the next message gets queue offset %d", r.QueueOffset)
			}
		})
	}
}

// A slave that joins late has the last file only; its queues begin with the messages in it.
func TestReplicaJoinsLate(t *testing.T) {
	master := openTest(t, replicaConfig(t.TempDir(), false))
	fill(t, master, 200)
	end := master.MaxPhyOffset()
	at := end - end%master.FileSize()
	if at == 0 {
		t.Fatal("one file only")
	}
	dir := t.TempDir()
	slave := openTest(t, replicaConfig(dir, true))
	if n, err := slave.AppendLog(at+1, make([]byte, 100)); err == nil {
		t.Errorf("an empty log begins inside a file: %d", n)
	}
	var data []byte
	if !master.ViewLog(at, int(end-at), func(b []byte) { data = bytes.Clone(b) }) {
		t.Fatal("the log cannot be read")
	}
	if n, err := slave.AppendLog(at, data); n != len(data) || err != nil {
		t.Fatal(n, err)
	}
	check := func(s *Store) {
		t.Helper()
		visible(t, s)
		if s.MinPhyOffset() != at || s.MaxPhyOffset() != end {
			t.Errorf("the log is [%d, %d), want [%d, %d)", s.MinPhyOffset(), s.MaxPhyOffset(), at, end)
		}
		visible(t, master)
		seen := 0
		for topic, ids := range s.Queues() {
			for _, id := range ids {
				if got, want := s.MaxOffset(topic, id), master.MaxOffset(topic, id); got != want {
					t.Errorf("%s-%d ends at %d, want %d", topic, id, got, want)
				}
				first := s.MinOffset(topic, id)
				seen += int(s.MaxOffset(topic, id) - first)
				got, ok := s.Unit(topic, id, first)
				want, _ := master.Unit(topic, id, first)
				if got.PhyOffset != want.PhyOffset || !ok || first == 0 {
					t.Errorf("%s-%d begins with %+v at %d, want %+v", topic, id, got, first, want)
				}
			}
		}
		if seen < 10 {
			t.Errorf("%d messages", seen)
		}
	}
	check(slave)
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	check(openTest(t, replicaConfig(dir, true)))
}

func TestAppendLogRefuses(t *testing.T) {
	master := openTest(t, replicaConfig(t.TempDir(), false))
	put(t, master, newMessage("T", 0, "one", ""))
	at := master.MaxPhyOffset()
	put(t, master, newMessage("T", 0, "two", ""))
	var one, two []byte
	master.ViewLog(0, int(at), func(b []byte) { one = bytes.Clone(b) })
	master.ViewLog(at, int(master.MaxPhyOffset()-at), func(b []byte) { two = bytes.Clone(b) })
	changed := func(b []byte, at int, value uint32) []byte {
		b = bytes.Clone(b)
		binary.BigEndian.PutUint32(b[at:], value)
		return b
	}
	slave := openTest(t, replicaConfig(t.TempDir(), true))
	for name, c := range map[string]struct {
		off  int64
		data []byte
	}{
		"zeros":                       {0, make([]byte, 100)},
		"text":                        {0, []byte("GET / HTTP/1.1\r\n\r\n")},
		"a record of another place":   {0, two},
		"a size below any":            {0, changed(one, 0, 90)},
		"a size beyond the file":      {0, changed(one, 0, 70000)},
		"a negative size":             {0, changed(one, 0, 1<<31)},
		"a body that does not fit":    {0, changed(one, 84, 1000)},
		"a blank of the wrong length": {0, changed(one, 4, message.MagicBlank)},
	} {
		if n, err := slave.AppendLog(c.off, c.data); n != 0 || err == nil {
			t.Errorf("%s: took %d bytes, %v", name, n, err)
		}
	}
	if n, err := slave.AppendLog(0, append(bytes.Clone(one), make([]byte, 8)...)); n != len(one) || err == nil {
		t.Errorf("a record and zeros behind it: took %d of %d bytes, %v", n, len(one), err)
	}
	for _, off := range []int64{0, at - 1, at + 1} {
		if n, err := slave.AppendLog(off, two); n != 0 || err == nil {
			t.Errorf("at %d instead of %d: took %d bytes, %v", off, at, n, err)
		}
	}
	if n, err := slave.AppendLog(at, two); n != len(two) || err != nil {
		t.Error(n, err)
	}
	if n, err := master.AppendLog(master.MaxPhyOffset(), two); n != 0 || err == nil {
		t.Errorf("a master's log: took %d bytes, %v", n, err)
	}
	slave.Put(newMessage("T", 0, "three", ""), func(r PutResult) {
		if r.Status != ServiceNotAvailable {
			t.Errorf("a slave takes messages: %+v", r)
		}
	})
	visible(t, slave)
	if got := bodies(t, slave, "T", 0); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
}

// replication is what the tests make of slaves.
type replication struct {
	acked    atomic.Int64 // of all of them
	slaves   int
	status   PutStatus
	appended atomic.Int64
}

func (r *replication) Appended()                   { r.appended.Add(1) }
func (r *replication) Admit() PutStatus            { return PutOK }
func (r *replication) Need(int64) (int, PutStatus) { return r.slaves, r.status }
func (r *replication) Acked(int) int64             { return r.acked.Load() }

// What a sender hears of disk and slaves, and when.
func TestPutWaitsForSlaves(t *testing.T) {
	const never = time.Hour
	for name, c := range map[string]struct {
		slaves    int
		status    PutStatus
		props     string
		sync      bool
		disk, ack time.Duration // when they have it

		want   PutStatus
		answer time.Duration
	}{
		"none needed":                  {slaves: 0, ack: never},
		"at once":                      {slaves: 1, want: PutOK},
		"later":                        {slaves: 1, ack: time.Second, answer: time.Second},
		"too late":                     {slaves: 1, ack: never, want: FlushSlaveTimeout, answer: 2 * time.Second},
		"does not wait":                {slaves: 1, ack: never, props: "WAIT\x01false\x02"},
		"none there":                   {status: SlaveNotAvailable, want: SlaveNotAvailable},
		"none there, does not wait":    {status: SlaveNotAvailable, props: "WAIT\x01false\x02"},
		"disk later than slave":        {slaves: 1, sync: true, disk: time.Second, answer: time.Second},
		"slave later than disk":        {slaves: 1, sync: true, disk: 500 * time.Millisecond, ack: time.Second, answer: time.Second},
		"slave too late, disk in time": {slaves: 1, sync: true, disk: time.Second, ack: never, want: FlushSlaveTimeout, answer: 2 * time.Second},
		"disk too late, slave in time": {slaves: 1, sync: true, disk: 10 * time.Second, ack: time.Second, want: FlushDiskTimeout, answer: 5 * time.Second},
		"both too late":                {slaves: 1, sync: true, disk: 10 * time.Second, ack: never, want: FlushSlaveTimeout, answer: 5 * time.Second},
		"none there, with the disk":    {status: SlaveNotAvailable, sync: true, disk: time.Second, want: SlaveNotAvailable, answer: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &replication{slaves: c.slaves, status: c.status}
				cfg := testConfig(t.TempDir())
				cfg.SyncFlush, cfg.Replication = c.sync, r
				cfg.SlaveTimeout = func() time.Duration { return 2 * time.Second }
				s := openTest(t, cfg)
				toDisk := s.flush.toDisk
				s.flush.toDisk = func(least int) error {
					if c.sync {
						time.Sleep(c.disk)
					}
					return toDisk(least)
				}
				for _, put := range []func(*message.Message, func(PutResult)){s.Put, s.PutBatch} {
					m := newMessage("T", 0, "body", c.props)
					m.Body = message.AppendBatchEntry(nil, 0, []byte("body"), nil)
					r.acked.Store(0)
					if c.ack == 0 {
						r.acked.Store(1 << 40)
					}
					seen, began := r.appended.Load(), time.Now()
					results := make(chan PutResult, 2)
					put(m, func(r PutResult) { results <- r })
					if r.appended.Load() != seen+1 {
						t.Error("nobody is told that there is more")
					}
					if c.ack > 0 && c.ack < never {
						time.AfterFunc(c.ack, func() { r.acked.Store(1 << 40); s.Acknowledged() })
					}
					got := <-results
					if at := time.Since(began); got.Status != c.want || at != c.answer || got.Messages != 1 {
						t.Errorf("%+v after %v, want %d after %v", got, at, c.want, c.answer)
					}
					time.Sleep(time.Minute)
					if len(results) != 0 {
						t.Error("answered twice")
					}
				}
			})
		})
	}
}

// Who still waits when the store closes is answered.
func TestCloseAnswersWhoWaitsForSlaves(t *testing.T) {
	r := &replication{slaves: 1}
	cfg := testConfig(t.TempDir())
	cfg.Replication = r
	cfg.SlaveTimeout = func() time.Duration { return time.Hour }
	s := openTest(t, cfg)
	results := make(chan PutResult, 1)
	s.Put(newMessage("T", 0, "body", ""), func(r PutResult) { results <- r })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-results:
		if r.Status != FlushSlaveTimeout {
			t.Errorf("%+v", r)
		}
	default:
		t.Error("not answered")
	}
}
