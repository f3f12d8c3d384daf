// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// ErrID says that a text is no offset message id.
var ErrID = errors.New("not a message id")

const hexDigits = "0123456789ABCDEF"

func appendHex(dst, src []byte) []byte {
	for _, b := range src {
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst
}

// AppendOffsetID appends the offset message id of a stored message: store host and physical offset in upper-case hex,
// 32 digits for IPv4 and 56 for IPv6.
func AppendOffsetID(dst []byte, storeHost netip.AddrPort, phyOffset int64) []byte {
	var raw [28]byte
	b := appendHost(raw[:0], storeHost)
	b = binary.BigEndian.AppendUint64(b, uint64(phyOffset))
	return appendHex(dst, b)
}

// OffsetID is AppendOffsetID as a string.
func OffsetID(storeHost netip.AddrPort, phyOffset int64) string {
	var buf [56]byte
	return string(AppendOffsetID(buf[:0], storeHost, phyOffset))
}

// ParseOffsetID reads an offset message id. Lower-case digits are accepted as well.
func ParseOffsetID(id string) (storeHost netip.AddrPort, phyOffset int64, err error) {
	if len(id) != 32 && len(id) != 56 {
		return storeHost, 0, ErrID
	}
	var raw [28]byte
	n := len(id) / 2
	for i := range n {
		hi, lo := unhex(id[2*i]), unhex(id[2*i+1])
		if hi > 15 || lo > 15 {
			return storeHost, 0, ErrID
		}
		raw[i] = hi<<4 | lo
	}
	if binary.BigEndian.Uint32(raw[n-12:]) > 0xFFFF {
		return storeHost, 0, ErrID
	}
	storeHost, _ = parseHost(raw[:], 0, n == 28)
	return storeHost, int64(binary.BigEndian.Uint64(raw[n-8:])), nil
}

func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// IDGenerator makes unique message ids (UNIQ_KEY) as Java clients and 5.x brokers do: in hex the local address (4 or 16
// bytes), process id (2), a number for the class loader (4; here any number that differs between generators), ms since
// the first of the month (4) and a counter (2). Safe for concurrent use.
type IDGenerator struct {
	prefix  []byte // hex
	now     func() time.Time
	counter atomic.Uint32
	month   atomic.Int64 // ms of the first of the month that is in use
	next    atomic.Int64 // ms of the first of the next one
}

// NewIDGenerator makes a generator for a host. instance keeps the generators of one process apart; now may be nil.
func NewIDGenerator(host netip.Addr, instance uint32, now func() time.Time) *IDGenerator {
	if now == nil {
		now = time.Now
	}
	raw := appendHost(nil, netip.AddrPortFrom(host, 0))
	raw = raw[:len(raw)-4]
	raw = binary.BigEndian.AppendUint16(raw, uint16(os.Getpid()))
	raw = binary.BigEndian.AppendUint32(raw, instance)
	return &IDGenerator{prefix: appendHex(nil, raw), now: now}
}

// Append appends the next id: 32 characters for an IPv4 host, 56 for IPv6.
func (g *IDGenerator) Append(dst []byte) []byte {
	t := g.now()
	ms := t.UnixMilli()
	if ms >= g.next.Load() || ms < g.month.Load() {
		first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location())
		g.month.Store(first.UnixMilli())
		g.next.Store(first.AddDate(0, 1, 0).UnixMilli())
	}
	var raw [6]byte
	binary.BigEndian.PutUint32(raw[:], uint32(ms-g.month.Load()))
	binary.BigEndian.PutUint16(raw[4:], uint16(g.counter.Add(1)-1))
	return appendHex(append(dst, g.prefix...), raw[:])
}

// Next is Append as a string.
func (g *IDGenerator) Next() string {
	var buf [56]byte
	return string(g.Append(buf[:0]))
}
