// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/compat/mqversion"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// What tools do to consumers:
//
//	222 INVOKE_BROKER_TO_RESET_OFFSET      set a group's offsets: here (useServerSideResetOffset, 5.x) or by its clients
//	223 INVOKE_BROKER_TO_GET_CONSUMER_STATUS, 307 GET_CONSUMER_RUNNING_INFO, 309 CONSUME_MESSAGE_DIRECTLY
//	                                       passed on to the clients over the connections they have opened
type consumerTools struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	store     Store
	topics    *topic.Table
	groups    *group.Table
	offsets   *offset.Store
	consumers *client.Consumers
	log       *slog.Logger
}

const (
	versionV308    = 62 // MQVersion ordinal of V3_1_8: clients answer 307 and 309 since then
	versionV307    = 28 // V3_0_7: clients can reset their offsets since then
	clientTimeout  = 10 * time.Second
	languageCPP    = protocol.Language(1)
	resetAllQueues = -1
)

func (c *consumerTools) reset(r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.ResetOffsetRequestHeader](r)
	if err != nil {
		return nil, err
	}
	h = h.Clone()
	if c.config().UseServerSideResetOffset {
		return c.resetHere(h)
	}
	return c.resetByClients(h, r.Language)
}

// resetHere sets the offsets; the group hears of it with the next pull of each queue.
func (c *consumerTools) resetHere(h *protocol.ResetOffsetRequestHeader) (*protocol.Response, error) {
	t := c.topics.Get(h.Topic.V)
	switch {
	case isSlave(c.config()):
		return nil, protocol.Errorf(protocol.RespSystemError, "Can not reset offset in slave broker")
	case t == nil:
		return nil, protocol.Errorf(protocol.RespTopicNotExist, "Topic %s does not exist", h.Topic.V)
	case c.groups.Get(h.Group.V) == nil:
		return nil, protocol.Errorf(protocol.RespSubscriptionGroupNotExist, "Group %s does not exist", h.Group.V)
	}
	var body protocol.ResetOffsetBody
	body.OffsetTable.Clear()
	set := func(queue int32, to int64) { body.OffsetTable.Set(c.queue(t, queue), to) }
	switch {
	case h.QueueID >= 0 && h.Offset.Set && h.Offset.V != -1:
		min, max := c.store.MinOffset(t.TopicName, h.QueueID), c.store.MaxOffset(t.TopicName, h.QueueID)
		if h.Offset.V < min || h.Offset.V > max+1 {
			return nil, protocol.Errorf(protocol.RespSystemError,
				"Target offset %d not in consume queue range [%d-%d]", h.Offset.V, min, max)
		}
		set(h.QueueID, h.Offset.V)
	case h.QueueID >= 0:
		set(h.QueueID, c.byTime(t.TopicName, h.QueueID, h.Timestamp))
	default:
		for id := range max(t.ReadQueueNums, 0) {
			set(id, c.byTime(t.TopicName, id, h.Timestamp))
		}
	}
	for q, to := range body.OffsetTable.All() {
		c.offsets.ResetPending(h.Group.V, t.TopicName, q.QueueID, to)
	}
	c.log.Info("offsets reset", "group", h.Group.V, "topic", t.TopicName, "time", h.Timestamp, "queue", h.QueueID)
	return answerJSON(&body), nil
}

func (c *consumerTools) byTime(topic string, queue int32, ms int64) int64 {
	if ms < 0 {
		return c.store.MaxOffset(topic, queue)
	}
	return c.store.OffsetByTime(topic, queue, ms, store.Lower)
}

