// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/index"
	"rocketmq-go/store/segment"
)

const rebuildBatch = 4096 // records between two writes of units

// queueRebuild makes consume queues from the records of the log.
type queueRebuild struct {
	*repairer
	old     map[queueName]*queueFiles
	new     map[queueName]*consumequeue.Queue
	touched map[*consumequeue.Queue]bool
	fds     *segment.FDs
	gone    func(topic []byte, phy int64) bool
	records int64
	units   int64
}

func (r *repairer) rebuildQueues() error {
	b := queueRebuild{
		repairer: r, old: make(map[queueName]*queueFiles), new: make(map[queueName]*consumequeue.Queue),
		touched: make(map[*consumequeue.Queue]bool), fds: segment.NewFDs(256),
	}
	for _, q := range r.t.queues {
		b.old[q.queueName] = q
	}
	var err error
	if b.gone, err = store.DeletedRecords(r.Dir); err != nil {
		return err
	}
	for _, root := range [...]string{simpleQueues, batchQueues} {
		if err := os.RemoveAll(b.made(root)); err != nil { // of a run that was ended
			return err
		}
	}
	if err := os.MkdirAll(b.made(simpleQueues), 0o755); err != nil {
		return err
	}
	res, err := r.walk(b.record)
	if err == nil {
		err = b.write()
	}
	for _, q := range b.new {
		if err == nil {
			err = q.Sync()
		}
		q.Close()
	}
	if err != nil {
		return err
	}
	if err := b.keep(res.begin); err != nil {
		return err
	}
	for _, root := range [...]string{simpleQueues, batchQueues} {
		if isDir(r.join(root)) || isDir(b.made(root)) {
			if err := r.replace(root, b.made(root)); err != nil {
				return err
			}
		}
	}
	if err := r.setAsideExt(); err != nil {
		return err
	}
	r.say("consume queues: %d units of %d records in %d queues, made anew from log %d..%d", b.units, b.records, len(b.new), res.begin, res.end)
	return nil
}

