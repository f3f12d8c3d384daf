// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"rocketmq-go/store/segment"
)

const (
	// windowSize is how much is read at once, whole units.
	windowSize = 1260 * UnitSize
	// nearSize is how much is read around one unit of which nothing is known.
	nearSize = 78 * UnitSize
	// openFiles is how many descriptors stay open.
	openFiles = 8
)

// Log is the sequence of units. It has one writer, who also reads; Sync may run at the same time.
type Log struct {
	seq     *segment.Sequence
	perFile int64 // units that fit into a file

	end     int64        // behind the last appended unit
	pending []byte       // appended, not yet written; all in one file
	written atomic.Int64 // units before can be read
	synced  atomic.Int64 // units before are on disk

	window     []byte // what was read last
	windowBase int64
}

// OpenLog opens the log without looking into its files: see Recover. Nothing appears on disk before the first unit.
func OpenLog(dir string, fileSize int64, sync *segment.Syncer, log *slog.Logger) (*Log, error) {
	if fileSize < UnitSize+blankSize {
		return nil, fmt.Errorf("timerlog: files of %d bytes hold no unit", fileSize)
	}
	seq, err := segment.Load(segment.Options{
		Dirs: []string{dir}, Size: fileSize, FDs: segment.NewFDs(openFiles), Sync: sync, Log: log,
	})
	if err != nil {
		return nil, err
	}
	unsure(sync, filepath.Join(dir, "file"))
	l := &Log{seq: seq, perFile: (fileSize - blankSize) / UnitSize}
	return l, nil
}

// First and End are the positions of the first unit and behind the last one.
func (l *Log) First() int64 { return max(l.seq.First(), 0) }

// End is the position behind the last appended unit.
func (l *Log) End() int64 { return l.end }

// Append adds a unit and returns its position. Write makes it readable. When it fails, for want of disk space, nothing
// has changed.
func (l *Log) Append(u *Unit) (pos int64, err error) {
	if err := l.room(); err != nil {
		return 0, err
	}
	pos = l.end
	l.pending = AppendUnit(l.pending, u)
	l.end += UnitSize
	return pos, nil
}

// room makes sure that the file at the end has room for a unit.
func (l *Log) room() error {
	files := l.seq.Files()
	if len(files) == 0 {
		f, err := l.seq.Create(l.end)
		if err == nil {
			l.end = f.Base()
		}
		return err
	}
	last := files[len(files)-1]
	if l.end < last.End() && (l.end-last.Base())/UnitSize < l.perFile {
		return nil
	}
	if err := l.Write(); err != nil {
		return err
	}
	if left := last.End() - l.end; left > 0 {
		if _, err := last.WriteAt(appendBlank(nil, left), l.end-last.Base()); err != nil {
			return err
		}
	}
	f, err := l.seq.Create(last.End())
	if err == nil {
		l.end = f.Base()
	}
	return err
}

// Write makes the appended units readable. After a failure it can be tried again.
func (l *Log) Write() error {
	if len(l.pending) == 0 {
		return nil
	}
	pos := l.end - int64(len(l.pending))
	f := l.seq.Acquire(pos)
	if f == nil {
		return fmt.Errorf("timerlog: no file for position %d", pos)
	}
	defer f.Release()
	if _, err := f.WriteAt(l.pending, pos-f.Base()); err != nil {
		return err
	}
	l.pending = l.pending[:0]
	l.written.Store(l.end)
	return nil
}

// Unit reads the unit at a position. Reading a list, from its newest unit to its oldest, is cheap where units lie close
// to each other.
func (l *Log) Unit(pos int64) (Unit, bool) {
	if pos < 0 || pos+UnitSize > l.written.Load() {
		return Unit{}, false
	}
	if pos < l.windowBase || pos+UnitSize > l.windowBase+int64(len(l.window)) {
		f := l.seq.Acquire(pos)
		if f == nil {
			return Unit{}, false
		}
		size := int64(nearSize)
		if pos+UnitSize == l.windowBase {
			size = windowSize // the list goes through the log without gaps
		}
		from := max(f.Base(), pos+UnitSize-size)
		err := l.read(f, from, pos+UnitSize)
		f.Release()
		if err != nil {
			return Unit{}, false
		}
	}
	return ParseUnit(l.window[pos-l.windowBase:])
}

// read fills the window with [from, to), which lie in f.
func (l *Log) read(f *segment.File, from, to int64) error {
	if cap(l.window) < windowSize {
		l.window = make([]byte, windowSize)
	}
	l.windowBase, l.window = from, l.window[:to-from]
	if _, err := f.ReadAt(l.window, from-f.Base()); err != nil {
		l.window = l.window[:0]
		return err
	}
	return nil
}

// Forget gives back the memory that reading took.
func (l *Log) Forget() { l.window = nil }

