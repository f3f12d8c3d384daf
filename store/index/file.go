// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"rocketmq-go/store/segment"
)

// Disk space of a file is reserved in pieces: of the slots those that are used, of the units what comes next.
const (
	slotPiece = 64 << 10
	unitPiece = 4 << 20
)

var errSize = errors.New("maxHashSlotNum and maxIndexNum do not fit the file")

// file is one index file. The writer goes through the mapping, into reserved space only; queries read with system calls.
type file struct {
	path  string
	disk  *segment.Syncer
	fd    *os.File
	data  []byte
	slots int64
	units int64
	refs  atomic.Int32
	size  int64

	mu    sync.Mutex // for head: the writer changes it with mu held, and reads it without
	head  Header
	slotR []bool // pieces of the header and slots that have disk space: the writer's
	unitR int64  // position up to which units have disk space: the writer's
}

func openFile(path string, o Options, create bool) (*file, error) {
	f := &file{path: path, disk: o.Sync, slots: int64(o.Slots), units: int64(o.Units)}
	f.size = headerSize + f.slots*slotSize + f.units*unitSize
	var err error
	if create {
		f.fd, err = segment.CreateFile(path, f.size)
	} else {
		f.fd, err = os.OpenFile(path, os.O_RDWR, 0o644)
	}
	if err != nil {
		return nil, err
	}
	f.refs.Store(1)
	if !create {
		var info os.FileInfo
		if info, err = f.fd.Stat(); err == nil && info.Size() != f.size {
			err = fmt.Errorf("%w: %d bytes, expected %d", errSize, info.Size(), f.size)
		}
	}
	if err == nil {
		f.data, err = f.mmap()
	}
	if err != nil {
		f.release()
		if create {
			os.Remove(path)
		}
		return nil, err
	}
	f.slotR = make([]bool, (headerSize+f.slots*slotSize)/slotPiece+1)
	f.unitR = headerSize + f.slots*slotSize
	f.head = Header{Count: 1}
	if !create {
		var head [headerSize]byte
		if _, err := f.fd.ReadAt(head[:], 0); err != nil {
			f.release()
			return nil, err
		}
		f.head = decodeHeader(head[:])
	}
	return f, nil
}

func (f *file) control(op func(fd int) error) error {
	raw, err := f.fd.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	if err := raw.Control(func(fd uintptr) { opErr = op(int(fd)) }); err != nil {
		return err
	}
	return opErr
}

func (f *file) mmap() (data []byte, err error) {
	err = f.control(func(fd int) error {
		data, err = unix.Mmap(fd, 0, int(f.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return &fs.PathError{Op: "mmap", Path: f.path, Err: err}
		}
		return nil
	})
	return data, err
}

func (f *file) acquire() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *file) release() {
	if f.refs.Add(-1) != 0 {
		return
	}
	if f.data != nil {
		_ = unix.Munmap(f.data)
	}
	f.fd.Close()
}

func (f *file) header() Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head
}

// full is for the writer.
func (f *file) full() bool { return int64(f.head.Count) >= f.units }

func (f *file) slotPos(hash int32) int64 { return headerSize + int64(hash)%f.slots*slotSize }

func (f *file) unitPos(n int32) int64 { return headerSize + f.slots*slotSize + int64(n)*unitSize }

// reserve makes sure of disk space for the header, a slot and a unit.
func (f *file) reserve(slot, unit int64) error {
	// a slot may lie across two pieces, since the header shifts them
	for _, piece := range [3]int64{0, slot / slotPiece, (slot + slotSize - 1) / slotPiece} {
		if f.slotR[piece] {
			continue
		}
		if err := f.allocate(piece*slotPiece, min((piece+1)*slotPiece, f.size)); err != nil {
			return err
		}
		f.slotR[piece] = true
	}
	if unit+unitSize <= f.unitR {
		return nil
	}
	// steps grow with what is there: a small store must not reserve much
	to := min(unit+max(slotPiece, min((unit-f.unitPos(0))/4, unitPiece)), f.size)
	if err := f.allocate(unit, to); err != nil {
		return err
	}
	f.unitR = to
	return nil
}

