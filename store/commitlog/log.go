// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package commitlog is the one log that all messages of a broker are appended to. See message.Record for a record.
//
//	file   | record | record | … | record | blank |   (mapped, of fixed size)
//	                                        int32 bytes left in the file, int32 MagicBlank
//
// No record crosses the end of a file: one that would leave less than 8 bytes goes to the next file, and a blank is put
// where it did not fit. So a file's last 8 bytes never belong to a record.
//
// Appending: Lock, Reserve, fill the bytes, Commit, Unlock. What is committed is visible to readers at once (End); it is
// on disk when Flushed is beyond it. A helper goroutine reserves disk space, faults pages in and creates the next file
// ahead of the appends; it works only when appends tell it to.
package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// blankSize is what must remain behind every record of a file.
const blankSize = 8

// ErrTooLarge says that a record or batch does not fit into any file.
var ErrTooLarge = errors.New("commitlog: larger than a file")

// ErrCreate is wrapped by errors of creating the next file.
var ErrCreate = errors.New("commitlog: cannot create the next file")

// Options of a log.
type Options struct {
	Dirs     []string
	Place    func(base int64) string // nil: Dirs[0]
	FileSize int64
	Sync     *segment.Syncer // nil: the operating system
	Log      *slog.Logger
}

// Log is the commit log.
type Log struct {
	seq  *segment.Sequence
	log  *slog.Logger
	size int64
	tune tuning

	mu       sync.Mutex // orders appends
	lockedAt atomic.Int64
	pos      int64 // append position: guarded by mu
	tail     *tail // of pos, nil before the first append: guarded by mu
	signalAt int64 // guarded by mu

	end     atomic.Int64 // pos as published to readers
	flushMu sync.Mutex
	flushed atomic.Int64

	ahead  chan struct{}
	cur    atomic.Pointer[tail] // tail, for the helper
	nextMu sync.Mutex
	next   *tail // prepared by the helper
	closed bool  // guarded by nextMu
	helper sync.WaitGroup

	cold chan struct{} // bounds the reads that wait for the disk
}

// tail is a file that is written to.
type tail struct {
	file *segment.File
	data []byte

	mu        sync.Mutex
	reserved  atomic.Int64 // position in the file up to which there is disk space
	step      atomic.Int64 // of the next reservation: changed with mu held
	populated int64        // used by the helper only
}

// tuning are distances in bytes, made for the file size: small files must not be reserved as a whole.
type tuning struct {
	firstStep, maxStep int64 // disk space reserved at once, growing
	populate           int64 // pages faulted in ahead of the append position
	signal             int64 // how often the helper is told
	prepare            int64 // how far before the end of a file the next one is created
}

func tuned(size int64) tuning {
	const mib = 1 << 20
	step := max(min(size/4, 64*mib), 64<<10)
	return tuning{
		firstStep: min(step, 2*mib), maxStep: step,
		populate: min(4*mib, step), signal: min(mib, max(step/4, 16<<10)),
		prepare: min(size/4, 32*mib),
	}
}

// Open opens the log without looking into it. Its end has to be found with Scan and told with SetEnd before appending.
func Open(o Options) (*Log, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	seq, err := segment.Load(segment.Options{Dirs: o.Dirs, Place: o.Place, Size: o.FileSize, Sync: o.Sync, Log: o.Log})
	if err != nil {
		return nil, err
	}
	l := &Log{
		seq: seq, log: o.Log, size: o.FileSize, tune: tuned(o.FileSize),
		ahead: make(chan struct{}, 1), cold: make(chan struct{}, 16),
	}
	l.helper.Add(1)
	go l.runAhead()
	return l, nil
}

// Sequence gives access to the files, for recovery and cleaning.
func (l *Log) Sequence() *segment.Sequence { return l.seq }

// FileSize is the size of each file in bytes.
func (l *Log) FileSize() int64 { return l.size }

// Min is the offset of the first byte kept, 0 for an empty log.
func (l *Log) Min() int64 { return max(l.seq.First(), 0) }

// End is the offset behind the last record.
func (l *Log) End() int64 { return l.end.Load() }

// Flushed is the offset up to which everything is on disk.
func (l *Log) Flushed() int64 { return l.flushed.Load() }

// NextFile is the offset at which the file behind the one of off begins.
func (l *Log) NextFile(off int64) int64 { return off + l.size - off%l.size }

// Lock begins an append. now (ms) is when, for StuckFor.
func (l *Log) Lock() { l.mu.Lock() }

// TryLock is Lock if nobody else is appending.
func (l *Log) TryLock() bool { return l.mu.TryLock() }

// Holding notes when the lock was taken, for StuckSince.
func (l *Log) Holding(now int64) { l.lockedAt.Store(now) }

