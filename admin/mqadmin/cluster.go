// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"rocketmq-go/compat/mqversion"
	"rocketmq-go/compat/properties"
	"rocketmq-go/remoting/protocol"
)

func version(ordinal int32) string { return mqversion.Describe(ordinal) }

// every repeats something every -i seconds, or does it once without -i.
func (c *Call) every(do func() error) error {
	interval, err := c.int64("i", 0)
	if err != nil {
		return err
	}
	for {
		if err := do(); err != nil && (!c.Has("i") || c.ctx.Err() == nil) || !c.Has("i") {
			return err
		}
		if err := c.w.Flush(); err != nil {
			return err
		}
		if c.pause(time.Duration(interval)*time.Second) != nil {
			return nil // ended by the user
		}
		c.printf("\n")
	}
}

func clusterList(c *Call) error {
	return c.every(func() error {
		list, err := c.nodes(c.text("c"))
		if err != nil {
			return err
		}
		infos := make([]protocol.KVTable, len(list))
		c.concurrently("brokers", len(list), func(i int) {
			info, err := c.runtimeInfo(list[i].addr)
			if err != nil {
				c.fail(err)
				return
			}
			infos[i] = *info
		})
		if c.Has("m") {
			c.totals(list, infos)
		} else {
			c.rates(list, infos)
		}
		return c.ctx.Err()
	})
}

func (c *Call) totals(list []node, infos []protocol.KVTable) {
	const format = "%-16v  %-32v %14v %14v %14v %14v\n"
	t := c.table("brokers", format, format, "#Cluster Name", "#Broker Name", "#InTotalYest", "#OutTotalYest", "#InTotalToday", "#OutTotalToday")
	for i, n := range list {
		count := func(key string) int64 {
			v, _ := infos[i].Table.Get(key)
			return whole(v)
		}
		t.add(n.cluster, n.name, count("msgPutTotalTodayMorning")-count("msgPutTotalYesterdayMorning"),
			count("msgGetTotalTodayMorning")-count("msgGetTotalYesterdayMorning"),
			count("msgPutTotalTodayNow")-count("msgPutTotalTodayMorning"), count("msgGetTotalTodayNow")-count("msgGetTotalTodayMorning"))
	}
}

func (c *Call) rates(list []node, infos []protocol.KVTable) {
	t := c.table("brokers", "%-22v  %-22v  %-4v  %-22v %-16v  %16v  %30v  %-22v  %-11v  %-12v  %-8v  %-10v\n",
		"%-22v  %-22v  %-4v  %-22v %-16v  %16v  %30v  %-22v  %11v  %-12v  %-8v  %10v\n",
		"#Cluster Name", "#Broker Name", "#BID", "#Addr", "#Version", "#InTPS(LOAD)", "#OutTPS(LOAD)", "#Timer(Progress)", "#PCWait(ms)",
		"#Hour", "#SPACE", "#ACTIVATED")
	for i, n := range list {
		text := func(key string) string {
			v, _ := infos[i].Table.Get(key)
			return v
		}
		first := func(keys ...string) float64 {
			for _, key := range keys {
				if words := strings.Fields(text(key)); len(words) > 0 {
					return number(words[0])
				}
			}
			return 0
		}
		orZero := func(key string) string { // brokers of 4.9 have fewer queues
			if v := text(key); v != "" {
				return v
			}
			return "0"
		}
		in, out := first("putTps"), first("getTransferredTps", "getTransferedTps")
		hours := 0.0
		if since := whole(text("earliestMessageTimeStamp")); since > 0 {
			hours = float64(c.env.Now().UnixMilli()-since) / 3600e3
		}
		t.add(n.cluster, n.name, n.id, n.addr, text("brokerVersionDesc"),
			cell{fmt.Sprintf("%9.2f(%s,%sms)", in, orZero("sendThreadPoolQueueSize"), orZero("sendThreadPoolQueueHeadWaitTimeMills")), in},
			cell{fmt.Sprintf("%9.2f(%s,%sms|%s,%sms)", out, orZero("pullThreadPoolQueueSize"), orZero("pullThreadPoolQueueHeadWaitTimeMills"),
				orZero("ackThreadPoolQueueSize"), orZero("ackThreadPoolQueueHeadWaitTimeMills")), out},
			fmt.Sprintf("%d-%d(%.1fw, %.1f, %.1f)", whole(text("timerReadBehind")), whole(text("timerOffsetBehind")),
				number(text("timerCongestNum"))/10000, number(text("timerEnqueueTps")), number(text("timerDequeueTps"))),
			orZero("pageCacheLockTimeMills"), cell{fmt.Sprintf("%2.2f", hours), hours},
			cell{fmt.Sprintf("%.4f", number(text("commitLogDiskRatio"))), number(text("commitLogDiskRatio"))}, text("brokerActive"))
	}
}

