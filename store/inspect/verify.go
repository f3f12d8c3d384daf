// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"maps"
	"slices"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// VerifyOptions of Verify; all may be zero.
type VerifyOptions struct {
	Sizes       Sizes                   // from a configuration, where the files do not tell
	DelayLevels []time.Duration         // nil: Java's defaults
	Progress    func(done, total int64) // bytes of the log
}

// Verify reads a whole store and tells where log, consume queues and index do not agree. It changes nothing; of a
// store that is in use it sees a moment, and ends of log and queues that do not fit yet.
func Verify(p Place, o VerifyOptions) (*Report, error) {
	t, err := openTree(p)
	if err != nil {
		return nil, err
	}
	v := &verifier{t: t, o: o, queues: make(map[queueName]*queueCheck), gone: make(map[string]int64)}
	defer v.close()
	return &v.report, v.run()
}

type verifier struct {
	t      *tree
	o      VerifyOptions
	report Report
	queues map[queueName]*queueCheck
	index  *indexCheck
	topics map[string]bool // nil: not known
	delete func(topic []byte, phy int64) bool
	gone   map[string]int64 // messages of deleted topics
	hashes []int32
}

func (v *verifier) close() {
	if v.index != nil {
		v.index.close()
	}
}

func (v *verifier) run() error {
	v.files()
	var err error
	if v.delete, err = store.DeletedRecords(v.t.Dir); err != nil {
		return err
	}
	v.topics = topicNames(v.t.Place)
	for _, q := range v.t.queues {
		if v.queues[q.queueName], err = newQueueCheck(q, &v.report, v.t.log.first()); err != nil {
			return err
		}
	}
	v.index = newIndexCheck(v.t, &v.report, v.o.Sizes)
	newest, err := v.t.newest()
	if err != nil {
		return err
	}
	w := walker{log: &v.t.log, newest: newest, visit: v.record, found: v.gap}
	if n := len(v.t.log.files); n > 0 && v.o.Progress != nil {
		begin, total := v.t.log.first(), v.t.log.files[n-1].base+v.t.log.size-v.t.log.first()
		w.tick = func(pos int64) { v.o.Progress(pos-begin, total) }
		defer v.o.Progress(total, total)
	}
	res, err := w.run()
	if err != nil {
		return err
	}
	v.report.Begin, v.report.End, v.report.Records = res.begin, res.end, res.records
	v.tail(&res)
	for _, q := range v.t.queues {
		if err := v.queues[q.queueName].finish(res.end); err != nil {
			return err
		}
		delete(v.queues, q.queueName)
	}
	// what the log has and the directory has not
	for _, name := range slices.SortedFunc(maps.Keys(v.queues), queueName.compare) {
		if err := v.queues[name].finish(res.end); err != nil {
			return err
		}
	}
	v.rest()
	return v.index.finish()
}

// files looks at sizes and neighbours.
func (v *verifier) files() {
	t := v.t
	for i, f := range t.log.files {
		last := i == len(t.log.files)-1
		switch {
		case f.size == 0 && last:
			v.report.damage(t.rel(f.path), "is empty: 5.x and this server delete it, 4.9 does not start")
		case f.size != t.log.size:
			v.report.damage(t.rel(f.path), "has %d bytes, the file size is %d: no broker starts with it", f.size, t.log.size)
		}
	}
	for _, q := range t.queues {
		for i, f := range q.files {
			if f.size != q.size {
				v.report.damage(t.rel(f.path), "has %d bytes, the file size is %d: no broker starts with it", f.size, q.size)
			}
			if i > 0 && q.files[i-1].base+q.size != f.base {
				v.report.damage(t.rel(f.path), "the file before it is missing")
			}
		}
	}
	if len(t.log.files) == 0 && len(t.queues) > 0 {
		v.report.damage(t.rel(t.logDirs()[0]), "is gone: a broker that starts deletes all consume queues")
	}
	if t.abort {
		v.report.note("abort", "the store is in use or was not stopped cleanly: a start will check the end of the log")
	}
	if _, ok := t.checkpointTimes(); !ok && len(t.log.files) > 0 {
		v.report.note("checkpoint", "is missing or too short: after a crash a start reads the whole log")
	}
}

func (v *verifier) gap(g gap) {
	v.report.damage(v.t.at(g.from), "log %d..%d (%d bytes) cannot be read: %s", g.from, g.to, g.to-g.from, g.why)
}

// tail judges what follows the end of the log.
func (v *verifier) tail(res *walkResult) {
	if res.left == 0 {
		return
	}
	if v.t.abort {
		v.report.damage(v.t.at(res.end), "log %d: %d bytes behind the last record are none (%s): a start drops them", res.end, res.left, res.why)
		return
	}
	v.report.note(v.t.at(res.end), "log %d: %d bytes behind the last record are left over from an earlier end of the log", res.end, res.left)
}

// record compares a record with queues and index.
func (v *verifier) record(r *message.Record, _ []byte) error {
	known := message.ScanKnown(r.Properties)
	if !v.delete(r.Topic, r.PhyOffset) && store.IsQueued(r.SysFlag) {
		if err := v.units(r, &known); err != nil {
			return err
		}
	}
	if len(v.t.index) == 0 && !v.index.begun && len(known.UniqKey)+len(known.Keys) == 0 {
		return nil
	}
	v.hashes = keyHashes(r, &known, v.hashes[:0])
	return v.index.record(r, v.hashes)
}

func (v *verifier) units(r *message.Record, known *message.Known) error {
	tags := tagsCheck(r, known, v.o.DelayLevels)
	if q := v.queue(r); q != nil {
		if !q.fits(r, known) {
			q.unfit++
			return nil
		}
		if err := q.record(r, r.QueueOffset, tags); err != nil {
			return err
		}
	}
	return further(known, func(topic string, offset int64) error {
		// only those that are there: whether there should be any is a matter of configuration
		for _, id := range [2]int32{0, r.QueueID} {
			if q := v.queues[queueName{topic, id}]; q != nil {
				return q.record(r, offset, func(int64) bool { return true })
			}
		}
		return nil
	})
}

// queue is the check of a record's queue. nil if its topic was deleted.
func (v *verifier) queue(r *message.Record) *queueCheck {
	if q := v.queues[queueName{string(r.Topic), r.QueueID}]; q != nil {
		return q
	}
	name := queueName{string(r.Topic), r.QueueID}
	if v.topics != nil && !v.topics[name.topic] {
		v.gone[name.topic]++
		return nil
	}
	q := &queueCheck{queueFiles: &queueFiles{queueName: name, batch: v.t.isBatchTopic(name.topic)}, report: &v.report, last: -1}
	v.queues[name] = q
	return q
}

// rest tells what was not checked.
func (v *verifier) rest() {
	for _, topic := range slices.Sorted(maps.Keys(v.gone)) {
		n := v.gone[topic]
		v.report.note(topic, "%d messages in the log, but neither consume queues nor an entry in topics.json: the topic was deleted", n)
	}
	for _, folder := range v.t.leftOut {
		v.report.damage(folder, "the topic has queues of the other kind: these are not read, and Java does not start with them")
	}
}
