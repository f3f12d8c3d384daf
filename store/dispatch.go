// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/consumequeue"
)

const (
	// maxPending bounds the records that wait for the dispatcher in memory; beyond that it reads the log.
	maxPending = 64 << 10
	// dispatchBatch is how many records are dispatched before their units are written and become visible.
	dispatchBatch = 512
)

// entry is a record that was appended and has to be dispatched.
type entry struct {
	q                                 *queue
	phyOffset, queueOffset, storeTime int64
	size, props, sysFlag              int32 // props: length of the properties at the end of the record
}

// dispatcher follows the log in order and feeds consume queues, index and Config.Arrived. It works on its own goroutine,
// on those that call Store.Dispatch, and on that of Open during recovery: on one at a time.
type dispatcher struct {
	s      *Store
	signal chan struct{}
	quit   chan struct{}
	done   sync.WaitGroup

	pos atomic.Int64 // records before are in the queues

	addKeys func(topic string, uniqKey, keys []byte, phyOffset, storeTime int64) error // of the index

	mu       sync.Mutex // guards what follows
	upTo     int64      // records before are collected
	patient  bool       // may wait for a full disk: on its own goroutine
	paused   bool       // it does so, in the middle of a step, and has let go of mu
	entries  []entry    // taken from the store
	next     int        // of entries
	reader   commitlog.Reader
	touched  []*queue // have collected units
	buffers  []consumequeue.Buffer
	bitMap   []byte
	arrivals []arrival
	scanned  int               // records read from the log
	topics   map[string]string // their topics
	lastTime int64             // store time (ms) of the last record
	quiet    bool              // recovery: nobody waits for arrivals, and what fails makes the start fail
	failed   error             // recovery: what failed
}

type arrival struct {
	Arrival
	props int64 // where the properties are in the log
	len   int32
}

func (d *dispatcher) init(s *Store) {
	d.s = s
	d.topics = make(map[string]string)
	d.signal = make(chan struct{}, 1)
	d.quit = make(chan struct{})
}

// wake tells the dispatcher that there is something to do.
func (d *dispatcher) wake() {
	select {
	case d.signal <- struct{}{}:
	default:
	}
}

func (d *dispatcher) run() {
	defer d.done.Done()
	for {
		d.work()
		select {
		case <-d.signal:
		case <-d.quit:
			d.work()
			return
		}
	}
}

// work dispatches all there is, on the dispatcher's goroutine.
func (d *dispatcher) work() {
	for more := true; more; {
		d.mu.Lock()
		d.patient = true
		more = d.step()
		d.patient = false
		if !more {
			d.reader.Close()
		}
		d.mu.Unlock() // between two steps topics can be deleted, however busy the senders are
	}
}

// Dispatch implements API.
func (s *Store) Dispatch() {
	d := &s.dispatch
	if s.cfg.SyncFlush || s.DispatchBehind() == 0 { // a flush wakes the dispatcher itself
		return
	}
	if !d.mu.TryLock() {
		d.wake()
		return
	}
	if d.paused {
		d.mu.Unlock()
		return
	}
	more := true
	for range 2 { // a connection must not work for all others for long
		if more = d.step(); !more {
			break
		}
	}
	d.reader.Close()
	d.mu.Unlock()
	if more || d.pos.Load() < s.cl.End() {
		d.wake()
	}
}

// stop dispatches what is left and ends the dispatcher.
func (d *dispatcher) stop() {
	close(d.quit)
	d.done.Wait()
}

// limit is how far records may become visible: with sync flush only what is on disk.
func (d *dispatcher) limit() int64 {
	if d.s.cfg.SyncFlush {
		return d.s.cl.Flushed()
	}
	return d.s.cl.End()
}

// step dispatches some records; false if there is nothing to do now.
func (d *dispatcher) step() bool {
	if d.next == len(d.entries) && d.upTo == d.pos.Load() && !d.take() {
		return d.catchUp()
	}
	limit := d.limit()
	n := 0
	for d.next < len(d.entries) && n < dispatchBatch {
		e := &d.entries[d.next]
		if e.phyOffset+int64(e.size) > limit {
			break
		}
		if !d.addAppended(e) {
			return false
		}
		d.upTo = e.phyOffset + int64(e.size)
		d.next++
		n++
	}
	return d.upTo > d.pos.Load() && d.publish()
}

// addAppended is add for a record that was just appended. Adding it once more after a fault in the middle does no harm.
func (d *dispatcher) addAppended(e *entry) bool {
	return d.insist(func() error {
		head, ok := d.reader.Bytes(e.phyOffset+int64(e.size-e.props), int(e.props))
		if !ok {
			return fmt.Errorf("store: the log cannot be read at %d", e.phyOffset)
		}
		added := false
		if !d.s.guarded(func() { added = d.add(e, head) }) {
			return errFault
		}
		if !added {
			return errClosed
		}
		return nil
	})
}

