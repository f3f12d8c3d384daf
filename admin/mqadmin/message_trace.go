// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// Where brokers keep messages that are not delivered yet. What is delivered stays there, too, for a while.
const (
	delayTopic    = "SCHEDULE_TOPIC_XXXX"
	timerTopic    = "rmq_sys_wheel_timer"
	preparedTopic = "RMQ_SYS_TRANS_HALF_TOPIC"

	propRetryTopic = "RETRY_TOPIC"
	propDLQTopic   = "DLQ_ORIGIN_TOPIC"
	propTimerDue   = "TIMER_OUT_MS"
)

var waitingTopics = []string{delayTopic, timerTopic, preparedTopic}

// messageTrace tells all that can be learned of a message: where it is and where its retries are, what became of it in each
// group, its traces.
func messageTrace(c *Call) error {
	if len(c.Args) == 0 {
		return errUsage
	}
	copies, err := c.copies(c.text("t"), c.Args[0])
	if err != nil {
		return err
	}
	m := original(copies)
	c.printf("%s of topic %s, tags %s, keys %s\n", m.id(), originTopic(m), orNull(m.properties[message.PropTags]), orNull(m.properties[message.PropKeys]))
	c.printf("sent    %s by %v\n", c.time(m.BornTimestamp, withMillis), m.BornHost)
	c.printf("stored  %s at %v, queue %d, offset %d, %d bytes, id %s\n\n", c.time(m.StoreTimestamp, withMillis), m.StoreHost, m.QueueID, m.QueueOffset, m.Size, m.offsetID())
	c.set("message", m.document())
	if len(copies) > 1 || string(m.Topic) != originTopic(m) {
		const format = "%-32v %-40v %-4v %-10v %-24v %v\n"
		t := c.table("copies", format, format, "#What", "#Topic", "#QID", "#Offset", "#Stored", "#ID")
		for _, x := range copies {
			t.add(c.whatIs(x), string(x.Topic), x.QueueID, x.QueueOffset, c.time(x.StoreTimestamp, withMillis), x.offsetID())
		}
		c.printf("\n")
	}
	if string(m.Topic) == originTopic(m) {
		tracks, err := c.tracks(m)
		if err != nil {
			return err
		}
		t := c.table("tracks", "%-40v %-24v %v\n", "%-40v %-24v %v\n", "#Consumer Group", "#Track", "#Reason")
		for _, x := range tracks {
			t.add(x.group, x.kind, x.reason)
		}
		c.printf("\n")
	}
	traceIn := c.text("trace-topic")
	if traceIn == "" {
		traceIn = traceTopic
	}
	events, err := c.traces(traceIn, m.id(), 0, math.MaxInt64, mostTraces)
	if answered(err, noMessage, protocol.RespTopicNotExist) {
		c.printf("There is no trace of it in topic %s.\n", traceIn)
		return nil
	}
	if err != nil {
		return err
	}
	c.printTraces(events)
	return nil
}

// originTopic is the topic that a message was sent to, which for copies of it is another one than theirs.
func originTopic(m *received) string {
	for _, property := range []string{propRetryTopic, propDLQTopic, message.PropRealTopic} {
		if topic := m.properties[property]; topic != "" && !isRetryOrDLQ(topic) {
			return topic
		}
	}
	return string(m.Topic)
}

// original is the message that others are copies of: the first one in the topic that it was sent to, or else the first one.
func original(copies []*received) *received {
	for _, m := range copies {
		if string(m.Topic) == originTopic(m) {
			return m
		}
	}
	return copies[0]
}

// whatIs says in words why there is a copy.
func (c *Call) whatIs(m *received) string {
	topic := string(m.Topic)
	due := "level " + m.properties[message.PropDelay]
	if ms := m.properties[propTimerDue]; ms != "" {
		due = c.time(whole(ms), withMillis)
	}
	retry := func(of string) string {
		return fmt.Sprintf("retry %d of %s", m.ReconsumeTimes, strings.TrimPrefix(of, retryPrefix))
	}
	to := m.properties[message.PropRealTopic]
	switch {
	case strings.HasPrefix(topic, dlqPrefix):
		return "dead letter of " + strings.TrimPrefix(topic, dlqPrefix)
	case strings.HasPrefix(topic, retryPrefix):
		return retry(topic)
	case slices.Contains(waitingTopics[:2], topic) && isRetryOrDLQ(to):
		return "delay (" + due + ") of " + retry(to)
	case slices.Contains(waitingTopics[:2], topic):
		return "delay (" + due + ")"
	case topic == preparedTopic:
		return "half message of a transaction"
	}
	return "message"
}

// copies are all that brokers store of the message with an id of either kind, in the order in which it was stored: in its
// topic (which is looked for in all, if it is not given), where it waited, in retry and dead-letter topics.
func (c *Call) copies(topic, id string) ([]*received, error) {
	if host, _, err := message.ParseOffsetID(id); err == nil && (len(c.namesrvs) == 0 || c.isBroker(host.String())) {
		m, err := c.byOffsetID(topic, id)
		switch refusal := (*Refusal)(nil); {
		case err == nil && m.id() == id || len(c.namesrvs) == 0:
			return []*received{m}, err
		case err == nil:
			topic, id = originTopic(m), m.id()
		case !errors.As(err, &refusal): // what has no message there may be a unique key
			return nil, err
		}
	}
	list, err := c.topics()
	if err != nil {
		return nil, err
	}
	if topic != "" {
		list = slices.DeleteFunc(list, func(t string) bool { return t != topic && !slices.Contains(waitingTopics, t) && !isRetryOrDLQ(t) })
	}
	var mu sync.Mutex
	var found []*received
	var failed failures
	c.concurrently("topics", len(list), func(i int) {
		copies, err := c.search(list[i], id, true, 0, math.MaxInt64, maxUnique)
		mu.Lock()
		defer mu.Unlock()
		found = append(found, copies...)
		if err != nil && !answered(err, protocol.RespTopicNotExist) { // it may have gone meanwhile
			failed = append(failed, err)
		}
	})
	switch {
	case len(found) == 0 && failed != nil:
		return nil, failed
	case len(found) == 0:
		where := "no topic has"
		if topic != "" {
			where = "neither topic " + topic + " nor those of delays, transactions and retries have"
		}
		return nil, refuse(noMessage, "%s a message with the id %s", where, id)
	case failed != nil:
		c.fail(failed)
	}
	slices.SortFunc(found, func(a, b *received) int {
		return cmp.Or(cmp.Compare(a.StoreTimestamp, b.StoreTimestamp), cmp.Compare(a.PhyOffset, b.PhyOffset))
	})
	return found, c.ctx.Err()
}
