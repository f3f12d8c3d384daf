// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"context"
	"log/slog"
	"time"

	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// A broker leaves in three ways: it says so (104), its connection ends, or it is silent for longer than its timeout.
// In the last case its host may be frozen, so its connection is closed too.

// minScan keeps a mistyped scanNotActiveBrokerInterval from turning the scan into a busy loop.
const minScan = 10 * time.Millisecond

// watch looks for silent brokers until the server closes.
func (s *Server) watch() {
	timer := time.NewTimer(s.scanInterval())
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-timer.C:
		}
		for _, g := range s.table.Expire() {
			s.left(g, silent)
			if g.Conn != nil {
				g.Conn.Close()
			}
		}
		timer.Reset(s.scanInterval())
	}
}

func (s *Server) scanInterval() time.Duration {
	return max(time.Duration(s.cfg.Load().ScanNotActiveBrokerInterval)*time.Millisecond, minScan)
}

// Connected is part of remoting.ConnListener; a connection means nothing before its first request.
func (s *Server) Connected(remoting.Channel) {}

// Closed removes the brokers that registered over this connection and not over another one since.
func (s *Server) Closed(ch remoting.Channel) {
	if s.ctx.Err() != nil {
		return
	}
	for _, g := range s.table.Closed(ch) {
		s.left(g, disconnected)
	}
}

// departure is how a broker left.
type departure int

const (
	unregistered departure = iota
	disconnected
	silent
)

var departures = [...]struct{ label, why string }{
	unregistered: {"unregistered", "it unregistered"},
	disconnected: {"disconnected", "its connection ended"},
	silent:       {"silent", "it was silent for too long"},
}

func (s *Server) left(g route.Gone, how departure) {
	s.departed[how].Add(1)
	level := slog.LevelWarn
	if how == unregistered {
		level = slog.LevelInfo
	}
	s.log.Log(s.ctx, level, "broker left: "+departures[how].why, "broker", g.Name, "addr", g.Addr, "id", g.ID, "cluster", g.Cluster)
	s.notify(g.Change)
}

const (
	// maxNotices is how many notices may wait for a slow broker; more are dropped, since brokers also ask by themselves.
	maxNotices = 1024
	// noticeTimeout is how long a notice may take, with connecting.
	noticeTimeout = 300 * time.Millisecond
)

type notice struct {
	addr   string
	header *protocol.NotifyMinBrokerIdChangeRequestHeader
}

// notify tells the members of a broker name that another of them has the smallest id now: all who are left when one
// went; when one came, all but that one, unless it is alone.
func (s *Server) notify(c *route.MinIDChange) {
	if c == nil || len(c.Members) == 0 || !s.cfg.Load().NotifyMinBrokerIdChanged {
		return
	}
	least := c.Members[0]
	told := c.Members
	if !c.Offline.Set && len(told) > 1 {
		told = told[1:]
	}
	header := &protocol.NotifyMinBrokerIdChangeRequestHeader{
		MinBrokerID: protocol.Some(least.ID), MinBrokerAddr: protocol.Some(least.Addr),
		OfflineBrokerAddr: c.Offline, HaBrokerAddr: c.HA,
	}
	for _, m := range told {
		select {
		case s.notices <- notice{m.Addr, header}:
		default:
			s.log.Warn("notice dropped: too many wait", "addr", m.Addr)
		}
	}
}

// sendNotices sends notices in their order until the server closes.
func (s *Server) sendNotices() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case n := <-s.notices:
			if err := s.send(n); err != nil {
				s.log.Warn("broker was not told of the smallest id", "addr", n.addr, "err", err)
			}
		}
	}
}

func (s *Server) send(n notice) error {
	ctx, cancel := context.WithTimeout(s.ctx, noticeTimeout)
	defer cancel()
	c := protocol.Command{Code: protocol.ReqNotifyMinBrokerIdChange, Flag: protocol.FlagOneway}
	n.header.AppendFields(&c.Fields)
	return s.client.Oneway(ctx, n.addr, &c)
}
