// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"rocketmq-go/message"
)

// gap is a part of the log that is no record: damage, or what follows the end.
type gap struct {
	from, to int64
	why      string
	time     int64 // store time (ms) of a record beside it
}

// walkResult is what a walk found.
type walkResult struct {
	begin, end int64 // of the log
	records    int64
	bytes      int64 // of records
	firstTime  int64 // store times (ms)
	lastTime   int64
	gaps       []gap
	left       int64 // bytes behind the end up to the last one that is not zero
	why        string
}

// walker reads the whole log and, other than a start, goes on behind damage: the next record there is recognised by its
// magic code and its physical offset.
type walker struct {
	log    *stream
	newest int64 // newest record that the queues know, -1 if there are none: where the log may end
	visit  func(r *message.Record, raw []byte) error
	found  func(g gap) // a gap, before the record behind it is visited
	tick   func(pos int64)

	res     walkResult
	pending *gap
	fd      *os.File
	buf     []byte
	bufAt   int64
	limit   int64 // of the file
}

func (w *walker) run() (walkResult, error) {
	w.buf = make([]byte, 0, 1<<20)
	w.res.begin = w.log.first()
	w.res.end = w.res.begin
	blank := int64(-1)
	for i := range w.log.files {
		f := &w.log.files[i]
		if i > 0 && f.size > 0 {
			if before := &w.log.files[i-1]; before.base+w.log.size != f.base {
				w.lose(gap{from: before.base + w.log.size, to: f.base, why: "files are missing"})
			} else if blank >= 0 && w.pending == nil {
				w.res.end = f.base
			}
		}
		var err error
		if blank, err = w.file(f); err != nil {
			return w.res, err
		}
	}
	if w.pending != nil {
		w.res.why = w.pending.why
	}
	from := w.res.end
	if blank == from && len(w.log.files) > 0 {
		from = never // a file that is full, and no next one
	}
	var err error
	w.res.left, err = w.leftovers(from)
	return w.res, err
}

// file walks one file. blank is where the blank at its end is, -1 if there is none.
func (w *walker) file(f *piece) (blank int64, err error) {
	if w.fd, err = os.Open(f.path); err != nil {
		return -1, err
	}
	defer w.fd.Close()
	w.limit = w.log.limit(f)
	w.buf, w.bufAt = w.buf[:0], f.base
	for pos := f.base; pos < w.limit; {
		if w.tick != nil {
			w.tick(pos)
		}
		head, err := w.bytes(f, pos, 8)
		if err != nil {
			return -1, err
		}
		if len(head) == 8 && binary.BigEndian.Uint32(head[4:]) == message.MagicBlank {
			return pos, nil
		}
		r, raw, why, err := w.record(f, pos)
		if err != nil {
			return -1, err
		}
		if why == "" {
			if err := w.good(pos, &r, raw); err != nil {
				return -1, err
			}
			pos += int64(r.Size)
			continue
		}
		next, err := w.search(f, pos)
		if err != nil {
			return -1, err
		}
		w.lose(gap{from: pos, to: next, why: why})
		pos = next
	}
	return -1, nil
}

func (w *walker) lose(g gap) {
	if w.pending == nil {
		w.pending = &g
		return
	}
	w.pending.to = g.to
}

// good takes a record, and the gap before it.
func (w *walker) good(pos int64, r *message.Record, raw []byte) error {
	if g := w.pending; g != nil {
		last := w.log.files[len(w.log.files)-1].base
		if w.newest >= 0 && g.from >= w.newest && g.from >= last {
			return nil // Java leaves records behind the end of the log where it cut it off
		}
		w.pending = nil
		g.time = cmp.Or(w.res.lastTime, r.StoreTimestamp)
		w.res.gaps = append(w.res.gaps, *g)
		if w.found != nil {
			w.found(*g)
		}
	}
	if w.res.records == 0 {
		w.res.firstTime = r.StoreTimestamp
	}
	w.res.lastTime = r.StoreTimestamp
	w.res.records++
	w.res.bytes += int64(r.Size)
	w.res.end = pos + int64(r.Size)
	if w.visit == nil {
		return nil
	}
	return w.visit(r, raw)
}

// bytes returns up to n bytes at pos, less at the end of the file.
func (w *walker) bytes(f *piece, pos, n int64) ([]byte, error) {
	n = min(n, w.limit-pos)
	if at := pos - w.bufAt; at >= 0 && at+n <= int64(len(w.buf)) {
		return w.buf[at : at+n], nil
	}
	want := min(max(int64(cap(w.buf)), n), w.limit-pos)
	if want > int64(cap(w.buf)) {
		w.buf = make([]byte, 0, want)
	}
	w.buf, w.bufAt = w.buf[:want], pos
	got, err := w.fd.ReadAt(w.buf, pos-f.base)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	w.buf = w.buf[:got]
	return w.buf[:min(n, int64(got))], err
}

