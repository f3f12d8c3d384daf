// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"errors"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/filter"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/longpoll"
	"rocketmq-go/broker/offset"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// PULL_MESSAGE (11) and LITE_PULL_MESSAGE (361).
//
//   - The subscription is the group's, from its heartbeats, or with system flag 4 the request's own.
//   - With system flag 2 a pull that has reached the end of its queue is held (longpoll) and tried once more when a
//     message arrives or its time is over; then it is answered whatever it finds.
//   - With system flag 1 the request commits an offset by the way; what it pulled itself is noted too.
//   - Consumers read the code: 0 found, 19 nothing yet, 20 ask again at once, 21 offset moved.
type puller struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	store     Store
	topics    *topic.Table
	groups    *group.Table
	offsets   *offset.Store
	broadcast *offset.Broadcast // nil in 4.9
	consumers *client.Consumers
	filters   *filter.Table
	holder    *longpoll.Holder
	stats     *stats.Table
	now       func() time.Time

	stuck stuck

	pool sync.Pool // of *pull
}

// Bits of a pull's system flag.
const (
	pullCommit       = 1
	pullSuspend      = 2
	pullSubscription = 4
)

// Why a pull is forbidden (forbiddenType).
const (
	forbiddenBroker    = 1
	forbiddenGroup     = 2
	forbiddenTopic     = 3
	forbiddenBroadcast = 4
	forbiddenTable     = 5
)

// sourceBroadcast is the requestSource of a proxy that pulls for a member of a broadcasting group.
const sourceBroadcast = 1

// bufferKept is the largest reply buffer that is kept for later pulls.
const bufferKept = 1 << 20

// pull is one pull being answered. It is used again: the steady state allocates nothing.
type pull struct {
	longpoll.Pull // what is asked; the strings may be views
	commitOffset  int64

	topic  *protocol.TopicConfig
	group  *protocol.SubscriptionGroupConfig
	online *client.ConsumerGroup // nil: nobody of the group is

	header   protocol.PullMessageRequestHeader
	answer   protocol.PullMessageResponseHeader
	response protocol.Response
	body     []byte
}

func (p *puller) new() *pull {
	if o, ok := p.pool.Get().(*pull); ok {
		return o
	}
	return &pull{}
}

func (p *puller) release(o *pull) {
	body := o.body[:0]
	if cap(body) > bufferKept {
		body = nil
	}
	*o = pull{body: body}
	p.pool.Put(o)
}

func (p *puller) handle(r *remoting.Request) {
	o := p.new()
	defer p.release(o)
	err := o.decode(r)
	if err == nil {
		err = p.find(o)
	}
	if err != nil {
		o.refuse(err)
		r.Reply(&o.response)
		return
	}
	p.get(o)
	if o.SysFlag&pullCommit != 0 && (p.profile.SlavesReject || !isSlave(p.config())) {
		// Who commits is only wanted for the log, and its name would cost an allocation.
		p.offsets.Commit("", o.group.GroupName, o.topic.TopicName, o.QueueID, o.commitOffset)
	}
	if o.response.Code == protocol.RespPullNotFound && o.SysFlag&pullSuspend != 0 && p.hold(o, r) {
		return
	}
	r.Reply(&o.response)
}

// decode reads the request.
func (o *pull) decode(r *remoting.Request) error {
	h := &o.header
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if !h.ConsumerGroup.Set || !h.Topic.Set || !h.QueueID.Set || !h.QueueOffset.Set || !h.MaxMsgNums.Set || !h.SysFlag.Set {
		return missing("consumerGroup, topic, queueId, queueOffset, maxMsgNums or sysFlag")
	}
	if h.SysFlag.V&pullSuspend != 0 && !h.SuspendTimeoutMillis.Set ||
		h.SysFlag.V&pullCommit != 0 && !h.CommitOffset.Set || h.SysFlag.V&pullSubscription == 0 && !h.SubVersion.Set {
		return missing("suspendTimeoutMillis, commitOffset or subVersion")
	}
	o.Pull = longpoll.Pull{
		Request: r.Code, Channel: r.Channel, Group: h.ConsumerGroup.V, Topic: h.Topic.V, QueueID: h.QueueID.V,
		Offset: h.QueueOffset.V, MaxCount: h.MaxMsgNums.V, SysFlag: h.SysFlag.V, SubVersion: h.SubVersion.V,
		Expression: h.Subscription.V, Type: h.ExpressionType.V,
		ByProxy: h.RequestSource.V == sourceBroadcast, ProxyClient: h.ProxyFrowardClientID.V,
	}
	if filter.IsTag(o.Type) {
		o.Type = filter.TypeTag
		if o.Expression == "" {
			o.Expression = filter.All
		}
	}
	o.commitOffset = h.CommitOffset.V
	return nil
}