// sendingOptions are -a, how many messages, and -s, of how many bytes.
func (c *Call) sendingOptions() (amount, size int64, err error) {
	if amount, err = c.int64("a", 100); err != nil {
		return 0, 0, err
	}
	if size, err = c.int64("s", 128); err != nil {
		return 0, 0, err
	}
	if amount < 2 || size < 1 || size > 64<<20 {
		return 0, 0, misused("-a must be at least 2 (the first message does not count), -s from 1 to %d", 64<<20)
	}
	return amount, size, nil
}

// timed sends amount messages to a topic, one after the other on its queues, and returns how long each one took; negative
// for those that failed.
func (c *Call) timed(topic string, amount, size int64, each func(q protocol.MessageQueue, took time.Duration, ok bool)) error {
	s := c.sender()
	queues, err := s.queues(topic)
	if err != nil {
		return err
	}
	body := []byte(strings.Repeat("a", int(size)))
	for i := range amount {
		q := queues[int(i)%len(queues)]
		began := time.Now()
		_, err := s.send(&outgoing{topic: topic, body: body}, q)
		each(q.MessageQueue, time.Since(began), err == nil)
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
	}
	return nil
}

func checkMsgSendRT(c *Call) error {
	amount, size, err := c.sendingOptions()
	if err != nil {
		return err
	}
	t := c.table("messages", "%-32v  %-4v  %-20v    %v\n", "%-32v  %-4v  %-20v    %v\n", "#Broker Name", "#QID", "#Send Result", "#RT")
	var total time.Duration
	count, failures := 0, 0
	err = c.timed(c.text("t"), amount, size, func(q protocol.MessageQueue, took time.Duration, ok bool) {
		t.add(q.BrokerName, q.QueueID, ok, took.Milliseconds())
		if count++; count > 1 {
			total += took
		}
		if !ok {
			failures++
		}
	})
	if err != nil {
		return err
	}
	average := float64(total.Microseconds()) / 1000 / float64(amount-1)
	c.printf("Avg RT: %s\n", fmt.Sprintf("%.2f", average))
	c.set("avgRT", average)
	if failures > 0 {
		return fmt.Errorf("%d of %d messages could not be sent", failures, amount)
	}
	return nil
}

func clusterRT(c *Call) error {
	amount, size, err := c.sendingOptions()
	if err != nil {
		return err
	}
	interval, err := c.int64("i", 10)
	if err != nil {
		return err
	}
	room := c.text("m")
	if room == "" {
		room = "noname"
	}
	var t *table
	if !c.bool("p") {
		t = c.table("brokers", "%-24v  %-24v  %-4v  %-8v  %-8v\n", "%-24v  %-24v  %-8v  %-16v  %-16v\n",
			"#Cluster Name", "#Broker Name", "#RT", "#successCount", "#failCount")
	}
	for {
		list, err := c.nodes(c.text("c"))
		if c.ctx.Err() != nil {
			return nil // ended by the user
		}
		if err != nil {
			return err
		}
		for _, n := range masters(list) {
			rt, ok, failed := c.roundTrip(n, amount, size)
			if c.ctx.Err() != nil {
				return nil
			}
			if t != nil {
				t.add(n.cluster, n.name, cell{fmt.Sprintf("%.2f", rt), rt}, ok, failed)
				continue
			}
			c.printf("%s|%s|%s|%s|%d\n", c.time(c.env.Now().UnixMilli(), toSecond), room, n.cluster, n.name, int64(rt+0.5))
		}
		if c.document() { // one round: a document has an end
			return nil
		}
		if err := c.w.Flush(); err != nil {
			return err
		}
		if c.pause(time.Duration(interval)*time.Second) != nil {
			return nil
		}
	}
}

// roundTrip measures the topic that is named like a broker: milliseconds, successes and failures.
func (c *Call) roundTrip(n node, amount, size int64) (rt float64, ok, failed int64) {
	var total time.Duration
	count := int64(0)
	err := c.timed(n.name, amount, size, func(_ protocol.MessageQueue, took time.Duration, sent bool) {
		if count++; count > 1 {
			total += took
		}
		if sent {
			ok++
		} else {
			failed++
		}
	})
	if err != nil && c.ctx.Err() == nil {
		c.fail(fmt.Errorf("broker %s: %w", n.name, err))
		failed = amount - ok
	}
	return float64(total.Microseconds()) / 1000 / float64(amount-1), ok, failed
}

