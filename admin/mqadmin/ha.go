// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package mqadmin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

func haStatus(c *Call) error {
	return c.every(func() error {
		return c.onEach(func(n node) error {
			info, err := fetch[protocol.HARuntimeInfo](c, n.addr, ask(protocol.ReqGetBrokerHaStatus, nil))
			if err != nil {
				return err
			}
			c.add("brokers", object{{"addr", n.addr}, {"ha", plain(info)}})
			if c.document() {
				return nil
			}
			if info.Master {
				c.haOfMaster(n.addr, info)
			} else {
				c.haOfSlave(&info.HaClientRuntimeInfo)
			}
			return nil
		})
	})
}

func (c *Call) haOfMaster(addr string, info *protocol.HARuntimeInfo) {
	c.printf("\n#MasterAddr\t%s\n#MasterCommitLogMaxOffset\t%d\n#SlaveNum\t%d\n#InSyncSlaveNum\t%d\n",
		addr, info.MasterCommitLogMaxOffset, len(info.HaConnectionInfo), info.InSyncSlaveNums)
	const format = "%-32v  %-16v %16v %16v %16v %16v\n"
	t := c.table("slaves", format, format, "#SlaveAddr", "#SlaveAckOffset", "#Diff", "#TransferSpeed(KB/s)", "#Status", "#TransferFromWhere")
	for _, s := range info.HaConnectionInfo {
		status := "Fall Behind"
		if s.InSync {
			status = "OK"
		}
		t.add(s.Addr, s.SlaveAckOffset, s.Diff, fmt.Sprintf("%.2f", float64(s.TransferredByteInSecond)/1024), status, s.TransferFromWhere)
	}
}

func (c *Call) haOfSlave(s *protocol.HAClientRuntimeInfo) {
	c.printf("\n#MasterAddr\t%s\n", s.MasterAddr)
	c.printf("#CommitLogMaxOffset\t%d\n", s.MaxOffset)
	c.printf("#TransferSpeed(KB/s)\t%.2f\n", float64(s.TransferredByteInSecond)/1024)
	c.printf("#LastReadTime\t%s\n", c.time(s.LastReadTimestamp, withMillis))
	c.printf("#LastWriteTime\t%s\n", c.time(s.LastWriteTimestamp, withMillis))
	c.printf("#MasterFlushOffset\t%d\n", s.MasterFlushOffset)
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
}

// controllerMeta asks the controllers of -a, one after the other, who leads.
func (c *Call) controllerMeta() (*protocol.GetMetaDataResponseHeader, error) {
	err := errors.New("option -a: no address of a controller")
	for _, addr := range split(c.text("a")) {
		var answer *protocol.Command
		if answer, err = c.exchange(addr, ask(protocol.ReqControllerGetMetadataInfo, nil)); err != nil {
			continue
		}
		h := &protocol.GetMetaDataResponseHeader{}
		return h, h.ParseFields(&answer.Fields)
	}
	return nil, err
}

// leader is the address of the controller that leads.
func (c *Call) leader() (string, error) {
	meta, err := c.controllerMeta()
	if err != nil {
		return "", err
	}
	if meta.ControllerLeaderAddress.V == "" {
		return "", errors.New("the controllers have no leader")
	}
	return meta.ControllerLeaderAddress.V, nil
}

func getControllerMetaData(c *Call) error {
	meta, err := c.controllerMeta()
	if err != nil {
		return err
	}
	c.field("controllerGroup", "\n#ControllerGroup\t%s", meta.Group.V)
	c.field("controllerLeaderId", "\n#ControllerLeaderId\t%s", meta.ControllerLeaderID.V)
	c.field("controllerLeaderAddress", "\n#ControllerLeaderAddress\t%s", meta.ControllerLeaderAddress.V)
	for _, peer := range split(meta.Peers.V) {
		c.printf("\n#Peer:\t%s", peer)
		c.add("peers", peer)
	}
	c.printf("\n")
	return nil
}

func getControllerConfig(c *Call) error {
	return each(c, split(c.text("a")), func(addr string) error { return c.showConfig(addr, protocol.ReqGetControllerConfig) })
}

func updateControllerConfig(c *Call) error {
	addrs := split(c.text("a"))
	if err := c.updateConfigs(addrs, protocol.ReqUpdateControllerConfig, protocol.ReqGetControllerConfig); err != nil {
		return err
	}
	c.done("update controller config success!%s\n%s : %s\n", listText(addrs), c.text("k"), c.text("v"))
	return nil
}

func getSyncStateSet(c *Call) error {
	if !c.Has("b") && !c.Has("c") {
		return errUsage
	}
	return c.every(func() error {
		names := []string{c.text("b")}
		if !c.Has("b") {
			list, err := c.nodes(c.text("c"))
			if err != nil {
				return err
			}
			names = nil
			for _, n := range onePerName(list) {
				names = append(names, n.name)
			}
		}
		addr, err := c.leader()
		if err != nil {
			return err
		}
		r := ask(protocol.ReqControllerGetSyncStateData, nil)
		r.body = fastjson.Marshal(names)
		answer, err := c.exchange(addr, r)
		if err != nil {
			return err
		}
		info, err := decode[protocol.BrokerReplicasInfo](answer)
		if err != nil {
			return err
		}
		for name, replicas := range info.ReplicasInfoTable.All() {
			c.printf("\n#brokerName\t%s\n#MasterBrokerId\t%d\n#MasterAddr\t%s\n#MasterEpoch\t%d\n#SyncStateSetEpoch\t%d\n#SyncStateSetNums\t%d\n",
				name, replicas.MasterBrokerID.V, replicas.MasterAddress, replicas.MasterEpoch.V, replicas.SyncStateSetEpoch.V, len(replicas.InSyncReplicas))
			for _, r := range replicas.InSyncReplicas {
				c.printf("\nInSyncReplica:\t%s\n", replicaText(&r))
			}
			for _, r := range replicas.NotInSyncReplicas {
				c.printf("\nNotInSyncReplica:\t%s\n", replicaText(&r))
			}
		}
		return c.whole(info)
	})
}