func (f *file) allocate(from, to int64) error {
	return f.control(func(fd int) error {
		err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, to-from)
		if err == unix.EOPNOTSUPP {
			return f.touch(fd, from, to)
		}
		if err != nil {
			return &fs.PathError{Op: "fallocate", Path: f.path, Err: err}
		}
		return nil
	})
}

// touch allocates by writing back what is there.
func (f *file) touch(fd int, from, to int64) error {
	buf := make([]byte, 64<<10)
	for from < to {
		n, err := unix.Pread(fd, buf[:min(int64(len(buf)), to-from)], from)
		if err != nil {
			return err
		}
		if n, err = unix.Pwrite(fd, buf[:n], from); err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}

func (f *file) setHeader(h Header) error {
	if err := f.reserve(headerSize, f.unitPos(1)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.head = h
	f.head.encode(f.data)
	return nil
}

// put adds a unit. The order of the stores is that of Java: unit, slot, header; a killed process leaves the mapping as
// it is.
func (f *file) put(hash int32, phyOffset, storeTime int64) error {
	be := binary.BigEndian
	h := f.head
	slot, unit := f.slotPos(hash), f.unitPos(h.Count)
	if err := f.reserve(slot, unit); err != nil {
		return err
	}
	previous := int32(be.Uint32(f.data[slot:]))
	if previous == h.Count {
		// killed between slot and header: the unit is there already, with what the slot held before
		previous = int32(be.Uint32(f.data[unit+16:]))
	}
	if previous <= 0 || previous > h.Count {
		previous = 0
	}
	diff := int64(0)
	if h.BeginTimestamp > 0 {
		diff = min(max((storeTime-h.BeginTimestamp)/1000, 0), math.MaxInt32)
	}
	be.PutUint32(f.data[unit:], uint32(hash))
	be.PutUint64(f.data[unit+4:], uint64(phyOffset))
	be.PutUint32(f.data[unit+12:], uint32(diff))
	be.PutUint32(f.data[unit+16:], uint32(previous))
	be.PutUint32(f.data[slot:], uint32(h.Count))
	if h.Count <= 1 {
		h.BeginTimestamp, h.BeginPhyOffset = storeTime, phyOffset
	}
	if previous == 0 {
		h.SlotCount++
	}
	h.Count++
	h.EndTimestamp, h.EndPhyOffset = storeTime, phyOffset
	f.mu.Lock()
	f.head = h
	f.mu.Unlock()
	h.encode(f.data)
	return nil
}

// has tells whether the chain of a hash holds an offset.
func (f *file) has(hash int32, phyOffset int64) bool {
	found := false
	_, _ = f.query(hash, f.head, math.MinInt64, math.MaxInt64, func(off int64) bool {
		found = off == phyOffset
		return off > phyOffset
	})
	return found
}

// query walks over a chain; false if visit wanted no more.
func (f *file) query(hash int32, h Header, begin, end int64, visit func(phyOffset int64) bool) (bool, error) {
	if h.Count <= 1 {
		return true, nil
	}
	be := binary.BigEndian
	var b [unitSize]byte
	if _, err := f.fd.ReadAt(b[:slotSize], f.slotPos(hash)); err != nil {
		return false, err
	}
	n := int32(be.Uint32(b[:]))
	for steps := int64(0); n > 0 && int64(n) < f.units && steps < f.units; steps++ {
		if _, err := f.fd.ReadAt(b[:], f.unitPos(n)); err != nil {
			return false, err
		}
		diff := int64(int32(be.Uint32(b[12:])))
		if diff < 0 {
			break
		}
		t := h.BeginTimestamp + diff*1000
		// units from h.Count on are being written, or were when the process was killed
		if n < h.Count && int32(be.Uint32(b[:])) == hash && t >= begin && t <= end {
			if !visit(int64(be.Uint64(b[4:]))) {
				return false, nil
			}
		}
		previous := int32(be.Uint32(b[16:]))
		if previous >= n || t < begin {
			break
		}
		n = previous
	}
	return true, nil
}

func (f *file) sync() error {
	return f.control(func(fd int) error { return f.disk.File(fd, f.path, nil, 0, f.size) })
}
