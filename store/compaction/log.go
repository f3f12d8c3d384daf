// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"rocketmq-go/message"
	"rocketmq-go/store"
)

// Limits of one Get, as in the store.
const (
	maxBytes    = 256 << 10
	maxCount    = 32
	maxExamined = 800
)

// Options of a Log.
type Options struct {
	Dir           string // storePathRootDir/compaction
	Topic         string
	QueueID       int32
	LogFileSize   int64 // see LogFileSize
	QueueFileSize int64 // see QueueFileSize
	KeyMemory     int   // bytes that the keys of one Compact may take (maxOffsetMapSize)
	AfterCrash    bool  // the machine may have lost what was not flushed: look at each record of the last files
	Log           *slog.Logger
}

// Log is the compacted log of one queue. Its methods may be called at the same time, but Append, Truncate and Remove by
// one goroutine only.
type Log struct {
	o                Options
	logDir, queueDir string

	making sync.Mutex // held by Compact, and by what takes the files away
	mu     sync.RWMutex
	files  []*pair
	dirty  bool
	broken error // the files could not be replaced: nothing can be read before the next Open
}

// ErrKey is the refusal of a message without keys.
var ErrKey = errors.New("a message without keys cannot be compacted")

// ErrTooLarge is the refusal of a message that does not fit into a file.
var ErrTooLarge = errors.New("a message does not fit into a file of the compaction log")

// Open opens the log of a queue, or makes its directories.
func Open(o Options) (*Log, error) {
	l := &Log{
		o:        o,
		logDir:   filepath.Join(o.Dir, "compactionLog", o.Topic, strconv.Itoa(int(o.QueueID))),
		queueDir: filepath.Join(o.Dir, "compactionCq", o.Topic, strconv.Itoa(int(o.QueueID))),
	}
	if err := errors.Join(os.MkdirAll(l.logDir, 0o755), os.MkdirAll(l.queueDir, 0o755)); err != nil {
		return nil, err
	}
	if err := l.resume(); err != nil {
		return nil, err
	}
	if err := l.load(); err != nil {
		l.closeFiles()
		return nil, err
	}
	return l, nil
}

// load opens the files of both directories. A file that is in one of them only is what a crash left while both were
// made: its partner is made, too.
func (l *Log) load() error {
	bases := map[int64]bool{}
	for _, dir := range []string{l.logDir, l.queueDir} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if base, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && !e.IsDir() && len(e.Name()) == 20 {
				bases[base] = true
			}
		}
	}
	for _, base := range slices.Sorted(maps.Keys(bases)) {
		p, err := openPair(l.logDir, l.queueDir, base, l.o.LogFileSize, l.o.QueueFileSize)
		if err != nil {
			return err
		}
		l.files = append(l.files, p)
	}
	last := int64(-1)
	for i, p := range l.files {
		p.last = last // offsets ascend from file to file
		if err := p.load(l.o.AfterCrash && i >= len(l.files)-2); err != nil {
			return err
		}
		if p.units == 0 {
			p.last = -1
		} else {
			last = p.last
		}
	}
	return nil
}

// First is the queue offset of the oldest message, Next that behind the newest one; -1 and 0 when there is none.
func (l *Log) First() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, p := range l.files {
		if p.units > 0 {
			return p.first
		}
	}
	return -1
}

// Next is the queue offset behind the newest message.
func (l *Log) Next() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.next()
}

func (l *Log) next() int64 {
	for i := len(l.files) - 1; i >= 0; i-- {
		if l.files[i].units > 0 {
			return l.files[i].last + 1
		}
	}
	return 0
}

// Files is the number of files; Compact has work only when there are two.
func (l *Log) Files() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.files)
}

// Append adds a record of the commit log, in which it changes the physical offset. One that is there already is passed
// over. The error wraps ErrKey when the message has no keys, ErrTooLarge when it is
// larger than a file.
func (l *Log) Append(rec []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	r, err := message.ParseRecord(rec)
	if err != nil {
		return err
	}
	if r.QueueOffset < l.next() {
		return nil
	}
	l.dirty = true
	return l.add(&l.files, l.logDir, l.queueDir, rec, &r)
}

