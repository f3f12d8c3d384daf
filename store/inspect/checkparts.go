// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/store"
)

// lock looks whether a broker has the directory open, without taking the lock.
func (c *checker) lock() error {
	f, err := os.Open(c.t.join("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		c.fact("no broker has it open: there is no lock file")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	// Java holds a POSIX record lock on the first byte, this server an open-file-description lock: this sees both
	l := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		c.condition("cannot tell whether a broker has it open (lock file: %v): make sure that none has", err)
		return nil
	}
	switch {
	case l.Type == unix.F_UNLCK:
		c.fact("no broker of this machine has it open")
	default:
		who := ""
		if pid := store.LockHolder(f); pid > 0 {
			who = fmt.Sprintf(" (process %d)", pid)
		}
		c.no("a running broker has it open%s", who)
	}
	return nil
}

// foreign finds stores of other kinds.
func (c *checker) foreign() error {
	entries, err := os.ReadDir(c.t.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "dledger-") {
			c.no("%s: a DLedger commit log, which this server does not read", e.Name())
		}
	}
	var rocks []string
	err = filepath.WalkDir(c.t.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // access tells
		}
		rel := c.t.rel(path)
		depth := strings.Count(rel, string(filepath.Separator))
		if d.IsDir() && (depth >= 2 || strings.HasPrefix(d.Name(), "bak-")) {
			return fs.SkipDir
		}
		if !d.IsDir() && d.Name() == "CURRENT" {
			rocks = append(rocks, filepath.Dir(rel))
		}
		return nil
	})
	for _, dir := range rocks {
		switch first, _, _ := strings.Cut(dir, string(filepath.Separator)); first {
		case "consumequeue":
			c.no("%s: consume queues in RocksDB (storeType=defaultRocksDB), which this server does not read", dir)
		case "config":
			if json, ok := ownTables[filepath.ToSlash(dir)]; ok {
				c.users(dir, json)
				continue
			}
			c.no("%s: metadata in RocksDB (topics, groups or offsets), which this server does not read", dir)
		default:
			c.condition("%s: a RocksDB of a 5.x feature, which is not used here; what is only in it is not seen", dir)
		}
	}
	return err
}

// ownTables are the RocksDB directories of users and permissions, and the files that hold them here.
var ownTables = map[string]string{"config/users": "config/auth/users.json", "config/acls": "config/auth/acls.json"}

// users tells what becomes of a table of users or permissions in RocksDB.
func (c *checker) users(dir, json string) {
	const remedy = "copy them while the Java broker runs: mqadmin copyUser and copyAcl to this broker (README, Users and permissions)"
	switch _, err := os.Stat(filepath.Join(c.t.Dir, filepath.FromSlash(json))); {
	case err == nil:
		c.fact("%s: a RocksDB, in the place of which %s is read", dir, json)
	case c.set.Users:
		c.no("%s: users or permissions in RocksDB, which this server does not read, and there is no %s; %s", dir, json, remedy)
	default:
		c.condition("%s: users or permissions in RocksDB, which this server does not read; if clients need them, %s", dir, remedy)
	}
}

// access looks whether this user may read and write everything.
func (c *checker) access() error {
	var denied []string
	readOnly := false
	for _, root := range append([]string{c.t.Dir}, c.t.CommitLogDirs...) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			mode := uint32(unix.R_OK | unix.W_OK)
			if d != nil && d.IsDir() {
				mode |= unix.X_OK
			}
			if err == nil {
				err = unix.Access(path, mode)
			}
			if err != nil {
				readOnly = readOnly || errors.Is(err, unix.EROFS)
				denied = append(denied, path)
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	switch {
	case readOnly:
		c.no("the file system is read-only: %s", list(denied))
	case len(denied) > 0:
		c.no("this user (%d) may not read and write %s: run as the user of the old broker, or change the owner", os.Getuid(), list(denied))
	}
	return nil
}

// metadata reads config/ as a start does.
func (c *checker) metadata() error {
	found := 0
	for _, name := range metadataFiles {
		var form struct{} // only whether it is JSON
		fromBackup, err := readMetadata(c.t.Place, name, &form)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			c.no("config/%s cannot be read, and there is no usable backup: %v", name, err)
		case fromBackup:
			c.condition("config/%s cannot be read: its backup will be used, the newest changes are lost", name)
		}
		found++
	}
	if found > 0 {
		c.fact("config: %d files can be read", found)
	} else if len(c.t.log.files) > 0 {
		c.condition("there are no topics, groups and offsets below config/: is this all of the old broker's storePathRootDir?")
	}
	if _, err := readMetadata(c.t.Place, "topics.json", &c.meta); err == nil && c.From == "" {
		c.From = "4.9.7"
		if c.meta.DataVersion.StateVersion != nil {
			c.From = "5.3.3"
		}
	}
	if c.From == "" {
		c.From = "5.3.3"
	}
	return nil
}

// feature is something of 5.x that leaves files.
type feature struct {
	path string // below the directory
	text string // condition
}

// features are those that this server does not have, or not all of.
var features = []feature{
	{"epochFileCheckpoint", "it was run in controller mode, which is not there yet: this server would be a plain master; no other replica may be master"},
	{"config/topicQueueMapping.json", "static topics (topicQueueMapping.json): their mapping is not used here"},
}

func (c *checker) features() error {
	for _, f := range features {
		if c.holds(f.path) {
			c.condition("%s", f.text)
		}
	}
	if c.holds("timerlog") {
		c.fact("timer messages: those that wait are delivered here, unless compatVersion=4.9.7")
		if c.set.Compat != "" && strings.HasPrefix(c.set.Compat, "4.9") {
			c.condition("timer messages wait, and compatVersion=4.9.7 has no timers: they are not delivered")
		}
	}
	return nil
}

// holds tells whether a file has content, or a directory any file.
func (c *checker) holds(path string) bool {
	if strings.HasSuffix(path, "topicQueueMapping.json") {
		var v struct {
			Map fastjson.Map[string, struct{}] `fastjson:"topicQueueMappingInfoMap"`
		}
		_, err := readMetadata(c.t.Place, filepath.Base(path), &v)
		return err == nil && v.Map.Len() > 0
	}
	found := false
	_ = filepath.WalkDir(c.t.join(path), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// topics looks at names and attributes.
func (c *checker) topics() error {
	var names []string
	batch := c.t.batchNames()
	for name, t := range c.meta.Topics.All() {
		names = append(names, name)
		if v, _ := t.Attributes.Get("queue.type"); v == "BatchCQ" {
			batch = append(batch, name)
		}
	}
	for _, q := range c.t.queues {
		names = append(names, q.topic)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if len(utf16.Encode([]rune(name))) > 127 {
			c.long = append(c.long, name)
		}
	}
	c.batchTopics(batch)
	return nil
}
