// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

import "rocketmq-go/auth"

// RuleOf tells of a request code whether there is a rule of access for it, and whether it asks for nothing.
func RuleOf(code int32) (free, ok bool) {
	r, ok := rules[code]
	return r.free != "", ok
}

// OnlyReads tells of a request code whether the rules of 4.x let every account send it.
func OnlyReads(code int32) bool {
	r := rules[code]
	const more = auth.Pub | auth.Sub
	return r.free != "" || !r.strict && r.actions&(auth.Get|auth.List) != 0 && r.actions&more == 0
}
