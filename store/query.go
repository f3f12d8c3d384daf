// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"

	"rocketmq-go/message"
	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/index"
)

// MinOffset implements API.
func (s *Store) MinOffset(topic string, queueID int32) int64 {
	if q := s.lookup(topic, queueID); q != nil {
		return q.Min()
	}
	return 0
}

// MaxOffset implements API.
func (s *Store) MaxOffset(topic string, queueID int32) int64 {
	if q := s.lookup(topic, queueID); q != nil {
		return q.Max()
	}
	return 0
}

// OffsetByTime implements API. 5.x: the first message stored at or after ms, or with Upper the last one at or before it;
// within the queue for Upper, up to its end for Lower. 4.9 knows no boundaries: the message nearest in time.
func (s *Store) OffsetByTime(topic string, queueID int32, ms int64, b Boundary) (offset int64) {
	q := s.lookup(topic, queueID)
	if q == nil || s.guarded(func() { offset = s.offsetByTime(q, ms, b) }) {
		return offset
	}
	return q.Min()
}

func (s *Store) offsetByTime(q *queue, ms int64, b Boundary) int64 {
	reader := commitlog.Reader{Log: s.cl}
	defer reader.Close()
	lo, hi := q.Units()
	if lo >= hi {
		return q.Min()
	}
	storeTime := func(i int) int64 {
		u, ok := q.UnitAt(lo + int64(i))
		if !ok {
			return -1
		}
		return reader.StoreTime(u.PhyOffset)
	}
	n := int(hi - lo)
	first := sort.Search(n, func(i int) bool { return storeTime(i) >= ms })
	if s.cfg.Compat49 {
		switch {
		case first == n:
			first--
		case first > 0 && storeTime(first) != ms && ms-storeTime(first-1) <= storeTime(first)-ms:
			first--
		}
		return lo + int64(first)
	}
	if b == Lower {
		return q.OffsetOf(lo + int64(first))
	}
	after := sort.Search(n, func(i int) bool { return storeTime(i) > ms })
	return q.OffsetOf(lo + int64(max(after-1, 0)))
}

// StoreTime implements API.
func (s *Store) StoreTime(topic string, queueID int32, offset int64) int64 {
	u, ok := s.Unit(topic, queueID, offset)
	if !ok {
		return -1
	}
	reader := commitlog.Reader{Log: s.cl}
	defer reader.Close()
	ms := int64(-1)
	s.guarded(func() { ms = reader.StoreTime(u.PhyOffset) })
	return ms
}

// Unit implements API.
func (s *Store) Unit(topic string, queueID int32, offset int64) (Unit, bool) {
	span, ok := s.Span(topic, queueID, offset)
	if !ok || span.Offset > offset {
		return Unit{}, false
	}
	return span.Unit, true
}

// Span implements API.
func (s *Store) Span(topic string, queueID int32, offset int64) (Span, bool) {
	q := s.lookup(topic, queueID)
	if q == nil {
		return Span{}, false
	}
	span, ok := q.Span(offset)
	if ok && consumequeue.IsExtAddress(span.TagsCode) {
		span.TagsCode = s.tagsOf(q, span.Unit)
	}
	return span, ok
}

// tagsOf is the tags code of a unit with an extension, from the record if that cannot be read.
func (s *Store) tagsOf(q *queue, u Unit) int64 {
	var r consumequeue.ExtReader
	if x, ok := r.Read(q.Queue, u.TagsCode); ok {
		return x.TagsCode
	}
	b, _ := s.Record(nil, u.PhyOffset, u.Size)
	rec, err := message.ParseRecord(b)
	if err != nil {
		return u.TagsCode
	}
	known := message.ScanKnown(rec.Properties)
	return s.tagsCode(q.topic, &known, rec.StoreTimestamp)
}

// Ext implements API.
func (s *Store) Ext(topic string, queueID int32, offset int64) (x ExtUnit, ok bool) {
	q := s.lookup(topic, queueID)
	if q == nil {
		return x, false
	}
	u, ok := q.Unit(offset)
	if !ok {
		return x, false
	}
	var r consumequeue.ExtReader
	return r.Read(q.Queue, u.TagsCode)
}

