// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package logs_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/telemetry/logs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o logs.Options) (*slog.Logger, *logs.Files) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "logs", "rocketmqlogs")
	}
	if o.Main == "" {
		o.Main = "broker"
	}
	f, err := logs.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return slog.New(f.Handler()), f
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLinesAndFiles(t *testing.T) {
	dir := t.TempDir()
	var level slog.LevelVar
	log, _ := open(t, logs.Options{Dir: dir, Level: &level})
	store := log.With("shard", 1).With(logs.File, "store", "disk", "a b")
	log.Info("topic changed", "topic", "T", "queues", 4, "remark", "", "error", errors.New("no = sign"))
	store.Warn("two\nlines", slog.Group("g", "x", 1, "y", "ä"))
	store.WithGroup("w").With("k", true).Error("grouped", "z", time.Duration(1500)*time.Millisecond)
	log.Debug("not shown")
	level.Set(slog.LevelDebug)
	log.Debug("shown now")
	store.Debug("here too")
	level.Set(slog.LevelError)
	log.Warn("not any more")

	want := map[string][]string{
		"broker.log": {
			`INFO broker - topic changed topic=T queues=4 remark="" error="no = sign"`, `DEBUG broker - shown now`,
		},
		"store.log": {
			`WARN store - two\nlines shard=1 disk="a b" g.x=1 g.y=ä`, `ERROR store - grouped shard=1 disk="a b" w.k=true w.z=1.5s`,
			`DEBUG store - here too shard=1 disk="a b"`,
		},
	}
	for name, lines := range want {
		var got []string
		for line := range strings.Lines(read(t, filepath.Join(dir, name))) {
			if _, err := time.Parse("2006-01-02 15:04:05", line[:19]); err != nil {
				t.Error(err)
			}
			got = append(got, strings.TrimSuffix(line[20:], "\n"))
		}
		if !slices.Equal(got, lines) {
			t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
}

func TestJSON(t *testing.T) {
	dir := t.TempDir()
	log, _ := open(t, logs.Options{Dir: dir, Main: "namesrv", JSON: true})
	log.With(logs.File, "namesrv", "from", "x").Info("broker registered", "broker", "b\"1")
	var line map[string]any
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "namesrv.log"))), &line); err != nil {
		t.Fatal(err)
	}
	if line["msg"] != "broker registered" || line["broker"] != "b\"1" || line["from"] != "x" || line["level"] != "INFO" || line["time"] == nil {
		t.Errorf("%v", line)
	}
}

// old reads an old file, whether or not it is compressed.
func old(t *testing.T, dir, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "otherdays", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRotation(t *testing.T) {
	dir := t.TempDir()
	o := logs.Options{Dir: dir, Rotations: map[string]logs.Rotation{"broker": {Size: 120, Keep: 3}}}
	log, f := open(t, o)
	// Two lines of 54 bytes fit.
	line := func(n string) string { return "line " + n + strings.Repeat(".", 13) }
	for _, n := range strings.Fields("1 2 3 4 5 6 7 8 9") {
		log.Info(line(n))
	}
	f.Close()
	log, f = open(t, o) // goes on where it was
	log.Info(line("A"))
	log.Info(line("B"))
	f.Close()
	for name, want := range map[string]string{"broker.1.log.gz": "9A", "broker.2.log.gz": "78", "broker.3.log.gz": "56"} {
		text := old(t, dir, name)
		for _, n := range want {
			if !strings.Contains(text, line(string(n))) || strings.Count(text, "\n") != 2 {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
	if text := read(t, filepath.Join(dir, "broker.log")); strings.Count(text, "\n") != 1 || !strings.Contains(text, line("B")) {
		t.Errorf("broker.log: %q", text)
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "otherdays", "*")); len(all) != 3 {
		t.Errorf("%v", all)
	}
}

func TestNothingIsTornOrLostWhileManyLog(t *testing.T) {
	dir := t.TempDir()
	log, f := open(t, logs.Options{Dir: dir, Rotations: map[string]logs.Rotation{"broker": {Size: 20_000, Keep: 100}}})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 250 {
				log.Info("entry", "of", n, "number", i, "pad", strings.Repeat("p", 40))
			}
		})
	}
	all.Wait()
	f.Close()
	text := read(t, filepath.Join(dir, "broker.log"))
	files, _ := filepath.Glob(filepath.Join(dir, "otherdays", "*.gz"))
	for _, name := range files {
		text += old(t, dir, filepath.Base(name))
	}
	n := 0
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, " pad="+strings.Repeat("p", 40)+"\n") {
			t.Errorf("torn: %q", line)
		}
		n++
	}
	if n != 1000 || len(files) < 3 {
		t.Errorf("%d lines in %d old files", n, len(files))
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := logs.Open(logs.Options{Dir: filepath.Join(file, "logs"), Main: "broker"}); err == nil {
		t.Error("no error")
	}
}

func TestRotationThatFailsLosesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "otherdays"), nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	log, _ := open(t, logs.Options{Dir: dir, Rotations: map[string]logs.Rotation{"broker": {Size: 10, Keep: 1}}})
	for range 3 {
		log.Info("said")
	}
	if got := strings.Count(read(t, filepath.Join(dir, "broker.log")), "said"); got != 3 {
		t.Errorf("%d lines", got)
	}
}

func BenchmarkLine(b *testing.B) {
	f, err := logs.Open(logs.Options{Dir: b.TempDir(), Main: "broker"})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	log := slog.New(f.Handler())
	b.Run("written", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			log.LogAttrs(context.Background(), slog.LevelInfo, "topic changed", slog.String("topic", "T"), slog.Int("queues", 4))
		}
	})
	b.Run("below the level", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			log.LogAttrs(context.Background(), slog.LevelDebug, "topic changed", slog.String("topic", "T"), slog.Int("queues", 4))
		}
	})
}
