// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

const (
	noMessage        = 208 // the client's own code for a query that finds nothing
	uniqueKeyQuery   = "_UNIQUE_KEY_QUERY"
	maxUnique        = 32
	maxByKey         = 64
	toolsConsumer    = "TOOLS_CONSUMER"
	broadcasting     = "BROADCASTING"
	propConsumeType  = "PROP_CONSUME_TYPE"
	consumePassively = "CONSUME_PASSIVELY"
)

// query asks all brokers of a topic for messages with a key. What some of them have is told although others fail.
func (c *Call) query(topic, key string, unique bool, from, to int64, most int32) ([]*received, error) {
	list, failed := c.search(topic, key, unique, from, to, most)
	switch {
	case len(list) == 0 && failed == nil:
		return nil, refuse(noMessage, "query message by key finished, but no message.")
	case len(list) == 0:
		return nil, failed
	case failed != nil:
		c.fail(failed)
	}
	return list, nil
}

// search returns the messages that those brokers of a topic have that answer, and what the others failed with.
func (c *Call) search(topic, key string, unique bool, from, to int64, most int32) ([]*received, error) {
	route, err := c.route(topic)
	if err != nil {
		return nil, err
	}
	var all []*received
	failed := each(c, brokersOf(route), func(n node) error {
		if c.Has("c") && c.cmd.hasClusterFilter() && n.cluster != c.text("c") {
			return nil
		}
		r := ask(protocol.ReqQueryMessage, &protocol.QueryMessageRequestHeader{
			Topic: protocol.Some(topic), Key: protocol.Some(key), MaxNum: protocol.Some(most),
			BeginTimestamp: protocol.Some(from), EndTimestamp: protocol.Some(to),
		})
		r.fields = []string{uniqueKeyQuery, strconv.FormatBool(unique)}
		answer, err := c.send(n.addr, r)
		if answered(err, protocol.RespQueryNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		list, err := parseRecords(answer.Body, n.name)
		if err != nil {
			return err
		}
		for _, m := range list {
			if unique && m.id() == key || !unique && slices.Contains(m.keys(), key) {
				all = append(all, m)
			}
		}
		return nil
	})
	return all, failed
}

// hasClusterFilter tells whether -c of a sub-command is a cluster.
func (cmd *Command) hasClusterFilter() bool {
	for i := range cmd.Options {
		if o := &cmd.Options[i]; o.Short == "c" {
			return strings.HasPrefix(o.Long, "cluster")
		}
	}
	return false
}

func parseRecords(body []byte, broker string) ([]*received, error) {
	var list []*received
	for len(body) > 0 {
		r, err := message.ParseRecord(body)
		if err != nil {
			return nil, err
		}
		list = append(list, receive(r, broker))
		body = body[r.Size:]
	}
	return list, nil
}

func (c *Call) byUniqueKey(topic, id string) ([]*received, error) {
	return c.query(topic, id, true, 0, math.MaxInt64, maxUnique)
}

// newest is the message that was stored last.
func newest(list []*received) *received {
	return slices.MaxFunc(list, func(a, b *received) int { return int(a.StoreTimestamp - b.StoreTimestamp) })
}

// byOffsetID reads the message at the place that an id names, from the broker that it names.
func (c *Call) byOffsetID(topic, id string) (*received, error) {
	host, offset, err := message.ParseOffsetID(id)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(host.String(), ask(protocol.ReqViewMessageByID, &protocol.ViewMessageRequestHeader{
		Offset: protocol.Some(offset), Topic: protocol.Some(topic),
	}))
	if err != nil {
		return nil, err
	}
	list, err := parseRecords(answer.Body, "")
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("the answer has no message: %w", err)
	}
	return list[0], nil
}

// byID reads the message that an id of either kind names. Both kinds look alike, and the host in a unique key is no broker:
// a place is only tried first when a registered broker is there.
func (c *Call) byID(topic, id string) (*received, error) {
	host, _, err := message.ParseOffsetID(id)
	place := err == nil && host.Port() != 0
	if place && (len(c.namesrvs) == 0 || c.isBroker(host.String())) {
		m, err := c.byOffsetID(topic, id)
		if err == nil || len(c.namesrvs) == 0 {
			return m, err
		}
		place = false
	}
	list, err := c.byUniqueKey(topic, id)
	if err == nil {
		return newest(list), nil
	}
	if place && answered(err, noMessage) {
		if m, placeErr := c.byOffsetID(topic, id); placeErr == nil {
			return m, nil
		}
	}
	return nil, err
}