// statistics reads an item; one that nobody has counted yet is all zero.
func (c *Call) statistics(addr, name, key string) protocol.BrokerStatsData {
	data, err := fetch[protocol.BrokerStatsData](c, addr, ask(protocol.ReqViewBrokerStatsData, &protocol.ViewBrokerStatsDataRequestHeader{
		StatsName: protocol.Some(name), StatsKey: protocol.Some(key),
	}))
	if err != nil {
		c.failUnlessRefused(err)
		return protocol.BrokerStatsData{}
	}
	return *data
}

// sumOfDay is the count of the longest time that the item knows of.
func sumOfDay(d protocol.BrokerStatsData) int64 {
	for _, item := range []*protocol.BrokerStatsItem{d.StatsDay, d.StatsHour, d.StatsMinute} {
		if item != nil && item.Sum != 0 {
			return item.Sum
		}
	}
	return 0
}

func perSecond(d protocol.BrokerStatsData) float64 {
	if d.StatsMinute == nil {
		return 0
	}
	return d.StatsMinute.Tps
}

// topicTraffic is what statsAll says of one topic.
type topicTraffic struct {
	in      float64
	inSum   int64
	groups  []groupTraffic
	unknown bool // the topic is gone
}

type groupTraffic struct {
	name    string
	waiting int64
	out     float64
	outSum  int64
}

func statsAll(c *Call) error {
	const format = "%-64v  %-64v %12v %11v %11v %14v %14v\n"
	t := c.table("topics", format, format, "#Topic", "#Consumer Group", "#Accumulation", "#InTPS", "#OutTPS", "#InMsg24Hour", "#OutMsg24Hour")
	list, err := c.topics()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(name string) bool { return isRetryOrDLQ(name) || c.Has("t") && name != c.text("t") })
	all := make([]topicTraffic, len(list))
	c.concurrently("topics", len(list), func(i int) { all[i] = c.traffic(list[i]) })
	tps := func(v float64) cell { return cell{fmt.Sprintf("%.2f", v), v} }
	for i, topic := range list {
		x := &all[i]
		if x.unknown {
			continue
		}
		for _, g := range x.groups {
			if !c.Has("a") || x.inSum > 0 || g.outSum > 0 {
				t.add(topic, g.name, g.waiting, tps(x.in), tps(g.out), x.inSum, g.outSum)
			}
		}
		if len(x.groups) == 0 && (!c.Has("a") || x.inSum > 0) {
			t.add(topic, "", 0, tps(x.in), "", x.inSum, "NO_CONSUMER")
		}
	}
	return c.ctx.Err()
}

func (c *Call) traffic(topic string) topicTraffic {
	route, err := c.route(topic)
	if err != nil {
		c.failUnlessRefused(err)
		return topicTraffic{unknown: true}
	}
	var x topicTraffic
	brokers := masters(brokersOf(route))
	for _, n := range brokers {
		d := c.statistics(n.addr, "TOPIC_PUT_NUMS", topic)
		x.in += perSecond(d)
		x.inSum += sumOfDay(d)
	}
	names, err := c.groupsOf(route, topic)
	if err != nil {
		c.fail(err)
	}
	for _, name := range names {
		g := groupTraffic{name: name}
		for _, n := range brokers {
			d := c.statistics(n.addr, "GROUP_GET_NUMS", topic+"@"+name)
			g.out += perSecond(d)
			g.outSum += sumOfDay(d)
			stats, err := c.consumeStatsOf(n.addr, name, topic)
			if err != nil {
				c.failUnlessRefused(err)
				continue
			}
			for _, o := range stats.OffsetTable.All() {
				g.waiting += o.BrokerOffset - o.ConsumerOffset
			}
		}
		g.waiting = max(g.waiting, 0)
		x.groups = append(x.groups, g)
	}
	return x
}

// The tables of keys and values of the name servers.

func (c *Call) putKV(namespace, key, value string) error {
	return c.everyNamesrv(func(addr string) error {
		_, err := c.exchange(addr, ask(protocol.ReqPutKvConfig, &protocol.PutKVConfigRequestHeader{
			Namespace: protocol.Some(namespace), Key: protocol.Some(key), Value: protocol.Some(value),
		}))
		return err
	})
}

