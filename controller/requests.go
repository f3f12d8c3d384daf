// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"context"
	"strings"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// handler answers one request: it fills resp, whose zero value is a success without content, or returns an error. What it
// has put into resp travels with a refusal too.
type handler func(r *remoting.Request, resp *protocol.Response) error

// routeTable is the table of all requests that a controller answers. What is about the agreed state only the leader can;
// what changes it waits for the other controllers.
func (c *Controller) routeTable() []remoting.Route {
	table := []struct {
		code   int32
		mode   remoting.Mode
		leader bool
		handle handler
	}{
		{protocol.ReqControllerAlterSyncStateSet, remoting.Waiting, true, c.alterSyncStateSet},
		{protocol.ReqControllerElectMaster, remoting.Waiting, true, c.electMaster},
		{protocol.ReqControllerRegisterBroker, remoting.Waiting, true, c.register},
		{protocol.ReqControllerGetReplicaInfo, remoting.Pool, true, c.confirmed(c.replicaInfo)},
		{protocol.ReqControllerGetMetadataInfo, remoting.Inline, false, c.metadata},
		{protocol.ReqControllerGetSyncStateData, remoting.Pool, true, c.confirmed(c.syncStateData)},
		{protocol.ReqBrokerHeartbeat, remoting.Inline, false, c.heartbeat},
		{protocol.ReqUpdateControllerConfig, remoting.Pool, false, c.updateConfig},
		{protocol.ReqGetControllerConfig, remoting.Inline, false, c.getConfig},
		{protocol.ReqCleanBrokerData, remoting.Waiting, true, c.clean},
		{protocol.ReqControllerGetNextBrokerID, remoting.Pool, true, c.confirmed(c.nextID)},
		{protocol.ReqControllerApplyBrokerID, remoting.Waiting, true, c.applyID},
	}
	routes := make([]remoting.Route, len(table))
	for i, e := range table {
		routes[i] = remoting.Route{Code: e.code, Mode: e.mode, Handle: c.answering(e.leader, e.handle)}
	}
	return routes
}

func (c *Controller) answering(leader bool, h handler) remoting.HandlerFunc {
	return func(_ context.Context, r *remoting.Request) (*protocol.Response, error) {
		resp := new(protocol.Response)
		err := error(errNotLeader)
		if !leader || c.Leading() {
			err = h(r, resp)
		}
		if err != nil {
			c.refuse(resp, err)
		}
		return resp, nil
	}
}

// confirmed has the other controllers confirm that this one still leads before it answers, if isProcessReadEvent says so.
func (c *Controller) confirmed(h handler) handler {
	return func(r *remoting.Request, resp *protocol.Response) error {
		if c.cfg.Load().IsProcessReadEvent && c.raft.VerifyLeader().Error() != nil {
			return errNotLeader
		}
		return h(r, resp)
	}
}

// updateConfig is 1009, with a properties text as body.
func (c *Controller) updateConfig(r *remoting.Request, resp *protocol.Response) error {
	change, err := c.cfg.Update(r.Body)
	if err != nil {
		c.log.Warn("configuration update refused", "err", err)
		forbidden, text := config.UpdateRefusal(err)
		if forbidden {
			return protocol.Errorf(protocol.RespNoPermission, "%s", text)
		}
		return protocol.Errorf(protocol.RespSystemError, "%s", text)
	}
	c.log.Info("configuration updated", "keys", change.Keys, "from", r.Channel.RemoteAddr())
	if change.Notes != nil {
		c.log.Warn("configuration updated", "notes", change.Notes, "unknownKeys", len(change.Ignored), "from", r.Channel.RemoteAddr())
		resp.Remark = protocol.Some(strings.Join(change.Notes, "; "))
	}
	if change.SaveErr != nil {
		c.log.Error("configuration holds in memory only", "err", change.SaveErr)
	}
	return nil
}

// getConfig is 1010.
func (c *Controller) getConfig(_ *remoting.Request, resp *protocol.Response) error {
	resp.Body = []byte(c.cfg.Exposed())
	return nil
}