// Unlock ends an append.
func (l *Log) Unlock() {
	l.lockedAt.Store(0)
	l.mu.Unlock()
}

// StuckSince is when (ms) the append that is going on began; 0 if none is.
func (l *Log) StuckSince() int64 { return l.lockedAt.Load() }

// Reserve returns the n bytes where the next record (or batch of records) goes, and their offset. It starts a new file
// if they do not fit into the current one. Nothing is changed when it fails. The lock must be held.
func (l *Log) Reserve(n int) (dst []byte, phyOffset int64, err error) {
	need := int64(n) + blankSize
	if need > l.size {
		return nil, 0, ErrTooLarge
	}
	t := l.tail
	if t == nil || l.pos+need > t.file.End() {
		if t, err = l.roll(); err != nil {
			return nil, 0, err
		}
	}
	at := l.pos - t.file.Base()
	if err := t.reserve(l.tune, at+need); err != nil {
		return nil, 0, err
	}
	return t.data[at : at+int64(n) : at+int64(n)], l.pos, nil
}

// Commit publishes the n bytes of the last Reserve.
func (l *Log) Commit(n int) {
	l.pos += int64(n)
	l.end.Store(l.pos)
	if l.pos >= l.signalAt {
		l.signalAt = l.pos + l.tune.signal
		l.wakeHelper()
	}
}

// roll makes the next file the tail and puts a blank behind the last record of the old one.
func (l *Log) roll() (*tail, error) {
	base := l.pos - l.pos%l.size
	if l.tail != nil {
		base = l.tail.file.End()
	}
	// held to the end: the helper must not prepare the file that becomes the tail here
	l.nextMu.Lock()
	defer l.nextMu.Unlock()
	next, err := l.takeNext(base)
	if err != nil {
		return nil, err
	}
	if old := l.tail; old != nil && l.pos < old.file.End() {
		at := l.pos - old.file.Base()
		if err := old.reserve(l.tune, at+blankSize); err != nil {
			l.next = next
			return nil, err
		}
		binary.BigEndian.PutUint32(old.data[at:], uint32(old.file.End()-l.pos))
		binary.BigEndian.PutUint32(old.data[at+4:], message.MagicBlank)
	}
	l.seq.Add(next.file)
	l.pos = base
	l.setTail(next)
	return next, nil
}

func (l *Log) setTail(t *tail) {
	l.tail = t
	l.cur.Store(t)
	l.signalAt = l.pos
}

// reserve makes sure of disk space for the first n bytes of the file. Most calls find it reserved already.
func (t *tail) reserve(tune tuning, n int64) error {
	if n <= t.reserved.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.reserved.Load()
	if n <= from {
		return nil
	}
	size := int64(len(t.data))
	to := min(max(from+t.step.Load(), n), size)
	err := t.file.Reserve(from, to)
	if err != nil && n < to {
		// nearly full: the message may still fit
		to = n
		err = t.file.Reserve(from, to)
	}
	if err != nil {
		return err
	}
	t.reserved.Store(to)
	t.step.Store(min(2*t.step.Load(), tune.maxStep))
	return nil
}

func (l *Log) newTail(f *segment.File, at int64) (*tail, error) {
	data, err := f.Map()
	if err != nil {
		return nil, err
	}
	t := &tail{file: f, data: data, populated: at}
	t.step.Store(l.tune.firstStep)
	t.reserved.Store(at)
	return t, nil
}

// prepare creates the file at base with its first step of disk space.
func (l *Log) prepare(base int64) (*tail, error) {
	f, err := l.seq.Prepare(base)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCreate, err)
	}
	t, err := l.newTail(f, 0)
	if err == nil {
		err = t.reserve(l.tune, blankSize)
	}
	if err == nil {
		err = f.Sync() // after a power failure no file may be there without its size, nor be missing among others
	}
	if err != nil {
		_ = f.Discard()
		return nil, fmt.Errorf("%w: %w", ErrCreate, err)
	}
	return t, nil
}

// takeNext returns the prepared file or prepares it now. nextMu is held.
func (l *Log) takeNext(base int64) (*tail, error) {
	t := l.next
	l.next = nil
	if t != nil && t.file.Base() == base {
		return t, nil
	}
	if t != nil {
		_ = t.file.Discard()
	}
	return l.prepare(base)
}

