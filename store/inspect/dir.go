// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/store/consumequeue"
)

// Sizes are the keys that decide about the form of the files; 0 is unknown.
type Sizes struct {
	CommitLogFile    int64 // mappedFileSizeCommitLog
	ConsumeQueueFile int64 // mappedFileSizeConsumeQueue
	BatchQueueFile   int64 // mapperFileSizeBatchConsumeQueue
	ExtFile          int64 // mappedFileSizeConsumeQueueExt
	IndexSlots       int32 // maxHashSlotNum
	IndexUnits       int32 // maxIndexNum
}

// Place says where a store is.
type Place struct {
	Dir           string   // storePathRootDir
	CommitLogDirs []string // storePathCommitLog; none: Dir/commitlog
}

func (p Place) logDirs() []string {
	if len(p.CommitLogDirs) > 0 {
		return p.CommitLogDirs
	}
	return []string{filepath.Join(p.Dir, "commitlog")}
}

func (p Place) join(parts ...string) string {
	return filepath.Join(append([]string{p.Dir}, parts...)...)
}

// piece is one file of a stream.
type piece struct {
	path string
	base int64
	size int64 // as it is
}

// stream is a sequence of files as found, opened for nothing but reading.
type stream struct {
	size  int64 // of each file as it should be
	files []piece
}

// listStream finds the files of a stream; a directory that is not there has none.
func listStream(dirs ...string) (stream, error) {
	var s stream
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		for _, e := range entries {
			base, err := strconv.ParseInt(e.Name(), 10, 64)
			if err != nil || e.IsDir() || base < 0 {
				continue
			}
			info, err := e.Info()
			if err != nil {
				return s, err
			}
			s.files = append(s.files, piece{filepath.Join(dir, e.Name()), base, info.Size()})
		}
	}
	slices.SortFunc(s.files, func(a, b piece) int { return cmp.Compare(a.base, b.base) })
	return s, nil
}

// sizeFromNames is the file size that the names tell: the smallest distance between two; 0 if there are less than two.
func (s *stream) sizeFromNames() int64 {
	var size int64
	for i := 1; i < len(s.files); i++ {
		if d := s.files[i].base - s.files[i-1].base; size == 0 || d < size {
			size = d
		}
	}
	return size
}

func (s *stream) first() int64 {
	if len(s.files) == 0 {
		return 0
	}
	return s.files[0].base
}

// limit is how far a file may be read: up to its size as it is or should be.
func (s *stream) limit(f *piece) int64 { return f.base + min(f.size, s.size) }

func (s *stream) find(off int64) *piece {
	for i := len(s.files) - 1; i >= 0; i-- {
		if f := &s.files[i]; f.base <= off {
			if off < s.limit(f) {
				return f
			}
			return nil
		}
	}
	return nil
}

// readAt reads up to len(p) bytes of one file; less at its end.
func (s *stream) readAt(p []byte, off int64) ([]byte, error) {
	f := s.find(off)
	if f == nil {
		return nil, nil
	}
	fd, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	p = p[:min(int64(len(p)), s.limit(f)-off)]
	n, err := fd.ReadAt(p, off-f.base)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p[:n], err
}

// queueName names a consume queue.
type queueName struct {
	topic string
	id    int32
}

func (n queueName) String() string { return n.topic + "-" + strconv.Itoa(int(n.id)) }

func (n queueName) compare(o queueName) int {
	return cmp.Or(strings.Compare(n.topic, o.topic), cmp.Compare(n.id, o.id))
}

// queueFiles is one consume queue as found.
type queueFiles struct {
	queueName
	stream
	batch bool
	ext   extFiles
}

// indexFile is one index file as found.
type indexFile struct {
	path string
	size int64
}

// tree is a store directory as found.
type tree struct {
	Place
	log     stream
	queues  []*queueFiles // in the order of their names
	index   []indexFile
	abort   bool
	sizes   Sizes       // as the files tell
	topics  *topicsFile // once somebody asked
	leftOut []string    // folders of queues of the wrong kind
}

// openTree lists a store directory. Nothing is changed, nor kept open. It is an error if there is no store.
func openTree(p Place) (*tree, error) {
	info, err := os.Stat(p.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no store here: %s does not exist", p.Dir)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: p.Dir, Err: errors.New("not a directory")}
	}
	t := &tree{Place: p}
	_, err = os.Lstat(p.join("abort"))
	t.abort = err == nil
	if t.log, err = listStream(p.logDirs()...); err != nil {
		return nil, err
	}
	t.log.size = t.log.sizeFromNames()
	for _, f := range t.log.files {
		if t.log.size == 0 {
			t.log.size = f.size
		}
	}
	t.sizes.CommitLogFile = t.log.size
	if err := t.listQueues(); err != nil {
		return nil, err
	}
	if err := t.listIndex(); err != nil {
		return nil, err
	}
	return t, t.isStore()
}

// marks: every store has one of them, also one without messages, and one that this server cannot read.
var marks = [...]string{"commitlog", "consumequeue*", "checkpoint", "dledger-*", "config/topics.json*"}

