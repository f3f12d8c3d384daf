// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commitlog

import "fmt"

// Copy appends a record, or the blank that ends a file, of another log at the same offset: the end of this log. An empty
// log begins there, which must be where a file begins. The first 8 bytes, without which nothing is a record, are written
// last: a killed process leaves it as a whole or not at all. The lock must be held.
func (l *Log) Copy(off int64, rec []byte) error {
	n := int64(len(rec))
	switch {
	case l.Empty():
		if off%l.size != 0 {
			return fmt.Errorf("commitlog: an empty log cannot begin at %d, which is inside a file of %d bytes", off, l.size)
		}
		l.pos = off
	case off != l.pos:
		return fmt.Errorf("commitlog: a copy of %d does not fit behind %d", off, l.pos)
	}
	if n < blankSize || off%l.size+n > l.size {
		return fmt.Errorf("commitlog: %d bytes at %d do not fit into a file of %d bytes", n, off, l.size)
	}
	t := l.tail
	if t == nil || off >= t.file.End() {
		var err error
		if t, err = l.roll(); err != nil {
			return err
		}
	}
	at := off - t.file.Base()
	if err := t.reserve(l.tune, at+n); err != nil {
		return err
	}
	dst := t.data[at : at+n]
	copy(dst[blankSize:], rec[blankSize:])
	copy(dst[:blankSize], rec)
	l.Commit(int(n))
	return nil
}

// Empty tells that nothing was ever appended. The lock must be held.
func (l *Log) Empty() bool { return l.tail == nil && len(l.seq.Files()) == 0 }
