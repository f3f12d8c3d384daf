// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package ha

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MasterOptions are what a Master needs.
type MasterOptions struct {
	Log   Log
	Rules func() Rules
	// Acknowledged is called when a slave has told that it has more.
	Acknowledged func()
	Logger       *slog.Logger
}

// maxSlaves bounds the connections: the port asks nobody who he is.
const maxSlaves = 256

// Master sends a log to all slaves that connect.
type Master struct {
	o MasterOptions

	mu    sync.Mutex
	conns map[*masterConn]struct{}
	idle  atomic.Int32 // connections that wait for the log to grow
}

// SlaveState is what a master knows of a slave.
type SlaveState struct {
	Addr           netip.AddrPort
	Acked          int64 // end of the slave's log as it last told
	SentTo         int64 // up to where the log was sent, -1 before the first report
	BytesPerSecond int64 // that were sent in the last second
}

// NewMaster makes a master; it does nothing before Serve.
func NewMaster(o MasterOptions) *Master {
	return &Master{o: o, conns: map[*masterConn]struct{}{}}
}

// Serve takes connections until ctx ends, and closes l and all of them.
func (m *Master) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			m.o.Logger.Warn("a slave's connection could not be taken", "error", err)
			if !pause(ctx, 100*time.Millisecond) { // out of descriptors, as a rule
				return nil
			}
			continue
		}
		if m.full() {
			m.o.Logger.Warn("too many slaves", "addr", c.RemoteAddr(), "max", maxSlaves)
			c.Close()
			continue
		}
		open.Go(func() { m.serve(ctx, c) })
	}
}

func (m *Master) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.conns) >= maxSlaves
}

// masterConn is a connection to a slave.
type masterConn struct {
	m    *Master
	conn net.Conn
	addr netip.AddrPort

	acked atomic.Int64
	sent  atomic.Int64
	first chan int64    // the first report
	wake  chan struct{} // the log has grown

	mu   sync.Mutex
	rate rate
}

func (m *Master) serve(ctx context.Context, conn net.Conn) {
	c := &masterConn{m: m, conn: conn, first: make(chan int64, 1), wake: make(chan struct{}, 1)}
	c.sent.Store(-1)
	if a, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		c.addr = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	m.mu.Lock()
	m.conns[c] = struct{}{}
	m.mu.Unlock()
	m.o.Logger.Info("slave connected", "addr", c.addr)

	ctx, cancel := context.WithCancelCause(ctx)
	closed := context.AfterFunc(ctx, func() { conn.Close() })
	var reading sync.WaitGroup
	reading.Go(func() { cancel(c.read()) })
	cancel(c.write(ctx))
	reading.Wait()
	closed()
	conn.Close()

	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
	err := context.Cause(ctx)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		m.o.Logger.Error("slave refused: "+refused.why, "addr", c.addr, "slave", refused.report, "min", m.o.Log.MinPhyOffset(), "max", m.o.Log.MaxPhyOffset())
	case errors.Is(err, context.Canceled), errors.Is(err, io.EOF):
		m.o.Logger.Info("slave disconnected", "addr", c.addr, "acked", c.acked.Load())
	default:
		m.o.Logger.Warn("slave disconnected", "addr", c.addr, "acked", c.acked.Load(), "error", err)
	}
}

// refusal ends the connection of a slave that cannot be served.
type refusal struct {
	report int64
	why    string
}

func (r *refusal) Error() string { return r.why }

// read takes reports. The last whole one that has come counts.
func (c *masterConn) read() error {
	buf := make([]byte, 0, 128*reportSize)
	started := false
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.m.o.Rules().Housekeeping)); err != nil {
			return err
		}
		n, err := c.conn.Read(buf[len(buf):cap(buf)])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errSilent
		}
		if err != nil {
			return err
		}
		buf = buf[:len(buf)+n]
		whole := len(buf) / reportSize * reportSize
		if whole == 0 {
			continue
		}
		report := int64(binary.BigEndian.Uint64(buf[whole-reportSize:]))
		buf = buf[:copy(buf, buf[whole:])]
		if report < 0 {
			return fmt.Errorf("a slave reported offset %d", report)
		}
		if !started {
			started = true
			c.first <- report
		}
		if c.acked.Swap(report) != report {
			c.m.o.Acknowledged()
		}
	}
}

