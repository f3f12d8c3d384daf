// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package transaction

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/put"
	"rocketmq-go/message"
	"rocketmq-go/store"
)

// An op message says which half messages are done with: its tag is d and its body has their queue offsets as decimal
// numbers. 5.x collects them, each with a comma behind it ("12,13,17,"); 4.9 writes one message for each ("12").
// Either form is read.
type opWriter struct {
	s       *Service
	collect bool
	tail    string // behind each offset

	mu      sync.Mutex
	waiting []byte      // offsets that are not written yet
	sizes   []int       // of each of them in waiting, with its tail
	timer   *time.Timer // runs while something waits
	writing bool
	closed  bool
	writers sync.WaitGroup
}

func newOpWriter(s *Service) *opWriter {
	w := &opWriter{s: s, collect: s.o.Profile.Transactions5}
	if w.collect {
		w.tail = ","
	}
	return w
}

// add notes an offset. It is written within transactionOpBatchInterval, or as soon as a message of transactionOpMsgMaxSize
// is full; in 4.9 at once. It does not wait for that.
func (w *opWriter) add(offset int64) {
	rules := w.s.o.Rules()
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.waiting)
	w.waiting = strconv.AppendInt(w.waiting, offset, 10)
	w.waiting = append(w.waiting, w.tail...)
	w.sizes = append(w.sizes, len(w.waiting)-before)
	switch {
	case !w.collect || len(w.waiting) >= rules.OpSize:
		w.startLocked()
	case w.timer == nil && !w.writing:
		w.laterLocked(rules.OpInterval)
	}
}

func (w *opWriter) laterLocked(pause time.Duration) {
	if w.closed {
		return
	}
	w.timer = time.AfterFunc(pause, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.startLocked()
	})
}

// startLocked writes everything that waits, unless that is being done. One goroutine writes at a time, so that the op
// messages are in the order of the ends.
func (w *opWriter) startLocked() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if !w.writing && len(w.waiting) > 0 {
		w.writing = true
		w.writers.Go(w.run)
	}
}

func (w *opWriter) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.waiting) > 0 {
		body, n := w.batchLocked()
		w.mu.Unlock()
		status := w.write(body)
		w.mu.Lock()
		if !stored(status) {
			w.s.o.Log.Error("op message of transactions not stored, will be tried again", "status", put.StatusName(status))
			w.laterLocked(storeTryAgain)
			break
		}
		w.waiting = w.waiting[:copy(w.waiting, w.waiting[len(body):])]
		w.sizes = w.sizes[:copy(w.sizes, w.sizes[n:])]
	}
	w.writing = false
}

// batchLocked copies the offsets of the next op message. As in Java it takes one more until the size is reached.
func (w *opWriter) batchLocked() (body []byte, offsets int) {
	limit := 1
	if w.collect {
		limit = w.s.o.Rules().OpSize
	}
	size := 0
	for offsets < len(w.sizes) && (size < limit || offsets == 0) {
		size += w.sizes[offsets]
		offsets++
	}
	return slices.Clone(w.waiting[:size]), offsets
}

// opProperties are those of every op message.
const opProperties = message.PropWait + "\x01true\x02" + message.PropTags + "\x01" + opTag + "\x02"

func (w *opWriter) write(body []byte) store.PutStatus {
	s := w.s
	properties := opProperties
	if s.dialect == message.Java49 {
		properties = strings.TrimSuffix(properties, "\x02")
	}
	host := s.o.Host()
	return s.store(&message.Message{
		Topic: opTopic, QueueID: queue, BornTimestamp: s.o.Now().UnixMilli(), BornHost: host, StoreHost: host,
		Properties: []byte(properties), Body: body,
	}).Status
}

// close writes what waits.
func (w *opWriter) close() error {
	w.mu.Lock()
	w.closed = true
	w.startLocked()
	w.mu.Unlock()
	w.writers.Wait()
	if len(w.waiting) > 0 {
		return errors.New("ends of transactions could not be noted: their producers will be asked again")
	}
	return nil
}

// store puts a message and waits for the outcome.
func (s *Service) store(m *message.Message) store.PutResult {
	done := make(chan store.PutResult, 1)
	s.o.Put.Raw(m, func(r store.PutResult) { done <- r })
	return <-done
}

// stored tells whether a message is in the log, be it slow to reach the disk or a slave.
func stored(status store.PutStatus) bool {
	switch status {
	case store.PutOK, store.FlushDiskTimeout, store.FlushSlaveTimeout, store.SlaveNotAvailable:
		return true
	}
	return false
}

// opReader reads the op queue from where it is settled on.
type opReader struct {
	s       *Service
	next    int64
	highest []int64 // of the op messages read: the highest offset that each names, -1 for none
	buf     []byte
}

// more reads some op messages and notes what has ended. False: there are none.
func (r *opReader) more() bool {
	end := min(r.s.o.Store.MaxOffset(opTopic, queue), r.next+opsAtOnce)
	if r.next >= end {
		return false
	}
	for ; r.next < end; r.next++ {
		r.highest = append(r.highest, r.read())
	}
	return true
}

// read notes the ends that the next op message names, and returns the highest offset. An op message that cannot be read
// or is none names nothing: whatever it ended is asked about again.
func (r *opReader) read() (highest int64) {
	s := r.s
	unit, ok := s.o.Store.Unit(opTopic, queue, r.next)
	if ok {
		r.buf, ok = s.o.Store.Record(r.buf[:0], unit.PhyOffset, unit.Size)
	}
	record, err := message.ParseRecord(r.buf)
	if tag, _ := message.Property(record.Properties, message.PropTags); !ok || err != nil || string(tag) != opTag {
		s.count(func(n *Stats) { n.Skipped++ })
		s.o.Log.Error("op message of transactions cannot be read, skipped", "queueOffset", r.next, "commitLogOffset", unit.PhyOffset)
		return -1
	}
	highest = -1
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := range strings.SplitSeq(string(record.Body), ",") {
		if offset, err := strconv.ParseInt(text, 10, 64); err == nil && offset >= 0 {
			s.ended.add(offset)
			highest = max(highest, offset)
		}
	}
	return highest
}

// settle reads on and returns how far the op queue is settled, now that the half queue is as far as passed: up to the first
// op message that names an open half message. One that names what is not even there is garbage.
func (r *opReader) settle(from, passed int64) int64 {
	for i := 0; ; i++ {
		if i == len(r.highest) && !r.more() {
			return r.next
		}
		if h := r.highest[i]; h >= passed && h < r.s.o.Store.MaxOffset(halfTopic, queue) {
			return from + int64(i)
		}
	}
}
