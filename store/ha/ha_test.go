// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package ha

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memoryLog is a log whose records are a length in four bytes and so many bytes less four.
type memoryLog struct {
	mu       sync.Mutex
	min      int64
	size     int64
	data     []byte // from min on
	appended func()
	refuse   error
}

func (l *memoryLog) MinPhyOffset() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.min }
func (l *memoryLog) MaxPhyOffset() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.min + int64(len(l.data))
}
func (l *memoryLog) FileSize() int64 { return l.size }

func (l *memoryLog) ViewLog(off int64, n int, use func([]byte)) bool {
	l.mu.Lock()
	min, data := l.min, l.data
	l.mu.Unlock()
	if off < min || off-min+int64(n) > int64(len(data)) || off/l.size != (off+int64(n)-1)/l.size {
		return false
	}
	use(data[off-min : off-min+int64(n)])
	return true
}

func (l *memoryLog) AppendLog(off int64, data []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return 0, l.refuse
	}
	if len(l.data) > 0 && off != l.min+int64(len(l.data)) {
		return 0, fmt.Errorf("append at %d of %d", off, l.min+int64(len(l.data)))
	}
	for len(data)-n >= 4 {
		size := int(binary.BigEndian.Uint32(data[n:]))
		if len(data)-n < size {
			break
		}
		if len(l.data) == 0 {
			l.min = off
		}
		l.data = append(l.data, data[n:n+size]...)
		n += size
	}
	return n, nil
}

// add appends a record of n bytes.
func (l *memoryLog) add(n int) {
	l.mu.Lock()
	rec := binary.BigEndian.AppendUint32(nil, uint32(n))
	l.data = append(l.data, append(rec, bytes.Repeat([]byte{byte(len(l.data))}, n-4)...)...)
	l.mu.Unlock()
	if l.appended != nil {
		l.appended()
	}
}

func (l *memoryLog) content() []byte { l.mu.Lock(); defer l.mu.Unlock(); return bytes.Clone(l.data) }

// pipes is a listener of in-memory connections.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, errors.New("refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rig is a master whose connections a test makes.
type rig struct {
	t      *testing.T
	log    *memoryLog
	rules  Rules
	master *Master
	net    *pipes
	acks   atomic.Int32
	lines  *lines
}

// lines is a log that can be looked at.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

var testRules = Rules{Heartbeat: 5 * time.Second, Housekeeping: 20 * time.Second, Reconnect: time.Second, BatchSize: 1000}

// withMaster runs a test in virtual time.
func withMaster(t *testing.T, test func(r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, log: &memoryLog{size: 4096}, rules: testRules, net: newPipes(), lines: new(lines)}
		r.master = NewMaster(MasterOptions{
			Log: r.log, Rules: func() Rules { return r.rules }, Acknowledged: func() { r.acks.Add(1) }, Logger: r.lines.logger(),
		})
		r.log.appended = r.master.Appended
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- r.master.Serve(ctx, r.net) }()
		test(r)
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// conn is a slave's end, spoken by the test.
type conn struct {
	t *testing.T
	net.Conn
}

func (r *rig) dial() *conn {
	c, err := r.net.dial(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return &conn{r.t, c}
}

func (c *conn) report(off int64) {
	c.t.Helper()
	if _, err := c.Write(binary.BigEndian.AppendUint64(nil, uint64(off))); err != nil {
		c.t.Fatal(err)
	}
}

// frame reads a frame.
func (c *conn) frame() (off int64, body []byte) {
	c.t.Helper()
	var header [headerSize]byte
	if _, err := io.ReadFull(c, header[:]); err != nil {
		c.t.Fatal(err)
	}
	body = make([]byte, binary.BigEndian.Uint32(header[8:]))
	if _, err := io.ReadFull(c, body); err != nil {
		c.t.Fatal(err)
	}
	return int64(binary.BigEndian.Uint64(header[:])), body
}

func (c *conn) expect(off int64, n int) {
	c.t.Helper()
	if gotOff, body := c.frame(); gotOff != off || len(body) != n {
		c.t.Fatalf("a frame of %d bytes at %d, want %d at %d", len(body), gotOff, n, off)
	}
}

// expectEnd waits for the other side to close.
func (c *conn) expectEnd() {
	c.t.Helper()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		c.t.Fatalf("%d more bytes came", n)
	}
}

func TestMasterFrames(t *testing.T) {
	withMaster(t, func(r *rig) {
		for range 12 {
			r.log.add(512) // 6144: one file and a half
		}
		c := r.dial()
		defer c.Close()
		c.report(500)
		for _, f := range [][2]int64{{500, 1000}, {1500, 1000}, {2500, 1000}, {3500, 596}, {4096, 1000}, {5096, 1000}, {6096, 48}} {
			c.expect(f[0], int(f[1]))
		}
		r.log.add(100) // at once, not at a heartbeat
		began := time.Now()
		c.expect(6144, 100)
		if took := time.Since(began); took != 0 {
			t.Errorf("an append was sent after %v", took)
		}
		c.expect(6244, 0)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("a heartbeat came after %v", took)
		}
		c.report(1000)
		c.report(6244)
		synctest.Wait()
		if s := r.master.Slaves(); len(s) != 1 || s[0].Acked != 6244 || s[0].SentTo != 6244 || r.acks.Load() != 3 {
			t.Errorf("%+v, %d acknowledgements", s, r.acks.Load())
		}
	})
}

