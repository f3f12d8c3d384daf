// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build !race

package remoting

// raceEnabled tells that the race detector inflates memory.
const raceEnabled = false
