// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// place is a queue with the address of its broker.
type place struct {
	protocol.MessageQueue
	addr string
}

func (q place) text() string {
	return fmt.Sprintf("MessageQueue [topic=%s, brokerName=%s, queueId=%d]", q.Topic, q.BrokerName, q.QueueID)
}

// queueOption is the queue of -t that two options name, its broker and its number.
func (c *Call) queueOption(broker, queue string) (place, error) {
	id, err := c.int32(queue, 0)
	if err != nil {
		return place{}, err
	}
	addrs, err := c.mastersOf(c.text("t"))
	if err != nil {
		return place{}, err
	}
	q := place{protocol.MessageQueue{Topic: c.text("t"), BrokerName: c.text(broker), QueueID: id}, addrs[c.text(broker)]}
	if q.addr == "" {
		return place{}, inJava("The broker[%s] not exist: topic %s is not on it", q.BrokerName, q.Topic)
	}
	return q, nil
}

// places are the queues of a topic that can be read.
func (c *Call) places(topic string) ([]place, error) {
	route, err := c.route(topic)
	if err != nil {
		return nil, err
	}
	addrs := map[string]string{}
	for _, n := range brokersOf(route) {
		addrs[n.name] = n.addr
	}
	var list []place
	for _, q := range readQueues(route, topic) {
		list = append(list, place{q, addrs[q.BrokerName]})
	}
	return list, nil
}

// pulled is what one pull brought.
type pulled struct {
	messages       []*received
	next, min, max int64
	code           int32
}

// status is the name of PullStatus.
func (p *pulled) status() string {
	switch p.code {
	case protocol.RespSuccess:
		return "FOUND"
	case protocol.RespPullNotFound:
		return "NO_NEW_MSG"
	case protocol.RespPullRetryImmediately:
		return "NO_MATCHED_MSG"
	}
	return "OFFSET_ILLEGAL"
}

func (c *Call) pull(q place, expression string, offset int64, most int32) (*pulled, error) {
	group := toolsConsumer
	if c.cmd.Name == "consumeMessage" && c.Has("g") {
		group = c.text("g")
	}
	got, err := c.client.Pull(c.ctx, client.PullRequest{
		Topic: q.Topic, Queue: client.Queue{Broker: q.BrokerName, Addr: q.addr, ID: q.QueueID}, Group: group,
		Offset: offset, Max: most, Expression: expression,
	})
	if err != nil {
		var refusal *protocol.Error
		if errors.As(err, &refusal) {
			return nil, &Refusal{Code: refusal.Code, Remark: refusal.Remark, Addr: q.addr}
		}
		return nil, err
	}
	p := &pulled{next: got.Next, min: got.Min, max: got.Max, code: got.Code}
	for _, r := range got.Messages {
		m := receive(r, q.BrokerName)
		m.properties[propMinOffset] = strconv.FormatInt(got.Min, 10)
		m.properties[propMaxOffset] = strconv.FormatInt(got.Max, 10)
		p.messages = append(p.messages, m)
	}
	return p, nil
}

// bounds are the first offset and the one after the last of a queue, between the times of -b and -e if they are given.
func (c *Call) bounds(q place, from, to string) (begin, end int64, err error) {
	find := func(option string, otherwise func(addr, topic string, queue int32) (int64, error)) (int64, error) {
		if option == "" || !c.Has(option) {
			return otherwise(q.addr, q.Topic, q.QueueID)
		}
		at, err := c.timeOption(option, 0)
		if err != nil {
			return 0, err
		}
		return c.searchOffset(q.addr, q.Topic, q.QueueID, at)
	}
	if begin, err = find(from, c.minOffset); err != nil {
		return 0, 0, err
	}
	end, err = find(to, c.maxOffset)
	return begin, end, err
}

