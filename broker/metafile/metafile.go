// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package metafile keeps the broker's JSON metadata files (config/topics.json and its neighbours).
//
// A file is never changed in place: the new text goes to <name>.tmp and to disk, then the old file is given the name
// <name>.bak too, then the new one takes its name, then the directory is flushed. So at every moment, and after a power
// loss at any moment, <name> is a complete file, the old one or the new one, and after Write has returned the new one. A
// Java broker, which reads <name> and then <name>.bak, understands each of these states.
//
//	         tmp written    main→bak     tmp→main
//	main     old            old          new
//	bak      older          old          old
//	tmp      new            new          missing
//
// Where a file cannot have two names it is renamed instead: then it is missing for a moment, as in Java, and <name>.bak is
// complete.
package metafile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is one metadata file. Its methods must not be called concurrently; Writer takes care of that.
type File struct {
	path string
	// good tells that the main file is known to hold a complete text. Only then may it replace the .bak.
	good bool
	last []byte // what the main file holds, to save writing the same text again
	// durable tells that it is on disk. Who wrote what was loaded may have been killed.
	durable bool
	named   bool        // so are the names of the directory and the one above
	mode    fs.FileMode // 0: 0o644

	// Disk makes files durable; nil: the operating system does. Tests have their own.
	Disk Disk
}

// Disk is what segment.Disk is in the store.
type Disk interface {
	Sync(fd int, path string, mapped []byte, from, to int64) error
	SyncDir(dir string) error
}

// Source tells which copy Load used.
type Source string

const (
	FromNothing Source = ""     // no copy exists: the table starts empty
	FromMain    Source = "main" // <name>
	FromBackup  Source = "bak"  // <name>.bak
	// FromBroken: <name> cannot be used and there is no <name>.bak. Java starts with an empty table then, and so do
	// we, but the broken text is kept as <name>.broken.
	FromBroken Source = "broken"
)

// Load reads the file at path, and <path>.bak if it is missing, empty or refused by decode. decode may be called twice
// and must not keep what it read when it fails. The error names both files: it is returned when the .bak exists but
// is of no use either, where Java refuses to start too.
func Load(path string, decode func(text []byte) error) (*File, Source, error) {
	f := &File{path: path}
	text, mainErr := readAndDecode(path, decode)
	if mainErr == nil {
		f.good, f.last = true, text
		return f, FromMain, nil
	}
	_, bakErr := readAndDecode(path+".bak", decode)
	switch {
	case bakErr == nil:
		return f, FromBackup, nil
	case !errors.Is(bakErr, fs.ErrNotExist):
		return nil, FromNothing, fmt.Errorf("neither copy of a metadata file can be used: %w; %w", mainErr, bakErr)
	case errors.Is(mainErr, fs.ErrNotExist):
		return f, FromNothing, nil
	}
	if len(text) > 0 {
		if err := os.WriteFile(path+".broken", text, 0o644); err != nil {
			return nil, FromNothing, fmt.Errorf("cannot keep a copy of a broken metadata file (%w): %w", mainErr, err)
		}
	}
	return f, FromBroken, nil
}

// Existing is the file at path, which its reader has found to hold text (nil: it is not there) and which keeps its mode.
func Existing(path string, text []byte, mode fs.FileMode) *File {
	return &File{path: path, good: text != nil, last: bytes.Clone(text), mode: mode}
}

var errEmpty = errors.New("file is empty")

// readAndDecode returns the text also when decode refused it.
func readAndDecode(path string, decode func([]byte) error) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errEmpty)
	}
	if err := decode(text); err != nil {
		return text, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

// Write replaces the file's text and keeps the previous one as .bak. A text that is on disk already is not written
// again. After an error the old text, or the .bak with it, is still there.
func (f *File) Write(text []byte) error {
	if f.good && bytes.Equal(text, f.last) {
		if err := f.settle(); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp := f.path + ".tmp"
	if err := f.writeSynced(tmp, text); err != nil {
		return err
	}
	if f.good {
		if err := f.keep(); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, f.path); err != nil {
		return err
	}
	f.good, f.durable, f.last = true, false, append(f.last[:0], text...)
	return f.syncNames()
}

// keep gives the main file the name of the .bak. Someone may have removed it while we run; the rest goes on then.
func (f *File) keep() error {
	bak := f.path + ".bak"
	if err := os.Remove(bak); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(f.path, bak)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Rename(f.path, bak); err != nil {
		return err
	}
	f.good = false
	return nil
}

// settle makes durable what the main file holds.
func (f *File) settle() error {
	if f.durable {
		return nil
	}
	main, err := os.Open(f.path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.sync(main), main.Close()); err != nil {
		return err
	}
	return f.syncNames()
}

// syncNames makes the file's name durable; the first time also those of its directory and the one above, which may be new.
func (f *File) syncNames() error {
	dir := filepath.Dir(f.path)
	if err := f.syncDir(dir); err != nil {
		return err
	}
	for n := 0; n < 2 && !f.named; n++ {
		dir = filepath.Dir(dir)
		if err := f.syncDir(dir); err != nil && !errors.Is(err, fs.ErrPermission) { // it is somebody else's, and old
			return err
		}
	}
	f.durable, f.named = true, true
	return nil
}

func (f *File) writeSynced(path string, text []byte) error {
	mode := f.mode
	if mode == 0 {
		mode = 0o644
	}
	w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err == nil && f.mode != 0 { // whatever the umask says, or a .tmp was left with
		err = w.Chmod(mode)
	}
	if err == nil {
		err = f.sync(w)
	}
	return errors.Join(err, w.Close())
}

func (f *File) sync(w *os.File) error {
	if f.Disk == nil {
		return w.Sync()
	}
	return f.Disk.Sync(int(w.Fd()), w.Name(), nil, 0, 0)
}

func (f *File) syncDir(dir string) error {
	if f.Disk != nil {
		return f.Disk.SyncDir(dir)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
