// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package inspect

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"rocketmq-go/message"
	"rocketmq-go/store/index"
)

// Sizes of the index format: see package index.
const (
	indexHeader = 40
	indexSlot   = 4
	indexUnit   = 20
)

func fileName(path string) string { return filepath.Base(path) }

func indexFileSize(slots, units int32) int64 {
	return indexHeader + int64(slots)*indexSlot + int64(units)*indexUnit
}

// indexShape finds the numbers of slots and units of index files of a size. It takes the given ones if they fit, and
// else four units per slot, as in Java's defaults.
func indexShape(size int64, given Sizes) (slots, units int32, ok bool) {
	if given.IndexSlots > 0 && given.IndexUnits > 0 && indexFileSize(given.IndexSlots, given.IndexUnits) == size {
		return given.IndexSlots, given.IndexUnits, true
	}
	n := (size - indexHeader) / (indexSlot + 4*indexUnit)
	if n > 0 && n <= math.MaxInt32/4 && indexFileSize(int32(n), int32(4*n)) == size {
		return int32(n), int32(4 * n), true
	}
	return 0, 0, false
}

// indexCheck follows the index files along the log: units are in the order of their records.
type indexCheck struct {
	t            *tree
	report       *Report
	slots, units int32

	file   int // of t.index, the one that is open
	fd     *os.File
	in     *bufio.Reader
	number int32 // of the next unit
	count  int32
	chains []int32 // newest unit per slot, from the units read so far
	header [indexHeader]byte
	unit   [indexUnit]byte
	peeked bool
	wrong  int64 // units with a wrong previous unit
	first  int32

	begun   bool // a unit was seen
	before  int64
	missing span
	strays  span
	twice   int64
	prevPhy int64
}

func newIndexCheck(t *tree, report *Report, given Sizes) *indexCheck {
	c := &indexCheck{t: t, report: report, file: -1, prevPhy: -1}
	if len(t.index) == 0 {
		return c
	}
	var ok bool
	c.slots, c.units, ok = indexShape(t.index[0].size, given)
	if !ok {
		report.note(t.rel(t.index[0].path), "%d bytes do not tell maxHashSlotNum and maxIndexNum: the index is not checked; give the configuration", t.index[0].size)
		t.index = nil
		return c
	}
	good := t.index[:0:0]
	for _, f := range t.index {
		if f.size != indexFileSize(c.slots, c.units) {
			report.damage(t.rel(f.path), "has %d bytes, the others %d", f.size, indexFileSize(c.slots, c.units))
			continue
		}
		good = append(good, f)
	}
	t.index = good
	return c
}

func (c *indexCheck) i32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// peek reads the next unit; false behind the last one.
func (c *indexCheck) peek() (hash int32, phy int64, ok bool, err error) {
	for !c.peeked {
		if c.fd == nil || c.number >= c.count {
			more, err := c.nextFile()
			if err != nil || !more {
				return 0, 0, false, err
			}
			continue
		}
		if _, err := io.ReadFull(c.in, c.unit[:]); err != nil {
			return 0, 0, false, err
		}
		c.link()
		c.peeked = true
	}
	return c.i32(c.unit[:]), int64(binary.BigEndian.Uint64(c.unit[4:])), true, nil
}

// link compares the unit's predecessor with the chain so far.
func (c *indexCheck) link() {
	slot := c.i32(c.unit[:]) % c.slots
	if slot < 0 || c.i32(c.unit[16:]) != c.chains[max(slot, 0)] {
		if c.wrong == 0 {
			c.first = c.number
		}
		c.wrong++
	}
	c.chains[max(slot, 0)] = c.number
}

// outOfOrder tells that a unit leads further than both of its followers, which makes it the wrong one.
func (c *indexCheck) outOfOrder(phy int64) bool {
	b, _ := c.in.Peek(int(min(2, c.count-1-c.number)) * indexUnit)
	for ; len(b) >= indexUnit; b = b[indexUnit:] {
		if phy <= int64(binary.BigEndian.Uint64(b[4:])) {
			return false
		}
	}
	return c.number < c.count-1
}

func (c *indexCheck) take() {
	c.peeked = false
	c.number++
}

func (c *indexCheck) path() string { return c.t.rel(c.t.index[c.file].path) }

func (c *indexCheck) place(number int32) string {
	pos := indexHeader + int64(c.slots)*indexSlot + int64(number)*indexUnit
	return c.path() + "+" + strconv.FormatInt(pos, 10)
}

// nextFile ends the open file and opens the next one.
func (c *indexCheck) nextFile() (bool, error) {
	if err := c.endFile(); err != nil || c.file+1 >= len(c.t.index) {
		return false, err
	}
	c.file++
	var err error
	if c.fd, err = os.Open(c.t.index[c.file].path); err != nil {
		return false, err
	}
	if _, err := io.ReadFull(c.fd, c.header[:]); err != nil {
		return false, err
	}
	c.count = c.i32(c.header[36:])
	if c.count < 0 || c.count > c.units {
		c.report.damage(c.path()+"+36", "header counts %d units, the file has room for %d", c.count-1, c.units-1)
		c.count = 0
	}
	if c.chains == nil {
		c.chains = make([]int32, c.slots)
	}
	clear(c.chains)
	c.number, c.wrong = 1, 0
	_, err = c.fd.Seek(indexHeader+int64(c.slots)*indexSlot+indexUnit, io.SeekStart)
	c.in = bufio.NewReaderSize(c.fd, 64<<10)
	return true, err
}

