// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package pop lets consumers of 5.x pop messages: the broker chooses the queue, hides what it gave for a time, and gives it
// again if nobody acknowledges it by then.
//
//	200050 pop ──► messages of topic and pop retry topic ──► consumer
//	       └─► checkpoint (tag ck) ─┐
//	200051 ack (tag ack, bAck) ─────┴─► timer wheel ─► rmq_sys_REVIVE_LOG_<cluster> ─► revive: what is not acknowledged
//	                                                                                   goes to the pop retry topic
//
// What is hidden is known from the log only, in Java's bytes: a checkpoint for each queue that a pop read and a message for
// each acknowledgement, which the timer wheel delivers to a queue of the revive topic when the time is about to be over. A
// directory goes back and forth between Java and us with messages that nobody has acknowledged.
//
// The offset of the group moves when the checkpoint is stored, so that nothing is passed that is not in a checkpoint. A
// checkpoint is worked off when the timer has delivered everything that was to come by then (timer.Service.Settled): each
// acknowledgement that was answered in time has been read.
//
// Messages that are popped in order have no checkpoints. The queue is closed for its group until they are acknowledged or
// their time is over; see orders.
package pop
