// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package put is the one way into the store: sends, messages that consumers send back, and what the broker itself
// writes pass the same rules here.
//
//	Send      a producer's message: properties of the broker, retry and dead-letter rule, delay level
//	          (a half message of a transaction waits in its own topic)
//	Commit    a half message whose transaction was committed
//	Batch     the entries of a client batch
//	SendBack  a message that a consumer could not handle: to the retry topic, or the dead-letter topic
//	Raw       a message whose time has come: stored as it stands
//
// The topic was looked up, and the queue checked, by the caller. A refusal is a *protocol.Error; what became of a
// message that reached the store is told by a store.PutResult, whose answer Answer knows.
package put
