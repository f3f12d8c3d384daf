// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

const checkpointSize = 4096

// checkpoint is the file that tells a start after a crash how far back it has to look.
//
//	0 physicMsgTimestamp  store time of the newest message in the log when it was last flushed
//	8 logicsMsgTimestamp  store time of the newest message in the consume queues
//	16 indexMsgTimestamp  store time of the last message in an index file that is full and on disk
//	24 masterFlushedOffset, 32 confirmPhyOffset (5.x)
//
// Each is an int64, times in ms; the rest is zeros. 4.9 leaves all from 24 on alone.
type checkpoint struct {
	file *os.File
	size int // bytes that are written

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
	if info, err := f.Stat(); err == nil && info.Size() < checkpointSize {
		if err := f.Truncate(checkpointSize); err != nil {
			f.Close()
			return nil, err
		}
	}
	return c, nil
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
