// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import "context"

func runDemo(_ context.Context, _ env) int { return exitFailed }
