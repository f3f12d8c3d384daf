// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 106 GET_BROKER_CLUSTER_INFO, 205 WIPE_WRITE_PERM_OF_BROKER, 327 ADD_WRITE_PERM_OF_BROKER, 901 GET_BROKER_MEMBER_GROUP.
//
// 106 and 901 have unquoted integer keys whatever the version of the client. 901 leaves a remark beside its code 0.

func (s *Server) clusterInfo(r *remoting.Request, resp *protocol.Response) error {
	resp.Body = reachable(r.Channel, s.json(s.table.Clusters()))
	return nil
}

func (s *Server) memberGroup(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetBrokerMemberGroupRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	resp.Body = reachable(r.Channel, s.json(&protocol.GetBrokerMemberGroupResponseBody{
		BrokerMemberGroup: s.table.Members(h.ClusterName.V, h.BrokerName.V),
	}))
	resp.Remark = protocol.Some("not set any response code")
	return nil
}

func (s *Server) wipeWritePerm(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.WipeWritePermOfBrokerRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	n := s.table.WipeWrite(h.BrokerName.V)
	s.log.Info("write permission wiped", "broker", h.BrokerName.V, "topics", n)
	resp.Header = &protocol.WipeWritePermOfBrokerResponseHeader{WipeTopicCount: protocol.Some(int32(n))}
	return nil
}

func (s *Server) addWritePerm(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.AddWritePermOfBrokerRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	n := s.table.AddWrite(h.BrokerName.V)
	s.log.Info("write permission given", "broker", h.BrokerName.V, "topics", n)
	resp.Header = &protocol.AddWritePermOfBrokerResponseHeader{AddTopicCount: protocol.Some(int32(n))}
	return nil
}
