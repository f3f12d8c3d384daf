// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package consumequeue

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"sync/atomic"

	"rocketmq-go/store/segment"
)

// ExtUnit is what the extension files of a queue (consumequeue_ext) have for a message:
//
//	size int16 | tagsCode int64 | storeTime int64 | bit map length int16 | bit map
//
// Units are packed in files of one size. At least four bytes of a file stay free: where a unit does not fit, an int16 of
// -1 follows the last one, and the next file begins. The queue's unit has the address of its extension as tagsCode:
// the position in the stream minus 2^63, which no hash of tags is.
type ExtUnit struct {
	TagsCode  int64
	StoreTime int64  // ms
	BitMap    []byte // of the SQL92 filters, empty if none was made
}

const (
	extHead = 20            // bytes of a unit without bit map
	extMax  = math.MaxInt16 // bytes of a unit
	extTail = 4             // bytes that stay free at the end of a file
)

// IsExtAddress tells that a tagsCode is the address of a unit in consumequeue_ext instead of a tag's hash.
func IsExtAddress(tagsCode int64) bool { return tagsCode <= math.MinInt32-1 }

// ExtPosition is where in the stream of extension files an address leads.
func ExtPosition(address int64) int64 { return address - math.MinInt64 }

func extAddress(position int64) int64 { return position + math.MinInt64 }

// Size is the size of the unit in bytes.
func (u *ExtUnit) Size() int            { return extHead + len(u.BitMap) }
func (u *ExtUnit) fits(file int64) bool { return int64(u.Size()) <= min(extMax, file-extTail) }

func (u *ExtUnit) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(u.Size()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.TagsCode))
	dst = binary.BigEndian.AppendUint64(dst, uint64(u.StoreTime))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(u.BitMap)))
	return append(dst, u.BitMap...)
}

// ParseExtUnit decodes the unit at the start of b, and tells its size; false if there is none, or not all of one. BitMap is a
// view of b. What a power failure took away reads as zeros: a unit without store time was not written completely.
func ParseExtUnit(b []byte) (u ExtUnit, size int, ok bool) {
	if len(b) < extHead {
		return u, 0, false
	}
	size = int(int16(binary.BigEndian.Uint16(b)))
	u.TagsCode = int64(binary.BigEndian.Uint64(b[2:]))
	u.StoreTime = int64(binary.BigEndian.Uint64(b[10:]))
	n := int(int16(binary.BigEndian.Uint16(b[18:])))
	if n < 0 || size != extHead+n || size > len(b) || u.StoreTime <= 0 {
		return ExtUnit{}, 0, false
	}
	u.BitMap = b[extHead:size]
	return u, size, true
}

// ExtOptions are those of a queue's extension files.
type ExtOptions struct {
	Dir      string
	FileSize int64 // mappedFileSizeConsumeQueueExt
	// ReadOnly: units of new messages get no extension; files that are there are read, and deleted with their queue.
	ReadOnly bool
}

// ext are the extension files of a queue. Like the queue they have one writer and any number of readers.
type ext struct {
	seq      *segment.Sequence
	dir      string
	size     int64 // of a file
	readOnly bool

	written atomic.Int64 // behind the last unit that can be read
	synced  atomic.Int64 // what is before is on disk

	end     int64  // behind the last collected unit
	pending []byte // from written to end
}

