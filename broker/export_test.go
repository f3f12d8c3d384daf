// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"time"

	"rocketmq-go/broker/client"
	"rocketmq-go/broker/pop"
	"rocketmq-go/broker/registration"
	"rocketmq-go/store"
)

// Told is what parts of the broker ask the configuration by, again whenever they need it, as it was given them at the start.
type Told struct {
	Store       store.Config
	Pop         func() pop.Rules
	Polling     func() pop.Polling
	SkipUnknown func() bool
	Register    registration.Options
	Sources     func() registration.Sources
	Broadcast   func() (offline, online time.Duration)
	Clients     func() client.Rules
}

// Told is for tests of what they cannot bring about, such as a full disk.
func (b *Broker) Told() Told {
	return Told{
		b.storeConfig(nil), func() pop.Rules { return b.popRules(1) }, b.polling,
		func() bool { return b.values().Store.TimerSkipUnknownError }, b.registration(), b.nameServers, b.broadcastExpiry, b.clientRules,
	}
}
