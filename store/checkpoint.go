// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"rocketmq-go/store/segment"
)

const checkpointSize = 4096

// checkpoint is the file that tells a start after a crash how far back it has to look.
//
//	0 physicMsgTimestamp  store time of a message: all of the log up to it is on disk
//	8 logicsMsgTimestamp  the same for the consume queues
//	16 indexMsgTimestamp  store time of the last message in an index file that is full and on disk
//	24 masterFlushedOffset, 32 confirmPhyOffset (5.x)
//
//	40 ours, zeros after a clean stop; Java neither reads nor writes it:
//	40 magic 8, boot id 16, device 8, inode 8
//	80 offsets in the log: it is on disk up to the first, its consume queues are up to the second, and dispatched is what
//	   lies before the third
//	104 physicMsgTimestamp, logicsMsgTimestamp once more: if they differ, Java was here, and the offsets are old
//
// Each is an int64, times in ms; the rest is zeros. 4.9 leaves all from 24 to 40 alone. Java does not keep the promises of
// the times: it tells the times of messages that are still to be written to disk, in the queues up to a minute later.
type checkpoint struct {
	file   *os.File
	sync   *segment.Syncer
	fixed  int  // bytes at the beginning that this release changes
	marked bool // the directory is open

	// sameBoot: the machine has been up since this directory was last opened by this server. Then whatever ran meanwhile
	// was at most killed, and all that was written, even to mappings, is there. The hint is bound to the file, so that
	// copies do not count.
	sameBoot bool
	hint     [hintSize]byte // of now
	found    places         // what the last one left, none if Java was here since
	places   func() places  // of now

	physic, logics, index, masterFlushed, confirm atomic.Int64
	safe                                          atomic.Int64 // what is before is on disk in the consume queues

	mu      sync.Mutex
	written [usedSize]byte
}

// places are the offsets of a checkpoint: the log is on disk up to log, its units up to queues, and dispatched was what
// lies before written. The zero value is none.
type places struct{ log, queues, written int64 }

func (p *places) fields() [3]*int64 { return [3]*int64{&p.log, &p.queues, &p.written} }

func openCheckpoint(path string, compat49 bool, sync *segment.Syncer) (*checkpoint, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	sync.Changed(filepath.Dir(path))
	c := &checkpoint{file: f, sync: sync, fixed: 40}
	if compat49 {
		c.fixed = 24
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.ReadAt(c.written[:], 0)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && info.Size() < checkpointSize {
		err = f.Truncate(checkpointSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	for i, v := range c.fields() {
		v.Store(int64(binary.BigEndian.Uint64(c.written[8*i:])))
	}
	c.hint = bootHint(info)
	c.sameBoot = c.hint == [hintSize]byte(c.written[hintPos:]) && c.hint != [hintSize]byte{}
	if bytes.Equal(c.written[:16], c.written[usedSize-16:]) && string(c.written[hintPos:hintPos+8]) == hintMagic {
		for i, p := range c.found.fields() {
			*p = int64(binary.BigEndian.Uint64(c.written[placesPos+8*i:]))
		}
	}
	return c, nil
}

const (
	hintMagic = "rmq-go-2"
	hintPos   = 40
	hintSize  = 40
	placesPos = hintPos + hintSize
	usedSize  = placesPos + 40
)

// bootHint names the time since the machine came up, and a file; zeros if that cannot be known.
func bootHint(info os.FileInfo) (h [hintSize]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	stat, ok := info.Sys().(*syscall.Stat_t)
	if err != nil || !ok {
		return h
	}
	id, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(id) != 16 {
		return h
	}
	copy(h[:], hintMagic)
	copy(h[8:], id)
	binary.BigEndian.PutUint64(h[24:], uint64(stat.Dev))
	binary.BigEndian.PutUint64(h[32:], stat.Ino)
	return h
}

// open marks the directory as in use, durably.
func (c *checkpoint) open() error {
	c.mu.Lock()
	c.marked = true
	c.mu.Unlock()
	return c.write(true)
}

// clear removes our part after a clean stop.
func (c *checkpoint) clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked = false
	c.putOurs(c.written[:])
	_, err := c.file.WriteAt(c.written[hintPos:], hintPos)
	return err
}

// putOurs fills in what follows Java's fields.
func (c *checkpoint) putOurs(b []byte) {
	clear(b[hintPos:])
	if !c.marked {
		return
	}
	copy(b[hintPos:], hintMagic)
	if c.hint != [hintSize]byte{} {
		copy(b[hintPos:], c.hint[:])
	}
	p := c.places()
	for i, v := range p.fields() {
		binary.BigEndian.PutUint64(b[placesPos+8*i:], uint64(*v))
	}
	copy(b[placesPos+24:], b[:16])
}

func (c *checkpoint) fields() [5]*atomic.Int64 {
	return [5]*atomic.Int64{&c.physic, &c.logics, &c.index, &c.masterFlushed, &c.confirm}
}

// minTimestamp is a store time (ms) before which everything is on disk, with a margin as in Java.
func (c *checkpoint) minTimestamp(withIndex bool) int64 {
	t := min(c.physic.Load(), c.logics.Load()) - 3000
	if withIndex {
		t = min(t, c.index.Load())
	}
	return max(t, 0)
}

// write saves the checkpoint if it changed, or always.
func (c *checkpoint) write(always bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.written
	for i, v := range c.fields() {
		if 8*i < c.fixed {
			binary.BigEndian.PutUint64(b[8*i:], uint64(v.Load()))
		}
	}
	c.putOurs(b[:])
	if !always && b == c.written {
		return nil
	}
	if _, err := c.file.WriteAt(b[:], 0); err != nil {
		return err
	}
	c.written = b
	return c.sync.File(int(c.file.Fd()), c.file.Name(), nil, 0, checkpointSize)
}

// queuesSafe says how far the consume queues are on disk.
func (c *checkpoint) queuesSafe(m mark) {
	c.logics.Store(m.time)
	c.safe.Store(m.pos)
}

func (c *checkpoint) close() { c.file.Close() }
