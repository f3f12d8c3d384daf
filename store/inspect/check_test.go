// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rocketmq-go/store"
)

// goldenSizes are those of the golden sets.
var goldenSizes = Sizes{CommitLogFile: 1 << 20, ConsumeQueueFile: 40000, IndexSlots: 500, IndexUnits: 2000}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	topics533 = `{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"topicConfigTable":{"S11A":{"attributes":{},"perm":6,"topicName":"S11A"}}}`
	topics497 = `{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"GTag":{"perm":6,"topicName":"GTag"}}}`
	batch533  = `{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"topicConfigTable":{"B":{"attributes":{"queue.type":"BatchCQ"}},"C":{"attributes":{"cleanup.policy":"COMPACTION"}}}}`
)

func preflight(t *testing.T, dir string, o CheckOptions) (*Preflight, string) {
	t.Helper()
	before := sums(t, dir, func(string) bool { return true })
	p, err := Check(Place{Dir: dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, dir, before)
	p.Conditions = slices.DeleteFunc(p.Conditions, func(c string) bool { return strings.HasPrefix(c, "the disk of") })
	var b bytes.Buffer
	p.Print(&b)
	return p, b.String()
}

func TestCheck(t *testing.T) {
	base := feedSet(t, lean, leanSets[0])
	put(t, base, "config/topics.json", topics533)
	sized := CheckOptions{Settings: Settings{Sizes: goldenSizes}}
	for _, c := range []struct {
		name    string
		options CheckOptions
		change  func(t *testing.T, dir string)
		verdict string
		say     []string
	}{
		{"as it is", sized, nil, "OK", []string{"config: 1 files can be read", "no broker of this machine has it open", "way back to Java 5.3.3", "to 4.9 there is none"}},
		{"other sizes", CheckOptions{}, nil, "OK with conditions", []string{
			"set mappedFileSizeCommitLog=1048576:", "set mappedFileSizeConsumeQueue=40000:", "set maxHashSlotNum=500 and maxIndexNum=2000",
		}},
		{"from 4.9", CheckOptions{From: "4.9.7", Settings: Settings{Sizes: goldenSizes}}, nil, "OK with conditions", []string{"set compatVersion=4.9.7", "way back to Java 4.9.7"}},
		{"from 4.9, by its files", sized, func(t *testing.T, dir string) { put(t, dir, "config/topics.json", topics497) }, "OK with conditions", []string{"set compatVersion=4.9.7"}},
		{"refused configuration", CheckOptions{Settings: Settings{Sizes: goldenSizes, Refused: "aclEnable=true"}}, nil, "NO", []string{"aclEnable=true"}},
		{"abort", sized, func(t *testing.T, dir string) { put(t, dir, "abort", "") }, "OK with conditions", []string{"the abort file is there"}},
		{"broken config", sized, func(t *testing.T, dir string) { put(t, dir, "config/consumerOffset.json", "{") }, "NO", []string{"config/consumerOffset.json cannot be read"}},
		{"broken config with backup", sized, func(t *testing.T, dir string) {
			put(t, dir, "config/consumerOffset.json", "{")
			put(t, dir, "config/consumerOffset.json.bak", `{"offsetTable":{"a@b":{0:1}}}`)
		}, "OK with conditions", []string{"config/consumerOffset.json cannot be read: its backup"}},
		{"no config", sized, func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "config")) }, "OK with conditions", []string{"no topics, groups and offsets"}},
		{"RocksDB queues", sized, func(t *testing.T, dir string) { put(t, dir, "consumequeue/CURRENT", "MANIFEST-1\n") }, "NO", []string{"storeType=defaultRocksDB"}},
		{"RocksDB metadata", sized, func(t *testing.T, dir string) { put(t, dir, "config/topics/CURRENT", "MANIFEST-1\n") }, "NO", []string{"config/topics: metadata in RocksDB"}},
		{"users in RocksDB, nobody asked for", sized, func(t *testing.T, dir string) { put(t, dir, "config/users/CURRENT", "MANIFEST-1\n") }, "OK with conditions", []string{"config/users: users or permissions in RocksDB"}},
		{"users in RocksDB", CheckOptions{Settings: Settings{Sizes: goldenSizes, Users: true}}, func(t *testing.T, dir string) {
			put(t, dir, "config/acls/CURRENT", "MANIFEST-1\n")
		}, "NO", []string{"config/acls: users or permissions in RocksDB", "there is no config/auth/acls.json", "mqadmin copyUser"}},
		{"users in RocksDB and here", CheckOptions{Settings: Settings{Sizes: goldenSizes, Users: true}}, func(t *testing.T, dir string) {
			put(t, dir, "config/users/CURRENT", "MANIFEST-1\n")
			put(t, dir, "config/auth/users.json", `{"users":[]}`)
		}, "OK", []string{"in the place of which config/auth/users.json is read"}},
		{"RocksDB of POP", sized, func(t *testing.T, dir string) { put(t, dir, "kvStore/CURRENT", "MANIFEST-1\n") }, "OK with conditions", []string{"kvStore: a RocksDB"}},
		{"DLedger", sized, func(t *testing.T, dir string) { put(t, dir, "dledger-n0/data/00000000000000000000", "x") }, "NO", []string{"dledger-n0: a DLedger commit log"}},
		{"BatchCQ and compaction", sized, func(t *testing.T, dir string) {
			put(t, dir, "config/topics.json", batch533)
			put(t, dir, "batchconsumequeue/B/0/00000000000000000000", strings.Repeat("\x00", 460))
			put(t, dir, "compaction/compactionCq/C/0/00000000000000000000", strings.Repeat("x", 920))
			put(t, dir, "compaction/compactionLog/C/0/00000000000000000000", strings.Repeat("x", 8280))
		}, "OK with conditions", []string{
			"batch queues: of BatchCQ topics (B)", "set mapperFileSizeBatchConsumeQueue=460:", "set compactionCqMappedFileSize=920: the files have that size, the default is 10485746",
			"set compactionMappedFileSize=8279: the files have that size, the default is 104857459",
		}},
		{"BatchCQ at 4.9", CheckOptions{Settings: Settings{Sizes: goldenSizes, Compat: "4.9.7", Given: true}}, func(t *testing.T, dir string) {
			put(t, dir, "config/topics.json", batch533)
		}, "OK with conditions", []string{"BatchCQ topics (B), and compatVersion=4.9.7 has no batch queues"}},
		{"batch queues of no BatchCQ topic", sized, func(t *testing.T, dir string) {
			put(t, dir, "batchconsumequeue/S11A/77/00000000000000000000", strings.Repeat("\x00", 46000))
		}, "OK with conditions", []string{"batchconsumequeue/S11A/77: topics.json has another queue.type"}},
		{"queues of both kinds", sized, func(t *testing.T, dir string) {
			put(t, dir, "batchconsumequeue/S11A/0/00000000000000000000", strings.Repeat("\x00", 46000))
		}, "OK with conditions", []string{"batchconsumequeue/S11A/0: the topic has queues of its own kind too"}},
		{"timers", CheckOptions{Settings: Settings{Sizes: goldenSizes, Compat: "4.9.7", Given: true}}, func(t *testing.T, dir string) {
			put(t, dir, "timerlog/00000000000000000000", "x")
		}, "OK with conditions", []string{"timer messages wait", "set mappedFileSizeTimerLog=1:"}},
		{"static topics", sized, func(t *testing.T, dir string) {
			put(t, dir, "config/topicQueueMapping.json", `{"topicQueueMappingInfoMap":{"T":{"topic":"T"}}}`)
		}, "OK with conditions", []string{"static topics"}},
		{"mixed sizes", sized, func(t *testing.T, dir string) {
			os.Truncate(filepath.Join(dir, "commitlog/00000000000004194304"), 4096)
		}, "NO", []string{"has 4096 bytes, the other files 1048576"}},
		{"missing file", sized, func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, "commitlog/00000000000001048576"))
		}, "OK with conditions", []string{"commitlog/00000000000002097152: the file before it is missing"}},
		{"empty last file", sized, func(t *testing.T, dir string) { put(t, dir, "commitlog/00000000000005242880", "") }, "OK with conditions", []string{"is an empty last file"}},
		{"no log", sized, func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, "commitlog")) }, "NO", []string{"a start would delete all consume queues"}},
		{"no checkpoint", sized, func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "checkpoint")) }, "OK with conditions", []string{"the checkpoint file is missing"}},
		{"index of unknown shape", sized, func(t *testing.T, dir string) { os.Truncate(firstFile(t, filepath.Join(dir, "index")), 12345) }, "OK with conditions", []string{"set maxHashSlotNum and maxIndexNum to what the old broker had"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyDir(t, base)
			if c.change != nil {
				c.change(t, dir)
			}
			p, got := preflight(t, dir, c.options)
			if p.Verdict() != c.verdict {
				t.Errorf("%s, expected %s\n%s", p.Verdict(), c.verdict, got)
			}
			for _, s := range c.say {
				if !strings.Contains(got, s) {
					t.Errorf("missing: %s\n%s", s, got)
				}
			}
		})
	}
}

