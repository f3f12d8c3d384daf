// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package compaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rocketmq-go/message"
)

const (
	makingDir = "compacting"
	journal   = "replaces"
	// keyBytes is about what one key takes in the table.
	keyBytes = 64
)

// keys has the newest queue offset of each key, up to the offset last. As in Java the whole KEYS property of a message is
// its key, blanks included.
type keys struct {
	newest map[[16]byte]int64
	last   int64
}

func keyOf(properties []byte) [16]byte {
	known := message.ScanKnown(properties)
	sum := sha256.Sum256(known.Keys)
	return [16]byte(sum[:16])
}

// Compact leaves of the messages before the last file only the newest of each key, and none without body; so whoever
// sends a message without body deletes the key. position is the queue offset up to which keys were looked at before, -1
// at first. It returns the new position; the same one when there was nothing to do, or with an error.
func (l *Log) Compact(ctx context.Context, position int64) (int64, error) {
	l.making.Lock()
	defer l.making.Unlock()
	old := l.ended(position)
	if old == nil {
		return position, nil
	}
	k, err := l.keysAfter(ctx, old, position)
	if err != nil || k.last < 0 {
		return position, err
	}
	made, err := l.remake(ctx, old, k)
	if err != nil {
		closeAll(made)
		return position, errors.Join(err, l.discard())
	}
	return k.last, l.replace(old, made)
}

// ended are the files before the last one, nil when all of them were looked at.
func (l *Log) ended(position int64) []*pair {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.broken != nil || len(l.files) < 2 {
		return nil
	}
	old := l.files[:len(l.files)-1]
	if !slices.ContainsFunc(old, func(p *pair) bool { return p.last > position }) {
		return nil
	}
	return slices.Clone(old)
}

// each reads all messages of a file.
func (p *pair) each(ctx context.Context, visit func(rec []byte, r *message.Record) error) error {
	var rec []byte
	for n := range p.units {
		if err := ctx.Err(); err != nil {
			return err
		}
		u, err := p.unit(n)
		if err != nil {
			return err
		}
		if rec, err = p.record(rec[:0], u); err != nil {
			return err
		}
		r, err := message.ParseRecord(rec)
		if err != nil {
			return err
		}
		if err := visit(rec, &r); err != nil {
			return err
		}
	}
	return nil
}

var errFull = errors.New("the table of keys is full")

// keysAfter collects the keys behind position, as many as memory allows: the next Compact goes on there.
func (l *Log) keysAfter(ctx context.Context, files []*pair, position int64) (keys, error) {
	k := keys{newest: map[[16]byte]int64{}, last: -1}
	limit := max(l.o.KeyMemory/keyBytes, 100)
	for _, p := range files {
		if p.last <= position {
			continue
		}
		err := p.each(ctx, func(_ []byte, r *message.Record) error {
			if r.QueueOffset <= position {
				return nil
			}
			key := keyOf(r.Properties)
			if _, known := k.newest[key]; !known && len(k.newest) >= limit {
				return errFull
			}
			k.newest[key], k.last = r.QueueOffset, r.QueueOffset
			return nil
		})
		if errors.Is(err, errFull) {
			return k, nil
		}
		if err != nil {
			return k, err
		}
	}
	return k, nil
}

// keep tells whether a message stays.
func (k *keys) keep(r *message.Record) bool {
	if r.QueueOffset > k.last {
		return true
	}
	newest, known := k.newest[keyOf(r.Properties)]
	return len(r.Body) > 0 && (!known || r.QueueOffset >= newest)
}

// remake writes what stays of the files into the directories compacting, and to disk.
func (l *Log) remake(ctx context.Context, files []*pair, k keys) (made []*pair, err error) {
	logDir, queueDir := filepath.Join(l.logDir, makingDir), filepath.Join(l.queueDir, makingDir)
	if err := l.discard(); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(logDir, 0o755), os.Mkdir(queueDir, 0o755)); err != nil {
		return nil, err
	}
	for _, p := range files {
		err := p.each(ctx, func(rec []byte, r *message.Record) error {
			if !k.keep(r) {
				return nil
			}
			return l.add(&made, logDir, queueDir, rec, r)
		})
		if err != nil {
			return made, err
		}
	}
	for _, p := range made {
		p.closed = true
		if err := p.sync(); err != nil {
			return made, err
		}
	}
	return made, errors.Join(syncDir(logDir), syncDir(queueDir))
}

// replace puts the new files in the place of the old ones.
func (l *Log) replace(old, made []*pair) error {
	var text strings.Builder
	for _, p := range made {
		text.WriteString("+" + p.name + "\n")
	}
	for _, p := range old {
		if !slices.ContainsFunc(made, func(m *pair) bool { return m.name == p.name }) {
			text.WriteString("-" + p.name + "\n")
		}
	}
	if err := writeSynced(filepath.Join(l.logDir, makingDir), journal, text.String()); err != nil {
		closeAll(made)
		return errors.Join(err, l.discard())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.resume(); err != nil {
		l.closeFiles()
		closeAll(made)
		l.broken = fmt.Errorf("%s-%d: the compacted files cannot replace the old ones: %w", l.o.Topic, l.o.QueueID, err)
		return l.broken
	}
	closeAll(old)
	l.files = append(made, l.files[len(old):]...)
	return nil
}

// resume does what the journal of a complete compacting directory says, and removes one that is not complete. It may be
// begun again at any point.
func (l *Log) resume() error {
	text, err := os.ReadFile(filepath.Join(l.logDir, makingDir, journal))
	if errors.Is(err, fs.ErrNotExist) {
		return l.discard()
	}
	if err != nil {
		return err
	}
	for _, dir := range []string{l.queueDir, l.logDir} {
		for _, line := range strings.Fields(string(text)) {
			path := filepath.Join(dir, line[1:])
			if line[0] == '+' {
				err = os.Rename(filepath.Join(dir, makingDir, line[1:]), path)
			} else {
				err = os.Remove(path)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return l.discard()
}

// discard removes the directories compacting; the journal first, which speaks for both.
func (l *Log) discard() error {
	dir := filepath.Join(l.logDir, makingDir)
	if err := os.Remove(filepath.Join(dir, journal)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.RemoveAll(dir), os.RemoveAll(filepath.Join(l.queueDir, makingDir)))
}

// writeSynced makes a file that is complete as soon as it has its name.
func writeSynced(dir, name, text string) error {
	tmp := filepath.Join(dir, name+".tmp")
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(tmp, filepath.Join(dir, name)), syncDir(dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func closeAll(files []*pair) {
	for _, p := range files {
		p.close()
	}
}
