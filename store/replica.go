// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"rocketmq-go/message"
)

// What replication needs: a master's log to be read as bytes, a slave's to be written as bytes, and puts that wait until
// slaves have them.

// FileSize is the size of each file of the commit log in bytes.
func (s *Store) FileSize() int64 { return s.cl.FileSize() }

// ViewLog gives n bytes of the commit log, which lie in one file, to use, which must not keep them. False if the log does
// not have them.
func (s *Store) ViewLog(off int64, n int, use func(data []byte)) bool {
	g := s.getter()
	defer func() {
		g.reader.Close()
		s.getters.Put(g)
	}()
	data, ok := g.reader.Bytes(off, n)
	if ok {
		use(data)
	}
	return ok
}

// AppendLog appends what begins at an offset in a master's log and says how many bytes it took: whole records and ends of
// files only, so that a record that has not come in full is never there in part, whatever happens. The rest must be brought
// again with more behind it. The store must be a slave's.
//
// Bytes that are no records of that place are refused, and nothing of them is taken.
func (s *Store) AppendLog(off int64, data []byte) (n int, err error) {
	if !s.cfg.Slave {
		return 0, errors.New("store: only a slave's log is a copy")
	}
	if n, err = s.appendCopies(off, data); n > 0 {
		if s.cfg.SyncFlush {
			s.flush.wake()
		} else {
			s.flush.dirty()
			s.dispatch.wake()
		}
	}
	return n, err
}

func (s *Store) appendCopies(off int64, data []byte) (n int, err error) {
	if off != 0 && len(s.cl.Sequence().Files()) == 0 {
		s.begin(off)
	}
	s.cl.Lock()
	defer s.cl.Unlock()
	defer s.catchFault(debug.SetPanicOnFault(true), &err)
	if s.closed {
		return 0, errClosed
	}
	for {
		rec, err := s.nextCopy(off, data[n:])
		if err != nil || rec == nil {
			return n, err
		}
		s.cl.Holding(s.cfg.Now().UnixMilli())
		if err := s.cl.Copy(off, rec); err != nil {
			return n, err
		}
		if at, ok := message.StoreTimestampOf(rec); ok {
			s.lastStore.Store(at)
		}
		s.overflow = true // the dispatcher reads them from the log
		off += int64(len(rec))
		n += len(rec)
	}
}

// begin makes the dispatcher begin where an empty log does.
func (s *Store) begin(off int64) {
	d := &s.dispatch
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pos.Store(off)
	d.upTo = off
}

// nextCopy finds the record, or the end of a file, at the start of data; nil if it is not there in full.
func (s *Store) nextCopy(off int64, data []byte) ([]byte, error) {
	if len(data) < 8 {
		return nil, nil
	}
	size, magic := int64(int32(binary.BigEndian.Uint32(data))), binary.BigEndian.Uint32(data[4:])
	left := s.cl.NextFile(off) - off
	switch {
	case magic == message.MagicBlank && size == left:
	case magic != message.MagicV1 && magic != message.MagicV2 || size < message.MinRecordSize || size > left:
		return nil, fmt.Errorf("store: what came for offset %d is no record: %x", off, data[:8])
	}
	if int64(len(data)) < size {
		return nil, nil
	}
	rec := data[:size:size]
	if magic == message.MagicBlank {
		return rec, nil
	}
	switch r, err := message.ParseRecord(rec); {
	case err != nil:
		return nil, fmt.Errorf("store: what came for offset %d is no record: %w", off, err)
	case r.PhyOffset != off:
		return nil, fmt.Errorf("store: what came for offset %d is the record of %d", off, r.PhyOffset)
	}
	return rec, nil
}

// replicate tells the slaves of a put, and has its answer wait for as many as are needed. It waits for them and for the disk
// at the same time; what the slaves did is the answer if they did not do well.
func (s *Store) replicate(m *message.Message, res PutResult, done func(PutResult)) func(PutResult) {
	r := s.cfg.Replication
	end := res.PhyOffset + int64(res.Size)
	r.Appended()
	slaves, status := r.Need(end)
	if slaves <= 0 && status == PutOK || m.NoWait || string(message.ScanKnown(m.Properties).Wait) == "false" {
		return done
	}
	if status != PutOK {
		return func(onDisk PutResult) {
			onDisk.Status = status
			done(onDisk)
		}
	}
	if r.Acked(slaves) >= end {
		return done
	}
	p := &replicatedPut{done: done}
	p.left.Store(2)
	timeout := 3 * time.Second
	if s.cfg.SlaveTimeout != nil {
		timeout = s.cfg.SlaveTimeout()
	}
	s.replicating.add(waiter{end: end, slaves: slaves, deadline: time.Now().Add(timeout), done: p.copied})
	if r.Acked(slaves) >= end { // nobody may tell any more
		s.Acknowledged()
	}
	return p.written
}

// replicatedPut is a put that waits for the disk, if it does, and for slaves.
type replicatedPut struct {
	left   atomic.Int32
	slaves PutStatus
	res    PutResult
	done   func(PutResult)
}

func (p *replicatedPut) written(res PutResult) {
	p.res = res
	p.finish()
}

func (p *replicatedPut) copied(res PutResult) {
	p.slaves = res.Status
	p.finish()
}

func (p *replicatedPut) finish() {
	if p.left.Add(-1) > 0 {
		return
	}
	if p.slaves != PutOK {
		p.res.Status = p.slaves
	}
	p.done(p.res)
}

// Acknowledged answers the puts that have waited for what slaves have by now.
func (s *Store) Acknowledged() {
	r := s.cfg.Replication
	if r == nil {
		return
	}
	acked := func(w *waiter) bool { return r.Acked(w.slaves) >= w.end }
	s.replicating.complete(acked, acked)
}
