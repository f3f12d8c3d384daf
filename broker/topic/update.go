// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package topic

import (
	"strings"

	"rocketmq-go/remoting/protocol"
)

// Update creates or changes a topic (codes 17 and 18). cfg.Attributes hold changes as ParseAttributes gives them:
// "+key" sets, "-key" removes. changed is false when the topic is like that already. The errors carry the code and
// remark that the client sees. Negative queue numbers and odd permissions are stored as given, as in Java; more than MaxQueues are refused.
// Wait for Sync before the answer.
func (t *Table) Update(cfg *protocol.TopicConfig) (changed bool, err error) {
	name, err := t.update(cfg)
	if name != "" {
		t.onChange([]string{name})
	}
	return name != "", err
}

// Touch makes name servers hear of a topic again: they take a new mapping of a static topic with a new version only.
func (t *Table) Touch(name string) {
	t.mu.Lock()
	cfg, ok := t.topics.Get(name)
	if ok {
		same := *cfg
		t.setLocked(&same)
	}
	t.mu.Unlock()
	if ok {
		t.onChange([]string{name})
	}
}

// UpdateAll does it for a list, up to the first error. Name servers are told once.
func (t *Table) UpdateAll(list []protocol.TopicConfig) error {
	var names []string
	var err error
	for i := 0; i < len(list) && err == nil; i++ {
		var name string
		if name, err = t.update(&list[i]); name != "" {
			names = append(names, name)
		}
	}
	if names != nil {
		t.onChange(names)
	}
	return err
}

// update returns the name of a topic that was changed.
func (t *Table) update(cfg *protocol.TopicConfig) (name string, err error) {
	if err := t.check(cfg); err != nil {
		return "", err
	}
	changed := false
	t.mu.Lock()
	old, ok := t.topics.Get(cfg.TopicName)
	n := *cfg
	n.TopicName = strings.Clone(cfg.TopicName)
	n.Attributes, err = alter(old, cfg)
	if err == nil {
		changed = !ok || !equal(old, &n)
		if changed {
			t.setLocked(&n)
		}
	}
	t.mu.Unlock()
	if !changed {
		return "", err
	}
	t.o.Log.Info("topic changed", "topic", n.TopicName, "new", !ok, "read", n.ReadQueueNums, "write", n.WriteQueueNums,
		"perm", n.Perm, "order", n.Order)
	return n.TopicName, nil
}

// Check tells whether Update would take the topic's name and attributes: code 18 checks all its topics first.
func (t *Table) Check(cfg *protocol.TopicConfig) error { return t.check(cfg) }

func (t *Table) check(cfg *protocol.TopicConfig) error {
	if err := t.Validate(cfg.TopicName); err != nil {
		return err
	}
	if cfg.ReadQueueNums > MaxQueues || cfg.WriteQueueNums > MaxQueues {
		return protocol.Errorf(t.invalid(), "The topic[%s] has %d queues to read and %d to write, at most %d are possible.",
			cfg.TopicName, cfg.ReadQueueNums, cfg.WriteQueueNums, MaxQueues)
	}
	rules := t.o.Rules()
	if rules.ValidateSystem && t.IsSystem(cfg.TopicName) {
		return protocol.Errorf(t.invalid(), "The topic[%s] is conflict with system topic.", cfg.TopicName)
	}
	if kind, ok := cfg.Attributes.Get("+" + messageType); ok && kind == "MIXED" && !rules.EnableMixedType {
		return protocol.Errorf(t.invalid(), "MIXED message type is not supported.")
	}
	return nil
}

// equal compares all but the name.
func equal(a, b *protocol.TopicConfig) bool {
	if a.ReadQueueNums != b.ReadQueueNums || a.WriteQueueNums != b.WriteQueueNums || a.Perm != b.Perm ||
		a.TopicFilterType != b.TopicFilterType || a.TopicSysFlag != b.TopicSysFlag || a.Order != b.Order ||
		a.Attributes.Len() != b.Attributes.Len() {
		return false
	}
	for k, v := range a.Attributes.All() {
		if w, ok := b.Attributes.Get(k); !ok || v != w {
			return false
		}
	}
	return true
}

// CheckDelete tells whether a topic may be deleted (code 215).
func (t *Table) CheckDelete(name string) error {
	if isBlank(name) {
		return protocol.Errorf(t.invalid(), "The specified topic is blank.")
	}
	if t.IsSystem(name) {
		return protocol.Errorf(t.invalid(), "The topic[%s] is conflict with system topic.", name)
	}
	return nil
}