// walk visits the units from a position on, up to a position or to what is no unit, and returns the position behind the
// last one. A start that is none of a unit is moved down to one. visit must not read the log.
func (l *Log) walk(from, to int64, visit func(pos int64, u *Unit) error) (end int64, err error) {
	end = max(from, l.First())
	defer l.Forget()
	for _, f := range l.seq.Files() {
		if f.End() <= end || f.Base() >= to {
			continue
		}
		if end < f.Base() { // a file is missing
			break
		}
		pos := f.Base() + (end-f.Base())/UnitSize*UnitSize
		pos, whole, err := l.walkFile(f, pos, to, visit)
		if err != nil || !whole {
			return pos, err
		}
		end = f.End()
	}
	return end, nil
}

// walkFile visits the units of one file; whole tells that its blank was reached.
func (l *Log) walkFile(f *segment.File, pos, to int64, visit func(int64, *Unit) error) (end int64, whole bool, err error) {
	for pos < to {
		if err := l.read(f, pos, min(pos+windowSize, f.End())); err != nil {
			return pos, false, err
		}
		chunk := l.window
		for ; len(chunk) >= UnitSize && pos < to; chunk, pos = chunk[UnitSize:], pos+UnitSize {
			if isBlank(chunk) {
				return pos, true, nil
			}
			u, ok := ParseUnit(chunk)
			if !ok || u.Size <= 0 { // a power failure leaves units of which the last part is zeros
				return pos, false, nil
			}
			if err := visit(pos, &u); err != nil {
				return pos, false, err
			}
		}
		if pos+UnitSize > f.End() { // only a blank fits
			return pos, isBlank(chunk), nil
		}
	}
	return pos, false, nil
}

// before returns the unit that ends at a position or, where that is the start of a file, the last of the file before.
func (l *Log) before(end int64) (pos int64, u Unit, ok bool) {
	for i := len(l.seq.Files()) - 1; i >= 0; i-- {
		f := l.seq.Files()[i]
		if f.Base() >= end {
			continue
		}
		pos = f.Base() + min((end-f.Base())/UnitSize, l.perFile)*UnitSize - UnitSize
		if pos < f.Base() {
			return 0, u, false
		}
		if err := l.read(f, pos, pos+UnitSize); err != nil {
			return 0, u, false
		}
		u, ok = ParseUnit(l.window)
		return pos, u, ok
	}
	return 0, u, false
}

// holds tells whether a position follows a unit of the log, or is its start.
func (l *Log) holds(pos int64) bool {
	files := l.seq.Files()
	if len(files) == 0 || pos < files[0].Base() || pos > files[len(files)-1].End() {
		return false
	}
	_, _, ok := l.before(pos)
	return ok || pos == files[0].Base()
}

// truncate makes end the end, of which what is before synced is on disk. What is behind it is overwritten, so that no
// later recovery finds it.
func (l *Log) truncate(end, synced int64) error {
	files := l.seq.Files()
	for i := len(files) - 1; i >= 0 && files[i].Base() > end; i-- {
		if err := l.seq.Remove(files[i]); err != nil {
			return err
		}
	}
	if f := l.seq.Acquire(end); f != nil {
		defer f.Release()
		if to := f.DataEnd(); to > end-f.Base() {
			if err := f.Zero(end-f.Base(), to); err != nil {
				return err
			}
			if err := f.Sync(); err != nil { // else a power failure brings back what was cut, among new units
				return err
			}
		}
	}
	l.end, l.pending = end, l.pending[:0]
	l.written.Store(end)
	l.synced.Store(min(synced, end))
	l.Forget()
	return nil
}

// Sync writes everything to disk that is readable when it is called.
func (l *Log) Sync() error {
	end := l.written.Load()
	from := l.synced.Load()
	if from >= end {
		return nil
	}
	for _, f := range l.seq.Files() {
		if f.End() <= from || f.Base() >= end || !f.Acquire() {
			continue
		}
		err := f.Sync()
		f.Release()
		if err != nil {
			return err
		}
	}
	l.synced.Store(end)
	return nil
}

// DeleteBefore removes the files, oldest first and never the last, whose units refer to nothing that the commit log
// still has: minPhy is where it begins.
func (l *Log) DeleteBefore(minPhy int64) (removed int, err error) {
	for {
		files := l.seq.Files()
		if len(files) < 2 {
			return removed, nil
		}
		f := files[0]
		_, u, ok := l.before(f.End())
		if !ok || u.PhyOffset+int64(u.Size) > minPhy {
			return removed, nil
		}
		if err := l.seq.Remove(f); err != nil {
			return removed, err
		}
		removed++
	}
}

// Close gives the files back. What was appended and not written is lost.
func (l *Log) Close() error {
	l.seq.Close()
	return nil
}
