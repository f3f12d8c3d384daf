// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"rocketmq-go/store/segment"
)

// CheckpointSize is the size of an encoded checkpoint in bytes. The file has 4096, the rest is zeros.
const (
	CheckpointSize     = 56
	checkpointFileSize = 4096
)

// Checkpoint is how far the timer files are. It is also what slaves are told (code 60).
type Checkpoint struct {
	ReadTime          int64 // ms: slots before are delivered
	FlushPos          int64 // units before are on disk
	QueueOffset       int64 // messages of the timer topic before have their units
	MasterQueueOffset int64 // that of the master; a slave's own may be ahead or behind
	StateVersion      int64 // StateVersion, Timestamp (ms) and Counter are the version
	Timestamp         int64
	Counter           int64
}

func (c *Checkpoint) fields() [7]*int64 {
	return [7]*int64{
		&c.ReadTime, &c.FlushPos, &c.QueueOffset, &c.MasterQueueOffset, &c.StateVersion, &c.Timestamp, &c.Counter,
	}
}

// Append encodes c behind dst.
func (c *Checkpoint) Append(dst []byte) []byte {
	for _, v := range c.fields() {
		dst = binary.BigEndian.AppendUint64(dst, uint64(*v))
	}
	return dst
}

// ParseCheckpoint decodes a checkpoint; bytes behind it do not matter.
func ParseCheckpoint(b []byte) (c Checkpoint, err error) {
	if len(b) < CheckpointSize {
		return c, fmt.Errorf("timerlog: checkpoint of %d bytes, %d are needed", len(b), CheckpointSize)
	}
	for i, v := range c.fields() {
		*v = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return c, nil
}

// CheckpointFile is config/timercheck. It is made when it is first written to.
type CheckpointFile struct {
	path string
	sync *segment.Syncer
	read Checkpoint

	mu   sync.Mutex
	file *os.File
}

// OpenCheckpoint reads the file. One that is missing or too short counts as all zeros, as in Java.
func OpenCheckpoint(path string, sync *segment.Syncer) (*CheckpointFile, error) {
	c := &CheckpointFile{path: path, sync: sync}
	unsure(sync, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	var b [CheckpointSize]byte
	if _, err := f.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, err
	}
	c.file = f
	c.read, err = ParseCheckpoint(b[:])
	return c, err
}

// Read is what the file held when it was opened.
func (c *CheckpointFile) Read() Checkpoint { return c.read }

// Write writes a checkpoint, Sync waits until it is on disk.
func (c *CheckpointFile) Write(cp *Checkpoint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.open(); err != nil {
		return err
	}
	_, err := c.file.WriteAt(cp.Append(nil), 0)
	return err
}

// Sync waits until what was written is on disk.
func (c *CheckpointFile) Sync() error {
	c.mu.Lock()
	f := c.file
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	return syncFile(c.sync, f)
}

// WriteReadTime writes only that: a process that is killed then does not deliver again what it has delivered.
func (c *CheckpointFile) WriteReadTime(ms int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	_, err := c.file.WriteAt(binary.BigEndian.AppendUint64(nil, uint64(ms)), 0)
	return err
}

func (c *CheckpointFile) open() error {
	if c.file == nil {
		if err := c.sync.MkdirAll(filepath.Dir(c.path)); err != nil {
			return err
		}
		f, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		c.file = f
		c.sync.Changed(filepath.Dir(c.path))
	}
	info, err := c.file.Stat()
	if err == nil && info.Size() < checkpointFileSize {
		err = c.file.Truncate(checkpointFileSize)
	}
	return err
}

// Close closes the file.
func (c *CheckpointFile) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return nil
	}
	f := c.file
	c.file = nil
	return f.Close()
}
