// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/store"
)

// extStore is the lean set with extension files and bit maps.
func extStore(t *testing.T) (dir, ext string) {
	t.Helper()
	o := options(t, []string{"enableConsumeQueueExt=true", "mappedFileSizeConsumeQueueExt=65536"})
	o.Store.FilterBitMap = func(dst []byte, _ string, _ []byte, _ int64) []byte { return append(dst, make([]byte, 14)...) }
	in, err := os.Open(filepath.Join(lean, "feed-533", "inputs.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir = filepath.Join(t.TempDir(), "store")
	if _, err := Feed(in, dir, o, func(i int, status store.PutStatus) { t.Errorf("record %d: status %d", i, status) }); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "config/topics.json", topics533)
	files, err := filepath.Glob(filepath.Join(dir, "consumequeue_ext", "*", "*", "*"))
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	return dir, filepath.Join(dir, "consumequeue_ext", "S11MANY", "0", "00000000000000000000")
}

func poke(t *testing.T, path string, at int64, b ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(b, at)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerifyExtensions(t *testing.T) {
	dir, ext := extStore(t)
	if r := verify(t, dir); r.Damaged() || len(r.Findings) > 0 {
		t.Fatal(text(r))
	}
	poke(t, ext, 34*5+17, 0x77) // the store time of unit 5
	if r := verify(t, dir); !r.Damaged() || !strings.Contains(text(r), "S11MANY/0/00000000000000000000+100: unit 5 has the extension of another message") {
		t.Error(text(r))
	}
	poke(t, ext, 34*5, 0, 0)
	if r := verify(t, dir); r.Damaged() || !strings.Contains(text(r), "S11MANY-0: the extensions of 1 units are not there") {
		t.Error(text(r))
	}
	repair(t, dir, RepairOptions{RebuildQueues: true})
	if r := verify(t, dir); r.Damaged() || len(r.Findings) > 0 {
		t.Error(text(r))
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "bak-*", "consumequeue_ext", "S11MANY", "0", "*")); err != nil || len(kept) == 0 {
		t.Error(kept, err)
	}
}

func TestCheckExtensions(t *testing.T) {
	dir, _ := extStore(t)
	sizes := goldenSizes
	for _, c := range []struct {
		settings Settings
		say      string
	}{
		{Settings{}, "set mappedFileSizeConsumeQueueExt=65536: the files have that size"},
		{Settings{Given: true}, "have extension files (consumequeue_ext), and the configuration has enableConsumeQueueExt=false"},
		{Settings{Given: true, Ext: true}, "consumequeue_ext: extension files of "},
	} {
		c.settings.Sizes = sizes
		if _, got := preflight(t, dir, CheckOptions{Settings: c.settings}); !strings.Contains(got, c.say) {
			t.Error(got)
		}
		sizes.ExtFile = 65536
	}
}

// Messages have the same lines with extensions as without, read from the extension or not.
func TestDumpExtensions(t *testing.T) {
	dir, _ := extStore(t)
	want, _ := dumpLines(t, feedSet(t, lean, leanSets[0]), "what=queues,msgs")
	for _, args := range [][]string{
		{"enableConsumeQueueExt=true", "mappedFileSizeConsumeQueueExt=65536"}, {"mappedFileSizeConsumeQueueExt=65536"}, nil,
	} {
		got, ok := dumpLines(t, dir, append(args, "what=queues,msgs")...)
		if !ok {
			t.Fatal(args)
		}
		got[0], want[0] = cutCheckpoint(got[0]), cutCheckpoint(want[0])
		compareLines(t, want, got)
	}
}
