// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/message"
	"rocketmq-go/store/consumequeue"
)

// Folders of the two kinds of consume queues.
const (
	simpleQueues = "consumequeue"
	batchQueues  = "batchconsumequeue"
)

// folder is where the files of a queue are, below the store directory.
func (q *queueFiles) folder() string {
	root := simpleQueues
	if q.batch {
		root = batchQueues
	}
	return filepath.Join(root, q.topic, strconv.Itoa(int(q.id)))
}

func (q *queueFiles) unitSize() int64 {
	if q.batch {
		return consumequeue.BatchUnitSize
	}
	return consumequeue.UnitSize
}

// parse decodes unit n.
func (q *queueFiles) parse(b []byte, n int64) (s consumequeue.Span, used bool) {
	if q.batch {
		u := consumequeue.ParseBatchUnit(b)
		return u.Span(), u.InUse()
	}
	u := consumequeue.ParseUnit(b)
	return consumequeue.Span{Unit: u, Offset: n, Count: 1}, u.PhyOffset >= 0 && u.Size > 0
}

// span reads unit n.
func (q *queueFiles) span(n int64) (s consumequeue.Span, used bool, err error) {
	var b [consumequeue.BatchUnitSize]byte
	size := q.unitSize()
	got, err := q.readAt(b[:size], n*size)
	if err != nil || int64(len(got)) < size {
		return s, false, err
	}
	s, used = q.parse(got, n)
	return s, used, nil
}

// offsets are the queue offsets of the messages of units first to end.
func (q *queueFiles) offsets(first, end int64) (lo, hi int64, err error) {
	if !q.batch || first == end && first == 0 {
		return first, end, nil
	}
	last, _, err := q.span(end - 1)
	if err != nil || first == end {
		return last.End(), last.End(), err
	}
	s, _, err := q.span(first)
	return s.Offset, last.End(), err
}

// countOf is how many messages a record stands for in a batch queue.
func countOf(r *message.Record, known *message.Known) int64 {
	if r.SysFlag&message.SysInnerBatch == 0 || len(known.InnerNum) == 0 {
		return 1
	}
	n, err := strconv.ParseInt(string(known.InnerNum), 10, 16)
	if err != nil {
		return 0
	}
	return n
}

// fits tells whether a record belongs into a queue: inner batches into batch queues only, with a number that a unit can tell.
func (q *queueFiles) fits(r *message.Record, known *message.Known) bool {
	return (q.batch || r.SysFlag&message.SysInnerBatch == 0) && countOf(r, known) > 0
}

// isBatchTopic tells which kind of queues a topic has that is in topics.json.
func (t *tree) isBatchTopic(topic string) bool {
	if t.topics == nil {
		t.topics = &topicsFile{}
		_, _ = readMetadata(t.Place, "topics.json", t.topics)
	}
	entry, _ := t.topics.Topics.Get(topic)
	kind, _ := entry.Attributes.Get("queue.type")
	return kind == "BatchCQ"
}

// oneKind drops the queues of the other kind where a topic has both, as a start does.
func (t *tree) oneKind() {
	kept := t.queues[:0]
	for i, q := range t.queues {
		twin := i > 0 && t.queues[i-1].queueName == q.queueName || i+1 < len(t.queues) && t.queues[i+1].queueName == q.queueName
		if twin && q.batch != t.isBatchTopic(q.topic) {
			t.leftOut = append(t.leftOut, q.folder())
			continue
		}
		kept = append(kept, q)
	}
	t.queues = kept
}

// batchNames are the topics with batch queues.
func (t *tree) batchNames() (names []string) {
	for _, q := range t.queues {
		if q.batch && (len(names) == 0 || names[len(names)-1] != q.topic) {
			names = append(names, q.topic)
		}
	}
	return names
}

// batchTopics tells what becomes of batch queues.
func (c *checker) batchTopics(topics []string) {
	slices.Sort(topics)
	if topics = slices.Compact(topics); len(topics) == 0 {
		// only leftovers, if any
	} else if strings.HasPrefix(c.set.Compat, "4.9") {
		c.condition("BatchCQ topics (%s), and compatVersion=4.9.7 has no batch queues: they cannot be consumed, and sends to them "+
			"are refused", list(topics))
	} else {
		c.fact("batch queues: of BatchCQ topics (%s)", list(topics))
	}
	for _, q := range c.t.queues {
		if q.batch != c.t.isBatchTopic(q.topic) && (q.batch || c.holds(q.folder())) {
			c.condition("%s: topics.json has another queue.type for the topic: Java 5.x does not start with these files, this server "+
				"reads them as what they are", q.folder())
		}
	}
	for _, folder := range c.t.leftOut {
		c.condition("%s: the topic has queues of its own kind too: these files are left out, and Java does not start with them", folder)
	}
}

// batchTopics reads the topics with batch queues from a directory's config/topics.json, as Java's store code is told them.
func batchTopics(dir string) func(topic string) bool {
	t := tree{Place: Place{Dir: dir}}
	_ = t.isBatchTopic("") // reads the file: later calls may come from any goroutine
	return t.isBatchTopic
}
