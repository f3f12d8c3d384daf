// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package client keeps the tables of connected consumers and producers: who is in a group, over which connection, and
// what the group subscribes to. They live in memory and are filled by heartbeats (code 34).
//
// A subscription belongs to the group, not to the connection: the newest heartbeat of any member replaces it, so
// members that subscribe to different topics fight. When the members or the topics of a group change, all its members
// are told with a one-way NOTIFY_CONSUMER_IDS_CHANGED (code 40) and share the queues out anew.
package client
