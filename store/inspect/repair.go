// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"rocketmq-go/message"
	"rocketmq-go/store"
	"rocketmq-go/store/consumequeue"
)

// RepairOptions say what Repair does, in this order.
type RepairOptions struct {
	TruncateTail  bool // cut off what follows the last record of the log, and the units that lead there
	FillDamage    bool // make parts of the log that cannot be read passable
	RebuildQueues bool // make all consume queues anew from the log
	RebuildIndex  bool // make the index anew from the log

	Sizes       Sizes            // where the files do not tell; 0: Java's defaults
	DelayLevels []time.Duration  // nil: Java's defaults
	Now         func() time.Time // nil: time.Now; it names the backup
	Progress    func(done, total int64)
}

// fillTopic is the topic of the records that FillDamage puts over damage. They are of the transaction type rollback,
// which no broker puts into a queue or into the index.
const fillTopic = "RMQ_SYS_DAMAGED"

// Repair changes a store directory that no broker has open, and says on out what it does. What it replaces is moved or
// copied to DIR/bak-TIMESTAMP first.
func Repair(p Place, o RepairOptions, out io.Writer) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if _, err := openTree(p); err != nil {
		return err
	}
	lock, err := store.LockDir(p.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	r := repairer{Place: p, o: &o, out: out, backup: p.join("bak-" + o.Now().Format("20060102-150405.000"))}
	for _, step := range []struct {
		wanted bool
		do     func() error
	}{
		{o.TruncateTail, r.truncateTail}, {o.FillDamage, r.fillDamage}, {o.RebuildQueues, r.rebuildQueues}, {o.RebuildIndex, r.rebuildIndex},
	} {
		if !step.wanted {
			continue
		}
		if r.t, err = openTree(p); err != nil {
			return err
		}
		if err := step.do(); err != nil {
			return err
		}
	}
	if r.saved {
		r.say("what was replaced is in %s; delete it when the broker runs well", r.backup)
	}
	return nil
}

type repairer struct {
	Place
	o      *RepairOptions
	out    io.Writer
	t      *tree
	backup string
	saved  bool
}

func (r *repairer) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// walk reads the log.
func (r *repairer) walk(visit func(rec *message.Record, raw []byte) error) (walkResult, error) {
	newest, err := r.t.newest()
	if err != nil {
		return walkResult{}, err
	}
	w := walker{log: &r.t.log, newest: newest, visit: visit}
	if n := len(r.t.log.files); n > 0 && r.o.Progress != nil {
		begin, total := r.t.log.first(), r.t.log.files[n-1].base+r.t.log.size-r.t.log.first()
		w.tick = func(pos int64) { r.o.Progress(pos-begin, total) }
		defer r.o.Progress(total, total)
	}
	return w.run()
}

// place is where a backup goes, with its directory made.
func (r *repairer) place(name string) (string, error) {
	r.saved = true
	path := filepath.Join(r.backup, name)
	return path, os.MkdirAll(filepath.Dir(path), 0o755)
}

// backupName is the name of a file of the log in the backup, wherever the log is.
func backupName(f *piece) string { return filepath.Join("commitlog", filepath.Base(f.path)) }

// move takes a file or directory away into the backup.
func (r *repairer) move(path, name string) error {
	to, err := r.place(name)
	if err != nil {
		return err
	}
	err = os.Rename(path, to)
	var link *os.LinkError
	if errors.As(err, &link) && !isDir(path) { // another file system: a log of its own place
		if err = copyFile(to, path); err == nil {
			err = os.Remove(path)
		}
	}
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(to, in)
}

