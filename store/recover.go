// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"cmp"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/message"
	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/segment"
)

// loadersAtOnce is how many topics are looked at at the same time: more than there are cores, since the disk can do more
// when nothing is in memory.
const loadersAtOnce = 16

// loadQueues opens all consume queues of the directory and finds their ends.
func (s *Store) loadQueues() error {
	_, err := os.Stat(s.extRoot())
	s.noExt = !s.cfg.ExtEnabled && errors.Is(err, os.ErrNotExist)
	if err := s.loadQueuesOf(s.queueRoot(), false); err != nil || s.cfg.Compat49 {
		return err
	}
	return s.loadQueuesOf(s.batchRoot(), true)
}

// loadQueuesOf reads the queues of all topics at once, and then changes what has to be changed one by one.
func (s *Store) loadQueuesOf(root string, batch bool) error {
	topics, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	found := make([][]*queue, len(topics))
	var g errgroup.Group
	g.SetLimit(loadersAtOnce)
	for i, t := range topics {
		if t.IsDir() {
			g.Go(func() (err error) {
				found[i], err = s.lookAtTopic(root, t.Name(), batch)
				return err
			})
		}
	}
	err = g.Wait()
	for _, queues := range found {
		for _, q := range queues {
			if err != nil {
				q.Close()
			} else {
				err = s.settle(q)
			}
		}
	}
	return err
}

// lookAtTopic finds the queues of a topic and their ends.
func (s *Store) lookAtTopic(root, topic string, batch bool) ([]*queue, error) {
	ids, err := os.ReadDir(filepath.Join(root, topic))
	if err != nil {
		return nil, err
	}
	queues := make([]*queue, 0, len(ids))
	for _, e := range ids {
		id, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil || !e.IsDir() {
			continue
		}
		s.mu.Lock()
		chosen := s.chooses(topic, int32(id), batch)
		s.mu.Unlock()
		if !chosen {
			continue
		}
		if s.powerLost() && !s.noExt {
			if err := dropUnwritten(filepath.Join(s.extRoot(), topic, e.Name())); err != nil {
				return queues, err
			}
		}
		q, err := s.openQueue(topic, int32(id), batch)
		var size *segment.SizeError
		if s.powerLost() && errors.As(err, &size) && size.Size == 0 {
			if err := dropUnwritten(filepath.Join(root, topic, e.Name())); err != nil {
				return queues, err
			}
			q, err = s.openQueue(topic, int32(id), batch)
		}
		if err == nil {
			queues = append(queues, q)
			err = q.Look(!s.powerLost())
		}
		if err != nil {
			return queues, err
		}
	}
	return queues, nil
}

// settle takes a queue that was found, unless it belongs to a deleted topic.
func (s *Store) settle(q *queue) error {
	s.enter(q)
	if s.gone.has([]byte(q.topic), 0) {
		if u, ok := q.LastUnit(); ok && s.gone.has([]byte(q.topic), u.PhyOffset) { // killed while it was deleted
			return s.dropQueue(q)
		}
	}
	s.loaded = append(s.loaded, q)
	return q.Settle()
}

// chooses tells whether queue files are used. If there are some of both kinds, which only a change of the topic behind the
// store's back can leave, its attribute decides. (Java does not start with queues of the wrong kind.)
func (s *Store) chooses(topic string, id int32, batch bool) bool {
	if batch != s.isBatchTopic(topic) {
		s.log.Warn("store: the files of a queue are not of the kind that its topic has", "topic", topic, "queueId", id, "batchconsumequeue", batch)
	}
	key := queueKey{topic, id}
	other := s.queues[key]
	if other == nil {
		return true
	}
	if batch != s.isBatchTopic(topic) {
		return false
	}
	s.log.Error("store: a queue has files of both kinds, those of the other kind are left out", "topic", topic, "queueId", id)
	other.Close()
	delete(s.queues, key)
	s.loaded = slices.DeleteFunc(s.loaded, func(q *queue) bool { return q == other })
	return true
}

