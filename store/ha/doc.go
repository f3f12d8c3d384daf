// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package ha copies a commit log from a master to its slaves, in the words of Java's HAService (4.9) and DefaultHAService
// (5.x), so that either end may be Java's.
//
//	slave → master   int64 end of the slave's log                    at first, when it grows, every Rules.Heartbeat
//	master → slave   int64 offset | int32 n | n bytes of the log     n is 0 in a heartbeat
//
// The first report of a connection says where to begin: 0, an empty log, means at the master's last file, anything else
// that very place. Then the master sends what it has, without waiting for reports, which are acknowledgements of all up to
// there. A frame lies within one file of the log. A slave answers a frame that does not fit behind its log by closing the
// connection. Slaves have no names.
//
// What a frame ends in need not be a whole record. A slave of this package keeps the rest in memory and reports and writes
// whole records only.
//
// Both sides end a connection on which nothing has come for Rules.Housekeeping. A master of this package also ends those of
// slaves that ask for what it does not have: Java's sends them heartbeats until its own log is long enough, and then other
// records than those that the slave has before.
package ha

import (
	"errors"
	"time"
)

const (
	reportSize = 8
	headerSize = 12
	// maxFrame bounds what a slave takes at once.
	maxFrame = 256 << 20
)

// Log is a commit log. *store.Store is one.
type Log interface {
	// MinPhyOffset is where the first file begins, -1 if there is none.
	MinPhyOffset() int64
	// MaxPhyOffset is the end.
	MaxPhyOffset() int64
	// FileSize is the size of each file, bytes.
	FileSize() int64
	// ViewLog gives n bytes, which lie in one file, to use, which must not keep them. False if they cannot be read.
	ViewLog(off int64, n int, use func(data []byte)) bool
	// AppendLog appends what begins at an offset and says how many bytes it took. It leaves a record that is not there in
	// full.
	AppendLog(off int64, data []byte) (n int, err error)
}

// Rules are times and sizes; they may change while connections are open.
type Rules struct {
	Heartbeat    time.Duration // after which something is sent (haSendHeartbeatInterval)
	Housekeeping time.Duration // after which a silent connection is closed (haHousekeepingInterval)
	Reconnect    time.Duration // pause of a slave that could not connect
	BatchSize    int           // bytes of the log in a frame (haTransferBatchSize)
	// BytesPerSecond bounds what each slave is sent, 0 does not (haFlowControlEnable, maxHaTransferByteInSecond).
	BytesPerSecond int64
}

// errSilent ends a connection on which nothing came.
var errSilent = errors.New("nothing was received for too long")

// rate is how much went over a connection in the last whole second.
type rate struct {
	second    int64
	now, last int64
}

func (r *rate) add(now time.Time, n int) {
	r.turn(now)
	r.now += int64(n)
}

func (r *rate) turn(now time.Time) {
	switch s := now.Unix(); {
	case s == r.second:
	case s == r.second+1:
		r.second, r.last, r.now = s, r.now, 0
	default:
		r.second, r.last, r.now = s, 0, 0
	}
}

// perSecond is the rate in bytes.
func (r *rate) perSecond(now time.Time) int64 {
	r.turn(now)
	return r.last
}
