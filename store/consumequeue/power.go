// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import "bytes"

// Rewind drops the units of records at phy or behind it, and clears whatever else is behind them: a power failure leaves
// pages of any age there. It tells whether anything was changed. For recovery, when all records from phy on are
// dispatched again.
func (q *Queue) Rewind(phy int64) (changed bool, err error) {
	if q.maxPhy.Load() > phy {
		if err := q.truncate(phy, true); err != nil {
			return false, err
		}
		changed = true
	}
	if q.clear {
		return changed, nil
	}
	f := q.seq.Acquire(q.end * q.unit)
	if f == nil {
		return changed, nil
	}
	defer f.Release()
	buf := make([]byte, 64<<10)
	for at, end := q.end*q.unit-f.Base(), f.DataEnd(); at < end; {
		n := min(int64(len(buf)), end-at)
		if _, err := f.ReadAt(buf[:n], at); err != nil {
			return changed, err
		}
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return true, f.Zero(at, end)
		}
		at += n
	}
	return changed, nil
}

// Dirs are the directories of the files: of the units, and of their extensions if there are any.
func (q *Queue) Dirs() []string {
	if q.ext == nil {
		return []string{q.dir}
	}
	return []string{q.dir, q.ext.dir}
}

// NotSynced says that the last files, and those of the extension, may not be on disk. For recovery after the process was
// killed.
func (q *Queue) NotSynced() {
	if q.ext != nil {
		q.ext.synced.Store(max(q.ext.seq.First(), 0))
	}
	if files := q.seq.Files(); len(files) > 0 {
		first := files[max(len(files)-scanFiles, 0)].Base() / q.unit
		q.synced.Store(min(q.synced.Load(), first))
	}
}
