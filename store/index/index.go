// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package index finds messages by key: hash tables in files, each a header, slots and units.
//
//	header  40: beginTimestamp int64 | endTimestamp int64 | beginPhyOffset int64 | endPhyOffset int64 |
//	            hashSlotCount int32 | indexCount int32
//	slots    4: number of the newest unit of the chain, 0 for none
//	units   20: keyHash int32 | phyOffset int64 | timeDiff int32 (s since beginTimestamp) | previous unit int32
//
// Units are numbered from 1; indexCount is the next number. A file is full when indexCount reaches the number of units;
// the next one is created then, named by the local time. There is one writer; queries may run at any time.
package index

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

const (
	headerSize = 40
	slotSize   = 4
	unitSize   = 20
)

// Options of an index.
type Options struct {
	Dir   string
	Slots int32
	Units int32
	Now   func() time.Time
	Sync  *segment.Syncer // nil: the operating system
	Log   *slog.Logger
}

// Index is the sequence of index files.
type Index struct {
	o     Options
	files atomic.Pointer[[]*file] // oldest first; changed with mu held

	mu   sync.Mutex
	full []*file // not yet on disk
}

// Open opens all files as they are. keep tells by its header which files to trust; the others are deleted (after a crash
// Java keeps those that ended before the checkpoint's index time).
func Open(o Options, keep func(h Header) bool) (*Index, error) {
	if o.Sync == nil {
		o.Sync = new(segment.Syncer)
	}
	x := &Index{o: o}
	x.files.Store(&[]*file{})
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var files []*file
	for _, e := range entries {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err != nil || e.IsDir() {
			continue
		}
		path := filepath.Join(o.Dir, e.Name())
		f, err := openFile(path, o, false)
		if errors.Is(err, errSize) {
			// Java takes such a file and finds nothing, or worse, in it
			o.Log.Error("store: index file is not used", "file", path, "err", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if !keep(f.header()) {
			o.Log.Info("store: deleted an index file that may be incomplete", "file", path)
			f.release()
			if err := errors.Join(os.Remove(path), o.Sync.Removed(path)); err != nil {
				return nil, err
			}
			continue
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	if n := len(files); n > 1 && files[n-1].header().Count <= 1 {
		// killed before its header was written
		if err := files[n-1].setHeader(files[n-2].header().successor()); err != nil {
			return nil, err
		}
	}
	x.files.Store(&files)
	return x, nil
}

// successor is the header of the file that follows, before its first unit.
func (h Header) successor() Header {
	return Header{
		BeginTimestamp: h.EndTimestamp, EndTimestamp: h.EndTimestamp,
		BeginPhyOffset: h.EndPhyOffset, EndPhyOffset: h.EndPhyOffset, Count: 1,
	}
}

// Header is the header of a file.
type Header struct {
	BeginTimestamp, EndTimestamp int64 // ms
	BeginPhyOffset, EndPhyOffset int64
	SlotCount, Count             int32
}

// Headers are those of all files, oldest first.
func (x *Index) Headers() []Header {
	var hs []Header
	for _, f := range *x.files.Load() {
		hs = append(hs, f.header())
	}
	return hs
}

// KeyHash is the hash of a key of a topic, never negative.
func KeyHash[T string | []byte](topic string, key T) int32 {
	h := message.HashCode(0, topic)
	h = 31*h + '#'
	h = message.HashCode(h, key)
	switch {
	case h == math.MinInt32:
		return 0
	case h < 0:
		return -h
	}
	return h
}

func (x *Index) last() *file {
	if files := *x.files.Load(); len(files) > 0 {
		return files[len(files)-1]
	}
	return nil
}

// Add indexes a message under its unique key and its keys (separated by blanks), in that order. A message that the
// index has already is ignored: logs are dispatched again after a crash.
func (x *Index) Add(topic string, uniqKey, keys []byte, phyOffset, storeTime int64) error {
	repeat := false
	if f := x.last(); f != nil {
		if phyOffset < f.head.EndPhyOffset {
			return nil
		}
		// the crash may have come between two keys of one message
		repeat = phyOffset == f.head.EndPhyOffset
	}
	if len(uniqKey) > 0 {
		if err := x.put(KeyHash(topic, uniqKey), phyOffset, storeTime, repeat); err != nil {
			return err
		}
	}
	for len(keys) > 0 {
		key := keys
		if i := slices.Index(keys, ' '); i >= 0 {
			key, keys = keys[:i], keys[i+1:]
		} else {
			keys = nil
		}
		if len(key) > 0 {
			if err := x.put(KeyHash(topic, key), phyOffset, storeTime, repeat); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Index) put(hash int32, phyOffset, storeTime int64, repeat bool) error {
	if repeat && x.has(hash, phyOffset) {
		return nil
	}
	f := x.last()
	if f == nil || f.full() {
		next, err := x.create(f)
		if err != nil {
			return err
		}
		f = next
	}
	return f.put(hash, phyOffset, storeTime)
}

// has tells whether there is a unit of a hash for the message that was indexed last. Its keys may lie in several files.
func (x *Index) has(hash int32, phyOffset int64) bool {
	for _, f := range slices.Backward(*x.files.Load()) {
		if f.head.EndPhyOffset < phyOffset {
			break
		}
		if f.has(hash, phyOffset) {
			return true
		}
	}
	return false
}

// create adds a file whose header continues that of old.
func (x *Index) create(old *file) (*file, error) {
	if err := x.o.Sync.MkdirAll(x.o.Dir); err != nil {
		return nil, err
	}
	path := ""
	for t := x.o.Now(); ; t = t.Add(time.Millisecond) {
		name := strings.Replace(t.Format("20060102150405.000"), ".", "", 1)
		path = filepath.Join(x.o.Dir, name)
		if old != nil && filepath.Base(old.path) >= name {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	f, err := openFile(path, x.o, true)
	if err != nil {
		return nil, err
	}
	if old != nil {
		err = f.setHeader(old.head.successor())
	}
	if err != nil {
		f.release()
		os.Remove(path)
		return nil, err
	}
	x.o.Sync.Changed(x.o.Dir)
	x.mu.Lock()
	defer x.mu.Unlock()
	files := append(slices.Clone(*x.files.Load()), f)
	x.files.Store(&files)
	if old != nil {
		x.full = append(x.full, old)
	}
	return f, nil
}

// Cut says that the log ends at an offset: the records that will take the place of what is indexed behind it are indexed
// too. For recovery.
func (x *Index) Cut(end int64) error {
	f := x.last()
	if f == nil {
		return nil
	}
	h := f.header()
	if h.EndPhyOffset < end {
		return nil
	}
	h.EndPhyOffset = end
	return f.setHeader(h)
}

// Unsynced says that full files whose last message was stored after ms may not be on disk: for recovery.
func (x *Index) Unsynced(ms int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	files := *x.files.Load()
	for _, f := range files[:max(len(files)-1, 0)] {
		if f.header().EndTimestamp > ms {
			x.full = append(x.full, f)
		}
	}
}

// SyncFull writes files that became full to disk, oldest first, and tells the store time (ms) of the last message of each
// that is there. Files whose last message does not begin below a physical offset, and what could not be written, are left
// to later calls: no index may know messages that the log can still lose. Not concurrently with itself.
func (x *Index) SyncFull(phyEnd int64, synced func(endTimestamp int64)) error {
	for {
		x.mu.Lock()
		if len(x.full) == 0 {
			x.mu.Unlock()
			return nil
		}
		f := x.full[0]
		x.mu.Unlock()
		if f.header().EndPhyOffset >= phyEnd {
			return nil
		}
		if f.acquire() { // else it was deleted meanwhile
			err := f.sync()
			f.release()
			if err != nil {
				return err
			}
		}
		synced(f.header().EndTimestamp)
		x.mu.Lock()
		x.full = x.full[1:]
		x.mu.Unlock()
	}
}

// Sync writes the current file to disk: SyncFull sees to the others.
func (x *Index) Sync() error {
	if f := x.last(); f != nil {
		return f.sync()
	}
	return nil
}

// Query walks over the units of a key from the newest on whose time (to the second) lies within [begin, end] ms, until
// visit returns false. Different keys can have one hash: the caller has to look at the messages.
// It returns the end of the newest file: how far the index reaches.
func (x *Index) Query(topic, key string, begin, end int64, visit func(phyOffset int64) bool) (lastTime, lastPhy int64, err error) {
	hash := KeyHash(topic, key)
	files := *x.files.Load()
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		if !f.acquire() {
			break
		}
		h := f.header()
		if i == len(files)-1 {
			lastTime, lastPhy = h.EndTimestamp, h.EndPhyOffset
		}
		more := true
		if h.BeginTimestamp <= end && h.EndTimestamp >= begin {
			more, err = f.query(hash, h, begin, end, visit)
		}
		f.release()
		if err != nil || !more || h.BeginTimestamp < begin {
			break
		}
	}
	return lastTime, lastPhy, err
}

// DeleteBefore deletes the files whose messages all lie below a physical offset, oldest first, except for the last file,
// and tells how many. A file that cannot be deleted stays in use, and so do those behind it.
func (x *Index) DeleteBefore(phyOffset int64) (n int, err error) {
	for ; ; n++ {
		files := *x.files.Load()
		if len(files) < 2 || files[0].header().EndPhyOffset >= phyOffset {
			return n, nil
		}
		if err := os.Remove(files[0].path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return n, err
		}
		x.mu.Lock()
		rest := slices.Clone((*x.files.Load())[1:]) // only what is behind can have changed
		x.files.Store(&rest)
		x.mu.Unlock()
		files[0].release()
	}
}

// Delete removes all files.
func (x *Index) Delete() error {
	files := *x.files.Load()
	x.files.Store(&[]*file{})
	var errs []error
	for _, f := range files {
		errs = append(errs, os.Remove(f.path))
		f.release()
	}
	return errors.Join(errs...)
}

// Close closes the files.
func (x *Index) Close() {
	files := *x.files.Load()
	x.files.Store(&[]*file{})
	for _, f := range files {
		f.release()
	}
}

func (h *Header) encode(b []byte) {
	be := binary.BigEndian
	be.PutUint64(b, uint64(h.BeginTimestamp))
	be.PutUint64(b[8:], uint64(h.EndTimestamp))
	be.PutUint64(b[16:], uint64(h.BeginPhyOffset))
	be.PutUint64(b[24:], uint64(h.EndPhyOffset))
	be.PutUint32(b[32:], uint32(h.SlotCount))
	be.PutUint32(b[36:], uint32(h.Count))
}

func decodeHeader(b []byte) Header {
	be := binary.BigEndian
	return Header{
		BeginTimestamp: int64(be.Uint64(b)), EndTimestamp: int64(be.Uint64(b[8:])),
		BeginPhyOffset: int64(be.Uint64(b[16:])), EndPhyOffset: int64(be.Uint64(b[24:])),
		SlotCount: int32(be.Uint32(b[32:])), Count: max(int32(be.Uint32(b[36:])), 1),
	}
}
