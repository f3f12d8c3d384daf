// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package logs

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Rotation says when a log file is put away and how many old ones are kept.
type Rotation struct {
	Size int64 // bytes
	Keep int
}

// file is a log file that begins anew when it is large. The old ones are named as those of Java's servers:
//
//	broker.log                   the one that is written
//	otherdays/broker.1.log.gz    the newest old one
//	otherdays/broker.20.log.gz   the oldest; the next rotation removes it
//
// A file is compressed by a goroutine that lives as long as that takes; until then it has no .gz.
type file struct {
	dir, name string
	rotation  Rotation

	mu          sync.Mutex
	f           *os.File
	size        int64
	failed      error         // why the last write or rotation failed
	compressing chan struct{} // closed when the goroutine has ended; nil: there was none
}

// oldDir is where old files are.
const oldDir = "otherdays"

func (w *file) path() string { return filepath.Join(w.dir, w.name+".log") }

func (w *file) old(n int) string {
	return filepath.Join(w.dir, oldDir, fmt.Sprintf("%s.%d.log", w.name, n))
}

// Write appends a line, which is never torn between two files. What cannot be written is lost: a full disk must not stop
// the server.
func (w *file) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		if w.failed = w.open(); w.failed != nil {
			return 0, w.failed
		}
	}
	if w.size > 0 && w.size+int64(len(line)) > w.rotation.Size {
		// Without a rotation the file grows on: better than losing what is said now.
		w.failed = w.rotate()
		if w.f == nil {
			return 0, w.failed
		}
	}
	n, err := w.f.Write(line)
	w.size += int64(n)
	if err != nil {
		w.failed = err
	}
	return n, err
}

func (w *file) open() error {
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	w.f, w.size = f, info.Size()
	return nil
}

// rotate puts the file away and opens another one. It waits for the last compression: rotations that overtake it are far
// more than anybody can read.
func (w *file) rotate() error {
	w.await()
	if err := os.MkdirAll(filepath.Join(w.dir, oldDir), 0o755); err != nil {
		return err
	}
	for n := w.rotation.Keep; n > 0; n-- {
		for _, ending := range []string{"", ".gz"} {
			from := w.old(n) + ending
			err := error(nil)
			if n == w.rotation.Keep {
				err = os.Remove(from)
			} else {
				err = os.Rename(from, w.old(n+1)+ending)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if err := os.Rename(w.path(), w.old(1)); err != nil {
		return err
	}
	w.f.Close()
	w.f = nil
	done := make(chan struct{})
	w.compressing = done
	go func() {
		defer close(done)
		_ = compress(w.old(1)) // it stays as it is
	}()
	return w.open()
}

func (w *file) await() {
	if w.compressing != nil {
		<-w.compressing
		w.compressing = nil
	}
}

func (w *file) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.await()
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	return err
}

// compress replaces a file by path.gz.
func compress(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	part := path + ".gz.part"
	out, err := os.Create(part)
	if err != nil {
		return err
	}
	z, _ := gzip.NewWriterLevel(out, gzip.BestSpeed)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Close()); err == nil {
		err = os.Rename(part, path+".gz")
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Remove(path)
}