// forbidden is a refusal that says in the answer's header what forbids.
type forbidden struct {
	refusal *protocol.Error
	kind    int32
}

func (f *forbidden) Error() string { return f.refusal.Error() }
func (f *forbidden) Unwrap() error { return f.refusal }

// forbid makes a refusal; 4.9 does not say what forbids.
func (p *puller) forbid(kind int32, format string, args ...any) error {
	refusal := protocol.Errorf(protocol.RespNoPermission, format, args...)
	if !p.profile.SysFlags {
		return refusal
	}
	return &forbidden{refusal, kind}
}

func (o *pull) refuse(err error) {
	o.answer = protocol.PullMessageResponseHeader{}
	var f *forbidden
	if errors.As(err, &f) {
		o.answer.ForbiddenType = protocol.Some(f.kind)
	}
	o.response = protocol.Response{Header: &o.answer}
	fail(&o.response, err)
}

// find runs Java's checks in Java's order. It leaves group, topic and filter in o.
func (p *puller) find(o *pull) error {
	cfg := p.config()
	switch {
	case isSlave(cfg) && p.profile.SlavesReject && !cfg.SlaveReadEnable:
		return errRejected
	case cfg.BrokerPermission&permRead == 0:
		return p.forbid(forbiddenBroker, "the broker[%s] pulling message is forbidden", cfg.BrokerIP1)
	case o.Request == protocol.ReqLitePullMessage && !cfg.LitePullMessageEnable:
		return p.forbid(forbiddenBroker, "the broker[%s] for lite pull consumer is forbidden", cfg.BrokerIP1)
	}
	if o.group = p.groups.Find(o.Group); o.group == nil {
		return protocol.Errorf(protocol.RespSubscriptionGroupNotExist,
			"subscription group [%s] does not exist, %s", o.Group, p.profile.FAQ)
	}
	if !o.group.ConsumeEnable {
		return p.forbid(forbiddenGroup, "subscription group no permission, %s", o.Group)
	}
	if o.topic = p.topics.Get(o.Topic); o.topic == nil {
		return protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! %s", o.Topic, p.profile.FAQ)
	}
	if o.topic.Perm&permRead == 0 {
		return p.forbid(forbiddenTopic, "the topic[%s] pulling message is forbidden", o.Topic)
	}
	if o.QueueID < 0 || o.QueueID >= o.topic.ReadQueueNums {
		return protocol.Errorf(p.profile.InvalidParameter,
			"queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[/%s]",
			o.QueueID, o.Topic, o.topic.ReadQueueNums, o.Channel.RemoteAddr())
	}
	o.online = p.consumers.Group(o.Group)
	if err := p.subscription(o, cfg); err != nil {
		return err
	}
	if cfg.RejectPullConsumerEnable && !group.IsSystem(o.Group) &&
		(o.online == nil || o.online.Type() == protocol.ConsumeActively && o.online.ClientOf(o.Channel) == nil) {
		return protocol.Errorf(protocol.RespSubscriptionNotExist,
			"the consumer's group info not exist, or the pull consumer is rejected by server.%s", p.profile.FAQ)
	}
	if o.ByProxy && o.ProxyClient == "" && p.broadcast != nil && cfg.EnableBroadcastOffsetStore {
		return missing("proxyFrowardClientId")
	}
	return nil
}

// subscription finds what chooses the messages: the request's own expression or the group's subscription.
func (p *puller) subscription(o *pull, cfg *config.BrokerValues) error {
	online := o.online
	var sub *client.Subscription
	if o.SysFlag&pullSubscription != 0 {
		sub = p.consumers.Compensated(o.Group, o.Topic, o.Expression, o.Type, false)
		if sub == nil {
			data, err := filter.Build(o.Topic, o.Expression, o.Type)
			if err != nil {
				return err
			}
			sub = &client.Subscription{SubscriptionData: *data, Matcher: filter.Of(data, filter.SQL)}
			sub.SubVersion = p.now().UnixMilli()
			p.consumers.Compensate(o.Group, o.Topic, sub)
		}
	} else {
		if online == nil {
			return protocol.Errorf(protocol.RespSubscriptionNotExist, "the consumer's group info not exist%s", p.profile.FAQ)
		}
		if !o.group.ConsumeBroadcastEnable && online.Model() == protocol.Broadcasting {
			return p.forbid(forbiddenBroadcast, "the consumer group[%s] can not consume by broadcast way", o.Group)
		}
		if p.groups.IsForbidden(o.Group, o.Topic) {
			return p.forbid(forbiddenTable, "the consumer group[%s] is forbidden for topic[%s]", o.Group, o.Topic)
		}
		if sub = online.Subscription(o.Topic); sub == nil {
			return protocol.Errorf(protocol.RespSubscriptionNotExist, "the consumer's subscription not exist%s", p.profile.FAQ)
		}
		if sub.SubVersion < o.SubVersion {
			return protocol.Errorf(protocol.RespSubscriptionNotLatest, "the consumer's subscription not latest")
		}
	}
	o.Match = sub.Matcher
	if !filter.IsTag(sub.ExpressionType) {
		if err := p.expression(o, cfg, sub); err != nil {
			return err
		}
	}
	if cfg.FilterSupportRetry {
		o.Match = p.filters.Retry(o.Topic, o.Group, o.Match)
	}
	o.Expression, o.Type = sub.SubString, sub.ExpressionType
	return nil
}

