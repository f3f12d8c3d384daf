// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A start after a crash has to know which kind of crash it was. When the process was killed, everything that it had
// written is there. When the machine went down, what had not been synced is there in part: pages of any age, names
// without files, files without their size. What the checkpoint promises is there in both cases.

// powerLost tells that the machine may have gone down while the directory was in use.
func (s *Store) powerLost() bool { return !s.clean && !s.cp.sameBoot }

// dropUnwritten deletes the first file in a queue's directory that has no bytes, and those behind it: its size is not on
// disk, so neither are its units.
func dropUnwritten(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	drop := false
	for _, e := range entries { // in the order of the queue
		info, infoErr := e.Info()
		if infoErr != nil || !info.Mode().IsRegular() {
			continue
		}
		if drop = drop || info.Size() == 0; drop {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// fitQueues makes the queues ready for a log that is dispatched again from an offset on. Those of which something behind
// durable may not be on disk are noted for the upkeep.
func (s *Store) fitQueues(from, durable int64) error {
	if s.clean {
		return nil
	}
	lost := s.powerLost()
	for _, q := range s.loaded {
		changed, err := q.MaxPhy() > durable, error(nil)
		if lost {
			changed, err = q.Rewind(durable)
		} else {
			err = q.DropTorn(from)
		}
		if err != nil {
			return err
		}
		if changed {
			q.NotSynced()
			for _, dir := range q.Dirs() {
				for ; len(dir) >= len(s.cfg.Dir); dir = filepath.Dir(dir) {
					s.sync.Changed(dir)
				}
			}
			s.upkeep.note(q)
		}
	}
	return nil
}
