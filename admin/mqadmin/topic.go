// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	cli "rocketmq-go/admin/commonscli"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Permission bits of a topic.
const (
	permInherit = 1
	permWrite   = 2
	permRead    = 4
)

const (
	defaultTopic   = "TBW102"
	orderNamespace = "ORDER_TOPIC_CONFIG"
	retryPrefix    = "%RETRY%"
	dlqPrefix      = "%DLQ%"
)

func permText(perm int32) string {
	text := []byte("---")
	for i, bit := range []int32{permRead, permWrite, permInherit} {
		if perm&bit != 0 {
			text[i] = "RWX"[i]
		}
	}
	return string(text)
}

func topicText(t *protocol.TopicConfig) string {
	return fmt.Sprintf("TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=%s, topicSysFlag=%d, order=%t, attributes=%s]",
		t.TopicName, t.ReadQueueNums, t.WriteQueueNums, permText(t.Perm), t.TopicFilterType, t.TopicSysFlag, t.Order, pairs(t.Attributes.All()))
}

func newTopic(name string) protocol.TopicConfig {
	return protocol.TopicConfig{
		TopicName: name, ReadQueueNums: 8, WriteQueueNums: 8, Perm: permRead | permWrite, TopicFilterType: protocol.SingleTag,
		Attributes: fastjson.MapOf[string, string](0),
	}
}

func updateTopic(c *Call) error {
	t := newTopic(c.text("t"))
	var err error
	if t.ReadQueueNums, err = c.int32("r", t.ReadQueueNums); err != nil {
		return err
	}
	if t.WriteQueueNums, err = c.int32("w", t.WriteQueueNums); err != nil {
		return err
	}
	if t.Perm, err = c.int32("p", t.Perm); err != nil {
		return err
	}
	if c.bool("u") {
		t.TopicSysFlag |= 1
	}
	if c.bool("s") {
		t.TopicSysFlag |= 2
	}
	t.Order = c.bool("o")
	if t.Attributes, err = attributes(c.text("a")); err != nil {
		return err
	}
	list, err := c.chosen()
	if err != nil {
		return err
	}
	if err := each(c, list, func(n node) error {
		if err := c.putTopic(n.addr, &t); err != nil {
			return err
		}
		if t.Order && c.Has("b") {
			if err := c.orderOnBroker(n.addr, &t); err != nil {
				return err
			}
		}
		c.done("create topic to %s success.\n", n.addr)
		return nil
	}); err != nil {
		return err
	}
	if t.Order && !c.Has("b") {
		if err := c.orderOnCluster(list, &t); err != nil {
			return err
		}
	}
	c.printf("%s\n", topicText(&t))
	c.set("topicConfig", &t)
	return nil
}

// attributes reads +name=value,-name; the names keep their signs.
func attributes(text string) (fastjson.Map[string, string], error) {
	m := fastjson.MapOf[string, string](0)
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		key, value, hasValue := strings.Cut(word, "=")
		switch {
		case word == "":
			continue
		case len(key) > 1 && key[0] == '+' && hasValue, len(key) > 1 && key[0] == '-' && !hasValue:
		default:
			return m, misused("attribute %q: want +name=value to set, -name to remove", word)
		}
		if _, twice := m.Get(key); twice {
			return m, misused("attribute %s is given twice", key)
		}
		m.Set(key, value)
	}
	m.SortHashMap(0)
	return m, nil
}

func attributesText(m fastjson.Map[string, string]) string {
	var words []string
	for k, v := range m.All() {
		if strings.HasPrefix(k, "-") {
			words = append(words, k)
		} else {
			words = append(words, k+"="+v)
		}
	}
	return strings.Join(words, ",")
}

// putTopic makes or changes a topic of a broker. A permission that cannot be is refused here, as Java does.
func (c *Call) putTopic(addr string, t *protocol.TopicConfig) error {
	if t.Perm != permRead && t.Perm != permWrite && t.Perm != permRead|permWrite {
		return refuse(protocol.RespNoPermission, "topicPermission value: %d is invalid.", t.Perm)
	}
	_, err := c.exchange(addr, ask(protocol.ReqUpdateAndCreateTopic, &protocol.CreateTopicRequestHeader{
		Topic: protocol.Some(t.TopicName), DefaultTopic: protocol.Some(defaultTopic), ReadQueueNums: protocol.Some(t.ReadQueueNums),
		WriteQueueNums: protocol.Some(t.WriteQueueNums), Perm: protocol.Some(t.Perm),
		TopicFilterType: protocol.Some(string(t.TopicFilterType)), TopicSysFlag: protocol.Some(t.TopicSysFlag),
		Order: protocol.Some(t.Order), Attributes: protocol.Some(attributesText(t.Attributes)),
	}))
	return err
}

