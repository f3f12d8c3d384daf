// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package mapping knows the static topics of RocketMQ 5: topics whose queues are numbered through all brokers, and can be
// moved from one broker to another without a change of their number or of the order of their offsets.
//
// A logical queue is a list of segments (Item). Messages are stored in the last one, by its leader; the older ones are
// read where they are, by the leader on behalf of consumers. Administrators (mqadmin updateStaticTopic and
// remappingStaticTopic) compute the lists and tell all brokers; each keeps the lists of the queues that it leads or led in
// config/topicQueueMapping.json, which is Java's file.
package mapping

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Options say where the table is kept.
type Options struct {
	Dir    string // the store's root; the file is <Dir>/config/topicQueueMapping.json
	Broker string // brokerName
	Now    func() time.Time
	Log    *slog.Logger
	// Changed is told of a topic that got a mapping, or another one; may be nil.
	Changed func(topic string)
}

// Table has the static topics that a broker hosts queues of. It is safe for concurrent use; what it hands out is immutable.
type Table struct {
	o      Options
	writer *metafile.Writer
	used   atomic.Bool // there is a topic

	mu      sync.RWMutex
	topics  metafile.Table[*protocol.TopicQueueMappingDetail]
	version protocol.DataVersion
}

// New loads the table.
func New(o Options) (*Table, error) {
	t := &Table{o: o, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	path := filepath.Join(o.Dir, "config", "topicQueueMapping.json")
	file, source, err := metafile.Load(path, t.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("static topics not read from their file", "file", path, "used", source)
	}
	t.used.Store(t.topics.Len() > 0)
	t.writer = metafile.NewWriter(file, t.render, metafile.Options{Log: o.Log})
	return t, nil
}

func (t *Table) load(text []byte) error {
	var body protocol.TopicQueueMappingSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	for name, d := range body.TopicQueueMappingInfoMap.All() {
		if d != nil {
			t.topics.Set(name, d)
		}
	}
	t.version = body.DataVersion
	return nil
}

func (t *Table) render() []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	body := protocol.TopicQueueMappingSerializeWrapper{DataVersion: t.version, TopicQueueMappingInfoMap: t.detailsLocked()}
	return fastjson.Options{Pretty: true}.Marshal(&body)
}

func (t *Table) detailsLocked() fastjson.Map[string, *protocol.TopicQueueMappingDetail] {
	m := fastjson.MapOf[string, *protocol.TopicQueueMappingDetail](t.topics.Len())
	for name, d := range t.topics.All() {
		m.Set(name, d)
	}
	return m
}

// Used tells whether there is any static topic: a quick look for those who mostly find none.
func (t *Table) Used() bool { return t.used.Load() }

// Get is the mapping of a topic, nil if it is not static. The name may be a view.
func (t *Table) Get(topic string) *protocol.TopicQueueMappingDetail {
	t.mu.RLock()
	defer t.mu.RUnlock()
	d, _ := t.topics.Get(topic)
	return d
}

// Queue is a logical queue of a topic; ok is false if the topic is not static. An id below 0 stands for any queue that the
// broker leads.
func (t *Table) Queue(topic string, id int32) (q *Queue, ok bool) {
	d := t.Get(topic)
	if d == nil {
		return nil, false
	}
	if id < 0 {
		if led := led(d); len(led) > 0 {
			id = led[rand.IntN(len(led))]
		}
	}
	items, _ := d.HostedQueues.Get(id)
	return &Queue{Topic: d.Topic, ID: id, Broker: t.o.Broker, Items: items}, true
}

// led are the queues of which a mapping's broker is the leader.
func led(d *protocol.TopicQueueMappingDetail) (ids []int32) {
	for id, items := range d.HostedQueues.All() {
		if n := len(items); n > 0 && items[n-1].Bname == d.Bname {
			ids = append(ids, id)
		}
	}
	return ids
}

// Details are all mappings, and the version of the table (code 21).
func (t *Table) Details() (fastjson.Map[string, *protocol.TopicQueueMappingDetail], protocol.DataVersion) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.detailsLocked(), t.version
}

// Info is what name servers are told of a topic: which queues the broker leads, and in which of its own they are. It is nil
// for a topic that is not static.
func (t *Table) Info(topic string) *protocol.TopicQueueMappingInfo {
	d := t.Get(topic)
	if d == nil {
		return nil
	}
	info := d.TopicQueueMappingInfo
	info.CurrIdMap.Clear()
	ids := led(d)
	info.CurrIdMap = fastjson.MapOf[int32, int32](len(ids))
	for _, id := range ids {
		items, _ := d.HostedQueues.Get(id)
		info.CurrIdMap.Set(id, items[len(items)-1].QueueID)
	}
	return &info
}

// Replace makes the table a copy of a master's (code 21), of the same version. A master of Java's 5.x sends it, one of 4.9
// has none.
func (t *Table) Replace(master fastjson.Map[string, *protocol.TopicQueueMappingDetail], version protocol.DataVersion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version == version {
		return
	}
	t.topics = metafile.Table[*protocol.TopicQueueMappingDetail]{}
	for name, d := range master.All() {
		if d != nil {
			t.topics.Set(name, d)
		}
	}
	t.used.Store(t.topics.Len() > 0)
	t.version = version
	t.writer.Changed()
}

// Delete forgets a topic.
func (t *Table) Delete(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.topics.Delete(topic) {
		t.changedLocked()
	}
}

func (t *Table) changedLocked() {
	t.used.Store(t.topics.Len() > 0)
	t.version = metafile.NextVersion(t.version, t.o.Now())
	t.writer.Changed()
}

// Sync waits until all changes so far are on disk.
func (t *Table) Sync(ctx context.Context) error { return t.writer.Sync(ctx) }

// Close writes what is not on disk yet.
func (t *Table) Close() error { return t.writer.Close() }
