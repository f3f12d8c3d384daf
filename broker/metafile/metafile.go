// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package metafile keeps the broker's JSON metadata files (config/topics.json and its neighbours).
//
// A file is never changed in place: the new text goes to <name>.tmp and to disk, then the old file is renamed to
// <name>.bak, then the new one takes its name, then the directory is flushed. So at every moment, and after a power
// loss at any moment, <name> or <name>.bak is a complete file. A Java broker, which reads <name> and then <name>.bak,
// understands each of these states.
//
//	         tmp written    main→bak     tmp→main
//	main     old            missing      new
//	bak      older          old          old
//	tmp      new            new          missing
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
	last []byte // what is on disk, to save writing the same text again
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
		return nil
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp := f.path + ".tmp"
	if err := writeSynced(tmp, text); err != nil {
		return err
	}
	if f.good {
		// Someone may have removed the file while we run; the rest goes on then.
		if err := os.Rename(f.path, f.path+".bak"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.good = false
	}
	if err := os.Rename(tmp, f.path); err != nil {
		return err
	}
	f.good, f.last = true, append(f.last[:0], text...)
	return syncDir(dir)
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
