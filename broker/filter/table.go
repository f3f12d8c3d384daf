// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package filter

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Options of a Table; Dir is required.
type Options struct {
	Dir string // the store's directory; the file is <Dir>/config/consumerFilter.json

	Consumers int // expectConsumerNumUseFilter, 0: 32
	ErrorRate int // maxErrorRateOfBloomFilter, percent, 0: 20
	// Lifetime is how long the expression of a group that is gone is kept (filterDataCleanTimeSpan), nil: 24 h.
	Lifetime func() time.Duration
	Now      func() time.Time
	Log      *slog.Logger
	Failed   func(error) // told of each write that fails
}

// Table keeps the SQL92 expressions that consumers have registered with their heartbeats, by topic and group. An
// expression outlives the connections of its group, and the broker, so that a group that comes back finds it.
// It is safe for concurrent use.
type Table struct {
	o      Options
	bloom  bloom
	writer *metafile.Writer

	newest  atomic.Int64 // store time (ms) of the newest message that got a bit map
	current bool         // what was loaded is what was there last, with the same bits

	mu     sync.RWMutex
	topics map[string]*topicFilters
	seq    uint64 // of the newest entry
}

type topicFilters struct {
	place  metafile.Place
	groups map[string]*entry
}

type entry struct {
	place metafile.Place
	data  *Data
}

// Data is a registered expression. It is immutable.
type Data struct {
	Matcher store.Matcher
	// Version is that of the newest heartbeat that brought the expression.
	Version int64

	registered *registered // Matcher
	body       protocol.ConsumerFilterData
}

// file is the name below <Dir>/config.
const file = "consumerFilter.json"

// saveInterval is Java's pause between two writes.
const saveInterval = 10 * time.Second

// Sizes of the Java tables: of topics, and of the groups of one.
const (
	topicTable = 512
	groupTable = 16
)

