// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package group keeps the subscription groups: what consumers of a group may do (config/subscriptionGroup.json).
package group

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// maxNameLength is the longest name of a group that is created by itself.
const maxNameLength = 255

// sysPrefix begins the names of the broker's own groups.
const sysPrefix = "CID_RMQ_SYS_"

// forbidRead is the bit that the forbidden table keeps for a topic (PERM_READ).
const forbidRead = 4

// atStart are the groups that every broker has.
var atStart = []struct {
	name  string
	only5 bool
}{
	{"TOOLS_CONSUMER", false},
	{"FILTERSRV_CONSUMER", false},
	{"SELF_TEST_C_GROUP", false},
	{"CID_ONS-HTTP-PROXY", false},
	{"CID_ONSAPI_PULL", false},
	{"CID_ONSAPI_PERMISSION", false},
	{"CID_ONSAPI_OWNER", false},
	{sysPrefix + "TRANS", true},
}

// predefined are the names that are not user groups, besides those that begin with one of the prefixes.
var predefined = map[string]bool{
	"DEFAULT_CONSUMER": true, "DEFAULT_PRODUCER": true, "TOOLS_CONSUMER": true, "SCHEDULE_CONSUMER": true,
	"FILTERSRV_CONSUMER": true, "__MONITOR_CONSUMER": true, "CLIENT_INNER_PRODUCER": true, "SELF_TEST_P_GROUP": true,
	"SELF_TEST_C_GROUP": true, "CID_ONS-HTTP-PROXY": true, "CID_ONSAPI_PERMISSION": true, "CID_ONSAPI_OWNER": true,
	"CID_ONSAPI_PULL": true,
}

// IsSystem tells whether a name is one of RocketMQ's own and not a user's group.
func IsSystem(name string) bool { return predefined[name] || strings.HasPrefix(name, sysPrefix) }

// Rules are the configuration keys that the table follows. They are asked for at each use.
type Rules struct {
	AutoCreate           bool // autoCreateSubscriptionGroup
	EnableCreateSysGroup bool // enableCreateSysGroup: groups named CID_RMQ_SYS_… are created also without AutoCreate
	// Slave: the table is a copy of the master's. Groups that would be created are served, and not kept.
	Slave bool
}

// Options say where the table is kept and by which rules.
type Options struct {
	Dir      string // the store's root; the file is <Dir>/config/subscriptionGroup.json
	Compat49 bool   // 4.9.7's groups and file
	LMQ      bool   // enableLmq: groups named %LMQ%… need no entry
	Rules    func() Rules
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each failed write
}

// Table is safe for concurrent use. The configurations it hands out are immutable.
type Table struct {
	o      Options
	writer *metafile.Writer

	mu        sync.RWMutex
	groups    metafile.Table[*protocol.SubscriptionGroupConfig]
	forbidden map[string]map[string]int32 // group → topic → bits
	version   protocol.DataVersion
}

