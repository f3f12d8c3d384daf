// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/stats"
	"rocketmq-go/broker/topic"
	"rocketmq-go/compat"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// SEND_MESSAGE (10), SEND_MESSAGE_V2 (310, one-letter names) and SEND_BATCH_MESSAGE (320, like 310).
//
//   - All three do the same; the field batch (m) decides whether the body is one message or a client batch.
//   - Every answer that comes from a check says MSG_REGION and TRACE_ON.
//   - The permission of the topic is not checked, that of the broker only for ordered topics: producers follow routes.
//   - 4.9 answers code 1 where 5.x has 29.
type sender struct {
	config    func() *config.BrokerValues
	profile   *compat.Profile
	topics    *topic.Table
	put       *put.Pipeline
	stats     *stats.Table
	storeHost func(remoting.Channel) netip.AddrPort
	now       func() time.Time

	pool sync.Pool // of *send
}

const (
	permWrite = 2
	permRead  = 4

	sysFlagUnit    = 1 // of topics that clients in unit mode make
	sysFlagUnitSub = 2 // of their retry topics
)

// send is one send on its way. It is used again: the steady state allocates nothing.
type send struct {
	s        *sender
	header   protocol.SendMessageRequestHeader
	v2       protocol.SendMessageRequestHeaderV2
	entry    put.Entry
	batch    bool
	code     int32
	queueID  int32 // that the answer names
	kind     stats.Kind
	began    time.Time
	answer   protocol.SendMessageResponseHeader
	extra    [2]protocol.Field
	response protocol.Response
	msgID    []byte
	done     func(store.PutResult) // stored
	outcome
}

func (s *sender) new() *send {
	if o, ok := s.pool.Get().(*send); ok {
		return o
	}
	o := &send{s: s}
	o.done = o.stored
	return o
}

func (o *send) release() {
	o.entry.Reset()
	o.extra = [2]protocol.Field{}
	o.outcome.reset()
	o.s.pool.Put(o)
}

func (s *sender) handle(r *remoting.Request) {
	if s.profile.SlavesReject && isSlave(s.config()) && !standsIn(s.config()) {
		reject(r)
		return
	}
	o := s.new()
	if err := o.decode(r); err != nil {
		o.refuse(r, err)
		return
	}
	cfg := s.config()
	o.describe(cfg)
	var err error
	if standsIn(cfg) { // no topic is made for the message
		err = s.put.Answer(store.ServiceNotAvailable)
	} else {
		err = o.check(r, cfg)
	}
	if err == nil {
		err = o.store(r)
	}
	switch {
	case err != nil:
		o.refuse(r, err)
	case o.ready():
		r.Reply(o.reply())
		o.release()
	default:
		// The answer waits for the disk or a slave. What it needs of the request must be its own.
		o.entry.UniqKey = strings.Clone(o.entry.UniqKey)
		if o.detach(r) {
			o.finish()
		}
	}
}

// describe says what every answer from the checks on says.
func (o *send) describe(cfg *config.BrokerValues) {
	o.extra[0] = protocol.Field{Key: "MSG_REGION", Value: cfg.RegionID}
	o.extra[1] = protocol.Field{Key: "TRACE_ON", Value: strconv.FormatBool(cfg.TraceOn)}
}

// decode reads the header of either form and what no check can do without.
func (o *send) decode(r *remoting.Request) error {
	h := &o.header
	o.code = r.Code
	reply := isReply(r.Code)
	if r.Code == protocol.ReqSendMessage || r.Code == protocol.ReqSendReplyMessage {
		if err := h.ParseFields(&r.Fields); err != nil {
			return err
		}
	} else {
		v := &o.v2
		if err := v.ParseFields(&r.Fields); err != nil {
			return err
		}
		*h = protocol.SendMessageRequestHeader{
			ProducerGroup: v.A, Topic: v.B, DefaultTopic: v.C, DefaultTopicQueueNums: v.D, QueueID: v.E, SysFlag: v.F,
			BornTimestamp: v.G, Flag: v.H, Properties: v.I, ReconsumeTimes: v.J, UnitMode: v.K, MaxReconsumeTimes: v.L,
			Batch: v.M,
		}
	}
	o.batch = h.Batch.V
	switch {
	case !h.Topic.Set && o.s.profile.TopicAttributes:
		return missing("topic")
	case len(r.Body) == 0 && !reply && (o.batch || r.Code == protocol.ReqSendBatchMessage || !o.s.profile.EmptyBodies):
		return missing("body")
	case !h.BornTimestamp.Set:
		return missing("bornTimestamp")
	}
	return nil
}

