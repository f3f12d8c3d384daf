// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func retryPolicyText(p protocol.GroupRetryPolicy) string {
	exponential, customized := "null", "null"
	if e := p.ExponentialRetryPolicy; e != nil {
		exponential = fmt.Sprintf("ExponentialRetryPolicy{initial=%d, max=%d, multiplier=%d}", e.Initial, e.Max, e.Multiplier)
	}
	if z := p.CustomizedRetryPolicy; z != nil {
		customized = fmt.Sprintf("CustomizedRetryPolicy{next=%s}", listText(z.Next))
	}
	return fmt.Sprintf("GroupRetryPolicy{type=%s, exponentialRetryPolicy=%s, customizedRetryPolicy=%s}", p.Type, exponential, customized)
}

// groupFields are the fields of a group's configuration, in Java's order.
func groupFields(g *protocol.SubscriptionGroupConfig) []member {
	subscriptions := "null"
	if g.SubscriptionDataSet != nil {
		var words []string
		for _, s := range g.SubscriptionDataSet {
			words = append(words, fmt.Sprintf("SimpleSubscriptionData{topic='%s', expressionType='%s', expression='%s', version=%d}",
				s.Topic, s.ExpressionType, s.Expression, s.Version))
		}
		subscriptions = listText(words)
	}
	return []member{
		{"groupName", g.GroupName},
		{"consumeEnable", g.ConsumeEnable},
		{"consumeFromMinEnable", g.ConsumeFromMinEnable},
		{"consumeBroadcastEnable", g.ConsumeBroadcastEnable},
		{"consumeMessageOrderly", g.ConsumeMessageOrderly},
		{"retryQueueNums", g.RetryQueueNums},
		{"retryMaxTimes", g.RetryMaxTimes},
		{"groupRetryPolicy", retryPolicyText(g.GroupRetryPolicy)},
		{"brokerId", g.BrokerID},
		{"whichBrokerWhenConsumeSlowly", g.WhichBrokerWhenConsumeSlowly},
		{"notifyConsumerIdsChangedEnable", g.NotifyConsumerIdsChangedEnable},
		{"groupSysFlag", g.GroupSysFlag},
		{"consumeTimeoutMinute", g.ConsumeTimeoutMinute},
		{"subscriptionDataSet", subscriptions},
		{"attributes", pairs(g.Attributes.All())},
	}
}

func groupText(g *protocol.SubscriptionGroupConfig) string {
	var words []string
	for _, f := range groupFields(g) {
		words = append(words, fmt.Sprintf("%s=%v", f.key, f.value))
	}
	return "SubscriptionGroupConfig{" + strings.Join(words, ", ") + "}"
}

func updateSubGroup(c *Call) error {
	g := protocol.SubscriptionGroupConfig{}
	g.SetDefaults()
	g.GroupName = c.text("g")
	g.ConsumeEnable = c.boolOr("s", true)
	g.ConsumeFromMinEnable = c.bool("m")
	g.ConsumeBroadcastEnable = c.bool("d")
	g.ConsumeMessageOrderly = c.bool("o")
	g.NotifyConsumerIdsChangedEnable = c.boolOr("a", true)
	for _, o := range []struct {
		name string
		to   *int32
	}{{"q", &g.RetryQueueNums}, {"r", &g.RetryMaxTimes}} {
		var err error
		if *o.to, err = c.int32(o.name, *o.to); err != nil {
			return err
		}
	}
	for _, o := range []struct {
		name string
		to   *int64
	}{{"i", &g.BrokerID}, {"w", &g.WhichBrokerWhenConsumeSlowly}} {
		var err error
		if *o.to, err = c.int64(o.name, *o.to); err != nil {
			return err
		}
	}
	if text := c.text("p"); text != "" {
		g.GroupRetryPolicy = protocol.GroupRetryPolicy{}
		if err := fastjson.Unmarshal([]byte(text), &g.GroupRetryPolicy); err != nil {
			return misused("option -p: %v", err)
		}
		if g.GroupRetryPolicy.Type == "" {
			g.GroupRetryPolicy.Type = protocol.RetryPolicyCustomized
		}
	}
	var err error
	if g.Attributes, err = attributes(c.text("attributes")); err != nil {
		return err
	}
	r := ask(protocol.ReqUpdateAndCreateSubscriptiongroup, nil)
	r.body = &g
	if err = c.onEach(func(n node) error {
		if _, err := c.send(n.addr, r); err != nil {
			return err
		}
		c.done("create subscription group to %s success.\n", n.addr)
		return nil
	}); err != nil {
		return err
	}
	c.printf("%s\n", groupText(&g))
	c.set("subscriptionGroupConfig", &g)
	return nil
}

