// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package powerdisk is a disk for tests that forgets what was not synced when its power fails. It is a segment.Disk.
package powerdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const diskPage = 4096

// Disk is a disk behind a directory: it has what was synced, and of the rest whatever the system happened to write.
// Pages of 4 KiB, sizes and names are written on their own and in any order, as POSIX allows; no file system is as bad.
//
// The directory itself is the system's memory. What has not reached the disk is found by comparing the two, so the store
// writes as it always does, and only its syncs come here.
type Disk struct {
	Root string // the directory, which must exist

	mu     sync.Mutex
	rng    *rand.Rand
	inodes map[uint64]*inode
	order  []*inode                     // as they were met
	names  map[string]map[string]uint64 // directory, relative to root → name → inode; dirInode: a directory
	events int                          // moments at which the power may fail
	failAt int                          // the event at which it does; -1: never
	fail   func()
}

// inode is a file on the disk. Its number stays taken as long as it is open.
type inode struct {
	pages map[int64][]byte // that were ever written to the disk, by their position; all have the full size
	size  int64
	file  *os.File
}

const dirInode = 0

// New makes a disk that has nothing of a directory yet.
func New(root string, rng *rand.Rand) *Disk {
	return &Disk{
		Root: root, rng: rng, failAt: -1,
		inodes: make(map[uint64]*inode), names: map[string]map[string]uint64{".": {}},
	}
}

// Arm has the power fail at the n-th event from now on: before or after one of the syncs to come. fail is called then, once,
// in the middle of the sync.
func (d *Disk) Arm(n int, fail func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt, d.fail = d.events+n, fail
}

// Fail has the armed power failure come now.
func (d *Disk) Fail() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt = -1
	d.fail()
}

// Disarm keeps the power on.
func (d *Disk) Disarm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt = -1
}

// Close ends the disk; the directory stays.
func (d *Disk) Close() {
	for _, n := range d.order {
		n.file.Close()
	}
}

// event is a moment at which the power may fail. Now and then the system writes something by itself.
func (d *Disk) event() {
	if d.events == d.failAt {
		d.failAt = -1
		d.fail()
	}
	d.events++
	if d.rng.IntN(8) == 0 {
		d.WriteBack(d.rng.Float64() * d.rng.Float64())
	}
}

// Sync implements segment.Disk.
func (d *Disk) Sync(fd int, _ string, mapped []byte, from, to int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event()
	defer d.event()
	n, err := d.inode(fd)
	if err != nil {
		return err
	}
	if n.size, err = n.liveSize(); err != nil {
		return err
	}
	if mapped == nil {
		from, to = 0, n.size
	}
	return n.changed(from, to, func(at int64, page []byte) { n.pages[at] = bytes.Clone(page) })
}

// SyncDir implements segment.Disk.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event()
	defer d.event()
	rel, err := filepath.Rel(d.Root, dir)
	if err != nil {
		return err
	}
	return d.eachName(rel, func() bool { return true })
}

// inode is the file behind a descriptor.
func (d *Disk) inode(fd int) (*inode, error) {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, err
	}
	n := d.inodes[info.Ino]
	if n == nil {
		own, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", fd)) // fd may be for writing only
		if err != nil {
			return nil, err
		}
		n = &inode{file: own, pages: make(map[int64][]byte)}
		d.inodes[info.Ino] = n
		d.order = append(d.order, n)
	}
	return n, nil
}