func replicaText(r *protocol.ReplicaIdentity) string {
	alive := "null"
	if r.Alive.Set {
		alive = strconv.FormatBool(r.Alive.V)
	}
	return fmt.Sprintf("ReplicaIdentity{brokerName='%s', brokerId=%d, brokerAddress='%s', alive=%s}", r.BrokerName, r.BrokerID.V, r.BrokerAddress, alive)
}

func getBrokerEpoch(c *Call) error {
	if !c.Has("b") && !c.Has("c") {
		return errUsage
	}
	return c.every(func() error {
		list, err := c.nodes(c.text("c"))
		if err != nil {
			return err
		}
		found := false
		for _, n := range list {
			if c.Has("b") && n.name != c.text("b") {
				continue
			}
			found = true
			cache, err := fetchPlain[protocol.EpochEntryCache](c, n.addr, ask(protocol.ReqGetBrokerEpochCache, nil))
			if err != nil {
				return err
			}
			c.epochs(n.addr, cache)
		}
		if !found {
			return fmt.Errorf("no broker is named %s", c.text("b"))
		}
		return nil
	})
}

func (c *Call) epochs(addr string, cache *protocol.EpochEntryCache) {
	c.printf("\n#clusterName\t%s\n#brokerName\t%s\n#brokerAddr\t%s\n#brokerId\t%d", cache.ClusterName, cache.BrokerName, addr, cache.BrokerID)
	for i, e := range cache.EpochList {
		if i == len(cache.EpochList)-1 {
			e.EndOffset = cache.MaxOffset
		}
		c.printf("\n#Epoch: EpochEntry{epoch=%d, startOffset=%d, endOffset=%d}", e.Epoch, e.StartOffset, e.EndOffset)
	}
	c.printf("\n")
	c.add("brokers", cache)
}

// fetchPlain is fetch, with refusals that do not name the broker.
func fetchPlain[T any](c *Call, addr string, r request) (*T, error) {
	answer, err := c.exchange(addr, r)
	if err != nil {
		return nil, err
	}
	return decode[T](answer)
}

func electMaster(c *Call) error {
	id, err := c.int64("b", -1)
	if err != nil {
		return err
	}
	addr, err := c.leader()
	if err != nil {
		return err
	}
	answer, err := c.exchange(addr, ask(protocol.ReqControllerElectMaster, &protocol.ElectMasterRequestHeader{
		ClusterName: protocol.Some(c.text("c")), BrokerName: protocol.Some(c.text("bn")), BrokerID: protocol.Some(id),
		DesignateElect: protocol.Some(true), InvokeTime: protocol.Some(c.env.Now().UnixMilli()),
	}))
	if err != nil {
		return err
	}
	var h protocol.ElectMasterResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		return err
	}
	body, err := decode[protocol.ElectMasterResponseBody](answer)
	if err != nil {
		return err
	}
	c.field("clusterName", "\n#ClusterName\t%s", c.text("c"))
	c.field("brokerName", "\n#BrokerName\t%s", c.text("bn"))
	c.field("brokerMasterAddr", "\n#BrokerMasterAddr\t%s", h.MasterAddress.V)
	c.field("masterEpoch", "\n#MasterEpoch\t%d", h.MasterEpoch.V)
	c.field("syncStateSetEpoch", "\n#SyncStateSetEpoch\t%d\n", h.SyncStateSetEpoch.V)
	if body.BrokerMemberGroup != nil {
		for id, addr := range body.BrokerMemberGroup.BrokerAddrs.All() {
			c.printf("\t#Broker\t%d\t%s\n", id, addr)
			c.add("brokers", object{{"brokerId", id}, {"addr", addr}})
		}
	}
	return nil
}

func cleanBrokerMetadata(c *Call) error {
	for _, id := range strings.FieldsFunc(c.text("b"), func(r rune) bool { return r == ';' }) {
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			return misused("please set the option <brokerControllerIdsToClean> according to the format: ids separated by semicolons")
		}
	}
	if !c.Has("l") && c.text("c") == "" {
		return inJava("cleanLivingBroker option is false, clusterName option can not be empty.")
	}
	addr, err := c.leader()
	if err != nil {
		return err
	}
	h := &protocol.CleanControllerBrokerDataRequestHeader{
		ClusterName: protocol.Some(c.text("c")), BrokerName: protocol.Some(c.text("bn")), IsCleanLivingBroker: c.Has("l"),
		InvokeTime: c.env.Now().UnixMilli(),
	}
	if c.Has("b") {
		h.BrokerControllerIdsToClean = protocol.Some(c.text("b"))
	}
	if _, err := c.exchange(addr, ask(protocol.ReqCleanBrokerData, h)); err != nil {
		return err
	}
	c.done("clear broker %s metadata from controller success! \n", c.text("bn"))
	return nil
}
