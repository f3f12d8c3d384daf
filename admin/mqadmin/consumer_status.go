// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/remoting/protocol"
)

// runningInfo lets a broker ask a member of a group about itself.
func (c *Call) runningInfo(group, client string, jstack bool) (*protocol.ConsumerRunningInfo, error) {
	route, err := c.groupRoute(group)
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("the retry topic of group %s is on no broker", group)
	for _, n := range brokersOf(route) {
		var info *protocol.ConsumerRunningInfo
		if info, err = c.runningInfoAt(n.addr, group, client, jstack); err == nil {
			return info, nil
		}
	}
	return nil, err
}

func (c *Call) runningInfoAt(addr, group, client string, jstack bool) (*protocol.ConsumerRunningInfo, error) {
	return fetch[protocol.ConsumerRunningInfo](c, addr, ask(protocol.ReqGetConsumerRunningInfo, &protocol.GetConsumerRunningInfoRequestHeader{
		ConsumerGroup: protocol.Some(group), ClientID: protocol.Some(client), JstackEnable: jstack,
	}))
}

func consumerStatus(c *Call) error {
	group := c.text("g")
	members, err := c.membersAnywhere(group, c.text("b"))
	if err != nil {
		return err
	}
	ask := func(client string) (*protocol.ConsumerRunningInfo, error) {
		if c.Has("b") {
			return c.runningInfoAt(c.text("b"), group, client, c.Has("s"))
		}
		return c.runningInfo(group, client, c.Has("s"))
	}
	if c.Has("i") {
		info, err := ask(c.text("i"))
		if err != nil {
			return err
		}
		c.printf("%s\n", c.runningText(info))
		return c.whole(info)
	}
	return c.statusOfAll(members, ask)
}

// statusOfAll asks each member, writes what it says into a file, and compares.
func (c *Call) statusOfAll(members *protocol.ConsumerConnection, ask func(string) (*protocol.ConsumerRunningInfo, error)) error {
	now := strconv.FormatInt(c.env.Now().UnixMilli(), 10)
	infos := map[string]*protocol.ConsumerRunningInfo{}
	const format = "%-10v %-40v %-20v %v\n"
	t := c.table("clients", format, format, "#Index", "#ClientId", "#Version", "#ConsumerRunningInfoFile")
	for i, conn := range members.ConnectionSet {
		info, err := ask(conn.ClientID)
		if err != nil {
			c.fail(fmt.Errorf("client %s: %w", conn.ClientID, err))
			continue
		}
		infos[conn.ClientID] = info
		path := now + "/" + filepath.Base(conn.ClientID)
		if !c.document() {
			if err := os.MkdirAll(now, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(c.runningText(info)), 0o644); err != nil {
				return err
			}
		}
		t.add(i+1, conn.ClientID, version(conn.Version), path)
	}
	if len(infos) == 0 {
		return nil
	}
	if !sameSubscriptions(infos) {
		c.printf("\n\nWARN: Different subscription in the same group of consumer!!!\n")
		c.set("sameSubscription", false)
		return fmt.Errorf("the members of group %s subscribe to different things", c.text("g"))
	}
	c.printf("\n\nSame subscription in the same group of consumer")
	c.set("sameSubscription", true)
	rebalance := "OK"
	if twice(infos) {
		rebalance = "Failed"
	}
	c.field("rebalance", "\n\nRebalance %s\n", rebalance)
	for client, info := range infos {
		for _, warning := range c.stuck(client, info) {
			c.done("%s\n", warning)
		}
	}
	return nil
}

func sameSubscriptions(infos map[string]*protocol.ConsumerRunningInfo) bool {
	var first map[string]string
	for _, info := range infos {
		all := map[string]string{}
		for _, s := range info.SubscriptionSet {
			all[s.Topic] = s.SubString
		}
		if first == nil {
			first = all
		}
		if !reflect.DeepEqual(first, all) {
			return false
		}
	}
	return true
}

// twice tells whether two members have the same queue, other than in broadcasting.
func twice(infos map[string]*protocol.ConsumerRunningInfo) bool {
	seen := map[protocol.MessageQueue]bool{}
	for _, info := range infos {
		if model, _ := info.Properties.Get("messageModel"); model == broadcasting {
			continue
		}
		for q := range info.MqTable.All() {
			if seen[q] {
				return true
			}
			seen[q] = true
		}
	}
	return false
}

// stuck lists the queues of a member that cannot be locked or consumed for a while.
func (c *Call) stuck(client string, info *protocol.ConsumerRunningInfo) []string {
	const long = time.Minute
	var warnings []string
	ordered, _ := info.Properties.Get("PROP_CONSUMEORDERLY")
	now := c.env.Now().UnixMilli()
	for q, p := range info.MqTable.All() {
		name := place{MessageQueue: q}.text()
		if ordered == "true" {
			if since := now - p.LastLockTimestamp; !p.Locked && since > long.Milliseconds() {
				warnings = append(warnings, fmt.Sprintf("%s %s can't lock for a while, %dms", client, name, since))
			}
			if p.Droped && p.TryUnlockTimes > 0 {
				warnings = append(warnings, fmt.Sprintf("%s %s unlock %d times, still failed", client, name, p.TryUnlockTimes))
			}
			continue
		}
		if since := now - p.LastConsumeTimestamp; p.CachedMsgCount > 0 && since > long.Milliseconds() {
			warnings = append(warnings, fmt.Sprintf("%s %s can't consume for a while, maybe blocked, %dms", client, name, since))
		}
	}
	return warnings
}

