// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

// Clean makes the queue fit a log that begins at minPhy: Min moves to the first unit whose record is there, and files
// whose records are all gone are deleted, oldest first, and counted; then those of the extension that nothing leads to. The last file stays: it remembers the queue offset.
// Readers and the writer may go on meanwhile; Clean must not run concurrently with itself, Close or Delete.
func (q *Queue) Clean(minPhy int64) (deleted int, err error) {
	q.CorrectMin(minPhy)
	for files := q.seq.Files(); len(files) > 1 && files[0].End()/q.unit <= q.min.Load(); files = q.seq.Files() {
		if err := q.seq.Remove(files[0]); err != nil {
			return deleted, err
		}
		deleted++
	}
	return deleted, q.cleanExt()
}

// CorrectMin moves Min to the first unit whose record is still in a log that begins at minPhy; to the end if there is
// none, as 5.x does. Blanks never count. Min never moves back, and stays where it is when units cannot be read.
func (q *Queue) CorrectMin(minPhy int64) {
	defer q.fitBatchMin()
	files := q.seq.Files()
	end := q.max.Load()
	if len(files) == 0 || end == q.min.Load() {
		return
	}
	if last := q.maxPhy.Load(); last >= 0 && last <= minPhy {
		q.min.Store(end)
		return
	}
	if q.firstPhy >= minPhy && q.min.Load() == files[0].Base()/q.unit { // as recovery left it, or still all there
		return
	}
	if last, err := q.at(end - 1); err == nil && !last.blank() && last.PhyOffset < minPhy {
		q.min.Store(end)
		return
	}
	lo := max(q.min.Load(), files[0].Base()/q.unit)
	if u, err := q.at(lo); err == nil && u.PhyOffset >= minPhy && !u.blank() {
		q.min.Store(lo)
		return
	}
	for _, f := range files {
		hi := min(f.End()/q.unit, end)
		if lo = max(lo, f.Base()/q.unit); lo >= hi {
			continue
		}
		first, err := q.firstFrom(lo, hi, minPhy)
		if err != nil {
			return
		}
		if first < hi {
			q.min.Store(first)
			return
		}
	}
}

// firstFrom is the first unit in [lo, hi), all in one file, whose record does not lie below minPhy; hi if there is none.
// A blank is as good as the next unit that is none: so the units are in order.
func (q *Queue) firstFrom(lo, hi, minPhy int64) (int64, error) {
	found := hi
	for lo < hi {
		mid := (lo + hi) / 2
		n := mid
		u, err := q.at(n)
		for err == nil && u.blank() && n+1 < hi {
			n++
			u, err = q.at(n)
		}
		switch {
		case err != nil:
			return 0, err
		case u.blank():
			hi = mid
		case u.PhyOffset >= minPhy:
			hi, found = mid, n
		default:
			lo = n + 1
		}
	}
	return found, nil
}