// Record implements API.
func (s *Store) Record(dst []byte, phyOffset int64, size int32) (out []byte, ok bool) {
	if !s.guarded(func() { out, ok = s.record(dst, phyOffset, size) }) {
		return dst, false
	}
	return out, ok
}

func (s *Store) record(dst []byte, phyOffset int64, size int32) ([]byte, bool) {
	reader := commitlog.Reader{Log: s.cl}
	defer reader.Close()
	var b []byte
	var ok bool
	if size > 0 {
		b, ok = reader.Bytes(phyOffset, int(size))
		ok = ok && looksLikeRecord(b)
	} else {
		b, ok = reader.Record(phyOffset)
	}
	if !ok {
		return dst, false
	}
	if _, err := message.ParseRecord(b); err != nil {
		return dst, false
	}
	return append(dst, b...), true
}

// InMemory implements API.
func (s *Store) InMemory(topic string, queueID int32, offset int64) bool {
	u, ok := s.Unit(topic, queueID, offset)
	limits := s.cfg.Limits()
	return ok && s.cl.End()-u.PhyOffset <= s.hot(&limits)
}

// QueryIndex implements API. Different keys with the same hash are told apart by looking at the messages, and a message
// that was indexed twice is found once; Java does neither.
func (s *Store) QueryIndex(topic, key string, maxNum int, beginMs, endMs int64) IndexResult {
	var res IndexResult
	maxNum = min(maxNum, s.cfg.Limits().QueryResults)
	if s.ix == nil {
		return res
	}
	reader := commitlog.Reader{Log: s.cl}
	defer reader.Close()
	var lastTime, lastPhy int64
	err := errFault
	s.guarded(func() {
		lastTime, lastPhy, err = s.ix.Query(topic, key, beginMs, endMs, func(off int64) bool {
			if len(res.PhyOffsets) >= maxNum {
				return false
			}
			if !slices.Contains(res.PhyOffsets, off) && hasKey(&reader, off, topic, key) {
				res.PhyOffsets = append(res.PhyOffsets, off)
			}
			return len(res.PhyOffsets) < maxNum
		})
	})
	if err != nil {
		s.log.Error("store: cannot read the index", "topic", topic, "err", err)
	}
	if len(res.PhyOffsets) > 0 {
		res.LastUpdateTimestamp, res.LastUpdatePhyOffset = lastTime, lastPhy
	}
	return res
}

// hasKey tells whether the record at an offset has the key: its unique key or one of its keys.
func hasKey(reader *commitlog.Reader, off int64, topic, key string) bool {
	b, ok := reader.Record(off)
	if !ok {
		return false
	}
	r, err := message.ParseRecord(b)
	if err != nil || string(r.Topic) != topic {
		return false
	}
	known := message.ScanKnown(r.Properties)
	if string(known.UniqKey) == key {
		return true
	}
	for part := range bytes.SplitSeq(known.Keys, []byte{' '}) {
		if string(part) == key {
			return true
		}
	}
	return false
}

// MinPhyOffset implements API.
func (s *Store) MinPhyOffset() int64 { return s.cl.Sequence().First() }

// MaxPhyOffset implements API.
func (s *Store) MaxPhyOffset() int64 { return s.cl.End() }

// FlushedOffset implements API.
func (s *Store) FlushedOffset() int64 { return s.cl.Flushed() }

