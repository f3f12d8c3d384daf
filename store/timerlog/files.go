// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package timerlog

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"rocketmq-go/store/segment"
)

// Options of the timer files.
type Options struct {
	Dir       string          // the store's root
	FileSize  int64           // mappedFileSizeTimerLog, bytes; 0: Java's default
	Precision int64           // timerPrecisionMs; 0: Java's default
	Sync      *segment.Syncer // nil: the operating system
	Log       *slog.Logger
}

// Files are the timer files of one store.
type Files struct {
	Log   *Log
	Wheel *Wheel
	Check *CheckpointFile

	log *slog.Logger
}

// Open opens the files without looking into them: Recover must follow before anything else. Nothing appears on disk
// before the first message.
func Open(o Options) (f *Files, err error) {
	if o.FileSize <= 0 {
		o.FileSize = 100 << 20
	}
	if o.Precision <= 0 {
		o.Precision = 1000
	}
	if o.Sync == nil {
		o.Sync = new(segment.Syncer)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	f = &Files{log: o.Log}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f.Log, err = OpenLog(filepath.Join(o.Dir, "timerlog"), o.FileSize, o.Sync, o.Log); err != nil {
		return f, err
	}
	if f.Wheel, err = OpenWheel(filepath.Join(o.Dir, "timerwheel"), o.Precision, o.Sync); err != nil {
		return f, err
	}
	f.Check, err = OpenCheckpoint(filepath.Join(o.Dir, "config", "timercheck"), o.Sync)
	return f, err
}

// Enter appends a unit for a message and enters it into its slot; Write makes it readable. Prev is set.
func (f *Files) Enter(u *Unit) error {
	if u.Delay < 0 || u.WriteTime < 0 {
		return fmt.Errorf("timerlog: unit of time %d", u.Time())
	}
	u.Prev = NoPos
	if s, ok := f.Wheel.Slot(u.Time()); ok {
		u.Prev = s.Last
	}
	pos, err := f.Log.Append(u)
	if err == nil {
		f.Wheel.Add(pos, u)
	}
	return err
}

// List visits the units of a slot, newest first. whole tells that its end was reached: not so where the log has been
// deleted or damaged.
func (f *Files) List(ms int64, visit func(u *Unit)) (whole bool) {
	s, ok := f.Wheel.Slot(ms)
	if !ok {
		return true
	}
	tick := ms / f.Wheel.precision
	var u Unit
	for pos := s.Last; pos != NoPos; {
		if u, ok = f.Log.Unit(pos); !ok || u.Time()/f.Wheel.precision != tick || u.Prev >= pos {
			return false
		}
		visit(&u)
		pos = u.Prev
	}
	return true
}

// Scan visits all units of slots from a time on, in the order of the log. It is quick, but after a change of precision
// some units are there twice.
func (f *Files) Scan(from int64, visit func(u *Unit)) error {
	_, err := f.Log.walk(f.Log.First(), f.Log.End(), func(_ int64, u *Unit) error {
		if u.Time() >= from {
			visit(u)
		}
		return nil
	})
	return err
}

// Count visits the units of all slots from a time on, slot by slot.
func (f *Files) Count(from int64, visit func(u *Unit)) {
	defer f.Log.Forget()
	end := from + Slots*f.Wheel.precision // Next goes round
	for ms, ok := f.Wheel.Next(from); ok && ms < end; ms, ok = f.Wheel.Next(ms + f.Wheel.precision) {
		f.List(ms, visit)
	}
}

// Close closes the files. What was not flushed is lost.
func (f *Files) Close() error {
	var err error
	if f.Log != nil {
		err = f.Log.Close()
	}
	if f.Wheel != nil {
		err = errors.Join(err, f.Wheel.Close())
	}
	if f.Check != nil {
		err = errors.Join(err, f.Check.Close())
	}
	return err
}

// syncFile makes a file durable, with its name.
func syncFile(s *segment.Syncer, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var syncErr error
	if err := raw.Control(func(fd uintptr) { syncErr = s.File(int(fd), f.Name(), nil, 0, 0) }); err != nil {
		return err
	}
	return syncErr
}

// unsure says that the name of a file may not be on disk: who made it may have been killed.
func unsure(s *segment.Syncer, path string) {
	dir := filepath.Dir(path)
	s.Changed(dir)
	s.Changed(filepath.Dir(dir))
}
