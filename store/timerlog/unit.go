// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import "encoding/binary"

// UnitSize is the size of a unit in bytes.
const UnitSize = 52

// Magics of units, bits that can be combined with MagicDefault.
const (
	MagicDefault = 1
	MagicRoll    = 2 // goes back to the timer topic when its slot is due: its own time lies beyond the window
	MagicDelete  = 4 // takes back another message of its slot
)

// NoPos is the position that the first unit of a slot has before it.
const NoPos = -1

const (
	anyMagic   = 0xF
	magicBlank = 0xCBD43194
	blankSize  = 16 // fields of a blank: size 4, zeros 8, magic 4
)

// Unit is one message that waits.
type Unit struct {
	Prev      int64 // position of the unit before it in the same slot, NoPos if there is none
	Magic     int32
	WriteTime int64 // ms, tick in which the unit was written
	Delay     int32 // ms from WriteTime to the slot's time
	PhyOffset int64 // of its record in the commit log
	Size      int32 // of that record
	TopicHash int32 // Java hash of the topic that it is for
}

// Time is the time of the unit's slot in ms. The slot is due one tick later.
func (u *Unit) Time() int64 { return u.WriteTime + int64(u.Delay) }

// Rolls tells that the unit returns to the timer topic, Deletes that it takes back another message.
func (u *Unit) Rolls() bool { return u.Magic&MagicRoll != 0 }

// Deletes tells that the unit takes back another message.
func (u *Unit) Deletes() bool { return u.Magic&MagicDelete != 0 }

// Weight is what the unit adds to the number of its slot.
func (u *Unit) Weight() int32 {
	if u.Deletes() {
		return -1
	}
	return 1
}

// AppendUnit encodes a unit behind dst.
func AppendUnit(dst []byte, u *Unit) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, UnitSize)
	dst = be.AppendUint64(dst, uint64(u.Prev))
	dst = be.AppendUint32(dst, uint32(u.Magic))
	dst = be.AppendUint64(dst, uint64(u.WriteTime))
	dst = be.AppendUint32(dst, uint32(u.Delay))
	dst = be.AppendUint64(dst, uint64(u.PhyOffset))
	dst = be.AppendUint32(dst, uint32(u.Size))
	dst = be.AppendUint32(dst, uint32(u.TopicHash))
	return be.AppendUint64(dst, 0)
}

// ParseUnit decodes the unit at the start of b, which has at least UnitSize bytes. False: it is none.
func ParseUnit(b []byte) (u Unit, ok bool) {
	be := binary.BigEndian
	_ = b[UnitSize-1]
	magic := be.Uint32(b[12:])
	if be.Uint32(b) != UnitSize || magic == 0 || magic&^anyMagic != 0 {
		return Unit{}, false
	}
	return Unit{
		Prev:      int64(be.Uint64(b[4:])),
		Magic:     int32(magic),
		WriteTime: int64(be.Uint64(b[16:])),
		Delay:     int32(be.Uint32(b[24:])),
		PhyOffset: int64(be.Uint64(b[28:])),
		Size:      int32(be.Uint32(b[36:])),
		TopicHash: int32(be.Uint32(b[40:])),
	}, true
}

// isBlank tells whether b begins with the blank at the end of a file.
func isBlank(b []byte) bool {
	return len(b) >= blankSize && binary.BigEndian.Uint32(b[12:]) == magicBlank
}

func appendBlank(dst []byte, left int64) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(left))
	dst = binary.BigEndian.AppendUint64(dst, 0)
	return binary.BigEndian.AppendUint32(dst, magicBlank)
}