// take fetches what was appended since.
func (d *dispatcher) take() bool {
	s := d.s
	spare := d.entries[:0]
	if cap(spare) > 16*dispatchBatch && len(d.entries) < dispatchBatch {
		spare = nil // what a burst needed
	}
	s.cl.Lock()
	d.entries, s.pending = s.pending, spare
	s.cl.Unlock()
	d.next = 0
	return len(d.entries) > 0
}

// catchUp dispatches from the log what did not fit into the pending entries.
func (d *dispatcher) catchUp() bool {
	s := d.s
	pos := d.pos.Load()
	s.cl.Lock()
	behind := s.overflow && pos < s.cl.End()
	if !behind {
		s.overflow = false
	}
	s.cl.Unlock()
	limit := d.limit()
	if !behind || pos >= limit {
		return false
	}
	return d.insist(func() error {
		res, err := s.cl.Scan(d.upTo, limit, commitlog.CheckNone, d.visit)
		if err == nil && res.End < limit {
			err = fmt.Errorf("store: the log cannot be read at %d: %s", res.End, res.Stop)
		}
		if d.upTo > d.pos.Load() && !d.publish() && err == nil {
			err = errClosed
		}
		return err
	})
}

// visit dispatches one record that was read from the log.
func (d *dispatcher) visit(off int64, r *message.Record, _ []byte) error {
	topic, ok := d.topics[string(r.Topic)]
	if !ok {
		topic = string(r.Topic)
		d.topics[topic] = topic
	}
	var q *queue
	var err error
	if d.s.gone.has(r.Topic, off) { // the record may belong to further queues
		q = &queue{Queue: new(consumequeue.Queue), topic: topic, id: r.QueueID}
		q.deleted.Store(true)
	} else if q, err = d.s.queueOf(topic, r); err != nil {
		return err
	}
	e := entry{
		q: q, phyOffset: off, queueOffset: r.QueueOffset, storeTime: r.StoreTimestamp,
		size: r.Size, props: int32(len(r.Properties)), sysFlag: r.SysFlag,
	}
	if !d.add(&e, r.Properties) {
		return errClosed
	}
	d.upTo = off + int64(r.Size)
	if d.scanned++; d.scanned%dispatchBatch == 0 && !d.publish() {
		return errClosed
	}
	return nil
}

// add collects the units of one record and indexes it; false if the store closes before that worked.
func (d *dispatcher) add(e *entry, props []byte) bool {
	d.lastTime = e.storeTime
	known := message.ScanKnown(props)
	tagsCode := d.s.tagsCode(e.q.topic, &known, e.storeTime)
	if count, ok := e.count(&known); ok {
		ext := consumequeue.ExtUnit{TagsCode: tagsCode, StoreTime: e.storeTime}
		if d.s.cfg.ExtEnabled && d.s.cfg.FilterBitMap != nil && !e.q.hasBatches() {
			d.bitMap = d.s.cfg.FilterBitMap(d.bitMap[:0], e.q.topic, props, e.storeTime)
			ext.BitMap = d.bitMap
		}
		if !d.collect(e, e.q, e.queueOffset, ext, count) {
			return false
		}
		if len(known.MultiDispatch) > 0 && d.s.cfg.EnableMultiDispatch && !e.q.IsBatch() {
			err := d.s.multiTargets(&known, e.q.id, func(q *queue, offset int64) error {
				if !d.s.gone.has([]byte(q.topic), e.phyOffset) && !d.collect(e, q, offset, consumequeue.ExtUnit{TagsCode: tagsCode}, further) {
					return errClosed
				}
				return nil
			})
			if err == errClosed {
				return false
			}
			if err != nil {
				d.s.log.Error("store: light message queue", "phyOffset", e.phyOffset, "err", err)
			}
		}
	}
	if d.s.ix == nil || e.sysFlag&message.SysTransactionMask == message.SysRollback {
		return true
	}
	return d.insist(func() error { return d.index(e, &known) })
}

// index keeps a panic in the index from ending the dispatcher: the record is then found by offset only.
func (d *dispatcher) index(e *entry, known *message.Known) (err error) {
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			d.s.log.Error("store: record is not indexed", "phyOffset", e.phyOffset, "panic", r)
		}
	}(debug.SetPanicOnFault(true))
	return d.addKeys(e.q.topic, known.UniqKey, known.Keys, e.phyOffset, e.storeTime)
}

// count is how many messages of its queue a record stands for; false if it gets no unit. Inner batches belong into batch
// queues.
func (e *entry) count(known *message.Known) (int16, bool) {
	inner := e.sysFlag&message.SysInnerBatch != 0
	if !isQueued(e.sysFlag) || inner && !e.q.hasBatches() {
		return 0, false
	}
	if !inner {
		return 1, true // whatever is in the properties of an old record
	}
	return innerCount(e.sysFlag, known)
}

// further stands for the count of a record in another queue than its own.
const further = 0

