// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"context"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// handler answers one request: it fills resp, whose zero value is a success without content, or returns an error. The
// header it has put into resp travels with a refusal too.
type handler func(r *remoting.Request, resp *protocol.Response) error

// routeTable is the table of all requests that a name server answers. Those that write a file run in the pool, all
// others on the connection's own goroutine: they wait for nothing but a short lock.
func (s *Server) routeTable() []remoting.Route {
	const inline, pool = remoting.Inline, remoting.Pool
	table := []struct {
		code   int32
		mode   remoting.Mode
		handle handler
	}{
		{protocol.ReqPutKvConfig, pool, s.putKV},
		{protocol.ReqGetKvConfig, inline, s.getKV},
		{protocol.ReqDeleteKvConfig, pool, s.deleteKV},
		{protocol.ReqRegisterBroker, inline, s.registerBroker},
		{protocol.ReqUnregisterBroker, inline, s.unregisterBroker},
		{protocol.ReqGetRouteinfoByTopic, inline, s.routeOfTopic},
		{protocol.ReqGetBrokerClusterInfo, inline, s.clusterInfo},
		{protocol.ReqWipeWritePermOfBroker, inline, s.wipeWritePerm},
		{protocol.ReqGetAllTopicListFromNameserver, inline, s.allTopics},
		{protocol.ReqDeleteTopicInNamesrv, inline, s.deleteTopic},
		{protocol.ReqRegisterTopicInNamesrv, inline, s.registerTopic},
		{protocol.ReqGetKvlistByNamespace, inline, s.listKV},
		{protocol.ReqGetTopicsByCluster, inline, s.topicsOfCluster},
		{protocol.ReqGetSystemTopicListFromNs, inline, s.systemTopics},
		{protocol.ReqGetUnitTopicList, inline, s.unitTopics},
		{protocol.ReqGetHasUnitSubTopicList, inline, s.unitSubTopics},
		{protocol.ReqGetHasUnitSubUnunitTopicList, inline, s.unitSubOnlyTopics},
		{protocol.ReqUpdateNamesrvConfig, pool, s.updateConfig},
		{protocol.ReqGetNamesrvConfig, inline, s.getConfig},
		{protocol.ReqQueryDataVersion, inline, s.queryDataVersion},
		{protocol.ReqAddWritePermOfBroker, inline, s.addWritePerm},
		{protocol.ReqGetBrokerMemberGroup, inline, s.memberGroup},
		{protocol.ReqBrokerHeartbeat, inline, s.brokerHeartbeat},
	}
	routes := make([]remoting.Route, len(table))
	for i, e := range table {
		routes[i] = remoting.Route{Code: e.code, Mode: e.mode, Handle: s.answering(e.handle)}
	}
	return routes
}

func (s *Server) answering(h handler) remoting.HandlerFunc {
	return func(_ context.Context, r *remoting.Request) (*protocol.Response, error) {
		resp := new(protocol.Response)
		if err := h(r, resp); err != nil {
			s.refuse(resp, err)
		}
		return resp, nil
	}
}