// replace puts a directory made anew in the place of the old one.
func (r *repairer) replace(name, made string) error {
	if err := r.move(r.join(name), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(made, r.join(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d, err := os.Open(r.Dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (b *queueRebuild) record(rec *message.Record, _ []byte) error {
	if !store.IsQueued(rec.SysFlag) || b.gone(rec.Topic, rec.PhyOffset) {
		return nil
	}
	known := message.ScanKnown(rec.Properties)
	name := queueName{string(rec.Topic), rec.QueueID}
	if q := b.kind(name); !q.fits(rec, &known) {
		return nil
	}
	u := consumequeue.BatchUnit{
		Unit: consumequeue.Unit{
			PhyOffset: rec.PhyOffset, Size: rec.Size,
			TagsCode: store.UnitTagsCode(name.topic, &known, rec.StoreTimestamp, b.o.DelayLevels),
		},
		StoreTime: rec.StoreTimestamp, Offset: rec.QueueOffset, Count: int16(countOf(rec, &known)),
	}
	if err := b.add(name, u); err != nil {
		return err
	}
	err := further(&known, func(name string, offset int64) error {
		for _, id := range [2]int32{0, rec.QueueID} {
			if n := (queueName{name, id}); b.old[n] != nil || id == 0 && strings.HasPrefix(name, "%LMQ%") {
				u.Offset, u.Count = offset, 1
				return b.add(n, u)
			}
		}
		return nil
	})
	if b.records++; err == nil && b.records%rebuildBatch == 0 {
		err = b.write()
	}
	return err
}

// made is where queues are made.
func (b *queueRebuild) made(root string) string { return b.join(root + ".new") }

// kind is a queue as it was, or, without files, of the kind that its topic has.
func (b *queueRebuild) kind(n queueName) *queueFiles {
	if q := b.old[n]; q != nil {
		return q
	}
	return &queueFiles{queueName: n, batch: b.t.isBatchTopic(n.topic)}
}

// open begins a new queue.
func (b *queueRebuild) open(n queueName) (*consumequeue.Queue, error) {
	o := consumequeue.Options{FDs: b.fds, Log: slog.New(slog.DiscardHandler)}
	sizes, given, root := b.t.sizes, b.o.Sizes, simpleQueues
	if o.Batch = b.kind(n).batch; o.Batch {
		root, o.FileSize = batchQueues, cmp.Or(sizes.BatchQueueFile, given.BatchQueueFile, 300000*consumequeue.BatchUnitSize)
	} else {
		o.FileSize = cmp.Or(sizes.ConsumeQueueFile, given.ConsumeQueueFile, 6000000)
	}
	o.Dir = filepath.Join(b.made(root), n.topic, strconv.Itoa(int(n.id)))
	return consumequeue.Open(o)
}

func (b *queueRebuild) add(n queueName, u consumequeue.BatchUnit) error {
	q := b.new[n]
	if q != nil && u.Offset == 0 {
		// the numbering began anew: what was before belonged to a topic that was deleted
		b.say("%s: numbering begins anew at log %d, older messages get no units", n, u.PhyOffset)
		delete(b.touched, q)
		if err := q.Delete(); err != nil {
			return err
		}
		q.Close()
		q = nil
	}
	if q == nil {
		var err error
		if q, err = b.open(n); err != nil {
			return err
		}
		b.new[n] = q
	}
	if q.IsBatch() && q.CollectBatch(u) || !q.IsBatch() && q.Collect(u.Unit, u.Offset) {
		b.units++
		b.touched[q] = true
	}
	return nil
}

func (b *queueRebuild) write() error {
	for q := range b.touched {
		if err := q.Write(); err != nil {
			return err
		}
	}
	clear(b.touched)
	return nil
}

// keep copies the queues that have no messages any more: their files remember the next queue offset. Queues whose
// messages should be in the log, and are not, are left out.
func (b *queueRebuild) keep(minPhy int64) error {
	for _, q := range b.t.queues {
		begin, end, err := q.bounds()
		if err != nil {
			return err
		}
		if made := b.new[q.queueName]; made != nil {
			if _, was, err := q.offsets(begin, end); err != nil {
				return err
			} else if was > made.Max() {
				b.say("%s: ends at queue offset %d, before at %d: the messages between are not in the log", q.queueName, made.Max(), was)
			}
			continue
		}
		if end == 0 {
			continue
		}
		expired := end == begin
		if !expired {
			u, _, err := q.unit(end - 1)
			if err != nil {
				return err
			}
			expired = u.PhyOffset < minPhy
		}
		if !expired {
			b.say("%s: the log has none of its messages: it is left out, and would begin at queue offset 0 again", q.queueName)
			continue
		}
		for _, f := range q.files {
			root, rest, _ := strings.Cut(q.folder(), "/")
			if err := copyFile(filepath.Join(b.made(root), rest, filepath.Base(f.path)), f.path); err != nil {
				return err
			}
		}
		_, next, err := q.offsets(begin, end)
		if err != nil {
			return err
		}
		b.say("%s: has no messages any more; kept as it is for its queue offset %d", q.queueName, next)
	}
	return nil
}

func (r *repairer) rebuildIndex() error {
	given := r.o.Sizes
	slots, units := given.IndexSlots, given.IndexUnits
	if len(r.t.index) > 0 {
		if s, u, ok := indexShape(r.t.index[0].size, given); ok {
			slots, units = s, u
		} else if slots == 0 || units == 0 {
			return errors.New("the index files do not tell maxHashSlotNum and maxIndexNum: give the configuration")
		}
	}
	dir := r.join("index.new")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	x, err := index.Open(index.Options{
		Dir: dir, Slots: cmp.Or(slots, 5000000), Units: cmp.Or(units, 20000000), Now: r.o.Now, Log: slog.New(slog.DiscardHandler),
	}, func(index.Header) bool { return true })
	if err != nil {
		return err
	}
	defer x.Close()
	var records int64
	res, err := r.walk(func(rec *message.Record, _ []byte) error {
		if rec.TransactionType() == message.SysRollback {
			return nil
		}
		known := message.ScanKnown(rec.Properties)
		if len(known.UniqKey)+len(known.Keys) > 0 {
			records++
		}
		return x.Add(string(rec.Topic), known.UniqKey, known.Keys, rec.PhyOffset, rec.StoreTimestamp)
	})
	if err != nil {
		return err
	}
	if err := x.SyncFull(math.MaxInt64, func(int64) {}); err != nil {
		return err
	}
	if err := x.Sync(); err != nil {
		return err
	}
	if err := r.replace("index", dir); err != nil {
		return err
	}
	r.say("index: %d messages with keys in %d files, made anew from log %d..%d", records, len(x.Headers()), res.begin, res.end)
	return nil
}