// collect collects the unit of a record in one of its queues; false if the store closes before that worked. As in Java only
// its own has an extension.
func (d *dispatcher) collect(e *entry, q *queue, offset int64, ext consumequeue.ExtUnit, count int16) bool {
	if q.deleted.Load() {
		return true
	}
	if q.GoesBack(e.phyOffset+int64(e.size), offset) && !d.insist(func() error { return d.s.restart(q, offset, e.phyOffset) }) {
		return false
	}
	if !q.Pending() {
		d.touched = append(d.touched, q)
		if n := len(d.buffers); n > 0 {
			q.GiveBuffer(d.buffers[n-1])
			d.buffers = d.buffers[:n-1]
		}
	}
	u := consumequeue.Unit{PhyOffset: e.phyOffset, Size: e.size, TagsCode: ext.TagsCode}
	var isNew bool
	switch {
	case q.IsBatch():
		isNew = q.CollectBatch(consumequeue.BatchUnit{Unit: u, StoreTime: e.storeTime, Offset: offset, Count: max(count, 1)})
	case count == further:
		isNew = q.Collect(u, offset)
	default:
		isNew = q.CollectExt(u, offset, ext)
	}
	if isNew && d.s.cfg.Arrived != nil && !d.quiet {
		d.arrivals = append(d.arrivals, arrival{
			Arrival: Arrival{Topic: q.topic, QueueID: q.id, Offset: offset, TagsCode: ext.TagsCode, StoreTime: e.storeTime},
			props:   e.phyOffset + int64(e.size-e.props), len: e.props,
		})
	}
	return true
}

// restart makes a queue go on at an offset that it has passed already: that of the record at phyOffset. The dispatcher only.
func (s *Store) restart(q *queue, offset, phyOffset int64) error {
	s.cleaner.mu.Lock()
	defer s.cleaner.mu.Unlock()
	s.log.Warn("store: the messages of a queue are numbered anew, older ones with these numbers cannot be read any more",
		"topic", q.topic, "queueId", q.id, "min", q.Min(), "max", q.Max(), "from", offset, "phyOffset", phyOffset)
	if err := q.Restart(offset); err != nil {
		return err
	}
	if s.cfg.Renumbered != nil && !s.dispatch.quiet {
		s.cfg.Renumbered(q.topic)
	}
	return nil
}

// publish makes the collected units visible; false if that did not work yet.
func (d *dispatcher) publish() bool {
	for _, q := range d.touched {
		if !d.insist(q.write) {
			return false
		}
		if b, ok := q.TakeBuffer(); ok {
			d.buffers = append(d.buffers, b)
		}
		d.s.upkeep.note(q)
	}
	d.touched = d.touched[:0]
	d.pos.Store(d.upTo)
	d.s.upkeep.reach(mark{d.upTo, d.lastTime})
	for i := range d.arrivals {
		a := &d.arrivals[i]
		if a.Properties, _ = d.reader.Bytes(a.props, int(a.len)); !d.s.readable(a.Properties) {
			a.Properties = nil
		}
		d.s.cfg.Arrived(a.Arrival)
	}
	d.arrivals = d.arrivals[:0]
	d.s.upkeep.wake()
	return true
}

// insist repeats op until it works. Meanwhile the store takes no messages: what it acknowledges must become visible. A
// full disk may have space again at any time, so the state is left as soon as it can be.
func (d *dispatcher) insist(op func() error) bool {
	err := op()
	if err == nil {
		return true
	}
	if d.quiet {
		d.failed = err
		return false
	}
	if !d.patient {
		d.wake()
		return false
	}
	d.s.log.Error("store: cannot write consume queues or index, messages are refused", "err", err)
	for err != nil {
		if !d.pause() {
			return false
		}
		err = op()
	}
	d.s.stuck.Store(false)
	d.s.log.Info("store: consume queues and index can be written again")
	return true
}

// write writes collected units, unless the queue was deleted meanwhile.
func (q *queue) write() error {
	if q.deleted.Load() {
		return nil
	}
	return q.Write()
}

// pause waits before another try; false when the store closes. Meanwhile topics can be deleted, which may be what makes
// room.
func (d *dispatcher) pause() bool {
	d.s.stuck.Store(true)
	t := time.NewTimer(200 * time.Millisecond)
	defer t.Stop()
	d.paused = true
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.paused = false
	}()
	select {
	case <-t.C:
		return true
	case <-d.quit:
		return false
	}
}

// tagsCode is the third field of a unit: the hash of the tags, or the delivery time of a delayed message.
func (s *Store) tagsCode(topic string, known *message.Known, storeTime int64) int64 {
	if len(known.Delay) > 0 && topic == scheduleTopic {
		levels := s.cfg.DelayLevels()
		level, err := strconv.Atoi(string(known.Delay))
		if level = min(level, len(levels)); err == nil && level > 0 {
			return storeTime + levels[level-1].Milliseconds()
		}
	}
	return message.TagsCode(known.Tags)
}

// DispatchBehind implements API.
func (s *Store) DispatchBehind() int64 { return s.cl.End() - s.dispatch.pos.Load() }
