// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"slices"
	"strings"
	"time"

	"rocketmq-go/config"
	"rocketmq-go/namesrv/kvconfig"
	"rocketmq-go/namesrv/route"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// 105 GET_ROUTEINFO_BY_TOPIC.
//
// Every client asks for each of its topics every 30 s. Clients from 4.9.4 on, and those that say so, get standard JSON;
// older ones take the text apart by hand and need the integer keys of brokerAddrs without quotes. The answer 17 sends
// a producer to the template topic; its code counts, not its remark.

// versionStandardJSON is V4_9_4, the first client that reads standard JSON.
const versionStandardJSON = 401

// fieldZoneMode is an extField beside the header: the client wants the brokers of its zone.
const fieldZoneMode = "__ZONE_MODE"

func (s *Server) routeOfTopic(r *remoting.Request, resp *protocol.Response) error {
	var h protocol.GetRouteInfoRequestHeader
	if err := h.ParseFields(&r.Fields); err != nil {
		return err
	}
	cfg := s.cfg.Load()
	if s.warmingUp(cfg) {
		return protocol.Errorf(protocol.RespSystemError, "name server not ready")
	}
	view := route.View{Acting: cfg.SupportActingMaster}
	if r.Version >= versionStandardJSON || h.AcceptStandardJsonOnly.V {
		view.Flavour = route.Standard
	}
	if cfg.OrderMessageEnable {
		view.Order, _ = s.kv.Get(kvconfig.OrderTopics, h.Topic.V)
	}
	var ok bool
	if zone := s.zoneOf(r); zone == "" {
		resp.Body, ok = s.table.Lookup(h.Topic.V, view)
	} else if data := s.table.Route(h.Topic.V, view); data != nil {
		onlyZone(data, zone)
		resp.Body, ok = s.json(data), true
	}
	if !ok {
		return protocol.Errorf(protocol.RespTopicNotExist, "No topic route info in name server for the topic: %s%s",
			orNull(h.Topic), s.profile.FAQ)
	}
	resp.Body = reachable(r.Channel, resp.Body)
	return nil
}

// warmingUp tells that routes are held back because brokers may not all have registered since the start.
func (s *Server) warmingUp(cfg *config.NamesrvValues) bool {
	return cfg.NeedWaitForService && s.now().Sub(s.started) < time.Duration(cfg.WaitSecondsForService)*time.Second
}

// zoneOf is the zone that a request asks for; empty if it does not.
func (s *Server) zoneOf(r *remoting.Request) string {
	if !s.profile.ActingMasters {
		return ""
	}
	if mode, _ := r.Fields.Get(fieldZoneMode); !strings.EqualFold(mode, "true") {
		return ""
	}
	zone, _ := r.Fields.Get(fieldZone)
	return strings.TrimSpace(zone)
}

// onlyZone takes out of a route the brokers of other zones, unless they have no master: then nearness counts less than
// being able to read what only they have.
func onlyZone(d *protocol.TopicRouteData, zone string) {
	far := func(b protocol.BrokerData) bool {
		_, hasMaster := b.BrokerAddrs.Get(route.MasterID)
		return hasMaster && !strings.EqualFold(b.ZoneName, zone)
	}
	for _, b := range d.BrokerDatas {
		if !far(b) {
			continue
		}
		d.QueueDatas = slices.DeleteFunc(d.QueueDatas, func(q protocol.QueueData) bool { return q.BrokerName == b.BrokerName })
		for _, addr := range b.BrokerAddrs.All() {
			d.FilterServerTable.Delete(addr)
		}
	}
	d.BrokerDatas = slices.DeleteFunc(d.BrokerDatas, far)
}
