// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import "errors"

// GoesBack tells that a record, which ends at phyEnd, is newer than all that the queue knows but has a queue offset that
// the queue has given to another one. So the queue has begun anew where the log was written: its topic was deleted and made
// again, or its files were lost. The writer only.
func (q *Queue) GoesBack(phyEnd, offset int64) bool {
	end := q.end
	if q.batch != nil {
		end = q.batch.end
	}
	if offset >= end {
		return false
	}
	known := q.maxPhy.Load()
	// what a queue that ends with blanks knows, nobody knows
	return known >= 0 && phyEnd > known || known < 0 && len(q.pending) == 0 && q.min.Load() == q.max.Load()
}

// Restart drops the units of messages from a queue offset on, so that the record that GoesBack has told of can be collected.
// What is before stays, unless the queue begins behind offset: then it will begin there. After an error it can be called
// again. The writer only, and not concurrently with Clean; who reads meanwhile may find units that are gone.
func (q *Queue) Restart(offset int64) error {
	if err := q.Write(); err != nil {
		return err
	}
	q.syncing.Lock()
	defer q.syncing.Unlock()
	var scratch [BatchUnitSize]byte
	end, err := q.Find(offset, scratch[:q.unit])
	if err != nil {
		return err
	}
	if offset <= q.Min() {
		end = 0
	}
	for files := q.seq.Files(); len(files) > 0; files = q.seq.Files() {
		f := files[len(files)-1]
		first := f.Base() / q.unit
		if end > first {
			if err := f.Zero((end-first)*q.unit, (min(q.end, f.End()/q.unit)-first)*q.unit); err != nil {
				return err
			}
			break
		}
		if err := q.seq.Remove(f); err != nil {
			return err
		}
		q.setEnd(min(q.end, first))
	}
	q.setEnd(end)
	q.firstPhy = -1
	return errors.Join(q.findMaxPhy(), q.fitExt())
}

// setEnd is for fewer units than there were.
func (q *Queue) setEnd(end int64) {
	q.end = end
	q.max.Store(end)
	q.synced.Store(min(q.synced.Load(), end))
	q.min.Store(min(q.min.Load(), end))
	if end == 0 && q.batch != nil {
		q.batch.min.Store(0)
	}
}
