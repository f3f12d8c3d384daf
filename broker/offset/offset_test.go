// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func javaDir(t *testing.T, set, name string) (dir string, text []byte) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", set, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", name), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, text
}

// A file that Java wrote is written again with the same bytes.
func TestJavaFiles(t *testing.T) {
	for _, c := range []struct {
		set, file string
		is49, lmq bool
	}{
		{"497-main", lmqFileName, true, true},
		{"497-kill", fileName, true, false},
		{"533-main", lmqFileName, false, true},
		{"533-kill", fileName, false, false},
	} {
		t.Run(c.set, func(t *testing.T) {
			dir, want := javaDir(t, c.set, c.file)
			s := newStore(t, Options{Dir: dir, Compat49: c.is49, LMQ: c.lmq})
			if got := s.render(); string(got) != string(want) {
				t.Errorf("written differently\n got %s\nwant %s", got, want)
			}
		})
	}
}

// Offsets are not lost when enableLmq is switched, in either direction.
func TestSwitchLMQ(t *testing.T) {
	dir, _ := javaDir(t, "533-main", lmqFileName)
	s := newStore(t, Options{Dir: dir})
	if off, ok := s.Query("g_retry", "GRetry", 1); !ok || off != 3 {
		t.Error("from lmqConsumerOffset.json:", off, ok)
	}
	s.Commit("", "g_retry", "GRetry", 1, 4)
	if err := s.Persist(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Now consumerOffset.json exists and counts.
	if off, _ := newStore(t, Options{Dir: dir}).Query("g_retry", "GRetry", 1); off != 4 {
		t.Error("after a restart:", off)
	}
	dir, _ = javaDir(t, "497-kill", fileName)
	if len(newStore(t, Options{Dir: dir, LMQ: true}).entries) == 0 {
		t.Error("consumerOffset.json was not taken over")
	}
}

func TestQueryAndCommit(t *testing.T) {
	s := newStore(t, Options{})
	if _, ok := s.Query("g", "T", 0); ok {
		t.Error("an offset out of nothing")
	}
	for _, off := range []int64{5, 3, 1 << 40, 0} {
		if !s.Commit("c", "g", "T", 7, off) {
			t.Error("not stored")
		}
		if got, ok := s.Query("g", "T", 7); !ok || got != off {
			t.Errorf("%d, %v after a commit of %d", got, ok, off)
		}
	}
	s.Commit("c", "g", "T", 7, -1)
	if _, ok := s.Query("g", "T", 7); ok {
		t.Error("a stored negative offset counts as none")
	}
	if got := s.Offsets("g", "T"); len(got) != 1 || got[7] != -1 {
		t.Error(got)
	}
	if s.PullOffset("g", "T", 7) != -1 {
		t.Error("pull offset out of nothing")
	}
	s.CommitPull("g", "T", 7, 32)
	s.CommitPull("g2", "T", 0, 1)
	if s.PullOffset("g", "T", 7) != 32 {
		t.Error("pull offset")
	}
	if got := s.GroupsOf("T"); fmt.Sprint(got) != "[g]" {
		t.Error("a pull offset made a group known:", got)
	}
	if strings.Contains(string(s.JSON()), "g2") {
		t.Error("a pull offset is in the JSON")
	}
}

// Server-side reset: the offset is set at once, later commits are ignored until the next pull took it.
func TestReset(t *testing.T) {
	s := newStore(t, Options{})
	if _, ok := s.TakeReset("g", "T", 0); ok {
		t.Error("a reset out of nothing")
	}
	s.Commit("c", "g", "T", 0, 100)
	s.ResetPending("g", "T", 0, 10)
	s.ResetPending("g", "T", 0, 20)
	if s.Commit("c", "g", "T", 0, 101) {
		t.Error("a commit was taken while a reset is pending")
	}
	if !s.Commit("c", "g", "T", 1, 101) {
		t.Error("a commit of another queue was not taken")
	}
	if off, _ := s.Query("g", "T", 0); off != 20 || !s.HasReset("g", "T", 0) {
		t.Error("offset", off)
	}
	if off, ok := s.TakeReset("g", "T", 0); !ok || off != 20 {
		t.Error(off, ok)
	}
	if _, ok := s.TakeReset("g", "T", 0); ok || s.HasReset("g", "T", 0) {
		t.Error("taken twice")
	}
	if !s.Commit("c", "g", "T", 0, 21) {
		t.Error("commits are still ignored")
	}
	s.ResetPending("g", "T", 0, 5)
	s.RemoveGroup("g")
	if s.pending.Load() != 0 {
		t.Error("a pending reset was left behind")
	}
}

// After a restart the pending reset is gone, the offset table keeps its value.
func TestResetAndRestart(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, Options{Dir: dir})
	s.ResetPending("g", "T", 0, 10)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := newStore(t, Options{Dir: dir})
	if off, ok := again.Query("g", "T", 0); !ok || off != 10 || again.HasReset("g", "T", 0) {
		t.Error(off, ok)
	}
}

