// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package transaction holds back the messages of transactions until their producers commit them, and asks producers
// that say nothing.
//
// A half message waits in queue 0 of RMQ_SYS_TRANS_HALF_TOPIC (package put stores it there). Its producer commits it,
// which stores it again under its real topic, or rolls it back (END_TRANSACTION, 37). Either way the half message's queue
// offset is noted in an op message in RMQ_SYS_TRANS_OP_HALF_TOPIC.
//
//	half queue   ├── settled ──┤ x ├─ ended and open half messages ─┤ copies ──┤
//	                           passed                                          max
//	op queue     ├── only settled ones ──┤ op: 17,19,20, │ op: 21, │
//	                                     progress                  max
//
// The check walks the half queue from passed on, once each transactionCheckInterval. It passes what has ended; what has
// been open for transactionTimeOut (or the message's own CHECK_IMMUNITY_TIME_IN_SECONDS) it puts back: a copy with one
// more TRANSACTION_CHECK_TIMES goes to the end of the queue, the old one is passed, and a producer of the message's group
// is asked (CHECK_TRANSACTION_STATE, 39). After transactionCheckMax questions the message goes to
// TRANS_CHECK_MAX_TIME_TOPIC. How far both queues are settled is kept with the consumer offsets, under the group
// CID_RMQ_SYS_TRANS. All of it is what a Java broker does, in the same bytes: each may continue what the other began.
//
// Where a Java broker may ask about a transaction whose end it has already answered (its op message is not written yet, or
// names an offset that a copy has left behind), this one does not: it knows which half messages ended since its start
// (Service.ended) and which copies are of one message (Service.copies).
//
// Nothing runs while both queues are settled.
package transaction