// missing answers what Java answers with a NullPointerException's text.
func missing(field string) error {
	return protocol.Errorf(protocol.RespSystemError, "request has no %s", field)
}

// check runs Java's checks in Java's order. It leaves topic and queue in the entry.
func (o *send) check(r *remoting.Request, cfg *config.BrokerValues) error {
	s, h := o.s, &o.header
	o.began = s.now()
	if begin := cfg.StartAcceptSendRequestTimeStamp; o.began.UnixMilli() < begin {
		return protocol.Errorf(protocol.RespSystemError, "broker unable to service, until %s",
			time.UnixMilli(begin).Format("2006-01-02 15:04:05,000"))
	}
	name := h.Topic.V
	t := s.topics.Get(name)
	if cfg.BrokerPermission&permWrite == 0 && t != nil && t.Order {
		return protocol.Errorf(protocol.RespNoPermission, "the broker[%s] sending message is forbidden", cfg.BrokerIP1)
	}
	if err := s.topics.Validate(name); err != nil {
		return err
	}
	if !topic.Sendable(name) {
		return protocol.Errorf(protocol.RespNoPermission, "Sending message to topic[%s] is forbidden.", name)
	}
	if isSlave(cfg) && !isReply(r.Code) { // what the store says of each message; replies need not be stored
		return s.put.Answer(store.ServiceNotAvailable)
	}
	if t == nil {
		if t = o.create(name); t == nil {
			return protocol.Errorf(protocol.RespTopicNotExist, "topic[%s] not exist, apply first please!%s", name, s.profile.FAQ)
		}
	}
	return o.chooseQueue(r, t)
}

func isReply(code int32) bool {
	return code == protocol.ReqSendReplyMessage || code == protocol.ReqSendReplyMessageV2
}

// create makes an unknown topic by the rule of automatic topics; a retry topic is made even where that fails.
func (o *send) create(name string) *protocol.TopicConfig {
	if isSlave(o.s.config()) {
		return nil
	}
	h := &o.header
	var sysFlag int32
	retry := put.IsRetry(name)
	switch {
	case h.UnitMode.V && retry:
		sysFlag = sysFlagUnitSub
	case h.UnitMode.V:
		sysFlag = sysFlagUnit
	}
	t, err := o.s.topics.CreateOnSend(name, h.DefaultTopic.V, h.DefaultTopicQueueNums.V, sysFlag)
	if (err != nil || t == nil) && retry {
		t = o.s.topics.CreateRetry(name, 1, permRead|permWrite, sysFlag)
	}
	return t
}

func (o *send) chooseQueue(r *remoting.Request, t *protocol.TopicConfig) error {
	h := &o.header
	if !h.QueueID.Set {
		return missing("queueId")
	}
	queue := h.QueueID.V
	if queue >= max(t.WriteQueueNums, t.ReadQueueNums) {
		return protocol.Errorf(o.s.profile.InvalidParameter, "request queueId[%d] is illegal, %s Producer: %s",
			queue, describeTopic(t, o.s.profile), r.Channel.RemoteAddr())
	}
	if queue < 0 {
		if t.WriteQueueNums <= 0 {
			return protocol.Errorf(protocol.RespSystemError, "topic[%s] has no queue to write to", t.TopicName)
		}
		queue = rand.Int32N(t.WriteQueueNums)
	}
	o.queueID = queue
	e := &o.entry
	e.Topic, e.QueueID = t.TopicName, queue
	if t.TopicFilterType == protocol.MultiTag {
		e.SysFlag |= message.SysMultiTags
	}
	o.batch = h.Batch.V
	return byAttributes(t, o)
}

// byAttributes does what the topic's attributes ask of its messages.
func byAttributes(t *protocol.TopicConfig, o *send) error {
	if t.Attributes.Len() == 0 {
		return nil
	}
	if policy, _ := t.Attributes.Get("cleanup.policy"); policy == "COMPACTION" && o.s.profile.TopicAttributes {
		keys, _ := message.Property([]byte(o.header.Properties.V), message.PropKeys)
		if strings.TrimSpace(string(keys)) == "" {
			return protocol.Errorf(protocol.RespMessageIllegal, "Required message key is missing")
		}
	}
	if o.entry.BatchTopic = topic.IsBatch(t); o.entry.BatchTopic && !o.s.profile.TopicAttributes {
		return protocol.Errorf(protocol.RespSystemError,
			"topic[%s] has queue.type=BatchCQ, which brokers of 4.9 do not know", t.TopicName)
	}
	return nil
}

func (o *send) store(r *remoting.Request) error {
	if err := o.fill(r); err != nil {
		return err
	}
	if o.batch {
		return o.s.put.Batch(&o.entry, o.done)
	}
	return o.s.put.Send(&o.entry, put.Retry{Max: o.header.MaxReconsumeTimes, Version: r.Version}, o.done)
}