// orderOnBroker notes with the name servers how many queues of an ordered topic a broker has, beside what other brokers have.
func (c *Call) orderOnBroker(addr string, t *protocol.TopicConfig) error {
	list, err := c.nodes("")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(n node) bool { return n.addr == addr })
	if i < 0 {
		return fmt.Errorf("no broker with the address %s is registered", addr)
	}
	entry := list[i].name + ":" + strconv.Itoa(int(t.WriteQueueNums))
	entries := []string{entry}
	switch old, err := c.getKV(orderNamespace, t.TopicName); {
	case err == nil:
		entries = mergeOrder(old, list[i].name, entry)
	case !answered(err, protocol.RespQueryNotFound):
		return err
	}
	if err := c.putKV(orderNamespace, t.TopicName, strings.Join(entries, ";")); err != nil {
		return err
	}
	c.done("%s\n", fmt.Sprintf("set broker orderConf. isOrder=%t, orderConf=[%s]", t.Order, entry))
	return nil
}

func mergeOrder(old, broker, entry string) []string {
	var merged []string
	found := false
	for part := range strings.SplitSeq(old, ";") {
		switch name, _, _ := strings.Cut(part, ":"); {
		case part == "":
		case name == broker:
			merged, found = append(merged, entry), true
		default:
			merged = append(merged, part)
		}
	}
	if !found {
		merged = append(merged, entry)
	}
	return merged
}

func (c *Call) orderOnCluster(list []node, t *protocol.TopicConfig) error {
	var entries []string
	for _, n := range list {
		entries = append(entries, n.name+":"+strconv.Itoa(int(t.WriteQueueNums)))
	}
	conf := strings.Join(entries, ";")
	if err := c.putKV(orderNamespace, t.TopicName, conf); err != nil {
		return err
	}
	c.done("set cluster orderConf. isOrder=%t, orderConf=[%s]\n", t.Order, conf)
	return nil
}

// readList reads a file with a JSON list.
func readList[T any](c *Call, path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.printf("the file path %s does not exists\n", path)
	}
	if err != nil {
		return nil, err
	}
	var list []T
	if err := fastjson.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: an empty list", path)
	}
	return list, nil
}

// usage prints the usage text, which Java's tool does after some commands for whole clusters, even when all went well.
func (c *Call) usage() { c.printf("%s", cli.Usage("mqadmin "+c.cmd.Name, withCommon(c.cmd.Options))) }

func updateTopicList(c *Call) error {
	list, err := readList[protocol.TopicConfig](c, c.text("f"))
	if err != nil {
		return err
	}
	r := ask(protocol.ReqUpdateAndCreateTopicList, &protocol.CreateTopicListRequestHeader{})
	r.body = &protocol.CreateTopicListRequestBody{TopicConfigList: list}
	err = c.onEach(func(n node) error {
		if _, err := c.send(n.addr, r); err != nil {
			return err
		}
		c.done("submit batch of topic config to %s success, please check the result later.\n", n.addr)
		return nil
	})
	if err == nil && c.Has("c") {
		c.usage()
	}
	return err
}

func deleteTopic(c *Call) error {
	topic, cluster := c.text("t"), c.text("c")
	list, err := c.nodes(cluster)
	if err != nil {
		return err
	}
	if err := each(c, masters(list), func(n node) error { return c.deleteTopicOfBroker(n.addr, topic) }); err != nil {
		return err
	}
	c.done("delete topic [%s] from cluster [%s] success.\n", topic, cluster)
	if err := c.deleteTopicOfNamesrv(topic, cluster); err != nil {
		return err
	}
	c.done("delete topic [%s] from NameServer success.\n", topic)
	return nil
}

func (c *Call) deleteTopicOfBroker(addr, topic string) error {
	_, err := c.exchange(addr, ask(protocol.ReqDeleteTopicInBroker, &protocol.DeleteTopicRequestHeader{Topic: protocol.Some(topic)}))
	return err
}