func writeFile(path string, in io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// savePart copies a part of a file of the log to FILE+POSITION.
func (r *repairer) savePart(f *piece, from, to int64) error {
	path, err := r.place(backupName(f) + "+" + strconv.FormatInt(from-f.base, 10))
	if err != nil {
		return err
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(path, io.NewSectionReader(in, from-f.base, to-from))
}

// overwrite writes into a file of the log and to disk.
func overwrite(f *piece, off int64, data []byte) error {
	fd, err := os.OpenFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fd.WriteAt(data, off-f.base)
	return errors.Join(err, fd.Sync(), fd.Close())
}

// truncateTail makes the log end behind its last record.
func (r *repairer) truncateTail() error {
	if err := r.fitSizes(); err != nil {
		return err
	}
	res, err := r.walk(nil)
	if err != nil {
		return err
	}
	if res.left > 0 {
		for i := range r.t.log.files {
			if err := r.cut(&r.t.log.files[i], res.end, res.end+res.left); err != nil {
				return err
			}
		}
		r.say("commit log: cut off %d bytes behind the last record; it ends at %d", res.left, res.end)
	} else {
		r.say("commit log: nothing follows the last record; it ends at %d", res.end)
	}
	for _, g := range res.gaps {
		r.say("commit log: %d..%d still cannot be read (%s): see --fill-damage", g.from, g.to, g.why)
	}
	if r.o.RebuildQueues { // they go as a whole
		return nil
	}
	return r.cutQueues(res.end)
}

// fitSizes deals with files of the wrong size: an empty last one goes, one that is too short gets zeros.
func (r *repairer) fitSizes() error {
	log := &r.t.log
	for i, f := range log.files {
		switch {
		case f.size == 0 && i == len(log.files)-1:
			if err := r.move(f.path, backupName(&f)); err != nil {
				return err
			}
			log.files = log.files[:i]
			r.say("%s: empty last file moved away", r.t.rel(f.path))
		case f.size < log.size:
			if err := os.Truncate(f.path, log.size); err != nil {
				return err
			}
			log.files[i].size = log.size
			r.say("%s: had %d bytes, filled up with zeros to %d", r.t.rel(f.path), f.size, log.size)
		case f.size > log.size:
			if err := r.savePart(&f, f.base+log.size, f.base+f.size); err != nil {
				return err
			}
			if err := os.Truncate(f.path, log.size); err != nil {
				return err
			}
			log.files[i].size = log.size
			r.say("%s: had %d bytes, cut to %d", r.t.rel(f.path), f.size, log.size)
		}
	}
	return nil
}

// cut clears [from, to) in a file, or moves the file away if it begins behind from.
func (r *repairer) cut(f *piece, from, to int64) error {
	if f.base > from {
		return r.move(f.path, backupName(f))
	}
	to = min(to, f.base+f.size)
	if from >= to {
		return nil
	}
	if err := r.savePart(f, from, to); err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := from; at < to; at += int64(len(zeros)) {
		if err := overwrite(f, at, zeros[:min(int64(len(zeros)), to-at)]); err != nil {
			return err
		}
	}
	return nil
}

// cutQueues drops the units that lead behind the end of the log.
func (r *repairer) cutQueues(end int64) error {
	for _, q := range r.t.queues {
		begin, last, err := q.bounds()
		if err != nil {
			return err
		}
		if last == begin {
			continue
		}
		if u, _, err := q.unit(last - 1); err != nil || isBlank(u) || u.PhyOffset < end {
			if err != nil {
				return err
			}
			continue
		}
		if err := r.cutQueue(q, last, end); err != nil {
			return fmt.Errorf("%s: %w", q.queueName, err)
		}
	}
	return nil
}

func (r *repairer) cutQueue(q *queueFiles, last, end int64) error {
	name := q.folder()
	for _, f := range q.files {
		to, err := r.place(filepath.Join(name, filepath.Base(f.path)))
		if err == nil {
			err = copyFile(to, f.path)
		}
		if err != nil {
			return err
		}
	}
	cq, err := consumequeue.Open(consumequeue.Options{Dir: r.join(name), FileSize: q.size, Batch: q.batch, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer cq.Close()
	if err := cq.Recover(false); err != nil {
		return err
	}
	if err := cq.Truncate(end); err != nil {
		return err
	}
	_, left := cq.Units()
	r.say("%s: dropped %d units that led behind the end of the log; the next queue offset is %d", q.queueName, last-left, cq.Max())
	return cq.Sync()
}

// fillDamage puts records that nobody gets, or a blank at the end of a file, over what cannot be read.
func (r *repairer) fillDamage() error {
	res, err := r.walk(nil)
	if err != nil {
		return err
	}
	for _, g := range res.gaps {
		for i := range r.t.log.files {
			f := &r.t.log.files[i]
			from, to := max(g.from, f.base), min(g.to, r.t.log.limit(f))
			if from >= to {
				continue
			}
			if err := r.savePart(f, from, to); err != nil {
				return err
			}
			fill, err := filler(f, from, to, r.t.log.limit(f), g.time)
			if err == nil {
				err = overwrite(f, from, fill)
			}
			if err != nil {
				return err
			}
			r.say("%s: %d..%d (%s) is passable now; its messages are lost", r.t.at(from), from, to, g.why)
		}
		if r.t.log.find(g.from) == nil {
			r.say("log %d..%d: %s; they cannot be made again", g.from, g.to, g.why)
		}
	}
	if len(res.gaps) == 0 {
		r.say("commit log: no damage between %d and %d", res.begin, res.end)
	} else if !r.o.RebuildQueues {
		r.say("units and index entries still lead there: see --rebuild-queues and --rebuild-index")
	}
	return nil
}

// filler is what goes over [from, to) of a file whose last byte is before end. The old bytes stay in the bodies.
func filler(f *piece, from, to, end, storeTime int64) ([]byte, error) {
	if to == end {
		if to-from < 8 {
			return nil, fmt.Errorf("%s: only %d bytes left, no blank fits", f.path, to-from)
		}
		blank := binary.BigEndian.AppendUint32(nil, uint32(to-from))
		return binary.BigEndian.AppendUint32(blank, message.MagicBlank), nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	const most, least = 1 << 20, 4096 // bytes of a record; at least that many are left for the last one
	out := make([]byte, 0, to-from)
	for at := from; at < to; {
		n := to - at
		if n > most+least {
			n = most
		}
		overhead := int64(message.MinRecordSize)
		topic := fillTopic[:max(min(int64(len(fillTopic)), n-overhead), 0)]
		if n < overhead+1 {
			return nil, fmt.Errorf("%s: %d bytes at %d are less than a record: %w", f.path, n, at, fs.ErrInvalid)
		}
		body := make([]byte, n-overhead-int64(len(topic)))
		if _, err := in.ReadAt(body, at-f.base+n-int64(len(body))); err != nil {
			return nil, err
		}
		host := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
		m := &message.Message{
			Topic: topic, SysFlag: message.SysRollback, BornTimestamp: storeTime, BornHost: host, StoreHost: host, Body: body,
		}
		out = message.AppendRecord(out, m, message.BodyCRC(body), message.Position{PhyOffset: at, StoreTimestamp: storeTime})
		at += n
	}
	return out, nil
}