// Queues implements API: those that have units.
func (s *Store) Queues() map[string][]int32 {
	out := make(map[string][]int32)
	for _, q := range s.allQueues() {
		if q.Max() > 0 {
			out[q.topic] = append(out[q.topic], q.id)
		}
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out
}

// DeleteTopics implements API.
func (s *Store) DeleteTopics(topics []string) { s.deleteTopics(topics, math.MaxInt64) }

// DeleteTopicsBefore is for topics that a master has deleted: the queues go, and records before a place in its log, which
// may not have come yet, are theirs. A queue with a record behind it stays: its topic has been made again.
func (s *Store) DeleteTopicsBefore(topics []string, phyOffset int64) {
	s.deleteTopics(topics, phyOffset)
}

func (s *Store) deleteTopics(topics []string, before int64) {
	// the dispatcher or the cleaner may be at work on one of them: wait for it
	s.dispatch.mu.Lock()
	defer s.dispatch.mu.Unlock()
	s.cleaner.mu.Lock()
	defer s.cleaner.mu.Unlock()
	// a new queue in the place of an old one begins when the files of that are gone
	s.making.Lock()
	defer s.making.Unlock()
	gone, end := s.takeQueues(topics, before)
	var known []string
	for _, topic := range topics {
		if before < math.MaxInt64 || slices.ContainsFunc(gone, func(q *queue) bool { return q.topic == topic }) {
			known = append(known, topic)
		}
	}
	if len(known) == 0 {
		return
	}
	err := s.gone.add(known, end, s.cl.Min())
	removeErr := s.removeQueues(known, gone)
	if err != nil { // on a full disk there is room now
		err = s.gone.add(known, end, s.cl.Min())
	}
	err = errors.Join(err, removeErr)
	if err != nil {
		s.log.Error("store: cannot delete consume queues", "topics", known, "err", err)
	}
	for _, q := range gone {
		q.Close()
	}
}

// removeQueues removes the directories of queues that were taken out of the store, and those of topics that have no more.
func (s *Store) removeQueues(topics []string, gone []*queue) (err error) {
	roots := []string{s.queueRoot(), s.extRoot(), s.batchRoot()}
	for _, root := range roots {
		for _, q := range gone {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, q.topic, strconv.Itoa(int(q.id)))))
		}
	}
	for _, topic := range topics {
		if s.hasQueues(topic) {
			continue
		}
		s.log.Info("store: deleting the consume queues of a topic", "topic", topic)
		for _, root := range roots {
			err = errors.Join(err, os.RemoveAll(filepath.Join(root, topic)))
		}
	}
	for _, root := range roots { // before a new queue begins in the place of an old one
		s.sync.Changed(root)
		err = errors.Join(err, s.sync.Names(root))
	}
	return err
}

func (s *Store) hasQueues(topic string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for key := range s.queues {
		if key.topic == topic {
			return true
		}
	}
	return false
}

// takeQueues takes the queues of topics out of the store, except for those with records behind a place, and tells where the
// log ended, or that place: records before are theirs, and none comes any more. s.making is held.
func (s *Store) takeQueues(topics []string, before int64) (gone []*queue, end int64) {
	s.mu.Lock()
	for key, q := range s.queues {
		if slices.Contains(topics, key.topic) && q.MaxPhy() <= before {
			gone = append(gone, q)
			delete(s.queues, key)
		}
	}
	s.mu.Unlock()
	s.cl.Lock()
	defer s.cl.Unlock()
	for _, q := range gone {
		q.deleted.Store(true)
		if strings.HasPrefix(q.topic, lmqPrefix) {
			s.lmqs.Add(-1)
		}
	}
	if before == math.MaxInt64 {
		before = s.cl.End()
	}
	return gone, before
}

// Writable implements API.
func (s *Store) Writable() bool {
	if s.stuck.Load() || s.failing.Load() || s.cleaner.disk.refuses() {
		return false
	}
	select {
	case <-s.flush.quit:
		return false
	default:
		return true
	}
}

// QueueInfo is the state of one consume queue, for tools.
type QueueInfo struct {
	Topic    string
	QueueID  int32
	Min, Max int64
	MaxPhy   int64 // behind the newest record, -1 if there never was one
	Batch    bool
}

// QueueInfos are those of all queues, sorted by topic as Java sorts strings, and queue id.
func (s *Store) QueueInfos() []QueueInfo {
	var out []QueueInfo
	for _, q := range s.allQueues() {
		out = append(out, QueueInfo{q.topic, q.id, q.Min(), q.Max(), q.MaxPhy(), q.IsBatch()})
	}
	slices.SortFunc(out, func(a, b QueueInfo) int {
		if c := slices.Compare(utf16.Encode([]rune(a.Topic)), utf16.Encode([]rune(b.Topic))); c != 0 {
			return c
		}
		return int(a.QueueID) - int(b.QueueID)
	})
	return out
}

// Timestamps are the store times (ms) of the checkpoint: log, consume queues, index.
func (s *Store) Timestamps() (physic, logics, index int64) {
	return s.cp.physic.Load(), s.cp.logics.Load(), s.cp.index.Load()
}

// CommitLog is the log, for tools that only read.
func (s *Store) CommitLog() *commitlog.Log { return s.cl }

// Index is the index, nil if there is none; for tools that only read.
func (s *Store) Index() *index.Index { return s.ix }
