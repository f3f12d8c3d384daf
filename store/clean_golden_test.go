// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package store_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rocketmq-go/store"
	"rocketmq-go/store/inspect"
)

// TestGoldenCleanedJudgedByJava deletes old files, with and without consume queues and index following, and lets Java
// print the directory after a clean stop and after a crash.
func TestGoldenCleanedJudgedByJava(t *testing.T) {
	golden := os.Getenv("ROCKETMQ_GOLDEN")
	if golden == "" {
		t.Fatal("ROCKETMQ_GOLDEN is not set")
	}
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			cleanedStore(t, dir)
			if crash { // between the log and the queues
				files, err := os.ReadDir(filepath.Join(dir, "commitlog"))
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files[:2] {
					if err := os.Remove(filepath.Join(dir, "commitlog", f.Name())); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, "abort"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			java, ours := copyOf(t, dir), copyOf(t, dir)
			what := "what=queues,msgs,phy,index"
			if crash { // Java indexes again what it has in the index
				what = "what=queues,msgs,phy"
			}
			out, err := exec.Command(filepath.Join(golden, "../peer/store-tools/run.sh"), "v5", "StoreDump", java, what, "allkeys=true").Output()
			if err != nil {
				t.Fatal(err)
			}
			o, err := inspect.ParseOptions([]string{what, "allkeys=true"})
			if err != nil {
				t.Fatal(err)
			}
			o.Store.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
			var got bytes.Buffer
			if err := inspect.Dump(ours, o, &got); err != nil {
				t.Fatal(err)
			}
			w, g := dumpOf(out), dumpOf(got.Bytes())
			for i := range max(len(w), len(g)) {
				if i >= len(w) || i >= len(g) || w[i] != g[i] {
					t.Fatalf("Java sees something else: line %d of %d and %d\nJava %.500s\nGo   %.500s", i, len(w), len(g),
						append(w, make([]string, len(g))...)[i], append(g, make([]string, len(w))...)[i])
				}
			}
			if !strings.Contains(string(out), `"topic":"Kill0"`) {
				t.Errorf("%.1000s", out)
			}
			t.Logf("Java prints the same %d lines", len(w))
		})
	}
}

// cleanedStore makes a store of which the older half was deleted.
func cleanedStore(t *testing.T, dir string) {
	t.Helper()
	cfg := killConfig(dir, 0)
	cfg.Cleaning = func() store.CleaningRules {
		return store.CleaningRules{FileReservedTime: time.Hour, DiskMaxUsedSpaceRatio: 1, DiskSpaceCleanForciblyRatio: 1, DiskSpaceWarningLevelRatio: 1}
	}
	cfg.DiskUsage = func(string) float64 { return 0.1 }
	s, err := store.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sent := 0
	for n := uint64(0); s.MaxPhyOffset() < 12<<20; n++ {
		m := seeded(n)
		if n < 100 {
			m.Topic = "Old"
		}
		s.Put(m, func(r store.PutResult) { sent++ })
	}
	for s.DispatchBehind() > 0 {
		time.Sleep(time.Millisecond)
	}
	then := time.Now().Add(-2 * time.Hour)
	for n := range int64(6) {
		if err := os.Chtimes(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", n<<20)), then, then); err != nil {
			t.Fatal(err)
		}
	}
	s.CleanNow(store.CleanCommitLog)
	for start := time.Now(); s.MinPhyOffset() != 6<<20 || s.MinOffset("Kill0", 0) == 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the log begins at %d, the queue at %d", s.MinPhyOffset(), s.MinOffset("Kill0", 0))
		}
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		lo, hi := s.MinOffset("Old", 0), s.MaxOffset("Old", 0)
		if lo == hi && lo > 0 {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("[%d,%d) of a topic whose messages are all gone", lo, hi)
		}
	}
	if hits := s.QueryIndex("Old", "5", 10, 0, math.MaxInt64); len(hits.PhyOffsets) != 0 {
		t.Error(hits)
	}
}
