// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package metafile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Delays of a Writer.
const (
	// coalesce is how long a change may wait for others before it is written, unless someone waits in Sync.
	coalesce = 100 * time.Millisecond
	// retryAfter is the pause after a failed write.
	retryAfter = time.Second
)

// ErrClosed is returned by Sync after Close.
var ErrClosed = errors.New("metadata file: closed")

// Writer writes one metadata file in the background, at most one write at a time, each with all changes so far.
// A write that fails is logged, counted and tried again each second until it works; until then Sync returns the error.
// It is safe for concurrent use and keeps no goroutine while there is nothing to write.
type Writer struct {
	file   *File
	render func() []byte
	log    *slog.Logger
	failed func(error)

	mu      sync.Mutex
	changed uint64 // generation of the newest change
	stored  uint64 // generation that is on disk
	timer   *time.Timer
	writing bool
	again   bool          // someone waits in Sync: write again at once when the running write ends
	idle    chan struct{} // closed when the running write ends
	err     error         // of the newest write
	closed  bool
	stats   Stats
}

// Stats counts what a Writer did.
type Stats struct {
	Writes   uint64
	Failures uint64
}

// Options are the optional parts of a Writer.
type Options struct {
	Log    *slog.Logger    // nil: slog.Default
	Failed func(err error) // called for each failed write, on the writing goroutine: for a metric
}

// NewWriter makes the writer of f. render gives the complete text; it runs on the writing goroutine and must take a
// consistent snapshot.
func NewWriter(f *File, render func() []byte, o Options) *Writer {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Writer{file: f, render: render, log: o.Log, failed: o.Failed}
}

// Changed tells that the text changed. It will be written within 100 ms. It never blocks.
func (w *Writer) Changed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed++
	if !w.writing && w.timer == nil && !w.closed {
		w.timer = time.AfterFunc(coalesce, w.write)
	}
}

// Sync waits until everything changed before the call is on disk. Callers that wait at the same time share one write.
func (w *Writer) Sync(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := w.changed
	for w.stored < want {
		if w.closed && !w.writing {
			return ErrClosed
		}
		idle := w.startLocked()
		w.mu.Unlock()
		select {
		case <-idle:
			w.mu.Lock()
		case <-ctx.Done():
			w.mu.Lock()
			return ctx.Err()
		}
		if w.stored < want && w.err != nil {
			return w.err
		}
	}
	return nil
}

// startLocked makes a write begin now, or right after the running one, and returns a channel that is closed when a
// write ends.
func (w *Writer) startLocked() <-chan struct{} {
	if w.writing {
		w.again = true
		return w.idle
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.beginLocked()
	go w.run()
	return w.idle
}

func (w *Writer) beginLocked() {
	w.writing = true
	w.idle = make(chan struct{})
}

// write is the timer's function.
func (w *Writer) write() {
	w.mu.Lock()
	w.timer = nil
	if w.writing || w.closed {
		w.mu.Unlock()
		return
	}
	w.beginLocked()
	w.mu.Unlock()
	w.run()
}

// run writes until nothing is urgent. The caller has called beginLocked.
func (w *Writer) run() {
	for {
		w.mu.Lock()
		generation := w.changed
		w.again = false
		w.mu.Unlock()

		err := w.writeOnce()

		w.mu.Lock()
		w.err = err
		if err == nil {
			w.stored = generation
			w.stats.Writes++
		} else {
			w.stats.Failures++
		}
		close(w.idle)
		if w.again && err == nil && w.stored < w.changed {
			w.idle = make(chan struct{})
			w.mu.Unlock()
			continue
		}
		w.writing = false
		if w.stored < w.changed && w.timer == nil && !w.closed {
			pause := coalesce
			if err != nil {
				pause = retryAfter
			}
			w.timer = time.AfterFunc(pause, w.write)
		}
		w.mu.Unlock()
		return
	}
}

func (w *Writer) writeOnce() error {
	err := w.file.Write(w.render())
	if err != nil {
		w.log.Error("metadata file not written, will be tried again", "file", w.file.path, "err", err)
		if w.failed != nil {
			w.failed(err)
		}
	}
	return err
}

// Close writes what is pending and ends the writer. The error is that of the last write.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	for w.writing {
		w.waitLocked()
	}
	if w.stored >= w.changed {
		return nil
	}
	w.beginLocked()
	go w.run()
	w.waitLocked()
	return w.err
}

// waitLocked waits for the end of the running write.
func (w *Writer) waitLocked() {
	idle := w.idle
	w.mu.Unlock()
	<-idle
	w.mu.Lock()
}

// Stats returns the counters.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}
