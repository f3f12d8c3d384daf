// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import "rocketmq-go/remoting/protocol"

// Replace makes the table a copy of a master's (the body of code 21), of the same version. The broker's own topics stay
// also where the master, of another release, does not have them. gone are the topics that were there and are not any more.
func (t *Table) Replace(master *protocol.TopicConfigSerializeWrapper) (gone []string) {
	var changed []string
	t.mu.Lock()
	if t.version == master.DataVersion {
		t.mu.Unlock()
		return nil
	}
	for name, old := range t.topics.All() {
		if cfg, ok := master.TopicConfigTable.Get(name); !ok && !t.system[name] {
			gone = append(gone, name)
		} else if ok && cfg != nil && !equal(old, cfg) {
			changed = append(changed, name)
		}
	}
	for _, name := range gone {
		t.topics.Delete(name)
	}
	for name, cfg := range master.TopicConfigTable.All() {
		if cfg == nil || name == "" {
			continue
		}
		if old, ok := t.topics.Get(name); !ok {
			changed = append(changed, name)
		} else if equal(old, cfg) {
			continue
		}
		t.enter(name, cfg)
	}
	t.version = master.DataVersion
	t.body.Store(nil)
	t.writer.Changed()
	t.mu.Unlock()
	if len(changed)+len(gone) > 0 {
		t.o.Log.Info("topics taken over from the master", "changed", changed, "gone", gone)
		t.onChange(append(changed, gone...))
	}
	return gone
}

// enter puts a configuration that a file or a master brings into the table.
func (t *Table) enter(name string, cfg *protocol.TopicConfig) {
	if cfg.TopicName == "" {
		cfg.TopicName = name
	}
	if cfg.ReadQueueNums > MaxQueues || cfg.WriteQueueNums > MaxQueues {
		t.o.Log.Error("topic has too many queues, the others are not served", "topic", name, "read", cfg.ReadQueueNums,
			"write", cfg.WriteQueueNums, "max", MaxQueues)
		cfg.ReadQueueNums, cfg.WriteQueueNums = min(cfg.ReadQueueNums, MaxQueues), min(cfg.WriteQueueNums, MaxQueues)
	}
	t.topics.Set(name, cfg)
}
