// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rocketmq-go/remoting/protocol"
)

// javaDir copies a Java broker's topics.json into a fresh store directory.
func javaDir(t *testing.T, set string) (dir string, text []byte) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", set, "topics.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "topics.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, text
}

func newTable(t *testing.T, o Options) *Table {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.System.ClusterName == "" {
		o.System = System{ClusterName: "DefaultCluster", BrokerName: "broker-a", Timer: true}
	}
	o.Log = slog.New(slog.DiscardHandler)
	table, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// A file that Java wrote is written again with the same bytes.
func TestJavaFiles(t *testing.T) {
	for _, c := range []struct {
		set  string
		is49 bool
	}{{"497-main", true}, {"497-kill", true}, {"533-main", false}, {"533-kill", false}} {
		t.Run(c.set, func(t *testing.T) {
			dir, want := javaDir(t, c.set)
			table := newTable(t, Options{
				Dir: dir, Compat49: c.is49, System: System{ClusterName: "GoldCluster", BrokerName: "gold", Timer: true},
			})
			if got := table.render(); string(got) != string(want) {
				t.Errorf("written differently\n got %s\nwant %s", got, want)
			}
		})
	}
}

// What a 4.9 directory lacks is added when 5.x rules open it.
func TestUpgrade(t *testing.T) {
	dir, _ := javaDir(t, "497-main")
	table := newTable(t, Options{Dir: dir, System: System{ClusterName: "GoldCluster", BrokerName: "gold", Timer: true}})
	order := table.Get("GOrder")
	if order == nil || !order.Order || order.ReadQueueNums != 4 {
		t.Errorf("GOrder: %+v", order)
	}
	if cfg := table.Get(TimerTopic); cfg == nil || cfg.Perm != 6 {
		t.Errorf("timer topic: %+v", cfg)
	}
	if v := table.DataVersion(); v.Counter == 0 {
		t.Errorf("version %+v", v)
	}
}

func TestFreshTopics(t *testing.T) {
	table := newTable(t, Options{System: System{ClusterName: "DefaultCluster", BrokerName: "broker-a", Timer: true, TraceTopic: true}})
	want := map[string][2]int32{ // queues, perm
		"SELF_TEST_TOPIC": {1, 6}, "TBW102": {8, 7}, "BenchmarkTest": {1024, 6}, "DefaultCluster": {16, 7},
		"broker-a": {1, 7}, "OFFSET_MOVED_EVENT": {1, 6}, "SCHEDULE_TOPIC_XXXX": {18, 6}, "RMQ_SYS_TRACE_TOPIC": {1, 6},
		"DefaultCluster_REPLY_TOPIC": {1, 6}, "rmq_sys_REVIVE_LOG_DefaultCluster": {8, 6},
		"rmq_sys_SYNC_BROKER_MEMBER_broker-a": {1, 1}, "RMQ_SYS_TRANS_HALF_TOPIC": {1, 6},
		"RMQ_SYS_TRANS_OP_HALF_TOPIC": {1, 6}, "rmq_sys_wheel_timer": {1, 6},
	}
	for _, cfg := range table.All() {
		w, ok := want[cfg.TopicName]
		if !ok || cfg.ReadQueueNums != w[0] || cfg.WriteQueueNums != w[0] || cfg.Perm != w[1] {
			t.Errorf("%+v, want %v", cfg, w)
		}
		if !table.IsSystem(cfg.TopicName) {
			t.Errorf("%s is not a system topic", cfg.TopicName)
		}
		delete(want, cfg.TopicName)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	for name, system := range map[string]bool{
		"TRANS_CHECK_MAX_TIME_TOPIC": true, "CHECKPOINT_TOPIC": true, "rmq_sys_mine": true, "Mine": false, "%RETRY%g": false,
	} {
		if table.IsSystem(name) != system {
			t.Errorf("IsSystem(%s) is %v", name, !system)
		}
	}
	if !slices.Contains(table.System(), "TBW102") || slices.Contains(table.System(), "Mine") {
		t.Error(table.System())
	}
	if old := newTable(t, Options{Compat49: true}); old.Get(TransHalfTopic) != nil || old.Get(TimerTopic) != nil {
		t.Error("4.9 has no such topics at start")
	} else if old.IsSystem("CHECKPOINT_TOPIC") || slices.Contains(old.System(), "CHECKPOINT_TOPIC") {
		t.Error("4.9 does not know CHECKPOINT_TOPIC")
	}
}

func TestStayAfterRestart(t *testing.T) {
	dir := t.TempDir()
	table := newTable(t, Options{Dir: dir})
	var told []string
	table.OnChange(func(changed []string) { told = append(told, changed...) })
	if _, err := table.CreateOnSend("A", "TBW102", 4, FlagUnit); err != nil {
		t.Fatal(err)
	}
	table.CreateRetry("%RETRY%g", 1, 6, FlagUnitSub)
	if _, err := table.CreateOnSend("A", "TBW102", 9, 0); err != nil {
		t.Fatal(err)
	}
	if !table.Delete("A") || table.Delete("A") {
		t.Error("Delete")
	}
	if got := strings.Join(told, " "); got != "A %RETRY%g A" {
		t.Errorf("told of %s", got)
	}
	if v := table.DataVersion(); v.Counter != 3 {
		t.Errorf("version %+v", v)
	}
	if err := table.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := newTable(t, Options{Dir: dir})
	if again.Get("A") != nil || again.Get("%RETRY%g").TopicSysFlag != FlagUnitSub || again.DataVersion() != table.DataVersion() {
		t.Error("restart")
	}
}

// Name servers are told once of a list of topics, and of no topic that is as it was.
func TestUpdateAll(t *testing.T) {
	table := newTable(t, Options{})
	list := []protocol.TopicConfig{
		{TopicName: "A", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6}, {TopicName: "B", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6},
	}
	if _, err := table.Update(&list[0]); err != nil {
		t.Fatal(err)
	}
	var told []string
	table.OnChange(func(changed []string) { told = append(told, strings.Join(changed, " ")) })
	list = append(list, protocol.TopicConfig{TopicName: "C", ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6},
		protocol.TopicConfig{TopicName: "not a name"}, protocol.TopicConfig{TopicName: "D"})
	if err := table.UpdateAll(list); err == nil {
		t.Error("a bad name was taken")
	}
	if !slices.Equal(told, []string{"B C"}) || table.Get("D") != nil {
		t.Errorf("told of %q", told)
	}
}

// The permission to inherit comes back with a restart while automatic creation is on.
func TestDefaultTopicPermission(t *testing.T) {
	dir, on := t.TempDir(), true
	o := Options{Dir: dir, Rules: func() Rules { return Rules{AutoCreate: on} }}
	table := newTable(t, o)
	on = false
	if _, err := table.CreateOnSend("A", "TBW102", 4, 0); err == nil {
		t.Error("created while off")
	}
	table.CreateRetry("x", 1, 6, 0) // has the file written
	on = true
	if _, err := table.CreateOnSend("A", "TBW102", 4, 0); err == nil {
		t.Error("Java does not create it before the restart")
	}
	if err := table.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := newTable(t, o)
	if _, err := again.CreateOnSend("A", "TBW102", 4, 0); err != nil {
		t.Error(err)
	}
	on = false
	if fresh := newTable(t, Options{Rules: o.Rules}); fresh.Get("TBW102") != nil {
		t.Error("TBW102 exists although automatic creation is off from the start")
	}
}

func TestOrderTopics(t *testing.T) {
	table := newTable(t, Options{})
	for _, name := range []string{"A", "B", "C"} {
		table.CreateRetry(name, 1, 6, 0)
	}
	table.SetOrder([]string{"A", "B", "none"})
	before := table.DataVersion()
	table.SetOrder([]string{"B", "A"})
	if table.DataVersion() != before {
		t.Error("the same list changed the version")
	}
	table.SetOrder([]string{"B"})
	table.SetOrder(nil)
	if !table.Get("A").Order || !table.Get("B").Order || table.Get("C").Order {
		t.Error("flags")
	}
	old := newTable(t, Options{Compat49: true})
	old.CreateRetry("A", 1, 6, 0)
	old.CreateRetry("B", 1, 6, 0)
	old.SetOrder([]string{"A"})
	old.SetOrder([]string{"B"})
	if old.Get("A").Order || !old.Get("B").Order {
		t.Error("4.9 takes the flag from what is not listed")
	}
	if cfg := table.RetryTopicOf("g", 2, 0, true); !cfg.Order || cfg.ReadQueueNums != 2 || cfg.TopicName != "%RETRY%g" {
		t.Errorf("%+v", cfg)
	}
	if cfg := table.RetryTopicOf("g", 3, 0, false); cfg.Order || cfg.ReadQueueNums != 2 {
		t.Errorf("%+v", cfg)
	}
}

func TestValidate(t *testing.T) {
	table, old := newTable(t, Options{}), newTable(t, Options{Compat49: true})
	for name, want := range map[string]string{
		"":                       "The specified topic is blank.",
		" \t":                    "The specified topic is blank.",
		"a.b":                    "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		"ä":                      "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
		strings.Repeat("x", 128): "The specified topic is longer than topic max length.",
		strings.Repeat("x", 127): "",
		"%RETRY%a|b_c-D9":        "",
	} {
		err := table.Validate(name)
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", name, err)
			}
			continue
		}
		var refusal *protocol.Error
		if !errors.As(err, &refusal) || refusal.Code != protocol.RespInvalidParameter || refusal.Remark != want {
			t.Errorf("%q: %v", name, err)
		}
		if errors.As(old.Validate(name), &refusal); refusal.Code != protocol.RespSystemError {
			t.Errorf("%q in 4.9: %v", name, refusal)
		}
	}
}

