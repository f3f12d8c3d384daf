// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rocketmq-go/store/segment"
)

// Somebody makes files of a running store shorter. What is gone cannot be read, and nothing is acknowledged any more that
// would go there; the process lives on, and the next start names the file.
func TestShortenedFiles(t *testing.T) {
	const n = 30
	for _, c := range []struct {
		part     string // of the paths that are cut
		size     int64
		pending  bool // with records that are not dispatched yet
		refused  bool
		startErr bool
	}{
		{"commitlog", 0, false, true, true},
		{"commitlog", 4096, false, true, true},
		{"commitlog", 0, true, true, true},
		{"index", 0, false, false, false},
		{"consumequeue", 0, false, false, true},
	} {
		t.Run(fmt.Sprintf("%s to %d, pending %v", c.part, c.size, c.pending), func(t *testing.T) {
			cfg := testConfig(t.TempDir())
			s, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if c.pending {
				s.dispatch.mu.Lock()
			}
			body := strings.Repeat("b", 500)
			for i := range n {
				put(t, s, newMessage("T", 0, body, fmt.Sprintf("UNIQ_KEY\x01u%d\x02TAGS\x01a\x02", i)))
			}
			if !c.pending {
				visible(t, s)
			}
			shorten(t, filepath.Join(cfg.Dir, c.part), c.size)
			if c.pending {
				s.dispatch.mu.Unlock()
				until(t, "messages are refused", func() bool { return !s.Writable() })
			}
			for i := range int64(n) {
				_, res := s.Get(nil, GetRequest{Topic: "T", Offset: i, MaxCount: 1})
				if res.Status == Found && c.part == "commitlog" && c.size == 0 {
					t.Errorf("message %d was found: %+v", i, res)
				}
			}
			for i := range int64(n) {
				s.StoreTime("T", 0, i)
				s.OffsetByTime("T", 0, 1700000000000, Lower)
				s.QueryIndex("T", fmt.Sprint("u", i), 32, 0, 1<<60)
				s.Record(nil, i*600, 0)
				s.Unit("T", 0, i)
				s.Ext("T", 0, i)
			}
			var statuses []PutStatus
			for range 3 {
				s.Put(newMessage("T", 0, body, "UNIQ_KEY\x01v\x02"), func(r PutResult) { statuses = append(statuses, r.Status) })
			}
			for _, status := range statuses {
				if c.refused != (status == ServiceNotAvailable) || len(statuses) != 3 {
					t.Errorf("statuses %v", statuses)
				}
			}
			_ = s.Close()
			again, err := Open(cfg)
			var size *segment.SizeError
			if c.startErr != errors.As(err, &size) {
				t.Errorf("the next start: %v", err)
			}
			if again != nil {
				visible(t, again)
				if bodies := bodies(t, again, "T", 0); len(bodies) < n {
					t.Errorf("%d messages at the next start", len(bodies))
				}
				again.Close()
			}
		})
	}
}

// A mapping whose file is gone is noticed before somebody else reads it.
func TestReadable(t *testing.T) {
	s := openTest(t, testConfig(t.TempDir()))
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(3 * 4096); err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 3*4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b) //nolint:errcheck // the test is over
	for _, c := range []struct {
		size int64
		b    []byte
		want bool
	}{
		{3 * 4096, b, true},
		{3 * 4096, nil, true},
		{2 * 4096, b, false},
		{2 * 4096, b[100 : 2*4096+1], false},
		{2 * 4096, b[:2*4096], true},
		{0, b[:1], false},
	} {
		if err := f.Truncate(c.size); err != nil {
			t.Fatal(err)
		}
		if got := s.readable(c.b); got != c.want {
			t.Errorf("%d bytes of a file of %d: %v", len(c.b), c.size, got)
		}
	}
}

// shorten cuts all files below a directory.
func shorten(t *testing.T, dir string, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Truncate(path, size)
	})
	if err != nil {
		t.Fatal(err)
	}
}
