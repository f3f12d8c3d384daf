// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package logs writes log files with the names, places and rotation of Java's servers:
//
//	files, err := logs.Open(logs.Options{Dir: dir, Main: "broker"})
//	log := slog.New(files.Handler())
//	log.Info("broker ready")                                 // broker.log
//	log.With(logs.File, "store").Info("recovered the log")   // store.log
//
// Who logs says by the attribute File which file it belongs to, and knows nothing of files. Handlers of other kinds show
// the attribute like any other.
package logs

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// File is the key of the attribute that names the file.
const File = "log"

// Options of Files.
type Options struct {
	Dir   string
	Main  string       // the file of what names none
	Level slog.Leveler // nil: info
	JSON  bool         // an object a line; else a line as Java's servers write it
	// Rotations by file; what is not in it has that of Java's table.
	Rotations map[string]Rotation
}

// rotations are those of Java's servers, 5.3.3.
var rotations = map[string]Rotation{
	"broker":         {128 << 20, 20},
	"broker_metrics": {512 << 20, 3},
	"store":          {128 << 20, 10},
	"remoting":       {100 << 20, 10},
	"transaction":    {100 << 20, 10},
	"namesrv":        {100 << 20, 5},
}

// Files are the log files of a process.
type Files struct {
	o   Options
	mu  sync.Mutex
	all map[string]*file
}

// Open makes the files' directory and opens the main one, to find out at once whether logs can be written.
func Open(o Options) (*Files, error) {
	if o.Level == nil {
		o.Level = slog.LevelInfo
	}
	f := &Files{o: o, all: map[string]*file{}}
	main := f.file(o.Main)
	main.mu.Lock()
	defer main.mu.Unlock()
	if err := main.open(); err != nil {
		return nil, fmt.Errorf("log files: %w", err)
	}
	return f, nil
}

// file finds or makes a file; it is opened when something is written.
func (f *Files) file(name string) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.all[name]; w != nil {
		return w
	}
	r, ok := f.o.Rotations[name]
	if !ok {
		if r, ok = rotations[name]; !ok {
			r = rotations[f.o.Main]
		}
	}
	if r.Size <= 0 || r.Keep <= 0 {
		r = Rotation{100 << 20, 10}
	}
	w := &file{dir: f.o.Dir, name: name, rotation: r}
	f.all[name] = w
	return w
}

// Close closes the files. Nothing may be logged any more.
func (f *Files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for _, w := range f.all {
		err = errors.Join(err, w.close())
	}
	return err
}
