// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package compat is the table of what differs visibly between the Java releases this server can follow. The key
// compatVersion chooses the profile; security rules never depend on it.
package compat

import "rocketmq-go/compat/mqversion"

// Profile is the set of rules of one release. It is data: code asks for a rule, not for a release.
type Profile struct {
	Release          string // as compatVersion names it
	Version          int32  // ordinal in MQVersion, announced in every frame
	InvalidParameter int32  // code for a bad topic name or queue id
	FAQ              string // link behind many remarks, with the line break before it

	// OrderTopics: who makes a topic can make it an ordered one; 4.9 leaves that to the name server's ORDER_TOPIC_CONFIG.
	OrderTopics bool
	// BrokerProperties: the broker writes MSG_REGION, TRACE_ON and a missing UNIQ_KEY into what it stores.
	BrokerProperties bool
	// TopicAttributes: topics have attributes; they are printed, registered and obeyed.
	TopicAttributes bool
	// SysFlags: answers to pulls carry the system flags of topic and group, refusals a forbidden type.
	SysFlags bool
	// HeartbeatV2: answers to heartbeats tell of heartbeats without subscriptions.
	HeartbeatV2 bool
	// SlavesReject: slaves refuse sends, and pulls without slaveReadEnable, before they look at them.
	SlavesReject bool
	// CommitChecks: commits of offsets are refused for unknown groups and topics.
	CommitChecks bool
	// ServerReset: offsets can be reset without the clients' help.
	ServerReset bool
	// LockedRetryIsDead: what a group that holds queue locks sends to its retry topic is a dead letter.
	LockedRetryIsDead bool
	// DeadAtOnce: what comes too often to a retry topic is a dead letter without the delay that it asks for.
	DeadAtOnce bool
	// TransactionIDs: answers to sends name the message's unique key as the id of a transaction.
	TransactionIDs bool
	// KeepWait: the property WAIT is written into the log.
	KeepWait bool
	// Transactions5: half messages name their transaction and are counted, their ends are noted in batches, a commit that
	// comes after the message's own time is refused, and check-backs name topic and broker.
	Transactions5 bool
	// LastRetryIsDead: the retry that reaches the maximum is a dead letter already.
	LastRetryIsDead bool
	// RetryBatches: batches may be sent to retry topics.
	RetryBatches bool
	// RawReplies: a stored reply keeps its properties as they were sent.
	RawReplies bool
	// EmptyBodies: a message may be sent without a body.
	EmptyBodies bool
	// Timers: messages can ask for a time of their own, and be taken back.
	Timers bool
	// Runtime5: the table of a broker's state tells of timers, of acknowledgements, of lite pulls, and whether it is active.
	Runtime5 bool

	// FirstNeedsAll: a name server refuses a first registration with one topic.
	FirstNeedsAll bool
	// StateVersions: data versions have a state version; with a larger one a broker keeps its id against others.
	StateVersions bool
	// TopicsReturn: a topic deleted at the name server returns with the next registration of its broker.
	TopicsReturn bool
	// ActingMasters: name servers know slaves that stand in for a lost master, and zones.
	ActingMasters bool
	// QueryKeepsAlive: asking a name server for the data version counts as a sign of life whatever the answer.
	QueryKeepsAlive bool
	// OmitJSON is the mark of the JSON fields that the release does not know (fastjson.Options).
	OmitJSON string
}

// The releases.
const (
	Release533 = "5.3.3"
	Release497 = "4.9.7"
)

// For is the profile of a release, of 5.3.3 for a name it does not know.
func For(release string) *Profile {
	if release == Release497 {
		return &Profile{
			Release: Release497, Version: mqversion.V4_9_7, InvalidParameter: 1, EmptyBodies: true, RawReplies: true, LastRetryIsDead: true, RetryBatches: true,
			FAQ:      "\nSee http://rocketmq.apache.org/docs/faq/ for further details.",
			OmitJSON: "v5",
		}
	}
	return &Profile{
		Release: Release533, Version: mqversion.V5_3_3, InvalidParameter: 29,
		FAQ:         "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.",
		OrderTopics: true, BrokerProperties: true, TopicAttributes: true, SysFlags: true, HeartbeatV2: true, SlavesReject: true, CommitChecks: true,
		ServerReset: true, LockedRetryIsDead: true, DeadAtOnce: true, TransactionIDs: true, KeepWait: true, Transactions5: true, Timers: true,
		Runtime5: true, FirstNeedsAll: true, StateVersions: true, TopicsReturn: true, ActingMasters: true, QueryKeepsAlive: true,
	}
}
