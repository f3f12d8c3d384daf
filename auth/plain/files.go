// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package plain

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say where the files are.
type Options struct {
	Default string           // the file that need not be there, conf/plain_acl.yml
	Dir     string           // whose .yml and .yaml files, tools.yml left out, are read too, at any depth: conf/acl
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // nil: nothing is logged
}

// Files are the files of access rules and what they say. All methods may be called concurrently.
type Files struct {
	o     Options
	rules atomic.Pointer[Rules]

	mu     sync.Mutex // of reading and writing the files
	files  []*file
	seen   [sha256.Size]byte // of what was read last, good or not
	failed string            // the error that was reported last
}

// pollInterval is how often the files are looked at; Java's is the same.
const pollInterval = 500 * time.Millisecond

// Open reads the files. Without any nobody is let in.
func Open(o Options) (*Files, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &Files{o: o}
	texts, err := f.read()
	if err != nil {
		return nil, err
	}
	files, err := f.parse(texts)
	if err != nil {
		return nil, err
	}
	f.use(files, texts)
	if len(f.Rules().accounts) == 0 && len(f.Rules().white) == 0 {
		o.Log.Warn("no access rules: every request will be refused", "file", o.Default, "directory", o.Dir)
	}
	return f, nil
}

// Rules are those that hold now.
func (f *Files) Rules() *Rules { return f.rules.Load() }

// Run reads the files again when they change, until ctx is done. Rules that cannot be read are reported, and the old
// ones stay.
func (f *Files) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			f.look()
		}
	}
}

func (f *Files) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	texts, err := f.read()
	if err == nil && digest(texts) == f.seen {
		return
	}
	var files []*file
	if err == nil {
		f.seen = digest(texts)
		files, err = f.parse(texts)
	}
	if err != nil {
		if err.Error() != f.failed {
			f.o.Log.Error("access rules cannot be read, the old ones stay", "error", err)
		}
		f.failed = err.Error()
		return
	}
	f.failed = ""
	f.use(files, texts)
	f.o.Log.Info("access rules have been read again", "files", len(files), "accounts", len(f.Rules().accounts))
}

// text is a file as it is on disk.
type text struct {
	path  string
	bytes []byte
}

func digest(texts []text) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%s\x00%d\x00", t.path, len(t.bytes))
		h.Write(t.bytes)
	}
	h.Sum(sum[:0])
	return sum
}

// read reads the files in the order in which they count: those of the directory by name, then the default one.
func (f *Files) read() ([]text, error) {
	var paths []string
	// With the separator a directory that is a link is walked too.
	err := filepath.WalkDir(f.o.Dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // nothing there, or a file that has just gone
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".."): // what the files of Kubernetes are links into
			return fs.SkipDir
		}
		ext := filepath.Ext(path)
		if !d.IsDir() && (ext == ".yml" || ext == ".yaml") && path != filepath.Join(f.o.Dir, "tools.yml") && path != f.o.Default {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, path := range append(paths, f.o.Default) {
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{path, b})
	}
	return texts, nil
}

// parse parses all files. One that is empty is as good as none, but not if it was full before: then somebody is just
// writing it.
func (f *Files) parse(texts []text) ([]*file, error) {
	var files []*file
	for _, t := range texts {
		p, err := parseFile(t.path, t.bytes)
		if old := f.find(t.path); errors.Is(err, errEmpty) && (old == nil || old.root.Kind == 0) {
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.path, err)
		}
		files = append(files, p)
	}
	return files, nil
}

// find is the file at a path as it was read last, or nil.
func (f *Files) find(path string) *file {
	for _, p := range f.files {
		if p.path == path {
			return p
		}
	}
	return nil
}

// use lets files hold. f.mu is held, but at the start.
func (f *Files) use(files []*file, texts []text) {
	r := &Rules{accounts: map[string]*Account{}}
	for _, p := range files {
		r.white = append(r.white, p.white...)
		for _, a := range p.accounts {
			if r.accounts[a.AccessKey] != nil {
				f.o.Log.Warn("an access key is there twice; the first one counts", "accessKey", a.AccessKey, "file", p.path)
				continue
			}
			r.accounts[a.AccessKey] = a
		}
	}
	f.files, f.seen = files, digest(texts)
	f.rules.Store(r)
}
