// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A topic that is deleted and made again has its messages numbered from 0 on, and slaves see nothing of it but the log: their
// queues begin anew too, whenever their dispatcher comes to it, and are the master's to the byte.
func TestTopicMadeAgain(t *testing.T) {
	const before, after = 900, 30 // units of three files, and of part of one
	putAll := func(s *Store, n int, body string) {
		for i := range n {
			put(t, s, newMessage("T", 0, fmt.Sprint(body, i), ""))
			put(t, s, newMessage("other", 0, fmt.Sprint(body, i), ""))
			put(t, s, inner("B", 0, 3, ""))
		}
	}
	for name, restart := range map[string]func(t *testing.T, s *Store, cfg Config) *Store{
		"seen at once": nil,
		"seen later":   func(t *testing.T, s *Store, _ Config) *Store { visible(t, s); return s },
		"stopped between": func(t *testing.T, s *Store, cfg Config) *Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openTest(t, cfg)
		},
		"killed between": func(t *testing.T, s *Store, cfg Config) *Store {
			visible(t, s)
			return openTest(t, afterKill(t, cfg))
		},
	} {
		t.Run(name, func(t *testing.T) {
			masterDir, slaveDir := t.TempDir(), t.TempDir()
			master := openTest(t, replicaConfig(masterDir, false))
			cfg := replicaConfig(slaveDir, true)
			var told []string
			cfg.Renumbered = func(topic string) { told = append(told, topic) }
			slave := openTest(t, cfg)
			putAll(master, before, "old")
			piece := func() int { return 32 << 10 }
			if restart != nil {
				copyLog(t, master, slave, piece)
				slave = restart(t, slave, cfg)
				slaveDir = slave.cfg.Dir
			}
			visible(t, master)
			master.DeleteTopics([]string{"T", "B"})
			putAll(master, after, "new")
			copyLog(t, master, slave, func() int { return 1 + rand.IntN(1000) })
			visible(t, slave)
			if got := bodies(t, slave, "T", 0); len(got) != after || got[0] != "new0" || got[after-1] != fmt.Sprint("new", after-1) {
				t.Errorf("%d messages: %q", len(got), got)
			}
			if slave.MaxOffset("B", 0) != 3*after || slave.MaxOffset("other", 0) != before+after {
				t.Errorf("B ends at %d, other at %d", slave.MaxOffset("B", 0), slave.MaxOffset("other", 0))
			}
			if slices.Sort(told); !slices.Equal(told, []string{"B", "T"}) {
				t.Errorf("told of %q", told)
			}
			for _, s := range []*Store{master, slave} {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, part := range []string{"consumequeue", "batchconsumequeue"} {
				want, got := files(t, filepath.Join(masterDir, part)), files(t, filepath.Join(slaveDir, part))
				if !maps.Equal(got, want) || len(got) == 0 {
					t.Errorf("%s: %v, want %v", part, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
				}
			}
			s := openTest(t, replicaConfig(slaveDir, false)) // it takes over
			if r := put(t, s, newMessage("T", 0, "next", "")); r.QueueOffset != after {
				t.Errorf("the next message gets queue offset %d", r.QueueOffset)
			}
		})
	}
}

// A queue that goes back by some messages, as one of a Java master that counts wrong after a change of masters, keeps those
// before and shows the newest one of each number.
func TestQueueGoesBack(t *testing.T) {
	master := openTest(t, replicaConfig(t.TempDir(), false))
	q, err := master.queueFor("T", 0)
	if err != nil {
		t.Fatal(err)
	}
	at := func(offset int64, bodies ...string) {
		master.cl.Lock()
		q.next = offset
		master.cl.Unlock()
		for _, body := range bodies {
			put(t, master, newMessage("T", 0, body, ""))
		}
	}
	at(0, "a0", "a1", "a2", "a3", "a4")
	at(3, "b3")
	at(0, "c0", "c1")
	at(4, "d4", "d5") // a hole
	at(1, "e1")
	dir := t.TempDir()
	slave := openTest(t, replicaConfig(dir, true))
	copyLog(t, master, slave, func() int { return 32 << 10 })
	visible(t, slave)
	if got := bodies(t, slave, "T", 0); !slices.Equal(got, []string{"c0", "e1"}) {
		t.Errorf("%q", got)
	}
	at(2, "e2")
	copyLog(t, master, slave, func() int { return 32 << 10 })
	visible(t, slave)
	if got := bodies(t, slave, "T", 0); !slices.Equal(got, []string{"c0", "e1", "e2"}) {
		t.Errorf("%q", got)
	}
	if got := bodies(t, openTest(t, afterKill(t, replicaConfig(dir, true))), "T", 0); !slices.Equal(got, []string{"c0", "e1", "e2"}) {
		t.Errorf("after a kill %q", got)
	}
}

// Light message queues are numbered anew too; of what begins behind 0 nothing older stays.
func TestLightQueueMadeAgain(t *testing.T) {
	master := openTest(t, replicaConfig(t.TempDir(), false))
	slave := openTest(t, replicaConfig(t.TempDir(), true))
	light := func(n int) {
		for range n {
			m := newMessage("T", 0, strings.Repeat("x", 2000), "INNER_MULTI_DISPATCH\x01%LMQ%a\x02")
			put(t, master, m)
		}
	}
	light(40)
	at := master.MaxPhyOffset() / master.FileSize() * master.FileSize()
	var data []byte
	master.ViewLog(at, int(master.MaxPhyOffset()-at), func(b []byte) { data = append(data, b...) })
	if _, err := slave.AppendLog(at, data); err != nil { // a slave that joins late
		t.Fatal(err)
	}
	visible(t, slave)
	if first := slave.MinOffset("%LMQ%a", 0); first == 0 || slave.MaxOffset("%LMQ%a", 0) != 40 {
		t.Fatalf("the queue is [%d, %d)", first, slave.MaxOffset("%LMQ%a", 0))
	}
	visible(t, master)
	master.DeleteTopics([]string{"%LMQ%a"})
	light(2)
	copyLog(t, master, slave, func() int { return 32 << 10 })
	visible(t, slave)
	if first, end := slave.MinOffset("%LMQ%a", 0), slave.MaxOffset("%LMQ%a", 0); first != 0 || end != 2 {
		t.Errorf("the queue is [%d, %d), want [0, 2)", first, end)
	}
}

// What a slave does about a topic that its master has deleted, when its log is not where the master's was then.
func TestTopicDeletedByTheMaster(t *testing.T) {
	everything := func() int { return 32 << 10 }
	for name, c := range map[string]struct {
		copied, again int // messages the slave has when it hears of it; that come after the deletion
		deaf          bool
		want          []string
	}{
		"in step":                         {10, 0, false, nil},
		"the slave is behind":             {4, 0, false, nil},
		"it has nothing yet":              {0, 0, false, nil},
		"made again":                      {10, 2, false, []string{"new0", "new1"}},
		"made again, the slave is behind": {4, 2, false, []string{"new0", "new1"}},
		"and has what came since":         {12, 2, false, []string{"new0", "new1"}},
		"the slave does not hear of it":   {10, 2, true, []string{"new0", "new1"}},
	} {
		t.Run(name, func(t *testing.T) {
			master := openTest(t, replicaConfig(t.TempDir(), false))
			dir := t.TempDir()
			slave := openTest(t, replicaConfig(dir, true))
			sent, ends := 0, []int64{0}
			send := func(n int, body string) {
				for i := range n {
					put(t, master, newMessage("T", 0, fmt.Sprint(body, i), ""))
					ends = append(ends, master.MaxPhyOffset())
					sent++
				}
			}
			follow := func(messages int) {
				if n := ends[messages] - slave.MaxPhyOffset(); n > 0 {
					master.ViewLog(slave.MaxPhyOffset(), int(n), func(b []byte) {
						if _, err := slave.AppendLog(slave.MaxPhyOffset(), b); err != nil {
							t.Fatal(err)
						}
					})
				}
				visible(t, slave)
			}
			send(10, "old")
			follow(min(c.copied, sent))
			visible(t, master)
			master.DeleteTopics([]string{"T"})
			at := master.MaxPhyOffset()
			send(c.again, "new")
			follow(min(c.copied, sent))
			if !c.deaf {
				slave.DeleteTopicsBefore([]string{"T"}, at)
			}
			for i, s := range []*Store{openTest(t, afterKill(t, slave.cfg)), slave} {
				copyLog(t, master, s, everything)
				visible(t, s)
				if got := bodies(t, s, "T", 0); !slices.Equal(got, c.want) {
					t.Errorf("killed %t: %q, want %q", i == 0, got, c.want)
				}
			}
		})
	}
}

// afterKill is for a copy of a store's directory, as a kill would leave it.
func afterKill(t *testing.T, cfg Config) Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "crashed")
	if err := os.CopyFS(dir, os.DirFS(cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	cfg.Dir, cfg.CommitLogDir = dir, ""
	return cfg
}