// expression checks a subscription that is not about tags. The group's expression is the one that was registered with a
// heartbeat; one that the request brings and that cannot be compiled matches everything, as in Java.
func (p *puller) expression(o *pull, cfg *config.BrokerValues, sub *client.Subscription) error {
	if o.SysFlag&pullSubscription == 0 {
		data := p.filters.Get(o.Topic, o.Group)
		if data == nil {
			return protocol.Errorf(protocol.RespFilterDataNotExist,
				"The broker's consumer filter data is not exist!Your expression may be wrong!")
		}
		if data.Version < sub.SubVersion {
			return protocol.Errorf(protocol.RespFilterDataNotLatest, "the consumer's consumer filter data not latest")
		}
		o.Match = data.Matcher
	}
	if !cfg.EnablePropertyFilter {
		return errNoSQL
	}
	return nil
}

// errNoSQL is the answer to whoever wants to filter by properties while enablePropertyFilter is false.
var errNoSQL = protocol.Errorf(protocol.RespSystemError, "The broker does not support consumer to filter message by SQL92")

// get reads the store and makes the answer.
func (p *puller) get(o *pull) {
	cfg := p.config()
	t, g := o.topic, o.group
	member, broadcasting := p.broadcaster(o, cfg)
	var result store.GetResult
	if reset, ok := p.offsets.TakeReset(g.GroupName, t.TopicName, o.QueueID); ok && cfg.UseServerSideResetOffset {
		result = store.GetResult{
			Status: store.OffsetReset, NextBeginOffset: reset,
			MinOffset: p.store.MinOffset(t.TopicName, o.QueueID), MaxOffset: p.store.MaxOffset(t.TopicName, o.QueueID),
		}
	} else if begin, ok := p.begin(member, broadcasting); ok {
		result = store.GetResult{Status: store.OffsetReset, NextBeginOffset: begin} // without limits, as in Java
	} else {
		began := p.now()
		o.body, result = p.store.Get(o.body[:0], store.GetRequest{
			Topic: t.TopicName, QueueID: o.QueueID, Offset: o.Offset, MaxCount: int(o.MaxCount), Match: o.Match,
		})
		p.stats.Traffic.GetTook(p.now().Sub(began))
	}
	code, suggested := pullCode(result.Status, o.Offset), suggestion(cfg, g, &result)
	if code == protocol.RespPullOffsetMoved && result.Status != store.OffsetReset && isSlave(cfg) && !cfg.Store.OffsetCheckInSlave {
		// A slave may have less than its master. The consumer keeps its offset, and asks elsewhere if it can.
		code, suggested, result.NextBeginOffset = protocol.RespPullRetryImmediately, g.BrokerID, o.Offset
		if result.Status == store.OffsetTooSmall {
			p.stuck.note(g.GroupName, t.TopicName, o.QueueID, o.Offset, result.MinOffset)
		}
	}
	o.answer = protocol.PullMessageResponseHeader{
		NextBeginOffset:      protocol.Some(result.NextBeginOffset),
		MinOffset:            protocol.Some(result.MinOffset),
		MaxOffset:            protocol.Some(result.MaxOffset),
		SuggestWhichBrokerID: protocol.Some(suggested),
	}
	if p.profile.SysFlags {
		o.answer.TopicSysFlag = protocol.Some(t.TopicSysFlag)
		o.answer.GroupSysFlag = protocol.Some(g.GroupSysFlag)
	}
	o.response = protocol.Response{
		Code:   code,
		Remark: protocol.Some(getStatusNames[result.Status]),
		Header: &o.answer,
	}
	if result.Status == store.Found {
		o.response.Body = o.body
		p.stats.Get(g.GroupName, t.TopicName, result.Count, len(o.body))
		if cfg.DisableConsumeIfConsumerReadSlowly && cfg.Store.DiskFallRecorded {
			p.stats.Behind.Read(g.GroupName, t.TopicName, o.QueueID, result.Behind)
		}
	} else {
		p.stats.Traffic.Missed()
	}
	if broadcasting {
		at := o.Offset
		if o.response.Code == protocol.RespPullOffsetMoved {
			at = result.NextBeginOffset
		}
		p.broadcast.Pulled(&member, at)
	}
	p.offsets.CommitPull(g.GroupName, t.TopicName, o.QueueID, result.NextBeginOffset)
}

