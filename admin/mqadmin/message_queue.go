// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// printQueue prints units of a consume queue.
func (c *Call) printQueue(got *protocol.QueryConsumeQueueResponseBody, from int64) {
	line := strings.Repeat("=", 38)
	if got.SubscriptionData != nil {
		c.printf("Subscription data: \n%s\n", fastjson.Options{Pretty: true}.Marshal(got.SubscriptionData))
		c.printf("%s\n", line)
		c.printf("Filter data: \n%s\n", orNull(got.FilterData))
		c.printf("%s\n", line)
	}
	c.printf("Queue data: \nmax: %d, min: %d\n", got.MaxQueueIndex, got.MinQueueIndex)
	c.printf("%s\n", line)
	for i, u := range got.QueueData {
		c.printf("idx: %d\n", from+int64(i))
		c.printf("ConsumeQueueData{physicOffset=%d, physicSize=%d, tagsCode=%d, extendDataJson='%s', bitMap='%s', eval=%t, msg='%s'}\n",
			u.PhysicOffset, u.PhysicSize, u.TagsCode, orNull(u.ExtendDataJson), orNull(u.BitMap), u.Eval, orNull(u.Msg))
		c.printf("%s\n", line)
	}
}
