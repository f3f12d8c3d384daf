// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/filter"
	"rocketmq-go/broker/group"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// POP_MESSAGE (200050), PEEK_MESSAGE (200052), NOTIFICATION (200054) and POLLING_INFO (200055) of 5.x; see package pop.
//
//   - The broker chooses the queue, unless the request names one.
//   - Nothing there and a pollTime: the request is held (pop.Holder) and tried again when a message arrives; 210 in the end,
//     209 when there is no room.
//   - The subscription is the request's own; no heartbeat is needed.
//   - All answers have the numbers of the header, those of refusals zeros.
type popper struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	service   *pop.Service
	store     Store
	topics    *topic.Table
	groups    *group.Table
	consumers *client.Consumers
	stats     *stats.Table
	now       func() time.Time
}

const (
	// maxPop is how many messages one pop may ask for.
	maxPop = 32
	// popLate is by how much a pop may come after its time, ms.
	popLate = 500
	// pollEarly is how long before its time a held request is answered, ms, so that the answer comes in time.
	pollEarly = 50
	// maxAgain is how often a request that is held is looked after, lest one that finds nothing where something is goes round.
	maxAgain = 16
	// initMax is the initMode of a group that begins with new messages.
	initMax = 1
)

// popped is a pop that is being answered. Its strings are owned.
type popped struct {
	p         *popper
	header    *protocol.PopMessageRequestHeader
	channel   remoting.Channel
	deadline  int64 // ms, 0: it is not held
	responder remoting.Responder
	request   pop.Request
	waiter    *pop.Waiter
	again     int // how often it was held
}

func (p *popper) handle(r *remoting.Request) {
	o, err := p.decode(r)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		r.Reply(refusedPop(err))
		return
	}
	var j join
	var result *pop.Result
	p.service.Pop(&o.request, func(res *pop.Result) {
		if result = res; j.came() {
			j.responder.Respond(o.answer(res)) // it has found something, or failed: what is held is so at once
		}
	})
	switch {
	case !j.ready():
		if j.detach(r) {
			j.responder.Respond(o.answer(result))
		}
	case o.empty(result) && o.deadline > 0:
		o.responder = r.Hold()
		o.hold(result)
	default:
		r.Reply(o.answer(result))
	}
}

func refusedPop(err error) *protocol.Response {
	resp := &protocol.Response{Header: &protocol.PopMessageResponseHeader{}}
	fail(resp, err)
	return resp
}

func (p *popper) decode(r *remoting.Request) (*popped, error) {
	h := protocol.NewPopMessageRequestHeader()
	if err := h.ParseFields(&r.Fields); err != nil {
		return nil, err
	}
	if !h.ConsumerGroup.Set || !h.Topic.Set {
		return nil, missing("consumerGroup or topic")
	}
	h = h.Clone()
	if h.BornTime == 0 {
		h.BornTime = p.now().UnixMilli()
	}
	o := &popped{p: p, header: h, channel: r.Channel}
	if h.PollTime > 0 && h.MaxMsgNums > 0 {
		o.deadline = h.BornTime + h.PollTime - pollEarly
	}
	if p.now().UnixMilli()-h.BornTime-h.PollTime > popLate {
		return nil, protocol.Errorf(protocol.RespPollingTimeout, "the broker[%s] pop message is timeout too much", p.config().BrokerIP1)
	}
	return o, nil
}

// check runs Java's checks in Java's order. It makes the request.
func (o *popped) check() error {
	p, h, cfg := o.p, o.header, o.p.config()
	switch {
	case cfg.BrokerPermission&permRead == 0 || isSlave(cfg) && !p.service.Serves():
		return protocol.Errorf(protocol.RespNoPermission, "the broker[%s] pop message is forbidden", cfg.BrokerIP1)
	case h.MaxMsgNums > maxPop:
		return protocol.Errorf(p.profile.InvalidParameter, "the broker[%s] pop message's num is greater than %d", cfg.BrokerIP1, maxPop)
	case !cfg.Store.TimerWheelEnable:
		return protocol.Errorf(protocol.RespSystemError,
			"the broker[%s] pop message is forbidden because timerWheelEnable is false", cfg.BrokerIP1)
	}
	t, g, err := p.find(h.Topic.V, h.ConsumerGroup.V, h.QueueID, o.channel)
	if err != nil {
		return err
	}
	sub, err := p.subscription(t.TopicName, g, h, cfg)
	if err != nil {
		return err
	}
	o.request = pop.Request{
		Topic: t, Group: g, Queue: h.QueueID, Max: int(h.MaxMsgNums), InvisibleTime: h.InvisibleTime, FromMax: h.InitMode == initMax,
		Match: sub.Matcher, Order: h.Order.V, Attempt: h.AttemptID.V,
	}
	if h.QueueID < 0 {
		o.request.Queue = pop.AnyQueue
	}
	return nil
}

