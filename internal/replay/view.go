// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package replay

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// view is an answer in the form of the recordings.
func (f *Frame) view(messages bool) map[string]any {
	v := map[string]any{"code": number(int64(f.Code))}
	if f.Remark != nil {
		v["remark"] = *f.Remark
	}
	if len(f.ExtFields) > 0 {
		v["extFields"] = f.ExtFields
	}
	if len(f.Body) == 0 {
		return v
	}
	if messages {
		if m := decodeMessages(f.Body); len(m) > 0 {
			v["messages"] = m
			return v
		}
	}
	addBody(v, f.Body)
	return v
}

// addBody shows bytes as text where they are text.
func addBody(v map[string]any, b []byte) {
	if len(b) == 0 {
		return
	}
	if bytes.HasPrefix(b, []byte{0x78, 0x9c}) || bytes.HasPrefix(b, []byte{0x78, 0x01}) {
		if z, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
			if text, err := io.ReadAll(io.LimitReader(z, 64<<20)); err == nil && utf8.Valid(text) {
				v["zlibBodyText"] = string(text)
				return
			}
		}
	}
	if isText(b) {
		v["bodyText"] = string(b)
	} else {
		v["bodyHex"] = hex.EncodeToString(b)
	}
}

func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// The first field after the record's size tells its format.
const (
	magicV1 = 0xDAA320A7
	magicV2 = 0xDAA320AB // two bytes for the length of the topic
)

// decodeMessages reads stored messages laid end to end; nil if b is not that.
func decodeMessages(b []byte) []any {
	var out []any
	for len(b) > 0 {
		m, n := decodeMessage(b)
		if n == 0 {
			return nil
		}
		out = append(out, m)
		b = b[n:]
	}
	return out
}

// record reads the fields of one stored message; short stays set after the first read beyond its end.
type record struct {
	b     []byte
	short bool
}

func (r *record) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short = true
		return make([]byte, max(0, min(n, 16)))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *record) int32() int64 { return int64(int32(binary.BigEndian.Uint32(r.take(4)))) }
func (r *record) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }
func (r *record) int16() int64 { return int64(int16(binary.BigEndian.Uint16(r.take(2)))) }

func (r *record) host(v6 bool) string {
	if v6 {
		return fmt.Sprintf("%x:%d", r.take(16), r.int32())
	}
	ip := r.take(4)
	return fmt.Sprintf("%d.%d.%d.%d:%d", ip[0], ip[1], ip[2], ip[3], r.int32())
}

func decodeMessage(b []byte) (map[string]any, int) {
	const smallest = 88
	if len(b) < smallest {
		return nil, 0
	}
	size, magic := int(int32(binary.BigEndian.Uint32(b))), binary.BigEndian.Uint32(b[4:])
	if magic != magicV1 && magic != magicV2 || size < smallest || size > len(b) {
		return nil, 0
	}
	r := record{b: b[8:size]}
	m := map[string]any{"size": number(int64(size)), "magic": number(int64(int32(magic)))}
	num := func(name string, n int64) int64 {
		m[name] = number(n)
		return n
	}
	num("bodyCRC", r.int32())
	num("queueId", r.int32())
	num("flag", r.int32())
	num("queueOffset", r.int64())
	num("physicalOffset", r.int64())
	sysFlag := num("sysFlag", r.int32())
	num("bornTimestamp", r.int64())
	m["bornHost"] = r.host(sysFlag&0x10 != 0)
	num("storeTimestamp", r.int64())
	m["storeHost"] = r.host(sysFlag&0x20 != 0)
	num("reconsumeTimes", r.int32())
	num("preparedTransactionOffset", r.int64())
	addBody(m, r.take(int(r.int32())))
	if magic == magicV2 {
		m["topic"] = string(r.take(int(r.int16())))
	} else {
		m["topic"] = string(r.take(int(r.take(1)[0])))
	}
	m["properties"] = splitProperties(string(r.take(int(r.int16()))))
	if r.short {
		return nil, 0
	}
	return m, size
}

func splitProperties(s string) map[string]any {
	out := map[string]any{}
	for part := range strings.SplitSeq(s, "\x02") {
		if k, v, ok := strings.Cut(part, "\x01"); ok {
			out[k] = v
		}
	}
	return out
}