// fill makes the message of a request that passed the checks.
func (o *send) fill(r *remoting.Request) error {
	h, e := &o.header, &o.entry
	if !h.SysFlag.Set || !h.Flag.Set {
		return missing("sysFlag or flag")
	}
	e.SysFlag |= h.SysFlag.V
	e.Flag = h.Flag.V
	e.BornTimestamp = h.BornTimestamp.V
	e.BornHost = r.Channel.RemoteAddr()
	e.StoreHost = o.s.storeHost(r.Channel)
	e.ReconsumeTimes = h.ReconsumeTimes.V
	if e.Body = r.Body; e.Body == nil {
		e.Body = []byte{}
	}
	e.Gathered = true
	o.s.put.Open(e, h.Properties.V)
	o.kind = e.Props.Kind()
	return nil
}

// stored is called by the store, on this goroutine or a later one.
func (o *send) stored(r store.PutResult) {
	if o.put(r) {
		o.finish()
	}
}

func (o *send) finish() {
	o.responder.Respond(o.reply())
	o.release()
}

// waitedTooLong tells whether it is the time a message waited that made the store refuse it.
func (s *sender) waitedTooLong(waited time.Duration) bool {
	cfg := s.config()
	return cfg.BrokerFastFailureEnable && cfg.WaitTimeMillsInSendQueue > 0 && waited >= config.Millis(cfg.WaitTimeMillsInSendQueue)
}

// reply makes the answer to a message that reached the store.
func (o *send) reply() *protocol.Response {
	o.response = protocol.Response{Extra: o.extra[:]}
	if err := o.s.put.Answer(o.result.Status); err != nil {
		if waited := o.s.now().Sub(o.began); o.result.Status == store.OSPageCacheBusy && o.s.waitedTooLong(waited) {
			err = protocol.Errorf(protocol.RespSystemBusy,
				"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: %dms, size of queue: 0", waited.Milliseconds())
		}
		o.s.stats.Traffic.PutFailed()
		o.failed(err)
		return &o.response
	}
	o.s.stats.Traffic.PutTook(o.s.now().Sub(o.began))
	o.response.Code = put.Code(o.result.Status)
	e := &o.entry
	o.msgID = o.msgID[:0]
	if len(o.result.Offsets) > 0 {
		for i, offset := range o.result.Offsets {
			if i > 0 {
				o.msgID = append(o.msgID, ',')
			}
			o.msgID = message.AppendOffsetID(o.msgID, e.StoreHost, offset)
		}
	} else {
		o.msgID = message.AppendOffsetID(o.msgID, e.StoreHost, o.result.PhyOffset)
	}
	o.answer = protocol.SendMessageResponseHeader{
		MsgID:       protocol.Some(view(o.msgID)),
		QueueID:     protocol.Some(o.queueID),
		QueueOffset: protocol.Some(o.result.QueueOffset),
	}
	if e.UniqKey != "" && o.s.profile.TransactionIDs {
		o.answer.TransactionID = protocol.Some(e.UniqKey)
	}
	if e.InnerBatch {
		o.answer.BatchUniqID = protocol.Some(e.UniqKey)
	}
	if o.recallable() {
		broker := o.s.config().BrokerName
		o.answer.RecallHandle = protocol.Some(recallHandle(e.RealTopic, broker, e.TimerOut, e.UniqKey))
	}
	o.response.Header = &o.answer
	o.s.stats.Put(e.Topic, o.kind, max(1, o.result.Messages), int(o.result.Size))
	return &o.response
}

// recallable tells whether the answer has a handle for taking the message back.
func (o *send) recallable() bool {
	single := o.code == protocol.ReqSendMessage || o.code == protocol.ReqSendMessageV2
	return o.entry.TimerOut != 0 && single && !o.batch && !put.IsRetry(o.entry.RealTopic)
}

// refuse answers a send that did not reach the store.
func (o *send) refuse(r *remoting.Request, err error) {
	o.response = protocol.Response{}
	if o.extra[0].Key != "" { // it was not refused before the checks
		o.response.Extra = o.extra[:]
	}
	o.failed(err)
	r.Reply(&o.response)
	o.release()
}

// failed makes the answer a refusal; that of an inner batch names it.
func (o *send) failed(err error) {
	fail(&o.response, err)
	if o.entry.InnerBatch {
		o.answer = protocol.SendMessageResponseHeader{BatchUniqID: protocol.Some(o.entry.UniqKey)}
		o.response.Header = &o.answer
	}
}
