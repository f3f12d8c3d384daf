// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
)

// A record is a message as commit log and wire carry it. All integers are big-endian.
//
//	off   0 totalSize      4
//	      4 magicCode      4   v1 or v2
//	      8 bodyCRC        4   CRC-32 of the body & 0x7FFFFFFF
//	     12 queueId        4
//	     16 flag           4
//	     20 queueOffset    8
//	     28 physicalOffset 8
//	     36 sysFlag        4
//	     40 bornTimestamp  8
//	     48 bornHost       4 or 16 bytes of address (sysFlag), 4 of port
//	        storeTimestamp 8
//	        storeHost      as bornHost
//	        reconsumeTimes 4
//	        preparedTransactionOffset 8
//	        bodyLength     4, body
//	        topicLength    1 (v1) or 2 (v2), topic
//	        propertiesLength 2, properties
const (
	MagicV1    = 0xDAA320A7
	MagicV2    = 0xDAA320AB // 5.x only: topics of more than 127 bytes
	MagicBlank = 0xCBD43194 // fills the end of a commit-log file

	posMagic       = 4
	posBodyCRC     = 8
	posQueueID     = 12
	posFlag        = 16
	posQueueOffset = 20
	posPhyOffset   = 28
	posSysFlag     = 36
	posBorn        = 40
	posBornHost    = 48

	fixedSize = 91 // v1, both hosts IPv4, nothing variable
	// MinRecordSize is the size of the smallest record: IPv4 hosts, no body, topic or properties.
	MinRecordSize = fixedSize
	// MaxTopicV1 is the longest topic (bytes) of a v1 record.
	MaxTopicV1 = 127
	// MaxTopic is the longest topic (bytes) a record can carry.
	MaxTopic = 32767
)

// ErrRecord is wrapped by every error of ParseRecord: the bytes are no record.
var ErrRecord = errors.New("not a message record")

// BodyCRC is the CRC that a record and a client batch carry for a body.
func BodyCRC(body []byte) int32 {
	return int32(crc32.ChecksumIEEE(body) & 0x7FFFFFFF)
}

// HostFlags returns the SysFlag bits that tell the address families of the two hosts. An address that is not set counts
// as IPv4; an IPv4 address mapped into IPv6 is IPv4, as it is in Java.
func HostFlags(born, store netip.AddrPort) int32 {
	var f int32
	if isV6(born.Addr()) {
		f |= SysBornHostV6
	}
	if isV6(store.Addr()) {
		f |= SysStoreHostV6
	}
	return f
}

func isV6(a netip.Addr) bool { return a.Is6() && !a.Is4In6() }

func hostSize(v6 bool) int {
	if v6 {
		return 20
	}
	return 8
}

// RecordSize is the size of the record that AppendRecord makes of m with the given properties.
func RecordSize(m *Message, properties int) int {
	n := fixedSize - 16 + len(m.Body) + len(m.Topic) + properties
	n += hostSize(isV6(m.BornHost.Addr())) + hostSize(isV6(m.StoreHost.Addr()))
	if len(m.Topic) > MaxTopicV1 {
		n++
	}
	return n
}

// Position is what the store decides about a record.
type Position struct {
	QueueOffset    int64
	PhyOffset      int64
	StoreTimestamp int64 // ms
}

// AppendRecord encodes m behind dst. bodyCRC is BodyCRC(m.Body), computed by the caller outside of any lock; the address
// family bits of SysFlag are set from the hosts. It does not check lengths: see MaxTopic, MaxProperties.
func AppendRecord(dst []byte, m *Message, bodyCRC int32, p Position) []byte {
	at := len(dst)
	dst = AppendUnsealed(dst, m, bodyCRC, p)
	Seal(dst[at:], m.Topic)
	return dst
}

// Seal makes what AppendUnsealed wrote a record of a topic: it puts size and magic code in front. A process that is killed
// before leaves no record; one that began with them might leave a record without its properties, which the body's CRC does
// not tell.
func Seal(rec []byte, topic string) {
	magic := uint32(MagicV1)
	if len(topic) > MaxTopicV1 {
		magic = MagicV2
	}
	binary.BigEndian.PutUint64(rec, uint64(len(rec))<<32|uint64(magic))
}

