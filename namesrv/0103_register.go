// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"math"
	"time"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/namesrv/kvconfig"
	"rocketmq-go/namesrv/registration"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 103 REGISTER_BROKER, 104 UNREGISTER_BROKER, 322 QUERY_DATA_VERSION, 904 BROKER_HEARTBEAT.
//
// Brokers register at start, every 30 s and whenever a topic changes. The usual case is the repetition: a body that
// equals the last one is neither decoded nor compared. The broker belongs to the connection of its latest 103, and
// leaves with it; 322 and 904 do not move it.

// fieldZone is an extField beside the header: the zone of the broker that registers, or of the client that asks.
const fieldZone = "__ZONE_NAME"

// maxTimeout bounds what a broker may ask for as its own timeout.
const maxTimeout = math.MaxInt64 / int64(time.Millisecond)

func (s *Server) registerBroker(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.RegisterBrokerRequestHeader
	var answer protocol.RegisterBrokerResponseHeader
	resp.Header = &answer
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	fields := brokerFields{h.BrokerName, h.BrokerAddr, h.ClusterName, h.BrokerID}
	if err := fields.check(); err != nil {
		return err
	}
	if err := registration.CheckCRC(r.Body, h.BodyCrc32.V); err != nil {
		return err
	}
	cfg := s.cfg.Load()
	reg := route.Registration{
		Cluster: h.ClusterName.V, Name: h.BrokerName.V, Addr: h.BrokerAddr.V, ID: h.BrokerID.V,
		HAAddr: h.HaServerAddr.V, Acting: h.EnableActingMaster, Conn: r.Channel,
	}
	reg.Zone, _ = r.Fields.Get(fieldZone)
	if ms := h.HeartbeatTimeoutMillis.V; ms > 0 && s.profile.ActingMasters {
		reg.Timeout = time.Duration(min(ms, maxTimeout)) * time.Millisecond
	}
	done, err := s.register(&reg, r, h.Compressed, cfg.DeleteTopicWithBrokerRegistration)
	if err != nil {
		return err
	}
	answer.MasterAddr, answer.HaServerAddr = reachableAddr(r.Channel, done.MasterAddr), reachableAddr(r.Channel, done.MasterHA)
	if cfg.ReturnOrderTopicConfigToBroker {
		resp.Body, _ = s.kv.Namespace(kvconfig.OrderTopics)
	}
	s.notify(done.Change)
	return nil
}

// register takes the short way if the body is the one applied last.
func (s *Server) register(reg *route.Registration, r *remoting.Request, compressed, deleteMissing bool) (route.Registered, error) {
	reg.Print = s.printer.Print(r.Body, r.Version, compressed, deleteMissing)
	if done, ok := s.table.Renew(reg); ok {
		return done, nil
	}
	body, err := registration.Decode(r.Body, r.Version, compressed)
	if err != nil {
		s.log.Warn("registration refused", "broker", reg.Name, "addr", reg.Addr, "err", err)
		return route.Registered{}, err
	}
	reg.Body = body
	done, err := s.table.Register(reg, deleteMissing)
	switch {
	case err != nil:
		s.log.Warn("registration refused", "broker", reg.Name, "addr", reg.Addr, "id", reg.ID, "err", err)
	case done.New:
		s.log.Info("broker registered", "broker", reg.Name, "addr", reg.Addr, "id", reg.ID, "cluster", reg.Cluster,
			"topics", len(body.Topics), "version", r.Version)
	}
	return done, err
}

func (s *Server) unregisterBroker(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.UnRegisterBrokerRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	fields := brokerFields{h.BrokerName, h.BrokerAddr, h.ClusterName, h.BrokerID}
	if err := fields.check(); err != nil {
		return err
	}
	if gone, ok := s.table.Unregister(h.ClusterName.V, h.BrokerName.V, h.BrokerAddr.V, h.BrokerID.V); ok {
		s.left(gone, unregistered)
	}
	return nil
}

func (s *Server) brokerHeartbeat(r *remoting.Request, _ *protocol.Response) error {
	var h protocol.BrokerHeartbeatRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	s.table.Heartbeat(h.ClusterName.V, h.BrokerAddr.V)
	return nil
}

func (s *Server) queryDataVersion(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.QueryDataVersionRequestHeader
	var answer protocol.QueryDataVersionResponseHeader
	resp.Header = &answer
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	var v protocol.DataVersion
	if err := fastjson.Unmarshal(r.Body, &v); err != nil {
		return protocol.Errorf(protocol.RespSystemError, "data version is malformed: %v", err)
	}
	stored, known, changed := s.table.QueryVersion(h.ClusterName.V, h.BrokerAddr.V, registration.DataVersion(v))
	answer.Changed = protocol.Some(changed)
	if known {
		resp.Body = s.json(&protocol.DataVersion{
			StateVersion: stored.StateVersion, Timestamp: stored.Timestamp, Counter: stored.Counter,
		})
	}
	return nil
}