// SetEnd says that the log ends at end: files behind it are deleted, and what follows it in its file is cleared, so
// that no later recovery can take leftovers for records. For recovery, before anything is appended.
func (l *Log) SetEnd(end int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = nil
	for _, f := range l.seq.Files() {
		if f.Base() > end {
			l.log.Info("store: deleted a commit-log file behind the end of the log", "file", f.Path(), "end", end)
			if err := l.seq.Remove(f); err != nil {
				return err
			}
		}
	}
	l.pos = end
	l.end.Store(end)
	l.flushed.Store(end)
	f := l.seq.Acquire(end)
	if f == nil {
		return nil
	}
	defer f.Release() // the sequence keeps its own reference, and files that are written to are not removed
	at := end - f.Base()
	if dataEnd := f.DataEnd(); dataEnd > at {
		if err := f.Zero(at, dataEnd); err != nil {
			return err
		}
		// a power failure must not bring the leftovers back behind what is appended now
		if err := f.Sync(); err != nil {
			return err
		}
	}
	t, err := l.newTail(f, at)
	if err != nil {
		return err
	}
	l.setTail(t)
	return nil
}

// FlushFrom says that what lies at off and behind may not be on disk: for recovery, after SetEnd.
func (l *Log) FlushFrom(off int64) { l.flushed.Store(min(off, l.end.Load())) }

// Flush writes what was appended to disk and waits for it. With leastPages > 0 it is done only if so many whole pages
// were appended since, and leaves the page that is still being filled alone: a page on its way to the disk stalls
// appends to it.
func (l *Log) Flush(leastPages int) error {
	const page = 4096
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	from, to := l.flushed.Load(), l.end.Load()
	if leastPages > 0 {
		to &^= page - 1
		if to/page-from/page < int64(leastPages) && to/l.size == from/l.size {
			return nil
		}
	}
	for from < to {
		f := l.seq.Acquire(from)
		if f == nil { // deleted meanwhile
			from = l.NextFile(from)
			continue
		}
		upTo := min(to, f.End())
		err := f.SyncRange(from-f.Base(), upTo-f.Base())
		if err != nil {
			err = errors.Join(err, f.Rewrite(from-f.Base(), upTo-f.Base()))
		}
		f.Release()
		if err != nil {
			return err
		}
		from = upTo
		l.flushed.Store(max(l.flushed.Load(), from))
	}
	return nil
}

// Missing is the path of the file that is being written to if it was removed from its directory or made shorter, else "".
func (l *Log) Missing() string {
	t := l.cur.Load()
	if t == nil || !t.file.Acquire() {
		return ""
	}
	defer t.file.Release()
	if !t.file.Damaged() {
		return ""
	}
	return t.file.Path()
}

// Dirty tells whether anything is waiting for a flush.
func (l *Log) Dirty() bool { return l.flushed.Load() < l.end.Load() }

// Close ends the log after a last flush by its owner; nothing may be appended any more. A prepared file is deleted and space reserved ahead given back.
func (l *Log) Close() error {
	l.nextMu.Lock()
	was := l.closed
	l.closed = true
	next := l.next
	l.next = nil
	l.nextMu.Unlock()
	if was {
		return nil
	}
	close(l.ahead)
	l.helper.Wait()
	var err error
	if next != nil {
		err = next.file.Discard()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.tail; t != nil {
		at := l.pos - t.file.Base()
		if reserved := t.reserved.Load(); reserved > at {
			err = errors.Join(err, t.file.Zero(at, reserved))
		}
	}
	l.tail = nil
	l.cur.Store(nil)
	l.seq.Close()
	return err
}

func (l *Log) wakeHelper() {
	select {
	case l.ahead <- struct{}{}:
	default:
	}
}

// runAhead is the helper: see the package comment.
func (l *Log) runAhead() {
	defer l.helper.Done()
	for range l.ahead {
		t := l.cur.Load()
		if t == nil || !t.file.Acquire() {
			continue
		}
		if err := l.workAhead(t); err != nil {
			// the append that needs it will meet the error again and report it
			l.log.Debug("store: reserving ahead", "file", t.file.Path(), "err", err)
		}
		t.file.Release()
	}
}

func (l *Log) workAhead(t *tail) error {
	pos := l.end.Load() - t.file.Base()
	size := int64(len(t.data))
	if pos < 0 || pos > size {
		return nil
	}
	want := min(pos+max(l.tune.populate, t.step.Load()), size)
	if err := t.reserve(l.tune, want); err != nil {
		return err
	}
	to := min(pos+l.tune.populate, t.reserved.Load())
	for from := max(t.populated, pos); from < to; from = t.populated {
		t.populated = min(from+(1<<20), to)
		if err := t.file.Populate(from, t.populated); err != nil {
			return err
		}
	}
	if size-pos > l.tune.prepare {
		return nil
	}
	l.nextMu.Lock()
	defer l.nextMu.Unlock()
	if l.next != nil || l.closed || l.cur.Load() != t {
		return nil
	}
	next, err := l.prepare(t.file.End())
	if err != nil {
		return err
	}
	l.next = next
	next.populated = min(l.tune.populate, next.reserved.Load())
	return next.file.Populate(0, next.populated)
}
