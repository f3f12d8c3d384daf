// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"os"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// What tools need that work on a directory without opening it as a store.

// WithDisk is the configuration with another disk, for tests of what is on it after a power failure.
func (c Config) WithDisk(d segment.Disk) Config {
	c.disk = d
	return c
}

// LockDir takes a directory's lock, as Open does; closing the file gives it back.
func LockDir(dir string) (*os.File, error) { return lockDir(dir) }

// DeletedRecords reads a directory's list of deleted topics. The function tells whether a record was deleted with its topic.
func DeletedRecords(dir string) (func(topic []byte, phyOffset int64) bool, error) {
	d, err := openDeletedTopics(dir, new(segment.Syncer))
	if err != nil {
		return nil, err
	}
	return d.has, nil
}

// UnitTagsCode is what the consume-queue unit of a message has as its tagsCode; levels nil: the default delay levels.
func UnitTagsCode(topic string, known *message.Known, storeTime int64, levels []time.Duration) int64 {
	if levels == nil {
		levels = defaultDelayLevels()
	}
	s := Store{cfg: Config{DelayLevels: func() []time.Duration { return levels }}}
	return s.tagsCode(topic, known, storeTime)
}

// IsQueued tells whether records with this sysFlag get units: not half messages and rollbacks.
func IsQueued(sysFlag int32) bool { return isQueued(sysFlag) }