// resetByClients asks each client of the group to set its offsets, the way of 4.x.
func (c *consumerTools) resetByClients(h *protocol.ResetOffsetRequestHeader, asker protocol.Language) (*protocol.Response, error) {
	t := c.topics.Get(h.Topic.V)
	if t == nil {
		return nil, protocol.Errorf(protocol.RespTopicNotExist,
			"[reset-offset] reset offset failed, no topic in this broker. topic=%s", h.Topic.V)
	}
	var body protocol.ResetOffsetBody
	body.OffsetTable.Clear()
	for id := range max(t.WriteQueueNums, 0) {
		// A queue without an offset counts as one at 0, unless the group has none at all.
		stored, ok := c.offsets.Query(h.Group.V, t.TopicName, id)
		if !ok {
			return nil, protocol.Errorf(protocol.RespSystemError, "THe consumer group <%s> not exist", h.Group.V)
		}
		to := c.byTime(t.TopicName, id, h.Timestamp)
		if !h.IsForce && to > stored {
			to = stored
		}
		body.OffsetTable.Set(c.queue(t, id), to)
	}
	g := c.consumers.Group(h.Group.V)
	if g == nil || len(g.Clients()) == 0 {
		return nil, protocol.Errorf(protocol.RespConsumerNotOnline,
			"Consumer not online, so can not reset offset, Group: %s Topic: %s Timestamp: %d", h.Group.V, t.TopicName, h.Timestamp)
	}
	notice := c.resetNotice(h, &body, asker)
	for _, member := range g.Clients() {
		if member.Version < versionV307 {
			return nil, protocol.Errorf(protocol.RespSystemError, "the client does not support this feature. version=%s",
				mqversion.Describe(member.Version))
		}
		if err := member.Channel.Oneway(notice); err != nil {
			c.log.Warn("reset of offsets not sent", "group", h.Group.V, "client", member.ClientID, "error", err)
		}
	}
	resp := answerJSON(&body)
	resp.Remark = protocol.Some(notSet)
	return resp, nil
}

// resetNotice is RESET_CONSUMER_CLIENT_OFFSET (220). Java does not pass isForce on.
func (c *consumerTools) resetNotice(h *protocol.ResetOffsetRequestHeader, body *protocol.ResetOffsetBody, asker protocol.Language) *protocol.Command {
	cmd := &protocol.Command{Code: protocol.ReqResetConsumerClientOffset}
	notice := protocol.ResetOffsetRequestHeader{Topic: h.Topic, Group: h.Group, Timestamp: h.Timestamp, QueueID: resetAllQueues}
	notice.AppendFields(&cmd.Fields)
	if asker != languageCPP {
		cmd.Body = fastjson.Marshal(body)
		return cmd
	}
	var list protocol.ResetOffsetBodyForC
	for q, to := range body.OffsetTable.All() {
		list.OffsetTable = append(list.OffsetTable, protocol.MessageQueueForC{
			Topic: q.Topic, BrokerName: q.BrokerName, QueueID: q.QueueID, Offset: to,
		})
	}
	cmd.Body = fastjson.Marshal(&list)
	return cmd
}

func (c *consumerTools) queue(t *protocol.TopicConfig, id int32) protocol.MessageQueue {
	return protocol.MessageQueue{Topic: t.TopicName, BrokerName: c.config().BrokerName, QueueID: id}
}

// status collects the offsets that clients work with.
func (c *consumerTools) status(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumerStatusRequestHeader](r)
	if err != nil {
		return nil, err
	}
	g := c.consumers.Group(h.Group.V)
	if g == nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "the consumer group[%s] not online", h.Group.V)
	}
	all := &protocol.GetConsumerStatusBody{}
	all.MessageQueueTable.Clear()
	all.ConsumerTable.Clear()
	for _, member := range g.Clients() {
		if h.ClientAddr.V != "" && h.ClientAddr.V != member.ClientID {
			continue
		}
		if member.Version < versionV307 {
			return nil, protocol.Errorf(protocol.RespSystemError, "the client does not support this feature. version=%s",
				mqversion.Describe(member.Version))
		}
		cmd := &protocol.Command{Code: protocol.ReqGetConsumerStatusFromClient}
		ask := protocol.GetConsumerStatusRequestHeader{Topic: h.Topic, Group: h.Group}
		ask.AppendFields(&cmd.Fields)
		answer, err := c.call(ctx, member, cmd)
		if err != nil || answer.Code != protocol.RespSuccess {
			continue
		}
		var b protocol.GetConsumerStatusBody
		if fastjson.Unmarshal(answer.Body, &b) == nil {
			all.ConsumerTable.Set(member.ClientID, b.MessageQueueTable)
		}
	}
	return answerJSON(all), nil
}