// endFile compares slots and header of the open file with its units.
func (c *indexCheck) endFile() error {
	if c.fd == nil {
		return nil
	}
	c.flush()
	defer func() { c.fd.Close(); c.fd = nil }()
	if c.wrong > 0 {
		c.report.damage(c.place(c.first), "%d units have the wrong previous unit, the first is unit %d", c.wrong, c.first)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(c.fd, indexHeader, int64(c.slots)*indexSlot), 64<<10)
	var b [indexSlot]byte
	wrong, first := 0, 0
	for i, want := range c.chains {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return err
		}
		// a killed process may have written slot but not header
		if got := c.i32(b[:]); got != want && got != c.count {
			if wrong == 0 {
				first = i
			}
			wrong++
		}
	}
	if wrong > 0 {
		c.report.damage(c.path()+"+"+strconv.Itoa(indexHeader+first*indexSlot), "%d slots do not lead to their newest unit", wrong)
	}
	if end := int64(binary.BigEndian.Uint64(c.header[24:])); c.count > 1 && end != c.lastPhy() {
		c.report.damage(c.path()+"+24", "header ends at log %d, the last unit leads to %d", end, c.lastPhy())
	}
	return nil
}

// lastPhy is where the unit read last leads to.
func (c *indexCheck) lastPhy() int64 { return int64(binary.BigEndian.Uint64(c.unit[4:])) }

// keyHashes are the hashes of a record's keys.
func keyHashes(r *message.Record, known *message.Known, dst []int32) []int32 {
	if r.TransactionType() == message.SysRollback {
		return dst
	}
	if len(known.UniqKey) > 0 {
		dst = append(dst, index.KeyHash(string(r.Topic), known.UniqKey))
	}
	for key := range bytes.SplitSeq(known.Keys, []byte{' '}) {
		if len(key) > 0 {
			dst = append(dst, index.KeyHash(string(r.Topic), key))
		}
	}
	return dst
}

// record looks for the entries of a record.
func (c *indexCheck) record(r *message.Record, hashes []int32) error {
	found := make([]int32, 0, 8)
	for {
		hash, phy, ok, err := c.peek()
		if err != nil {
			return err
		}
		if !ok || phy > r.PhyOffset && !c.outOfOrder(phy) {
			break
		}
		c.begun = true
		if phy == r.PhyOffset && slices.Contains(hashes, hash) {
			c.flushStrays()
			found = append(found, hash)
		} else {
			c.stray(phy)
		}
		c.take()
	}
	missing := false
	for i, h := range hashes {
		if !slices.Contains(hashes[:i], h) && !slices.Contains(found, h) {
			missing = true
		}
	}
	switch {
	case missing && !c.begun:
		c.before = r.PhyOffset + int64(r.Size)
	case missing:
		c.flushStrays()
		c.missing.add(r.PhyOffset, r.PhyOffset, r.PhyOffset+int64(r.Size))
	case len(hashes) > 0:
		c.flushMissing()
		c.report.IndexEntries += int64(min(len(found), len(hashes)))
		c.twice += int64(max(len(found)-len(hashes), 0))
	}
	return nil
}

func (c *indexCheck) stray(phy int64) {
	if phy >= c.t.log.first() {
		c.flushMissing()
		c.strays.add(int64(c.number), phy, phy)
	}
}

func (c *indexCheck) flushMissing() {
	if c.missing.n > 0 {
		c.report.damage("index", "no entries for %d messages with keys in the log at %d..%d", c.missing.n, c.missing.firstPhy, c.missing.endPhy)
		c.missing = span{}
	}
}

func (c *indexCheck) flushStrays() {
	if c.strays.n > 0 {
		c.report.damage(c.place(int32(c.strays.first)), "%s: log %d..%d, where it should lead, has no message with that key",
			c.strays.units(), c.strays.firstPhy, c.strays.endPhy)
		c.strays = span{}
	}
}

func (c *indexCheck) flush() {
	c.flushMissing()
	c.flushStrays()
}

func (c *indexCheck) finish() error {
	for {
		_, phy, ok, err := c.peek()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		c.begun = true
		c.stray(phy)
		c.take()
	}
	c.flush()
	if c.before > 0 {
		text := "the messages with keys before log %d are not in the index"
		if !c.begun {
			text = "there is no index for the messages before log %d (messageIndexEnable=false, or it is lost)"
		}
		c.report.note("index", text, c.before)
	}
	if c.twice > 0 {
		c.report.note("index", "%d entries are there twice: Java does that when it dispatches the end of the log again", c.twice)
	}
	return nil
}

func (c *indexCheck) close() {
	if c.fd != nil {
		c.fd.Close()
	}
}
