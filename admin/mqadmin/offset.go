// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/compat/mqversion"
	"rocketmq-go/remoting/protocol"
)

func (c *Call) commit(addr, group string, q protocol.MessageQueue, offset int64) error {
	_, err := c.send(addr, ask(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: protocol.Some(group), Topic: protocol.Some(q.Topic), QueueID: protocol.Some(q.QueueID),
		CommitOffset: protocol.Some(offset),
	}))
	return err
}

func cloneGroupOffset(c *Call) error {
	from, to, topic := c.text("s"), c.text("d"), c.text("t")
	offsets, _, err := c.consumeStats(from, topic, "")
	if err != nil {
		return err
	}
	addrs, err := c.mastersOf(topic)
	if err != nil {
		return err
	}
	for _, q := range sortedQueues(offsets) {
		if q.Topic != topic {
			continue
		}
		if err := c.commit(addrs[q.BrokerName], to, q, offsets[q].ConsumerOffset); err != nil {
			return err
		}
	}
	c.done("clone group offset success. srcGroup[%s], destGroup=[%s], topic[%s]\n", from, to, topic)
	return nil
}

// mastersOf are the addresses of a topic's brokers by name.
func (c *Call) mastersOf(topic string) (map[string]string, error) {
	route, err := c.route(topic)
	if err != nil {
		return nil, err
	}
	addrs := map[string]string{}
	for _, n := range brokersOf(route) {
		addrs[n.name] = n.addr
	}
	return addrs, nil
}

// latest stands for the end of a queue where a time is wanted.
const latest = -1

func resetOffsetByTime(c *Call) error {
	group, topic := c.text("g"), c.text("t")
	at, err := c.timeOption("s", 0)
	if err != nil {
		return err
	}
	if c.Has("b") && c.Has("q") {
		return c.resetQueue(group, topic, at)
	}
	force := c.boolOr("f", true)
	route, moved, err := c.reset(group, topic, at, force)
	if err != nil {
		return err
	}
	if moved == nil {
		c.printf("reset consumer offset by specified consumerGroup[%s], topic[%s], force[%t], timestamp(string)[%s], timestamp(long)[%d]\n",
			group, topic, force, c.text("s"), at)
		return c.resetOffline(route, group, topic, at, force, "#resetOffset")
	}
	c.printf("start reset consumer offset by specified, group[%s], topic[%s], force[%t], timestamp(string)[%s], timestamp(long)[%d]\n",
		group, topic, force, c.text("s"), at)
	c.moved(moved)
	return nil
}

// resetQueue moves a group on one queue of one broker, to an offset or a time.
func (c *Call) resetQueue(group, topic string, at int64) error {
	addr := c.text("b")
	queue, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	c.printf("start reset consumer offset by specified, group[%s], topic[%s], queueId[%d], broker[%s], timestamp(string)[%s], timestamp(long)[%d]\n",
		group, topic, queue, addr, c.text("s"), at)
	offset, err := c.int64("o", 0)
	if err != nil {
		return err
	}
	if !c.Has("o") {
		if offset, err = c.searchOffset(addr, topic, queue, at); err != nil {
			return err
		}
	}
	all, err := c.resetsAll(addr)
	if err != nil {
		return err
	}
	if all {
		if members, err := c.members(addr, group); err == nil && len(members.ConnectionSet) > 0 {
			return fmt.Errorf("a broker of 4.9 would reset all queues of a group that is connected: stop %s first", group)
		}
	}
	if err := c.commit(addr, group, protocol.MessageQueue{Topic: topic, QueueID: queue}, offset); err != nil {
		return err
	}
	if all {
		c.field("offset", "reset consumer offset to %d\n", offset)
		return nil
	}
	if _, err := c.send(addr, ask(protocol.ReqInvokeBrokerToResetOffset, &protocol.ResetOffsetRequestHeader{
		Topic: protocol.Some(topic), Group: protocol.Some(group), Timestamp: at, IsForce: true,
		QueueID: queue, Offset: protocol.Some(offset),
	})); err != nil {
		return err
	}
	c.field("offset", "reset consumer offset to %d\n", offset)
	return nil
}

func (c *Call) searchOffset(addr, topic string, queue int32, at int64) (int64, error) {
	if at == latest {
		return c.maxOffset(addr, topic, queue)
	}
	answer, err := c.send(addr, ask(protocol.ReqSearchOffsetByTimestamp, &protocol.SearchOffsetRequestHeader{
		Topic: protocol.Some(topic), QueueID: protocol.Some(queue), Timestamp: protocol.Some(at),
	}))
	if err != nil {
		return 0, err
	}
	return offsetIn(answer)
}

