// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"

	"rocketmq-go/remoting/protocol"
)

// commitTimeout is how long a change may take until most controllers have it.
const commitTimeout = 5 * time.Second

// peer is a controller of the group.
type peer struct{ id, addr string }

// parsePeers reads controllerDLegerPeers: n0-host:port;n1-host:port.
func parsePeers(list string) ([]peer, error) {
	var peers []peer
	for part := range strings.SplitSeq(list, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, addr, ok := strings.Cut(part, "-")
		if _, _, err := net.SplitHostPort(addr); !ok || id == "" || err != nil {
			return nil, fmt.Errorf("controllerDLegerPeers=%s: %q is not like n0-host:port", list, part)
		}
		peers = append(peers, peer{id, addr})
	}
	if len(peers) == 0 {
		return nil, errors.New("controllerDLegerPeers is missing: n0-host:port;n1-host:port;… names all controllers")
	}
	return peers, nil
}

// raftLog is where the library logs; what concerns operators the controller says itself.
func (c *Controller) raftLog() hclog.Logger {
	return hclog.FromStandardLogger(slog.NewLogLogger(c.log.Handler(), slog.LevelDebug), &hclog.LoggerOptions{Level: hclog.Warn})
}

// network carries over TCP what the controllers say to each other.
func (c *Controller) network(layer raft.StreamLayer) raft.Transport {
	return raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, MaxPool: 3, Timeout: commitTimeout, Logger: c.raftLog(),
	})
}

// openRaft joins the group.
func (c *Controller) openRaft(t raft.Transport) error {
	c.transport = t
	v := c.cfg.Load()
	cfg := raft.DefaultConfig()
	cfg.LocalID = raft.ServerID(c.self.id)
	cfg.Logger = c.raftLog()
	if len(c.peers) == 1 { // nobody to wait for
		cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	}
	dir := v.ControllerStorePath
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	if c.logs, err = boltdb.New(boltdb.Options{Path: filepath.Join(dir, "raft.db"), BoltOptions: boltOptions()}); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, "raft.db"), err)
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, cfg.Logger)
	if err != nil {
		return err
	}
	there, err := raft.HasExistingState(c.logs, c.logs, snapshots)
	if err != nil {
		return err
	}
	if !there {
		group := raft.Configuration{}
		for _, p := range c.peers {
			group.Servers = append(group.Servers, raft.Server{ID: raft.ServerID(p.id), Address: raft.ServerAddress(p.addr)})
		}
		if err := raft.BootstrapCluster(cfg, c.logs, c.logs, snapshots, c.transport, group); err != nil {
			return err
		}
	}
	leading := make(chan bool, 1)
	cfg.NotifyCh = leading
	if c.raft, err = raft.NewRaft(cfg, c.state, c.logs, c.logs, snapshots, c.transport); err != nil {
		return err
	}
	c.running.Go(func() { c.follow(leading) })
	return nil
}

// follow notes whether this controller leads. It does so only when it has all that was agreed on before.
func (c *Controller) follow(leading <-chan bool) {
	for {
		select {
		case <-c.ctx.Done():
			return
		case lead := <-leading:
			if lead {
				if err := c.raft.Barrier(commitTimeout).Error(); err != nil {
					c.log.Warn("leads, but the others do not follow", "err", err)
					continue
				}
				c.leadsSince.Store(c.options.Now().UnixMilli())
				c.log.Info("this controller leads", "id", c.self.id)
			} else if c.leads.Load() {
				c.log.Info("this controller does not lead any more", "id", c.self.id)
			}
			c.leads.Store(lead)
		}
	}
}

// propose has an event agreed on and applied.
func (c *Controller) propose(e *event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f := c.raft.Apply(data, commitTimeout)
	switch err := f.Error(); {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipLost):
		return errNotLeader
	case err != nil:
		return protocol.Errorf(protocol.RespSystemError, "not agreed on: %v", err)
	}
	if err, ok := f.Response().(error); ok {
		return err
	}
	return nil
}

func (c *Controller) closeRaft() error {
	var errs []error
	if c.raft != nil {
		errs = append(errs, c.raft.Shutdown().Error())
	}
	if t, ok := c.transport.(raft.WithClose); ok {
		errs = append(errs, t.Close())
	}
	if c.logs != nil {
		errs = append(errs, c.logs.Close())
	}
	return errors.Join(errs...)
}
