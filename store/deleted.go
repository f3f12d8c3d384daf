// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"rocketmq-go/store/segment"
)

// deletedTopics remembers where the log ended when a topic's queues were deleted: records before belong to nobody any
// more. Without that, a start that dispatches part of the log again would bring them back. It is a text file of ours
// (Java does not look at it), a line "offset topic" each; an entry is dropped when the log no longer reaches back to it.
type deletedTopics struct {
	path string
	sync *segment.Syncer

	mu     sync.RWMutex
	before map[string]int64
}

func openDeletedTopics(dir string, sync *segment.Syncer) (*deletedTopics, error) {
	d := &deletedTopics{sync: sync, path: filepath.Join(dir, "deletedTopics"), before: make(map[string]int64)}
	f, err := os.Open(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		offset, topic, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseInt(offset, 10, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("store: %s: line %q", d.path, lines.Text())
		}
		d.before[topic] = n
	}
	return d, lines.Err()
}

// has tells whether the record of a topic at an offset was deleted with it.
func (d *deletedTopics) has(topic []byte, phyOffset int64) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	end, ok := d.before[string(topic)]
	return ok && phyOffset < end
}

// add notes that topics were deleted when the log ended at end and began at minPhy.
func (d *deletedTopics) add(topics []string, end, minPhy int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for topic, offset := range d.before {
		if offset <= minPhy {
			delete(d.before, topic)
		}
	}
	for _, topic := range topics {
		if !strings.ContainsAny(topic, "\r\n") {
			d.before[topic] = end
		}
	}
	return d.save()
}

// cut says that the log ends at end: what will be appended there belongs to its topic.
func (d *deletedTopics) cut(end int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed := false
	for topic, offset := range d.before {
		if offset > end {
			d.before[topic], changed = end, true
		}
	}
	if !changed {
		return nil
	}
	return d.save()
}

// save writes the file; d.mu is held.
func (d *deletedTopics) save() error {
	var text []byte
	for topic, offset := range d.before {
		text = fmt.Appendf(text, "%d %s\n", offset, topic)
	}
	tmp := d.path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(text)
	if err = errors.Join(err, d.sync.File(int(f.Fd()), tmp, nil, 0, int64(len(text)))); err != nil {
		return err
	}
	if err := os.Rename(tmp, d.path); err != nil {
		return err
	}
	d.sync.Changed(filepath.Dir(d.path))
	return d.sync.Names(filepath.Dir(d.path)) // the queues are deleted next
}