// AppendUnsealed is AppendRecord without Seal: eight zeros in front.
func AppendUnsealed(dst []byte, m *Message, bodyCRC int32, p Position) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, 0)
	dst = be.AppendUint32(dst, uint32(bodyCRC))
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(p.QueueOffset))
	dst = be.AppendUint64(dst, uint64(p.PhyOffset))
	sysFlag := m.SysFlag&^(SysBornHostV6|SysStoreHostV6) | HostFlags(m.BornHost, m.StoreHost)
	dst = be.AppendUint32(dst, uint32(sysFlag))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = be.AppendUint64(dst, uint64(p.StoreTimestamp))
	dst = appendHost(dst, m.StoreHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if len(m.Topic) > MaxTopicV1 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(len(m.Properties)))
	return append(dst, m.Properties...)
}

func appendHost(dst []byte, h netip.AddrPort) []byte {
	a := h.Addr()
	switch {
	case isV6(a):
		b := a.As16()
		dst = append(dst, b[:]...)
	case a.IsValid():
		b := a.Unmap().As4()
		dst = append(dst, b[:]...)
	default:
		dst = append(dst, 0, 0, 0, 0)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(h.Port()))
}

// Record is a decoded record. Topic, Properties and Body are views into the bytes it was parsed from.
type Record struct {
	Size                      int32
	Magic                     uint32
	BodyCRC                   int32
	QueueID                   int32
	Flag                      int32
	QueueOffset               int64
	PhyOffset                 int64
	SysFlag                   int32
	BornTimestamp             int64
	BornHost                  netip.AddrPort
	StoreTimestamp            int64
	StoreHost                 netip.AddrPort
	ReconsumeTimes            int32
	PreparedTransactionOffset int64
	Body                      []byte
	Topic                     []byte
	Properties                []byte
}

// ParseRecord decodes the record at the start of b, which may be followed by anything. It checks that all lengths fit
// and add up to the record's size, not the CRC (see CRCOK). Every error wraps ErrRecord.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	be := binary.BigEndian
	if len(b) < fixedSize {
		return r, fmt.Errorf("%w: %d bytes left", ErrRecord, len(b))
	}
	size := int(int32(be.Uint32(b)))
	r.Magic = be.Uint32(b[posMagic:])
	if r.Magic != MagicV1 && r.Magic != MagicV2 {
		return r, fmt.Errorf("%w: magic code %08x", ErrRecord, r.Magic)
	}
	if size < fixedSize || size > len(b) {
		return r, fmt.Errorf("%w: size %d of %d bytes", ErrRecord, size, len(b))
	}
	b = b[:size]
	r.Size = int32(size)
	r.BodyCRC = int32(be.Uint32(b[posBodyCRC:]))
	r.QueueID = int32(be.Uint32(b[posQueueID:]))
	r.Flag = int32(be.Uint32(b[posFlag:]))
	r.QueueOffset = int64(be.Uint64(b[posQueueOffset:]))
	r.PhyOffset = int64(be.Uint64(b[posPhyOffset:]))
	r.SysFlag = int32(be.Uint32(b[posSysFlag:]))
	r.BornTimestamp = int64(be.Uint64(b[posBorn:]))
	bornV6, storeV6 := r.SysFlag&SysBornHostV6 != 0, r.SysFlag&SysStoreHostV6 != 0
	pos := posBornHost
	// everything up to the body length has a size known by now
	if pos+hostSize(bornV6)+hostSize(storeV6)+24 > size {
		return r, fmt.Errorf("%w: size %d", ErrRecord, size)
	}
	r.BornHost, pos = parseHost(b, pos, bornV6)
	r.StoreTimestamp = int64(be.Uint64(b[pos:]))
	r.StoreHost, pos = parseHost(b, pos+8, storeV6)
	r.ReconsumeTimes = int32(be.Uint32(b[pos:]))
	r.PreparedTransactionOffset = int64(be.Uint64(b[pos+4:]))
	pos += 12

	var ok bool
	if r.Body, pos, ok = take(b, pos, 4); !ok {
		return r, fmt.Errorf("%w: body length", ErrRecord)
	}
	width := 1
	if r.Magic == MagicV2 {
		width = 2
	}
	if r.Topic, pos, ok = take(b, pos, width); !ok {
		return r, fmt.Errorf("%w: topic length", ErrRecord)
	}
	if r.Properties, pos, ok = take(b, pos, 2); !ok {
		return r, fmt.Errorf("%w: properties length", ErrRecord)
	}
	if pos != size {
		return r, fmt.Errorf("%w: fields of %d bytes, size %d", ErrRecord, pos, size)
	}
	return r, nil
}

