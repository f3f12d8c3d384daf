// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package store

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"

	"rocketmq-go/message"
)

// A record is whole before it becomes valid, which is the last thing that happens to it; so is a batch, all of it. The
// file is looked at when each record is about to be sealed: that is what a killed process leaves.
func TestSealedLast(t *testing.T) {
	const records = 4
	batch := newMessage("T", 0, "", "")
	batch.Body = nil
	var texts []string
	for i := range records {
		body, name := fmt.Sprintf("body %d of the batch", i), fmt.Sprintf("name%d", i)
		texts = append(texts, body, name)
		batch.Body = message.AppendBatchEntry(batch.Body, 0, []byte(body), message.AppendProperty(nil, name, strconv.Itoa(i)))
	}
	for name, c := range map[string]struct {
		m       *message.Message
		split   bool
		records int
		texts   []string
	}{
		"single":      {newMessage("T", 0, "the body", "name\x01value\x02"), false, 1, []string{"the body", "name\x01value"}},
		"batch":       {batch, true, records, texts},
		"inner batch": {inner("B", 0, 3, "name\x01value\x02"), false, 1, []string{"m0", "m1", "m2", "name\x01value", "INNER_BASE\x011"}},
	} {
		for _, crc := range []bool{false, true} {
			cfg := batchConfig(t.TempDir())
			cfg.AppendPropCRC = crc
			s := openTest(t, cfg)
			put(t, s, newMessage(c.m.Topic, 0, "first", ""))
			at := s.cl.End()
			path := s.cl.Sequence().Files()[0].Path()
			sealed := 0
			s.sealing = func(rec []byte) {
				file, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				if !bytes.Equal(file[at:at+8], make([]byte, 8)) {
					t.Errorf("%s: %d of %d records are sealed, and what is there begins with %x", name, sealed, c.records, file[at:at+8])
				}
				if !bytes.Equal(rec[:8], make([]byte, 8)) {
					t.Errorf("%s: a record is valid before it is sealed: %x", name, rec[:8])
				}
				for _, text := range c.texts {
					if !bytes.Contains(file[at:at+4096], []byte(text)) {
						t.Errorf("%s: %d records are sealed, and %q is not there", name, sealed, text)
					}
				}
				sealed++
			}
			store := s.Put
			if c.split {
				store = s.PutBatch
			}
			var got PutResult
			store(c.m, func(r PutResult) { got = r })
			s.sealing = nil
			if got.Status != PutOK || sealed != c.records {
				t.Errorf("%s: status %d, %d records sealed, expected %d", name, got.Status, sealed, c.records)
			}
			if _, ok := s.Record(nil, at, 0); !ok {
				t.Errorf("%s: no record at %d", name, at)
			}
		}
	}
}
