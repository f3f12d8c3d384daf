// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package commitlog

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"rocketmq-go/message"
	"rocketmq-go/store/segment"
)

// Check tells Scan how much of a record to verify beyond its lengths.
type Check uint8

const (
	CheckNone    Check = iota
	CheckBody          // CRC of the body
	CheckPropCRC       // CRC of the whole record in its last property (5.x forceVerifyPropCRC)

	// CheckPages may be added: no page that a record lies on is missing. After a power failure one can be, and no CRC tells
	// of those that hold topic and properties.
	CheckPages Check = 1 << 7
)

// Visit is called for each record of a Scan. raw is the record's bytes; it and the views in r are valid during the call.
type Visit func(off int64, r *message.Record, raw []byte) error

// ScanResult is where a scan ended and why.
type ScanResult struct {
	End     int64  // behind the last good record
	Last    int64  // offset of the last good record, -1 if there was none
	Records int64  // good records
	Blanks  int64  // file ends that were passed
	Stop    string // why it did not go on; empty if it reached the limit
}

// Scan reads the records from an offset on, up to limit, and stops at the first thing that is no good record: after a
// crash that is the end of the log. It reads with system calls, not through the mapping: recovery must survive bad disks.
func (l *Log) Scan(from, limit int64, check Check, visit Visit) (ScanResult, error) {
	s := scanner{check: check &^ CheckPages, pages: check&CheckPages != 0, visit: visit, buf: make([]byte, 0, 1<<20), res: ScanResult{End: from, Last: -1}}
	for s.res.End < limit {
		f := l.seq.Acquire(s.res.End)
		if f == nil {
			if s.res.End != from && s.atFileEnd {
				s.res.End = s.blankAt // the file that should follow is missing
			}
			s.res.Stop = "no file"
			break
		}
		s.atFileEnd = false
		err := s.file(f, min(limit, f.End()))
		f.Release()
		if err != nil || s.res.Stop != "" {
			return s.res, err
		}
		if !s.atFileEnd {
			break
		}
	}
	return s.res, nil
}

type scanner struct {
	check     Check
	pages     bool
	base      int64 // of the file
	visit     Visit
	buf       []byte // bytes of the file from bufAt on
	bufAt     int64
	rec       message.Record
	res       ScanResult
	atFileEnd bool
	blankAt   int64
}

// file scans one file from res.End up to limit.
func (s *scanner) file(f *segment.File, limit int64) error {
	s.buf, s.bufAt, s.base = s.buf[:0], s.res.End, f.Base()
	for s.res.End < limit {
		head, err := s.need(f, 8, limit)
		if err != nil {
			return err
		}
		if head == nil {
			s.stop("less than 8 bytes left")
			return nil
		}
		size, magic := int32(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[4:])
		switch {
		case magic == message.MagicBlank:
			s.res.Blanks++
			s.atFileEnd, s.blankAt = true, s.res.End
			s.res.End = f.End()
			return nil
		case magic != message.MagicV1 && magic != message.MagicV2:
			s.stop(fmt.Sprintf("magic code %08x", magic))
			return nil
		case size < message.MinRecordSize:
			s.stop(fmt.Sprintf("record size %d", size))
			return nil
		}
		raw, err := s.need(f, int64(size), limit)
		if err != nil {
			return err
		}
		if raw == nil {
			s.stop(fmt.Sprintf("record of %d bytes, less is left", size))
			return nil
		}
		if ok, err := s.record(raw); err != nil || !ok {
			return err
		}
	}
	return nil
}

func (s *scanner) record(raw []byte) (bool, error) {
	r := &s.rec
	var err error
	if *r, err = message.ParseRecord(raw); err != nil {
		s.stop(err.Error())
		return false, nil
	}
	switch {
	case s.check == CheckBody && !r.CRCOK():
		s.stop("body CRC")
		return false, nil
	case s.check == CheckPropCRC && !message.RecordCRCOK(raw):
		s.stop("record CRC")
		return false, nil
	case s.pages && s.pageMissing(raw):
		s.stop("a page of the record is missing")
		return false, nil
	}
	if err := s.visit(s.res.End, r, raw); err != nil {
		return false, err
	}
	s.res.Last = s.res.End
	s.res.End += int64(r.Size)
	s.res.Records++
	return true, nil
}

// pageMissing tells whether the part of a record on one of its pages is all zeros although text belongs there: topic or
// properties. All else has lengths and a CRC that would not fit.
func (s *scanner) pageMissing(raw []byte) bool {
	const page = 4096
	n := int64(len(raw))
	props := n - int64(len(s.rec.Properties))
	topicEnd := props - 2
	topic := topicEnd - int64(len(s.rec.Topic))
	for at := page - (s.res.End-s.base)%page; at < n; at += page {
		end := min(at+page, n)
		text := at < topicEnd && end > topic || end > props
		if text && len(bytes.Trim(raw[at:end], "\x00")) == 0 {
			return true
		}
	}
	return false
}

func (s *scanner) stop(why string) { s.res.Stop = why }

// need returns n bytes from res.End on, reading more of the file if they are not in the buffer; nil if the limit is
// nearer than that.
func (s *scanner) need(f *segment.File, n, limit int64) ([]byte, error) {
	at := s.res.End - s.bufAt
	if at+n <= int64(len(s.buf)) {
		return s.buf[at : at+n], nil
	}
	if n > limit-s.res.End {
		return nil, nil
	}
	want := min(max(int64(cap(s.buf)), n), limit-s.res.End)
	if want > int64(cap(s.buf)) {
		s.buf = make([]byte, 0, want)
	}
	s.buf = s.buf[:want]
	s.bufAt = s.res.End
	if _, err := f.ReadAt(s.buf, s.bufAt-f.Base()); err != nil {
		return nil, err
	}
	return s.buf[:n], nil
}
