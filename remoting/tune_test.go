// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// serverSocketSndBufSize and serverSocketRcvBufSize reach the sockets; the system may round them up.
func TestSocketBuffers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	size := func(option int) (n int) {
		raw, err := accepted.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, option) })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := [2]int{size(unix.SO_SNDBUF), size(unix.SO_RCVBUF)}
	(&Server{}).tune(accepted)
	if now := [2]int{size(unix.SO_SNDBUF), size(unix.SO_RCVBUF)}; now != before {
		t.Errorf("nothing was asked for: %v, then %v", before, now)
	}
	const small = 8192
	(&Server{cfg: ServerConfig{SendBuffer: small, ReceiveBuffer: small}}).tune(accepted)
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if n := size(option); n < small || n > 4*small {
			t.Errorf("option %d: %d bytes", option, n)
		}
	}
}
