// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

func testLog(*testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

var host = netip.MustParseAddrPort("127.0.0.1:10911")

func record(offset int64, key, body string) []byte {
	m := message.Message{Topic: "Compact", BornHost: host, StoreHost: host, Body: []byte(body)}
	if key != "" {
		m.Properties = message.AppendProperty(nil, message.PropKeys, key)
	}
	m.Properties = message.AppendProperty(m.Properties, message.PropTags, "T"+body)
	return message.AppendRecord(nil, &m, message.BodyCRC(m.Body), message.Position{QueueOffset: offset, PhyOffset: offset * 1000, StoreTimestamp: offset})
}

// fill appends messages of ten keys with the queue offsets [from, to).
func fill(t *testing.T, l *Log, from, to int64) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := l.Append(record(i, fmt.Sprint("k", i%10), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the queue offsets of all messages, read in steps.
func contents(t *testing.T, l *Log) (list []int64) {
	t.Helper()
	for next := int64(0); next < l.Next(); {
		body, res, err := l.Get(nil, store.GetRequest{Offset: next, MaxCount: 7})
		if err != nil {
			t.Fatal(err)
		}
		if res.NextBeginOffset <= next {
			t.Fatal("no progress at", next, res)
		}
		next = res.NextBeginOffset
		list = append(list, offsets(t, body)...)
	}
	return list
}

func span(from, to int64) (list []int64) {
	for ; from < to; from++ {
		list = append(list, from)
	}
	return list
}

func TestAppendTwiceAndWithoutKeys(t *testing.T) {
	l := open(t, options(t, t.TempDir(), 0))
	fill(t, l, 0, 5)
	fill(t, l, 3, 8)
	for _, key := range []string{"", " "} {
		if err := l.Append(record(8, key, "x")); !errors.Is(err, ErrKey) {
			t.Error(err)
		}
	}
	if err := l.Append(record(9, "k", strings.Repeat("x", 9000))); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if err := l.Append([]byte("no record")); !errors.Is(err, message.ErrRecord) {
		t.Error(err)
	}
	fill(t, l, 10, 12)
	if got := contents(t, l); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5, 6, 7, 10, 11}) {
		t.Error(got)
	}
	if l.First() != 0 || l.Next() != 12 {
		t.Error(l.First(), l.Next())
	}
}

// What a table of keys that is too small for all of them leaves over is done by the next Compact.
func TestCompactWithLittleMemory(t *testing.T) {
	o := options(t, t.TempDir(), 0)
	o.KeyMemory = 0 // 100 keys
	l := open(t, o)
	for i := range int64(300) {
		if err := l.Append(record(i, fmt.Sprint("k", i%150), "x")); err != nil {
			t.Fatal(err)
		}
	}
	position, rounds := int64(-1), 0
	for {
		next, err := l.Compact(t.Context(), position)
		if err != nil {
			t.Fatal(err)
		}
		if next == position {
			break
		}
		position = next
		rounds++
	}
	got := contents(t, l)
	slices.Sort(got)
	if rounds < 2 || len(got) >= 200 || got[0] < 100 {
		t.Errorf("%d rounds left %d messages from %d on", rounds, len(got), got[0])
	}
	newest := map[int64]bool{}
	for _, off := range got {
		newest[off%150] = true
	}
	if len(newest) != 150 {
		t.Error(len(newest), "keys are left")
	}
}

// A message without body deletes its key; when nothing is left the files before the last one go.
func TestTombstones(t *testing.T) {
	l := open(t, options(t, t.TempDir(), 0))
	for i := range int64(19) {
		body := ""
		if i < 10 {
			body = "x"
		}
		if err := l.Append(record(i, fmt.Sprint("k", i%10), body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Append(record(19, "k9", "")); err != nil {
		t.Fatal(err)
	}
	// k9's deletion stands in the last file, which is not looked at
	if position, err := l.Compact(t.Context(), -1); err != nil || position != 18 {
		t.Fatal(position, err)
	}
	if got := contents(t, l); !slices.Equal(got, []int64{9, 19}) {
		t.Error(got)
	}
	for i := int64(20); i < 39; i++ {
		if err := l.Append(record(i, "k9", "")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Compact(t.Context(), 18); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, l); !slices.Equal(got, []int64{38}) || l.Files() != 1 {
		t.Error(got, l.Files())
	}
}

// Whatever happens between the steps of a replacement, the next Open finishes it, or keeps what was.
func TestReplacementIsFinished(t *testing.T) {
	o := options(t, t.TempDir(), 0)
	l := open(t, o)
	fill(t, l, 0, 100)
	before := contents(t, l)
	old := l.ended(-1)
	k, err := l.keysAfter(t.Context(), old, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.remake(t.Context(), old, k); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("+00000000000000000000\n")
	for _, p := range old[1:] {
		text.WriteString("-" + p.name + "\n")
	}
	kill := func(change func(root string)) []int64 { // a copy of the directory as it was at a kill
		t.Helper()
		c := o
		c.Dir = t.TempDir()
		if err := os.CopyFS(c.Dir, os.DirFS(o.Dir)); err != nil {
			t.Fatal(err)
		}
		change(c.Dir)
		l := open(t, c)
		if _, err := os.Stat(filepath.Join(l.logDir, makingDir)); !errors.Is(err, fs.ErrNotExist) {
			t.Error("compacting is still there:", err)
		}
		return contents(t, l)
	}
	if got := kill(func(string) {}); !slices.Equal(got, before) {
		t.Error("without journal:", got)
	}
	after := slices.Concat(span(85, 95), span(95, 100))
	steps := []string{"queue +", "queue -", "log +", "log -"}
	for n := range len(steps) + 1 {
		got := kill(func(root string) {
			logDir, queueDir := filepath.Join(root, "compactionLog/Compact/0"), filepath.Join(root, "compactionCq/Compact/0")
			if err := writeSynced(filepath.Join(logDir, makingDir), journal, text.String()); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps[:n] {
				dir := logDir
				if strings.HasPrefix(step, "queue") {
					dir = queueDir
				}
				if strings.HasSuffix(step, "+") {
					err = os.Rename(filepath.Join(dir, makingDir, old[0].name), filepath.Join(dir, old[0].name))
				} else {
					err = os.Remove(filepath.Join(dir, old[1].name)) // only some of them
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		if !slices.Equal(got, after) {
			t.Errorf("killed after %v: %v", steps[:n], got)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, next := range []int64{0, 1, 18, 19, 20, 70, 99, 100, 200} {
		o := options(t, t.TempDir(), 0)
		l := open(t, o)
		fill(t, l, 0, 100)
		if err := l.Truncate(next); err != nil {
			t.Fatal(err)
		}
		want := span(0, min(next, 100))
		if got := contents(t, l); !slices.Equal(got, want) {
			t.Errorf("%d: %v", next, got)
		}
		fill(t, l, min(next, 100), 120)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, open(t, o)); !slices.Equal(got, span(0, 120)) {
			t.Errorf("%d, filled up again: %v", next, got)
		}
	}
}

// After a crash of the machine what did not reach the disk ends the log, and can be appended again.
func TestAfterCrash(t *testing.T) {
	for name, damage := range map[string]func(l *Log) error{
		"a record":  func(l *Log) error { return zero(filepath.Join(l.logDir, l.files[len(l.files)-1].name), 500, 40) },
		"a body":    func(l *Log) error { return zero(filepath.Join(l.logDir, l.files[len(l.files)-1].name), 88, 2) },
		"units":     func(l *Log) error { return zero(filepath.Join(l.queueDir, l.files[len(l.files)-1].name), 92, 400) },
		"a file":    func(l *Log) error { return os.Remove(filepath.Join(l.logDir, l.files[len(l.files)-1].name)) },
		"its queue": func(l *Log) error { return os.Remove(filepath.Join(l.queueDir, l.files[len(l.files)-1].name)) },
	} {
		o := options(t, t.TempDir(), 0)
		l := open(t, o)
		fill(t, l, 0, 93)
		if err := errors.Join(damage(l), l.Close()); err != nil {
			t.Fatal(name, err)
		}
		o.AfterCrash = true
		l = open(t, o)
		if next := l.Next(); next < 76 || next >= 93 {
			t.Errorf("%s: %d", name, next)
		}
		fill(t, l, l.Next(), 100)
		if got := contents(t, l); !slices.Equal(got, span(0, 100)) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func zero(path string, at int64, n int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, n), at)
	return errors.Join(err, f.Close())
}

// Readers see every key's newest message at every moment of a Compact.
func TestReadWhileCompacting(t *testing.T) {
	l := open(t, options(t, t.TempDir(), 0))
	fill(t, l, 0, 50)
	done := make(chan error)
	go func() {
		position := int64(-1)
		for i := int64(50); i < 1000; i += 10 {
			for j := i; j < i+10; j++ {
				if err := l.Append(record(j, fmt.Sprint("k", j%10), "x")); err != nil {
					done <- err
					return
				}
			}
			var err error
			if position, err = l.Compact(t.Context(), position); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		keys := map[int64]bool{}
		for _, off := range contents(t, l) {
			keys[off%10] = true
		}
		if len(keys) != 10 {
			t.Error("keys", slices.Collect(maps.Keys(keys)))
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			if got := contents(t, l); len(got) > 60 {
				t.Error(len(got), "messages are left")
			}
			return
		default:
		}
	}
}

type matcher struct{ tag int64 }

func (m matcher) MatchUnit(tag int64) bool      { return tag == m.tag }
func (m matcher) MatchRecord(props []byte) bool { return strings.Contains(string(props), "k3") }
func (m matcher) NeedRecord() bool              { return true }

func TestFilter(t *testing.T) {
	l := open(t, options(t, t.TempDir(), 0))
	fill(t, l, 0, 60)
	body, res, err := l.Get(nil, store.GetRequest{Offset: 0, MaxCount: 32, Match: matcher{message.TagsCode([]byte("T43"))}})
	if got := offsets(t, body); err != nil || !slices.Equal(got, []int64{43}) || res.NextBeginOffset != 57 || res.Status != store.Found {
		t.Error(got, res, err)
	}
	body, res, err = l.Get(nil, store.GetRequest{Offset: 0, MaxCount: 32, Match: matcher{-1}})
	if len(body) > 0 || err != nil || res.Status != store.NoMatchedMessage || res.NextBeginOffset != 60 {
		t.Error(body, res, err)
	}
}

func TestRemove(t *testing.T) {
	o := options(t, t.TempDir(), 0)
	l := open(t, o)
	fill(t, l, 0, 40)
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Get(nil, store.GetRequest{}); err == nil {
		t.Error("a removed log was read")
	}
	if err := l.Append(record(40, "k", "x")); err == nil {
		t.Error("a removed log was written")
	}
	if got := open(t, o).Next(); got != 0 {
		t.Error(got)
	}
}

func TestWrongSize(t *testing.T) {
	o := options(t, t.TempDir(), 0)
	fill(t, open(t, o), 0, 3)
	o.QueueFileSize *= 2
	if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "configuration says") {
		t.Error(err)
	}
}

// Anything may stand in the files of a queue.
func FuzzOpen(f *testing.F) {
	u := unit{pos: 0, size: 100, offset: 3}
	f.Add(u.append(nil), record(3, "k", "x"))
	f.Add(endUnit, []byte{})
	f.Add([]byte{}, []byte{1})
	f.Fuzz(func(t *testing.T, units, records []byte) {
		o := options(t, t.TempDir(), 0)
		for _, part := range []struct {
			dir  string
			data []byte
			size int64
		}{{"compactionCq", units, o.QueueFileSize}, {"compactionLog", records, o.LogFileSize}} {
			dir := filepath.Join(o.Dir, part.dir, "Compact", "0")
			data := append(slices.Clone(part.data), make([]byte, part.size)...)[:part.size]
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d", 0)), data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		for _, o.AfterCrash = range []bool{false, true} {
			l, err := Open(o)
			if err != nil {
				continue
			}
			for next := max(0, l.First()); next < l.Next(); {
				_, res, err := l.Get(nil, store.GetRequest{Offset: next, MaxCount: 32})
				if err != nil || res.NextBeginOffset <= next {
					break
				}
				next = res.NextBeginOffset
			}
			_, _ = l.Compact(t.Context(), -1)
			_ = l.Truncate(2)
			_ = l.Close()
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	queue := QueueFileSize(10 << 20)
	l, err := Open(Options{Dir: b.TempDir(), Topic: "T", QueueFileSize: queue, LogFileSize: LogFileSize(100<<20, queue), Log: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	rec := record(0, "k", strings.Repeat("x", 1000))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		copy(rec[posQueue:], fmt.Sprintf("%08d", i))
		if err := l.Append(rec); err != nil {
			b.Fatal(err)
		}
	}
}
