// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import "slices"

// javaOrder lists the fields of a header and its bases in the order in which Java 5.x puts them into extFields. Java
// collects the java.lang.reflect.Field objects in a HashSet, so it is the set's bucket order, and the order of
// declaration within a bucket. The order shows on the wire where two names share a bucket of the extFields' HashMap.
func (h *header) javaOrder(t *table) []field {
	type placed struct {
		field
		bucket uint32
	}
	var all []placed
	for c := h; c != nil; c = t.headers[c.Base] {
		class := hashCode(c.class())
		for _, f := range c.Fields {
			hash := class ^ hashCode(f.Name) // Field.hashCode
			all = append(all, placed{f, hash ^ hash>>16})
		}
	}
	capacity := 16
	for len(all) > capacity*3/4 {
		capacity *= 2
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		mask := uint32(capacity - 1)
		return int(a.bucket&mask) - int(b.bucket&mask)
	})
	var fields []field
	for _, p := range all {
		fields = append(fields, p.field)
	}
	return fields
}

// class is the header's class in 5.x. (Some live in sub-packages; for those it makes no difference.)
func (h *header) class() string {
	switch h.Name {
	case "RpcRequestHeader", "TopicRequestHeader", "TopicQueueRequestHeader":
		return "org.apache.rocketmq.remoting.rpc." + h.Name
	}
	return "org.apache.rocketmq.remoting.protocol.header." + h.Name
}

// hashCode is java.lang.String.hashCode of ASCII text.
func hashCode(s string) uint32 {
	var h uint32
	for i := range len(s) {
		h = h*31 + uint32(s[i])
	}
	return h
}
