// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"path/filepath"
	"sync"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// metrics counts the open half messages of each real topic and keeps the counts in config/transactionMetrics (5.x). A nil
// one counts nothing.
type metrics struct {
	o      Options
	writer *metafile.Writer

	mu      sync.Mutex
	topics  metafile.Table[protocol.Metric]
	version protocol.DataVersion
	timer   *time.Timer // runs while a change is not written
	closed  bool
}

func loadMetrics(o Options) (*metrics, error) {
	m := &metrics{o: o, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	path := filepath.Join(o.Dir, "config", "transactionMetrics")
	file, source, err := metafile.Load(path, m.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Error("counts of open transactions not read from their file", "file", path, "used", source)
	}
	m.writer = metafile.NewWriter(file, m.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return m, nil
}

func (m *metrics) load(text []byte) error {
	var body protocol.TransactionMetricsSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	for topic, metric := range body.TransactionCount.All() {
		if metric != nil {
			m.topics.Set(topic, *metric)
		}
	}
	m.version = body.DataVersion
	return nil
}

// render is the file: compact, unlike the others.
func (m *metrics) render() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	body := protocol.TransactionMetricsSerializeWrapper{DataVersion: m.version}
	body.TransactionCount = fastjson.MapOf[string, *protocol.Metric](m.topics.Len())
	for topic, metric := range m.topics.All() {
		body.TransactionCount.Set(topic, &metric)
	}
	return fastjson.Marshal(&body)
}

// add changes the count of a topic. It is written within transactionMetricFlushInterval.
func (m *metrics) add(topic string, n int64) {
	if m == nil || topic == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Now()
	metric, _ := m.topics.Get(topic)
	// After a crash a message may be there twice, and end twice; a Java broker counts below zero then.
	m.topics.Set(topic, protocol.Metric{Count: max(metric.Count+n, 0), TimeStamp: now.UnixMilli()})
	m.version = metafile.NextVersion(m.version, now)
	if m.timer == nil && !m.closed {
		m.timer = time.AfterFunc(m.o.Rules().MetricsEvery, m.flush)
	}
}

func (m *metrics) flush() {
	m.mu.Lock()
	changed := m.timer != nil
	m.timer = nil
	m.mu.Unlock()
	if changed {
		m.writer.Changed()
	}
}

func (m *metrics) counts() map[string]int64 {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[string]int64, m.topics.Len())
	for topic, metric := range m.topics.All() {
		counts[topic] = metric.Count
	}
	return counts
}

func (m *metrics) close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	m.flush()
	return m.writer.Close()
}
