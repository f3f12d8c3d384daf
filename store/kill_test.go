// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

const childEnv = "ROCKETMQ_STORE_CHILD"

func runChild() int { return 0 }
