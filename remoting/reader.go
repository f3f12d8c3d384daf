// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"io"
	"net"
	"syscall"
)

// reader holds the bytes that a connection has read and not yet handled: buf[r:w]. On a plain TCP connection it has a
// buffer only while there are bytes in it, so an idle connection has none; on others (TLS, in memory) it waits with a
// small one.
type reader struct {
	buf  []byte // len = cap
	r, w int

	tcp  syscall.RawConn // nil: use conn.raw
	try  func(fd uintptr) bool
	n    int // result of try
	err  error
	full bool // the last read filled the buffer
}

func (in *reader) init(c *conn) {
	if t, ok := c.raw.(*net.TCPConn); ok && canRawRead {
		if rc, err := t.SyscallConn(); err == nil {
			in.tcp = rc
			in.try = func(fd uintptr) bool { return in.tryRead(c, fd) }
		}
	}
}

func (in *reader) empty() bool   { return in.r == in.w }
func (in *reader) bytes() []byte { return in.buf[in.r:in.w] }

// take hands out the next n bytes; they stay valid until fill.
func (in *reader) take(n int) []byte {
	b := in.buf[in.r : in.r+n : in.r+n]
	in.r += n
	return b
}

func (in *reader) release(c *conn) {
	c.reading.Add(-large(len(in.buf)))
	c.bufs.put(in.buf)
	in.buf = nil
	in.r, in.w = 0, 0
}

// large is what a buffer of n bytes counts as: those that every connection may have do not.
func large(n int) int64 {
	if n <= largeFrom {
		return 0
	}
	return int64(n)
}

// largeFrom is the largest buffer that every connection may have.
const largeFrom = 1 << 20

// tooMuch tells that the connection takes part in more large frames than fit into memory.
func (in *reader) tooMuch(c *conn) bool {
	return len(in.buf) > largeFrom && c.reading.Load() > int64(c.MaxReadAll)
}

// fill reads at least one byte.
func (in *reader) fill(c *conn) error {
	in.compact(c)
	if in.tcp == nil {
		in.room(c, minBuffer)
		if in.tooMuch(c) {
			return errCrowded
		}
		n, err := c.raw.Read(in.buf[in.w:])
		in.full = n == len(in.buf)-in.w
		in.w += n
		if n > 0 {
			return nil
		}
		return err
	}
	in.n, in.err = 0, nil
	if err := in.tcp.Read(in.try); err != nil {
		return err
	}
	if in.err == nil && in.n == 0 {
		return io.EOF
	}
	in.full = in.n == len(in.buf)-in.w
	in.w += in.n
	if in.tooMuch(c) {
		return errCrowded
	}
	return in.err
}

// compact moves an incomplete frame to the front, and gives a buffer back that is too large for what is left in it.
func (in *reader) compact(c *conn) {
	switch {
	case in.r == in.w:
		in.r, in.w = 0, 0
		if in.tcp == nil && !in.full && len(in.buf) > minBuffer {
			in.release(c)
		}
	case in.r > 0:
		in.w = copy(in.buf, in.buf[in.r:in.w])
		in.r = 0
	}
}

// room makes sure that there is space to read into: at first least bytes, then twice as much each time the buffer is
// full. So memory follows the bytes that arrived, not the length that a peer claims.
func (in *reader) room(c *conn, least int) {
	size := len(in.buf)
	switch {
	case size < least:
		size = least
	case in.w == size:
		size *= 2
	case in.full && size < readBuffer:
		size = readBuffer
	default:
		return
	}
	in.move(c, size)
}

// move brings what is buffered into a buffer of the given size.
func (in *reader) move(c *conn, size int) {
	b := c.bufs.get(size)
	b = b[:cap(b)]
	copy(b, in.buf[:in.w])
	c.reading.Add(large(len(b)) - large(len(in.buf)))
	c.bufs.put(in.buf)
	in.buf = b
}

// shrink is called before a wait: what is left of a frame should not hold a large buffer.
func (in *reader) shrink(c *conn) {
	switch {
	case in.w == 0:
		in.release(c)
	case in.w <= minBuffer && len(in.buf) > minBuffer:
		in.move(c, minBuffer)
	}
}
