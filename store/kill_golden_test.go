// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package store_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rocketmq-go/store/inspect"
)

// TestGoldenKilledJudgedByJava lets Java recover what a killed child left, too, and compares. Java's 4.9.7 and 5.3.3
// take turns. The index is left out: Java drops what may be incomplete in it.
func TestGoldenKilledJudgedByJava(t *testing.T) {
	golden := os.Getenv("ROCKETMQ_GOLDEN")
	if golden == "" {
		t.Fatal("ROCKETMQ_GOLDEN is not set")
	}
	const every = 20
	rounds := every
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	killRounds(t, rounds, func(t *testing.T, round int, dir string) {
		if round%every != every-1 && round != 0 {
			return
		}
		release, compat := "v5", "compatVersion=5.3.3"
		if round/every%2 == 1 {
			release, compat = "v4", "compatVersion=4.9.7"
		}
		options := []string{"what=queues,msgs,phy", "enableLmq=true", "enableMultiDispatch=true"}
		if release == "v5" {
			options = append(options, "mapperFileSizeBatchConsumeQueue=46000")
		}
		java, ours := copyOf(t, dir), copyOf(t, dir)
		cmd := exec.Command(filepath.Join(golden, "../peer/store-tools/run.sh"), append([]string{release, "StoreDump", java}, options...)...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("round %d: Java %s: %v\n%.2000s\n%.2000s", round, release, err, said.Bytes(), out)
		}
		o, err := inspect.ParseOptions(append(options, compat))
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
				t.Fatalf("round %d, Java %s sees something else: line %d of %d and %d\nJava %.500s\nGo   %.500s", round, release, i, len(w), len(g),
					append(w, make([]string, len(g))...)[i], append(g, make([]string, len(w))...)[i])
			}
		}
		t.Logf("round %d: Java %s prints the same %d lines", round, release, len(w))
	})
}

// dumpOf are the lines of a dump, without the times in the checkpoint.
func dumpOf(b []byte) []string {
	var out []string
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, `{"t"`) {
			l, _, _ = strings.Cut(l, `,"checkpoint`)
			out = append(out, l)
		}
	}
	return out
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