// runningText is what a member says about itself.
func (c *Call) runningText(info *protocol.ConsumerRunningInfo) string {
	var b strings.Builder
	b.WriteString("#Consumer Properties#\n")
	for k, v := range info.Properties.All() {
		fmt.Fprintf(&b, "%-40s: %s\n", k, v)
	}
	b.WriteString("\n\n#Consumer Subscription#\n")
	subscriptions := slices.Clone(info.SubscriptionSet)
	slices.SortFunc(subscriptions, func(x, y protocol.SubscriptionData) int {
		return strings.Compare(x.Topic+"@"+x.SubString, y.Topic+"@"+y.SubString)
	})
	for i, s := range subscriptions {
		fmt.Fprintf(&b, "%03d Topic: %-40s ClassFilter: %-8t SubExpression: %s\n", i+1, s.Topic, s.ClassFilterMode, s.SubString)
	}
	c.queuesText(&b, info)
	b.WriteString("\n\n#Consumer RT&TPS#\n")
	fmt.Fprintf(&b, "%-64s  %14s %14s %14s %14s %18s %25s\n",
		"#Topic", "#Pull RT", "#Pull TPS", "#Consume RT", "#ConsumeOK TPS", "#ConsumeFailed TPS", "#ConsumeFailedMsgsInHour")
	for topic, s := range info.StatusTable.All() {
		fmt.Fprintf(&b, "%-32s  %14.2f %14.2f %14.2f %14.2f %18.2f %25d\n",
			topic, s.PullRT, s.PullTPS, s.ConsumeRT, s.ConsumeOKTPS, s.ConsumeFailedTPS, s.ConsumeFailedMsgs)
	}
	b.WriteString("\n\n#User Consume Info#\n")
	for k, v := range info.UserConsumerInfo.All() {
		fmt.Fprintf(&b, "%-40s: %s\n", k, v)
	}
	if info.Jstack != "" {
		b.WriteString("\n\n#Consumer jstack#\n" + info.Jstack)
	}
	return b.String()
}

func (c *Call) queuesText(b *strings.Builder, info *protocol.ConsumerRunningInfo) {
	queues := map[protocol.MessageQueue]*protocol.ProcessQueueInfo{}
	for q, p := range info.MqTable.All() {
		queues[q] = p
	}
	sorted := sortedQueues(queues)
	b.WriteString("\n\n#Consumer Offset#\n")
	fmt.Fprintf(b, "%-64s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#Consumer Offset")
	for _, q := range sorted {
		fmt.Fprintf(b, "%-32s  %-32s  %-4d  %-20d\n", q.Topic, q.BrokerName, q.QueueID, queues[q].CommitOffset)
	}
	b.WriteString("\n\n#Consumer MQ Detail#\n")
	fmt.Fprintf(b, "%-64s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
	for _, q := range sorted {
		fmt.Fprintf(b, "%-64s  %-32s  %-4d  %s\n", q.Topic, q.BrokerName, q.QueueID, c.processText(queues[q]))
	}
	b.WriteString("\n\n#Consumer Pop Detail#\n")
	fmt.Fprintf(b, "%-32s  %-32s  %-4s  %-20s\n", "#Topic", "#Broker Name", "#QID", "#ProcessQueueInfo")
	for q, p := range info.MqPopTable.All() {
		fmt.Fprintf(b, "%-32s  %-32s  %-4d  PopProcessQueueInfo [waitAckCount:%d, droped:%t, lastPopTimestamp:%d]\n",
			q.Topic, q.BrokerName, q.QueueID, p.WaitAckCount, p.Droped, p.LastPopTimestamp)
	}
}

func (c *Call) processText(p *protocol.ProcessQueueInfo) string {
	return fmt.Sprintf("ProcessQueueInfo [commitOffset=%d, cachedMsgMinOffset=%d, cachedMsgMaxOffset=%d, cachedMsgCount=%d, cachedMsgSizeInMiB=%d, transactionMsgMinOffset=%d, transactionMsgMaxOffset=%d, transactionMsgCount=%d, locked=%t, tryUnlockTimes=%d, lastLockTimestamp=%s, droped=%t, lastPullTimestamp=%s, lastConsumeTimestamp=%s]",
		p.CommitOffset, p.CachedMsgMinOffset, p.CachedMsgMaxOffset, p.CachedMsgCount, p.CachedMsgSizeInMiB, p.TransactionMsgMinOffset,
		p.TransactionMsgMaxOffset, p.TransactionMsgCount, p.Locked, p.TryUnlockTimes, c.time(p.LastLockTimestamp, compactMillis), p.Droped,
		c.time(p.LastPullTimestamp, compactMillis), c.time(p.LastConsumeTimestamp, compactMillis))
}

// startMonitoring looks at all groups every minute and says which of them fall behind. It runs until it is ended.
func startMonitoring(c *Call) error {
	const round, tolerated = time.Minute, 100_000
	for {
		list, err := c.topics()
		if c.ctx.Err() != nil {
			return nil // ended by the user
		}
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(t string) bool { return !strings.HasPrefix(t, retryPrefix) })
		rows := make([]*groupProgress, len(list))
		c.concurrently("groups", len(list), func(i int) { rows[i] = c.groupSummary(strings.TrimPrefix(list[i], retryPrefix)) })
		for _, r := range rows {
			if r != nil && r.diff > tolerated {
				c.done("[MONITOR] reportUndoneMsgs: UndoneMsgs [consumerGroup=%s, undoneMsgsTotal=%d]\n", r.group, r.diff)
			}
		}
		if err := c.w.Flush(); err != nil {
			return err
		}
		if c.document() || c.pause(round) != nil {
			return nil
		}
	}
}