func TestMasterBegins(t *testing.T) {
	for name, c := range map[string]struct {
		min, end, report, from int64
		refused                string
	}{
		"both empty":         {0, 0, 0, 0, ""},
		"empty slave":        {0, 9000, 0, 8192, ""},
		"end of a file":      {0, 8192, 0, 8192, ""},
		"old log":            {8192, 9000, 0, 8192, ""},
		"goes on":            {0, 9000, 700, 700, ""},
		"all there":          {0, 9000, 9000, 9000, ""},
		"slave ahead":        {0, 9000, 9001, 0, "longer than the master's"},
		"deleted since":      {4096, 9000, 4000, 0, "deleted here already"},
		"first of what left": {4096, 9000, 4096, 4096, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withMaster(t, func(r *rig) {
				r.log.min = c.min
				r.log.data = make([]byte, c.end-c.min)
				conn := r.dial()
				defer conn.Close()
				conn.report(c.report)
				if c.refused != "" {
					conn.expectEnd()
					synctest.Wait()
					if !r.lines.has(c.refused) {
						t.Errorf("not logged: %q", c.refused)
					}
					return
				}
				conn.expect(c.from, int(min(1000, c.end-c.from))) // with nothing to send a heartbeat
			})
		})
	}
}

// Reports may come in parts and many at a time; the last whole one counts.
func TestMasterReadsReports(t *testing.T) {
	withMaster(t, func(r *rig) {
		r.log.add(4000)
		c := r.dial()
		defer c.Close()
		go io.Copy(io.Discard, c)
		var all []byte
		for off := int64(1); off <= 4000; off += 7 {
			all = binary.BigEndian.AppendUint64(all, uint64(off))
		}
		for len(all) > 0 {
			n := min(13, len(all))
			if _, err := c.Write(all[:n]); err != nil {
				t.Fatal(err)
			}
			all = all[n:]
			synctest.Wait()
			if s := r.master.Slaves(); len(s) != 1 || s[0].Acked > 4000 || s[0].Acked != 0 && s[0].Acked%7 != 1 {
				t.Fatalf("%+v", s)
			}
		}
		if s := r.master.Slaves(); s[0].Acked != 3998 || s[0].SentTo != 4000 {
			t.Errorf("%+v", s)
		}
	})
}

func TestMasterEndsSilentConnections(t *testing.T) {
	withMaster(t, func(r *rig) {
		for _, reports := range []bool{false, true} {
			c := r.dial()
			began := time.Now()
			if reports {
				c.report(0)
			}
			io.Copy(io.Discard, c)
			if took := time.Since(began); took != 20*time.Second {
				t.Errorf("reports=%t: closed after %v", reports, took)
			}
			c.Close()
		}
		synctest.Wait()
		if r.lines.count("nothing was received for too long") != 2 || len(r.master.Slaves()) != 0 {
			t.Errorf("%s", r.lines.text.String())
		}
	})
}

// A slave that takes nothing is not waited for for ever.
func TestMasterEndsStuckConnections(t *testing.T) {
	withMaster(t, func(r *rig) {
		r.log.add(4000)
		c := r.dial()
		defer c.Close()
		began := time.Now()
		c.report(0)
		for len(r.master.Slaves()) > 0 || time.Since(began) == 0 {
			time.Sleep(time.Second)
			if time.Since(began) > time.Minute {
				t.Fatal("still connected")
			}
		}
	})
}

func TestMasterFlowControl(t *testing.T) {
	withMaster(t, func(r *rig) {
		r.rules.BytesPerSecond = 1500
		r.log.add(4000)
		c := r.dial()
		defer c.Close()
		c.report(1)
		began := time.Now().Truncate(time.Second)
		for _, f := range []struct {
			off, n int64
			at     time.Duration
		}{{1, 1000, 0}, {1001, 500, 0}, {1501, 1000, time.Second}, {2501, 500, time.Second}, {3001, 999, 2 * time.Second}} {
			c.expect(f.off, int(f.n))
			if at := time.Since(began).Truncate(time.Second); at != f.at {
				t.Errorf("%d came after %v, want %v", f.off, at, f.at)
			}
		}
		if s := r.master.Slaves(); s[0].BytesPerSecond != 1500 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAcked(t *testing.T) {
	withMaster(t, func(r *rig) {
		r.log.add(4000)
		var conns []*conn
		for _, acked := range []int64{4000, 1000, 3000} {
			c := r.dial()
			go io.Copy(io.Discard, c)
			c.report(acked)
			conns = append(conns, c)
		}
		synctest.Wait()
		for n, want := range []int64{0, 4000, 3000, 1000, 0} {
			if got := r.master.Acked(n); got != want {
				t.Errorf("Acked(%d) is %d, want %d", n, got, want)
			}
		}
		for gap, want := range map[int64]int{0: 0, 1: 1, 1001: 2, 3001: 3} {
			if got := r.master.InSync(gap); got != want {
				t.Errorf("InSync(%d) is %d, want %d", gap, got, want)
			}
		}
		for _, c := range conns {
			c.Close()
		}
		synctest.Wait()
		if n := r.master.InSync(1 << 30); n != 0 {
			t.Errorf("%d in sync without a connection", n)
		}
	})
}

func TestMasterBoundsConnections(t *testing.T) {
	withMaster(t, func(r *rig) {
		var conns []*conn
		for range maxSlaves {
			conns = append(conns, r.dial())
		}
		synctest.Wait()
		r.dial().expectEnd()
		conns[0].Close()
		synctest.Wait()
		c := r.dial()
		c.report(0)
		c.expect(0, 0)
		for _, c := range append(conns, c) {
			c.Close()
		}
	})
}
