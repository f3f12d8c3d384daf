// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting/protocol"
)

// maxInflated bounds the memory that a small body can claim: room for a million topics.
const maxInflated = 64 << 20

var errTooLarge = fmt.Errorf("more than %d bytes when inflated", maxInflated)

func decodeCompressed(body []byte, version int32) (route.Body, error) {
	plain, err := inflate(body)
	if err != nil {
		return route.Body{}, malformed(err)
	}
	r := reader{rest: plain}
	b := r.body(version >= versionWithMappings)
	if r.err != nil {
		return route.Body{}, malformed(r.err)
	}
	return b, nil
}

func inflate(body []byte) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	if err == nil && len(plain) > maxInflated {
		err = errTooLarge
	}
	return plain, err
}

// reader takes parts off the front; after the first error it yields nothing more.
type reader struct {
	rest []byte
	err  error
}

var errShort = errors.New("it ends too early")

func (r *reader) body(mappings bool) route.Body {
	var v protocol.DataVersion
	r.json(&v)
	b := route.Body{Version: DataVersion(v)}
	for range r.int() {
		t := r.topic()
		if r.err != nil {
			return b
		}
		b.Topics = append(b.Topics, t)
	}
	r.json(&b.Filters)
	b.Filters = orEmpty(b.Filters)
	if !mappings || len(r.rest) == 0 { // a broker may announce 5.x and send what 4.9 sent
		return b
	}
	for range r.int() {
		m := new(protocol.TopicQueueMappingInfo)
		r.json(m)
		if r.err != nil {
			return b
		}
		b.Mappings = append(b.Mappings, m)
	}
	return b
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// int reads a length or a number of elements, which is never negative.
func (r *reader) int() int {
	if len(r.rest) < 4 {
		r.fail(errShort)
		return 0
	}
	n := int32(binary.BigEndian.Uint32(r.rest))
	r.rest = r.rest[4:]
	if n < 0 {
		r.fail(fmt.Errorf("length %d", n))
		return 0
	}
	return int(n)
}

// block reads a length and that many bytes, a view.
func (r *reader) block() []byte {
	n := r.int()
	if n > len(r.rest) {
		r.fail(errShort)
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) json(v any) {
	b := r.block()
	if r.err != nil {
		return
	}
	if err := fastjson.Unmarshal(b, v); err != nil {
		r.fail(err)
	}
}

// topic reads "name readQueueNums writeQueueNums perm filterType", perhaps with more behind it.
func (r *reader) topic() route.TopicQueues {
	text := string(r.block())
	if r.err != nil {
		return route.TopicQueues{}
	}
	part := strings.SplitN(text, " ", 6)
	if len(part) < 5 || part[0] == "" {
		r.fail(fmt.Errorf("topic %q has not five parts", text))
		return route.TopicQueues{}
	}
	var number [3]int32
	for i := range number {
		n, err := strconv.ParseInt(part[i+1], 10, 32)
		if err != nil {
			r.fail(fmt.Errorf("topic %q: %q is not a number", text, part[i+1]))
		}
		number[i] = int32(n)
	}
	return route.TopicQueues{Name: part[0], Queues: route.Queues{Read: number[0], Write: number[1], Perm: number[2]}}
}