func (c *consumerTools) call(ctx context.Context, member *client.Client, cmd *protocol.Command) (*protocol.Command, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	return member.Channel.Call(ctx, cmd)
}

func (c *consumerTools) runningInfo(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.GetConsumerRunningInfoRequestHeader](r)
	if err != nil {
		return nil, err
	}
	member, err := c.member(h.ConsumerGroup.V, h.ClientID.V)
	if err != nil {
		return nil, err
	}
	return c.passOn(ctx, h.ConsumerGroup.V, member, &protocol.Command{Code: r.Code, Fields: r.Fields, Body: r.Body})
}

// consumeDirectly gives the client the message, and says what it would know from a pull.
func (c *consumerTools) consumeDirectly(ctx context.Context, r *remoting.Request) (*protocol.Response, error) {
	h, err := remoting.ParseHeader[protocol.ConsumeMessageDirectlyResultRequestHeader](r)
	if err != nil {
		return nil, err
	}
	member, err := c.member(h.ConsumerGroup.V, h.ClientID.V)
	if err != nil {
		return nil, err
	}
	phyOffset, ok := offsetOf(h.MsgID.V)
	record, found := c.store.Record(nil, phyOffset, 0)
	if !ok || !found {
		return nil, protocol.Errorf(protocol.RespSystemError, "no message %s in this broker", h.MsgID.V)
	}
	own := *h
	own.BrokerName = protocol.Some(c.config().BrokerName)
	if t := c.topics.Get(h.Topic.V); t != nil && c.profile.SysFlags {
		own.TopicSysFlag = protocol.Some(t.TopicSysFlag)
	}
	if g := c.groups.Get(h.ConsumerGroup.V); g != nil && c.profile.SysFlags {
		own.GroupSysFlag = protocol.Some(g.GroupSysFlag)
	}
	cmd := &protocol.Command{Code: r.Code, Body: record}
	own.AppendFields(&cmd.Fields)
	return c.passOn(ctx, h.ConsumerGroup.V, member, cmd)
}

// offsetOf is the physical offset at the end of an offset message id.
func offsetOf(id string) (int64, bool) {
	if len(id) < 16 {
		return 0, false
	}
	offset, err := strconv.ParseUint(id[len(id)-16:], 16, 64)
	return int64(offset), err == nil
}

// member is the client of a group that a request names.
func (c *consumerTools) member(name, clientID string) (member *client.Client, err error) {
	if g := c.consumers.Group(name); g != nil {
		member = g.Client(clientID)
	}
	if member == nil {
		return nil, protocol.Errorf(protocol.RespSystemError, "The Consumer <%s> <%s> not online", name, clientID)
	}
	if member.Version < versionV308 {
		return nil, protocol.Errorf(protocol.RespSystemError,
			"The Consumer <%s> Version <%s> too low to finish, please upgrade it to V3_1_8_SNAPSHOT", clientID,
			mqversion.Describe(member.Version))
	}
	return member, nil
}

// passOn sends a request to a client and answers what that answers.
func (c *consumerTools) passOn(ctx context.Context, group string, member *client.Client, cmd *protocol.Command) (*protocol.Response, error) {
	answer, err := c.call(ctx, member, cmd)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, protocol.Errorf(protocol.RespConsumeMsgTimeout, "consumer <%s> <%s> Timeout: %s", group, member.ClientID, err)
	case err != nil:
		return nil, protocol.Errorf(protocol.RespSystemError, "invoke consumer <%s> <%s> Exception: %s", group, member.ClientID,
			strings.TrimSpace(err.Error()))
	}
	return &protocol.Response{
		Code: answer.Code, Remark: answer.Remark, Header: &sameFields{answer.Fields}, Body: answer.Body,
	}, nil
}

// sameFields passes a client's fields through as they are.
type sameFields struct{ protocol.Fields }

func (s *sameFields) AppendFields(f *protocol.Fields) {
	for _, e := range s.List {
		f.Add(e.Key, e.Value)
	}
}

func (s *sameFields) ParseFields(*protocol.Fields) error { return nil }
