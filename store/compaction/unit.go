// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import "encoding/binary"

const (
	unitSize      = 46
	posUnitOffset = 28
	posSize       = 0 // in a record
	posQueue      = 20
	posPhy        = 28
	blankSize     = 8
	magicBlank    = 0xCBD43194
)

// unit says where a message is.
type unit struct {
	pos       int64
	size      int32
	tagsCode  int64
	storeTime int64
	offset    int64 // queue offset
}

// endUnit is the last one of a file that was ended.
var endUnit = append(append(binary.BigEndian.AppendUint64(nil, ^uint64(0)), make([]byte, 30)...),
	0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)

func (u *unit) append(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(u.pos))
	dst = be.AppendUint32(dst, uint32(u.size))
	dst = be.AppendUint64(dst, uint64(u.tagsCode))
	dst = be.AppendUint64(dst, uint64(u.storeTime))
	dst = be.AppendUint64(dst, uint64(u.offset))
	dst = be.AppendUint16(dst, 1)
	return append(dst, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
}

// parseUnit decodes the unit at the start of b; false for the end of a file and what was never written.
func parseUnit(b []byte) (unit, bool) {
	_ = b[unitSize-1]
	be := binary.BigEndian
	u := unit{
		pos: int64(be.Uint64(b)), size: int32(be.Uint32(b[8:])), tagsCode: int64(be.Uint64(b[12:])),
		storeTime: int64(be.Uint64(b[20:])), offset: int64(be.Uint64(b[posUnitOffset:])),
	}
	return u, u.pos >= 0 && u.size > 0 && u.offset >= 0 && int16(be.Uint16(b[36:])) > 0
}

// QueueFileSize is the size of the queue's files for compactionCqMappedFileSize, both in bytes.
func QueueFileSize(configured int) int64 { return int64(max(configured/unitSize, 2)) * unitSize }

// LogFileSize is the size of the log's files for compactionMappedFileSize: a multiple of the queue's file size.
func LogFileSize(configured int, queueFileSize int64) int64 {
	n, rest := int64(configured)/queueFileSize, int64(configured)%queueFileSize
	switch {
	case n < 5:
		return 5 * queueFileSize
	case rest > 0 && rest < queueFileSize/2:
		return n * queueFileSize
	}
	return (n + 1) * queueFileSize
}
