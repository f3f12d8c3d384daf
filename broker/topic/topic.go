// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package topic keeps the topic configurations (config/topics.json): the broker's own topics, those that
// administrators create, and those that come into being when a producer sends to them.
package topic

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Bits of TopicConfig.Perm.
const (
	PermInherit = 1 // topics may be made after this one
	PermWrite   = 2
	PermRead    = 4
)

// Bits of TopicConfig.TopicSysFlag.
const (
	FlagUnit    = 1
	FlagUnitSub = 2
)

// Rules are the configuration keys that the table follows. They are asked for at each use.
type Rules struct {
	AutoCreate      bool // autoCreateTopicEnable
	EnableMixedType bool // enableMixedMessageType: the attribute message.type=MIXED is allowed
	ValidateSystem  bool // validateSystemTopicWhenUpdateTopic
}

// Options say where the table is kept and by which rules.
type Options struct {
	Dir      string // the store's root; the file is <Dir>/config/topics.json
	Compat49 bool   // 4.9.7's topics, codes and file
	LMQ      bool   // enableLmq: topics named %LMQ%… need no entry
	System   System // what the broker's own topics depend on
	Rules    func() Rules
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each failed write
}

// Table is safe for concurrent use. The configurations it hands out are immutable.
type Table struct {
	o      Options
	writer *metafile.Writer
	system map[string]bool // the broker's own topics; not changed after New

	mu       sync.RWMutex
	topics   metafile.Table[*protocol.TopicConfig]
	version  protocol.DataVersion
	body     atomic.Pointer[protocol.TopicConfigSerializeWrapper] // of Body; nil after a change
	onChange func(changed []string)

	complained time.Time // about a topic that was not made
}

// complainAgain is the pause between two lines about topics that are not made.
const complainAgain = 10 * time.Second