// recover finds the end of the log, dispatches what the queues do not have, and makes them fit.
func (s *Store) recover() error {
	maxPhy, newest := int64(-1), Unit{}
	defer func() { s.loaded = nil }()
	var last *queue
	for _, q := range s.loaded {
		if p := q.MaxPhy(); p > maxPhy {
			maxPhy, last = p, q
		}
	}
	if last != nil {
		newest, _ = last.LastUnit()
	}
	if len(s.cl.Sequence().Files()) == 0 {
		return s.startEmpty(maxPhy)
	}
	from := s.startAfterCrash(maxPhy)
	if s.clean {
		from = s.startAfterStop(maxPhy, newest)
	}
	durable := places{log: from, queues: from}
	if !s.clean && s.cp.found != (places{}) {
		durable = s.cp.found
	}
	if s.clean {
		s.cp.places = func() places { return places{log: from, queues: from} }
		if err := s.markOpen(); err != nil {
			return err
		}
	}
	s.cp.safe.Store(durable.queues)
	s.upkeep.reach(mark{durable.queues, s.cp.logics.Load()})
	if err := s.fitQueues(from, durable.queues); err != nil {
		return err
	}
	d := &s.dispatch
	d.quiet = true
	d.pos.Store(from)
	d.upTo = from
	check := commitlog.CheckBody
	switch {
	case s.cfg.ForceVerifyPropCRC:
		check = commitlog.CheckPropCRC
	case s.cfg.NoCheckCRCOnRecover:
		check = commitlog.CheckNone
	}
	if s.powerLost() {
		check |= commitlog.CheckPages
	}
	res, err := s.cl.Scan(from, math.MaxInt64, check, func(off int64, r *message.Record, raw []byte) error {
		s.lastStore.Store(r.StoreTimestamp)
		if s.clean && off < maxPhy {
			return nil
		}
		return d.visit(off, r, raw)
	})
	if err == nil && d.upTo > d.pos.Load() {
		d.publish()
	}
	if err = cmp.Or(d.failed, err); err != nil {
		return err
	}
	s.log.Info("store: recovered the commit log", "clean", s.clean, "from", from, "end", res.End, "records", res.Records, "stop", res.Stop)
	if !s.cfg.Compat49 && res.Last >= 0 {
		s.cp.confirm.Store(res.Last)
	}
	if maxPhy > res.End {
		s.log.Warn("store: consume queues are ahead of the log: dropping units", "queues", maxPhy, "log", res.End)
	}
	for _, q := range s.queues {
		if q.MaxPhy() > res.End {
			if err := q.Truncate(res.End); err != nil {
				return err
			}
			q.NotSynced()
			s.upkeep.note(q)
		}
	}
	if err := s.cl.SetEnd(res.End); err != nil {
		return err
	}
	if !s.clean {
		s.cl.FlushFrom(durable.log)
	}
	if err := s.cutRest(res.End); err != nil {
		return err
	}
	if durable.queues > res.End { // its units are gone with the end of the log
		s.cp.safe.Store(res.End)
		s.upkeep.cut(mark{res.End, s.cp.logics.Load()})
	}
	d.pos.Store(res.End)
	d.upTo = res.End
	d.quiet = false
	return s.finishQueues()
}

func (s *Store) dropQueue(q *queue) error {
	err := q.Delete()
	q.Close()
	delete(s.queues, queueKey{q.topic, q.id})
	return err
}

// startEmpty begins anew when there is no log: queues without a log point at nothing.
func (s *Store) startEmpty(maxPhy int64) error {
	if maxPhy >= 0 {
		s.log.Error("store: the commit log is gone: deleting all consume queues", "directories", s.writable)
	}
	for _, q := range s.loaded {
		if err := s.dropQueue(q); err != nil {
			return err
		}
	}
	return s.cutRest(0)
}

// cutRest makes what else refers to the log fit one that ends at an offset.
func (s *Store) cutRest(end int64) error {
	var err error
	if !s.cfg.Slave { // whose log will have the same records again
		err = s.gone.cut(end)
	}
	if s.ix != nil {
		err = errors.Join(err, s.ix.Cut(end))
	}
	return err
}

// startAfterStop is where the log is read from after a clean stop: behind the newest record that is in a queue, if that
// record is there, else from the newest file that the queues know.
func (s *Store) startAfterStop(maxPhy int64, newest Unit) int64 {
	files := s.cl.Sequence().Files()
	if maxPhy >= 0 && s.holdsRecord(newest) {
		return maxPhy
	}
	for i := len(files) - 1; i >= 0; i-- {
		if files[i].Base() <= maxPhy {
			return files[i].Base()
		}
	}
	return files[0].Base()
}

// holdsRecord tells whether the log has the whole record of a unit.
func (s *Store) holdsRecord(u Unit) bool {
	f := s.cl.Sequence().Acquire(u.PhyOffset)
	if f == nil || u.Size < message.MinRecordSize || u.PhyOffset+int64(u.Size) > f.End() {
		return false
	}
	defer f.Release()
	b := make([]byte, u.Size)
	if _, err := f.ReadAt(b, u.PhyOffset-f.Base()); err != nil {
		return false
	}
	r, err := message.ParseRecord(b)
	return err == nil && r.Size == u.Size && r.CRCOK()
}

// startAfterCrash is where the log is read from after a crash. If the process was killed, that is where the dispatcher had
// come to when it last told; else the newest file that was begun before the checkpoint, but not behind the file of the
// newest record that is in a queue. Store times alone do not tell: the clock may have been set back while records waited,
// and queues may have been removed.
func (s *Store) startAfterCrash(maxPhy int64) int64 {
	files := s.cl.Sequence().Files()
	found := s.cp.found
	if from := min(found.written, maxPhy); s.cp.sameBoot && from > files[0].Base() && from <= files[len(files)-1].End() {
		return from
	}
	before, limit := s.cp.minTimestamp(s.cfg.IndexSafe), max(maxPhy-1, 0)
	if found != (places{}) {
		limit = min(limit, found.log, found.queues)
	}
	if s.cfg.IndexSafe && s.ix != nil && s.powerLost() {
		end := int64(0)
		if headers := s.ix.Headers(); len(headers) > 0 {
			end = headers[len(headers)-1].EndPhyOffset
		}
		limit = min(limit, end)
	}
	for i := len(files) - 1; i >= 0; i-- {
		if files[i].Base() > limit {
			continue
		}
		if t := commitlog.FirstStoreTime(files[i]); t != 0 && t <= before {
			return files[i].Base()
		}
	}
	return files[0].Base()
}

// finishQueues sets the next offsets and first units of all queues.
func (s *Store) finishQueues() error {
	minPhy := s.cl.Min()
	for _, q := range s.queues {
		q.CorrectMin(minPhy)
		q.next = q.Max()
	}
	return nil
}
