// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import "rocketmq-go/compat/javahash"

//go:generate go run ./bodygen bodygen/bodies.txt body_gen.go body_names_gen_test.go

// EnumNames lists the names in the order of their numbers.
func (Language) EnumNames() []string { return languageNames[:] }

// HashCode is the hash code of the Java object, which gives the order in maps and sets.
func (q MessageQueue) HashCode() int32 {
	h := 31 + javahash.String(q.BrokerName)
	h = 31*h + q.QueueID
	return 31*h + javahash.String(q.Topic)
}