// write sends the log.
func (c *masterConn) write(ctx context.Context) error {
	var report int64
	select {
	case report = <-c.first:
	case <-ctx.Done():
		return ctx.Err()
	}
	pos, err := c.m.begin(report)
	if err != nil {
		return err
	}
	c.m.o.Logger.Info("slave is sent the log", "addr", c.addr, "from", pos, "slave", report)
	c.sent.Store(pos)
	heartbeat := time.NewTimer(c.m.o.Rules().Heartbeat)
	defer heartbeat.Stop()
	for {
		rules := c.m.o.Rules()
		n := c.m.next(pos, &rules)
		if n > 0 {
			var wait time.Duration
			if n, wait = c.allowed(n, &rules); n == 0 {
				if !pause(ctx, wait) {
					return ctx.Err()
				}
				continue
			}
			if err := c.send(pos, n, &rules); err != nil {
				return err
			}
			pos += int64(n)
			c.sent.Store(pos)
			heartbeat.Reset(rules.Heartbeat)
			continue
		}
		if due, err := c.wait(ctx, pos, heartbeat.C); err != nil {
			return err
		} else if due {
			if err := c.send(pos, 0, &rules); err != nil {
				return err
			}
			heartbeat.Reset(rules.Heartbeat)
		}
	}
}

// wait returns when there is something behind pos, or, due, when a heartbeat is.
func (c *masterConn) wait(ctx context.Context, pos int64, heartbeat <-chan time.Time) (due bool, err error) {
	c.m.idle.Add(1)
	defer c.m.idle.Add(-1)
	if c.m.o.Log.MaxPhyOffset() > pos { // it may have grown before it was seen that we wait
		return false, nil
	}
	select {
	case <-c.wake:
		return false, nil
	case <-heartbeat:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// begin is where a slave with a log of this end begins.
func (m *Master) begin(report int64) (int64, error) {
	end := m.o.Log.MaxPhyOffset()
	switch {
	case report == 0:
		return end - end%m.o.Log.FileSize(), nil
	case report > end:
		return 0, &refusal{report, "its log is longer than the master's, so it is the log of another master"}
	case report < m.o.Log.MinPhyOffset():
		return 0, &refusal{report, "what it needs is deleted here already; it has to begin with an empty store"}
	}
	return report, nil
}

// next is how many bytes the next frame has, 0 if there is nothing to send.
func (m *Master) next(pos int64, rules *Rules) int {
	size := m.o.Log.FileSize()
	return int(min(m.o.Log.MaxPhyOffset()-pos, size-pos%size, int64(max(rules.BatchSize, 1))))
}

// allowed is how much of n may be sent in this second, or how long until something may.
func (c *masterConn) allowed(n int, rules *Rules) (int, time.Duration) {
	if rules.BytesPerSecond <= 0 {
		return n, 0
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate.turn(now)
	return int(min(int64(n), max(rules.BytesPerSecond-c.rate.now, 0))), now.Truncate(time.Second).Add(time.Second).Sub(now)
}

// send sends a frame.
func (c *masterConn) send(pos int64, n int, rules *Rules) error {
	var header [headerSize]byte
	binary.BigEndian.PutUint64(header[:], uint64(pos))
	binary.BigEndian.PutUint32(header[8:], uint32(n))
	if err := c.conn.SetWriteDeadline(time.Now().Add(rules.Housekeeping)); err != nil {
		return err
	}
	var err error
	if n == 0 {
		_, err = c.conn.Write(header[:])
	} else if !c.m.o.Log.ViewLog(pos, n, func(data []byte) {
		frame := net.Buffers{header[:], data}
		_, err = frame.WriteTo(c.conn)
	}) {
		if pos < c.m.o.Log.MinPhyOffset() {
			return &refusal{c.acked.Load(), "what it needs was deleted meanwhile; it has to begin with an empty store"}
		}
		err = fmt.Errorf("the log cannot be read at %d", pos)
	}
	c.mu.Lock()
	c.rate.add(time.Now(), n)
	c.mu.Unlock()
	return err
}

// Appended tells that the log has grown.
func (m *Master) Appended() {
	if m.idle.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// Acked is the place up to which at least n slaves have the log; 0 if there are not so many.
func (m *Master) Acked(n int) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n <= 0 || n > len(m.conns) {
		return 0
	}
	acked := make([]int64, 0, 8)
	for c := range m.conns {
		acked = append(acked, c.acked.Load())
	}
	slices.Sort(acked)
	return acked[len(acked)-n]
}

// InSync is how many slaves lag by less than maxGap bytes.
func (m *Master) InSync(maxGap int64) int {
	end := m.o.Log.MaxPhyOffset()
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for c := range m.conns {
		if end-c.acked.Load() < maxGap {
			n++
		}
	}
	return n
}

// Slaves are the connected slaves, in the order of their addresses.
func (m *Master) Slaves() []SlaveState {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	list := make([]SlaveState, 0, len(m.conns))
	for c := range m.conns {
		c.mu.Lock()
		list = append(list, SlaveState{c.addr, c.acked.Load(), c.sent.Load(), c.rate.perSecond(now)})
		c.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b SlaveState) int { return a.Addr.Compare(b.Addr) })
	return list
}

// pause waits; false if ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
