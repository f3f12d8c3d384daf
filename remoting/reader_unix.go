// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build unix

package remoting

import "golang.org/x/sys/unix"

const canRawRead = true

// tryRead reads once without waiting. When nothing is there, it gives the buffer back before the runtime waits.
func (in *reader) tryRead(c *conn, fd uintptr) bool {
	in.room(c, readBuffer)
	for {
		n, err := unix.Read(int(fd), in.buf[in.w:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			in.shrink(c)
			return false
		case err != nil:
			in.n, in.err = 0, err
		default:
			in.n = n
		}
		return true
	}
}