// A store that is open is seen by check, and not touched by repair.
// What is no store is not found to be in order.
func TestNoStore(t *testing.T) {
	other := t.TempDir()
	put(t, other, "notes/a.txt", "a")
	put(t, other, "config/app.json", "{}")
	put(t, other, "index/1", "")
	empty := t.TempDir()
	for _, dir := range []string{other, empty, filepath.Join(empty, "missing"), filepath.Join(other, "config")} {
		p := Place{Dir: dir}
		_, check := Check(p, CheckOptions{})
		_, verify := Verify(p, VerifyOptions{})
		_, stat := ReadStat(p, Sizes{})
		repair := Repair(p, RepairOptions{RebuildQueues: true}, io.Discard)
		for what, err := range map[string]error{"check": check, "verify": verify, "stat": stat, "repair": repair} {
			if err == nil || !strings.HasPrefix(err.Error(), "no store here: "+dir) {
				t.Errorf("%s of %s: %v", what, dir, err)
			}
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("%v in the empty directory, %v", entries, err)
	}
	// A broker that never got a message leaves a store.
	s, err := store.Open(store.Config{Dir: empty, CommitLogFileSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err := Check(Place{Dir: empty}, CheckOptions{}); err != nil || !p.OK() {
		t.Errorf("%+v %v", p, err)
	}
	// The commit log may be elsewhere.
	put(t, other, "log/00000000000000000000", "x")
	if _, err := Verify(Place{Dir: filepath.Join(other, "notes"), CommitLogDirs: []string{filepath.Join(other, "log")}}, VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRunningBroker(t *testing.T) {
	dir := feedSet(t, lean, leanSets[0])
	o := options(t, nil)
	o.Store.Dir = dir
	s, err := store.Open(o.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := fmt.Sprintf("a running broker has it open (process %d)", os.Getpid())
	if p, got := preflight(t, dir, CheckOptions{}); p.OK() || !strings.Contains(got, want) {
		t.Error(got)
	}
	before := sums(t, dir, func(string) bool { return true })
	var said bytes.Buffer
	err = Repair(Place{Dir: dir}, RepairOptions{TruncateTail: true, RebuildQueues: true}, &said)
	if err == nil || !strings.Contains(err.Error(), "already started") {
		t.Errorf("repaired: %v\n%s", err, &said)
	}
	unchanged(t, dir, before)
}

// Java's lock is of another kind, and tells its owner.
func TestRunningJavaBroker(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "checkpoint", "")
	put(t, dir, "lock", "lock")
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1}); err != nil {
		t.Fatal(err)
	}
	p, err := Check(Place{Dir: dir}, CheckOptions{})
	if want := fmt.Sprintf("a running broker has it open (process %d)", os.Getpid()); err != nil || p.OK() || p.No[0] != want {
		t.Error(err, p)
	}
}

func TestStat(t *testing.T) {
	dir := feedSet(t, lean, leanSets[0])
	var m manifest
	loadJSON(t, filepath.Join(lean, "feed-533", "manifest.json"), &m)
	before := sums(t, dir, func(string) bool { return true })
	s, err := ReadStat(Place{Dir: dir}, Sizes{})
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, dir, before)
	if s.Begin != 0 || s.End != m.Walk.MaxPhyOffset || s.Sizes != goldenSizes || s.IndexEntries != 2503 || s.FirstTime == 0 || s.LastTime < s.FirstTime {
		t.Errorf("%+v", s)
	}
	if len(s.Queues) != len(m.Walk.Queues) {
		t.Errorf("%d queues, expected %d", len(s.Queues), len(m.Walk.Queues))
	}
	for _, q := range s.Queues {
		if w := m.Walk.Queues[queueName{q.Topic, q.QueueID}.String()]; q.Min != w.Min || q.Max != w.Max {
			t.Errorf("%+v, expected %+v", q, w)
		}
	}
	var b bytes.Buffer
	s.Print(&b)
	for line := range strings.Lines(b.String()) {
		if text := strings.TrimRight(line, "\n"); text != "" && strings.TrimSpace(text) == "" {
			t.Errorf("a line of blanks:\n%s", &b)
		}
	}
	for _, want := range []string{"offsets 0..4979155 (4.75 MiB), files of 1048576 bytes", "2503 entries in 2 files, the newest is 25.2 % full", "commitlog", "S11MANY-0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("missing: %s\n%s", want, &b)
		}
	}
}
