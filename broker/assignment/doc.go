// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package assignment divides the queues of a topic among the clients of a group on behalf of clients that leave this to
// the broker (5.x, codes 400–402), and keeps how they are to consume: by pulling or by popping.
//
// The queues are those of all brokers, from the name server. Each broker gives the same answer, for it sorts queues and
// client ids before it divides them.
//
//	config/messageRequestMode.json   the mode of a topic and group, set by code 401
package assignment
