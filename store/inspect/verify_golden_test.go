// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package inspect

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Directories that Java wrote are sound, those of a stop as well as those of a kill.
func TestGoldenVerifyAndCheck(t *testing.T) {
	root := goldenRoot(t)
	for _, set := range []struct{ name, from, say string }{
		{"497-main", "4.9.7", ""},
		{"533-main", "5.3.3", ""},
		{"497-kill", "4.9.7", "abort: "},
		{"533-kill", "5.3.3", "abort: "},
		{"533-cqext", "5.3.3", ""},
		{"feed-497", "4.9.7", ""},
		{"feed-533", "5.3.3", ""},
		{"feed-533-crc", "5.3.3", ""},
	} {
		t.Run(set.name, func(t *testing.T) {
			dir := unpack(t, filepath.Join(root, set.name, "store.tar.gz"))
			r := verify(t, dir)
			if got := text(r); r.Damaged() || r.Records == 0 || !strings.Contains(got, set.say) {
				t.Error(got)
			}
			for _, f := range r.Findings {
				t.Log(f)
			}
			p, got := preflight(t, dir, CheckOptions{From: set.from, Settings: Settings{Sizes: goldenSizes}})
			t.Log(got)
			if !p.OK() {
				t.Error(got)
			}
			if _, err := ReadStat(Place{Dir: dir}, Sizes{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// What Repair makes of damaged directories is sound, to both Java releases too: they read as many messages as we do.
func TestGoldenRepair(t *testing.T) {
	root := goldenRoot(t)
	files, err := filepath.Glob(filepath.Join(root, "corrupt", "*.json"))
	if err != nil || len(files) < 2*len(damages) {
		t.Fatal(len(files), "cases", err)
	}
	for _, file := range files {
		var c corruption
		loadJSON(t, file, &c)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			dir := unpack(t, filepath.Join(root, c.Base, "store.tar.gz"))
			c.apply(t, dir)
			broken, want := verify(t, dir), damages[c.Kind]
			if broken.Damaged() != (want.count > 0) {
				t.Error(text(broken))
			}
			if want.count == 0 {
				return
			}
			said := repair(t, dir, want.repair)
			r := verify(t, dir)
			if r.Damaged() {
				t.Fatalf("%s\nafter\n%s", text(r), said)
			}
			release, args := "v5", []string{"allkeys=true"}
			if c.Base == "feed-497" {
				release, args = "v4", append(args, "compatVersion=4.9.7")
			}
			java := javaLines(t, release, copyDir(t, dir), "allkeys=true")
			ours, ok := dumpLines(t, copyDir(t, dir), args...)
			compareLines(t, messageLines(java), messageLines(ours))
			compareJudgements(t, once(judgeLines(t, java, true)), judgeLines(t, ours, ok), 0)
			if t.Failed() {
				t.Logf("repair said\n%s", said)
			}
		})
	}
}

// messageLines are the lines of messages, of the units that lead to one.
func messageLines(all []string) (out []string) {
	for _, l := range all {
		if strings.Contains(l, `"t":"msg"`) && strings.Contains(l, `"phyOffset"`) {
			out = append(out, l)
		}
	}
	return out
}

// once drops what Java indexes twice when it dispatches again after a crash.
func once(j *judgement) *judgement {
	j.IndexHits = 0
	for key, offsets := range j.IndexSamples {
		j.IndexSamples[key] = slices.Compact(offsets)
		j.IndexHits += len(j.IndexSamples[key])
	}
	return j
}
