// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build !unix

package remoting

const canRawRead = false

func (in *reader) tryRead(*conn, uintptr) bool { return true }
