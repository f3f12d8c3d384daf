// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// DefaultLevels is the default of messageDelayLevel.
const DefaultLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// ParseLevels reads messageDelayLevel: numbers with a unit (s, m, h, d) and one blank between them. Index 0 of the
// result is level 1. With a text that is refused, no broker starts.
func ParseLevels(text string) ([]time.Duration, error) {
	parts := strings.Split(strings.TrimRight(text, " "), " ")
	delays := make([]time.Duration, len(parts))
	for i, part := range parts {
		if part == "" {
			return nil, fmt.Errorf("messageDelayLevel %q: level %d is empty", text, i+1)
		}
		last := len(part) - 1
		unit, ok := units[part[last]]
		if !ok {
			return nil, fmt.Errorf("messageDelayLevel %q: level %d: unit of %q is not s, m, h or d", text, i+1, part)
		}
		n, err := strconv.ParseInt(part[:last], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("messageDelayLevel %q: level %d: %w", text, i+1, err)
		}
		if limit := int64(math.MaxInt64 / unit); n > limit || n < -limit {
			return nil, fmt.Errorf("messageDelayLevel %q: level %d: %q is too long", text, i+1, part)
		}
		delays[i] = time.Duration(n) * unit
	}
	return delays, nil
}
