// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package assignment

import (
	"cmp"
	"slices"

	"rocketmq-go/remoting/protocol"
)

// anyQueue is the queue id that lets a popping client read all queues of a broker.
const anyQueue = -1

// strategy chooses those of the queues that the client at index, of so many clients, gets. All are sorted.
type strategy func(queues []protocol.MessageQueue, index, clients int) []protocol.MessageQueue

// strategies are the ones that Java's broker knows, by the names that clients give them.
var strategies = map[string]strategy{"AVG": average, "AVG_BY_CIRCLE": circle}

// average gives neighbouring queues to each client; the first ones get one more when it does not come out even.
func average(queues []protocol.MessageQueue, index, clients int) []protocol.MessageQueue {
	size, rest := len(queues)/clients, len(queues)%clients
	begin := index*size + min(index, rest)
	if index < rest {
		size++
	}
	return queues[begin : begin+size]
}

// circle deals the queues out like cards.
func circle(queues []protocol.MessageQueue, index, clients int) []protocol.MessageQueue {
	var mine []protocol.MessageQueue
	for i := index; i < len(queues); i += clients {
		mine = append(mine, queues[i])
	}
	return mine
}

// share divides queues for clients that pop. With a share number each also gets the queues of that many clients that
// follow it, so that what one of them leaves behind is not stuck; without, or if that means nearly all, everybody reads
// everything. When clients outnumber queues, each has one, and some have the same.
func share(queues []protocol.MessageQueue, clients []string, index int, number int32, divide strategy) []protocol.MessageQueue {
	n := len(clients)
	if number <= 0 || int(number) >= n-1 {
		var brokers []protocol.MessageQueue
		for _, q := range queues {
			q.QueueID = anyQueue
			brokers = append(brokers, q)
		}
		return slices.Compact(brokers)
	}
	if index < 0 || len(queues) == 0 {
		return nil
	}
	if n > len(queues) {
		return queues[index%len(queues) : index%len(queues)+1]
	}
	var mine []protocol.MessageQueue
	for i := range int(number) + 1 {
		mine = append(mine, divide(queues, (index+i)%n, n)...)
	}
	return mine
}

// compareQueues orders queues by topic, broker and id.
func compareQueues(a, b protocol.MessageQueue) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.BrokerName, b.BrokerName), cmp.Compare(a.QueueID, b.QueueID))
}
