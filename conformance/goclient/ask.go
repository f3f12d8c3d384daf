// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// The client has no calls for what operators do, so these requests are written here.
const (
	codeUpdateOffset    = 15
	codeOffsetAt        = 29
	codeMaxOffset       = 30
	codeMembers         = 38
	codeResetOffsets    = 222
	codeConsumeDirectly = 309
	codeCloneOffsets    = 314

	notOnline = 206 // the answer to a reset when nobody of the group is online
)

// answer is what a server says.
type answer struct {
	Code   int               `json:"code"`
	Remark string            `json:"remark"`
	Ext    map[string]string `json:"extFields"`
	body   []byte
}

// failed is the answer as an error, nil for a success.
func (a *answer) failed() error {
	if a.Code == 0 {
		return nil
	}
	return fmt.Errorf("code %d: %s", a.Code, a.Remark)
}

// ask sends one request over a connection of its own.
func ask(ctx context.Context, addr string, code int, ext map[string]string) (*answer, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	header, err := json.Marshal(map[string]any{
		"code": code, "language": "JAVA", "version": 317, "opaque": 1, "flag": 0, "serializeTypeCurrentRPC": "JSON", "extFields": ext,
	})
	if err != nil {
		return nil, err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(header)))
	if _, err := conn.Write(append(frame, header...)); err != nil {
		return nil, err
	}
	var size [8]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[4:]) & 0xffffff
	a := &answer{body: rest[n:]}
	return a, json.Unmarshal(rest[:n], a)
}

// brokerOf is the address of the broker that stored a message.
func brokerOf(res *primitive.SendResult) (string, error) {
	id, err := primitive.UnmarshalMsgID([]byte(res.OffsetMsgID))
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(id.Addr, strconv.Itoa(int(id.Port))), nil
}

// setOffset sets a group's offset of one queue.
func setOffset(ctx context.Context, broker, group, topic string, queue int, offset int64) error {
	a, err := ask(ctx, broker, codeUpdateOffset, map[string]string{
		"consumerGroup": group, "topic": topic, "queueId": strconv.Itoa(queue), "commitOffset": strconv.FormatInt(offset, 10),
	})
	if err != nil {
		return err
	}
	return a.failed()
}

// maxOffset is the next offset of a queue.
func maxOffset(ctx context.Context, broker, topic string, queue int) (int64, error) {
	return askOffset(ctx, broker, codeMaxOffset, map[string]string{"topic": topic, "queueId": strconv.Itoa(queue)})
}

// offsetAt is the offset of the first message of a queue at a time in ms.
func offsetAt(ctx context.Context, broker, topic string, queue int, ms int64) (int64, error) {
	return askOffset(ctx, broker, codeOffsetAt, map[string]string{
		"topic": topic, "queueId": strconv.Itoa(queue), "timestamp": strconv.FormatInt(ms, 10),
	})
}

func askOffset(ctx context.Context, broker string, code int, ext map[string]string) (int64, error) {
	a, err := ask(ctx, broker, code, ext)
	if err == nil {
		err = a.failed()
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(a.Ext["offset"], 10, 64)
}

// resetOffsets sends a group to a time in ms, −1 for the end.
func resetOffsets(ctx context.Context, broker, group, topic string, ms int64) (*answer, error) {
	return ask(ctx, broker, codeResetOffsets, map[string]string{
		"topic": topic, "group": group, "timestamp": strconv.FormatInt(ms, 10), "isForce": "true",
	})
}
