// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Static topics: a fixed number of logical queues, each a list of pieces of physical queues of some brokers. The broker of
// the last piece leads. The tool computes who has what and tells all brokers.

const (
	globalScope  = "__global__"
	undecided    = -1 // offsets and times of a piece that are not known yet
	logicStep    = 10000
	createStatic = "CREATE_OR_UPDATE"
	moveStatic   = "REMAPPING"
)

// mapping is a static topic on all its brokers.
type mapping struct {
	topic  string
	addrs  map[string]string // of all brokers, by name
	config map[string]*protocol.TopicConfigAndQueueMapping
	queues map[int32][]protocol.LogicQueueMappingItem // of each logical queue, as its leader has it
	total  int32
	epoch  int64
	in     map[string]bool // brokers that become leaders
	out    map[string]bool // brokers that cease to be
}

// mappingOf asks all brokers what they know of a topic.
func (c *Call) mappingOf(topic string) (*mapping, error) {
	list, err := c.nodes("")
	if err != nil {
		return nil, err
	}
	m := &mapping{
		topic: topic, addrs: map[string]string{}, config: map[string]*protocol.TopicConfigAndQueueMapping{},
		queues: map[int32][]protocol.LogicQueueMappingItem{}, in: map[string]bool{}, out: map[string]bool{},
	}
	for _, n := range masters(list) {
		m.addrs[n.name] = n.addr
		h := &protocol.GetTopicConfigRequestHeader{Topic: protocol.Some(topic)}
		h.Lo = protocol.Some(true)
		config, err := fetch[protocol.TopicConfigAndQueueMapping](c, n.addr, ask(protocol.ReqGetTopicConfig, h))
		if answered(err, protocol.RespTopicNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.config[n.name] = config
	}
	return m, m.read()
}

// read takes the logical queues from what the brokers have.
func (m *mapping) read() error {
	for name, config := range m.config {
		d := config.MappingDetail
		if d == nil {
			if config.WriteQueueNums > 0 {
				return fmt.Errorf("topic %s exists on broker %s and is not static", m.topic, name)
			}
			continue
		}
		m.total, m.epoch = max(m.total, d.TotalQueues), max(m.epoch, d.Epoch)
		for id, items := range d.HostedQueues.All() {
			if len(items) > 0 && items[len(items)-1].Bname == name {
				m.queues[id] = items
			}
		}
	}
	if int32(len(m.queues)) != m.total {
		return fmt.Errorf("the brokers know leaders of %d of %d queues of topic %s", len(m.queues), m.total, m.topic)
	}
	return nil
}

// targets are the brokers that -b or the clusters that -c name.
func (c *Call) targets(m *mapping) ([]string, error) {
	var names []string
	if c.Has("b") {
		names = c.names("b")
	}
	for _, cluster := range c.names("c") {
		list, err := c.nodes(cluster)
		if err != nil {
			return nil, err
		}
		for _, n := range masters(list) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return nil, inJava("Find none brokers, do nothing")
	}
	for _, name := range names {
		if m.addrs[name] == "" {
			return nil, inJava("Can't find addr for broker %s", name)
		}
	}
	return names, nil
}

// on is what a broker has of the topic, made when it has nothing.
func (m *mapping) on(name string) *protocol.TopicConfigAndQueueMapping {
	config := m.config[name]
	if config == nil {
		config = &protocol.TopicConfigAndQueueMapping{TopicConfig: newTopic(m.topic)}
		config.ReadQueueNums, config.WriteQueueNums = 0, 0
		m.config[name] = config
	}
	if config.MappingDetail == nil {
		config.MappingDetail = &protocol.TopicQueueMappingDetail{
			TopicQueueMappingInfo: protocol.TopicQueueMappingInfo{Topic: m.topic, Scope: globalScope, Bname: name},
			HostedQueues:          fastjson.MapOf[int32, []protocol.LogicQueueMappingItem](0),
		}
	}
	return config
}

// newItem takes another physical queue of a broker.
func (m *mapping) newItem(name string, gen int32, logicOffset int64) protocol.LogicQueueMappingItem {
	config := m.on(name)
	id := config.WriteQueueNums
	config.WriteQueueNums++
	config.ReadQueueNums++
	return protocol.LogicQueueMappingItem{
		Gen: gen, QueueID: id, Bname: name, LogicOffset: logicOffset, EndOffset: undecided, TimeOfStart: undecided, TimeOfEnd: undecided,
	}
}

// leads counts the queues that each of some brokers leads.
func (m *mapping) leads(names []string) map[string]int {
	count := map[string]int{}
	for _, name := range names {
		count[name] = 0
	}
	for _, items := range m.queues {
		count[items[len(items)-1].Bname]++
	}
	return count
}

func fewest(count map[string]int, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return count[a] - count[b] })
}

