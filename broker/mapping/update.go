// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mapping

import (
	"rocketmq-go/remoting/protocol"
)

// Update sets the mapping of a topic (code 513). What is decided may not change: an epoch never goes back, and segments
// keep queue, start and place. Queues that a newer mapping does not name stay as they were. With force only that is done.
// The mapping belongs to the table afterwards. Errors have Java's texts.
func (t *Table) Update(d *protocol.TopicQueueMappingDetail, force bool) error {
	if err := t.set(d, force); err != nil {
		return err
	}
	t.o.Log.Info("static topic changed", "topic", d.Topic, "epoch", d.Epoch, "queues", d.HostedQueues.Len(), "of", d.TotalQueues)
	if t.o.Changed != nil {
		t.o.Changed(d.Topic)
	}
	return nil
}

func (t *Table) set(d *protocol.TopicQueueMappingDetail, force bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.prepareLocked(d, force); err != nil {
		return err
	}
	t.topics.Set(d.Topic, d)
	t.changedLocked()
	return nil
}

// Check tells whether Update would take a mapping.
func (t *Table) Check(d *protocol.TopicQueueMappingDetail, force bool) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.prepareLocked(d, force)
}

// prepareLocked checks a mapping, and adds what it leaves out of the one that it replaces.
func (t *Table) prepareLocked(d *protocol.TopicQueueMappingDetail, force bool) error {
	if d.Bname != t.o.Broker {
		return refuse("the mapping is for broker %s, and this one is %s", d.Bname, t.o.Broker)
	}
	for id, items := range d.HostedQueues.All() {
		if err := check(id, items); err != nil {
			return err
		}
	}
	if old, ok := t.topics.Get(d.Topic); ok {
		return merge(old, d, force)
	}
	return nil
}

func refuse(format string, args ...any) error {
	return protocol.Errorf(protocol.RespSystemError, format, args...)
}

// merge checks a mapping against the one that it replaces, and takes over the queues that it leaves out.
func merge(old, d *protocol.TopicQueueMappingDetail, force bool) error {
	same := d.Epoch == old.Epoch
	if !force {
		if d.Epoch < old.Epoch {
			return refuse("Can't accept data with small epoch %d < %d", d.Epoch, old.Epoch)
		}
		if d.Scope != old.Scope {
			return refuse("Can't accept data with unmatched scope %s != %s", d.Scope, old.Scope)
		}
	}
	for id, items := range old.HostedQueues.All() {
		next, ok := d.HostedQueues.Get(id)
		switch {
		case force && ok:
		case ok:
			if err := unchanged(id, items, next, same); err != nil {
				return err
			}
		case same && !force:
			return refuse("Cannot accept equal epoch with null data")
		default:
			d.HostedQueues.Set(id, items)
		}
	}
	return nil
}

// unchanged checks that no segment of a queue is another one than before.
func unchanged(id int32, old, next []Item, sameEpoch bool) error {
	if len(old) == 0 { // only a damaged file has that
		return nil
	}
	if last, newest := &old[len(old)-1], &next[len(next)-1]; newest.Gen < last.Gen {
		return refuse("The gen does not increase monotonically")
	} else if sameEpoch && (newest.Gen != last.Gen || newest.Bname != last.Bname || newest.QueueID != last.QueueID) {
		return refuse("The new leader is different but epoch equal")
	}
	was := map[int32]*Item{}
	for i := range old {
		was[old[i].Gen] = &old[i]
	}
	for i := range next {
		n, o := &next[i], was[next[i].Gen]
		if o == nil {
			continue
		}
		if o.Bname != n.Bname || o.QueueID != n.QueueID || o.StartOffset != n.StartOffset ||
			o.LogicOffset != n.LogicOffset && o.LogicOffset != -1 {
			return refuse("The new item of queue %d is not equal to the old one of generation %d", id, n.Gen)
		}
	}
	return nil
}

// check looks at the segments of one queue: they follow one another, in generation and place.
func check(id int32, items []Item) error {
	if id < 0 || len(items) == 0 {
		return refuse("The new item list is null or empty")
	}
	var before *Item
	for i := range items {
		n := &items[i]
		last := i == len(items)-1
		switch {
		case n.Bname == "" || n.Gen < 0 || n.QueueID < 0 || n.StartOffset < 0:
			return refuse("An item of queue %d has a field below 0, or no broker", id)
		case n.LogicOffset < 0 && !last:
			return refuse("The non-latest item has negative logic offset")
		case n.EndOffset >= 0 && n.EndOffset < n.StartOffset:
			return refuse("An item of queue %d ends before it starts", id)
		case before != nil && n.Gen <= before.Gen:
			return refuse("The gen does not increase monotonically")
		case before != nil && n.LogicOffset >= 0 && (n.LogicOffset < before.LogicOffset || n.LogicOffset < end(before)):
			return refuse("The logic offsets of queue %d do not increase", id)
		}
		before = n
	}
	return nil
}