// openExt finds the files. Files of another size are an error only if there is something to be written.
func openExt(o *ExtOptions, fds *segment.FDs, log *slog.Logger) (*ext, error) {
	seq, err := segment.Load(segment.Options{Dirs: []string{o.Dir}, Size: o.FileSize, FDs: fds, Log: log})
	var size *segment.SizeError
	if errors.As(err, &size) && o.ReadOnly {
		log.Warn("store: extension files are not read: mappedFileSizeConsumeQueueExt is not their size", "file", size.Path, "size", size.Size)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &ext{seq: seq, dir: o.Dir, size: o.FileSize, readOnly: o.ReadOnly}, nil
}

// put collects a unit and returns its address; false if it is too large: the tags have to do.
func (x *ext) put(u ExtUnit) (address int64, ok bool) {
	if !u.fits(x.size) {
		return 0, false
	}
	if left := x.size - x.end%x.size; int64(u.Size()) > left-extTail {
		x.pending = append(x.pending, 0xff, 0xff)
		x.pending = append(x.pending, make([]byte, left-2)...)
		x.end += left
	}
	address = extAddress(x.end)
	x.pending = u.append(x.pending)
	x.end += int64(u.Size())
	return address, true
}

// write writes what was collected. After an error it can be called again.
func (x *ext) write() error {
	for at := x.written.Load(); len(x.pending) > 0; at = x.written.Load() {
		f := x.seq.Acquire(at)
		if f == nil {
			created, err := x.seq.Create(at - at%x.size)
			if err != nil {
				return err
			}
			if !created.Acquire() {
				return errors.New("consumequeue: closed")
			}
			f = created
		}
		n := min(int64(len(x.pending)), f.End()-at)
		_, err := f.WriteAt(x.pending[:n], at-f.Base())
		f.Release()
		if err != nil {
			return err
		}
		x.written.Store(at + n)
		x.pending = x.pending[:copy(x.pending, x.pending[n:])]
	}
	return nil
}

// sync writes to disk what was written.
func (x *ext) sync() error {
	upTo := x.written.Load()
	for at := x.synced.Load(); at < upTo; at += x.size - at%x.size {
		f := x.seq.Acquire(at)
		if f == nil {
			continue
		}
		err := f.Sync()
		if err != nil {
			err = errors.Join(err, f.Rewrite(at-f.Base(), min(upTo, f.End())-f.Base()))
		}
		f.Release()
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // being deleted
			return err
		}
	}
	x.synced.Store(upTo)
	return nil
}

// begin goes on at a position; files behind it are deleted, and so is what follows in its file.
func (x *ext) begin(at int64) error {
	x.pending = x.pending[:0]
	x.end = at
	x.written.Store(at)
	x.synced.Store(at)
	files := x.seq.Files()
	for i := len(files) - 1; i >= 0 && files[i].Base() >= at; i-- {
		if err := x.seq.Remove(files[i]); err != nil {
			return err
		}
	}
	f := x.seq.Acquire(at)
	if f == nil {
		return nil
	}
	defer f.Release()
	var next [2]byte
	if at+int64(len(next)) > f.End() {
		return nil
	}
	if _, err := f.ReadAt(next[:], at-f.Base()); err != nil || next == [2]byte{} {
		return err // nothing follows, as nearly always
	}
	if end := f.DataEnd(); end > at-f.Base() {
		return f.Zero(at-f.Base(), end)
	}
	return nil
}

// cleanBefore deletes the files that are not needed from a position on, except for the last one.
func (x *ext) cleanBefore(position int64) error {
	for files := x.seq.Files(); len(files) > 1 && files[0].End() <= position; files = x.seq.Files() {
		if err := x.seq.Remove(files[0]); err != nil {
			return err
		}
	}
	return nil
}

func (x *ext) delete() error {
	var errs []error
	for _, f := range x.seq.Files() {
		errs = append(errs, x.seq.Remove(f))
	}
	return errors.Join(append(errs, x.begin(0))...)
}

// ExtReader reads extension units of one queue, many with one read of the file: those of neighbours are neighbours.
type ExtReader struct {
	at  int64 // position of buf
	buf []byte
}

// extRead is how many bytes are read at a time: 60 units with the default bit map.
const extRead = 2048

// Reset forgets what was read, before another queue or later.
func (r *ExtReader) Reset() { r.buf = r.buf[:0] }

