// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package web

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"

	"golang.org/x/sys/unix"

	"rocketmq-go/telemetry/metric"
)

// runtimeMetrics are those of Go's that are told, under the names that Prometheus' own clients use.
var runtimeMetrics = []struct{ source, name, help, kind string }{
	{"/sched/goroutines:goroutines", "go_goroutines", "Goroutines.", "gauge"},
	{"/memory/classes/heap/objects:bytes", "go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", "gauge"},
	{"/memory/classes/total:bytes", "go_memstats_sys_bytes", "Bytes that Go has of the system; files that are mapped are not in it.", "gauge"},
	{"/gc/heap/allocs:bytes", "go_memstats_alloc_bytes_total", "Bytes that were allocated.", "counter"},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total", "Garbage collections.", "counter"},
}

// Process writes what belongs to the process, not to one of its servers.
func Process(w *metric.Writer) {
	samples := make([]metrics.Sample, len(runtimeMetrics))
	for i := range samples {
		samples[i].Name = runtimeMetrics[i].source
	}
	metrics.Read(samples)
	for i, m := range runtimeMetrics {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			continue
		}
		f := w.Gauge(m.name, m.help)
		if m.kind == "counter" {
			f = w.Counter(m.name, m.help)
		}
		f.Value(float64(samples[i].Value.Uint64()))
	}
	w.Gauge("go_info", "The version of Go.").Value(1, "version", runtime.Version())
	system(w)
}

// system writes what the system knows of the process.
func system(w *metric.Writer) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		seconds := func(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
		w.Counter("process_cpu_seconds_total", "Processor time.").Value(seconds(used.Utime) + seconds(used.Stime))
		w.Counter("process_major_page_faults_total", "Reads of mapped files that had to wait for the disk.").Value(float64(used.Majflt))
	}
	for _, m := range statusMetrics {
		if kb, ok := status(m.key); ok {
			w.Gauge(m.name, m.help).Value(float64(kb) * 1024)
		}
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		w.Gauge("process_open_fds", "Open file descriptors.").Value(float64(len(fds)))
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		w.Gauge("process_max_fds", "File descriptors that may be open.").Value(float64(limit.Cur))
	}
}

var statusMetrics = []struct{ key, name, help string }{
	{"VmRSS", "process_resident_memory_bytes", "Memory, pages of mapped files included."},
	{"RssAnon", "process_anonymous_memory_bytes", "Memory without pages of mapped files."},
}

// status reads a line of /proc/self/status, kB.
func status(key string) (int64, bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(key+":"))
		if !ok {
			continue
		}
		if fields := bytes.Fields(rest); len(fields) > 0 {
			n, err := strconv.ParseInt(string(fields[0]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