// take reads a length of the given width and as many bytes behind it.
func take(b []byte, pos, width int) (field []byte, next int, ok bool) {
	if pos+width > len(b) {
		return nil, pos, false
	}
	var n int
	switch width {
	case 1:
		n = int(int8(b[pos]))
	case 2:
		n = int(int16(binary.BigEndian.Uint16(b[pos:])))
	default:
		n = int(int32(binary.BigEndian.Uint32(b[pos:])))
	}
	pos += width
	if n < 0 || n > len(b)-pos {
		return nil, pos, false
	}
	return b[pos : pos+n : pos+n], pos + n, true
}

func parseHost(b []byte, pos int, v6 bool) (netip.AddrPort, int) {
	var a netip.Addr
	if v6 {
		a = netip.AddrFrom16([16]byte(b[pos:]))
		pos += 16
	} else {
		a = netip.AddrFrom4([4]byte(b[pos:]))
		pos += 4
	}
	return netip.AddrPortFrom(a, uint16(binary.BigEndian.Uint32(b[pos:]))), pos + 4
}

// CRCOK tells whether the body is the one the record was written with. An empty body is not checked, as in Java.
func (r *Record) CRCOK() bool { return len(r.Body) == 0 || BodyCRC(r.Body) == r.BodyCRC }

// TransactionType is the transaction part of the sysFlag: SysNotTransaction, SysPrepared, SysCommit or SysRollback.
func (r *Record) TransactionType() int32 { return r.SysFlag & SysTransactionMask }

// Message makes a Message of the record; strings and slices stay views into it.
func (r *Record) Message() Message {
	return Message{
		Topic: string(r.Topic), QueueID: r.QueueID, Flag: r.Flag, SysFlag: r.SysFlag,
		BornTimestamp: r.BornTimestamp, BornHost: r.BornHost, StoreHost: r.StoreHost,
		ReconsumeTimes: r.ReconsumeTimes, PreparedTransactionOffset: r.PreparedTransactionOffset,
		Properties: r.Properties, Body: r.Body,
	}
}

// StoreTimestampOf reads the store time (ms) of an encoded record without decoding the rest; b needs the first
// StoreTimestampEnd bytes. False if b is too short or does not start with a record's magic code.
func StoreTimestampOf(b []byte) (int64, bool) {
	if len(b) < StoreTimestampEnd {
		return 0, false
	}
	magic := binary.BigEndian.Uint32(b[posMagic:])
	if magic != MagicV1 && magic != MagicV2 {
		return 0, false
	}
	pos := posBornHost + hostSize(binary.BigEndian.Uint32(b[posSysFlag:])&SysBornHostV6 != 0)
	return int64(binary.BigEndian.Uint64(b[pos:])), true
}

// StoreTimestampEnd is how many bytes of a record StoreTimestampOf wants to see.
const StoreTimestampEnd = posBornHost + 20 + 8

// CRCPropertySize is the size of the property that AppendRecordCRC writes at the end of a record.
const CRCPropertySize = len(PropCRC) + 1 + 10 + 1

// PutRecordCRC fills the last CRCPropertySize bytes of a record with the property that holds the CRC of everything
// before it (5.x, enabledAppendPropCRC). Digits are written from the least significant one on, as Java does.
func PutRecordCRC(record []byte) {
	n := len(record) - CRCPropertySize
	sum := crc32.ChecksumIEEE(record[:n]) & 0x7FFFFFFF
	p := record[n:]
	p = p[copy(p, PropCRC):]
	p[0] = NameEnd
	for i := 1; i <= 10; i++ {
		p[i] = '0' + byte(sum%10)
		sum /= 10
	}
	p[11] = PairEnd
}

// RecordCRCOK checks the property that PutRecordCRC writes. A record without it is not ok.
func RecordCRCOK(record []byte) bool {
	n := len(record) - CRCPropertySize
	if n < 0 || string(record[n:n+len(PropCRC)]) != PropCRC {
		return false
	}
	var sum uint32
	digits := record[n+len(PropCRC)+1:]
	for i := 9; i >= 0; i-- {
		d := digits[i] - '0'
		if d > 9 {
			return false
		}
		sum = sum*10 + uint32(d)
	}
	return sum == crc32.ChecksumIEEE(record[:n])&0x7FFFFFFF
}