func (c *Call) isBroker(addr string) bool {
	list, err := c.nodes("")
	return err == nil && slices.ContainsFunc(list, func(n node) bool { return n.addr == addr })
}

func queryMsgById(c *Call) error {
	for id := range strings.SplitSeq(c.text("i"), ",") {
		if err := c.queryOne(strings.TrimSpace(id)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) queryOne(id string) error {
	topic := c.text("t")
	switch {
	case c.Has("g") && c.Has("d"):
		m, err := c.byID(topic, id)
		if err != nil {
			return err
		}
		return c.pushTo(c.text("g"), c.text("d"), m)
	case c.bool("s"):
		return c.resend(topic, id)
	}
	m, err := c.byID(topic, id)
	if err != nil {
		return err
	}
	charset, err := c.charset("f")
	if err != nil {
		return err
	}
	if err := c.show(m, true, m.id(), charset); err != nil {
		return err
	}
	return c.showTracks(m, "%s\n")
}

func (c *Call) resend(topic, id string) error {
	m, err := c.byID(topic, id)
	if err != nil {
		c.printf("no message. msgId=%s\n", id)
		return err
	}
	c.printf("prepare resend msg. originalMsgId=%s\n", id)
	s := c.sender()
	queues, err := s.queues(topic)
	if err != nil {
		return err
	}
	result, err := s.send(&outgoing{
		topic: topic, body: m.Body, tags: m.properties[message.PropTags], keys: m.properties[message.PropKeys],
	}, queues[0])
	if err != nil {
		return err
	}
	c.done("%s\n", result.text())
	return nil
}

// pushTo lets one member of a group consume a message.
func (c *Call) pushTo(group, client string, m *received) error {
	info, err := c.runningInfo(group, client, false)
	if err != nil {
		return fmt.Errorf("get consumer runtime info for %s client failed: %w", client, err)
	}
	if kind, ok := info.Properties.Get(propConsumeType); ok && kind != consumePassively {
		return fmt.Errorf("this %s client is not push consumer ,not support direct push", client)
	}
	addr := m.StoreHost.String()
	result, err := fetch[protocol.ConsumeMessageDirectlyResult](c, addr, ask(protocol.ReqConsumeMessageDirectly, &protocol.ConsumeMessageDirectlyResultRequestHeader{
		ConsumerGroup: protocol.Some(group), ClientID: protocol.Some(client), MsgID: protocol.Some(m.offsetID()),
		Topic: protocol.Some(string(m.Topic)),
	}))
	if err != nil {
		return err
	}
	c.printf("ConsumeMessageDirectlyResult [order=%t, autoCommit=%t, consumeResult=%s, remark=%s, spentTimeMills=%d]\n",
		result.Order, result.AutoCommit, orNull(string(result.ConsumeResult)), orNull(result.Remark), result.SpentTimeMills)
	if err := c.whole(result); err != nil {
		return err
	}
	if result.ConsumeResult != protocol.CrSuccess {
		return fmt.Errorf("the client did not consume the message: %s", result.ConsumeResult)
	}
	return nil
}

// track is what became of a message in a group.
type track struct{ group, kind, reason string }

func (t track) text() string {
	return fmt.Sprintf("MessageTrack [consumerGroup=%s, trackType=%s, exceptionDesc=%s]", t.group, t.kind, orNull(t.reason))
}

func (c *Call) showTracks(m *received, format string) error {
	tracks, err := c.tracks(m)
	if err != nil {
		return err
	}
	if len(tracks) == 0 {
		c.printf("\n\nWARN: No Consumer\n")
		return nil
	}
	c.printf("\n\n")
	for _, t := range tracks {
		c.printf(format, t.text())
		c.add("tracks", object{{"consumerGroup", t.group}, {"trackType", t.kind}, {"exceptionDesc", t.reason}})
	}
	c.printf("\n")
	return nil
}

func (c *Call) tracks(m *received) ([]track, error) {
	route, err := c.route(string(m.Topic))
	if err != nil {
		return nil, err
	}
	groups, err := c.groupsOf(route, string(m.Topic))
	if err != nil {
		return nil, err
	}
	var info *protocol.ClusterInfo
	var tracks []track
	for _, group := range groups {
		if info == nil {
			if info, err = c.clusterInfo(); err != nil {
				return nil, err
			}
		}
		tracks = append(tracks, c.track(m, group, info))
	}
	return tracks, nil
}

func (c *Call) track(m *received, group string, info *protocol.ClusterInfo) track {
	t := track{group: group, kind: "UNKNOWN"}
	members, err := c.membersAnywhere(group, "")
	if err == nil {
		switch {
		case members.ConsumeType == protocol.ConsumeActively:
			t.kind = "PULL"
			return t
		case string(members.MessageModel) == broadcasting:
			t.kind = "CONSUME_BROADCASTING"
			return t
		}
		var consumed bool
		if consumed, err = c.consumed(m, group, info); err == nil {
			t.kind = "NOT_CONSUME_YET"
			if consumed {
				t.kind = consumedKind(m, members)
			}
			return t
		}
	}
	t.reason, _, _ = strings.Cut(err.Error(), "\n")
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == protocol.RespConsumerNotOnline {
		t.kind, t.reason = "NOT_ONLINE", fmt.Sprintf("CODE:%d DESC:%s", refusal.Code, refusal.Remark)
	}
	return t
}

// consumed tells whether a group has gone past a message.
func (c *Call) consumed(m *received, group string, info *protocol.ClusterInfo) (bool, error) {
	offsets, _, err := c.consumeStats(group, string(m.Topic), "")
	for q, o := range offsets {
		if q.Topic != string(m.Topic) || q.QueueID != m.QueueID {
			continue
		}
		broker, ok := info.BrokerAddrTable.Get(q.BrokerName)
		if !ok || broker == nil {
			continue
		}
		if addr, _ := broker.BrokerAddrs.Get(masterID); addr == m.StoreHost.String() && o.ConsumerOffset > m.QueueOffset {
			return true, nil
		}
	}
	return false, err
}

func consumedKind(m *received, members *protocol.ConsumerConnection) string {
	s, ok := members.SubscriptionTable.Get(string(m.Topic))
	if !ok || s == nil {
		return "CONSUMED"
	}
	tag := m.properties[message.PropTags]
	for _, t := range s.TagsSet {
		if t == tag || t == "*" {
			return "CONSUMED"
		}
	}
	if len(s.TagsSet) > 0 {
		return "CONSUMED_BUT_FILTERED"
	}
	return "CONSUMED"
}

// span reads the options of a search: from and to (ms), and how many results at most.
func (c *Call) span(mostOption string, mostDefault int32) (from, to int64, most int32, err error) {
	if from, err = c.timeOption("b", 0); err != nil {
		return
	}
	if to, err = c.timeOption("e", math.MaxInt64); err != nil {
		return
	}
	most, err = c.int32(mostOption, mostDefault)
	return
}

func queryMsgByKey(c *Call) error {
	from, to, most, err := c.span("m", maxByKey)
	if err != nil {
		return err
	}
	list, err := c.query(c.text("t"), c.text("k"), false, from, to, most)
	if err != nil {
		return err
	}
	t := c.table("messages", "%-50v %4v %40v\n", "%-50v %4v %40v\n", "#Message ID", "#QID", "#Offset")
	for _, m := range list {
		t.add(m.id(), m.QueueID, m.QueueOffset)
	}
	return nil
}

func queryMsgByUniqueKey(c *Call) error {
	topic, id := c.text("t"), c.text("i")
	list, err := c.byUniqueKey(topic, id)
	if err != nil {
		return err
	}
	if c.Has("g") && c.Has("d") {
		return c.pushTo(c.text("g"), c.text("d"), newest(list))
	}
	if !c.Has("a") {
		list = []*received{newest(list)}
	}
	for i, m := range list {
		name := m.id()
		if i > 0 {
			name += "_" + strconv.Itoa(i)
		}
		if err := c.show(m, false, name, ""); err != nil {
			return err
		}
		if err := c.showTracks(m, "%s"); err != nil {
			return err
		}
	}
	return nil
}

func queryMsgByOffset(c *Call) error {
	q, err := c.queueOption("b", "i")
	if err != nil {
		return err
	}
	offset, err := c.int64("o", 0)
	if err != nil {
		return err
	}
	got, err := c.pull(q, "*", offset, 1)
	if err != nil {
		return err
	}
	if len(got.messages) == 0 {
		return fmt.Errorf("queue %d of broker %s has no message with offset %d: its offsets are %d to %d", q.QueueID, q.BrokerName, offset, got.min, got.max-1)
	}
	m := got.messages[0]
	charset, err := c.charset("f")
	if err != nil {
		return err
	}
	if err := c.show(m, true, m.id(), charset); err != nil {
		return err
	}
	return c.showTracks(m, "%s\n")
}