// Read reads the unit at an address of a queue; false if it is not there or damaged. Its bit map is valid until the next
// call.
func (r *ExtReader) Read(q *Queue, address int64) (ExtUnit, bool) {
	if q.ext == nil || !IsExtAddress(address) {
		return ExtUnit{}, false
	}
	position := ExtPosition(address)
	if from := position - r.at; from >= 0 && from < int64(len(r.buf)) {
		if u, _, ok := ParseExtUnit(r.buf[from:]); ok {
			return u, true
		}
	}
	for _, n := range [2]int64{extRead, extMax} {
		if err := r.fill(q.ext, position, n); err != nil {
			return ExtUnit{}, false
		}
		if u, _, ok := ParseExtUnit(r.buf); ok {
			return u, true
		}
		if len(r.buf) < extHead || int64(binary.BigEndian.Uint16(r.buf)) <= n {
			break
		}
	}
	r.Reset()
	return ExtUnit{}, false
}

func (r *ExtReader) fill(x *ext, position, n int64) error {
	r.Reset()
	f := x.seq.Acquire(position)
	if f == nil {
		return fs.ErrNotExist
	}
	defer f.Release()
	n = min(n, f.End()-position)
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	r.at = position
	_, err := f.ReadAt(r.buf[:n], position-f.Base())
	if err == nil {
		r.buf = r.buf[:n]
	}
	return err
}

// HasExt tells whether the queue has extension files, or is to have them.
func (q *Queue) HasExt() bool { return q.ext != nil }

// fitExt makes the extension files fit the units: they end behind the one that the last unit with an address leads to. If
// that is not there, or none of the last files has an address, a new file is begun: no address that is still in a unit
// may lead to the extension of another message.
func (q *Queue) fitExt() error {
	x := q.ext
	switch {
	case x == nil:
		return nil
	case len(q.seq.Files()) == 0: // what is there belonged to a queue that is gone
		return x.delete()
	}
	address, found, err := q.lastExt()
	if err != nil {
		return err
	}
	if !found {
		at := int64(0)
		if files := x.seq.Files(); len(files) > 0 {
			at = files[len(files)-1].End()
		}
		return x.begin(at)
	}
	position := ExtPosition(address)
	var r ExtReader
	u, ok := r.Read(q, address)
	if !ok {
		q.log.Warn("store: the extension of a consume-queue unit is gone: its message is looked at instead", "queue", q.dir, "position", position)
		return x.begin(position - position%x.size + x.size)
	}
	return x.begin(position + int64(u.Size()))
}

// lastExt is the address in the last unit that has one.
func (q *Queue) lastExt() (address int64, found bool, err error) {
	files := q.seq.Files()
	first := files[max(len(files)-scanFiles, 0)].Base() / UnitSize
	buf := make([]byte, UnitSize) // nearly always it is the very last one
	for end := q.end; end > first; {
		from := max(end-int64(len(buf)/UnitSize), (end-1)/q.size*q.size) // a Read ends with the file
		got, err := q.Read(buf[:(end-from)*UnitSize], from)
		if err != nil {
			return 0, false, err
		}
		for i := int64(len(got)/UnitSize) - 1; i >= 0; i-- {
			if u := ParseUnit(got[i*UnitSize:]); IsExtAddress(u.TagsCode) {
				return u.TagsCode, true, nil
			}
		}
		if end = from; len(buf) == UnitSize {
			buf = make([]byte, 2048*UnitSize)
		}
	}
	return 0, false, nil
}

// cleanExt deletes extension files of units before Min.
func (q *Queue) cleanExt() error {
	if q.ext == nil {
		return nil
	}
	lo, hi := q.min.Load(), q.max.Load()
	if lo == hi {
		return q.ext.cleanBefore(q.ext.written.Load())
	}
	buf := make([]byte, 128*UnitSize) // with the key on it is the first one
	got, err := q.Read(buf, lo)
	if err != nil {
		return err
	}
	for ; len(got) > 0; got = got[UnitSize:] {
		if u := ParseUnit(got); IsExtAddress(u.TagsCode) {
			return q.ext.cleanBefore(ExtPosition(u.TagsCode))
		}
	}
	return nil
}