// isStore is an error if the directory has nothing of a store: somebody's other files, or nothing at all.
func (t *tree) isStore() error {
	if len(t.log.files) > 0 {
		return nil
	}
	root := os.DirFS(t.Dir)
	for _, mark := range marks {
		if found, err := fs.Glob(root, mark); err != nil || len(found) > 0 {
			return err
		}
	}
	return fmt.Errorf("no store here: %s has no commitlog, consumequeue, checkpoint or config/topics.json; "+
		"give the directory that storePathRootDir names", t.Dir)
}

func subDirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func (t *tree) listQueues() (err error) {
	if t.sizes.ConsumeQueueFile, err = t.listQueuesOf(simpleQueues); err != nil {
		return err
	}
	if t.sizes.BatchQueueFile, err = t.listQueuesOf(batchQueues); err != nil {
		return err
	}
	slices.SortStableFunc(t.queues, func(a, b *queueFiles) int { return a.compare(b.queueName) })
	t.oneKind()
	return nil
}

// listQueuesOf finds the queues of one kind, and the size of their files.
func (t *tree) listQueuesOf(root string) (fileSize int64, err error) {
	topics, err := subDirs(t.join(root))
	if err != nil {
		return 0, err
	}
	seen, before := make(map[int64]int), len(t.queues)
	for _, topic := range topics {
		ids, err := subDirs(t.join(root, topic))
		if err != nil {
			return 0, err
		}
		for _, name := range ids {
			id, err := strconv.ParseInt(name, 10, 32)
			if err != nil {
				continue
			}
			q := &queueFiles{queueName: queueName{topic, int32(id)}, batch: root == batchQueues}
			if q.stream, err = listStream(t.join(root, topic, name)); err != nil {
				return 0, err
			}
			for _, f := range q.files {
				seen[f.size]++
			}
			if !q.batch {
				if q.ext, err = t.listExt(q.queueName); err != nil {
					return 0, err
				}
			}
			t.sizes.ExtFile = max(t.sizes.ExtFile, q.ext.size)
			t.queues = append(t.queues, q)
		}
	}
	// all queues have one size: that of most files
	for size, n := range seen {
		if size >= consumequeue.UnitSize && (n > seen[fileSize] || n == seen[fileSize] && size > fileSize) {
			fileSize = size
		}
	}
	for _, q := range t.queues[before:] {
		q.size = fileSize
	}
	return fileSize, nil
}

func (t *tree) listIndex() error {
	entries, err := os.ReadDir(t.join("index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.ParseInt(e.Name(), 10, 64); err != nil || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		t.index = append(t.index, indexFile{t.join("index", e.Name()), info.Size()})
	}
	return nil
}

// rel is a path as it is shown: below the directory.
func (t *tree) rel(path string) string {
	if r, err := filepath.Rel(t.Dir, path); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return path
}

// at shows an offset of the log with its file and the position there.
func (t *tree) at(off int64) string {
	if f := t.log.find(off); f != nil {
		return t.rel(f.path) + "+" + strconv.FormatInt(off-f.base, 10)
	}
	return "commitlog"
}

// unit reads one unit of a queue.
func (q *queueFiles) unit(n int64) (consumequeue.Unit, bool, error) {
	s, used, err := q.span(n)
	return s.Unit, used, err
}

func isBlank(u consumequeue.Unit) bool { return u.PhyOffset == 0 && u.Size == consumequeue.BlankSize }

// bounds are the first unit of the files and the one behind the last that is used, found by bisection: used units are a
// prefix of the last used file.
func (q *queueFiles) bounds() (begin, end int64, err error) {
	size := q.unitSize()
	begin = q.first() / size
	for i := len(q.files) - 1; i >= 0; i-- {
		f := &q.files[i]
		lo, hi := f.base/size, q.limit(f)/size
		from := lo
		for lo < hi {
			mid := (lo + hi) / 2
			_, used, err := q.unit(mid)
			if err != nil {
				return begin, begin, err
			}
			if used {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo > from || i == 0 {
			return begin, lo, nil
		}
	}
	return begin, begin, nil
}

// min is the first unit whose record lies in a log that begins at minPhy.
func (q *queueFiles) min(minPhy, begin, end int64) (int64, error) {
	lo, hi := begin, end
	for lo < hi {
		mid := (lo + hi) / 2
		u, _, err := q.unit(mid)
		if err != nil {
			return lo, err
		}
		if u.PhyOffset < minPhy || isBlank(u) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// newest is the offset behind the newest record that a queue knows, -1 if no queue knows one.
func (t *tree) newest() (int64, error) {
	newest := int64(-1)
	for _, q := range t.queues {
		begin, end, err := q.bounds()
		if err != nil {
			return newest, err
		}
		if end > begin {
			u, _, err := q.unit(end - 1)
			if err != nil {
				return newest, err
			}
			if !isBlank(u) {
				newest = max(newest, u.PhyOffset+int64(u.Size))
			}
		}
	}
	return newest, nil
}

// checkpointTimes are the three store times (ms) of the checkpoint; false if it is not there or too short.
func (t *tree) checkpointTimes() (times [3]int64, ok bool) {
	b, err := os.ReadFile(t.join("checkpoint"))
	if err != nil || len(b) < 24 {
		return times, false
	}
	for i := range times {
		times[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return times, true
}
