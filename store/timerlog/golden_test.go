// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

// The files of a Java 5.3.3 broker that has delivered, kept and taken back messages, and has run POP consumers.
const (
	javaFileSize  = 104000 // of the log
	javaPrecision = 1000
	javaMaxPhy    = 3448335 // end of its commit log
)

func unzip(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// javaFiles lays out Java's files in a store directory.
func javaFiles(t *testing.T) (dir string) {
	dir = t.TempDir()
	for name, path := range map[string]string{
		"timerlog": "timerlog/00000000000000000000", "timerwheel": "timerwheel", "timercheck": "config/timercheck",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, unzip(t, "testdata/533/"+name+".gz"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string, fileSize int64) *Files {
	t.Helper()
	f, err := Open(Options{Dir: dir, FileSize: fileSize, Precision: javaPrecision, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// flush writes everything to disk as the service does.
func flush(t *testing.T, f *Files, cp Checkpoint) {
	t.Helper()
	f.Wheel.Freeze()
	cp.FlushPos = f.Log.End()
	for _, step := range []func() error{
		f.Log.Sync, f.Wheel.Flush, func() error { return f.Check.Write(&cp) }, f.Check.Sync,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

// What Java wrote for each message is what we write, byte for byte: log, wheel and checkpoint.
func TestSameBytesAsJava(t *testing.T) {
	log := unzip(t, "testdata/533/timerlog.gz")
	dir := t.TempDir()
	f := open(t, dir, javaFileSize)
	if _, err := f.Recover(0, 0); err != nil {
		t.Fatal(err)
	}
	units := 0
	for b := log; ; b = b[UnitSize:] {
		u, ok := ParseUnit(b)
		if !ok {
			break
		}
		if again := AppendUnit(nil, &u); !bytes.Equal(again, b[:UnitSize]) {
			t.Errorf("unit %d: %x\nJava    %x", units, again, b[:UnitSize])
		}
		// Enter finds Prev by itself.
		if err := f.Enter(&Unit{
			Magic: u.Magic, WriteTime: u.WriteTime, Delay: u.Delay, PhyOffset: u.PhyOffset, Size: u.Size, TopicHash: u.TopicHash,
		}); err != nil {
			t.Fatal(err)
		}
		units++
	}
	if units != 43 {
		t.Fatalf("%d units", units)
	}
	if err := f.Log.Write(); err != nil {
		t.Fatal(err)
	}
	check := unzip(t, "testdata/533/timercheck.gz")
	cp, err := ParseCheckpoint(check)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, f, cp)
	for path, want := range map[string][]byte{
		"timerlog/00000000000000000000": log,
		"timerwheel":                    unzip(t, "testdata/533/timerwheel.gz"),
		"config/timercheck":             check,
	} {
		got, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from Java's %d", path, len(got), len(want))
		}
	}
}

// What we read in Java's files.
func TestJavaFiles(t *testing.T) {
	f := open(t, javaFiles(t), javaFileSize)
	cp := f.Check.Read()
	want := Checkpoint{
		ReadTime: 0x1a2293dd1d8, FlushPos: 2236, QueueOffset: 43, MasterQueueOffset: 43, Timestamp: 0x1a2293dd37e, Counter: 222,
	}
	if cp != want {
		t.Errorf("checkpoint %+v", cp)
	}
	r, err := f.Recover(cp.ReadTime, javaMaxPhy)
	if err != nil {
		t.Fatal(err)
	}
	if r.Pending != 2 || r.Lost || len(r.Entered) != 0 || f.Log.End() != 2236 {
		t.Errorf("recovered %+v, end %d", r, f.Log.End())
	}
	var found []string
	for ms, ok := f.Wheel.Next(cp.ReadTime); ok && len(found) < 2; ms, ok = f.Wheel.Next(ms + 1) {
		f.List(ms, func(u *Unit) { found = append(found, fmt.Sprint(ms, u.PhyOffset, u.Size)) })
	}
	if got := fmt.Sprint(found); got != "[1795991660000 108142 389 1796074460000 108531 382]" {
		t.Errorf("waiting: %s", got)
	}
}

// With an older read time the slots are as they were when they were due; a message that was taken back has its unit and
// the one that takes it back.
func TestJavaSlots(t *testing.T) {
	f := open(t, javaFiles(t), javaFileSize)
	if _, err := f.Recover(1795988000000, javaMaxPhy); err != nil {
		t.Fatal(err)
	}
	const taken = 1795988120000
	s, ok := f.Wheel.Slot(taken)
	if !ok || s != (Slot{Time: taken / 1000, First: 260, Last: 312}) {
		t.Errorf("slot %+v %v", s, ok)
	}
	var got []string
	whole := f.List(taken, func(u *Unit) { got = append(got, fmt.Sprint(u.Magic, u.PhyOffset)) })
	if !whole || fmt.Sprint(got) != "[5 109296 1 108913]" {
		t.Errorf("list %v %v", got, whole)
	}
	inSlots, inLog := 0, 0
	f.Count(1795988000000, func(*Unit) { inSlots++ })
	if err := f.Scan(1795988000000, func(*Unit) { inLog++ }); err != nil || inSlots != 43 || inLog != 43 {
		t.Errorf("%d units in all slots, %d in the log, %v", inSlots, inLog, err)
	}
}
