// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// QueueStat counts one consume queue.
type QueueStat struct {
	Topic    string
	QueueID  int32
	Min, Max int64 // queue offsets; Max-Min messages
}

// Usage are files and bytes below a directory.
type Usage struct {
	Files         int
	Bytes, OnDisk int64 // files are sparse: they take less than their size
}

// Stat is what a store directory holds.
type Stat struct {
	Dir                 string
	Begin, End          int64 // of the commit log
	FirstTime, LastTime int64 // store times (ms) of its first and last record; 0: none
	Queues              []QueueStat
	Parts               []Part // of the directory
	Sizes               Sizes
	IndexFiles          int
	IndexEntries        int64
	IndexNewest         int32 // entries of the newest file
	DiskUsed            float64
	DiskFree            int64
	Abort               bool
	Checkpoint          [3]int64
}

// Part is the usage of one part of a directory.
type Part struct {
	Name string
	Usage
}

// ReadStat counts what is in a store directory. It is quick: it reads the newest file of the log only, and the ends of
// queues and index. Nothing is changed.
func ReadStat(p Place, given Sizes) (*Stat, error) {
	t, err := openTree(p)
	if err != nil {
		return nil, err
	}
	s := &Stat{Dir: p.Dir, Begin: t.log.first(), Sizes: t.sizes, Abort: t.abort}
	s.Checkpoint, _ = t.checkpointTimes()
	if err := s.log(t); err != nil {
		return nil, err
	}
	for _, q := range t.queues {
		begin, end, err := q.bounds()
		if err != nil {
			return nil, err
		}
		first, err := q.min(s.Begin, begin, end)
		if err != nil {
			return nil, err
		}
		lo, hi, err := q.offsets(first, end)
		if err != nil {
			return nil, err
		}
		s.Queues = append(s.Queues, QueueStat{q.topic, q.id, lo, hi})
	}
	if err := s.index(t, given); err != nil {
		return nil, err
	}
	if err := s.parts(t); err != nil {
		return nil, err
	}
	s.DiskUsed, s.DiskFree, err = diskUsage(p.logDirs()[0], p.Dir)
	return s, err
}

// log finds the end of the log and the times at both ends.
func (s *Stat) log(t *tree) error {
	s.End = s.Begin
	files := t.log.files
	for len(files) > 0 {
		head, err := t.log.readAt(make([]byte, 8), files[len(files)-1].base)
		if err != nil {
			return err
		}
		if len(head) == 8 && binary.BigEndian.Uint64(head) != 0 {
			break
		}
		files = files[:len(files)-1]
	}
	if len(files) == 0 {
		return nil
	}
	w := walker{log: &stream{size: t.log.size, files: files[len(files)-1:]}, newest: -1}
	res, err := w.run()
	if err != nil {
		return err
	}
	s.End, s.LastTime = res.end, res.lastTime
	first := walker{log: &t.log}
	s.FirstTime, err = first.firstStoreTime()
	return err
}

// firstStoreTime is that of the record which the first file begins with, 0 if there is none.
func (w *walker) firstStoreTime() (int64, error) {
	f := &w.log.files[0]
	var err error
	if w.fd, err = os.Open(f.path); err != nil {
		return 0, err
	}
	defer w.fd.Close()
	w.limit = w.log.limit(f)
	r, _, why, err := w.record(f, f.base)
	if why != "" {
		return 0, err
	}
	return r.StoreTimestamp, err
}

func (s *Stat) index(t *tree, given Sizes) error {
	s.IndexFiles = len(t.index)
	for _, f := range t.index {
		fd, err := os.Open(f.path)
		if err != nil {
			return err
		}
		var head [indexHeader]byte
		_, err = fd.ReadAt(head[:], 0)
		fd.Close()
		if err != nil {
			continue // too short: Verify tells
		}
		s.IndexNewest = max(int32(binary.BigEndian.Uint32(head[36:]))-1, 0)
		s.IndexEntries += int64(s.IndexNewest)
		s.Sizes.IndexSlots, s.Sizes.IndexUnits, _ = indexShape(f.size, given)
	}
	return nil
}

