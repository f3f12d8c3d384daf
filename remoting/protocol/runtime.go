// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

import (
	"fmt"
	"strconv"

	"rocketmq-go/compat/fastjson"
)

// LogEnd is where a broker's commit log ends, by the answer to code 28, GET_BROKER_RUNTIME_INFO.
func LogEnd(body []byte) (int64, error) {
	var kv KVTable
	if err := fastjson.Unmarshal(body, &kv); err != nil {
		return 0, err
	}
	text, _ := kv.Table.Get("commitLogMaxOffset")
	end, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("commitLogMaxOffset: %w", err)
	}
	return end, nil
}