// add appends a record to the last of files, or to a new one.
func (l *Log) add(files *[]*pair, logDir, queueDir string, rec []byte, r *message.Record) error {
	known := message.ScanKnown(r.Properties)
	if len(bytes.TrimSpace(known.Keys)) == 0 {
		return fmt.Errorf("%w: %s-%d, queue offset %d", ErrKey, l.o.Topic, l.o.QueueID, r.QueueOffset)
	}
	if int64(len(rec))+blankSize > l.o.LogFileSize {
		return fmt.Errorf("%w: %s-%d, %d bytes", ErrTooLarge, l.o.Topic, l.o.QueueID, len(rec))
	}
	u := unit{tagsCode: message.TagsCode(known.Tags), storeTime: r.StoreTimestamp, offset: r.QueueOffset}
	for {
		if n := len(*files); n > 0 && !(*files)[n-1].closed {
			p := (*files)[n-1]
			if ok, err := p.append(rec, u); ok || err != nil {
				return err
			}
			if err := p.finish(); err != nil {
				return err
			}
		}
		base := int64(0)
		if n := len(*files); n > 0 {
			base = (*files)[n-1].base + l.o.LogFileSize
		}
		p, err := openPair(logDir, queueDir, base, l.o.LogFileSize, l.o.QueueFileSize)
		if err != nil {
			return err
		}
		*files = append(*files, p)
	}
}

// Get appends the messages from r.Offset on to dst. It stays within a file once it has found one, as Java does. The
// offset must be below Next.
func (l *Log) Get(dst []byte, r store.GetRequest) ([]byte, store.GetResult, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	res := store.GetResult{Status: store.NoMatchedMessage, NextBeginOffset: r.Offset, MaxOffset: l.next()}
	if l.broken != nil {
		return dst, res, l.broken
	}
	began, examined := len(dst), 0
	first := true
	for _, p := range l.files {
		if p.units == 0 {
			continue
		}
		if first {
			res.MinOffset, first = p.first, false
		}
		if p.last < r.Offset || res.Count > 0 || examined >= max(maxExamined, r.MaxCount) {
			continue
		}
		var err error
		if dst, err = l.collect(dst, began, p, r, &res, &examined); err != nil {
			return dst, res, err
		}
	}
	return dst, res, nil
}

// collect takes what it can from one file.
func (l *Log) collect(dst []byte, began int, p *pair, r store.GetRequest, res *store.GetResult, examined *int) ([]byte, error) {
	n, err := p.find(r.Offset)
	if err != nil {
		return dst, err
	}
	for ; n < p.units && *examined < max(maxExamined, r.MaxCount); n++ {
		u, err := p.unit(n)
		if err != nil {
			return dst, err
		}
		if res.Count > 0 && (res.Count >= min(r.MaxCount, maxCount) || len(dst)-began+int(u.size) > maxBytes) {
			break
		}
		*examined++
		res.NextBeginOffset = u.offset + 1
		if r.Match != nil && !r.Match.MatchUnit(u.tagsCode) {
			continue
		}
		before := len(dst)
		if dst, err = p.record(dst, u); err != nil {
			l.o.Log.Error("compaction: cannot read a message", "topic", l.o.Topic, "queueId", l.o.QueueID, "offset", u.offset, "error", err)
			if res.Count == 0 {
				res.Status = store.MessageWasRemoving
			}
			continue
		}
		if r.Match != nil && r.Match.NeedRecord() && !matches(dst[before:], r.Match) {
			dst = dst[:before]
			continue
		}
		res.Status = store.Found
		res.Count++
	}
	return dst, nil
}

func matches(rec []byte, m store.Matcher) bool {
	r, err := message.ParseRecord(rec)
	return err == nil && m.MatchRecord(r.Properties)
}

// Truncate drops the messages from a queue offset on: the queue has lost them.
func (l *Log) Truncate(next int64) error {
	l.making.Lock()
	defer l.making.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.files) > 0 {
		p := l.files[len(l.files)-1]
		if p.units > 0 && p.first < next {
			return p.cut(next)
		}
		if err := errors.Join(os.Remove(p.queue.Name()), os.Remove(p.log.Name())); err != nil {
			return err
		}
		p.close()
		l.files = l.files[:len(l.files)-1]
	}
	return nil
}

// Flush writes to disk what was appended.
func (l *Log) Flush() error {
	l.mu.Lock()
	var last []*pair
	if l.dirty {
		last = l.files[max(0, len(l.files)-2):]
	}
	l.dirty = false
	l.mu.Unlock()
	l.mu.RLock() // the files must not be replaced meanwhile
	defer l.mu.RUnlock()
	var errs []error
	for _, p := range last {
		if err := p.sync(); !errors.Is(err, fs.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close flushes and closes.
func (l *Log) Close() error {
	err := l.Flush()
	l.making.Lock()
	defer l.making.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFiles()
	return err
}

// Remove closes the log and deletes its files: the topic is deleted.
func (l *Log) Remove() error {
	l.making.Lock()
	defer l.making.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFiles()
	return errors.Join(os.RemoveAll(l.logDir), os.RemoveAll(l.queueDir))
}

func (l *Log) closeFiles() {
	for _, p := range l.files {
		p.close()
	}
	l.files, l.broken = nil, fs.ErrClosed
}