func (s *Stat) parts(t *tree) error {
	var log Usage
	for _, dir := range t.logDirs() {
		if err := log.add(dir); err != nil {
			return err
		}
	}
	s.Parts = []Part{{"commitlog", log}}
	entries, err := os.ReadDir(t.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "commitlog" {
			continue
		}
		var u Usage
		if err := u.add(t.join(e.Name())); err != nil {
			return err
		}
		s.Parts = append(s.Parts, Part{e.Name(), u})
	}
	return nil
}

func (u *Usage) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		u.Files++
		u.Bytes += info.Size()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			u.OnDisk += st.Blocks * 512
		}
		return nil
	})
}

// diskUsage is the used part, as Java counts it, and the free bytes of the disk of the first directory that is there.
func diskUsage(dirs ...string) (used float64, free int64, err error) {
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err = unix.Statfs(dir, &st); err == nil {
			inUse, usable := float64(st.Blocks-st.Bfree), float64(st.Bavail)
			return inUse / max(inUse+usable, 1), int64(st.Bavail) * st.Bsize, nil
		}
	}
	return 0, 0, err
}

// Messages is how many messages the queues hold.
func (s *Stat) Messages() (n int64) {
	for _, q := range s.Queues {
		n += q.Max - q.Min
	}
	return n
}

// Print writes it for people.
func (s *Stat) Print(out io.Writer) {
	fmt.Fprintf(out, "%s\n\n", s.Dir)
	fmt.Fprintf(out, "commit log   offsets %d..%d (%s), files of %d bytes\n", s.Begin, s.End, bytesText(s.End-s.Begin), s.Sizes.CommitLogFile)
	if s.FirstTime > 0 {
		fmt.Fprintf(out, "stored       %s .. %s\n", timeText(s.FirstTime), timeText(s.LastTime))
	}
	fmt.Fprintf(out, "messages     %d in %d consume queues", s.Messages(), len(s.Queues))
	if s.Sizes.ConsumeQueueFile > 0 {
		fmt.Fprintf(out, ", files of %d bytes", s.Sizes.ConsumeQueueFile)
	}
	fmt.Fprintln(out)
	if s.IndexFiles > 0 {
		fill := "of unknown size"
		if s.Sizes.IndexUnits > 1 {
			fill = fmt.Sprintf("%.1f %% full", 100*float64(s.IndexNewest)/float64(s.Sizes.IndexUnits-1))
		}
		fmt.Fprintf(out, "index        %d entries in %d files, the newest is %s\n", s.IndexEntries, s.IndexFiles, fill)
	}
	if s.Checkpoint[0] > 0 {
		fmt.Fprintf(out, "checkpoint   log %s, queues %s\n", timeText(s.Checkpoint[0]), timeText(s.Checkpoint[1]))
	}
	if s.Abort {
		fmt.Fprintln(out, "abort        there: in use, or not stopped cleanly")
	}
	fmt.Fprintf(out, "disk         %.0f %% used, %s free\n\n", 100*s.DiskUsed, bytesText(s.DiskFree))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "files\tsize\ton disk\t  in")
	for _, p := range s.Parts {
		fmt.Fprintf(w, "%d\t%s\t%s\t  %s\n", p.Files, bytesText(p.Bytes), bytesText(p.OnDisk), p.Name)
	}
	w.Flush()
	if len(s.Queues) > 0 {
		fmt.Fprintln(out)
		fmt.Fprintln(w, "messages\tmin\tmax\t  queue")
		for _, q := range s.Queues {
			fmt.Fprintf(w, "%d\t%d\t%d\t  %s\n", q.Max-q.Min, q.Min, q.Max, queueName{q.Topic, q.QueueID})
		}
		w.Flush()
	}
}

func timeText(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

// bytesText is a number of bytes with three digits.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	f, i := float64(n), 0
	for ; f >= 1000 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", f, units[i])
}
