// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"encoding/base64"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/broker/timer"
	"rocketmq-go/broker/topic"
	"rocketmq-go/config"
	"rocketmq-go/message"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// RECALL_MESSAGE (370): a producer takes back a timer message, by the handle that the answer to its send had.
// GET_TIMER_CHECK_POINT (60), GET_TIMER_METRICS (61): what slaves ask of the timers.
//
//   - A recall is itself a timer message, for the slot of the one that it takes back. Whether that is still there is not
//     looked at: a second recall is answered like the first.
//   - 4.9 has none of these codes.
type timers struct {
	config    func() *config.BrokerValues
	topics    *topic.Table
	put       *put.Pipeline
	service   *timer.Service
	storeHost func(remoting.Channel) netip.AddrPort
	now       func() time.Time
}

const (
	handleVersion = "v1"
	recallTag     = "_RECALL_TAG_"
	recallBody    = "0"
)

// recallHandle names a timer message: base64url of "v1 topic broker time id". The time lies in the message's own slot.
func recallHandle(realTopic, broker string, out int64, uniqKey string) string {
	text := make([]byte, 0, 128)
	text = append(text, handleVersion+" "...)
	text = append(text, realTopic...)
	text = append(text, ' ')
	text = append(text, broker...)
	text = append(text, ' ')
	text = strconv.AppendInt(text, out+1, 10)
	text = append(text, ' ')
	text = append(text, uniqKey...)
	return base64.URLEncoding.EncodeToString(text)
}

// handle is a recall handle.
type handle struct {
	topic, broker string
	text          string // of the time
	ms            int64  // 0 if it is no number
	uniqKey       string
}

func parseHandle(text string) (h handle, err error) {
	invalid := protocol.Errorf(protocol.RespIllegalOperation, "recall handle is invalid")
	encoding := base64.RawURLEncoding // Java accepts both
	if strings.HasSuffix(text, "=") {
		encoding = base64.URLEncoding
	}
	decoded, decodeErr := encoding.DecodeString(text)
	if text == "" || decodeErr != nil {
		return h, invalid
	}
	parts := strings.Split(strings.TrimRight(string(decoded), " "), " ") // Java drops empty parts at the end
	if len(parts) < 5 || parts[0] != handleVersion {
		return h, invalid
	}
	h = handle{topic: parts[1], broker: parts[2], text: parts[3], uniqKey: parts[4]}
	h.ms, _ = strconv.ParseInt(h.text, 10, 64)
	return h, nil
}

func (t *timers) recall(r *remoting.Request) {
	call := &recall{region: t.config().RegionID}
	err := t.startRecall(r, call)
	switch {
	case err != nil:
		r.Reply(call.refusal(err))
	case call.ready():
		r.Reply(call.reply())
	case call.detach(r):
		call.responder.Respond(call.reply())
	}
}

// recall is one recall on its way.
type recall struct {
	region  string
	uniqKey string
	entry   put.Entry
	outcome
}

func (c *recall) answer() *protocol.Response {
	return &protocol.Response{
		Header: &protocol.RecallMessageResponseHeader{},
		Extra:  []protocol.Field{{Key: "MSG_REGION", Value: c.region}},
	}
}

func (c *recall) refusal(err error) *protocol.Response {
	resp := c.answer()
	fail(resp, err)
	return resp
}

func (c *recall) reply() *protocol.Response {
	switch c.result.Status {
	case store.PutOK, store.FlushDiskTimeout, store.FlushSlaveTimeout, store.SlaveNotAvailable:
		resp := c.answer()
		resp.Remark = protocol.Some(notSet)
		resp.Header = &protocol.RecallMessageResponseHeader{MsgID: protocol.Some(c.uniqKey)}
		return resp
	}
	return c.refusal(protocol.Errorf(protocol.RespSystemError, "recall failed, execute error"))
}

// startRecall checks a recall and gives it to the store.
func (t *timers) startRecall(r *remoting.Request, call *recall) error {
	h, err := remoting.ParseHeader[protocol.RecallMessageRequestHeader](r)
	if err != nil {
		return err
	}
	handle, err := t.check(h)
	if err != nil {
		return err
	}
	now := t.now().UnixMilli()
	call.uniqKey = handle.uniqKey
	e := &call.entry
	e.Message = message.Message{
		Topic: handle.topic, Body: []byte(recallBody), BornTimestamp: now,
		BornHost: r.Channel.RemoteAddr(), StoreHost: t.storeHost(r.Channel),
	}
	e.Props.Built = true
	for _, p := range [...][2]string{
		{message.PropTags, recallTag},
		{put.PropTimerDelete, handle.topic + "+" + handle.uniqKey},
		{message.PropUniqKey, handle.uniqKey},
		{put.PropTimerAt, handle.text},
		{"BORN_TIMESTAMP", strconv.FormatInt(now, 10)},
		{"TRACE_CONTEXT", ""},
	} {
		e.Props.Set(p[0], p[1])
	}
	if h.ProducerGroup.Set {
		e.Props.Set("PGROUP", h.ProducerGroup.V)
	}
	if err := t.put.Put(e, func(result store.PutResult) {
		if call.put(result) {
			call.responder.Respond(call.reply())
		}
	}); err != nil {
		return protocol.Errorf(protocol.RespSystemError, "recall failed, execute error")
	}
	return nil
}

// check makes Java's checks in Java's order.
func (t *timers) check(h *protocol.RecallMessageRequestHeader) (handle, error) {
	cfg := t.config()
	unavailable := func(code int32) error {
		return protocol.Errorf(code, "recall failed, broker service not available")
	}
	switch {
	case !cfg.RecallMessageEnable:
		return handle{}, protocol.Errorf(protocol.RespNoPermission, "recall failed, operation is forbidden")
	case isSlave(cfg):
		return handle{}, unavailable(protocol.RespSlaveNotAvailable)
	case t.now().UnixMilli() < cfg.StartAcceptSendRequestTimeStamp,
		cfg.BrokerPermission&permWrite == 0 && !cfg.AllowRecallWhenBrokerNotWriteable:
		return handle{}, unavailable(protocol.RespServiceNotAvailable)
	case t.topics.Get(h.Topic.V) == nil:
		return handle{}, protocol.Errorf(protocol.RespTopicNotExist, "recall failed, the topic[%s] not exist", h.Topic.V)
	}
	parsed, err := parseHandle(h.RecallHandle.V)
	if err != nil {
		return handle{}, err
	}
	left := parsed.ms - t.now().UnixMilli()
	switch {
	case parsed.topic != h.Topic.V:
		return handle{}, protocol.Errorf(protocol.RespIllegalOperation, "recall failed, topic not match")
	case parsed.broker != cfg.BrokerName:
		return handle{}, unavailable(protocol.RespIllegalOperation)
	case left <= 0 || left >= int64(cfg.Store.TimerMaxDelaySec)*1000:
		return handle{}, protocol.Errorf(protocol.RespIllegalOperation, "recall failed, timestamp invalid")
	}
	return parsed, nil
}

func (t *timers) checkpoint(*remoting.Request) (*protocol.Response, error) {
	cp := t.service.Checkpoint()
	return &protocol.Response{Body: cp.Append(nil)}, nil
}

func (t *timers) metrics(*remoting.Request) (*protocol.Response, error) {
	return answerJSON(t.service.Counts()), nil
}
