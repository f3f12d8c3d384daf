// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"rocketmq-go/message"
)

// pair is a file of the log and the file of the queue with the same name.
type pair struct {
	name       string
	base       int64
	log, queue *os.File
	logSize    int64
	queueSize  int64
	units      int   // valid ones
	end        int64 // in the log, relative to base, behind the last record
	first      int64 // queue offsets of the first and the last unit; -1 when there is none
	last       int64
	closed     bool // it was ended: nothing can be added
}

// openPair opens or makes the two files.
func openPair(logDir, queueDir string, base, logSize, queueSize int64) (p *pair, err error) {
	p = &pair{name: fmt.Sprintf("%020d", base), base: base, logSize: logSize, queueSize: queueSize, first: -1, last: -1}
	for _, f := range []struct {
		file **os.File
		dir  string
		size int64
	}{{&p.log, logDir, logSize}, {&p.queue, queueDir, queueSize}} {
		if *f.file, err = openSized(filepath.Join(f.dir, p.name), f.size); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

// openSized opens a file, or makes it with the given size.
func openSized(path string, size int64) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Size() == 0:
		err = f.Truncate(size)
	case info.Size() != size:
		err = fmt.Errorf("%s has %d bytes, the configuration says %d", path, info.Size(), size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (p *pair) close() {
	for _, f := range []*os.File{p.log, p.queue} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pair) sync() error { return errors.Join(p.log.Sync(), p.queue.Sync()) }

// load finds out what the files hold. With check each record is looked at, as after a crash, and what does not fit ends
// the file.
func (p *pair) load(check bool) error {
	buf := make([]byte, min(p.queueSize, 1000*unitSize))
	for at := int64(0); at < p.queueSize; at += int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), p.queueSize-at)]
		if _, err := p.queue.ReadAt(buf, at); err != nil {
			return err
		}
		for b := buf; len(b) >= unitSize; b = b[unitSize:] {
			u, ok := parseUnit(b)
			if !ok || !p.fits(u) || u.offset <= p.last || check && !p.holds(u) {
				p.closed = string(b[:unitSize]) == string(endUnit)
				return nil
			}
			p.note(u)
		}
	}
	p.closed = true
	return nil
}

// fits tells whether a unit points into the file of the log.
func (p *pair) fits(u unit) bool { return u.pos >= p.base && u.pos-p.base <= p.logSize-int64(u.size) }

// holds tells whether the record of a unit is there.
func (p *pair) holds(u unit) bool {
	rec := make([]byte, u.size)
	if _, err := p.log.ReadAt(rec, u.pos-p.base); err != nil {
		return false
	}
	r, err := message.ParseRecord(rec)
	return err == nil && r.PhyOffset == u.pos && r.QueueOffset == u.offset && r.Size == u.size && r.CRCOK()
}

// note counts a unit that is in the file.
func (p *pair) note(u unit) {
	if p.units == 0 {
		p.first = u.offset
	}
	p.units++
	p.last, p.end = u.offset, u.pos+int64(u.size)-p.base
}

// append adds a record; false when both files have to be ended.
func (p *pair) append(rec []byte, u unit) (bool, error) {
	at := int64(p.units) * unitSize
	if at+unitSize >= p.queueSize || p.end+int64(len(rec))+blankSize > p.logSize {
		return false, nil
	}
	u.pos, u.size = p.base+p.end, int32(len(rec))
	binary.BigEndian.PutUint64(rec[posPhy:], uint64(u.pos))
	if _, err := p.log.WriteAt(rec, p.end); err != nil {
		return false, err
	}
	if _, err := p.queue.WriteAt(u.append(nil), at); err != nil {
		return false, err
	}
	p.note(u)
	return true, nil
}

// finish ends both files, as Java does when the next record does not fit.
func (p *pair) finish() error {
	if p.closed {
		return nil
	}
	var errs []error
	if at := int64(p.units) * unitSize; at+unitSize <= p.queueSize {
		_, err := p.queue.WriteAt(endUnit, at)
		errs = append(errs, err)
	}
	if left := p.logSize - p.end; left >= blankSize {
		blank := binary.BigEndian.AppendUint32(nil, uint32(left))
		_, err := p.log.WriteAt(binary.BigEndian.AppendUint32(blank, magicBlank), p.end)
		errs = append(errs, err)
	}
	p.closed = true
	return errors.Join(errs...)
}

// cut drops the messages from a queue offset on.
func (p *pair) cut(next int64) error {
	n, err := p.find(next)
	if err != nil || n == p.units {
		return err
	}
	rest := int64(n) * unitSize
	if _, err := p.queue.WriteAt(make([]byte, p.queueSize-rest), rest); err != nil {
		return err
	}
	p.units, p.end, p.first, p.last, p.closed = 0, 0, -1, -1, false
	return p.load(false)
}

// unit reads the n-th unit.
func (p *pair) unit(n int) (unit, error) {
	var b [unitSize]byte
	if _, err := p.queue.ReadAt(b[:], int64(n)*unitSize); err != nil {
		return unit{}, err
	}
	u, ok := parseUnit(b[:])
	if !ok {
		return u, fmt.Errorf("%s: unit %d is none", p.queue.Name(), n)
	}
	return u, nil
}

// find is the number of the first unit with a queue offset of at least next.
func (p *pair) find(next int64) (int, error) {
	var failed error
	n := sort.Search(p.units, func(i int) bool {
		u, err := p.unit(i)
		failed = errors.Join(failed, err)
		return u.offset >= next
	})
	return n, failed
}

// record appends the record of a unit to dst.
func (p *pair) record(dst []byte, u unit) ([]byte, error) {
	n := len(dst)
	dst = append(dst, make([]byte, u.size)...)
	if _, err := p.log.ReadAt(dst[n:], u.pos-p.base); err != nil {
		return dst[:n], err
	}
	if binary.BigEndian.Uint32(dst[n+posSize:]) != uint32(u.size) || int64(binary.BigEndian.Uint64(dst[n+posQueue:])) != u.offset {
		return dst[:n], fmt.Errorf("%s: no message at %d", p.log.Name(), u.pos)
	}
	return dst, nil
}