// record reads the record at pos. why says what is wrong with it.
func (w *walker) record(f *piece, pos int64) (r message.Record, raw []byte, why string, err error) {
	head, err := w.bytes(f, pos, 8)
	if err != nil {
		return r, nil, "", err
	}
	if len(head) < 8 {
		return r, nil, "less than 8 bytes left in the file", nil
	}
	size, magic := int64(int32(binary.BigEndian.Uint32(head))), binary.BigEndian.Uint32(head[4:])
	switch {
	case magic != message.MagicV1 && magic != message.MagicV2:
		return r, nil, fmt.Sprintf("magic code %08x", magic), nil
	case size < message.MinRecordSize:
		return r, nil, fmt.Sprintf("record size %d", size), nil
	case size > w.limit-pos:
		return r, nil, fmt.Sprintf("record of %d bytes where %d are left in the file", size, w.limit-pos), nil
	}
	if raw, err = w.bytes(f, pos, size); err != nil {
		return r, nil, "", err
	}
	r, parseErr := message.ParseRecord(raw)
	switch {
	case parseErr != nil:
		return r, nil, parseErr.Error(), nil
	case r.PhyOffset != pos:
		return r, nil, fmt.Sprintf("record says that it is at %d", r.PhyOffset), nil
	case !r.CRCOK():
		return r, nil, "CRC of the body", nil
	}
	return r, raw, "", nil
}

// search finds the next record behind pos in a file, or the blank right behind what stands at pos; else the file's end.
func (w *walker) search(f *piece, pos int64) (int64, error) {
	head, err := w.bytes(f, pos, 8)
	if err != nil {
		return 0, err
	}
	if len(head) == 8 {
		next := pos + int64(binary.BigEndian.Uint32(head))
		if next >= pos+message.MinRecordSize && next <= w.limit-8 {
			if head, err = w.bytes(f, next, 8); err != nil {
				return 0, err
			}
			if len(head) == 8 && binary.BigEndian.Uint32(head[4:]) == message.MagicBlank {
				return next, nil
			}
		}
	}
	const overlap = 3
	magic := []byte{0xDA, 0xA3, 0x20}
	chunk := make([]byte, 256<<10)
	for at := pos + 5; at < w.limit; {
		if at = f.base + nextData(w.fd, at-f.base); at >= w.limit {
			break
		}
		n, err := w.fd.ReadAt(chunk[:min(int64(len(chunk)), w.limit-at)], at-f.base)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(chunk[i:n], magic)
			if j < 0 {
				break
			}
			i += j
			_, _, why, err := w.record(f, at+int64(i)-4)
			if err != nil {
				return 0, err
			}
			if why == "" {
				return at + int64(i) - 4, nil
			}
		}
		if w.tick != nil {
			w.tick(at)
		}
		if n <= overlap {
			break
		}
		at += int64(n - overlap)
	}
	return w.limit, nil
}

// leftovers is how many bytes there are from an offset on, up to the last one that is not zero.
func (w *walker) leftovers(from int64) (int64, error) {
	last := from
	buf := make([]byte, 256<<10)
	for i := range w.log.files {
		f := &w.log.files[i]
		limit := w.log.limit(f)
		if limit <= from {
			continue
		}
		fd, err := os.Open(f.path)
		if err != nil {
			return 0, err
		}
		defer fd.Close()
		for at := max(f.base, from); ; {
			if at = f.base + nextData(fd, at-f.base); at >= limit {
				break
			}
			n, err := fd.ReadAt(buf[:min(int64(len(buf)), limit-at)], at-f.base)
			if err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			if used := len(bytes.TrimRight(buf[:n], "\x00")); used > 0 {
				last = at + int64(used)
			}
			if at += int64(n); n == 0 {
				break
			}
		}
	}
	return last - from, nil
}

// nextData is the first position from pos on that is not in a hole of the file; holes read as zeros, and take long.
func nextData(fd *os.File, pos int64) int64 {
	at := pos
	if raw, err := fd.SyscallConn(); err == nil {
		_ = raw.Control(func(n uintptr) {
			data, err := unix.Seek(int(n), pos, unix.SEEK_DATA)
			switch {
			case err == unix.ENXIO:
				at = never / 2
			case err == nil:
				at = data
			}
		})
	}
	return at
}

// never is an offset behind all others.
const never = math.MaxInt64
