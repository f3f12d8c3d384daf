// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import "rocketmq-go/remoting/protocol"

// MaxNameLength is the longest topic name that a request may use. (The store takes 255 from the broker itself.)
const MaxNameLength = 127

// MaxQueues is how many queues a topic may have. Java has no limit, and is brought down by two requests: one that makes a
// topic of 2,147,483,647 queues, and one that asks for its statistics.
const MaxQueues = 65536

// legal are the bytes of topic and group names.
var legal = func() (t [256]bool) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for _, c := range "%|_-" {
		t[c] = true
	}
	return t
}()

// LegalName tells whether a topic or group name has legal characters only.
func LegalName(name string) bool {
	for i := range len(name) {
		if !legal[name[i]] {
			return false
		}
	}
	return true
}

// Validate checks a topic name that comes from a request. The error carries code 29, in 4.9 code 1. It allocates
// nothing for a good name; the name may be a view.
func (t *Table) Validate(name string) error {
	remark := ""
	switch {
	case isBlank(name):
		remark = "The specified topic is blank."
	case !LegalName(name):
		remark = "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
	case len(name) > MaxNameLength:
		remark = "The specified topic is longer than topic max length."
	default:
		return nil
	}
	return &protocol.Error{Code: t.invalid(), Remark: remark}
}

func isBlank(name string) bool {
	for _, r := range name {
		if r > ' ' {
			return false
		}
	}
	return true
}

// invalid is the code for parameters that are refused.
func (t *Table) invalid() int32 {
	if t.o.Compat49 {
		return protocol.RespSystemError
	}
	return protocol.RespInvalidParameter
}