// New loads the table and adds the broker's own groups.
func New(o Options) (*Table, error) {
	if o.Rules == nil {
		o.Rules = func() Rules { return Rules{AutoCreate: true, EnableCreateSysGroup: true} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Table{o: o, forbidden: map[string]map[string]int32{}, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	path := filepath.Join(o.Dir, "config", "subscriptionGroup.json")
	file, source, err := metafile.Load(path, t.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("subscription groups not read from their file", "file", path, "used", source)
	}
	for _, g := range atStart {
		if _, ok := t.groups.Get(g.name); !ok && !(g.only5 && o.Compat49) {
			t.groups.Set(g.name, newConfig(g.name))
		}
	}
	t.writer = metafile.NewWriter(file, t.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return t, nil
}

func newConfig(name string) *protocol.SubscriptionGroupConfig {
	cfg := protocol.NewSubscriptionGroupConfig()
	cfg.GroupName = name
	cfg.Attributes.Clear()
	return cfg
}

// Get finds a group, nil if there is none. The name may be a view.
func (t *Table) Get(name string) *protocol.SubscriptionGroupConfig {
	t.mu.RLock()
	cfg, _ := t.groups.Get(name)
	t.mu.RUnlock()
	if cfg == nil && t.o.LMQ && isLMQ(name) {
		return newConfig(strings.Clone(name))
	}
	return cfg
}

// Find finds a group or creates it when the configuration allows that and the name is legal; else it gives nil.
func (t *Table) Find(name string) *protocol.SubscriptionGroupConfig {
	if cfg := t.Get(name); cfg != nil {
		return cfg
	}
	rules := t.o.Rules()
	if !rules.AutoCreate && !(rules.EnableCreateSysGroup && strings.HasPrefix(name, sysPrefix)) {
		return nil
	}
	if name == "" || len(name) > maxNameLength || !topic.LegalName(name) {
		return nil
	}
	if rules.Slave {
		return newConfig(strings.Clone(name))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if cfg, ok := t.groups.Get(name); ok {
		return cfg
	}
	cfg := newConfig(strings.Clone(name))
	t.o.Log.Info("subscription group created by itself", "group", cfg.GroupName)
	t.setLocked(cfg)
	return cfg
}

// setLocked enters a configuration and has the file written.
func (t *Table) setLocked(cfg *protocol.SubscriptionGroupConfig) {
	t.groups.Set(cfg.GroupName, cfg)
	t.changedLocked()
}

func (t *Table) changedLocked() {
	t.version = metafile.NextVersion(t.version, t.o.Now())
	t.writer.Changed()
}

// Update creates or replaces a group (code 200). The name is not checked, as in Java. A group has no attributes that
// could be set: any gives code 1. The configuration belongs to the table afterwards.
func (t *Table) Update(cfg *protocol.SubscriptionGroupConfig) error {
	for key := range cfg.Attributes.All() {
		return protocol.Errorf(protocol.RespSystemError, "unsupported key: %s", strings.TrimLeft(key, "+-"))
	}
	if cfg.GroupName == "" {
		return protocol.Errorf(protocol.RespSystemError, "the group has no name")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	cfg.Attributes.Clear()
	if old, ok := t.groups.Get(cfg.GroupName); ok {
		cfg.Attributes = old.Attributes.Clone()
	}
	t.o.Log.Info("subscription group changed", "group", cfg.GroupName)
	t.setLocked(cfg)
	return nil
}

// Disable keeps a group from consuming, until it is updated again. It tells whether the group was there and enabled.
func (t *Table) Disable(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, ok := t.groups.Get(name)
	if !ok || !old.ConsumeEnable {
		return false
	}
	cfg := *old
	cfg.ConsumeEnable = false
	t.setLocked(&cfg)
	return true
}

// Delete removes a group and tells whether it was there.
func (t *Table) Delete(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.groups.Delete(name) {
		return false
	}
	delete(t.forbidden, name)
	t.o.Log.Info("subscription group deleted", "group", name)
	t.changedLocked()
	return true
}

// SetForbidden forbids (readable false) or allows a group to read a topic (code 353).
func (t *Table) SetForbidden(group, topic string, readable bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	topics := t.forbidden[group]
	if readable == (topics[topic]&forbidRead == 0) {
		return
	}
	if readable {
		if topics[topic] &^= forbidRead; topics[topic] == 0 {
			delete(topics, topic)
		}
		if len(topics) == 0 {
			delete(t.forbidden, group)
		}
	} else {
		if topics == nil {
			topics = map[string]int32{}
			t.forbidden[strings.Clone(group)] = topics
		}
		topics[strings.Clone(topic)] |= forbidRead
	}
	t.changedLocked()
}

// IsForbidden tells whether a group must not read a topic. The names may be views.
func (t *Table) IsForbidden(group, topic string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.forbidden) > 0 && t.forbidden[group][topic]&forbidRead != 0
}

// All lists the groups in the order of Java's table.
func (t *Table) All() []*protocol.SubscriptionGroupConfig {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.allLocked()
}

func (t *Table) allLocked() []*protocol.SubscriptionGroupConfig {
	all := make([]*protocol.SubscriptionGroupConfig, 0, t.groups.Len())
	for _, cfg := range t.groups.All() {
		all = append(all, cfg)
	}
	return all
}

// DataVersion is the version of the table.
func (t *Table) DataVersion() protocol.DataVersion {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}

// Sync waits until all changes so far are on disk.
func (t *Table) Sync(ctx context.Context) error { return t.writer.Sync(ctx) }

// Close writes what is not on disk yet.
func (t *Table) Close() error { return t.writer.Close() }

func isLMQ(name string) bool { return strings.HasPrefix(name, "%LMQ%") }

// load fills the empty table with the content of a file.
func (t *Table) load(text []byte) error {
	var body protocol.SubscriptionGroupWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	t.enter(&body)
	return nil
}

// enter puts what a file or a master brings into the table.
func (t *Table) enter(body *protocol.SubscriptionGroupWrapper) {
	for name, cfg := range body.SubscriptionGroupTable.All() {
		if cfg == nil {
			continue
		}
		if cfg.GroupName == "" {
			cfg.GroupName = name
		}
		t.groups.Set(name, cfg)
	}
	for group, topics := range body.ForbiddenTable.All() {
		m := map[string]int32{}
		for topic, bits := range topics.All() {
			m[topic] = bits
		}
		t.forbidden[group] = m
	}
	t.version = body.DataVersion
}

// Replace makes the table a copy of a master's (the body of code 201), of the same version.
func (t *Table) Replace(master *protocol.SubscriptionGroupWrapper) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version == master.DataVersion {
		return
	}
	for _, cfg := range t.allLocked() {
		if _, ok := master.SubscriptionGroupTable.Get(cfg.GroupName); !ok {
			t.groups.Delete(cfg.GroupName)
		}
	}
	clear(t.forbidden)
	t.enter(master)
	t.writer.Changed()
	t.o.Log.Info("subscription groups taken over from the master", "groups", t.groups.Len())
}

// Body is the whole table as it is written and answered (code 201).
func (t *Table) Body() *protocol.SubscriptionGroupWrapper {
	t.mu.RLock()
	defer t.mu.RUnlock()
	b := &protocol.SubscriptionGroupWrapper{DataVersion: t.version}
	b.SubscriptionGroupTable = fastjson.MapOf[string, *protocol.SubscriptionGroupConfig](t.groups.Len())
	for name, cfg := range t.groups.All() {
		b.SubscriptionGroupTable.Set(name, cfg)
	}
	b.ForbiddenTable.Clear()
	for group, topics := range t.forbidden {
		m := fastjson.MapOf[string, int32](len(topics))
		for topic, bits := range topics {
			m.Set(topic, bits)
		}
		b.ForbiddenTable.Set(group, m)
	}
	return b
}

func (t *Table) omit() string {
	if t.o.Compat49 {
		return "v5"
	}
	return ""
}

func (t *Table) render() []byte {
	return fastjson.Options{Pretty: true, Omit: t.omit()}.Marshal(t.Body())
}

// JSON is the body of code 201.
func (t *Table) JSON() []byte { return fastjson.Options{Omit: t.omit()}.Marshal(t.Body()) }
