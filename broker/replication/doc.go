// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package replication makes a master and slaves of brokers with the same name.
//
//	master  HA port          ── log ──►   slave     package store/ha; sends may wait for slaves (SYNC_MASTER)
//	master  main port  ◄── 21, 43, … ──   slave     topics, groups, offsets: every ten seconds
//	name server        ◄──── 103 ──────   slave     the answer tells where the master is
//
// Slaves are for reading, and for the day on which the master is gone for good. Then a slave is restarted with
// brokerRole=ASYNC_MASTER and brokerId=0: nothing becomes a master by itself here. Package acting is about slaves that act as one
// for a while.
package replication

import (
	"time"

	"rocketmq-go/config"
	"rocketmq-go/store/ha"
)

const (
	// reconnect is the pause of a slave that could not connect, as in Java.
	reconnect = 5 * time.Second
	// lookAgain is the pause between two looks at who is behind.
	lookAgain = 5 * time.Second
)

// rules is what the configuration says of the stream.
func rules(v *config.BrokerValues) ha.Rules {
	s := &v.Store
	r := ha.Rules{
		Heartbeat:    config.Millis(int64(s.HaSendHeartbeatInterval)),
		Housekeeping: config.Millis(int64(s.HaHousekeepingInterval)),
		Reconnect:    reconnect,
		BatchSize:    s.HaTransferBatchSize,
	}
	if s.HaFlowControlEnable {
		r.BytesPerSecond = s.MaxHaTransferByteInSecond
	}
	return r
}

// maxGap is by how many bytes a slave may lag and still count as in sync.
func maxGap(v *config.BrokerValues, compat49 bool) int64 {
	if compat49 {
		return int64(v.Store.HaSlaveFallbehindMax)
	}
	return int64(v.Store.HaMaxGapNotInSync)
}
