// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/message"
)

// benchConfig has the sizes of a real broker.
func benchConfig(b *testing.B) Config {
	cfg := testConfig(b.TempDir())
	cfg.CommitLogFileSize, cfg.ConsumeQueueFileSize, cfg.IndexSlots, cfg.IndexUnits = 1<<30, 6000000, 5000000, 20000000
	return cfg
}

// cpu reports the process' CPU time per operation: all goroutines, dispatching and page faults included.
func cpu(b *testing.B, start time.Duration) {
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
}

func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchProps = "UNIQ_KEY\x017F0000010000000B0000000000000075\x02WAIT\x01true\x02TAGS\x01t\x02"

// benchPuts measures n puts until they are dispatched.
func benchPuts(b *testing.B, s *Store, n int, put func(i int, done func(PutResult))) {
	bad := 0
	done := func(r PutResult) {
		if r.Status != PutOK {
			bad++
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime()
	for i := range n {
		put(i, done)
	}
	b.StopTimer()
	for s.DispatchBehind() > 0 {
		time.Sleep(time.Millisecond)
	}
	cpu(b, start)
	if bad > 0 {
		b.Fatalf("%d puts refused", bad)
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{100, 1024, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := openTest(b, benchConfig(b))
			m := newMessage("Bench", 0, strings.Repeat("x", size), benchProps)
			// no more than fits into a few files
			benchPuts(b, s, min(b.N, 4<<30/(size+200)), func(i int, done func(PutResult)) {
				m.QueueID = int32(i % 8)
				s.Put(m, done)
			})
		})
	}
}

// batchOf32 has 32 messages of 1 KiB in its body.
func batchOf32(props string) *message.Message {
	m := newMessage("Bench", 0, "", props)
	m.Body = nil
	for i := range 32 {
		m.Body = message.AppendBatchEntry(m.Body, 0, make([]byte, 1024), fmt.Appendf(nil, "UNIQ_KEY\x017F0000010000000B00000000000000%02d\x02", i))
	}
	return m
}

func BenchmarkPutBatch32(b *testing.B) {
	s, m := openTest(b, benchConfig(b)), batchOf32("WAIT\x01true\x02")
	benchPuts(b, s, b.N, func(_ int, done func(PutResult)) { s.PutBatch(m, done) })
}

// BenchmarkPutInner32 stores the same batch as one record.
func BenchmarkPutInner32(b *testing.B) {
	cfg := benchConfig(b)
	cfg.BatchTopic = func(string) bool { return true }
	s, m := openTest(b, cfg), batchOf32("INNER_NUM\x0132\x02WAIT\x01true\x02UNIQ_KEY\x017F0000010000000B0000000000000001\x02"+
		"CLUSTER\x01DefaultCluster\x02MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02")
	m.SysFlag = message.SysInnerBatch | message.SysNeedUnwrap
	benchPuts(b, s, b.N, func(_ int, done func(PutResult)) { s.Put(m, done) })
}

// BenchmarkPutSyncFlush is to be held against "device", which is all that one sender at a time can have: the disk's own
// fdatasync behind each KiB. With several senders one fdatasync serves many.
func BenchmarkPutSyncFlush(b *testing.B) {
	b.Run("device", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "file"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := unix.Fallocate(int(f.Fd()), 0, 0, 64<<20); err != nil {
			b.Fatal(err)
		}
		record := make([]byte, 1200)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := f.WriteAt(record, int64(i*len(record)%(63<<20))); err != nil {
				b.Fatal(err)
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, inFlight := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint(inFlight), func(b *testing.B) {
			cfg := benchConfig(b)
			cfg.SyncFlush = true
			s := openTest(b, cfg)
			m := newMessage("Bench", 0, strings.Repeat("x", 1024), benchProps)
			slots := make(chan struct{}, inFlight)
			var wg sync.WaitGroup
			wg.Add(b.N)
			done := func(r PutResult) {
				<-slots
				wg.Done()
			}
			b.ReportAllocs()
			b.ResetTimer()
			start := cpuTime()
			for range b.N {
				slots <- struct{}{}
				s.Put(m, done)
			}
			wg.Wait()
			b.StopTimer()
			cpu(b, start)
		})
	}
}

func BenchmarkGetHot(b *testing.B) {
	s := openTest(b, benchConfig(b))
	const queues, n = 8, 32000
	for i := range n {
		put(b, s, newMessage("Bench", int32(i%queues), strings.Repeat("x", 1024), benchProps))
	}
	visible(b, s)
	dst := make([]byte, 0, 1<<20)
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime()
	for i := range b.N {
		buf, res := s.Get(dst, GetRequest{Topic: "Bench", QueueID: int32(i % queues), Offset: int64(i * 32 % (n/queues - 32)), MaxCount: 32})
		if res.Count != 32 || len(buf) == 0 {
			b.Fatalf("%+v", res)
		}
	}
	cpu(b, start)
}

// BenchmarkGetCold reads 32 messages a time that are not in memory: each time other ones, and all are dropped from the
// page cache before they come again.
func BenchmarkGetCold(b *testing.B) {
	cfg := benchConfig(b)
	s := openTest(b, cfg)
	const queues, n = 8, 160000
	for i := range n {
		put(b, s, newMessage("Bench", int32(i%queues), strings.Repeat("x", 1024), benchProps))
	}
	visible(b, s)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = openTest(b, cfg)
	drop := func() {
		f, err := os.Open(s.cl.Sequence().Files()[0].Path())
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			b.Fatal(err)
		}
	}
	dst := make([]byte, 0, 1<<20)
	const windows = n / queues / 64 // the newest half of the log is taken to be in memory
	b.ReportAllocs()
	b.ResetTimer()
	start := cpuTime()
	for i := range b.N {
		if i%(windows*queues) == 0 {
			b.StopTimer()
			drop()
			b.StartTimer()
		}
		at := i / queues % windows * 97 % windows
		buf, res := s.Get(dst, GetRequest{Topic: "Bench", QueueID: int32(i % queues), Offset: int64(at * 32), MaxCount: 32})
		if res.Count == 0 || len(buf) == 0 {
			b.Fatalf("%+v", res)
		}
	}
	cpu(b, start)
}

