// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package timerlog keeps the files of timer messages in the formats of 5.x: which messages of the timer topic wait, and
// for what time. The messages themselves are in the commit log.
//
//	timerlog/00000000000000000000 …   units of 52 bytes, appended
//	  0 size=52 | 4 prevPos | 12 magic | 16 writeTime | 24 delay | 28 phyOffset | 36 recordSize | 40 topicHash | 44 zeros
//	timerwheel                        1209600 slots of 32 bytes, one for each tick of two weeks, used again and again
//	  0 time/precision | 8 firstPos | 16 lastPos | 24 num | 28 magic
//	config/timercheck                 how far log and wheel are on disk, and which slots are delivered
//
// The units of one slot are a list: the slot has the position of its newest unit, each unit that of the one before.
//
//	slot of 12:00:05   ──last──▶ unit 208 ──prev──▶ unit 104 ──prev──▶ unit 0 ──▶ -1
//
// A file of the log ends with a blank of at least 16 bytes: the bytes left, a zero long, and a magic of its own. Positions
// are byte offsets in the stream. All numbers are big-endian, all times are ms since 1970.
//
// # Crashes
//
// The log is written at once, the wheel's changes stay in memory until Flush: the wheel on disk never refers to units
// that are not on disk. Recover enters the units that came since, and forgets those whose messages the commit log has
// lost. What Recover finds is what Java would find, except that no message is entered twice.
package timerlog