func TestLightQueues(t *testing.T) {
	if newTable(t, Options{}).Get("%LMQ%a") != nil {
		t.Error("exists while enableLmq is off")
	}
	cfg := newTable(t, Options{LMQ: true}).Get("%LMQ%a")
	if cfg == nil || cfg.ReadQueueNums != 1 || cfg.Perm != 6 {
		t.Errorf("%+v", cfg)
	}
}

// The lookups of the send and pull path allocate nothing.
func TestGetAllocatesNothing(t *testing.T) {
	table := newTable(t, Options{})
	table.CreateRetry("Topic", 1, 6, 0)
	request := []byte("xxTopicxx")
	if n := testing.AllocsPerRun(100, func() {
		if table.Get(string(request[2:7])) == nil || table.IsSystem("Topic") || table.Validate("Topic") != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkGet(b *testing.B) {
	table, err := New(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler), System: System{ClusterName: "c", BrokerName: "b"}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		table.CreateRetry("Topic"+time.Duration(i).String(), 1, 6, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Get("Topic77ns")
	}
	_ = table.Close()
}

// Which attributes decide how a topic's messages are kept.
func TestKinds(t *testing.T) {
	table := newTable(t, Options{})
	for name, c := range map[string]struct {
		attributes       string
		batch, compacted bool
	}{
		"Plain":  {"", false, false},
		"Simple": {"+queue.type=SimpleCQ", false, false},
		"Batch":  {"+queue.type=BatchCQ", true, false},
		"Keys":   {"+cleanup.policy=COMPACTION", false, true},
		"Both":   {"+queue.type=BatchCQ,+cleanup.policy=COMPACTION", true, false},
	} {
		attributes, err := ParseAttributes(c.attributes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.Update(&protocol.TopicConfig{TopicName: name, ReadQueueNums: 1, WriteQueueNums: 1, Perm: 6, Attributes: attributes}); err != nil {
			t.Fatal(err)
		}
		if table.IsBatch(name) != c.batch || table.IsCompacted(name) != c.compacted {
			t.Errorf("%s: batch %v, compacted %v", c.attributes, table.IsBatch(name), table.IsCompacted(name))
		}
	}
	if table.IsBatch("None") || len(table.Compacted()) != 1 {
		t.Errorf("compacted: %v", table.Compacted())
	}
}

// BenchmarkChange makes one more topic in a table of 10,000: what is written to its file, and what a name server is told.
func BenchmarkChange(b *testing.B) {
	table, err := New(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler), System: System{ClusterName: "c", BrokerName: "b"}})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10000 {
		table.ensure(fmt.Sprint("Topic", i), 8, 6, 0)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		table.ensure(fmt.Sprint("Topic", 10000+i), 8, 6, 0)
		table.render()
		table.Body()
	}
	b.StopTimer()
	_ = table.Close()
}

// What the name servers are told is the table of now, whatever changed it.
func TestBodyIsThatOfNow(t *testing.T) {
	create := true
	table := newTable(t, Options{Rules: func() Rules { return Rules{AutoCreate: create} }})
	for what, change := range map[string]func(){
		"made":    func() { table.CreateRetry("A", 1, 6, 0) },
		"ordered": func() { table.SetOrder([]string{"A"}) },
		"deleted": func() { table.Delete("A") },
		"closed": func() {
			create = false
			_, _ = table.CreateOnSend("B", AutoCreateTopic, 1, 0)
		},
	} {
		table.CreateRetry("A", 1, 6, 0)
		table.Body()
		change()
		body := table.Body()
		if body != table.Body() || body.DataVersion != table.DataVersion() || body.TopicConfigTable.Len() != len(table.All()) {
			t.Errorf("%s: another table", what)
		}
		for _, cfg := range table.All() {
			if told, _ := body.TopicConfigTable.Get(cfg.TopicName); told != cfg {
				t.Errorf("%s: %s is told to be %+v", what, cfg.TopicName, told)
			}
		}
	}
}