// New loads the table and adds the broker's own topics. What the file says of them holds, except that the default topic
// gets back the permission to make topics after it when AutoCreate is set.
func New(o Options) (*Table, error) {
	if o.Rules == nil {
		o.Rules = func() Rules { return Rules{AutoCreate: true, ValidateSystem: true} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Table{
		o: o, system: map[string]bool{}, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()},
		onChange: func([]string) {},
	}
	path := filepath.Join(o.Dir, "config", "topics.json")
	file, source, err := metafile.Load(path, t.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("topics not read from their file", "file", path, "used", source)
	}
	t.addSystem()
	t.writer = metafile.NewWriter(file, t.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return t, nil
}

// OnChange sets who is told of the names of topics that were created, changed or deleted: the registration at the name
// servers. It is called after the change, without a lock, and must not wait. Set it before the table is used.
func (t *Table) OnChange(f func(changed []string)) { t.onChange = f }

// Get finds a topic, nil if there is none. It allocates nothing; the name may be a view.
func (t *Table) Get(name string) *protocol.TopicConfig {
	t.mu.RLock()
	cfg, _ := t.topics.Get(name)
	t.mu.RUnlock()
	if cfg == nil && t.o.LMQ && isLMQ(name) {
		return newConfig(strings.Clone(name), 1, PermRead|PermWrite)
	}
	return cfg
}

// Intern gives a string equal to name that may be kept: the table's own for a known topic, else a copy.
func (t *Table) Intern(name string) string {
	if cfg := t.Get(name); cfg != nil {
		return cfg.TopicName
	}
	return strings.Clone(name)
}

func newConfig(name string, queues, perm int32) *protocol.TopicConfig {
	cfg := protocol.NewTopicConfig()
	queues = min(queues, MaxQueues)
	cfg.TopicName, cfg.ReadQueueNums, cfg.WriteQueueNums, cfg.Perm = name, queues, queues, perm
	cfg.Attributes.Clear()
	return cfg
}

// CreateOnSend gives the topic of a send, which is made after defaultTopic if it does not exist: with the queues the
// producer wants, but not more than defaultTopic has. The error carries code 17.
//
// Java takes the permission to inherit away from TBW102 when a topic should be made after it while AutoCreate is off,
// and does not give it back when AutoCreate is set again, until it restarts.
func (t *Table) CreateOnSend(name, defaultTopic string, queueNums, sysFlag int32) (*protocol.TopicConfig, error) {
	if cfg := t.Get(name); cfg != nil {
		return cfg, nil
	}
	cfg, created := t.createAfter(name, defaultTopic, queueNums, sysFlag)
	if cfg == nil {
		return nil, protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please!%s", name, faq)
	}
	if created {
		t.o.Log.Info("topic created by a send", "topic", cfg.TopicName, "after", defaultTopic, "queues", cfg.WriteQueueNums)
		t.onChange([]string{cfg.TopicName})
		t.keep()
	}
	return cfg, nil
}

const faq = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

func (t *Table) createAfter(name, defaultTopic string, queueNums, sysFlag int32) (cfg *protocol.TopicConfig, created bool) {
	autoCreate := t.o.Rules().AutoCreate
	t.mu.Lock()
	defer t.mu.Unlock()
	if cfg, ok := t.topics.Get(name); ok {
		return cfg, false
	}
	template, ok := t.topics.Get(defaultTopic)
	if !ok {
		return nil, false
	}
	if template.TopicName == AutoCreateTopic && !autoCreate && template.Perm != PermRead|PermWrite {
		closed := *template
		closed.Perm = PermRead | PermWrite
		template = &closed
		t.topics.Set(AutoCreateTopic, template)
		t.body.Store(nil)
	}
	if template.Perm&PermInherit == 0 {
		if now := t.o.Now(); now.Sub(t.complained) >= complainAgain { // producers try again at once
			t.complained = now
			t.o.Log.Warn("topic not created: the default topic may not be inherited",
				"topic", name, "default", defaultTopic, "perm", template.Perm)
		}
		return nil, false
	}
	cfg = newConfig(strings.Clone(name), max(min(queueNums, template.WriteQueueNums), 0), template.Perm&^PermInherit)
	cfg.TopicSysFlag = sysFlag
	cfg.TopicFilterType = template.TopicFilterType
	t.setLocked(cfg)
	return cfg, true
}

// CreateRetry gives a retry or dead letter topic, or another that the broker needs, and makes it if it does not exist.
func (t *Table) CreateRetry(name string, queues, perm, sysFlag int32) *protocol.TopicConfig {
	cfg, created := t.ensure(name, queues, perm, sysFlag)
	if created {
		t.keep()
	}
	return cfg
}

// keepTimeout is how long a message waits for the disk with the topic that is made for it.
const keepTimeout = time.Second

// keep brings a new topic to disk before its first message is acknowledged: if the broker is killed in between, nobody
// could read that message. What fails is logged and tried again by the writer; the message is more important then.
func (t *Table) keep() {
	ctx, cancel := context.WithTimeout(context.Background(), keepTimeout)
	defer cancel()
	_ = t.writer.Sync(ctx)
}

// RetryTopicOf makes a group's retry topic when one of its consumers comes online: as CreateRetry, and the topic is an
// order topic exactly when the group subscribes to one.
func (t *Table) RetryTopicOf(group string, queues, sysFlag int32, order bool) *protocol.TopicConfig {
	cfg, _ := t.ensure("%RETRY%"+group, queues, PermRead|PermWrite, sysFlag)
	if cfg.Order != order {
		t.setOrder(cfg.TopicName, order)
		cfg = t.Get(cfg.TopicName)
	}
	return cfg
}

func (t *Table) ensure(name string, queues, perm, sysFlag int32) (cfg *protocol.TopicConfig, created bool) {
	if cfg := t.Get(name); cfg != nil {
		return cfg, false
	}
	t.mu.Lock()
	cfg, ok := t.topics.Get(name)
	if !ok {
		cfg = newConfig(strings.Clone(name), queues, perm)
		cfg.TopicSysFlag = sysFlag
		t.setLocked(cfg)
	}
	t.mu.Unlock()
	if !ok {
		t.o.Log.Info("topic created by the broker", "topic", cfg.TopicName, "queues", queues)
		t.onChange([]string{cfg.TopicName})
	}
	return cfg, !ok
}

// setOrder switches a topic's order flag.
func (t *Table) setOrder(name string, order bool) {
	t.mu.Lock()
	old, ok := t.topics.Get(name)
	if ok && old.Order != order {
		cfg := *old
		cfg.Order = order
		t.setLocked(&cfg)
	}
	t.mu.Unlock()
	if ok && old.Order != order {
		t.onChange([]string{name})
	}
}

// SetOrder makes the named topics order topics, as the name server's ORDER_TOPIC_CONFIG lists them; names of no topic are
// passed over. In 4.9 all others lose the flag, in 5.x it stays with them: an administrator may have set it here. Call it
// only when the name server has such a list.
func (t *Table) SetOrder(topics []string) {
	want := map[string]bool{}
	for _, name := range topics {
		want[name] = true
	}
	var changed []string
	t.mu.Lock()
	for name, old := range t.topics.All() {
		if order := want[name]; old.Order != order && (order || t.o.Compat49) {
			cfg := *old
			cfg.Order = order
			t.topics.Set(name, &cfg)
			changed = append(changed, name)
		}
	}
	if changed != nil {
		t.changedLocked()
	}
	t.mu.Unlock()
	if changed != nil {
		t.o.Log.Info("order topics changed by the name server", "topics", changed)
		t.onChange(changed)
	}
}

// setLocked enters a configuration and has the file written.
func (t *Table) setLocked(cfg *protocol.TopicConfig) {
	t.topics.Set(cfg.TopicName, cfg)
	t.changedLocked()
}

func (t *Table) changedLocked() {
	t.body.Store(nil)
	t.version = metafile.NextVersion(t.version, t.o.Now())
	t.writer.Changed()
}

// Delete removes a topic and tells whether it was there. Its queues are not touched.
func (t *Table) Delete(name string) bool {
	t.mu.Lock()
	ok := t.topics.Delete(name)
	if ok {
		t.changedLocked()
	}
	t.mu.Unlock()
	if ok {
		t.o.Log.Info("topic deleted", "topic", name)
		t.onChange([]string{name})
	}
	return ok
}

// All lists the topics in the order of Java's table.
func (t *Table) All() []*protocol.TopicConfig {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]*protocol.TopicConfig, 0, t.topics.Len())
	for _, cfg := range t.topics.All() {
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
	var body protocol.TopicConfigSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	for name, cfg := range body.TopicConfigTable.All() {
		if cfg != nil {
			t.enter(name, cfg)
		}
	}
	t.version = body.DataVersion
	return nil
}

// Body is the whole table with its version. It must not be changed: all who ask between two changes share it.
func (t *Table) Body() *protocol.TopicConfigSerializeWrapper {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b := t.body.Load(); b != nil {
		return b
	}
	b := &protocol.TopicConfigSerializeWrapper{DataVersion: t.version}
	b.TopicConfigTable = fastjson.MapOf[string, *protocol.TopicConfig](t.topics.Len())
	for name, cfg := range t.topics.All() {
		b.TopicConfigTable.Set(name, cfg)
	}
	t.body.Store(b)
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

// JSON is the body of code 21. 5.x adds the static topics and the version of their table.
func (t *Table) JSON(static fastjson.Map[string, *protocol.TopicQueueMappingDetail], version protocol.DataVersion) []byte {
	b := &protocol.TopicConfigAndMappingSerializeWrapper{TopicConfigSerializeWrapper: *t.Body(), MappingDataVersion: version}
	b.TopicQueueMappingInfoMap.Clear()
	b.TopicQueueMappingDetailMap = static
	return fastjson.Options{Omit: t.omit()}.Marshal(b)
}
