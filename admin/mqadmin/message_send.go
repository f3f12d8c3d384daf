// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/message"
	"rocketmq-go/remoting/protocol"
)

// sender sends messages for a sub-command.
type sender struct {
	c   *Call
	ids *message.IDGenerator
}

func (c *Call) sender() *sender {
	return &sender{c, message.NewIDGenerator(localAddr(c.ctx), 1, c.env.Now)}
}

// localAddr is the address of this machine that begins the ids of messages.
func localAddr(ctx context.Context) netip.Addr {
	var d net.Dialer
	// Connecting a UDP socket sends nothing; it tells which address would be used.
	conn, err := d.DialContext(ctx, "udp", "192.0.2.1:9")
	if err == nil {
		defer conn.Close()
		if a, err := netip.ParseAddrPort(conn.LocalAddr().String()); err == nil && a.Addr().Is4() {
			return a.Addr()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

type outgoing struct {
	topic, tags, keys string
	body              []byte
}

// sendResult is what a producer learns of a message.
type sendResult struct {
	status, msgID, offsetID string
	queue                   protocol.MessageQueue
	offset                  int64
}

// text is SendResult.toString.
func (r *sendResult) text() string {
	return fmt.Sprintf("SendResult [sendStatus=%s, msgId=%s, offsetMsgId=%s, messageQueue=%s, queueOffset=%d, recallHandle=null]",
		r.status, r.msgID, r.offsetID, place{MessageQueue: r.queue}.text(), r.offset)
}

func (s *sender) send(m *outgoing, q place) (*sendResult, error) {
	id := s.ids.Next()
	out := &client.Message{
		Topic: m.topic, Body: m.body, Tags: m.tags, Properties: map[string]string{message.PropUniqKey: id, message.PropWait: "true"},
		Queue: &client.Queue{Broker: q.BrokerName, Addr: q.addr, ID: q.QueueID},
	}
	if m.keys != "" {
		out.Keys = []string{m.keys}
	}
	sent, err := s.c.client.Send(s.c.ctx, out)
	if err != nil {
		var refusal *protocol.Error
		if errors.As(err, &refusal) {
			err = &Refusal{Code: refusal.Code, Remark: refusal.Remark, Addr: q.addr}
		}
		return nil, err
	}
	r := &sendResult{
		status: "SEND_OK", msgID: id, offsetID: sent.OffsetID, offset: sent.QueueOffset,
		queue: protocol.MessageQueue{Topic: m.topic, BrokerName: q.BrokerName, QueueID: sent.Queue.ID},
	}
	switch sent.Code {
	case protocol.RespFlushDiskTimeout:
		r.status = "FLUSH_DISK_TIMEOUT"
	case protocol.RespFlushSlaveTimeout:
		r.status = "FLUSH_SLAVE_TIMEOUT"
	case protocol.RespSlaveNotAvailable:
		r.status = "SLAVE_NOT_AVAILABLE"
	}
	return r, nil
}

// queues are the queues of a topic that can be written; of an unknown topic those that a send makes.
func (s *sender) queues(topic string) ([]place, error) {
	route, err := s.c.route(topic)
	if answered(err, protocol.RespTopicNotExist) {
		template, templateErr := s.c.route(defaultTopic)
		if templateErr != nil {
			return nil, err
		}
		const newQueues = 4
		for i := range template.QueueDatas {
			template.QueueDatas[i].WriteQueueNums = min(template.QueueDatas[i].WriteQueueNums, newQueues)
		}
		route, err = template, nil
	}
	if err != nil {
		return nil, err
	}
	addrs := map[string]string{}
	for _, n := range masters(brokersOf(route)) {
		addrs[n.name] = n.addr
	}
	var list []place
	for _, q := range route.QueueDatas {
		if q.Perm&permWrite == 0 || addrs[q.BrokerName] == "" {
			continue
		}
		for id := range max(q.WriteQueueNums, 0) {
			list = append(list, place{protocol.MessageQueue{Topic: topic, BrokerName: q.BrokerName, QueueID: id}, addrs[q.BrokerName]})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("topic %s has no queue that can be written", topic)
	}
	return list, nil
}

func sendMessage(c *Call) error {
	if c.Has("i") && !c.Has("b") {
		c.printf("Broker name must be set if the queue is chosen!")
		return misused("-i needs -b")
	}
	s := c.sender()
	queues, err := s.queues(c.text("t"))
	if err != nil {
		return err
	}
	id, err := c.int32("i", -1)
	if err != nil {
		return err
	}
	chosen := -1
	for i, q := range queues {
		if (!c.Has("b") || q.BrokerName == c.text("b")) && (id < 0 || q.QueueID == id) {
			chosen = i
			break
		}
	}
	if chosen < 0 {
		return fmt.Errorf("topic %s has no queue %s of broker %s that can be written", c.text("t"), c.text("i"), c.text("b"))
	}
	t := c.table("messages", "%-32v  %-4v  %-20v    %v\n", "%-32v  %-4v  %-20v    %v\n", "#Broker Name", "#QID", "#Send Result", "#MsgId")
	began := c.env.Now()
	m := &outgoing{topic: c.text("t"), body: []byte(c.Get("p")), tags: c.text("c"), keys: c.text("k")}
	r, err := s.send(m, queues[chosen])
	if err != nil {
		t.add("Unknown", "Unknown", "Failed", "None")
		return err
	}
	t.add(r.queue.BrokerName, r.queue.QueueID, r.status, r.msgID)
	if c.bool("m") {
		return s.trace(m, r, began)
	}
	return nil
}

func sendMsgStatus(c *Call) error {
	size, err := c.int64("s", 128)
	if err != nil {
		return err
	}
	count, err := c.int64("c", 50)
	if err != nil {
		return err
	}
	if size < 1 || size > 64<<20 {
		return misused("-s must be from 1 to %d", 64<<20)
	}
	broker := c.text("b")
	s := c.sender()
	queues, err := s.queues(broker)
	if err != nil {
		return err
	}
	const words = "hello jodie"
	body := []byte(strings.Repeat(words, int(size)/len(words)+1)[:size])
	for i := range count {
		began := time.Now()
		r, err := s.send(&outgoing{topic: broker, body: body}, queues[int(i)%len(queues)])
		if err != nil {
			return err
		}
		took := time.Since(began).Milliseconds()
		c.printf("rt=%dms, SendResult=%s\n", took, r.text())
		c.add("messages", object{{"rt", took}, {"sendStatus", r.status}, {"msgId", r.msgID}, {"queueId", r.queue.QueueID}, {"queueOffset", r.offset}})
	}
	return nil
}
