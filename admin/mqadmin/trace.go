// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/remoting/protocol"
)

// Clients with message trace send what they did as messages to a topic of its own, with the ids of the messages as keys:
// records that end in 0x02, of fields between 0x01.
//
//	Pub        time region group topic msgId tags keys storeHost bodyLength costMs type [offsetMsgId] success [clientHost]
//	SubBefore  time region group requestId msgId retryTimes keys [clientHost]
//	SubAfter   requestId msgId costMs success keys [code [time group]]
const (
	traceTopic     = "RMQ_SYS_TRACE_TOPIC"
	traceField     = "\x01"
	traceRecord    = "\x02"
	tracePub       = "Pub"
	traceSub       = "Sub"
	traceSubBefore = "SubBefore"
	traceSubAfter  = "SubAfter"
	fieldsOfPub    = 13
	fieldsOfBefore = 8
	fieldsOfAfter  = 6
	mostTraces     = 64
	statusSuccess  = "success"
	statusFailed   = "failed"
)

// traceEvent is one thing that was done with a message.
type traceEvent struct {
	kind, group, host, requestID string
	at, cost                     int64
	status                       string
}

func traceStatus(ok bool) string {
	if ok {
		return statusSuccess
	}
	return statusFailed
}

// parseTrace reads what a trace message says about one message.
func parseTrace(body []byte, host, id string) []traceEvent {
	var events []traceEvent
	for record := range strings.SplitSeq(string(body), traceRecord) {
		f := strings.Split(record, traceField)
		switch {
		case f[0] == tracePub && len(f) >= fieldsOfPub && f[5] == id:
			success := f[12]
			if len(f) > fieldsOfPub {
				success = f[13]
			}
			events = append(events, traceEvent{
				kind: tracePub, group: f[3], host: host, at: whole(f[1]), cost: whole(f[10]), status: traceStatus(success == "true"),
			})
		case f[0] == traceSubBefore && len(f) >= fieldsOfBefore && f[5] == id:
			events = append(events, traceEvent{kind: traceSubBefore, group: f[3], requestID: f[4], host: host, at: whole(f[1])})
		case f[0] == traceSubAfter && len(f) >= fieldsOfAfter && f[2] == id:
			events = append(events, traceEvent{
				kind: traceSubAfter, requestID: f[1], host: host, cost: whole(f[3]), status: traceStatus(f[4] == "true"),
			})
		}
	}
	return events
}

// joinSubs makes one event of the beginning and the end of each consumption.
func joinSubs(events []traceEvent) []traceEvent {
	var joined []traceEvent
	begun := map[string]traceEvent{}
	for _, e := range events {
		if e.kind == traceSubBefore {
			begun[e.requestID] = e
		}
	}
	for _, e := range events {
		switch e.kind {
		case tracePub:
			joined = append(joined, e)
		case traceSubAfter:
			if b, ok := begun[e.requestID]; ok {
				e.group, e.at = b.group, b.at
				delete(begun, e.requestID)
			}
			e.kind = traceSub
			joined = append(joined, e)
		}
	}
	for _, b := range begun { // the end has not arrived
		b.kind, b.status = traceSub, "unknown"
		joined = append(joined, b)
	}
	slices.SortStableFunc(joined, func(a, b traceEvent) int { return int(a.at - b.at) })
	return joined
}

func (c *Call) traces(topic, id string, from, to int64, most int32) ([]traceEvent, error) {
	list, err := c.query(topic, id, false, from, to, most)
	if err != nil {
		return nil, err
	}
	var events []traceEvent
	for _, m := range list {
		events = append(events, parseTrace(m.Body, m.BornHost.Addr().String(), id)...)
	}
	return joinSubs(events), nil
}

func queryMsgTraceById(c *Call) error {
	from, to, most, err := c.span("c", mostTraces)
	if err != nil {
		return err
	}
	topic := c.text("t")
	if topic == "" {
		topic = traceTopic
	}
	events, err := c.traces(topic, c.text("i"), from, to, most)
	if err != nil {
		return err
	}
	c.printTraces(events)
	return nil
}

func (c *Call) printTraces(events []traceEvent) {
	const format = "%-10v %-20v %-20v %-20v %-10v %-10v\n"
	rows := func(t *table, kind string) {
		for _, e := range events {
			if e.kind == kind {
				t.add(kind, e.group, e.host, c.time(e.at, toSecond), strconv.FormatInt(e.cost, 10)+"ms", e.status)
			}
		}
	}
	rows(c.table("producers", format, format, "#Type", "#ProducerGroup", "#ClientHost", "#SendTime", "#CostTimes", "#Status"), tracePub)
	c.printf("\n")
	groups := map[string]bool{}
	for _, e := range events {
		if e.kind == traceSub {
			groups[e.group] = true
		}
	}
	if len(groups) > 0 || c.document() {
		rows(c.table("consumers", format, format, "#Type", "#ConsumerGroup", "#ClientHost", "#ConsumerTime", "#CostTimes", "#Status"), traceSub)
		c.printf("\n")
	}
}

// trace sends the trace of a message that was sent.
func (s *sender) trace(m *outgoing, r *sendResult, began time.Time) error {
	queues, err := s.queues(traceTopic)
	if err != nil {
		return fmt.Errorf("the trace cannot be sent: %w", err)
	}
	record := strings.Join([]string{
		tracePub, strconv.FormatInt(began.UnixMilli(), 10), "DefaultRegion", "CLIENT_INNER_PRODUCER", m.topic, r.msgID, m.tags, m.keys,
		s.c.addrOf(r.queue), strconv.Itoa(len(m.body)), strconv.FormatInt(s.c.env.Now().Sub(began).Milliseconds(), 10), "0", r.offsetID, "true",
	}, traceField) + traceRecord
	_, err = s.send(&outgoing{topic: traceTopic, keys: strings.TrimSpace(r.msgID + " " + m.keys), body: []byte(record)}, queues[0])
	return err
}

// addrOf is the address of the broker of a queue, "" if the name servers do not say.
func (c *Call) addrOf(q protocol.MessageQueue) string {
	addrs, err := c.mastersOf(q.Topic)
	if err != nil {
		return ""
	}
	return addrs[q.BrokerName]
}
