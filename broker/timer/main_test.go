// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timer

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
