// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package message

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBatch is wrapped by every error of a Batch.
var ErrBatch = errors.New("not a client batch")

const batchEntryFixed = 22

// Batch walks over the entries of a client batch: the body of a SEND_BATCH_MESSAGE request, which is a sequence of
//
//	totalSize 4 · magic 4 (0) · bodyCRC 4 (0) · flag 4 · bodyLength 4 · body · propertiesLength 2 · properties
type Batch struct {
	Flag       int32
	Body       []byte // view
	Properties []byte // view

	rest []byte
	err  error
}

// ScanBatch starts a walk.
func ScanBatch(body []byte) Batch { return Batch{rest: body} }

// Next steps to the next entry. It returns false at the end and at the first malformed entry: ask Err then.
func (b *Batch) Next() bool {
	if len(b.rest) == 0 || b.err != nil {
		return false
	}
	be := binary.BigEndian
	e := b.rest
	if len(e) < batchEntryFixed {
		b.err = fmt.Errorf("%w: %d bytes left", ErrBatch, len(e))
		return false
	}
	size := int(int32(be.Uint32(e)))
	if size < batchEntryFixed || size > len(e) {
		b.err = fmt.Errorf("%w: entry of %d bytes, %d left", ErrBatch, size, len(e))
		return false
	}
	e, b.rest = e[:size], e[size:]
	b.Flag = int32(be.Uint32(e[12:]))
	var ok bool
	pos := 16
	if b.Body, pos, ok = take(e, pos, 4); ok {
		b.Properties, pos, ok = take(e, pos, 2)
	}
	if !ok || pos != size {
		b.err = fmt.Errorf("%w: lengths of an entry of %d bytes", ErrBatch, size)
		return false
	}
	return true
}

// Err is what was wrong with the entry at which Next stopped; nil at the end of the batch.
func (b *Batch) Err() error { return b.err }

// AppendBatchEntry appends one entry, as a client does.
func AppendBatchEntry(dst []byte, flag int32, body, properties []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(batchEntryFixed+len(body)+len(properties)))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = be.AppendUint32(dst, uint32(flag))
	dst = be.AppendUint32(dst, uint32(len(body)))
	dst = append(dst, body...)
	dst = be.AppendUint16(dst, uint16(len(properties)))
	return append(dst, properties...)
}
