// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"rocketmq-go/store/commitlog"
	"rocketmq-go/store/consumequeue"
	"rocketmq-go/store/index"
	"rocketmq-go/store/segment"
)

// Topics and prefixes that the store treats in a special way.
const (
	scheduleTopic = "SCHEDULE_TOPIC_XXXX"
	lmqPrefix     = "%LMQ%"
	retryPrefix   = "%RETRY%"
	sysPrefix     = "rmq_sys_"
)

// Store is a store directory that is open. See API for its methods; all of them may be called from any goroutine.
type Store struct {
	cfg Config
	log *slog.Logger

	lock  *os.File // of the directory
	cl    *commitlog.Log
	ix    *index.Index // nil: no index
	cp    *checkpoint
	fds   *segment.FDs
	sync  *segment.Syncer
	gone  *deletedTopics
	clean bool // how the last stop was

	memory int64 // of the machine, bytes

	making sync.Mutex // held while a queue is made, or those of a topic are deleted; before mu, behind that of the dispatcher
	mu     sync.RWMutex
	queues map[queueKey]*queue
	loaded []*queue // those that were there at the start, in the order of their names; nil after recovery
	noExt  bool     // there are no extension files, and will be none
	lmqs   atomic.Int32

	// guarded by the commit log's lock
	closed   bool
	pending  []entry // appended, not yet taken by the dispatcher
	overflow bool    // some were not put there: the dispatcher has to read the log
	scratch  []byte  // for properties that the store changes
	based    []byte  // for those of inner batches

	sealing func(rec []byte) // tests look at a record that is not valid yet

	lastStore atomic.Int64 // store time (ms) of the newest record
	stuck     atomic.Bool  // the dispatcher cannot write
	failing   atomic.Bool  // the last append failed

	getters, batches sync.Pool // of *getter and *batch

	writable []string // directories of the log that take new files

	dispatch    dispatcher
	flush       flusher
	replicating waitlist // puts that wait for slaves
	upkeep      upkeep
	cleaner     cleaner
}

var _ API = (*Store)(nil)

type queueKey struct {
	topic string
	id    int32
}

// queue is a consume queue with what appending needs to know of it.
type queue struct {
	*consumequeue.Queue
	topic   string
	id      int32
	next    int64       // queue offset of the next message: guarded by the commit log's lock
	listed  atomic.Bool // in the upkeep's list of queues to sync
	since   mark        // units of records before are on disk; of a listed queue: guarded by the upkeep's lock
	deleted atomic.Bool // set while the commit log's lock is held: nothing is appended for it any more
}

