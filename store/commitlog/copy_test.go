// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commitlog

import (
	"bytes"
	"encoding/binary"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"
)

// A copy that ends in the middle leaves nothing that looks like a record: here it does at a page that cannot be read.
func TestCopyEndsInTheMiddle(t *testing.T) {
	const page = 4096
	l, err := Open(Options{Dirs: []string{t.TempDir()}, FileSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	source, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(source)
	for i := range source {
		source[i] = 7
	}
	binary.BigEndian.PutUint32(source, 2*page)
	if err := unix.Mprotect(source[page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	l.Lock()
	defer l.Unlock()
	func() {
		defer func(old bool) {
			debug.SetPanicOnFault(old)
			if recover() == nil {
				t.Error("the whole record was copied")
			}
		}(debug.SetPanicOnFault(true))
		_ = l.Copy(0, source)
	}()
	if head := l.tail.data[:blankSize]; !bytes.Equal(head, make([]byte, blankSize)) || l.End() != 0 {
		t.Errorf("the file begins with %x, the log ends at %d", head, l.End())
	}
	if err := unix.Mprotect(source[page:], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := l.Copy(0, source); err != nil || l.End() != 2*page || !bytes.Equal(l.tail.data[:2*page], source) {
		t.Errorf("the log ends at %d, %v", l.End(), err)
	}
}