func BenchmarkQueryIndex(b *testing.B) {
	s := openTest(b, benchConfig(b))
	const n = 50000
	for i := range n {
		put(b, s, newMessage("Bench", int32(i%8), "body", fmt.Sprintf("UNIQ_KEY\x01%032d\x02", i)))
	}
	visible(b, s)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if res := s.QueryIndex("Bench", fmt.Sprintf("%032d", i%n), 32, 0, math.MaxInt64); len(res.PhyOffsets) != 1 {
			b.Fatalf("%+v", res)
		}
	}
}

// BenchmarkRecover opens a store of 1 GiB in 1 KiB messages that is in the page cache: after the process was killed, and
// as after a power failure or a crash of Java.
func BenchmarkRecover(b *testing.B) {
	cfg := benchConfig(b)
	s, err := Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	m := newMessage("Bench", 0, strings.Repeat("x", 1024), benchProps)
	for i := 0; s.MaxPhyOffset() < 1<<30; i++ {
		m.QueueID = int32(i % 8)
		s.Put(m, func(PutResult) {})
	}
	visible(b, s)
	s.Close()
	b.Run("killed", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			b.StopTimer()
			before, err := newStore(cfg)
			if err != nil {
				b.Fatal(err)
			}
			for range 1000 { // since the last checkpoint
				before.Put(m, func(PutResult) {})
			}
			before.release()
			b.StartTimer()
			again, err := Open(cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			again.Close()
			b.StartTimer()
		}
	})
	b.Run("power", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if err := os.WriteFile(s.abortPath(), nil, 0o644); err != nil {
				b.Fatal(err)
			}
			again, err := Open(cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			again.Close()
			b.StartTimer()
		}
	})
}

// BenchmarkOpenEmpty is what a store adds to the start of a broker: until its first message is stored.
func BenchmarkOpenEmpty(b *testing.B) {
	for range b.N {
		b.StopTimer()
		cfg := benchConfig(b)
		b.StartTimer()
		s, err := Open(cfg)
		if err != nil {
			b.Fatal(err)
		}
		put(b, s, newMessage("Bench", 0, "body", benchProps))
		b.StopTimer()
		s.Close()
		os.RemoveAll(cfg.Dir)
		b.StartTimer()
	}
}

// A round of the cleaner in which nothing is due costs the same with 100,000 queues as with none.
func BenchmarkIdleCleaner(b *testing.B) {
	for _, queues := range []int32{0, 100000} {
		b.Run(fmt.Sprint(queues, " queues"), func(b *testing.B) {
			c := &cleaningTest{t: b}
			c.open(b.TempDir(), func(cfg *Config) { cfg.DiskUsage = nil })
			for id := range queues {
				if _, err := c.s.queueFor("T", id); err != nil {
					b.Fatal(err)
				}
			}
			r := c.s.cleaner.rules()
			b.ReportAllocs()
			for b.Loop() {
				c.s.cleaner.disk.look(&r)
				c.s.cleaner.cleanLog()
				c.s.cleaner.follow()
			}
		})
	}
}
