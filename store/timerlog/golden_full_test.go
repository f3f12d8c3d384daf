// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build golden

package timerlog

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The committed files are Java's.
func TestGoldenCopies(t *testing.T) {
	root := os.Getenv("ROCKETMQ_GOLDEN")
	if root == "" {
		t.Fatal("ROCKETMQ_GOLDEN names no folder")
	}
	f, err := os.Open(filepath.Join(root, "store/533-main/store.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{
		"store/timerlog/00000000000000000000": "timerlog", "store/timerwheel": "timerwheel", "store/config/timercheck": "timercheck",
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ok := copies[filepath.Clean(h.Name)]
		if !ok {
			continue
		}
		want, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(unzip(t, "testdata/533/"+name+".gz"), want) {
			t.Errorf("%s differs", name)
		}
		delete(copies, filepath.Clean(h.Name))
	}
	if len(copies) > 0 {
		t.Errorf("not in the archive: %v", copies)
	}
}