// settle gives all brokers the same epoch and number of queues.
func (m *mapping) settle(now int64) {
	const apart = 1000
	m.epoch = max(now, m.epoch+apart)
	for name := range m.addrs {
		config := m.config[name]
		if config == nil || config.MappingDetail == nil {
			continue
		}
		d := config.MappingDetail
		d.Epoch, d.TotalQueues, d.Bname = m.epoch, m.total, name
		d.CurrIdMap = fastjson.MapOf[int32, int32](0)
		for id, items := range d.HostedQueues.All() {
			if last := items[len(items)-1]; last.Bname == name {
				d.CurrIdMap.Set(id, last.QueueID)
			}
		}
	}
}

func (m *mapping) wrapper(kind string) *protocol.TopicRemappingDetailWrapper {
	w := &protocol.TopicRemappingDetailWrapper{
		Topic: m.topic, Type: kind, Epoch: m.epoch, BrokerConfigMap: fastjson.MapOf[string, *protocol.TopicConfigAndQueueMapping](len(m.config)),
		BrokerToMapIn: slices.Sorted(maps.Keys(m.in)), BrokerToMapOut: slices.Sorted(maps.Keys(m.out)),
	}
	for _, name := range slices.Sorted(maps.Keys(m.config)) {
		w.BrokerConfigMap.Set(name, m.config[name])
	}
	return w
}

// write keeps the mapping in a file, from which -mf reads it.
func (m *mapping) write(kind, suffix string) (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d.%s", m.topic, m.epoch, suffix))
	return path, os.WriteFile(path, fastjson.Marshal(m.wrapper(kind)), 0o644)
}

// tell sends a broker its part.
func (c *Call) tell(m *mapping, name string, force bool) error {
	config := m.config[name]
	h := &protocol.CreateTopicRequestHeader{
		Topic: protocol.Some(m.topic), DefaultTopic: protocol.Some(defaultTopic), ReadQueueNums: protocol.Some(config.ReadQueueNums),
		WriteQueueNums: protocol.Some(config.WriteQueueNums), Perm: protocol.Some(config.Perm),
		TopicFilterType: protocol.Some(string(config.TopicFilterType)), TopicSysFlag: protocol.Some(config.TopicSysFlag),
		Order: protocol.Some(config.Order), Force: protocol.Some(force),
	}
	r := ask(protocol.ReqUpdateAndCreateStaticTopic, h)
	r.body = config.MappingDetail
	_, err := c.exchange(m.addrs[name], r)
	return err
}

// fromFile is a mapping that was written before.
func (c *Call) fromFile(path string) (*mapping, *protocol.TopicRemappingDetailWrapper, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	w := &protocol.TopicRemappingDetailWrapper{}
	if err := fastjson.Unmarshal(text, w); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	list, err := c.nodes("")
	if err != nil {
		return nil, nil, err
	}
	m := &mapping{
		topic: w.Topic, addrs: map[string]string{}, config: map[string]*protocol.TopicConfigAndQueueMapping{},
		queues: map[int32][]protocol.LogicQueueMappingItem{}, in: map[string]bool{}, out: map[string]bool{},
	}
	for _, n := range masters(list) {
		m.addrs[n.name] = n.addr
	}
	for name, config := range w.BrokerConfigMap.All() {
		if m.addrs[name] == "" {
			return nil, nil, inJava("Can't find addr for broker %s", name)
		}
		m.config[name] = config
	}
	return m, w, m.read()
}

func updateStaticTopic(c *Call) error {
	topic, force := c.text("t"), c.bool("fr")
	if c.Has("mf") {
		m, _, err := c.fromFile(c.text("mf"))
		if err != nil {
			return err
		}
		return c.tellAll(m, force)
	}
	total, err := c.int32("qn", 0)
	if err != nil {
		return err
	}
	if total < 1 || total > 1<<16 {
		return misused("-qn must be from 1 to 65536")
	}
	m, err := c.mappingOf(topic)
	if err != nil {
		return err
	}
	names, err := c.targets(m)
	if err != nil {
		return err
	}
	if err := c.before(m, createStatic); err != nil {
		return err
	}
	if total < m.total {
		return fmt.Errorf("topic %s has %d queues: a static topic cannot lose some", topic, m.total)
	}
	count := m.leads(names)
	for id := m.total; id < total; id++ {
		name := fewest(count, names)
		count[name]++
		items := []protocol.LogicQueueMappingItem{m.newItem(name, 0, 0)}
		m.queues[id] = items
		m.on(name).MappingDetail.HostedQueues.Set(id, items)
	}
	m.total = total
	m.settle(c.env.Now().UnixMilli())
	path, err := m.write(createStatic, "after")
	if err != nil {
		return err
	}
	c.done("The new mapping data is written to file %s\n", path)
	return c.tellAll(m, force)
}

