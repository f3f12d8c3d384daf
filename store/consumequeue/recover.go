// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import "errors"

// scanFiles is how many files at the end of a queue are read unit by unit after a crash.
const scanFiles = 3

// Recover finds the end of a queue from its files alone, and drops what is behind it. whole tells that all is there that
// was ever written: then units are a prefix of the last used file and the end is found by bisection; else, after a power
// failure, the last files are read unit by unit up to the first one that is not used.
func (q *Queue) Recover(whole bool) error {
	if err := q.Look(whole); err != nil {
		return err
	}
	return q.Settle()
}

// Look is the part of Recover that only reads.
func (q *Queue) Look(whole bool) error {
	files := q.seq.Files()
	if len(files) == 0 {
		return nil
	}
	w := windows.Get().(*window)
	defer windows.Put(w)
	start := max(len(files)-scanFiles, 0)
	end := files[start].Base() / q.unit
	for _, f := range files[start:] {
		used, err := w.used(q, f, whole)
		if err != nil {
			return err
		}
		end = f.Base()/q.unit + used
		if used < q.size {
			break
		}
	}
	q.end = end
	q.max.Store(end)
	q.min.Store(files[0].Base() / q.unit)
	q.synced.Store(end)
	if last, ok := w.unit(q, end-1); ok {
		q.setMaxPhy(last)
		return q.fitBatch()
	}
	return q.findMaxPhy()
}

// Settle makes the files fit what Look has found.
func (q *Queue) Settle() error { return errors.Join(q.dropAfter(q.end), q.fitExt()) }

func (q *Queue) inUse(b []byte) bool {
	if q.batch != nil {
		return ParseBatchUnit(b).InUse()
	}
	return inUse(ParseUnit(b))
}

func inUse(u Unit) bool { return u.PhyOffset >= 0 && u.Size > 0 }

// dropAfter deletes files that begin at or behind the unit end, except for the only one: it remembers the offset.
func (q *Queue) dropAfter(end int64) error {
	files := q.seq.Files()
	for i := len(files) - 1; i > 0 && files[i].Base() >= end*q.unit; i-- {
		if err := q.seq.Remove(files[i]); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) findMaxPhy() error {
	q.maxPhy.Store(-1)
	if q.end > q.seq.First()/q.unit {
		u, err := q.at(q.end - 1)
		if err != nil {
			return err
		}
		q.setMaxPhy(u)
	}
	return q.fitBatch()
}

// setMaxPhy is for the newest unit.
func (q *Queue) setMaxPhy(u Unit) {
	if q.maxPhy.Store(-1); !u.blank() {
		q.maxPhy.Store(u.PhyOffset + int64(u.Size))
	}
}

// LastUnit is the newest unit, false for an empty queue.
func (q *Queue) LastUnit() (Unit, bool) {
	if q.end == 0 || len(q.seq.Files()) == 0 || q.end == q.seq.First()/q.unit {
		return Unit{}, false
	}
	u, err := q.at(q.end - 1)
	return u, err == nil && !u.blank()
}

// Truncate drops the units of records that begin at phyEnd or behind it, for a log that ends there. What they leave
// behind in the file is cleared, so that no later recovery sees them again.
func (q *Queue) Truncate(phyEnd int64) error { return q.truncate(phyEnd, false) }

// truncate is Truncate. An only file stays if it is to be filled again.
func (q *Queue) truncate(phyEnd int64, refill bool) error {
	for files := q.seq.Files(); len(files) > 0; files = q.seq.Files() {
		f := files[len(files)-1]
		first := f.Base() / q.unit
		keep, err := q.keep(first, phyEnd)
		if err != nil {
			return err
		}
		if keep < q.end {
			if err := f.Zero((keep-first)*q.unit, (q.end-first)*q.unit); err != nil {
				return err
			}
		}
		q.end = keep
		// an only file that does not begin at 0 stays: it remembers the queue offset
		if keep > first || len(files) == 1 && (first > 0 || refill) {
			break
		}
		if err := q.seq.Remove(f); err != nil {
			return err
		}
	}
	q.firstPhy = -1
	q.max.Store(q.end)
	q.synced.Store(min(q.synced.Load(), q.end))
	q.min.Store(min(q.min.Load(), q.end))
	return errors.Join(q.findMaxPhy(), q.fitExt())
}

// keep finds, from the end back to first, the unit behind the last one whose record begins below phyEnd.
func (q *Queue) keep(first, phyEnd int64) (int64, error) {
	buf := make([]byte, 2048*q.unit)
	for end := q.end; end > first; {
		from := max(end-int64(len(buf))/q.unit, first)
		got, err := q.Read(buf[:(end-from)*q.unit], from)
		if err != nil {
			return 0, err
		}
		for i := int64(len(got))/q.unit - 1; i >= 0; i-- {
			if u := ParseUnit(got[i*q.unit:]); !u.blank() && inUse(u) && u.PhyOffset < phyEnd {
				return from + i + 1, nil
			}
		}
		end = from
	}
	return first, nil
}

// DropTorn drops the last unit if it lies across two pages and its record is at scanned or behind it, where the log will
// be dispatched again: a process that is killed in the middle of a write can leave half a unit.
func (q *Queue) DropTorn(scanned int64) error {
	at := (q.end - 1) * q.unit % (q.size * q.unit)
	if at/pageSize == (at+q.unit-1)/pageSize {
		return nil
	}
	if u, ok := q.LastUnit(); !ok || u.PhyOffset < scanned {
		return nil
	}
	f := q.seq.Acquire((q.end - 1) * q.unit)
	if f == nil {
		return nil
	}
	defer f.Release()
	if err := f.Zero(at, at+q.unit); err != nil {
		return err
	}
	q.end--
	q.max.Store(q.end)
	q.synced.Store(min(q.synced.Load(), q.end))
	return errors.Join(q.findMaxPhy(), q.fitExt())
}