// NewTable loads the table. As in Java all expressions count as those of absent groups until a heartbeat comes.
func NewTable(o Options) (*Table, error) {
	if o.Consumers == 0 {
		o.Consumers = 32
	}
	if o.ErrorRate == 0 {
		o.ErrorRate = 20
	}
	if o.Lifetime == nil {
		o.Lifetime = func() time.Duration { return 24 * time.Hour }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Table{o: o, bloom: newBloom(o.Consumers, o.ErrorRate), topics: map[string]*topicFilters{}, current: true}
	path := filepath.Join(o.Dir, "config", file)
	f, source, err := metafile.Load(path, t.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		t.current = false
		o.Log.Error("consumer filters not read from their file", "file", path, "used", source)
	}
	t.writer = metafile.NewWriter(f, t.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return t, nil
}

// load fills the empty table with the content of a file.
func (t *Table) load(text []byte) error {
	var body protocol.ConsumerFilterManager
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	const assumed = 30 * time.Second // how long before the start the groups are thought to have left
	now := t.o.Now()
	for topic, filters := range body.FilterDataByTopic.All() {
		if filters == nil {
			continue
		}
		for group, b := range filters.GroupFilterData.All() {
			if b == nil {
				continue
			}
			d, err := t.compile(topic, group, b.Expression, b.ExpressionType, b.ClientVersion)
			if err != nil {
				t.o.Log.Warn("consumer filter ignored", "topic", topic, "group", group, "error", err)
				continue
			}
			// Bit maps that were made with other bits say nothing of the expression: it was born now.
			if bits := d.body.BloomFilterData; b.BloomFilterData != nil && bits.BitNum == b.BloomFilterData.BitNum &&
				slices.Equal(bits.BitPos, b.BloomFilterData.BitPos) {
				d = d.bornAt(b.BornTime)
			} else {
				t.current = false
			}
			if d.body.DeadTime = b.DeadTime; b.DeadTime == 0 {
				d.body.DeadTime = now.Add(-assumed).UnixMilli()
			}
			d.body.DeadTime = max(d.body.DeadTime, d.body.BornTime)
			t.putLocked(d)
		}
	}
	return nil
}

// compile makes the data of an expression that is registered now.
func (t *Table) compile(topic, group, expression, expressionType string, version int64) (*Data, error) {
	topic, group = strings.Clone(topic), strings.Clone(group)
	sub := protocol.SubscriptionData{SubString: strings.Clone(expression), ExpressionType: strings.Clone(expressionType)}
	m, err := compileSQL(&sub)
	if err != nil {
		return nil, err
	}
	bits, now := t.bloom.of(group, topic), t.o.Now().UnixMilli()
	r := &registered{sqlMatcher{m}, bits.BitPos, int(bits.BitNum), now}
	return &Data{r, version, r, protocol.ConsumerFilterData{
		ConsumerGroup: group, Topic: topic, Expression: sub.SubString, ExpressionType: sub.ExpressionType,
		BornTime: now, ClientVersion: version, BloomFilterData: bits,
	}}, nil
}

func (t *Table) putLocked(d *Data) {
	f := t.topics[d.body.Topic]
	if f == nil {
		t.seq++
		f = &topicFilters{place: metafile.PlaceOf(d.body.Topic, t.seq), groups: map[string]*entry{}}
		t.topics[d.body.Topic] = f
	}
	e := f.groups[d.body.ConsumerGroup]
	if e == nil {
		t.seq++
		e = &entry{place: metafile.PlaceOf(d.body.ConsumerGroup, t.seq)}
		f.groups[d.body.ConsumerGroup] = e
	}
	e.data = d
}

func (t *Table) removeLocked(topic, group string) {
	f := t.topics[topic]
	delete(f.groups, group)
	if len(f.groups) == 0 {
		delete(t.topics, topic)
	}
}

// Get is what a group has registered for a topic, nil if nothing. The names may be views.
func (t *Table) Get(topic, group string) *Data {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[topic].get(group)
}

// get is Get for a topic in bytes.
func (t *Table) get(topic []byte, group string) *Data {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[string(topic)].get(group)
}

func (f *topicFilters) get(group string) *Data {
	if f == nil {
		return nil
	}
	if e := f.groups[group]; e != nil {
		return e.data
	}
	return nil
}

// dead tells whether the group has left.
func (d *Data) dead() bool { return d.body.DeadTime >= d.body.BornTime }

// alive is d for a group that is there, with a client version.
func (d *Data) alive(version int64) *Data {
	n := *d
	n.Version, n.body.ClientVersion, n.body.DeadTime = version, version, 0
	return &n
}

// Register enters the subscriptions of a heartbeat, each time that one comes. Tags are passed over. What is known is
// replaced by a larger subVersion only; the same one tells that the group is back. An expression that cannot be compiled
// is not entered, and if it is newer than what is known, that is removed: the group's pulls are refused then.
func (t *Table) Register(group string, subscriptions []protocol.SubscriptionData) {
	for i := range subscriptions {
		s := &subscriptions[i]
		if !IsTag(s.ExpressionType) && s.SubString != "" {
			t.register(group, s)
		}
	}
}

func (t *Table) register(group string, s *protocol.SubscriptionData) {
	if old := t.Get(s.Topic, group); old != nil && old.Version == s.SubVersion && !old.dead() {
		return // by far the most frequent case
	}
	d, err := t.compile(s.Topic, group, s.SubString, s.ExpressionType, s.SubVersion)
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.topics[s.Topic].get(group)
	switch {
	case old != nil && old.Version > s.SubVersion:
		return
	case old != nil && old.Version == s.SubVersion,
		old != nil && old.body.Expression == s.SubString && old.body.ExpressionType == s.ExpressionType:
		t.putLocked(old.alive(s.SubVersion))
	case err == nil: // a message may have been dispatched since it was compiled, or the clock set back
		t.putLocked(d.bornAt(max(d.body.BornTime, t.newest.Load())))
	default:
		t.o.Log.Warn("consumer filter refused", "topic", s.Topic, "group", group, "expression", s.SubString, "error", err)
		if old == nil {
			return
		}
		t.removeLocked(s.Topic, group)
	}
	t.writer.Changed()
}

// Retire tells that a group no longer subscribes to a topic, or has left. Its expression is kept for a while.
func (t *Table) Retire(topic, group string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.topics[topic].get(group)
	if old == nil || old.dead() {
		return
	}
	d := *old
	d.body.DeadTime = max(t.o.Now().UnixMilli(), d.body.BornTime)
	t.putLocked(&d)
	t.writer.Changed()
}

// Clean removes what has been without its group for longer than the lifetime.
func (t *Table) Clean() {
	before := t.o.Now().Add(-t.o.Lifetime()).UnixMilli()
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, f := range t.topics {
		for group, e := range f.groups {
			if e.data.dead() && e.data.body.DeadTime <= before {
				t.o.Log.Info("consumer filter forgotten", "topic", topic, "group", group, "expression", e.data.body.Expression)
				t.removeLocked(topic, group)
				t.writer.Changed()
			}
		}
	}
}

// Run cleans from time to time, until ctx ends.
func (t *Table) Run(ctx context.Context) error {
	ticker := time.NewTicker(saveInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			t.Clean()
		}
	}
}

// Sync waits until everything is on disk.
func (t *Table) Sync(ctx context.Context) error { return t.writer.Sync(ctx) }

// Close writes what is not on disk yet.
func (t *Table) Close() error { return t.writer.Close() }

// render is the text of the file.
func (t *Table) render() []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	topics := make([]string, 0, len(t.topics))
	for topic := range t.topics {
		topics = append(topics, topic)
	}
	metafile.InJavaOrder(topicTable, topics, func(topic string) metafile.Place { return t.topics[topic].place })
	var body protocol.ConsumerFilterManager
	body.FilterDataByTopic.Clear()
	for _, topic := range topics {
		body.FilterDataByTopic.Set(topic, t.topics[topic].body(topic))
	}
	return fastjson.Options{Pretty: true}.Marshal(&body)
}

func (f *topicFilters) body(topic string) *protocol.FilterDataMapByTopic {
	entries := make([]*entry, 0, len(f.groups))
	for _, e := range f.groups {
		entries = append(entries, e)
	}
	metafile.InJavaOrder(groupTable, entries, func(e *entry) metafile.Place { return e.place })
	body := &protocol.FilterDataMapByTopic{Topic: topic}
	for _, e := range entries {
		b := e.data.body
		b.Dead = e.data.dead()
		body.GroupFilterData.Set(b.ConsumerGroup, &b)
	}
	return body
}
