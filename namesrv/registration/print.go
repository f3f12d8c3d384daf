// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// Printer makes the prints by which repeated registrations are recognised without decoding them.
type Printer struct{ seed maphash.Seed }

func NewPrinter() Printer { return Printer{maphash.MakeSeed()} }

// Print is equal for bodies of which the same is to be made: same text, sent by the same version in the same form.
// option is whatever else decides what is made of it.
func (p Printer) Print(body []byte, version int32, compressed, option bool) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	form := binary.BigEndian.AppendUint32(nil, uint32(version))
	form = append(form, bit(compressed), bit(option))
	h.Write(form)
	before, after := withoutMoment(body)
	h.Write(before)
	h.Write(after)
	return h.Sum64()
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var (
	moment = []byte(`"mappingDataVersion":{`)
	table  = []byte(`"topicConfigTable":`)
)

// withoutMoment cuts out of a body the version of the queue mappings. Brokers of 5.x make it anew, with the time of
// day, for every registration; nobody reads it, and when the mappings themselves change they change the body. It is
// looked for in front of the topics only, since a topic may have any name.
func withoutMoment(body []byte) (before, after []byte) {
	head := body
	if i := bytes.Index(body, table); i >= 0 {
		head = body[:i]
	}
	start := bytes.Index(head, moment)
	if start < 0 {
		return body, nil
	}
	end := bytes.IndexByte(head[start:], '}')
	if end < 0 {
		return body, nil
	}
	return body[:start], body[start+end:]
}
