// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commitlog

import (
	"encoding/binary"
	"errors"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// hotWindow is how far behind the end data is taken to be in memory without asking: it was just written.
const hotWindow = 64 << 20

// Reader reads records at given offsets. It holds the file it read last; Close gives it back. A Reader serves one
// goroutine; the zero value with Log set is ready, and may be used again after Close.
type Reader struct {
	Log *Log

	file       *segment.File
	residentTo int64 // offsets from residentFrom on up to here were seen to be in memory
	residentAt int64
	buf        []byte
}

// Bytes returns n bytes at an offset, false if the log does not have them or they could not be read. They are valid until
// the next call. Hot data is a view of the mapping; cold data is read with a system call, since a page fault would
// block one of the scheduler's processors.
func (r *Reader) Bytes(off int64, n int) ([]byte, bool) {
	end := r.Log.End()
	if n < 0 || off < 0 || int64(n) > end-off {
		return nil, false
	}
	f := r.file
	if f == nil || off < f.Base() || off >= f.End() {
		r.release()
		if f = r.Log.seq.Acquire(off); f == nil {
			return nil, false
		}
		r.file = f
	}
	if int64(n) > f.End()-off {
		return nil, false
	}
	at := off - f.Base()
	if data, err := f.Map(); err == nil && (off >= end-hotWindow || r.resident(data, f.Base(), off, n)) {
		return data[at : at+int64(n) : at+int64(n)], true
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, 4096))
	}
	r.Log.cold <- struct{}{}
	_, err := f.ReadAt(r.buf[:n], at)
	<-r.Log.cold
	return r.buf[:n], err == nil
}

// resident asks the kernel whether the bytes are in memory, for a window of pages at once.
func (r *Reader) resident(data []byte, base, off int64, n int) bool {
	const page, window = 4096, 32
	if off >= r.residentAt && off+int64(n) <= r.residentTo {
		return true
	}
	from := (off - base) &^ (page - 1)
	to := min(max(from+window*page, off-base+int64(n)), int64(len(data)))
	var vec [window]byte
	if to-from > window*page {
		return false
	}
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[from])), uintptr(to-from), uintptr(unsafe.Pointer(&vec)))
	if e != 0 {
		return false
	}
	pages := int64(0)
	for pages < (to-from+page-1)/page && vec[pages]&1 != 0 {
		pages++
	}
	r.residentAt, r.residentTo = base+from, min(base+from+pages*page, base+int64(len(data)))
	return off+int64(n) <= r.residentTo
}

// Record returns the record that begins at an offset; its size is read from the record. False if there is none.
func (r *Reader) Record(off int64) ([]byte, bool) {
	head, ok := r.Bytes(off, 8)
	if !ok {
		return nil, false
	}
	size := int32(binary.BigEndian.Uint32(head))
	magic := binary.BigEndian.Uint32(head[4:])
	if size < message.MinRecordSize || magic != message.MagicV1 && magic != message.MagicV2 {
		return nil, false
	}
	return r.Bytes(off, int(size))
}

// StoreTime is the store time (ms) of the record at an offset, -1 if there is none.
func (r *Reader) StoreTime(off int64) int64 {
	if head, ok := r.Bytes(off, message.StoreTimestampEnd); ok {
		if t, ok := message.StoreTimestampOf(head); ok {
			return t
		}
	}
	return -1
}

func (r *Reader) release() {
	if r.file != nil {
		r.file.Release()
		r.file = nil
	}
	r.residentTo = 0
}

// Close gives the file back.
func (r *Reader) Close() { r.release() }

// FirstStoreTime is the store time of the first record of a file, 0 if the file does not begin with a record.
func FirstStoreTime(f *segment.File) int64 {
	var head [message.StoreTimestampEnd]byte
	if _, err := f.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	t, _ := message.StoreTimestampOf(head[:])
	return t
}