func TestRemoveAndClone(t *testing.T) {
	s := newStore(t, Options{})
	for _, g := range []string{"g1", "g2", "T@broadcast"} {
		for _, topic := range []string{"A", "B"} {
			s.Commit("", g, topic, 0, 1)
		}
	}
	if got := fmt.Sprint(s.GroupsOf("A"), s.TopicsOf("g1")); got != "[g1 g2] [A B]" {
		t.Error(got)
	}
	s.Commit("", "g3", "A", 5, 9)
	s.Commit("", "g1", "A", 1, 7)
	s.Clone("g1", "g3", "A")
	s.Clone("none", "g2", "A")
	if got := fmt.Sprint(s.Offsets("g3", "A"), s.Offsets("g2", "A")); got != "map[0:1 1:7] map[0:1]" {
		t.Error("clone:", got)
	}
	s.RemoveTopic("B")
	s.RemoveGroup("g1")
	s.Remove("g3", "A")
	if got := fmt.Sprint(s.GroupsOf("A"), s.GroupsOf("B")); got != "[g2] []" {
		t.Error(got)
	}
	if json := string(s.JSON()); !strings.Contains(json, `"groupTopicMap":{"g2":["A"]}`) || !strings.Contains(json, `"A@T@broadcast":{0:1}`) {
		t.Error(json)
	}
}

func TestLightQueueOffsets(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, Options{Dir: dir, LMQ: true})
	s.Commit("", "%LMQ%g", "%LMQ%T", 0, 12)
	s.Commit("", "g", "T", 0, 13)
	if json := string(s.JSON()); !strings.Contains(json, `"lmqOffsetTable":{"%LMQ%T@%LMQ%g":12},"offsetTable":{"T@g":{0:13}}`) {
		t.Error(json)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if off, ok := newStore(t, Options{Dir: dir, LMQ: true}).Query("%LMQ%g", "%LMQ%T", 0); !ok || off != 12 {
		t.Error(off, ok)
	}
}

func TestDataVersionSteps(t *testing.T) {
	s := newStore(t, Options{Pace: func() Pace { return Pace{Interval: time.Second, VersionStep: 10} }})
	for i := range 25 {
		s.Commit("", "g", "T", 0, int64(i))
	}
	if v := s.DataVersion(); v.Counter != 2 {
		t.Errorf("%+v", v)
	}
}

// The file is first written after 10 s, then every 5 s, and only when something was committed.
func TestRunWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := newStore(t, Options{Dir: dir})
		path := filepath.Join(dir, "config", fileName)
		done := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- s.Run(ctx) }()
		s.Commit("", "g", "T", 0, 1)
		has := func(want string) bool {
			synctest.Wait()
			text, _ := os.ReadFile(path)
			return bytes.Contains(text, []byte(want))
		}
		time.Sleep(10*time.Second - time.Millisecond)
		if has("T@g") {
			t.Error("written before 10 s")
		}
		time.Sleep(time.Second)
		if !has("0:1") {
			t.Error("not written after 10 s")
		}
		s.Commit("", "g", "T", 0, 2)
		time.Sleep(5 * time.Second)
		if !has("0:2") {
			t.Error("not written after 5 s more")
		}
		writes := s.writer.Stats().Writes
		time.Sleep(time.Minute)
		if s.writer.Stats().Writes != writes {
			t.Error("written without a commit")
		}
		s.Commit("", "g", "T", 0, 3)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil || !has("0:3") {
			t.Error("not written at the end", err)
		}
	})
}

