// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package ha

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// SlaveOptions are what a Slave needs.
type SlaveOptions struct {
	Log    Log
	Rules  func() Rules
	Dial   func(ctx context.Context, addr string) (net.Conn, error) // nil: over TCP
	Logger *slog.Logger
}

// Slave copies the log of a master.
type Slave struct {
	o     SlaveOptions
	retry chan struct{} // has an element when the master is there again

	mu      sync.Mutex
	addr    string
	changed chan struct{} // closed when addr changes
	state   SlaveClientState
	rate    rate
}

// SlaveClientState is what a slave knows of its connection.
type SlaveClientState struct {
	MasterAddr          string // of the replication port; empty: none is known
	Connected           bool
	MaxOffset           int64     // end of the own log
	LastRead, LastWrite time.Time // zero: never
	BytesPerSecond      int64     // that came in the last second
}

// NewSlave makes a slave; it does nothing before Run.
func NewSlave(o SlaveOptions) *Slave {
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	return &Slave{o: o, changed: make(chan struct{}), retry: make(chan struct{}, 1)}
}

// Follow says where the master's replication port is; empty: nowhere. Another address than before ends the connection.
func (s *Slave) Follow(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if addr != s.addr {
		s.addr = addr
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// Retry ends the pause after a connection that failed: the master is there again.
func (s *Slave) Retry() {
	select {
	case s.retry <- struct{}{}:
	default:
	}
}

// State is how it stands now.
func (s *Slave) State() SlaveClientState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	state.MasterAddr, state.MaxOffset, state.BytesPerSecond = s.addr, s.o.Log.MaxPhyOffset(), s.rate.perSecond(time.Now())
	return state
}

func (s *Slave) master() (addr string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr, s.changed
}

// Run copies until ctx ends.
func (s *Slave) Run(ctx context.Context) error {
	failed := "" // what was logged last
	for {
		addr, changed := s.master()
		if addr != "" {
			session, cancel := context.WithCancel(ctx)
			follow := make(chan struct{})
			go func() { // ends the session when there is another master
				defer close(follow)
				select {
				case <-changed:
					cancel()
				case <-session.Done():
				}
			}()
			connected, err := s.copy(session, addr)
			cancel()
			<-follow
			if connected {
				failed = ""
			}
			if ctx.Err() == nil && err != nil && err.Error() != failed {
				failed = err.Error()
				s.o.Logger.Warn("not connected to the master, will be tried again", "master", addr, "error", err)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if addr == "" {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		retry := time.NewTimer(s.o.Rules().Reconnect)
		select {
		case <-changed:
			failed = ""
		case <-s.retry:
		case <-ctx.Done():
		case <-retry.C:
		}
		retry.Stop()
	}
}

// copy copies over one connection, until that ends.
func (s *Slave) copy(ctx context.Context, addr string) (connected bool, err error) {
	dial, cancel := context.WithTimeout(ctx, s.o.Rules().Housekeeping)
	conn, err := s.o.Dial(dial, addr)
	cancel()
	if err != nil {
		return false, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	closed := context.AfterFunc(ctx, func() { conn.Close() })
	defer closed()
	defer conn.Close()
	s.setConnected(true)
	defer s.setConnected(false)

	c := &slaveConn{s: s, conn: conn, in: bufio.NewReaderSize(conn, 256<<10), next: s.o.Log.MaxPhyOffset()}
	s.o.Logger.Info("connected to the master", "master", addr, "from", c.next)
	if c.next == 0 {
		c.next = -1
	}
	var reporting sync.WaitGroup
	reporting.Go(func() {
		if err := c.reports(ctx); err != nil {
			fail(err)
		}
	})
	err = c.read()
	fail(err)
	reporting.Wait()
	if cause := context.Cause(ctx); errors.Is(err, net.ErrClosed) && cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the master has closed the connection")
	}
	return true, err
}

func (s *Slave) setConnected(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Connected = on
}

// maxUnreported is how much a slave takes before it reports, when frames keep coming.
const maxUnreported = 1 << 20

// slaveConn is a connection to the master.
type slaveConn struct {
	s    *Slave
	conn net.Conn
	in   *bufio.Reader
	next int64  // offset of the next frame, -1 with an empty log: any
	rest []byte // before it: what came of a record that is not there in full

	mu       sync.Mutex // one report at a time
	reported atomic.Int64
}

// read takes frames and appends what is in them.
func (c *slaveConn) read() error {
	log := c.s.o.Log
	for {
		var header [headerSize]byte
		if err := c.fill(header[:]); err != nil {
			return err
		}
		off, n := int64(binary.BigEndian.Uint64(header[:])), int64(int32(binary.BigEndian.Uint32(header[8:])))
		if n < 0 || n > maxFrame {
			return fmt.Errorf("a frame of %d bytes", n)
		}
		if c.next >= 0 && off != c.next {
			return fmt.Errorf("the master sent offset %d, and the log of this slave ends at %d", off, c.next)
		}
		if n == 0 {
			continue
		}
		have := len(c.rest)
		c.rest = slices.Grow(c.rest, int(n))[:have+int(n)]
		if err := c.fill(c.rest[have:]); err != nil {
			return err
		}
		c.next = off + n
		took, err := log.AppendLog(off-int64(have), c.rest)
		if err != nil {
			return err
		}
		c.rest = c.rest[:copy(c.rest, c.rest[took:])]
		if int64(len(c.rest)) > log.FileSize() {
			return fmt.Errorf("a record of more than %d bytes", len(c.rest))
		}
		if c.in.Buffered() == 0 || log.MaxPhyOffset()-c.reported.Load() > maxUnreported {
			if err := c.report(false); err != nil {
				return err
			}
		}
	}
}

// fill reads all of dst.
func (c *slaveConn) fill(dst []byte) error {
	for len(dst) > 0 {
		if c.in.Buffered() == 0 {
			if err := c.conn.SetReadDeadline(time.Now().Add(c.s.o.Rules().Housekeeping)); err != nil {
				return err
			}
		}
		n, err := c.in.Read(dst)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errSilent
		}
		if err != nil {
			return err
		}
		dst = dst[n:]
		now := time.Now()
		c.s.mu.Lock()
		c.s.state.LastRead = now
		c.s.rate.add(now, n)
		c.s.mu.Unlock()
	}
	return nil
}

// report tells the master how far the log goes, if that is news or always.
func (c *slaveConn) report(always bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.s.o.Log.MaxPhyOffset()
	if end == c.reported.Load() && !always {
		return nil
	}
	now := time.Now()
	if err := c.conn.SetWriteDeadline(now.Add(c.s.o.Rules().Housekeeping)); err != nil {
		return err
	}
	if _, err := c.conn.Write(binary.BigEndian.AppendUint64(nil, uint64(end))); err != nil {
		return err
	}
	c.reported.Store(end)
	c.s.mu.Lock()
	c.s.state.LastWrite = now
	c.s.mu.Unlock()
	return nil
}

// reports says where to begin, and how far the log goes every so often.
func (c *slaveConn) reports(ctx context.Context) error {
	for {
		if err := c.report(true); err != nil {
			return err
		}
		if !pause(ctx, c.s.o.Rules().Heartbeat) {
			return nil
		}
	}
}