// each pulls a queue from begin to end, and tells what it found, and what each pull without messages said.
func (c *Call) each(q place, expression string, begin, end int64, message func(*received), nothing func(*pulled)) error {
	for offset := begin; offset < end; {
		got, err := c.pull(q, expression, offset, 32)
		if err != nil {
			return err
		}
		for _, m := range got.messages {
			if m.QueueOffset < end {
				message(m)
			}
		}
		if len(got.messages) == 0 {
			nothing(got)
			if got.status() != "NO_MATCHED_MSG" {
				return nil
			}
		}
		if got.next <= offset {
			return fmt.Errorf("broker %s says that queue %d goes on at %d after %d", q.BrokerName, q.QueueID, got.next, offset)
		}
		offset = got.next
		c.progress("offset", int(offset-begin), int(end-begin))
	}
	return nil
}

func (c *Call) printMessage(m *received, printBody bool, charset string) {
	body := "NOT PRINT BODY"
	if printBody {
		body = decodeText(m.Body, charset)
	}
	c.printf("MSGID: %s %s BODY: %s\n", m.id(), m.text(), body)
	if c.document() {
		c.add("messages", m.document())
	}
}

// noMatch says why a pull brought nothing.
func (c *Call) noMatch(q place) func(*pulled) {
	return func(p *pulled) {
		if p.status() == "NO_MATCHED_MSG" {
			c.printf("%s no matched msg. status=%s, offset=%d\n", q.text(), p.status(), p.next)
		} else {
			c.printf("%s print msg finished. status=%s, offset=%d\n", q.text(), p.status(), p.next)
		}
	}
}

func (c *Call) expression(option string) string {
	if s := c.text(option); s != "" {
		return s
	}
	return "*"
}

func printMsg(c *Call) error {
	topic := c.text("t")
	routed := topic
	if c.Has("l") {
		routed = c.text("l")
	}
	queues, err := c.places(routed)
	if err != nil {
		return err
	}
	if c.Has("l") {
		// A light queue is queue 0 of its own name on the brokers of its parent topic.
		queues = slices.DeleteFunc(queues, func(q place) bool { return q.QueueID != 0 })
		for i := range queues {
			queues[i].Topic = topic
		}
	}
	charset, err := c.charset("c")
	if err != nil {
		return err
	}
	printBody := c.boolOr("d", true)
	for _, q := range queues {
		begin, end, err := c.bounds(q, "b", "e")
		if err != nil {
			return err
		}
		c.printf("minOffset=%d, maxOffset=%d, %s\n", begin, end, q.text())
		show := func(m *received) { c.printMessage(m, printBody, charset) }
		if err := c.each(q, c.expression("s"), begin, end, show, c.noMatch(q)); err != nil {
			return err
		}
		c.printf("--------------------------------------------------------\n")
	}
	return nil
}

func printMsgByQueue(c *Call) error {
	q, err := c.queueOption("a", "i")
	if err != nil {
		return err
	}
	begin, end, err := c.bounds(q, "b", "e")
	if err != nil {
		return err
	}
	charset, err := c.charset("c")
	if err != nil {
		return err
	}
	show, printBody, count := c.bool("p"), c.bool("d"), c.bool("f")
	tags := map[string]int{}
	if err := c.each(q, c.expression("s"), begin, end, func(m *received) {
		if show {
			c.printMessage(m, printBody, charset)
		}
		if tag := m.properties[message.PropTags]; tag != "" {
			tags[tag]++
		}
	}, func(*pulled) {}); err != nil {
		return err
	}
	if !count {
		return nil
	}
	names := slices.Sorted(maps.Keys(tags))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(tags[b], tags[a]) })
	for _, name := range names {
		c.printf("Tag: %-30s Count: %d\n", name, tags[name])
		c.add("tags", object{{"tag", name}, {"count", tags[name]}})
	}
	return nil
}