func (c *Call) maxOffset(addr, topic string, queue int32) (int64, error) {
	answer, err := c.send(addr, ask(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{
		Topic: protocol.Some(topic), QueueID: protocol.Some(queue), Committed: true,
	}))
	if err != nil {
		return 0, err
	}
	return offsetIn(answer)
}

func (c *Call) minOffset(addr, topic string, queue int32) (int64, error) {
	answer, err := c.send(addr, ask(protocol.ReqGetMinOffset, &protocol.GetMinOffsetRequestHeader{
		Topic: protocol.Some(topic), QueueID: protocol.Some(queue),
	}))
	if err != nil {
		return 0, err
	}
	return offsetIn(answer)
}

// offsetIn reads the field in which 29, 30 and 31 answer.
func offsetIn(answer *protocol.Command) (int64, error) {
	text, ok := answer.Fields.Get("offset")
	if !ok {
		return 0, fmt.Errorf("the answer has no offset")
	}
	return whole(text), nil
}

// resetsAll tells whether a broker heeds no queue when it resets offsets, as those of 4.9.
func (c *Call) resetsAll(addr string) (bool, error) {
	info, err := c.runtimeInfo(addr)
	if answered(err, protocol.RespNoPermission) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	version, _ := info.Table.Get("brokerVersion")
	return whole(version) < mqversion.V5_0_0, nil
}

// offsetsMoved are the offsets of a group after a reset.
type offsetsMoved = fastjson.Map[protocol.MessageQueue, int64]

// reset lets the brokers move a group to a time. Brokers that do so only for connected groups answer 206 otherwise: then
// no offsets are returned, and they have to be looked up and stored one by one.
func (c *Call) reset(group, topic string, at int64, force bool) (*protocol.TopicRouteData, *offsetsMoved, error) {
	route, err := c.route(topic)
	if err != nil {
		return nil, nil, err
	}
	set := fastjson.MapOf[protocol.MessageQueue, int64](0)
	for _, n := range brokersOf(route) {
		if c.Has("c") && n.cluster != c.text("c") {
			continue
		}
		body, err := fetch[protocol.ResetOffsetBody](c, n.addr, ask(protocol.ReqInvokeBrokerToResetOffset, &protocol.ResetOffsetRequestHeader{
			Topic: protocol.Some(topic), Group: protocol.Some(group), Timestamp: at, IsForce: force, QueueID: -1,
		}))
		if answered(err, protocol.RespConsumerNotOnline) {
			return route, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for q, offset := range body.OffsetTable.All() {
			set.Set(q, offset)
		}
	}
	set.SortHashMap(0)
	return route, &set, nil
}

func (c *Call) moved(offsets *offsetsMoved) {
	const format = "%-40v  %-40v  %-40v\n"
	t := c.table("queues", format, format, "#brokerName", "#queueId", "#offset")
	for q, offset := range offsets.All() {
		t.add(q.BrokerName, q.QueueID, offset)
	}
}

func (c *Call) resetOffline(route *protocol.TopicRouteData, group, topic string, at int64, force bool, title string) error {
	const format = "%-20v  %-20v  %-20v  %-20v  %-20v  %-20v\n"
	t := c.table("queues", format, format, "#brokerName", "#queueId", "#brokerOffset", "#consumerOffset", "#timestampOffset", title)
	for _, n := range brokersOf(route) {
		if c.Has("c") && n.cluster != c.text("c") {
			continue
		}
		stats, err := c.topicStats(n.addr, topic)
		if err != nil {
			return err
		}
		consumed, err := c.consumeStatsOf(n.addr, group, topic)
		if err != nil {
			return err
		}
		for q, o := range stats.OffsetTable.All() {
			own, known := consumed.OffsetTable.Get(q)
			if !known {
				own = &protocol.OffsetWrapper{BrokerOffset: o.MaxOffset}
			}
			found, err := c.searchOffset(n.addr, topic, q.QueueID, at)
			if err != nil {
				return err
			}
			to := own.ConsumerOffset
			if force || !known || found <= own.ConsumerOffset {
				to = found
				if err := c.commit(n.addr, group, q, to); err != nil {
					return err
				}
			}
			t.add(q.BrokerName, q.QueueID, own.BrokerOffset, own.ConsumerOffset, found, to)
		}
	}
	return nil
}

func skipAccumulatedMessage(c *Call) error {
	group, topic, force := c.text("g"), c.text("t"), c.boolOr("f", true)
	route, moved, err := c.reset(group, topic, latest, force)
	if err != nil {
		return err
	}
	if moved == nil {
		return c.resetOffline(route, group, topic, latest, force, "#rollbackOffset")
	}
	c.moved(moved)
	return nil
}
