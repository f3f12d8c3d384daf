// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package controller

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// What brokers say to their controller: 1012 and 1013 for an id, 1003 to come back with it, 1002 to become the master,
// 1001 to tell who has all messages, 1004 to ask who the master is, 904 that they are alive. And what tools ask: 1005, 1006,
// 1011.

// nextID is 1012: the id that the next broker of a name gets. It is not given away by this.
func (c *Controller) nextID(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetNextBrokerIdRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	next := int64(1)
	if set, ok := c.state.get(h.BrokerName.V); ok {
		next = set.NextID
	}
	resp.Header = &protocol.GetNextBrokerIdResponseHeader{ClusterName: h.ClusterName, BrokerName: h.BrokerName, NextBrokerID: protocol.Some(next)}
	return nil
}

// applyID is 1013: a broker takes an id.
func (c *Controller) applyID(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.ApplyBrokerIdRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	name, id, code := strings.Clone(h.BrokerName.V), h.AppliedBrokerID.V, strings.Clone(h.RegisterCheckCode.V)
	resp.Header = &protocol.ApplyBrokerIdResponseHeader{ClusterName: protocol.Some(strings.Clone(h.ClusterName.V)), BrokerName: protocol.Some(name)}
	if name == "" || id < 1 {
		return missing("brokerName or appliedBrokerId")
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	set, ok := c.state.get(name)
	if !ok && id != 1 {
		return protocol.Errorf(protocol.RespControllerBrokerIdInvalid, "Broker-set: %s hasn't been registered in controller, but broker try to apply brokerId: %d", name, id)
	}
	if m, taken := set.Brokers[id]; taken {
		if m.CheckCode == code {
			return nil // he has it already
		}
		return protocol.Errorf(protocol.RespControllerBrokerIdInvalid, "Fail to apply brokerId: %d in broker-set: %s", id, name)
	}
	address, _, _ := strings.Cut(code, ";")
	return c.propose(&event{Kind: brokerAdded, Cluster: strings.Clone(h.ClusterName.V), Name: name, ID: id, Address: address, CheckCode: code})
}

// register is 1003: a broker with an id is back, perhaps at another address.
func (c *Controller) register(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.RegisterBrokerToControllerRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	header := &protocol.RegisterBrokerToControllerResponseHeader{
		ClusterName: protocol.Some(strings.Clone(h.ClusterName.V)), BrokerName: protocol.Some(strings.Clone(h.BrokerName.V)),
	}
	resp.Header = header
	name, id, address := strings.Clone(h.BrokerName.V), h.BrokerID.V, strings.Clone(h.BrokerAddress.V)
	c.writing.Lock()
	defer c.writing.Unlock()
	set, ok := c.state.get(name)
	if !ok {
		return protocol.Errorf(protocol.RespControllerBrokerNeedToBeRegistered, "Broker-set: %s hasn't been registered in controller", name)
	}
	m, ok := set.Brokers[id]
	if !ok {
		return protocol.Errorf(protocol.RespControllerBrokerNeedToBeRegistered, "BrokerId: %d hasn't been registered in broker-set: %s", id, name)
	}
	if address != "" && m.Address != address {
		if err := c.propose(&event{Kind: addressNew, Name: name, ID: id, Address: address}); err != nil {
			return err
		}
		set, _ = c.state.get(name)
	}
	if set.Master != 0 && c.live.alive(set.Cluster, name, set.Master) {
		header.MasterBrokerID, header.MasterAddress = protocol.Some(set.Master), protocol.Some(set.Brokers[set.Master].Address)
		header.MasterEpoch, header.SyncStateSetEpoch = protocol.Some(set.Epoch), protocol.Some(set.SyncEpoch)
	}
	resp.Body = c.json(set.syncStateSet())
	return nil
}

// electMaster is 1002.
func (c *Controller) electMaster(r *remoting.Request, resp *protocol.Response) error {
	h := protocol.ElectMasterRequestHeader{}
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	header := &protocol.ElectMasterResponseHeader{}
	resp.Header = header
	name := strings.Clone(h.BrokerName.V)
	set, err := c.elect(name, max(h.BrokerID.Or(-1), 0), h.DesignateElect.V)
	if set == nil {
		return err
	}
	header.MasterBrokerID, header.MasterAddress = protocol.Some(set.Master), protocol.Some(set.Brokers[set.Master].Address)
	header.MasterEpoch, header.SyncStateSetEpoch = protocol.Some(set.Epoch), protocol.Some(set.SyncEpoch)
	group := &protocol.BrokerMemberGroup{Cluster: set.Cluster, BrokerName: name}
	group.BrokerAddrs = fastjson.MapOf[int64, string](len(set.Brokers))
	for _, id := range slices.Sorted(maps.Keys(set.Brokers)) {
		group.BrokerAddrs.Set(id, set.Brokers[id].Address)
	}
	resp.Body = c.json(&protocol.ElectMasterResponseBody{BrokerMemberGroup: group, SyncStateSet: set.InSync})
	return err
}

// alterSyncStateSet is 1001: the master says who has all messages.
func (c *Controller) alterSyncStateSet(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.AlterSyncStateSetRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	header := &protocol.AlterSyncStateSetResponseHeader{}
	resp.Header = header
	var body protocol.SyncStateSet
	if err := fastjson.Unmarshal(r.Body, &body); err != nil {
		return protocol.Errorf(protocol.RespSystemError, "syncStateSet: %v", err)
	}
	name, ids := strings.Clone(h.BrokerName.V), sorted(body.SyncStateSet)
	c.writing.Lock()
	defer c.writing.Unlock()
	set, ok := c.state.get(name)
	switch {
	case !ok:
		return protocol.Errorf(protocol.RespControllerAlterSyncStateSetFailed, "Broker metadata is not existed")
	case slices.Equal(ids, set.InSync):
		return protocol.Errorf(protocol.RespControllerAlterSyncStateSetFailed, "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet")
	case h.MasterBrokerID.V != set.Master:
		return protocol.Errorf(protocol.RespControllerInvalidMaster, "Rejecting alter syncStateSet request because the current leader is:{%d}, not {%d}", set.Master, h.MasterBrokerID.V)
	case h.MasterEpoch.V != set.Epoch:
		return protocol.Errorf(protocol.RespControllerFencedMasterEpoch, "Rejecting alter syncStateSet request because the current master epoch is:{%d}, not {%d}", set.Epoch, h.MasterEpoch.V)
	case body.SyncStateSetEpoch != set.SyncEpoch:
		return protocol.Errorf(protocol.RespControllerFencedSyncStateSetEpoch, "Rejecting alter syncStateSet request because the current syncStateSet epoch is:{%d}, not {%d}", set.SyncEpoch, body.SyncStateSetEpoch)
	}
	for _, id := range ids {
		if _, known := set.Brokers[id]; !known {
			return protocol.Errorf(protocol.RespControllerInvalidReplicas, "Rejecting alter syncStateSet request because the replicas {%d} don't exist", id)
		}
		if !c.live.alive(set.Cluster, name, id) {
			return protocol.Errorf(protocol.RespControllerBrokerNotAlive, "Rejecting alter syncStateSet request because the replicas {%d} don't alive", id)
		}
	}
	if !slices.Contains(ids, set.Master) {
		return protocol.Errorf(protocol.RespControllerAlterSyncStateSetFailed, "Rejecting alter syncStateSet request because the newSyncStateSet don't contains origin leader {%d}", set.Master)
	}
	if err := c.propose(&event{Kind: inSyncChanged, Name: name, IDs: ids}); err != nil {
		return err
	}
	set, _ = c.state.get(name)
	c.log.Info("in-sync brokers changed", "broker", name, "ids", set.InSync, "epoch", set.SyncEpoch)
	header.NewSyncStateSetEpoch = set.SyncEpoch
	resp.Body = c.json(set.syncStateSet())
	return nil
}

// replicaInfo is 1004: who the master is.
func (c *Controller) replicaInfo(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetReplicaInfoRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	header := &protocol.GetReplicaInfoResponseHeader{}
	resp.Header = header
	set, ok := c.state.get(h.BrokerName.V)
	if !ok {
		return protocol.Errorf(protocol.RespControllerBrokerMetadataNotExist, "Broker metadata is not existed")
	}
	if set.Master != 0 {
		header.MasterBrokerID, header.MasterAddress = protocol.Some(set.Master), protocol.Some(set.Brokers[set.Master].Address)
	}
	header.MasterEpoch = protocol.Some(set.Epoch)
	resp.Body = c.json(set.syncStateSet())
	return nil
}

// metadata is 1005: who leads the controllers.
func (c *Controller) metadata(_ *remoting.Request, resp *protocol.Response) error {
	id, addr := c.leader()
	resp.Header = &protocol.GetMetaDataResponseHeader{
		Group: protocol.Some(c.cfg.Load().ControllerDLegerGroup), ControllerLeaderID: protocol.Some(id),
		ControllerLeaderAddress: protocol.Some(addr), IsLeader: c.Leading(), Peers: protocol.Some(c.peerList()),
	}
	return nil
}

// syncStateData is 1006: all brokers of some names.
func (c *Controller) syncStateData(r *remoting.Request, resp *protocol.Response) error {
	var names []string
	if err := fastjson.Unmarshal(r.Body, &names); err != nil {
		return protocol.Errorf(protocol.RespSystemError, "broker names: %v", err)
	}
	var info protocol.BrokerReplicasInfo
	info.ReplicasInfoTable.Clear()
	for _, name := range names {
		set, ok := c.state.get(name)
		if !ok {
			continue
		}
		list := &protocol.ReplicasInfo{
			MasterBrokerID: protocol.Opt[int64]{V: set.Master, Set: set.Master != 0}, MasterAddress: set.Brokers[set.Master].Address,
			MasterEpoch: protocol.Some(set.Epoch), SyncStateSetEpoch: protocol.Some(set.SyncEpoch),
			InSyncReplicas: []protocol.ReplicaIdentity{}, NotInSyncReplicas: []protocol.ReplicaIdentity{},
		}
		for _, id := range slices.Sorted(maps.Keys(set.Brokers)) {
			replica := protocol.ReplicaIdentity{
				BrokerName: name, BrokerID: protocol.Some(id), BrokerAddress: set.Brokers[id].Address,
				Alive: protocol.Some(c.live.alive(set.Cluster, name, id)),
			}
			if slices.Contains(set.InSync, id) {
				list.InSyncReplicas = append(list.InSyncReplicas, replica)
			} else {
				list.NotInSyncReplicas = append(list.NotInSyncReplicas, replica)
			}
		}
		info.ReplicasInfoTable.Set(name, list)
	}
	resp.Body = c.json(&info)
	return nil
}

// heartbeat is 904.
func (c *Controller) heartbeat(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.BrokerHeartbeatRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if !h.BrokerID.Set {
		return protocol.Errorf(protocol.RespControllerInvalidRequest, "Heart beat with empty brokerId")
	}
	h = *h.Clone()
	if c.live.beat(&h, r.Channel) {
		c.log.Info("broker is alive", "cluster", h.ClusterName.V, "broker", h.BrokerName.V, "id", h.BrokerID.V, "addr", h.BrokerAddr.V)
	}
	resp.Remark = protocol.Some("Heart beat success")
	return nil
}

// clean is 1011: brokers that will not come back are forgotten.
func (c *Controller) clean(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.CleanControllerBrokerDataRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return protocol.Errorf(protocol.RespControllerInvalidCleanBrokerMetadata, format, args...)
	}
	name := strings.Clone(h.BrokerName.V)
	c.writing.Lock()
	defer c.writing.Unlock()
	set, ok := c.state.get(name)
	if !ok {
		return refuse("Broker %s is not existed,clean broker data failure.", name)
	}
	var ids []int64
	for part := range strings.SplitSeq(h.BrokerControllerIdsToClean.V, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return refuse("Invalid brokerControllerIdsToClean: %s", part)
		}
		ids = append(ids, id)
	}
	all := ids
	if len(ids) == 0 {
		all = slices.Sorted(maps.Keys(set.Brokers))
	}
	for _, id := range all {
		if !h.IsCleanLivingBroker && c.live.alive(set.Cluster, name, id) {
			return refuse("Broker [%s,  %s] is still alive, clean up failure", name, set.Brokers[id].Address)
		}
	}
	if err := c.propose(&event{Kind: brokersGone, Name: name, IDs: ids}); err != nil {
		return err
	}
	c.log.Info("brokers forgotten", "broker", name, "ids", all)
	return nil
}

var errNotLeader = protocol.Errorf(protocol.RespControllerNotLeader, "The controller is not in leader state")

func missing(field string) error {
	return protocol.Errorf(protocol.RespSystemError, "the custom field <%s> is null", field)
}

// refuse makes a refusal of a response. An error that is none of the protocol's is the controller's own fault.
func (c *Controller) refuse(resp *protocol.Response, err error) {
	var e *protocol.Error
	if !errors.As(err, &e) {
		c.log.Error("request failed", "err", err)
		e = protocol.Errorf(protocol.RespSystemError, "%v", err)
	}
	resp.Code, resp.Remark = e.Code, protocol.Some(e.Remark)
}