func (c *Call) getKV(namespace, key string) (string, error) {
	answer, err := c.namesrv(ask(protocol.ReqGetKvConfig, &protocol.GetKVConfigRequestHeader{
		Namespace: protocol.Some(namespace), Key: protocol.Some(key),
	}))
	if err != nil {
		return "", err
	}
	value, _ := answer.Fields.Get("value")
	return value, nil
}

func (c *Call) deleteKV(namespace, key string) error {
	return c.everyNamesrv(func(addr string) error {
		_, err := c.exchange(addr, ask(protocol.ReqDeleteKvConfig, &protocol.DeleteKVConfigRequestHeader{
			Namespace: protocol.Some(namespace), Key: protocol.Some(key),
		}))
		return err
	})
}

func updateKvConfig(c *Call) error {
	if err := c.putKV(c.text("s"), c.text("k"), c.text("v")); err != nil {
		return err
	}
	c.done("create or update kv config to namespace success.\n")
	return nil
}

func deleteKvConfig(c *Call) error {
	if err := c.deleteKV(c.text("s"), c.text("k")); err != nil {
		return err
	}
	c.done("delete kv config from namespace success.\n")
	return nil
}

// writePerm takes the write permission of a broker away, or gives it back, with each name server.
func (c *Call) writePerm(code int32, h protocol.Header, field, verb string) error {
	broker, found := c.text("b"), false
	failed := c.everyNamesrv(func(addr string) error {
		answer, err := c.exchange(addr, ask(code, h))
		if err != nil {
			c.printf("%s write perm of broker[%s] in name server[%s] Failed\n", verb, broker, addr)
			return err
		}
		topics, _ := answer.Fields.Get(field)
		found = found || topics != "0"
		c.done("%s write perm of broker[%s] in name server[%s] OK, %s\n", verb, broker, addr, topics)
		return nil
	})
	if failed == nil && !found {
		return fmt.Errorf("no name server knows a topic of broker %s", broker)
	}
	return failed
}

func (c *Call) wipe() protocol.Header {
	return &protocol.WipeWritePermOfBrokerRequestHeader{BrokerName: protocol.Some(c.text("b"))}
}

func wipeWritePerm(c *Call) error {
	return c.writePerm(protocol.ReqWipeWritePermOfBroker, c.wipe(), "wipeTopicCount", "wipe")
}

// wipeAgain says nothing of what it does.
func (c *Call) wipeAgain() error {
	return c.everyNamesrv(func(addr string) error {
		_, err := c.exchange(addr, ask(protocol.ReqWipeWritePermOfBroker, c.wipe()))
		return err
	})
}

func addWritePerm(c *Call) error {
	h := &protocol.AddWritePermOfBrokerRequestHeader{BrokerName: protocol.Some(c.text("b"))}
	return c.writePerm(protocol.ReqAddWritePermOfBroker, h, "addTopicCount", "add")
}

func getNamesrvConfig(c *Call) error {
	return c.everyNamesrv(func(addr string) error { return c.showConfig(addr, protocol.ReqGetNamesrvConfig) })
}

// showConfig prints what a name server or controller answers to the question for its configuration.
func (c *Call) showConfig(addr string, code int32) error {
	config, err := c.configOf(addr, code)
	if err != nil {
		return err
	}
	c.printf("============%s============\n", addr)
	c.properties(addr, config)
	return nil
}

func (c *Call) configOf(addr string, code int32) (properties.List, error) {
	answer, err := c.exchange(addr, ask(code, nil))
	if err != nil {
		return nil, err
	}
	return properties.Parse(latin1(answer.Body))
}

func updateNamesrvConfig(c *Call) error {
	if len(c.namesrvs) == 0 {
		return errNoNamesrv
	}
	if err := c.updateConfigs(c.namesrvs, protocol.ReqUpdateNamesrvConfig, protocol.ReqGetNamesrvConfig); err != nil {
		return err
	}
	c.done("update name server config success!%s\n%s : %s\n", listText(c.namesrvs), c.text("k"), c.text("v"))
	return nil
}

// updateConfigs sets the key of -k at name servers or controllers, and asks them whether they have it.
func (c *Call) updateConfigs(addrs []string, update, get int32) error {
	r := ask(update, nil)
	r.body = c.text("k") + "=" + c.text("v") + "\n"
	return each(c, addrs, func(addr string) error {
		answer, err := c.exchange(addr, r)
		if err != nil {
			return err
		}
		return c.holds(addr, answer, func() (properties.List, error) { return c.configOf(addr, get) })
	})
}
