// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// handler answers a request that waits for nothing but its own work.
type handler func(r *remoting.Request) (*protocol.Response, error)

func (h handler) handle(_ context.Context, r *remoting.Request) (*protocol.Response, error) {
	return h(r)
}

// fail makes a refusal of resp. An error that is none of the protocol's is the broker's own fault.
func fail(resp *protocol.Response, err error) {
	var e *protocol.Error
	if !errors.As(err, &e) {
		e = &protocol.Error{Code: protocol.RespSystemError, Remark: err.Error()}
	}
	resp.Code = e.Code
	resp.Remark = protocol.Some(e.Remark)
}

// notSet is the remark of answers whose handler in Java sets only the code: its default, for a handler that set none.
const notSet = "not set any response code"

func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// describeTopic prints a topic as Java's TopicConfig.toString does.
func describeTopic(t *protocol.TopicConfig, p *compat.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=%s, "+
		"topicSysFlag=%d, order=%t", t.TopicName, t.ReadQueueNums, t.WriteQueueNums, permText(t.Perm), t.TopicFilterType,
		t.TopicSysFlag, t.Order)
	if p.TopicAttributes {
		b.WriteString(", attributes={")
		sep := ""
		for name, value := range t.Attributes.All() {
			b.WriteString(sep + name + "=" + value)
			sep = ", "
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return b.String()
}

func permText(perm int32) string {
	text := []byte("---")
	for i, bit := range []int32{permRead, permWrite, 1} {
		if perm&bit != 0 {
			text[i] = "RWX"[i]
		}
	}
	return string(text)
}

// body decodes a JSON body, which must be there.
func body(r *remoting.Request, v any) error {
	if len(r.Body) == 0 {
		return missing("body")
	}
	return fastjson.Unmarshal(r.Body, v)
}

// answerJSON is a successful answer with a JSON body.
func answerJSON(v any) *protocol.Response { return &protocol.Response{Body: fastjson.Marshal(v)} }