// find checks topic, queue and group of a request that reads.
func (p *popper) find(topic, group string, queue int32, from remoting.Channel) (*protocol.TopicConfig, string, error) {
	t := p.topics.Get(topic)
	switch {
	case t == nil:
		return nil, "", protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please! %s", topic, p.profile.FAQ)
	case t.Perm&permRead == 0:
		return nil, "", protocol.Errorf(protocol.RespNoPermission, "the topic[%s] peeking message is forbidden", topic)
	case queue >= t.ReadQueueNums:
		return nil, "", illegalQueue(p.profile.InvalidParameter, t, queue, from)
	}
	g := p.groups.Find(group)
	if g == nil {
		return nil, "", protocol.Errorf(protocol.RespSubscriptionGroupNotExist,
			"subscription group [%s] does not exist, %s", group, p.profile.FAQ)
	}
	if !g.ConsumeEnable {
		return nil, "", protocol.Errorf(protocol.RespNoPermission, "subscription group no permission, %s", group)
	}
	return t, g.GroupName, nil
}

func illegalQueue(code int32, t *protocol.TopicConfig, queue int32, from remoting.Channel) error {
	return protocol.Errorf(code, "queueId[%d] is illegal, topic:[%s] topicConfig.readQueueNums:[%d] consumer:[/%s]",
		queue, t.TopicName, t.ReadQueueNums, from.RemoteAddr())
}

// subscription makes the request's own subscription, and has it remembered for the topic and for what is retried.
func (p *popper) subscription(topic, group string, h *protocol.PopMessageRequestHeader, cfg *config.BrokerValues) (*client.Subscription, error) {
	expression, kind := h.Exp.V, h.ExpType.V
	if expression == "" {
		expression, kind = filter.All, filter.TypeTag
	}
	if sub := p.consumers.Compensated(group, topic, expression, kind, true); sub != nil {
		return sub, nil
	}
	data, err := filter.Build(topic, expression, kind)
	if err != nil {
		return nil, err
	}
	sub := &client.Subscription{SubscriptionData: *data, Popped: true}
	if filter.IsTag(data.ExpressionType) {
		sub.Matcher = filter.Of(data, nil)
	} else if sub.Matcher, err = filter.SQL(data); err != nil {
		return nil, protocol.Errorf(protocol.RespSubscriptionParseFailed, "parse the consumer's subscription failed")
	}
	sub.SubVersion = p.now().UnixMilli()
	p.consumers.Compensate(group, topic, sub)
	retry := pop.RetryTopic(topic, group, cfg.EnableRetryTopicV2)
	if all, err := filter.Build(retry, filter.All, filter.TypeTag); err == nil {
		all.SubVersion = sub.SubVersion
		p.consumers.Compensate(group, retry, &client.Subscription{SubscriptionData: *all, Popped: true})
	}
	return sub, nil
}

func (*popped) empty(res *pop.Result) bool { return res.Count == 0 && res.Err == nil }

// answer makes the answer of a pop that ends.
func (o *popped) answer(res *pop.Result) *protocol.Response {
	if res.Err != nil {
		return refusedPop(res.Err)
	}
	header := &protocol.PopMessageResponseHeader{
		PopTime: res.PopTime, InvisibleTime: o.header.InvisibleTime, ReviveQid: res.ReviveQueue, RestNum: res.Rest,
		StartOffsetInfo: protocol.Some(res.Start), MsgOffsetInfo: protocol.Some(res.Messages),
	}
	if o.request.Order {
		header.OrderCountInfo = protocol.Some(res.Counts)
	}
	resp := &protocol.Response{Header: header, Code: protocol.RespPollingTimeout, Remark: protocol.Some(getStatusNames[store.NoMessageInQueue])}
	if res.Count > 0 {
		resp.Code, resp.Remark, resp.Body = protocol.RespSuccess, protocol.Some(getStatusNames[store.Found]), res.Body
		for _, got := range res.Got {
			o.p.stats.Popped(o.request.Group, o.request.Topic.TopicName, got.Topic, got.Count, got.Bytes)
		}
	}
	return resp
}

// hold keeps a pop that found nothing, or answers it if there is no room.
func (o *popped) hold(res *pop.Result) {
	h := o.p.service.Pops
	if o.waiter == nil {
		o.waiter = &pop.Waiter{
			Topic: o.request.Topic.TopicName, Group: o.request.Group, Queue: o.request.Queue, Deadline: o.deadline,
			Match: o.request.Match, Size: len(o.header.Exp.V), Channel: o.channel, Wake: o.wake,
		}
	}
	request, look := o.request, o.again < maxAgain
	o.again++
	if !h.Hold(o.waiter) {
		resp := o.answer(res)
		resp.Code = protocol.RespPollingFull
		o.responder.Respond(resp)
		return
	}
	// From here on o belongs to whoever is woken. What came while nobody waited woke nobody.
	if look && o.p.service.Ready(&request) {
		h.Wake(request.Topic.TopicName, request.Group, request.Queue)
	}
}

// wake tries a held pop again.
func (o *popped) wake(expired bool) {
	if err := o.check(); err != nil { // everything may have changed
		o.responder.Respond(refusedPop(err))
		return
	}
	o.p.service.Pop(&o.request, func(res *pop.Result) {
		if o.empty(res) && !expired && o.p.now().UnixMilli() < o.deadline {
			o.hold(res)
			return
		}
		o.responder.Respond(o.answer(res))
	})
}

