// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rocketmq-go/store/segment"
)

// countingDisk counts what is made durable, and does it if it is told to.
type countingDisk struct {
	segment.OS
	real        bool
	files, dirs atomic.Int64
}

func (d *countingDisk) Sync(fd int, path string, mapped []byte, from, to int64) error {
	d.files.Add(1)
	if !d.real {
		return nil
	}
	return d.OS.Sync(fd, path, mapped, from, to)
}

func (d *countingDisk) SyncDir(dir string) error {
	d.dirs.Add(1)
	if !d.real {
		return nil
	}
	return d.OS.SyncDir(dir)
}

// entries counts what a directory of /proc or a file of lines has.
func entries(t testing.TB, path string) int {
	t.Helper()
	if files, err := os.ReadDir(path); err == nil {
		return len(files)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// reads are the system calls with which the process has read so far, and their bytes.
func reads(t testing.TB) (calls, bytes int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseInt(text, 10, 64)
		switch name {
		case "syscr":
			calls = n
		case "rchar":
			bytes = n
		}
	}
	return calls, bytes
}

// kill leaves a directory as a process does that is killed, or, with power, a machine that goes down.
func kill(t testing.TB, cfg Config, power bool) {
	t.Helper()
	s, err := newStore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.release()
	if power { // the machine is another one
		overwrite(t, filepath.Join(cfg.Dir, "checkpoint"), hintPos+8, make([]byte, hintSize-8))
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// Many queues, ten to a topic: they cost little memory, few descriptors and no mappings, and nobody looks at all of them
// but the start. ROCKETMQ_SCALE_QUEUES=100000 is the size that is promised; timings are only told.
func TestManyQueues(t *testing.T) {
	queues, dir := 20000, memoryDir(t)
	if testing.Short() {
		queues = 2000
	}
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_SCALE_QUEUES")); err == nil {
		queues, dir = n, t.TempDir()
	}
	const perTopic = 10
	disk := &countingDisk{real: os.Getenv("ROCKETMQ_SCALE_QUEUES") != ""}
	cfg := testConfig(dir)
	cfg.CommitLogFileSize, cfg.ConsumeQueueFileSize, cfg.IndexSlots, cfg.IndexUnits = 64<<20, 6000000, 500000, 2000000
	cfg.disk = disk
	before, start, cpu := heap(), time.Now(), cpuTime()
	fds, maps := entries(t, "/proc/self/fd"), entries(t, "/proc/self/maps")
	say := func(what string) {
		t.Logf("%s: %v (%v of CPU), %d files and %d directories synced", what, time.Since(start).Round(time.Millisecond),
			(cpuTime() - cpu).Round(time.Millisecond), disk.files.Swap(0), disk.dirs.Swap(0))
		start, cpu = time.Now(), cpuTime()
	}
	s := openTest(t, cfg)
	for i := range queues {
		put(t, s, newMessage(fmt.Sprint("Topic", i/perTopic), int32(i%perTopic), "body", benchProps))
		if i%1000 == 999 { // the dispatcher, which makes files, is slower
			visible(t, s)
		}
	}
	visible(t, s)
	say(fmt.Sprintf("first message in each of %d queues", queues))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	say("stop with all of them dirty")

	starts := func(what string) *Store {
		calls, bytes := reads(t)
		start, cpu = time.Now(), cpuTime()
		s := openTest(t, cfg)
		say(what)
		callsNow, bytesNow := reads(t)
		if calls, bytes = callsNow-calls, bytesNow-bytes; calls > int64(queues)*11/10+1000 || bytes > int64(queues)*5000+4<<20 {
			t.Errorf("%s: %d system calls read %d bytes", what, calls, bytes)
		}
		if n := len(s.allQueues()); n != queues {
			t.Fatalf("%s: %d queues", what, n)
		}
		return s
	}
	s = starts("start")
	if per := (heap() - before) / int64(queues); per > 2048 {
		t.Errorf("%d bytes of memory for each idle queue", per)
	} else {
		t.Logf("%d bytes of memory for each idle queue", per)
	}
	if n := entries(t, "/proc/self/fd") - fds; n > queueDescriptors()+20 {
		t.Errorf("%d descriptors", n)
	}
	if n := entries(t, "/proc/self/maps") - maps; n > 100 {
		t.Errorf("%d mappings", n)
	}
	disk.files.Store(0)
	disk.dirs.Store(0)
	s.upkeep.round(true)
	s.cleaner.follow()
	if f, d := disk.files.Load(), disk.dirs.Load(); f+d > 2 {
		t.Errorf("%d files and %d directories are synced while nothing is stored", f, d)
	}
	start, cpu = time.Now(), cpuTime()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	say("idle stop")
	for _, power := range []bool{false, true} {
		kill(t, cfg, power)
		if err := starts(fmt.Sprintf("start after a crash, power failure %v", power)).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkStart opens a store of many queues (ROCKETMQ_SCALE_QUEUES, else 10,000) with a message each.
func BenchmarkStart(b *testing.B) {
	queues := 10000
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_SCALE_QUEUES")); err == nil {
		queues = n
	}
	cfg := benchConfig(b)
	cfg.disk = new(countingDisk)
	s := openTest(b, cfg)
	for i := range queues {
		put(b, s, newMessage(fmt.Sprint("Topic", i/10), int32(i%10), "body", benchProps))
		if i%1000 == 999 {
			visible(b, s)
		}
	}
	visible(b, s)
	s.Close()
	for _, before := range []string{"stop", "kill", "power"} {
		b.Run(before, func(b *testing.B) {
			b.ReportAllocs()
			used := time.Duration(0)
			for range b.N {
				b.StopTimer()
				if before != "stop" {
					kill(b, cfg, before == "power")
				}
				b.StartTimer()
				began := cpuTime()
				s := openTest(b, cfg)
				used += cpuTime() - began
				b.StopTimer()
				s.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*queues), "cpu-ns/queue")
		})
	}
}
