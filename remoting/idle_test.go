// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

//go:build linux

package remoting

import (
	"math"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What an idle connection costs on the server's side, after it has been used. The clients are bare sockets, so that
// all Go memory is the server's.
func TestIdleConnectionsAreCheap(t *testing.T) {
	n := 9500
	if testing.Short() {
		n = 500
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n = min(n, int(limit.Cur)/2-200)
	s, addr := start(t, ServerConfig{Dispatcher: sendHandler(), Version: 479})
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	frame := sendFrame(t, 1024)
	before := heap()
	answer := make([]byte, 4096)
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Write(fd, frame); err != nil {
			t.Fatal(err)
		}
		if got, err := unix.Read(fd, answer); err != nil || got == 0 {
			t.Fatal(got, err)
		}
	}
	if s.Conns() != n {
		t.Fatalf("%d connections of %d", s.Conns(), n)
	}
	each := int64(math.MaxInt64)
	for try := 0; try < 20 && each > 12<<10; try++ { // what serving them took is given back soon
		time.Sleep(50 * time.Millisecond)
		each = (heap() - before) / int64(n)
	}
	t.Logf("%d idle connections: %d bytes each", n, each)
	if each > 12<<10 && !raceEnabled {
		t.Errorf("an idle connection costs %d bytes", each)
	}
}
