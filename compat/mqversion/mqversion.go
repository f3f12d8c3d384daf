// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package mqversion names the version numbers that frames carry: the ordinals of Java's MQVersion.Version. From 3.0.1 on
// each release has two neighbouring ordinals, V5_3_3_SNAPSHOT 478 and V5_3_3 479; the numbers of all releases up to
// 5.9.9 have been given away already.
package mqversion

import (
	"fmt"
	"strings"
)

// Ordinals on which rules depend.
const (
	V3_0_7_Snapshot = 28  // older clients cannot reset offsets
	V3_0_11         = 37  // older brokers register without filter servers
	V3_1_8_Snapshot = 62  // older clients cannot answer 307 and 309
	V3_4_9          = 121 // newer clients say how often a message may be retried
	V4_5_2          = 317 // what the Go client always sends
	V4_9_3          = 399 // signatures up to here leave out the unique-key mark of queries
	V4_9_4          = 401 // newer clients want standard JSON routes
	V4_9_7          = 407
	V5_0_0          = 413 // compressed registrations carry static topics
	V5_3_1          = 475 // newer clients understand GO_AWAY
	V5_3_3          = 479
	V5_4_0          = 493
	Higher          = 612 // HIGHER_VERSION, everything above
)

// first are the names before releases came in pairs.
var first = [...]string{
	"V3_0_0_SNAPSHOT", "V3_0_0_ALPHA1", "V3_0_0_BETA1", "V3_0_0_BETA2", "V3_0_0_BETA3", "V3_0_0_BETA4", "V3_0_0_BETA5",
	"V3_0_0_BETA6_SNAPSHOT", "V3_0_0_BETA6", "V3_0_0_BETA7_SNAPSHOT", "V3_0_0_BETA7", "V3_0_0_BETA8_SNAPSHOT",
	"V3_0_0_BETA8", "V3_0_0_BETA9_SNAPSHOT", "V3_0_0_BETA9", "V3_0_0_FINAL",
}

// minors lists, from V3_0_1_SNAPSHOT on, the patch numbers that each minor release was given.
var minors = buildMinors()

type minor struct {
	ordinal      int32 // of the first snapshot
	major, minor int
	from, to     int // patch numbers
}

func buildMinors() (list []minor) {
	ordinal := int32(len(first))
	for major := 3; major <= 5; major++ {
		for m := range 10 {
			from, to := 0, 9
			switch {
			case major == 3 && m == 0:
				from, to = 1, 15
			case major == 3 && m >= 3:
				from = 1
			}
			list = append(list, minor{ordinal, major, m, from, to})
			ordinal += int32(2 * (to - from + 1))
		}
	}
	return list
}

// Describe is the Java name of an ordinal, HIGHER_VERSION beyond the table, V3_0_0_SNAPSHOT for negative ones.
func Describe(ordinal int32) string {
	switch {
	case ordinal >= Higher:
		return "HIGHER_VERSION"
	case ordinal < 0:
		return first[0]
	case int(ordinal) < len(first):
		return first[ordinal]
	}
	i := len(minors) - 1
	for minors[i].ordinal > ordinal {
		i--
	}
	m := minors[i]
	n := int(ordinal - m.ordinal)
	snapshot := ""
	if n%2 == 0 {
		snapshot = "_SNAPSHOT"
	}
	return fmt.Sprintf("V%d_%d_%d%s", m.major, m.minor, m.from+n/2, snapshot)
}

// Ordinal finds the ordinal of a name such as V5_3_3 or 5.3.3.
func Ordinal(name string) (int32, bool) {
	name = strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
	if !strings.HasPrefix(name, "V") && name != "HIGHER_VERSION" {
		name = "V" + name
	}
	for o := int32(0); o <= Higher; o++ {
		if Describe(o) == name {
			return o, true
		}
	}
	return 0, false
}