func (n *inode) liveSize() (int64, error) {
	info, err := n.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// changed visits the pages of a part of the file that are on the disk in another way than the system has them.
func (n *inode) changed(from, to int64, visit func(at int64, page []byte)) error {
	size, err := n.liveSize()
	if err != nil {
		return err
	}
	var buf, zeros [diskPage]byte
	fd := int(n.file.Fd())
	hole := int64(0) // pages before are data
	for at := from &^ (diskPage - 1); at < min(to, size); at += diskPage {
		was := n.pages[at]
		if at >= hole && was == nil { // skip what was never written
			data, err := unix.Seek(fd, at, unix.SEEK_DATA)
			if err != nil {
				data = size
			}
			for known := range n.pages {
				if known > at {
					data = min(data, known)
				}
			}
			if at = data &^ (diskPage - 1); at >= min(to, size) {
				break
			}
			if hole, err = unix.Seek(fd, at, unix.SEEK_HOLE); err != nil {
				hole = size
			}
			was = n.pages[at]
		}
		clear(buf[:])
		if _, err := n.file.ReadAt(buf[:], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if was == nil {
			was = zeros[:]
		}
		if !bytes.Equal(buf[:], was) {
			visit(at, buf[:])
		}
	}
	return nil
}

// eachName writes those changed names of a directory to the disk that are chosen.
func (d *Disk) eachName(dir string, choose func() bool) error {
	entries, err := os.ReadDir(filepath.Join(d.Root, dir))
	if err != nil {
		return err
	}
	have := d.names[dir]
	if have == nil {
		have = make(map[string]uint64)
		d.names[dir] = have
	}
	live := make(map[string]uint64)
	for _, e := range entries {
		live[e.Name()] = dirInode
		if e.IsDir() {
			continue
		}
		f, err := os.Open(filepath.Join(d.Root, dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) { // an unnamed file of the log's helper
			delete(live, e.Name())
			continue
		}
		if err != nil {
			return err
		}
		var info unix.Stat_t
		err = unix.Fstat(int(f.Fd()), &info)
		if _, nodeErr := d.inode(int(f.Fd())); err == nil {
			err = nodeErr
		}
		f.Close()
		if err != nil {
			return err
		}
		live[e.Name()] = info.Ino
	}
	for _, name := range sortedKeys(have, live) {
		was, had := have[name]
		is, has := live[name]
		if had == has && was == is || !choose() {
			continue
		}
		if has {
			have[name] = is
		} else {
			delete(have, name)
			if was == dirInode {
				gone := filepath.Join(dir, name)
				maps.DeleteFunc(d.names, func(sub string, _ map[string]uint64) bool {
					return sub == gone || strings.HasPrefix(sub, gone+"/")
				})
			}
		}
	}
	return nil
}

func sortedKeys(maps ...map[string]uint64) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// WriteBack writes a part of all that is not on the disk, p of it. It and Save are for fail, or while nothing is synced.
func (d *Disk) WriteBack(p float64) {
	choose := func() bool { return d.rng.Float64() < p }
	var walk func(dir string)
	walk = func(dir string) {
		if err := d.eachName(dir, choose); err != nil {
			panic(err)
		}
		entries, err := os.ReadDir(filepath.Join(d.Root, dir))
		if err != nil {
			panic(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				walk(filepath.Join(dir, e.Name()))
			}
		}
	}
	walk(".")
	for _, n := range d.order {
		size, err := n.liveSize()
		if err != nil {
			panic(err)
		}
		if n.size != size && choose() {
			n.size = size
		}
		err = n.changed(0, size, func(at int64, page []byte) {
			if choose() {
				n.pages[at] = bytes.Clone(page)
			}
		})
		if err != nil {
			panic(err)
		}
	}
}

// Save writes what the disk has into a new directory.
func (d *Disk) Save(to string) error { return d.saveDir(".", to) }

func (d *Disk) saveDir(dir, to string) error {
	if err := os.MkdirAll(filepath.Join(to, dir), 0o755); err != nil {
		return err
	}
	for name, ino := range d.names[dir] {
		path := filepath.Join(dir, name)
		if ino == dirInode {
			if err := d.saveDir(path, to); err != nil {
				return err
			}
			continue
		}
		n := d.inodes[ino]
		f, err := os.Create(filepath.Join(to, path))
		if err != nil {
			return err
		}
		for at, page := range n.pages { // sparse, as it was
			if at < n.size && err == nil && len(bytes.Trim(page, "\x00")) > 0 {
				_, err = f.WriteAt(page, at)
			}
		}
		if err = errors.Join(err, f.Truncate(n.size), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Take begins with a directory that is all on the disk.
func (d *Disk) Take() error {
	var err error
	err = errors.Join(err, filepath.WalkDir(d.Root, func(path string, e os.DirEntry, walkErr error) error {
		if walkErr != nil || !e.IsDir() {
			return walkErr
		}
		rel, err := filepath.Rel(d.Root, path)
		if err != nil {
			return err
		}
		return d.eachName(rel, func() bool { return true })
	}))
	for _, n := range d.order {
		size, sizeErr := n.liveSize()
		n.size = size
		err = errors.Join(err, sizeErr, n.changed(0, size, func(at int64, page []byte) { n.pages[at] = bytes.Clone(page) }))
	}
	return err
}
