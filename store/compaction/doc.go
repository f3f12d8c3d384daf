// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package compaction keeps, for one queue of a topic with cleanup.policy=COMPACTION, the newest message of each key. It
// is what such a topic's consumers read: the messages stay when the commit log has lost them.
//
//	compaction/compactionLog/TOPIC/QUEUEID/0000… …   copies of the commit log's records
//	compaction/compactionCq/TOPIC/QUEUEID/0000… …    a unit for each of them, in files of the same names
//	…/compacting/                                     both, while they are made anew
//	compaction/position-checkpoint                    up to which queue offset keys were looked at (package broker/compaction)
//
// A copied record differs from its original in one field, the physical offset: here it is the position in the
// compaction log. A unit has 46 bytes:
//
//	 0 position    int64   of the record in the compaction log
//	 8 size        int32   of the record
//	12 tagsCode    int64
//	20 storeTime   int64   ms
//	28 queueOffset int64   they ascend, with gaps
//	36 count       int16   1
//	38 −1 int32, 0 int32
//
// Where the next record does not fit into a file of the log, or only one unit into that of the queue, both are ended and
// both go on in new files: the log with what is left (int32) and the magic code of a blank, the queue with a unit of
// position −1. So the unit of a record is always in the file that has the record file's name.
//
// Compact makes the files before the last one anew. What it makes is complete on disk before a file `replaces` in
// compacting/ says so; from then on the old files are replaced, at the next Open if need be. (Java, which has no such
// file, refuses to start when it was killed between the two renames.)
package compaction
