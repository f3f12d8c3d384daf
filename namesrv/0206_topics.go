// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 206 GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 216 DELETE_TOPIC_IN_NAMESRV, 217 REGISTER_TOPIC_IN_NAMESRV,
// 224 GET_TOPICS_BY_CLUSTER, 304 GET_SYSTEM_TOPIC_LIST_FROM_NS, 311 GET_UNIT_TOPIC_LIST,
// 312 GET_HAS_UNIT_SUB_TOPIC_LIST, 313 GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST.
//
// The lists can be switched off with enableAllTopicList (206) and enableTopicList (the others but 304). Lists are in
// alphabetical order, Java's in that of a hash table.

var errDisabled = protocol.Errorf(protocol.RespSystemError, "disable")

func (s *Server) allTopics(_ *remoting.Request, resp *protocol.Response) error {
	if !s.cfg.Load().EnableAllTopicList {
		return errDisabled
	}
	resp.Body = s.json(&protocol.TopicList{TopicList: s.table.Topics()})
	return nil
}

func (s *Server) topicsOfCluster(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetTopicsByClusterRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if !s.cfg.Load().EnableTopicList {
		return errDisabled
	}
	resp.Body = s.json(&protocol.TopicList{TopicList: s.table.TopicsOfCluster(h.Cluster.V)})
	return nil
}

func (s *Server) systemTopics(r *remoting.Request, resp *protocol.Response) error {
	names, addr := s.table.SystemTopics()
	resp.Body = reachable(r.Channel, s.json(&protocol.TopicList{TopicList: names, BrokerAddr: addr}))
	return nil
}

func (s *Server) unitTopics(_ *remoting.Request, resp *protocol.Response) error {
	return s.topicsWithFlag(resp, func(f int32) bool { return f&route.FlagUnit != 0 })
}

func (s *Server) unitSubTopics(_ *remoting.Request, resp *protocol.Response) error {
	return s.topicsWithFlag(resp, func(f int32) bool { return f&route.FlagUnitSub != 0 })
}

func (s *Server) unitSubOnlyTopics(_ *remoting.Request, resp *protocol.Response) error {
	return s.topicsWithFlag(resp, func(f int32) bool { return f&(route.FlagUnit|route.FlagUnitSub) == route.FlagUnitSub })
}

func (s *Server) topicsWithFlag(resp *protocol.Response, match func(sysFlag int32) bool) error {
	if !s.cfg.Load().EnableTopicList {
		return errDisabled
	}
	resp.Body = s.json(&protocol.TopicList{TopicList: s.table.TopicsWithFlag(match)})
	return nil
}

// deleteTopic without a cluster forgets the topic; with one, only its brokers' part. Brokers that still have the topic
// bring it back with their next registration.
func (s *Server) deleteTopic(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.DeleteTopicFromNamesrvRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if h.ClusterName.V == "" {
		s.table.DeleteTopic(h.Topic.V)
	} else {
		s.table.DeleteTopicInCluster(h.Topic.V, h.ClusterName.V)
	}
	s.log.Info("topic deleted", "topic", h.Topic.V, "cluster", h.ClusterName.V)
	return nil
}

// registerTopic adds one topic at once, before its broker's next registration. It says nothing about broker names that
// are not registered.
func (s *Server) registerTopic(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.RegisterTopicRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	if h.Topic.V == "" {
		return missing("topic")
	}
	var d protocol.TopicRouteData
	if len(r.Body) == 0 {
		return nil
	}
	if err := fastjson.Unmarshal(r.Body, &d); err != nil {
		return protocol.Errorf(protocol.RespSystemError, "route is malformed: %v", err)
	}
	s.table.AddTopic(h.Topic.V, d.QueueDatas)
	return nil
}