// consumeMessage pulls messages of a topic, of one of its queues, or from an offset on, without storing offsets.
func consumeMessage(c *Call) error {
	most, err := c.int64("c", 128)
	if err != nil {
		return err
	}
	now := c.env.Now().UnixMilli()
	from, err := c.timeOption("s", 0)
	if err != nil {
		return err
	}
	to, err := c.timeOption("e", now)
	if err != nil {
		return err
	}
	for _, wrong := range []struct {
		is   bool
		text string
	}{
		{most <= 0, "Please input a positive messageNumber!"},
		{c.Has("i") && !c.Has("b"), "Please set the brokerName before queueId!"},
		{c.Has("o") && !c.Has("i"), "Please set queueId before offset!"},
		{from > now, "Please set the beginTimestamp before now!"},
		{to > now, "Please set the endTimestamp before now!"},
		{from > to, "Please make sure that the beginTimestamp is less than or equal to the endTimestamp"},
	} {
		if wrong.is {
			c.printf("%s\n", wrong.text)
			return errors.New(wrong.text)
		}
	}
	var queues []place
	if c.Has("i") {
		q, err := c.queueOption("b", "i")
		if err != nil {
			return err
		}
		queues = []place{q}
	} else {
		if queues, err = c.places(c.text("t")); err != nil {
			return err
		}
		queues = slices.DeleteFunc(queues, func(q place) bool { return c.Has("b") && q.BrokerName != c.text("b") })
	}
	return c.consume(queues, most)
}

func (c *Call) consume(queues []place, most int64) error {
	offset, err := c.int64("o", -1)
	if err != nil {
		return err
	}
	if c.Has("i") && !c.Has("o") {
		c.printf("The older %d message of the %d queue will be provided\n", most, queues[0].QueueID)
	} else {
		c.printf("The oldler %d message will be provided\n", most)
	}
	left := most
	for _, q := range queues {
		if left == 0 {
			break
		}
		begin, end, err := c.bounds(q, "s", "e")
		if err != nil {
			return err
		}
		if offset >= 0 {
			if offset < begin || offset >= end {
				c.printf("%s no matched msg, offset=%d\n", q.text(), offset)
				return fmt.Errorf("queue %d of broker %s has no message with offset %d", q.QueueID, q.BrokerName, offset)
			}
			begin = offset
		}
		end = begin + min(end-begin, left)
		first := true
		if err := c.each(q, "*", begin, end, func(m *received) {
			if first {
				c.printf("Consume ok\n")
				first = false
			}
			c.printMessage(m, true, "UTF-8")
			left--
		}, c.noMatch(q)); err != nil {
			return err
		}
	}
	return nil
}

func queryCq(c *Call) error {
	queue, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	from, err := c.int64("i", 0)
	if err != nil {
		return err
	}
	count, err := c.int32("c", 10)
	if err != nil {
		return err
	}
	addr := c.text("b")
	if addr == "" {
		route, err := c.route(c.text("t"))
		if err != nil {
			return err
		}
		list := brokersOf(route)
		if len(list) == 0 {
			return inJava("No topic route data!")
		}
		addr = list[0].addr
	}
	h := &protocol.QueryConsumeQueueRequestHeader{Topic: protocol.Some(c.text("t")), QueueID: queue, Index: from, Count: count}
	if c.Has("g") {
		h.ConsumerGroup = protocol.Some(c.text("g"))
	}
	got, err := fetch[protocol.QueryConsumeQueueResponseBody](c, addr, ask(protocol.ReqQueryConsumeQueue, h))
	if err != nil {
		return err
	}
	c.printQueue(got, from)
	return c.whole(got)
}

func dumpCompactionLog(c *Call) error {
	path := c.text("f")
	if path == "" {
		c.printf("miss dump log file name\n")
		return errUsage
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return inJava("file %s not exist.", path)
	case info.IsDir():
		return inJava("file %s is a directory.", path)
	case info.Size() > math.MaxInt32:
		return fmt.Errorf("file %s is larger than such a file can be", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for len(content) >= 4 {
		r, err := message.ParseRecord(content)
		if err != nil {
			if content[0]|content[1]|content[2]|content[3] == 0 {
				return nil // what has not been written yet
			}
			return err
		}
		m := receive(r, "")
		c.printf("%s\n", m.text())
		if c.document() {
			c.add("messages", m.document())
		}
		content = content[r.Size:]
	}
	return nil
}