func (c *Call) deleteTopicOfNamesrv(topic, cluster string) error {
	return c.everyNamesrv(func(addr string) error {
		_, err := c.exchange(addr, ask(protocol.ReqDeleteTopicInNamesrv, &protocol.DeleteTopicFromNamesrvRequestHeader{
			Topic: protocol.Some(topic), ClusterName: protocol.Some(cluster),
		}))
		return err
	})
}

func updateTopicPerm(c *Call) error {
	perm, err := c.int32("p", 0)
	if err != nil {
		return err
	}
	if !c.Has("b") && !c.Has("c") {
		return errUsage
	}
	topic := c.text("t")
	route, err := c.route(topic)
	if err != nil {
		return err
	}
	var list []node
	if c.Has("b") {
		for _, n := range brokersOf(route) {
			if n.addr == c.text("b") && n.id == masterID {
				list = append(list, n)
			}
		}
		if list == nil {
			c.printf("updateTopicPerm error broker not exit or broker is not master!.\n")
			return fmt.Errorf("%s is no master with topic %s", c.text("b"), topic)
		}
	} else if list, err = c.chosen(); err != nil {
		return err
	}
	return c.permOn(list, route, topic, perm)
}

func (c *Call) permOn(list []node, route *protocol.TopicRouteData, topic string, perm int32) error {
	return each(c, list, func(n node) error {
		i := slices.IndexFunc(route.QueueDatas, func(q protocol.QueueData) bool { return q.BrokerName == n.name })
		if i < 0 {
			return nil
		}
		q := route.QueueDatas[i]
		if q.Perm == perm {
			c.done("new perm equals to the old one!\n")
			return nil
		}
		t := newTopic(topic)
		t.ReadQueueNums, t.WriteQueueNums, t.Perm, t.TopicSysFlag = q.ReadQueueNums, q.WriteQueueNums, perm, q.TopicSysFlag
		if err := c.putTopic(n.addr, &t); err != nil {
			return err
		}
		c.done("update topic perm from %d to %d in %s success.\n", q.Perm, perm, n.addr)
		if c.Has("b") {
			c.printf("%s.\n", topicText(&t))
		}
		return nil
	})
}

func topicRoute(c *Call) error {
	route, err := c.route(c.text("t"))
	if err != nil {
		return err
	}
	if c.mode == "wide" || c.Has("l") {
		c.routeList(route)
		return nil
	}
	c.printf("%s\n", fastjson.Options{Pretty: true}.Marshal(route))
	return c.whole(route)
}

func (c *Call) routeList(route *protocol.TopicRouteData) {
	const format = "%-45v %-32v %-50v %-10v %-11v %-5v\n"
	t := c.table("queues", format, format, "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")
	slices.SortFunc(route.BrokerDatas, func(a, b protocol.BrokerData) int { return strings.Compare(a.BrokerName, b.BrokerName) })
	var read, write int32
	for i := range route.BrokerDatas {
		b := &route.BrokerDatas[i]
		var addrs []string
		for id, addr := range b.BrokerAddrs.All() {
			addrs = append(addrs, fmt.Sprintf("%d=%s", id, addr))
		}
		for _, q := range route.QueueDatas {
			if q.BrokerName == b.BrokerName {
				t.add(b.Cluster, b.BrokerName, "{"+strings.Join(addrs, ", ")+"}", q.ReadQueueNums, q.WriteQueueNums, q.Perm)
				read, write = read+q.ReadQueueNums, write+q.WriteQueueNums
			}
		}
	}
	c.printf("%s\n", strings.Repeat("-", 158))
	c.printf(format, "Total:", len(route.BrokerDatas), "", read, write, "")
}

