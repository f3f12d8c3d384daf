// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package inspect

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rocketmq-go/store"
)

// Java's store code and ours make the same extension files of the same messages, here so small that they roll over often;
// each reads what the other one wrote, also after the other one has been at it, and with extensions that are missing.
func TestGoldenExtensionFiles(t *testing.T) {
	root := goldenRoot(t)
	for _, c := range []struct{ set, release, compat string }{
		{"feed-533", "v5", "5.3.3"},
		{"feed-497", "v4", "4.9.7"},
	} {
		t.Run(c.set, func(t *testing.T) {
			keys := []string{"enableConsumeQueueExt=true", "mappedFileSizeConsumeQueueExt=4096"}
			ours := feedSet(t, root, goldenSet{name: c.set, feed: append(keys, "compatVersion="+c.compat)})
			java, inputs := filepath.Join(t.TempDir(), "java"), filepath.Join(t.TempDir(), "inputs.jsonl")
			text := strings.Join(gzLines(t, filepath.Join(root, c.set, "inputs.jsonl.gz")), "\n")
			if err := os.WriteFile(inputs, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			javaTool(t, append([]string{c.release, "StoreFeed", inputs, java, "flushDiskType=SYNC_FLUSH"}, keys...)...)
			pass := func(path string) bool {
				return strings.HasPrefix(path, "consumequeue") || strings.HasPrefix(path, "commitlog")
			}
			want, got := sums(t, java, pass), sums(t, ours, pass)
			if !maps.Equal(want, got) {
				for path := range want {
					if want[path] != got[path] {
						t.Errorf("%s differs from Java's", path)
					}
				}
				t.Errorf("%d files, Java has %d", len(got), len(want))
			}
			read := func(dir string, args ...string) {
				t.Helper()
				args = append(args, keys...)
				a := javaLines(t, c.release, copyDir(t, dir), args...)
				b, ok := dumpLines(t, copyDir(t, dir), append(args, "compatVersion="+c.compat)...)
				if !ok {
					t.Fatal("directory refused")
				}
				if c.release == "v4" { // its tool prints addresses as they are
					a, b = withoutTags(a), withoutTags(b)
				}
				compareLines(t, messageLines(a), messageLines(b))
			}
			read(ours)
			// with bit maps, and with the key switched on in the middle
			mixed := filepath.Join(t.TempDir(), "mixed")
			for i := range 3 {
				o := options(t, []string{"mappedFileSizeConsumeQueueExt=4096", "compatVersion=" + c.compat})
				o.Store.ExtEnabled = i == 1
				o.Store.FilterBitMap = func(dst []byte, topic string, _ []byte, time int64) []byte {
					return append(dst, make([]byte, (len(topic)+int(time))%40)...)
				}
				in, err := os.Open(filepath.Join(lean, "feed-533", "inputs.jsonl.gz"))
				if c.set != "feed-533" {
					in, err = os.Open(filepath.Join(lean, "497-main", "inputs.jsonl.gz"))
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Feed(in, mixed, o, func(i int, status store.PutStatus) { t.Errorf("record %d: %d", i, status) }); err != nil {
					t.Fatal(err)
				}
				in.Close()
			}
			read(mixed)
			put(t, mixed, "abort", "")
			read(mixed)
		})
	}
}

func withoutTags(all []string) (out []string) {
	for _, l := range all {
		out = append(out, tagsCode.ReplaceAllString(l, ""))
	}
	return out
}

var tagsCode = regexp.MustCompile(`"cqTagsCode":-?[0-9]+,`)
