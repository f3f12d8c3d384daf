// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

const (
	messageType   = "message.type"
	cleanupPolicy = "cleanup.policy"
	compacted     = "COMPACTION"
	queueType     = "queue.type"
	batchQueue    = "BatchCQ"
)

// IsCompacted tells whether of a topic's messages only the newest of each key shall stay.
func (t *Table) IsCompacted(name string) bool {
	cfg := t.Get(name)
	return cfg != nil && isCompacted(cfg)
}

// IsBatch tells whether a topic's client batches are one record each, in batch queues.
func IsBatch(cfg *protocol.TopicConfig) bool {
	kind, _ := cfg.Attributes.Get(queueType)
	return kind == batchQueue
}

// IsBatch tells it of the topic of that name.
func (t *Table) IsBatch(name string) bool {
	cfg := t.Get(name)
	return cfg != nil && IsBatch(cfg)
}

// Compacted lists these topics with the number of their queues.
func (t *Table) Compacted() map[string]int32 {
	list := map[string]int32{}
	for _, cfg := range t.All() {
		if isCompacted(cfg) {
			list[cfg.TopicName] = max(cfg.WriteQueueNums, cfg.ReadQueueNums)
		}
	}
	return list
}

// isCompacted: the records of batch queues have the keys of several messages, and stay.
func isCompacted(cfg *protocol.TopicConfig) bool {
	policy, _ := cfg.Attributes.Get(cleanupPolicy)
	return policy == compacted && !IsBatch(cfg)
}

// attribute describes one attribute that a topic may have (5.x).
type attribute struct {
	values     []string // the allowed words; nil: a number above min
	min        int64
	changeable bool
}

// attributes are all that exist. The order of the values is that of Java's refusal.
var attributes = map[string]attribute{
	messageType:    {values: []string{"UNSPECIFIED", "TRANSACTION", "FIFO", "MIXED", "DELAY", "NORMAL"}, changeable: true},
	queueType:      {values: []string{"SimpleCQ", batchQueue}},
	cleanupPolicy:  {values: []string{"DELETE", compacted}},
	"reserve.time": {min: -1, changeable: true},
}

// ParseAttributes reads the attributes of a request, "+key=value,-key". The keys keep their sign. The error carries
// code 1.
func ParseAttributes(text string) (fastjson.Map[string, string], error) {
	changes := fastjson.MapOf[string, string](0)
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		key, value, set := strings.Cut(part, "=")
		sign, format := "-", "delete attribute format is wrong: %s"
		if set {
			sign, format = "+", "add/alter attribute format is wrong: %s"
		}
		if !strings.HasPrefix(key, sign) {
			return changes, protocol.Errorf(protocol.RespSystemError, format, key)
		}
		if _, twice := changes.Get(key); twice {
			return changes, protocol.Errorf(protocol.RespSystemError, "key duplication: %s", key)
		}
		changes.Set(strings.Clone(key), strings.Clone(value))
	}
	return changes, nil
}

// alter applies the changes in cfg to the attributes of old, nil for a new topic.
func alter(old, cfg *protocol.TopicConfig) (fastjson.Map[string, string], error) {
	result := fastjson.MapOf[string, string](0)
	if old != nil && !old.Attributes.IsNil() {
		result = old.Attributes.Clone()
	}
	refuse := func(format, key string) (fastjson.Map[string, string], error) {
		return result, protocol.Errorf(protocol.RespSystemError, format, key)
	}
	seen := map[string]bool{}
	for signed, value := range cfg.Attributes.All() {
		key := strings.TrimLeft(signed, "+-")
		add, remove := strings.HasPrefix(signed, "+"), strings.HasPrefix(signed, "-")
		switch {
		case !add && !remove:
			return refuse("wrong format key: %s", key)
		case old == nil && remove:
			return refuse("only add attribute is supported while creating topic. key: %s", key)
		case seen[key]:
			return refuse("alter duplication key. key: %s", key)
		}
		seen[key] = true
		a, ok := attributes[key]
		if !ok {
			return refuse("unsupported key: %s", key)
		}
		if old != nil && !a.changeable {
			return refuse("attempt to update an unchangeable attribute. key: %s", key)
		}
		if remove {
			if !result.Delete(key) {
				return refuse("attempt to delete a nonexistent key: %s", key)
			}
			continue
		}
		if err := a.check(value); err != nil {
			return result, err
		}
		result.Set(key, value)
	}
	return result, nil
}

func (a attribute) check(value string) error {
	if a.values != nil {
		if !slices.Contains(a.values, value) {
			return protocol.Errorf(protocol.RespSystemError, "value is not in set: [%s]", strings.Join(a.values, ", "))
		}
		return nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < a.min {
		return protocol.Errorf(protocol.RespSystemError, "value is not in range(%d, 9223372036854775807)", a.min)
	}
	return nil
}
