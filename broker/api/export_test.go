// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package api

// RuleOf tells of a request code whether there is a rule of access for it, and whether it asks for nothing.
func RuleOf(code int32) (free, ok bool) {
	r, ok := rules[code]
	return r.free != "", ok
}
