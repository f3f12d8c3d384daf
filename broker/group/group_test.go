// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package group

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rocketmq-go/remoting/protocol"
)

func newTable(t *testing.T, o Options) *Table {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Log = slog.New(slog.DiscardHandler)
	table, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

func javaDir(t *testing.T, set string) (dir string, text []byte) {
	t.Helper()
	dir = t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", set, "subscriptionGroup.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "subscriptionGroup.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, text
}

// A file that Java wrote is written again with the same bytes.
func TestJavaFiles(t *testing.T) {
	for _, c := range []struct {
		set  string
		is49 bool
	}{{"497-main", true}, {"497-kill", true}, {"533-main", false}, {"533-kill", false}} {
		t.Run(c.set, func(t *testing.T) {
			dir, want := javaDir(t, c.set)
			if got := newTable(t, Options{Dir: dir, Compat49: c.is49}).render(); string(got) != string(want) {
				t.Errorf("written differently\n got %s\nwant %s", got, want)
			}
		})
	}
}

// A 4.9 file gets the defaults of what it does not say, and the group that 5.x adds.
func TestUpgrade(t *testing.T) {
	dir, _ := javaDir(t, "497-main")
	table := newTable(t, Options{Dir: dir})
	g := table.Get("g_order")
	if g == nil || g.ConsumeTimeoutMinute != 15 || g.GroupRetryPolicy.Type != protocol.RetryPolicyCustomized {
		t.Errorf("%+v", g)
	}
	if table.Get("CID_RMQ_SYS_TRANS") == nil {
		t.Error("CID_RMQ_SYS_TRANS is missing")
	}
}

// The defaults are what code 352 of a Java broker showed.
func TestFreshGroups(t *testing.T) {
	table := newTable(t, Options{})
	if got := len(table.All()); got != 8 {
		t.Errorf("%d groups", got)
	}
	if got := len(newTable(t, Options{Compat49: true}).All()); got != 7 {
		t.Errorf("%d groups in 4.9", got)
	}
	g := table.Get("TOOLS_CONSUMER")
	if g == nil || !g.ConsumeEnable || !g.ConsumeFromMinEnable || !g.ConsumeBroadcastEnable || g.ConsumeMessageOrderly ||
		g.RetryQueueNums != 1 || g.RetryMaxTimes != 16 || g.BrokerID != 0 || g.WhichBrokerWhenConsumeSlowly != 1 ||
		!g.NotifyConsumerIdsChangedEnable || g.GroupSysFlag != 0 || g.ConsumeTimeoutMinute != 15 {
		t.Errorf("%+v", g)
	}
	for name, system := range map[string]bool{"TOOLS_CONSUMER": true, "CID_RMQ_SYS_X": true, "CID_ONSAPI_X": false, "g": false} {
		if IsSystem(name) != system {
			t.Errorf("IsSystem(%s) is %v", name, !system)
		}
	}
}

func TestFind(t *testing.T) {
	rules := Rules{AutoCreate: true, EnableCreateSysGroup: true}
	dir := t.TempDir()
	table := newTable(t, Options{Dir: dir, Rules: func() Rules { return rules }})
	for _, c := range []struct {
		name           string
		auto, sys, got bool
	}{
		{"g1", true, true, true},
		{"g2", false, true, false},
		{"CID_RMQ_SYS_a", false, true, true},
		{"CID_RMQ_SYS_b", false, false, false},
		{"bad name!", true, true, false},
		{"", true, true, false},
		{strings.Repeat("x", 255), true, true, true},
		{strings.Repeat("x", 256), true, true, false},
		{"g1", false, false, true},
	} {
		rules = Rules{AutoCreate: c.auto, EnableCreateSysGroup: c.sys}
		if g := table.Find(c.name); (g != nil) != c.got {
			t.Errorf("%.20s (auto %v, sys %v): %+v", c.name, c.auto, c.sys, g)
		}
	}
	if v := table.DataVersion(); v.Counter != 3 {
		t.Errorf("version %+v", v)
	}
	if err := table.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := newTable(t, Options{Dir: dir}); again.Get("g1") == nil || again.DataVersion() != table.DataVersion() {
		t.Error("restart")
	}
}

func TestUpdateAndDelete(t *testing.T) {
	table := newTable(t, Options{})
	cfg := protocol.NewSubscriptionGroupConfig()
	cfg.GroupName, cfg.RetryMaxTimes = "bad name!", 3
	if err := table.Update(cfg); err != nil {
		t.Errorf("Java takes any name: %v", err)
	}
	if g := table.Get("bad name!"); g == nil || g.RetryMaxTimes != 3 {
		t.Errorf("%+v", g)
	}
	with := protocol.NewSubscriptionGroupConfig()
	with.GroupName = "SysGA"
	with.Attributes.Set("+priority.factor", "1")
	var refusal *protocol.Error
	if err := table.Update(with); !errors.As(err, &refusal) || refusal.Remark != "unsupported key: priority.factor" {
		t.Errorf("attributes: %v", err)
	}
	if table.Get("SysGA") != nil {
		t.Error("a refused group was stored")
	}
	if !table.Delete("bad name!") || table.Delete("bad name!") || table.Get("bad name!") != nil {
		t.Error("Delete")
	}
	if err := table.Update(&protocol.SubscriptionGroupConfig{}); err == nil {
		t.Error("a group without a name was stored")
	}
}

func TestForbidden(t *testing.T) {
	dir := t.TempDir()
	table := newTable(t, Options{Dir: dir})
	table.SetForbidden("g", "A", false)
	table.SetForbidden("g", "B", false)
	before := table.DataVersion().Counter
	table.SetForbidden("g", "B", false)
	table.SetForbidden("other", "B", true)
	if table.DataVersion().Counter != before {
		t.Error("no change counted as one")
	}
	// Java clears the whole group here.
	table.SetForbidden("g", "B", true)
	if !table.IsForbidden("g", "A") || table.IsForbidden("g", "B") || table.IsForbidden("h", "A") {
		t.Error("IsForbidden")
	}
	if !strings.Contains(string(table.JSON()), `"forbiddenTable":{"g":{"A":4}}`) {
		t.Errorf("JSON: %s", table.JSON())
	}
	if err := table.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := newTable(t, Options{Dir: dir}); !again.IsForbidden("g", "A") {
		t.Error("restart")
	}
	table.Delete("none")
	if n := testing.AllocsPerRun(100, func() { table.IsForbidden("g", "A"); table.Get("TOOLS_CONSUMER") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLightQueueGroups(t *testing.T) {
	if g := newTable(t, Options{LMQ: true}).Find("%LMQ%x"); g == nil || g.GroupName != "%LMQ%x" {
		t.Errorf("%+v", g)
	}
}

func BenchmarkFind(b *testing.B) {
	table, err := New(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		table.Find("TOOLS_CONSUMER")
	}
	_ = table.Close()
}

// A slave's table becomes its master's, in content, version and file; groups that consumers bring are served and not kept.
func TestReplace(t *testing.T) {
	master := newTable(t, Options{})
	for _, name := range []string{"Same", "New"} {
		if err := master.Update(&protocol.SubscriptionGroupConfig{GroupName: name, ConsumeEnable: true}); err != nil {
			t.Fatal(err)
		}
	}
	master.SetForbidden("Same", "T", false)
	dir := t.TempDir()
	slave := newTable(t, Options{Dir: dir, Rules: func() Rules { return Rules{AutoCreate: true, Slave: true} }})
	for _, name := range []string{"Same", "Gone"} {
		if err := slave.Update(&protocol.SubscriptionGroupConfig{GroupName: name}); err != nil {
			t.Fatal(err)
		}
		slave.SetForbidden(name, "U", false)
	}
	slave.Replace(master.Body())
	check := func(table *Table) {
		t.Helper()
		if table.DataVersion() != master.DataVersion() || table.Get("New") == nil || table.Get("Gone") != nil ||
			!table.IsForbidden("Same", "T") || table.IsForbidden("Same", "U") || table.IsForbidden("Gone", "U") || !table.Get("Same").ConsumeEnable {
			t.Errorf("%s", table.JSON())
		}
	}
	check(slave)
	if g := slave.Find("Consumers"); g == nil || g.GroupName != "Consumers" || slave.Get("Consumers") != nil {
		t.Errorf("a group that a consumer brings: %+v, kept %+v", g, slave.Get("Consumers"))
	}
	slave.Replace(&protocol.SubscriptionGroupWrapper{DataVersion: master.DataVersion()})
	check(slave)
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	check(newTable(t, Options{Dir: dir}))
}
