// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"bytes"
	"sort"
	"sync"

	"rocketmq-go/store/segment"
)

const pageSize, blockSize = 4096, 64 << 10

// window is a part of a queue's file in memory, for finding the end of the queue.
type window struct {
	from  int64  // number of the first unit
	units []byte // a part of pages
	pages []byte // a part of buf, to the end of the page
	buf   [blockSize + pageSize]byte
}

var windows = sync.Pool{New: func() any { return new(window) }}

// used counts the units at the front of a file that are in use: see Recover. Nearly all of many queues end in the first
// page of their file, and one read tells all about them.
func (w *window) used(q *Queue, f *segment.File, whole bool) (int64, error) {
	g, err := f.Glance()
	if err != nil {
		return 0, err
	}
	defer g.Close()
	base, page := f.Base()/q.unit, min(pageSize/q.unit, q.size)
	n, err := w.read(q, g, base, 0, page, whole)
	if err != nil {
		return 0, err
	}
	if first := ParseUnit(w.units); base*q.unit == q.seq.First() && n > 0 && !first.blank() {
		q.firstPhy = first.PhyOffset
	}
	if n == page {
		limit := min((g.DataEnd(n*q.unit)+q.unit-1)/q.unit, q.size)
		if whole {
			n, err = w.bisect(q, g, base, n, limit)
		} else {
			n, err = w.scan(q, g, base, n, limit)
		}
	}
	if err == nil && !whole {
		rest := w.pages[(base+n-w.from)*q.unit:]
		end := (w.from-base)*q.unit + int64(len(w.pages))
		q.clear = n < q.size && len(bytes.Trim(rest, "\x00")) == 0 && g.DataEnd(end) == end
	}
	return n, err
}

// scan reads on unit by unit, from one unit of a file to another.
func (w *window) scan(q *Queue, g segment.Glance, base, at, limit int64) (int64, error) {
	for at < limit {
		want := min(blockSize/q.unit, limit-at)
		n, err := w.read(q, g, base, at, want, false)
		if at += n; err != nil || n < want {
			return at, err
		}
	}
	return at, nil
}

// bisect finds the unit behind the last one in use, which is one of lo to hi.
func (w *window) bisect(q *Queue, g segment.Glance, base, lo, hi int64) (int64, error) {
	at := max(lo, hi-pageSize/q.unit) // data ends there, and so do the units, more or less
	for lo < hi {
		n, err := w.read(q, g, base, at, min(pageSize/q.unit, hi-at), true)
		switch {
		case err != nil:
			return 0, err
		case n == 0:
			hi = at
		case n < int64(len(w.units))/q.unit:
			return at + n, nil
		default:
			lo = at + n
		}
		at = (lo + hi) / 2
	}
	return lo, nil
}

// read reads units, numbered in their file, and counts those in use at the front.
func (w *window) read(q *Queue, g segment.Glance, base, at, count int64, whole bool) (int64, error) {
	end := (at + count) * q.unit
	w.from, w.pages = base+at, w.buf[:min((end+pageSize-1)&^(pageSize-1), q.size*q.unit)-at*q.unit]
	w.units = w.pages[:count*q.unit]
	if err := g.ReadAt(w.pages, at*q.unit); err != nil {
		return 0, err
	}
	unused := func(i int) bool { return !q.inUse(w.units[int64(i)*q.unit:]) }
	if whole {
		return int64(sort.Search(int(count), unused)), nil
	}
	n := 0
	for n < int(count) && !unused(n) {
		n++
	}
	return int64(n), nil
}

// unit is the unit with a number, if it is in memory.
func (w *window) unit(q *Queue, n int64) (Unit, bool) {
	i := (n - w.from) * q.unit
	if i < 0 || i >= int64(len(w.units)) {
		return Unit{}, false
	}
	return ParseUnit(w.units[i:]), true
}
