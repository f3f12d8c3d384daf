// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

const checkpointSize = 4096

// checkpoint is the file that tells a start after a crash how far back it has to look.
//
//	0 physicMsgTimestamp  store time of the newest message in the log when it was last flushed
//	8 logicsMsgTimestamp  store time of the newest message in the consume queues
//	16 indexMsgTimestamp  store time of the last message in an index file that is full and on disk
//	24 masterFlushedOffset, 32 confirmPhyOffset (5.x)
//
//	40 hint (ours, zeros after a clean stop; Java neither reads nor writes it): magic 8, boot id 16, device 8, inode 8
//
// Each is an int64, times in ms; the rest is zeros. 4.9 leaves all from 24 on alone.
type checkpoint struct {
	file *os.File
	size int // bytes that are written

	// sameBoot: the machine has been up since this directory was last opened by this server. Then whatever ran meanwhile
	// was at most killed, and all that was written, even to mappings, is there. The hint is bound to the file, so that
	// copies do not count.
	sameBoot bool
	hint     [hintSize]byte // of now

	physic, logics, index, masterFlushed, confirm atomic.Int64

	mu      sync.Mutex
	written [40]byte
}

func openCheckpoint(path string, compat49 bool) (*checkpoint, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{file: f, size: 40}
	if compat49 {
		c.size = 24
	}
	if _, err := f.ReadAt(c.written[:], 0); err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, err
	}
	for i, v := range c.fields() {
		v.Store(int64(binary.BigEndian.Uint64(c.written[8*i:])))
	}
	info, err := f.Stat()
	if err == nil && info.Size() < checkpointSize {
		err = f.Truncate(checkpointSize)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	var old [hintSize]byte
	if _, err := f.ReadAt(old[:], hintPos); err != nil {
		f.Close()
		return nil, err
	}
	c.hint = bootHint(info)
	c.sameBoot = c.hint == old && c.hint != [hintSize]byte{}
	return c, nil
}

const (
	hintPos  = 40
	hintSize = 40
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
	copy(h[:], "rmq-go-1")
	copy(h[8:], id)
	binary.BigEndian.PutUint64(h[24:], uint64(stat.Dev))
	binary.BigEndian.PutUint64(h[32:], stat.Ino)
	return h
}

// mark writes the hint, or clears it for a clean stop.
func (c *checkpoint) mark(open bool) error {
	var h [hintSize]byte
	if open {
		h = c.hint
	}
	_, err := c.file.WriteAt(h[:], hintPos)
	return err
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
	var b [40]byte
	for i, v := range c.fields() {
		binary.BigEndian.PutUint64(b[8*i:], uint64(v.Load()))
	}
	if !always && b == c.written {
		return nil
	}
	if _, err := c.file.WriteAt(b[:c.size], 0); err != nil {
		return err
	}
	c.written = b
	return c.file.Sync()
}

func (c *checkpoint) close() { c.file.Close() }