func updateSubGroupList(c *Call) error {
	list, err := readList[protocol.SubscriptionGroupConfig](c, c.text("f"))
	if err != nil {
		return err
	}
	r := ask(protocol.ReqUpdateAndCreateSubscriptiongroupList, nil)
	r.body = &protocol.SubscriptionGroupList{GroupConfigList: list}
	what := "group"
	if c.Has("c") {
		what = "subscription group"
	}
	err = c.onEach(func(n node) error {
		if _, err := c.send(n.addr, r); err != nil {
			return err
		}
		c.done("submit batch of %s config to %s success, please check the result later.\n", what, n.addr)
		return nil
	})
	if err == nil && c.Has("c") {
		c.usage()
	}
	return err
}

func setConsumeMode(c *Call) error {
	mode := protocol.MessageRequestMode(c.text("m"))
	if !slices.Contains(mode.EnumNames(), string(mode)) {
		return misused("option -m: %q is neither PULL nor POP", mode)
	}
	share, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	r := ask(protocol.ReqSetMessageRequestMode, nil)
	r.body = &protocol.SetMessageRequestModeRequestBody{
		Topic: c.text("t"), ConsumerGroup: c.text("g"), Mode: mode, PopShareQueueNum: share,
	}
	if err := c.onEach(func(n node) error {
		if _, err := c.send(n.addr, r); err != nil {
			return err
		}
		c.done("set consume mode to %s success.\n", n.addr)
		return nil
	}); err != nil {
		return err
	}
	c.done("topic[%s] group[%s] consume mode[%s] popShareQueueNum[%d]\n", c.text("t"), c.text("g"), mode, share)
	return nil
}