// withDefaults fills in Java's defaults.
func (c Config) withDefaults() Config {
	if c.CommitLogDir == "" {
		c.CommitLogDir = filepath.Join(c.Dir, "commitlog")
	}
	orDefault(&c.CommitLogFileSize, 1<<30)
	orDefault(&c.ConsumeQueueFileSize, 300000*consumequeue.UnitSize)
	if r := c.ConsumeQueueFileSize % consumequeue.UnitSize; r != 0 {
		c.ConsumeQueueFileSize += consumequeue.UnitSize - r
	}
	orDefault(&c.ExtFileSize, 48<<20)
	orDefault(&c.BatchQueueFileSize, 300000*consumequeue.BatchUnitSize)
	if r := c.BatchQueueFileSize % consumequeue.BatchUnitSize; r != 0 {
		c.BatchQueueFileSize += consumequeue.BatchUnitSize - r
	}
	orDefault(&c.IndexSlots, 5000000)
	orDefault(&c.IndexUnits, 20000000)
	orDefault(&c.MaxMessageSize, 4<<20)
	orDefault(&c.MaxLMQ, 20000)
	if c.PageCacheBusyTimeout == nil {
		c.PageCacheBusyTimeout = func() time.Duration { return time.Second }
	}
	if c.DelayLevels == nil {
		c.DelayLevels = defaultDelayLevels
	}
	if c.DiskUsage == nil {
		c.DiskUsage = DiskUsage
	}
	if c.Limits == nil {
		c.Limits = DefaultReadLimits
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

func defaultDelayLevels() []time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	return []time.Duration{
		s, 5 * s, 10 * s, 30 * s, m, 2 * m, 3 * m, 4 * m, 5 * m, 6 * m, 7 * m, 8 * m, 9 * m, 10 * m, 20 * m, 30 * m, h, 2 * h,
	}
}

// Open opens a store directory, creating it if needed, and recovers it: what follows the last good record of the commit
// log is dropped, consume queues are made to fit. Only one store can have a directory open; a Java broker counts.
func Open(cfg Config) (*Store, error) {
	s, err := newStore(cfg)
	if err == nil {
		s.start()
	}
	return s, err
}

// newStore is Open without the goroutines.
func newStore(cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	s := &Store{cfg: cfg, log: cfg.Log, queues: make(map[queueKey]*queue)}
	s.sync = &segment.Syncer{Disk: cfg.disk}
	s.fds = segment.NewFDs(queueDescriptors())
	s.fds.Sync = s.sync
	s.memory = physicalMemory()
	s.dispatch.init(s)
	s.flush.init(s)
	s.replicating.late = FlushSlaveTimeout
	s.upkeep.init(s)
	s.cleaner.init(s)
	if err := s.open(); err != nil {
		s.release()
		return nil, explained(cfg.Dir, err)
	}
	return s, nil
}

func (s *Store) open() error {
	if err := s.sync.MkdirAll(s.cfg.Dir); err != nil {
		return err
	}
	var err error
	if s.lock, err = lockDir(s.cfg.Dir); err != nil {
		return err
	}
	_, statErr := os.Lstat(s.abortPath())
	s.clean = errors.Is(statErr, os.ErrNotExist)
	dirs, writable := s.cfg.logDirs()
	if s.writable = writable; len(writable) == 0 {
		return errors.New("store: all directories of the commit log are read-only")
	}
	if s.cl, err = commitlog.Open(commitlog.Options{
		Dirs: dirs, Place: s.place, FileSize: s.cfg.CommitLogFileSize, Sync: s.sync, Log: s.log,
	}); err != nil {
		return err
	}
	if s.gone, err = openDeletedTopics(s.cfg.Dir, s.sync); err != nil {
		return err
	}
	s.dispatch.reader.Log = s.cl
	s.flush.toDisk = s.cl.Flush
	if s.cp, err = openCheckpoint(filepath.Join(s.cfg.Dir, "checkpoint"), s.cfg.Compat49, s.sync); err != nil {
		return err
	}
	if err := s.loadQueues(); err != nil {
		return err
	}
	if !s.cfg.IndexDisabled {
		if s.ix, err = index.Open(index.Options{
			Dir: filepath.Join(s.cfg.Dir, "index"), Slots: s.cfg.IndexSlots, Units: s.cfg.IndexUnits, Now: s.cfg.Now,
			Sync: s.sync, Log: s.log,
		}, func(h index.Header) bool {
			return !s.powerLost() || h.Count >= s.cfg.IndexUnits && h.EndTimestamp <= s.cp.index.Load()
		}); err != nil {
			return err
		}
		if !s.clean {
			s.ix.Unsynced(s.cp.index.Load())
		}
		s.dispatch.addKeys = s.ix.Add
	}
	if err := s.recover(); err != nil {
		return err
	}
	for _, dir := range append(slices.Clone(writable), s.queueRoot()) {
		if err := s.sync.MkdirAll(dir); err != nil {
			return err
		}
	}
	s.cp.places = func() places {
		return places{log: s.cl.Flushed(), queues: s.cp.safe.Load(), written: s.dispatch.pos.Load()}
	}
	if s.cp.marked {
		return nil
	}
	// After a crash not earlier: a start that does not get here has to be made again as if nothing had happened. And what
	// the log has lost is promised no longer: other records will be in its place.
	return s.markOpen()
}

// markOpen marks the directory as in use: what stops us from now on must not pass for a clean stop.
func (s *Store) markOpen() error {
	if err := s.cp.open(); err != nil {
		return err
	}
	return s.writeAbort()
}

// WasStopped tells that whoever had the directory before had stopped cleanly.
func (s *Store) WasStopped() bool { return s.clean }

func (s *Store) start() {
	s.dispatch.done.Add(1)
	go s.dispatch.run()
	s.flush.done.Add(1)
	go s.flush.run()
	s.upkeep.done.Add(1)
	go s.upkeep.run()
	s.cleaner.start()
}

// release gives back everything that open took, without saving anything.
func (s *Store) release() {
	for _, q := range s.queues {
		q.Close()
	}
	if s.ix != nil {
		s.ix.Close()
	}
	if s.cp != nil {
		s.cp.close()
	}
	if s.cl != nil {
		_ = s.cl.Close()
	}
	if s.lock != nil {
		s.lock.Close()
	}
}

// Close stops the store: what was appended is dispatched and written to disk, and the directory is marked as cleanly
// stopped if that worked. Messages put later are refused. A second Close does nothing.
func (s *Store) Close() error {
	s.cl.Lock()
	was := s.closed
	s.closed = true
	s.cl.Unlock()
	if was {
		return nil
	}
	s.cleaner.stop()
	err := s.flush.stop()
	s.replicating.complete(func(*waiter) bool { return true }, func(*waiter) bool { return false })
	s.dispatch.stop()
	err = errors.Join(err, s.upkeep.stop())
	clean := err == nil && s.DispatchBehind() == 0
	if s.ix != nil {
		err = errors.Join(err, s.ix.Sync())
	}
	err = errors.Join(err, s.cp.write(true))
	if clean && err == nil {
		// In this order: stopped in between, the next start finds a clean stop and asks for no mark.
		err = errors.Join(os.Remove(s.abortPath()), s.sync.Removed(s.abortPath()), s.cp.clear())
	} else {
		s.log.Error("store: stopped, but not cleanly: the next start checks the log", "behind", s.DispatchBehind(), "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release()
	return err
}

func (s *Store) abortPath() string { return filepath.Join(s.cfg.Dir, "abort") }

func (s *Store) queueRoot() string { return filepath.Join(s.cfg.Dir, "consumequeue") }

// extRoot is where the extension files of the consume queues are.
func (s *Store) extRoot() string { return filepath.Join(s.cfg.Dir, "consumequeue_ext") }

// ext is how the extension files of a queue are opened; nil if there are none and none are wanted.
func (s *Store) ext(topic string, id int32) *consumequeue.ExtOptions {
	if s.noExt {
		return nil
	}
	o := &consumequeue.ExtOptions{
		Dir: filepath.Join(s.extRoot(), topic, strconv.Itoa(int(id))), FileSize: s.cfg.ExtFileSize, ReadOnly: !s.cfg.ExtEnabled,
	}
	if o.ReadOnly {
		if _, err := os.Stat(o.Dir); err != nil {
			return nil
		}
	}
	return o
}

// writeAbort marks the directory as in use: 4.9 leaves the file empty, 5.x writes the process id.
func (s *Store) writeAbort() error {
	var content []byte
	if !s.cfg.Compat49 {
		content = strconv.AppendInt(nil, int64(os.Getpid()), 10)
	}
	f, err := os.OpenFile(s.abortPath(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	// else a start after a power failure takes the stop for a clean one
	s.sync.Changed(s.cfg.Dir)
	return s.sync.Names(s.cfg.Dir)
}

// lockDir takes the lock that keeps a second store, Java's or ours, out of a directory. Java uses a POSIX record lock on
// the first byte; an open-file-description lock conflicts with it and with other stores of this process.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err == nil {
		var lockErr error
		err = raw.Control(func(fd uintptr) {
			lockErr = unix.FcntlFlock(fd, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1})
		})
		if err == nil {
			err = lockErr
		}
	}
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
		defer f.Close()
		return nil, lockedError(f)
	case err != nil:
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	if _, err := f.WriteAt([]byte("lock"), 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lookup finds a queue; nil if there is none.
func (s *Store) lookup(topic string, id int32) *queue {
	s.mu.RLock()
	q := s.queues[queueKey{topic, id}]
	s.mu.RUnlock()
	return q
}

// queueFor finds a queue or opens it. Nothing appears on disk before its first unit.
func (s *Store) queueFor(topic string, id int32) (*queue, error) {
	if q := s.lookup(topic, id); q != nil {
		return q, nil
	}
	return s.makeQueue(topic, id, s.isBatchTopic(topic))
}

// makeQueue opens a queue that was not there a moment ago.
func (s *Store) makeQueue(topic string, id int32, batch bool) (*queue, error) {
	s.making.Lock()
	defer s.making.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[queueKey{topic, id}]; q != nil {
		return q, nil
	}
	return s.addQueue(strings.Clone(topic), id, batch)
}

// addQueue opens a queue; s.mu is held.
func (s *Store) addQueue(topic string, id int32, batch bool) (*queue, error) {
	q, err := s.openQueue(topic, id, batch)
	if err == nil {
		s.enter(q)
	}
	return q, err
}

// openQueue opens a queue that the store does not know yet.
func (s *Store) openQueue(topic string, id int32, batch bool) (*queue, error) {
	o := consumequeue.Options{FileSize: s.cfg.ConsumeQueueFileSize, Batch: batch, FDs: s.fds, Log: s.log}
	root := s.queueRoot()
	if batch {
		root, o.FileSize = s.batchRoot(), s.cfg.BatchQueueFileSize
	} else {
		o.Ext = s.ext(topic, id)
	}
	o.Dir = filepath.Join(root, topic, strconv.Itoa(int(id)))
	cq, err := consumequeue.Open(o)
	if err != nil {
		return nil, err
	}
	return &queue{Queue: cq, topic: topic, id: id}, nil
}

// enter makes a queue known; s.mu is held, or nobody else uses the store yet.
func (s *Store) enter(q *queue) {
	s.queues[queueKey{q.topic, q.id}] = q
	if strings.HasPrefix(q.topic, lmqPrefix) {
		s.lmqs.Add(1)
	}
}

// allQueues is a snapshot.
func (s *Store) allQueues() []*queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	qs := make([]*queue, 0, len(s.queues))
	for _, q := range s.queues {
		qs = append(qs, q)
	}
	return qs
}

func physicalMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 1 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// queueDescriptors is how many files of consume queues stay open: a quarter of what the process may have.
func queueDescriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 256
	}
	return int(min(max(limit.Cur/4, 64), 8192))
}
