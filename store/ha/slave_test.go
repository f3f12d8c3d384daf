// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package ha

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// slaveRig is a slave whose master's end of the connections a test speaks.
type slaveRig struct {
	t     *testing.T
	log   *memoryLog
	slave *Slave
	net   *pipes
	lines *lines
}

func withSlave(t *testing.T, test func(r *slaveRig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &slaveRig{t: t, log: &memoryLog{size: 4096}, net: newPipes(), lines: new(lines)}
		r.slave = NewSlave(SlaveOptions{
			Log: r.log, Rules: func() Rules { return testRules }, Dial: r.net.dial, Logger: r.lines.logger(),
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.slave.Run(ctx) }()
		test(r)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (r *slaveRig) accept() *conn {
	c, err := r.net.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	return &conn{r.t, c}
}

func (c *conn) expectReport(off int64) {
	c.t.Helper()
	var b [reportSize]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		c.t.Fatal(err)
	}
	if got := int64(binary.BigEndian.Uint64(b[:])); got != off {
		c.t.Fatalf("the slave reports %d, want %d", got, off)
	}
}

func (c *conn) send(off int64, body []byte) {
	c.t.Helper()
	frame := binary.BigEndian.AppendUint64(nil, uint64(off))
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(body)))
	if _, err := c.Write(append(frame, body...)); err != nil {
		c.t.Fatal(err)
	}
}

// records are n of them, of some bytes each.
func records(n, size int) []byte {
	var l memoryLog
	for range n {
		l.add(size)
	}
	return l.data
}

func TestSlaveCopies(t *testing.T) {
	withSlave(t, func(r *slaveRig) {
		if s := r.slave.State(); s.Connected || s.MasterAddr != "" {
			t.Errorf("%+v", s)
		}
		r.slave.Follow("master:1")
		c := r.accept()
		c.expectReport(0)
		c.send(8192, nil) // a heartbeat before there is anything
		data := records(4, 300)
		// The first record in three parts, the end of a frame in the middle of the third.
		c.send(8192, data[:100])
		c.send(8292, nil)
		c.send(8292, data[100:250])
		c.send(8442, data[250:800])
		c.expectReport(8792)
		c.send(8992, data[800:])
		c.expectReport(9392)
		if r.log.min != 8192 || !bytes.Equal(r.log.content(), data) {
			t.Errorf("%d bytes from %d on", len(r.log.content()), r.log.min)
		}
		began := time.Now()
		c.expectReport(9392)
		synctest.Wait()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("a heartbeat came after %v", took)
		}
		if s := r.slave.State(); !s.Connected || s.MaxOffset != 9392 || !s.LastWrite.Equal(time.Now()) || !s.LastRead.Equal(began) {
			t.Errorf("%+v", s)
		}
		c.Close()
		c = r.accept()
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("it comes again after %v, a second is due", took-5*time.Second)
		}
		c.expectReport(9392)
		c.Close()
	})
}

// What came of a record before a connection ended is asked for again.
func TestSlaveForgetsParts(t *testing.T) {
	withSlave(t, func(r *slaveRig) {
		r.slave.Follow("master:1")
		data := records(3, 300)
		c := r.accept()
		c.expectReport(0)
		c.send(0, data[:500])
		c.expectReport(300)
		c.Close()
		c = r.accept()
		c.expectReport(300)
		c.send(300, data[300:])
		c.expectReport(900)
		if !bytes.Equal(r.log.content(), data) {
			t.Error("another log")
		}
		c.Close()
	})
}

func TestSlaveRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		frame []byte
		off   int64
		line  string
	}{
		"a gap":         {records(1, 100), 301, "the master sent offset 301, and the log of this slave ends at 300"},
		"an overlap":    {records(1, 100), 299, "the master sent offset 299"},
		"a heartbeat":   {nil, 0, "the master sent offset 0"},
		"large record":  {append(binary.BigEndian.AppendUint32(nil, 5000), make([]byte, 4200)...), 300, "a record of more than 4204 bytes"},
		"refused bytes": {records(1, 100), 300, "not like this"},
	} {
		t.Run(name, func(t *testing.T) {
			withSlave(t, func(r *slaveRig) {
				r.log.add(300)
				if name == "refused bytes" {
					r.log.refuse = errors.New("not like this")
				}
				r.slave.Follow("master:1")
				for range 3 {
					conn := r.accept()
					conn.expectReport(300)
					conn.send(c.off, c.frame)
					conn.expectEnd()
					conn.Close()
				}
				synctest.Wait()
				if n := r.lines.count(c.line); n != 3 || r.log.MaxPhyOffset() != 300 {
					t.Errorf("%d lines, log of %d bytes:\n%s", n, r.log.MaxPhyOffset(), r.lines.text.String())
				}
			})
		})
	}
	t.Run("frame sizes", func(t *testing.T) {
		withSlave(t, func(r *slaveRig) {
			r.slave.Follow("master:1")
			for _, n := range []uint32{maxFrame + 1, 1 << 31, 1<<32 - 1} {
				c := r.accept()
				c.expectReport(0)
				if _, err := c.Write(binary.BigEndian.AppendUint32(make([]byte, 8), n)); err != nil {
					t.Fatal(err)
				}
				c.expectEnd()
				c.Close()
			}
		})
	})
}

func TestSlaveEndsSilentConnections(t *testing.T) {
	withSlave(t, func(r *slaveRig) {
		r.slave.Follow("master:1")
		c := r.accept()
		began := time.Now()
		io.Copy(io.Discard, c)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("closed after %v", took)
		}
		c.Close()
		synctest.Wait()
		if !r.lines.has("nothing was received for too long") {
			t.Error(r.lines.text.String())
		}
	})
}

// A master that cannot be reached is one line, however often it is tried.
func TestSlaveFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialed []string
		lines := new(lines)
		log := &memoryLog{size: 4096}
		s := NewSlave(SlaveOptions{
			Log: log, Rules: func() Rules { return testRules }, Logger: lines.logger(),
			Dial: func(_ context.Context, addr string) (net.Conn, error) {
				dialed = append(dialed, addr)
				return nil, errors.New("nobody there")
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(dialed) != 0 {
			t.Errorf("dialed %v", dialed)
		}
		s.Follow("a:1")
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if len(dialed) != 4 || lines.count("nobody there") != 1 {
			t.Errorf("dialed %v, %d lines", dialed, lines.count("nobody there"))
		}
		s.Follow("b:1")
		synctest.Wait()
		if dialed[len(dialed)-1] != "b:1" {
			t.Errorf("dialed %v", dialed)
		}
		s.Follow("")
		n := len(dialed)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(dialed) != n {
			t.Errorf("dialed %v", dialed[n:])
		}
		cancel()
		<-ended
	})
}

// Another master ends the connection to the one before.
func TestSlaveChangesMaster(t *testing.T) {
	withSlave(t, func(r *slaveRig) {
		r.slave.Follow("a:1")
		c := r.accept()
		c.expectReport(0)
		r.slave.Follow("b:1")
		c.expectEnd()
		c = r.accept()
		c.expectReport(0)
		r.slave.Follow("b:1")
		c.send(0, records(1, 100))
		c.expectReport(100)
		c.Close()
	})
}

// Both ends of this package, records of all sizes, connections that break at any place.
func TestMasterAndSlave(t *testing.T) {
	withMaster(t, func(r *rig) {
		r.log.size = 1 << 20
		lines, slaveLog := new(lines), &memoryLog{size: 1 << 20}
		cut := 0
		s := NewSlave(SlaveOptions{
			Log: slaveLog, Rules: func() Rules { return r.rules }, Logger: lines.logger(),
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				c, err := r.net.dial(ctx, addr)
				cut += 9973
				return &cutConn{c, cut}, err
			},
		})
		ctx, cancel := context.WithCancel(r.t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		s.Follow("master")
		for i := range 300 {
			r.log.add(4 + i*37%2500)
			if i%40 == 0 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Minute)
		if !bytes.Equal(slaveLog.content(), r.log.content()) {
			t.Errorf("%d bytes of %d\n%s", slaveLog.MaxPhyOffset(), r.log.MaxPhyOffset(), lines.text.String())
		}
		if lines.count("connected to the master") < 5 {
			t.Error("the connection was not cut")
		}
		if got := r.master.Acked(1); got != r.log.MaxPhyOffset() {
			t.Errorf("acknowledged %d of %d", got, r.log.MaxPhyOffset())
		}
		cancel()
		<-ended
	})
}

// cutConn ends after so many bytes.
type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