// broadcaster is the member of a broadcasting group that pulls, if the broker keeps such members' offsets.
func (p *puller) broadcaster(o *pull, cfg *config.BrokerValues) (member offset.BroadcastPull, ok bool) {
	if p.broadcast == nil || !cfg.EnableBroadcastOffsetStore {
		return member, false
	}
	id := o.ProxyClient
	if !o.ByProxy {
		if o.online == nil || o.online.Model() != protocol.Broadcasting || o.online.Type() != protocol.ConsumePassively {
			return member, false
		}
		c := o.online.ClientOf(o.Channel)
		if c == nil {
			return member, false
		}
		id = c.ClientID
	}
	return offset.BroadcastPull{
		Topic: o.topic.TopicName, Group: o.group.GroupName, Client: id, QueueID: o.QueueID, Offset: o.Offset, Proxy: o.ByProxy,
	}, true
}

// begin is where a broadcasting member has to go on instead.
func (p *puller) begin(member offset.BroadcastPull, broadcasting bool) (int64, bool) {
	if !broadcasting {
		return 0, false
	}
	return p.broadcast.Begin(&member)
}

// suggestion is the broker the consumer should ask next: a slave when what it reads is no longer in memory.
func suggestion(cfg *config.BrokerValues, g *protocol.SubscriptionGroupConfig, r *store.GetResult) int64 {
	switch {
	case !cfg.SlaveReadEnable:
		return 0
	case r.BehindMemory:
		return g.WhichBrokerWhenConsumeSlowly
	}
	return g.BrokerID
}

var getStatusNames = [...]string{
	store.Found:               "FOUND",
	store.NoMatchedMessage:    "NO_MATCHED_MESSAGE",
	store.MessageWasRemoving:  "MESSAGE_WAS_REMOVING",
	store.OffsetFoundNull:     "OFFSET_FOUND_NULL",
	store.OffsetOverflowBadly: "OFFSET_OVERFLOW_BADLY",
	store.OffsetOverflowOne:   "OFFSET_OVERFLOW_ONE",
	store.OffsetTooSmall:      "OFFSET_TOO_SMALL",
	store.NoMatchedLogicQueue: "NO_MATCHED_LOGIC_QUEUE",
	store.NoMessageInQueue:    "NO_MESSAGE_IN_QUEUE",
	store.OffsetReset:         "OFFSET_RESET",
}

// pullCode is the answer's code for what the store said.
func pullCode(s store.GetStatus, offset int64) int32 {
	switch s {
	case store.Found:
		return protocol.RespSuccess
	case store.MessageWasRemoving, store.NoMatchedMessage:
		return protocol.RespPullRetryImmediately
	case store.OffsetFoundNull, store.OffsetOverflowOne:
		return protocol.RespPullNotFound
	case store.NoMatchedLogicQueue, store.NoMessageInQueue:
		if offset == 0 {
			return protocol.RespPullNotFound
		}
	}
	return protocol.RespPullOffsetMoved
}

// hold keeps the pull until a message arrives; false when there is no room.
func (p *puller) hold(o *pull, r *remoting.Request) bool {
	cfg := p.config()
	suspend := o.header.SuspendTimeoutMillis.V
	if !cfg.LongPollingEnable {
		suspend = cfg.ShortPollingTimeMills
	}
	if p.holder.Full() {
		return false
	}
	held := o.Pull
	held.Group, held.Topic = o.group.GroupName, o.topic.TopicName
	held.ProxyClient = strings.Clone(held.ProxyClient)
	held.Deadline = p.now().UnixMilli() + suspend
	held.Responder = r.Hold()
	p.holder.Hold(&held)
	return true
}

// wake answers a held pull.
func (p *puller) wake(held *longpoll.Pull) {
	o := p.new()
	defer p.release(o)
	o.Pull = *held
	if err := p.find(o); err != nil {
		o.refuse(err)
	} else {
		p.get(o)
	}
	held.Responder.Respond(&o.response)
}