func deleteSubGroup(c *Call) error {
	group, remove := c.text("g"), c.bool("r")
	if err := c.onEach(func(n node) error {
		if _, err := c.send(n.addr, ask(protocol.ReqDeleteSubscriptiongroup, &protocol.DeleteSubscriptionGroupRequestHeader{
			GroupName: protocol.Some(group), CleanOffset: remove, RemoveOffset: remove,
		})); err != nil {
			return err
		}
		if c.Has("b") {
			c.done("delete subscription group [%s] from broker [%s] success.\n", group, n.addr)
		} else {
			c.done("delete subscription group [%s] from broker [%s] in cluster [%s] success.\n", group, n.addr, c.text("c"))
		}
		return nil
	}); err != nil || c.Has("b") {
		return err
	}
	for _, topic := range []string{retryPrefix + group, dlqPrefix + group} {
		if err := c.onEach(func(n node) error { return c.deleteTopicOfBroker(n.addr, topic) }); err != nil {
			return err
		}
		if err := c.deleteTopicOfNamesrv(topic, c.text("c")); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) groups(addr string) (*protocol.SubscriptionGroupWrapper, error) {
	return fetch[protocol.SubscriptionGroupWrapper](c, addr, ask(protocol.ReqGetAllSubscriptiongroupConfig, nil))
}

// onePerName leaves of each broker the master, or a slave where there is none.
func onePerName(list []node) []node {
	return slices.CompactFunc(slices.Clone(list), func(a, b node) bool { return a.cluster == b.cluster && a.name == b.name })
}

func getConsumerConfig(c *Call) error {
	group := c.text("g")
	list, err := c.nodes("")
	if err != nil {
		return err
	}
	found := false
	for _, n := range onePerName(list) {
		all, err := c.groups(n.addr)
		if err != nil {
			return err
		}
		g, ok := all.SubscriptionGroupTable.Get(group)
		if !ok || g == nil {
			continue
		}
		found = true
		const line = "============================="
		c.printf("%s%s:%s%s\n", line, n.cluster, n.name, line)
		for _, f := range groupFields(g) {
			if f.value == "null" {
				f.value = ""
			}
			c.printf("%s%-40s=  %v\n", "", f.key, f.value)
		}
		c.add("configs", object{{"clusterName", n.cluster}, {"brokerName", n.name}, {"subscriptionGroupConfig", plain(g)}})
	}
	if !found {
		return fmt.Errorf("no broker has a configuration of group %s", group)
	}
	return nil
}

// groupRoute is where the members of a group are: the brokers of its retry topic.
func (c *Call) groupRoute(group string) (*protocol.TopicRouteData, error) {
	return c.route(retryPrefix + group)
}

func (c *Call) members(addr, group string) (*protocol.ConsumerConnection, error) {
	return fetch[protocol.ConsumerConnection](c, addr, ask(protocol.ReqGetConsumerConnectionList, &protocol.GetConsumerConnectionListRequestHeader{
		ConsumerGroup: protocol.Some(group),
	}))
}

// membersAnywhere asks the brokers of a group's retry topic, or the one at addr, until one knows members.
func (c *Call) membersAnywhere(group, addr string) (*protocol.ConsumerConnection, error) {
	if addr != "" {
		return c.members(addr, group)
	}
	route, err := c.groupRoute(group)
	if err != nil {
		return nil, err
	}
	err = errors.New("the retry topic of the group is on no broker")
	for _, n := range brokersOf(route) {
		var m *protocol.ConsumerConnection
		if m, err = c.members(n.addr, group); err == nil {
			return m, nil
		}
	}
	return nil, err
}

func consumerConnection(c *Call) error {
	m, err := c.membersAnywhere(c.text("g"), c.text("b"))
	if err != nil {
		return err
	}
	const format = "%-36v %-22v %-10v %v\n"
	t := c.table("connections", format, format, "#ClientId", "#ClientAddr", "#Language", "#Version")
	for _, conn := range m.ConnectionSet {
		t.add(conn.ClientID, conn.ClientAddr, conn.Language, version(conn.Version))
	}
	c.printf("\nBelow is subscription:\n")
	t = c.table("subscriptions", "%-20v %v\n", "%-20v %v\n", "#Topic", "#SubExpression")
	for _, s := range m.SubscriptionTable.All() {
		t.add(s.Topic, s.SubString)
	}
	c.printf("\n")
	c.field("consumeType", "ConsumeType: %v\n", string(m.ConsumeType))
	c.field("messageModel", "MessageModel: %v\n", string(m.MessageModel))
	c.field("consumeFromWhere", "ConsumeFromWhere: %v\n", string(m.ConsumeFromWhere))
	return nil
}

func producerConnection(c *Call) error {
	route, err := c.route(c.text("t"))
	if err != nil {
		return err
	}
	err = fmt.Errorf("topic %s is on no broker", c.text("t"))
	var p *protocol.ProducerConnection
	for _, n := range brokersOf(route) {
		if p, err = fetch[protocol.ProducerConnection](c, n.addr, ask(protocol.ReqGetProducerConnectionList, &protocol.GetProducerConnectionListRequestHeader{
			ProducerGroup: protocol.Some(c.text("g")),
		})); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	t := c.table("connections", "", "%04d  %-32v %-22v %-8v %v\n", "#Index", "#ClientId", "#ClientAddr", "#Language", "#Version")
	for i, conn := range p.ConnectionSet {
		t.add(i+1, conn.ClientID, conn.ClientAddr, conn.Language, version(conn.Version))
	}
	return nil
}

func producer(c *Call) error {
	all, err := fetch[protocol.ProducerTableInfo](c, c.text("b"), ask(protocol.ReqGetAllProducerInfo, &protocol.GetAllProducerInfoRequestHeader{}))
	if err != nil {
		return err
	}
	for group, list := range all.Data.All() {
		if len(list) == 0 {
			c.done("producer group (%s) instances are empty\n", group)
		}
		for _, p := range list {
			c.printf("producer group (%s) instance : clientId=%s,remoteIP=%s, language=%v, version=%d, lastUpdateTimestamp=%d\n",
				group, p.ClientID, p.RemoteIP, p.Language, p.Version, p.LastUpdateTimestamp)
			c.add("instances", object{
				{"producerGroup", group},
				{"clientId", p.ClientID},
				{"remoteIP", p.RemoteIP},
				{"language", p.Language.String()},
				{"version", version(p.Version)},
				{"lastUpdateTimestamp", p.LastUpdateTimestamp},
			})
		}
	}
	return nil
}

// consumeStats are the offsets of a group on the brokers of a cluster ("": of all), of one topic or of all; those of the
// brokers that answer also when others fail.
func (c *Call) consumeStats(group, topic, cluster string) (map[protocol.MessageQueue]*protocol.OffsetWrapper, float64, error) {
	route, err := c.groupRoute(group)
	if err != nil {
		return nil, 0, err
	}
	offsets, tps := map[protocol.MessageQueue]*protocol.OffsetWrapper{}, 0.0
	failed := each(c, brokersOf(route), func(n node) error {
		if cluster != "" && n.cluster != cluster {
			return nil
		}
		stats, err := c.consumeStatsOf(n.addr, group, topic)
		if err != nil {
			return err
		}
		for q, o := range stats.OffsetTable.All() {
			offsets[q] = o
		}
		tps += stats.ConsumeTps
		return nil
	})
	if failed == nil && len(offsets) == 0 {
		failed = refuse(protocol.RespConsumerNotOnline,
			"Not found the consumer group consume stats, because return offset table is empty, maybe the consumer not consume any message")
	}
	return offsets, tps, failed
}

func (c *Call) consumeStatsOf(addr, group, topic string) (*protocol.ConsumeStats, error) {
	h := &protocol.GetConsumeStatsRequestHeader{ConsumerGroup: protocol.Some(group)}
	if topic != "" {
		h.Topic = protocol.Some(topic)
	}
	return fetch[protocol.ConsumeStats](c, addr, ask(protocol.ReqGetConsumeStats, h))
}

func consumerProgress(c *Call) error {
	if c.Has("g") {
		return c.progressOfGroup(c.text("g"))
	}
	return c.progressOfAll()
}

func (c *Call) progressOfGroup(group string) error {
	offsets, tps, failed := c.consumeStats(group, c.text("t"), c.text("c"))
	if len(offsets) == 0 {
		return failed
	}
	titles := []string{"#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset", "#Client IP", "#Diff", "#Inflight", "#LastTime"}
	head := "%-64v  %-32v  %-4v  %-20v  %-20v  %-20v %-20v %-20v%v\n"
	row := "%-64v  %-32v  %-4v  %-20v  %-20v  %-20v %-20v %-20v %v\n"
	var owners map[protocol.MessageQueue]string
	if c.bool("s") {
		var err error
		if owners, err = c.queueOwners(group); err != nil {
			return err
		}
	} else {
		titles = slices.Delete(titles, 5, 6)
		head, row = "%-64v  %-32v  %-4v  %-20v  %-20v  %-20v %-20v%v\n", "%-64v  %-32v  %-4v  %-20v  %-20v  %-20v %-20v %v\n"
	}
	t := c.table("queues", head, row, titles...)
	var diffs, inflights int64
	for _, q := range sortedQueues(offsets) {
		o := offsets[q]
		diff, inflight := o.BrokerOffset-o.ConsumerOffset, o.PullOffset-o.ConsumerOffset
		if o.PullOffset == 0 {
			inflight = 0 // a broker of 4.9 does not know
		}
		diffs, inflights = diffs+diff, inflights+inflight
		last := "N/A"
		if o.LastTimestamp > 0 {
			last = c.time(o.LastTimestamp, toSecond)
		}
		values := []any{q.Topic, q.BrokerName, q.QueueID, o.BrokerOffset, o.ConsumerOffset, diff, inflight, last}
		if owners != nil {
			ip := owners[q]
			if ip == "" {
				ip = "N/A"
			}
			values = slices.Insert(values, 5, any(ip))
		}
		t.add(values...)
	}
	c.printf("\n")
	c.field("consumeTps", "Consume TPS: %.2f\n", tps)
	c.field("consumeDiffTotal", "Consume Diff Total: %d\n", diffs)
	c.field("consumeInflightTotal", "Consume Inflight Total: %d\n", inflights)
	return failed
}

// queueOwners asks the members of a group which queues are theirs: queue → IP.
func (c *Call) queueOwners(group string) (map[protocol.MessageQueue]string, error) {
	m, err := c.membersAnywhere(group, "")
	if err != nil {
		return nil, err
	}
	owners := map[protocol.MessageQueue]string{}
	for _, conn := range m.ConnectionSet {
		info, err := c.runningInfo(group, conn.ClientID, false)
		if err != nil {
			return nil, err
		}
		ip, _, _ := strings.Cut(conn.ClientID, "@")
		for q := range info.MqTable.All() {
			owners[q] = ip
		}
	}
	return owners, nil
}

// groupProgress is a row of the list of all groups.
type groupProgress struct {
	group       string
	count       int
	version     string
	kind, model string
	tps, diff   int64
}

func (c *Call) progressOfAll() error {
	list, err := c.topics()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t string) bool { return !strings.HasPrefix(t, retryPrefix) })
	rows := make([]*groupProgress, len(list))
	c.concurrently("groups", len(list), func(i int) { rows[i] = c.groupSummary(strings.TrimPrefix(list[i], retryPrefix)) })
	rows = slices.DeleteFunc(rows, func(r *groupProgress) bool { return r == nil })
	slices.SortStableFunc(rows, func(a, b *groupProgress) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return int(b.diff - a.diff)
	})
	const format = "%-64v  %-6v  %-24v %-5v  %-14v  %-7v  %v\n"
	t := c.table("groups", format, format, "#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")
	for _, r := range rows {
		t.add(r.group, r.count, r.version, r.kind, r.model, r.tps, r.diff)
	}
	return c.ctx.Err()
}

// groupSummary leaves empty what brokers do not know, as Java does, and reports those that do not answer.
func (c *Call) groupSummary(group string) *groupProgress {
	r := &groupProgress{group: group, version: "OFFLINE"}
	offsets, tps, err := c.consumeStats(group, "", c.text("c"))
	c.failUnlessRefused(err)
	r.tps = int64(tps)
	for _, o := range offsets {
		r.diff += o.BrokerOffset - o.ConsumerOffset
	}
	m, err := c.membersAnywhere(group, "")
	c.failUnlessRefused(err)
	if err != nil || len(m.ConnectionSet) == 0 {
		return r
	}
	r.count = len(m.ConnectionSet)
	oldest := m.ConnectionSet[0].Version
	for _, conn := range m.ConnectionSet {
		oldest = min(oldest, conn.Version)
	}
	r.version, r.kind, r.model = version(oldest), "PUSH", string(m.MessageModel)
	if m.ConsumeType == protocol.ConsumeActively {
		r.kind = "PULL"
	}
	return r
}
