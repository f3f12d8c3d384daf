// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/metafile"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/telemetry/metric"
)

// delayBounds are those of a Java broker, s.
var delayBounds = metric.NewBounds(1, 60, 600, 3600, 12*3600, 24*3600, 3*24*3600)

// counts are the messages that wait for each real topic, kept in config/timermetrics. A message that takes another one
// back counts -1 while both wait.
type counts struct {
	now    func() time.Time
	writer *metafile.Writer

	mu      sync.Mutex
	topics  map[string]*count
	version protocol.DataVersion
	dirty   bool
}

type count struct {
	entered, delivered atomic.Int64
	delays             atomic.Pointer[metric.Histogram] // that messages asked for, s

	metric protocol.Metric
	hash   int32 // of the topic
	place  metafile.Place
}

// countTable is the size of the Java table of the counts.
const countTable = 2048

func loadCounts(path string, o Options) (*counts, error) {
	c := &counts{now: o.Now, topics: map[string]*count{}, version: protocol.DataVersion{Timestamp: o.Now().UnixMilli()}}
	file, source, err := metafile.Load(path, c.load)
	if err != nil {
		return nil, err
	}
	if source == metafile.FromBackup || source == metafile.FromBroken {
		o.Log.Warn("counts of timer messages not read from their file", "file", path, "used", source)
	}
	if o.Disk != nil {
		file.Disk = o.Disk
	}
	c.writer = metafile.NewWriter(file, c.render, metafile.Options{Log: o.Log, Failed: o.Failed})
	return c, nil
}

func (c *counts) load(text []byte) error {
	var body protocol.TimerMetricsSerializeWrapper
	if err := fastjson.Unmarshal(text, &body); err != nil {
		return err
	}
	c.enter(&body)
	return nil
}

// enter puts what a file or a master brings into the table.
func (c *counts) enter(body *protocol.TimerMetricsSerializeWrapper) {
	for topic, metric := range body.TimingCount.All() {
		if metric != nil {
			c.find(topic).metric = *metric
		}
	}
	c.version = body.DataVersion
}

// find returns the count of a topic; the name may be a view.
func (c *counts) find(topic string) *count {
	n := c.topics[topic]
	if n == nil {
		topic = strings.Clone(topic)
		n = &count{hash: message.HashCode(0, topic), place: metafile.PlaceOf(topic, uint64(len(c.topics)))}
		c.topics[topic] = n
	}
	return n
}

// of returns the count of a topic for add; the name may be a view.
func (c *counts) of(topic []byte) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(view(topic))
}

// enters counts a message that came to wait for a time.
func (n *count) enters(delay time.Duration) {
	n.entered.Add(1)
	if n.delays.Load() == nil {
		n.delays.CompareAndSwap(nil, delayBounds.New())
	}
	n.delays.Load().Observe(int64(max(delay, 0) / time.Second))
}

// ofHash returns the count of a topic of which only the hash is known, nil if there is none.
func (c *counts) ofHash(hash int32) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.topics {
		if n.hash == hash {
			return n
		}
	}
	return nil
}

// add changes a count.
func (c *counts) add(n *count, by int64) {
	if n == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change(n, by)
}

func (c *counts) change(n *count, by int64) {
	now := c.now()
	n.metric.Count += by
	n.metric.TimeStamp = now.UnixMilli()
	c.version = metafile.NextVersion(c.version, now)
	c.dirty = true
}

// replace sets all counts.
func (c *counts) replace(totals map[string]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic := range totals {
		c.find(topic)
	}
	for topic, n := range c.topics {
		if by := totals[topic] - n.metric.Count; by != 0 {
			c.change(n, by)
		}
	}
}

func (c *counts) sum() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.topics {
		n += one.metric.Count
	}
	return n
}

func (c *counts) body() *protocol.TimerMetricsSerializeWrapper {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.topics))
	for name := range c.topics {
		names = append(names, name)
	}
	metafile.InJavaOrder(countTable, names, func(name string) metafile.Place { return c.topics[name].place })
	body := &protocol.TimerMetricsSerializeWrapper{DataVersion: c.version}
	body.TimingCount = fastjson.MapOf[string, *protocol.Metric](len(names))
	for _, name := range names {
		metric := c.topics[name].metric
		body.TimingCount.Set(name, &metric)
	}
	return body
}

// render is the file: compact, unlike most.
func (c *counts) render() []byte { return fastjson.Marshal(c.body()) }

// flush has the file written if there is something new.
func (c *counts) flush() {
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = false
	c.mu.Unlock()
	if dirty {
		c.writer.Changed()
	}
}

// meter is a counter with its rate.
type meter struct {
	sum atomic.Int64

	mu      sync.Mutex
	seconds [meterSeconds]struct{ second, n int64 }
}

// meterSeconds is how many seconds a rate looks back at most.
const meterSeconds = 10

func (m *meter) add(n int, now time.Time) {
	m.sum.Add(int64(n))
	m.mu.Lock()
	defer m.mu.Unlock()
	second := now.Unix()
	s := &m.seconds[uint64(second)%meterSeconds]
	if s.second != second {
		s.second, s.n = second, 0
	}
	s.n += int64(n)
}

// rate is the mean of the last seconds.
func (m *meter) rate(now time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := int64(0)
	for _, s := range m.seconds {
		if s.second > now.Unix()-meterSeconds {
			n += s.n
		}
	}
	return float64(n) / meterSeconds
}
