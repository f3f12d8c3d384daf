// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package powerdisk

import (
	"iter"
	"os"
	"strconv"
)

// Seeds are the seeds of a test's schedules: from 1 or ROCKETMQ_POWER_SEED on, usual or ROCKETMQ_POWER_ROUNDS of them.
func Seeds(usual int) iter.Seq[uint64] {
	first := uint64(1)
	if n, err := strconv.Atoi(os.Getenv("ROCKETMQ_POWER_ROUNDS")); err == nil {
		usual = n
	}
	if n, err := strconv.ParseUint(os.Getenv("ROCKETMQ_POWER_SEED"), 10, 64); err == nil {
		first = n
	}
	return func(yield func(uint64) bool) {
		for i := range usual {
			if !yield(first + uint64(i)) {
				return
			}
		}
	}
}