func topicStatus(c *Call) error {
	topic := c.text("t")
	route, err := c.route(topic)
	if err != nil {
		return err
	}
	offsets := map[protocol.MessageQueue]*protocol.TopicOffset{}
	tps := 0.0
	failed := each(c, brokersOf(route), func(n node) error {
		if c.Has("c") && n.cluster != c.text("c") {
			return nil
		}
		stats, err := c.topicStats(n.addr, topic)
		if err != nil {
			return err
		}
		for q, o := range stats.OffsetTable.All() {
			offsets[q] = o
		}
		tps += stats.TopicPutTps
		return nil
	})
	if len(offsets) == 0 && failed == nil {
		return inJava("Not found the topic stats info")
	}
	t := c.table("queues", "%-32v  %-4v  %-20v  %-20v    %v\n", "%-32v  %-4v  %-20v  %-20v    %v\n",
		"#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
	for _, q := range sortedQueues(offsets) {
		o := offsets[q]
		updated := ""
		if o.LastUpdateTimestamp > 0 {
			updated = c.time(o.LastUpdateTimestamp, withMillis)
		}
		t.add(q.BrokerName, q.QueueID, o.MinOffset, o.MaxOffset, updated)
	}
	c.printf("\n")
	c.printf("Topic Put TPS: %s\n", double(tps))
	c.set("topicPutTps", tps)
	return failed
}

func (c *Call) topicStats(addr, topic string) (*protocol.TopicStatsTable, error) {
	return fetch[protocol.TopicStatsTable](c, addr, ask(protocol.ReqGetTopicStatsInfo, &protocol.GetTopicStatsInfoRequestHeader{
		Topic: protocol.Some(topic),
	}))
}

// sortedQueues are the keys of a map by topic, broker and queue.
func sortedQueues[V any](m map[protocol.MessageQueue]V) []protocol.MessageQueue {
	list := make([]protocol.MessageQueue, 0, len(m))
	for q := range m {
		list = append(list, q)
	}
	slices.SortFunc(list, compareQueues)
	return list
}

func compareQueues(a, b protocol.MessageQueue) int {
	if n := strings.Compare(a.Topic, b.Topic); n != 0 {
		return n
	}
	if n := strings.Compare(a.BrokerName, b.BrokerName); n != 0 {
		return n
	}
	return int(a.QueueID - b.QueueID)
}

func topicClusterList(c *Call) error {
	info, err := c.clusterInfo()
	if err != nil {
		return err
	}
	route, err := c.route(c.text("t"))
	if err != nil {
		return err
	}
	for _, name := range clustersOf(info, route) {
		c.printf("%s\n", name)
		c.add("clusters", name)
	}
	return nil
}

func clustersOf(info *protocol.ClusterInfo, route *protocol.TopicRouteData) []string {
	var names []string
	for name, brokers := range info.ClusterAddrTable.All() {
		for i := range route.BrokerDatas {
			if slices.Contains(brokers, route.BrokerDatas[i].BrokerName) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

func (c *Call) topics() ([]string, error) {
	list, err := lookUp[protocol.TopicList](c, ask(protocol.ReqGetAllTopicListFromNameserver, nil))
	if err != nil {
		return nil, err
	}
	return list.TopicList, nil
}

func isRetryOrDLQ(topic string) bool {
	return strings.HasPrefix(topic, retryPrefix) || strings.HasPrefix(topic, dlqPrefix)
}

func topicList(c *Call) error {
	if c.Has("c") {
		return c.topicsWithGroups()
	}
	list, err := c.topics()
	if err != nil {
		return err
	}
	for _, name := range list {
		c.printf("%s\n", name)
		c.add("topics", name)
	}
	return nil
}

func (c *Call) topicsWithGroups() error {
	t := c.table("topics", "%-20v  %-48v  %-48v\n", "%-20v  %-64v  %-64v\n", "#Cluster Name", "#Topic", "#Consumer Group")
	info, err := c.clusterInfo()
	if err != nil {
		return err
	}
	list, err := c.topics()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, isRetryOrDLQ)
	clusters, groups := make([]string, len(list)), make([][]string, len(list))
	c.concurrently("topics", len(list), func(i int) {
		route, err := c.route(list[i])
		if err != nil {
			c.failUnlessRefused(err) // a topic may have gone meanwhile
			return
		}
		if names := clustersOf(info, route); len(names) > 0 {
			clusters[i] = names[0]
		}
		if groups[i], err = c.groupsOf(route, list[i]); err != nil {
			c.fail(err)
		}
	})
	for i, name := range list {
		if len(groups[i]) == 0 {
			groups[i] = []string{""}
		}
		for _, g := range groups[i] {
			t.add(clusters[i], name, g)
		}
	}
	return c.ctx.Err()
}

// groupsOf are the groups that consume a topic, as the first of its brokers that answers knows them.
func (c *Call) groupsOf(route *protocol.TopicRouteData, topic string) ([]string, error) {
	var err error
	for _, n := range brokersOf(route) {
		var list *protocol.GroupList
		if list, err = fetch[protocol.GroupList](c, n.addr, ask(protocol.ReqQueryTopicConsumeByWho, &protocol.QueryTopicConsumeByWhoRequestHeader{
			Topic: protocol.Some(topic),
		})); err == nil {
			return list.GroupList, nil
		}
	}
	return nil, err
}