func (p *popper) peek(r *remoting.Request) (*protocol.Response, error) {
	resp := &protocol.Response{Header: &protocol.PopMessageResponseHeader{}}
	h, err := remoting.ParseHeader[protocol.PeekMessageRequestHeader](r)
	if err == nil {
		err = p.peekInto(resp, h, r.Channel)
	}
	if err != nil {
		fail(resp, err)
	}
	return resp, nil
}

func (p *popper) peekInto(resp *protocol.Response, h *protocol.PeekMessageRequestHeader, from remoting.Channel) error {
	if cfg := p.config(); cfg.BrokerPermission&permRead == 0 {
		return protocol.Errorf(protocol.RespNoPermission, "the broker[%s] peeking message is forbidden", cfg.BrokerIP1)
	}
	t, g, err := p.find(h.Topic.V, h.ConsumerGroup.V, h.QueueID, from)
	if err != nil {
		return err
	}
	body, count, rest := p.service.Peek(nil, t, g, max(h.QueueID, pop.AnyQueue), int(min(h.MaxMsgNums, maxPop)))
	resp.Header.(*protocol.PopMessageResponseHeader).RestNum = rest
	resp.Code, resp.Remark = protocol.RespPullNotFound, protocol.Some(getStatusNames[store.NoMessageInQueue])
	if count > 0 {
		resp.Code, resp.Remark, resp.Body = protocol.RespSuccess, protocol.Some(getStatusNames[store.Found]), body
		p.stats.Get(g, t.TopicName, count, len(body))
	}
	return nil
}

// notice is a held NOTIFICATION.
type notice struct {
	p         *popper
	topic     string
	group     string
	queue     int32
	order     bool
	attempt   string
	channel   remoting.Channel
	responder remoting.Responder
	deadline  int64
	waiter    *pop.Waiter
}

func (p *popper) notification(r *remoting.Request) {
	h := protocol.NewNotificationRequestHeader()
	err := h.ParseFields(&r.Fields)
	if err == nil && (!h.ConsumerGroup.Set || !h.Topic.Set) {
		err = missing("consumerGroup or topic")
	}
	if err == nil {
		if cfg := p.config(); cfg.BrokerPermission&permRead == 0 {
			err = protocol.Errorf(protocol.RespNoPermission, "the broker[%s] peeking message is forbidden", cfg.BrokerIP1)
		}
	}
	var t *protocol.TopicConfig
	var g string
	if err == nil {
		t, g, err = p.find(h.Topic.V, h.ConsumerGroup.V, h.QueueID, r.Channel)
	}
	if err != nil {
		resp := noticed(false, false)
		fail(resp, err)
		r.Reply(resp)
		return
	}
	h = h.Clone()
	n := &notice{
		p: p, topic: t.TopicName, group: g, queue: max(h.QueueID, pop.AnyQueue), order: h.Order.V, attempt: h.AttemptID.V, channel: r.Channel,
	}
	born := h.BornTime
	if born == 0 {
		born = p.now().UnixMilli()
	}
	n.deadline = born + h.PollTime - pollEarly
	if has := n.news(); has || h.PollTime <= 0 {
		r.Reply(noticed(has, false))
		return
	}
	n.responder = r.Hold()
	n.hold()
}

func noticed(has, full bool) *protocol.Response {
	return &protocol.Response{
		Remark: protocol.Some(notSet), Header: &protocol.NotificationResponseHeader{HasMsg: has, PollingFull: full},
	}
}

func (n *notice) news() bool {
	t := n.p.topics.Get(n.topic)
	return t != nil && n.p.service.Waiting(t, n.group, n.queue, n.order, n.attempt)
}

func (n *notice) hold() {
	h := n.p.service.Notices
	if n.waiter == nil {
		n.waiter = &pop.Waiter{
			Topic: n.topic, Group: n.group, Queue: n.queue, Deadline: n.deadline, Channel: n.channel, Wake: n.wake,
		}
	}
	switch {
	case !h.Hold(n.waiter):
		n.responder.Respond(noticed(false, true))
	case n.news():
		h.Wake(n.topic, n.group, n.queue)
	}
}

func (n *notice) wake(expired bool) {
	has := n.news()
	if !has && !expired && n.p.now().UnixMilli() < n.deadline {
		n.hold()
		return
	}
	n.responder.Respond(noticed(has, false))
}

func (p *popper) polling(r *remoting.Request) (*protocol.Response, error) {
	header := &protocol.PollingInfoResponseHeader{}
	resp := &protocol.Response{Header: header, Remark: protocol.Some(notSet)}
	h, err := remoting.ParseHeader[protocol.PollingInfoRequestHeader](r)
	if err == nil {
		_, _, err = p.find(h.Topic.V, h.ConsumerGroup.V, h.QueueID, r.Channel)
	}
	if err != nil {
		fail(resp, err)
		return resp, nil
	}
	header.PollingNum = int32(p.service.Pops.HeldAt(h.Topic.V, h.ConsumerGroup.V, max(h.QueueID, pop.AnyQueue)))
	return resp, nil
}
