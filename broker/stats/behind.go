// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package stats

import (
	"maps"
	"strings"
	"sync"
)

// Behind knows how far behind the log's end groups read: for each of their queues what the last pull that brought
// messages showed. Its zero value is ready.
type Behind struct {
	mu    sync.Mutex
	bytes map[behindKey]int64
}

type behindKey struct {
	group, topic string
	queueID      int32
}

// Read notes that the last message that a group was given lies so many bytes before the log's end. The names may be views.
func (b *Behind) Read(group, topic string, queueID int32, bytes int64) {
	key := behindKey{group, topic, queueID}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.bytes[key]; !known {
		key.group, key.topic = strings.Clone(group), strings.Clone(topic)
	}
	if b.bytes == nil {
		b.bytes = map[behindKey]int64{}
	}
	b.bytes[key] = bytes
}

// TakeSlow gives the groups that are more than a number of bytes behind in one of their queues, with the most they are
// behind, and forgets these groups: who goes on to read them is noted anew.
func (b *Behind) TakeSlow(threshold int64) map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	slow := map[string]int64{}
	for key, bytes := range b.bytes {
		if bytes > threshold {
			slow[key.group] = max(slow[key.group], bytes)
		}
	}
	maps.DeleteFunc(b.bytes, func(key behindKey, _ int64) bool { _, ok := slow[key.group]; return ok })
	return slow
}

func (b *Behind) remove(gone func(group, topic string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.bytes, func(key behindKey, _ int64) bool { return gone(key.group, key.topic) })
}