func TestWarnsOfFarRewind(t *testing.T) {
	var log bytes.Buffer
	s := newStore(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.Commit("c1", "g", "T", 0, 1500)
	s.Commit("c1", "g", "T", 0, 1400)
	if log.Len() != 0 {
		t.Error(log.String())
	}
	s.Commit("c1", "g", "T", 0, 0)
	if !strings.Contains(log.String(), "client=c1") || !strings.Contains(log.String(), "from=1400 to=0") {
		t.Error(log.String())
	}
}

func TestBadFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config", fileName)
	for _, name := range []string{path, path + ".bak"} {
		if err := os.WriteFile(name, []byte(`{"offsetTable":{"A@g":{0:`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), path+".bak") {
		t.Error(err)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := newStore(t, Options{Pace: func() Pace { return Pace{Interval: time.Second, VersionStep: 1} }})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				g := fmt.Sprint("g", n%3)
				s.Commit("", g, "T", int32(i), int64(n))
				s.Query(g, "T", int32(i))
				switch n % 50 {
				case 0:
					s.ResetPending(g, "T", int32(i), 1)
				case 10:
					s.TakeReset(g, "T", int32(i))
				case 20:
					s.RemoveGroup("g2")
				case 30:
					s.JSON()
				}
			}
		})
	}
	wg.Wait()
	for _, g := range []string{"g0", "g1", "g2"} {
		for i := range 8 {
			s.TakeReset(g, "T", int32(i))
		}
	}
	if n := s.pending.Load(); n != 0 {
		t.Errorf("%d pending resets left", n)
	}
}

// The pull and commit path allocates nothing.
func TestHotPathAllocatesNothing(t *testing.T) {
	s := newStore(t, Options{})
	s.Commit("", "group", "topic", 3, 1)
	request := strings.Clone("group,topic")
	group, topic := request[:5], request[6:]
	n := int64(1)
	if allocs := testing.AllocsPerRun(100, func() {
		n++
		s.Commit("", group, topic, 3, n)
		s.Query(group, topic, 3)
		s.CommitPull(group, topic, 3, n)
		s.PullOffset(group, topic, 3)
		s.TakeReset(group, topic, 3)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A slave takes over what its master has, and keeps what the master does not know.
func TestMerge(t *testing.T) {
	for _, lmq := range []bool{false, true} {
		master, dir := newStore(t, Options{LMQ: lmq}), t.TempDir()
		slave := newStore(t, Options{Dir: dir, LMQ: lmq})
		master.Commit("", "G", "T", 0, 5)
		master.Commit("", "%LMQ%g", "L", 0, 9)
		slave.Commit("", "G", "T", 0, 7)
		slave.Commit("", "G", "T", 1, 8)
		slave.Commit("", "H", "T", 0, 3)
		slave.CommitPull("G", "T", 0, 42)
		slave.Merge(master.body())
		check := func(s *Store) {
			t.Helper()
			for q, want := range map[key]map[int32]int64{{"T", "G"}: {0: 5, 1: 8}, {"T", "H"}: {0: 3}, {"L", "%LMQ%g"}: {0: 9}} {
				for id, offset := range want {
					if got, _ := s.Query(q.group, q.topic, id); got != offset {
						t.Errorf("lmq %t, %v queue %d: %d, want %d", lmq, q, id, got, offset)
					}
				}
			}
		}
		check(slave)
		if slave.PullOffset("G", "T", 0) != 42 || *slave.body().DataVersion != *master.body().DataVersion {
			t.Errorf("pulled %d, version %v", slave.PullOffset("G", "T", 0), slave.body().DataVersion)
		}
		if err := slave.Close(); err != nil {
			t.Fatal(err)
		}
		check(newStore(t, Options{Dir: dir, LMQ: lmq}))
	}
}

// A master that returns takes over what is further at the slave that acted for it, whoever's table is newer; not what a pending
// reset has set, nor what lies behind the end of its own queue.
func TestTakeOver(t *testing.T) {
	s, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for queue, at := range map[int32]int64{0: 5, 1: 5, 3: 5} {
		s.Commit("c", "G", "T", queue, at)
	}
	s.ResetPending("G", "T", 4, 1)
	var slave protocol.ConsumerOffsetSerializeWrapper
	if err := fastjson.Unmarshal([]byte(`{"offsetTable":{"T@G":{0:8,1:2,2:7,3:11,4:9},"New@G":{0:3},"nonsense":{0:1}}}`), &slave); err != nil {
		t.Fatal(err)
	}
	moved := s.TakeOver(&slave, func(string, int32) int64 { return 10 })
	for queue, want := range map[int32]int64{0: 8, 1: 5, 2: 7, 3: 5, 4: 1} {
		if got, _ := s.Query("G", "T", queue); got != want {
			t.Errorf("queue %d is at %d, want %d", queue, got, want)
		}
	}
	if got, _ := s.Query("G", "New", 0); got != 3 || moved != 3 {
		t.Errorf("a topic that only the slave knew is at %d; %d moved", got, moved)
	}
	before := s.DataVersion()
	s.Supersede()
	if after := s.DataVersion(); after.Counter < before.Counter+1000 || after.StateVersion != before.StateVersion {
		t.Errorf("version %+v after %+v", after, before)
	}
}