func (c *Call) before(m *mapping, kind string) error {
	path, err := m.write(kind, "before")
	if err == nil {
		c.done("The old mapping data is written to file %s\n", path)
	}
	return err
}

func (c *Call) tellAll(m *mapping, force bool) error {
	for _, name := range slices.Sorted(maps.Keys(m.config)) {
		if err := c.tell(m, name, force); err != nil {
			return err
		}
	}
	return nil
}

func remappingStaticTopic(c *Call) error {
	force := c.bool("fr")
	if c.Has("mf") {
		m, w, err := c.fromFile(c.text("mf"))
		if err != nil {
			return err
		}
		for _, name := range w.BrokerToMapIn {
			m.in[name] = true
		}
		for _, name := range w.BrokerToMapOut {
			m.out[name] = true
		}
		return c.move(m, force)
	}
	m, err := c.mappingOf(c.text("t"))
	if err != nil {
		return err
	}
	if m.total == 0 {
		return inJava("No topic route to do the remapping")
	}
	names, err := c.targets(m)
	if err != nil {
		return err
	}
	if err := c.before(m, moveStatic); err != nil {
		return err
	}
	m.plan(names)
	m.settle(c.env.Now().UnixMilli())
	path, err := m.write(moveStatic, "after")
	if err != nil {
		return err
	}
	c.done("The old mapping data is written to file %s\n", path) // Java says old here too
	return c.move(m, force)
}

// plan moves the queues to some brokers, as few as are needed to spread them evenly.
func (m *mapping) plan(names []string) {
	most := (len(m.queues) + len(names) - 1) / len(names)
	count := map[string]int{}
	var moving []int32
	for _, id := range slices.Sorted(maps.Keys(m.queues)) {
		items := m.queues[id]
		if leader := items[len(items)-1].Bname; slices.Contains(names, leader) && count[leader] < most {
			count[leader]++
		} else {
			moving = append(moving, id)
		}
	}
	for _, id := range moving {
		to := fewest(count, names)
		count[to]++
		items := slices.Clone(m.queues[id])
		last := items[len(items)-1]
		items = append(items, m.newItem(to, last.Gen+1, undecided))
		m.queues[id] = items
		m.in[to], m.out[last.Bname] = true, true
		m.on(to).MappingDetail.HostedQueues.Set(id, items)
		m.on(last.Bname).MappingDetail.HostedQueues.Set(id, items)
	}
}

// move tells the new leaders, then the old ones, which lead no more; then the new ones where their queues begin; then all
// others.
func (c *Call) move(m *mapping, force bool) error {
	for _, names := range []map[string]bool{m.in, m.out} {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := c.tell(m, name, force); err != nil {
				return err
			}
		}
	}
	if err := c.decide(m); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.in)) {
		if err := c.tell(m, name, force); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.config)) {
		if !m.in[name] && !m.out[name] {
			if err := c.tell(m, name, force); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide lets the queues that moved begin behind all that their old leaders have, with room for what these may still take.
func (c *Call) decide(m *mapping) error {
	stats := map[string]*protocol.TopicStatsTable{}
	for _, name := range slices.Sorted(maps.Keys(m.out)) {
		s, err := c.topicStats(m.addrs[name], m.topic)
		if err != nil {
			return err
		}
		stats[name] = s
	}
	for id, items := range m.queues {
		n := len(items)
		if n < 2 || items[n-1].LogicOffset != undecided || stats[items[n-2].Bname] == nil {
			continue
		}
		old := &items[n-2]
		o, ok := stats[old.Bname].OffsetTable.Get(protocol.MessageQueue{Topic: m.topic, BrokerName: old.Bname, QueueID: old.QueueID})
		if !ok {
			return fmt.Errorf("broker %s does not say where queue %d of topic %s ends", old.Bname, old.QueueID, m.topic)
		}
		items = slices.Clone(items)
		items[n-2].EndOffset = o.MaxOffset
		items[n-1].LogicOffset = logicEnd(old.LogicOffset + max(o.MaxOffset-old.StartOffset, 0))
		m.queues[id] = items
		m.on(items[n-1].Bname).MappingDetail.HostedQueues.Set(id, items)
	}
	return nil
}

// logicEnd rounds an offset up, by at least half a step.
func logicEnd(end int64) int64 {
	steps := end/logicStep + 1
	if end%logicStep >= logicStep/2 {
		steps++
	}
	return steps * logicStep
}
