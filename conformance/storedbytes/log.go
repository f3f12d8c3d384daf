// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package storedbytes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"rocketmq-go/message"
)

// Log follows the commit log of a broker that runs, by its files.
type Log struct {
	dir     string
	Records []Record
	next    int64 // offset behind the last record
	size    int64 // of a file, once known
}

// Record is a record as stored.
type Record struct {
	message.Record
	Raw []byte
}

// OpenLog follows the log in a directory.
func OpenLog(dir string) *Log { return &Log{dir: dir} }

// Read reads what was appended since. A record that is being written is left for the next time.
func (l *Log) Read() error {
	for {
		more, err := l.readFile()
		if err != nil || !more {
			return err
		}
	}
}

// readFile reads the rest of the current file; true if it goes on in the next one.
func (l *Log) readFile() (bool, error) {
	names, err := filepath.Glob(filepath.Join(l.dir, "[0-9]*"))
	if err != nil || len(names) == 0 {
		return false, err
	}
	slices.Sort(names)
	if l.size == 0 {
		info, err := os.Stat(names[0])
		if err != nil || info.Size() == 0 {
			return false, err
		}
		l.size = info.Size()
	}
	n := int(l.next / l.size)
	if n >= len(names) {
		return false, nil
	}
	f, err := os.Open(names[n])
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [8]byte
	for {
		at := l.next % l.size
		if _, err := f.ReadAt(head[:], at); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return false, err
		}
		size := int64(int32(binary.BigEndian.Uint32(head[:])))
		if binary.BigEndian.Uint32(head[4:]) == message.MagicBlank && at+size == l.size {
			l.next += size
			return true, nil
		}
		if size < message.MinRecordSize || at+size > l.size {
			return false, nil
		}
		raw := make([]byte, size)
		if _, err := f.ReadAt(raw, at); err != nil {
			return false, err
		}
		r, err := message.ParseRecord(raw)
		if err != nil || !r.CRCOK() || r.StoreTimestamp == 0 {
			return false, nil
		}
		l.Records = append(l.Records, Record{r, raw})
		l.next += size
	}
}

// Count is how many records a topic has.
func (l *Log) Count(topic string) (n int) {
	for i := range l.Records {
		if bytes.Equal(l.Records[i].Topic, []byte(topic)) {
			n++
		}
	}
	return n
}

// Last is the newest record of a topic; there must be one.
func (l *Log) Last(topic string) Record {
	for i := len(l.Records) - 1; ; i-- {
		if bytes.Equal(l.Records[i].Topic, []byte(topic)) {
			return l.Records[i]
		}
	}
}
