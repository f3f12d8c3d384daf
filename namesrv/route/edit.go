// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package route

import "rocketmq-go/remoting/protocol"

// WipeWrite takes the write permission off all topics of a broker name and returns how many it has. It lasts until
// the broker registers with another data version.
func (t *Table) WipeWrite(broker string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changePerm(broker, withoutWrite)
}

// AddWrite makes all topics of a broker name readable and writable, which also clears the inherit bit, and returns
// how many it has.
func (t *Table) AddWrite(broker string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changePerm(broker, func(int32) int32 { return PermRead | PermWrite })
}

// DeleteTopic removes a topic with its static mapping.
func (t *Table) DeleteTopic(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mappings, name)
	if tp := t.topics[name]; tp != nil {
		for _, q := range tp.queues {
			if b := t.brokers[q.broker]; b != nil {
				b.gen++
			}
		}
		delete(t.topics, name)
	}
}

// DeleteTopicInCluster removes a topic from the brokers of one cluster.
func (t *Table) DeleteTopicInCluster(name, cluster string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for broker := range t.clusters[cluster] {
		t.removeQueues(name, broker)
	}
}

// AddTopic adds queues of one topic. It stops at the first broker name that is not registered; for a topic that was
// unknown nothing is added then.
func (t *Table) AddTopic(name string, queues []protocol.QueueData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, known := t.topics[name]
	for n, q := range queues {
		if t.brokers[q.BrokerName] != nil {
			continue
		}
		if !known {
			return
		}
		queues = queues[:n]
		break
	}
	for _, q := range queues {
		b := t.brokers[q.BrokerName]
		if t.setQueues(name, b, Queues{q.ReadQueueNums, q.WriteQueueNums, q.Perm, q.TopicSysFlag}) {
			b.gen++
		}
	}
}
