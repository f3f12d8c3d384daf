// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rocketmq-go/broker/topic"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// Brokers of which a slave may act as master (5.x) tell the name servers every second that they live, and ask them every second
// who else of their name does. Name servers before 5.x are told by the question for a version (322), and asked for the route of
// a topic that each such broker registers for this.

// Acting is what brokers of which a slave may act as master add to a registration.
type Acting struct {
	Timeout      int64 // brokerNotActiveTimeoutMillis, ms: a name server takes a broker for gone that is silent for longer
	OldNamesrv   bool  // compatibleWithOldNameSrv
	TopicVersion func() protocol.DataVersion
}

// Heartbeat tells the name servers that know the broker that it lives. Nothing is answered.
func (r *Registrar) Heartbeat(ctx context.Context) {
	b := r.o.Broker()
	if b.Acting == nil {
		return
	}
	var told sync.WaitGroup
	for _, s := range r.all() {
		if s.registered.Load() {
			told.Go(func() {
				if err := s.heartbeat(ctx, &b); err != nil && ctx.Err() == nil {
					r.o.Log.Debug("heartbeat not sent", "namesrv", s.addr, "error", err)
				}
			})
		}
	}
	told.Wait()
}

func (s *server) heartbeat(ctx context.Context, b *Broker) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	host := s.host
	s.unlock()
	cmd := &protocol.Command{Code: protocol.ReqBrokerHeartbeat}
	if b.Acting.OldNamesrv {
		version := b.Acting.TopicVersion()
		cmd = s.versionQuery(b, host, &version)
	} else {
		header := protocol.BrokerHeartbeatRequestHeader{
			ClusterName: protocol.Some(b.Cluster), BrokerAddr: protocol.Some(b.Address(host)), BrokerName: protocol.Some(b.Name),
		}
		header.AppendFields(&cmd.Fields)
	}
	return s.r.o.Client.Oneway(ctx, s.addr, cmd)
}

// Members asks all name servers which brokers of this broker's name live: their addresses by id. Who one of them knows lives. The
// error is not nil if none has answered.
func (r *Registrar) Members(ctx context.Context) (map[int64]string, error) {
	b := r.o.Broker()
	var mu sync.Mutex
	members, answered := map[int64]string{}, false
	err := errors.New("there is no name server")
	var asked sync.WaitGroup
	for _, addr := range r.o.Servers() {
		asked.Go(func() {
			found, failed := r.members(ctx, addr, &b)
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			answered = true
			for id, at := range found {
				members[id] = at
			}
		})
	}
	asked.Wait()
	if !answered {
		return nil, err
	}
	return members, nil
}

func (r *Registrar) members(ctx context.Context, namesrv string, b *Broker) (map[int64]string, error) {
	cmd := &protocol.Command{Code: protocol.ReqGetBrokerMemberGroup}
	old := b.Acting == nil || b.Acting.OldNamesrv
	if old {
		cmd.Code = protocol.ReqGetRouteinfoByTopic
		header := protocol.GetRouteInfoRequestHeader{Topic: protocol.Some(topic.MemberTopic(b.Name))}
		header.AppendFields(&cmd.Fields)
	} else {
		header := protocol.GetBrokerMemberGroupRequestHeader{ClusterName: protocol.Some(b.Cluster), BrokerName: protocol.Some(b.Name)}
		header.AppendFields(&cmd.Fields)
	}
	answer, err := r.o.Client.Call(ctx, namesrv, cmd)
	switch {
	case err != nil:
		return nil, err
	case old && answer.Code == protocol.RespTopicNotExist:
		return nil, nil
	case answer.Code != protocol.RespSuccess:
		return nil, fmt.Errorf("%s: code %d %s", protocol.RequestName(cmd.Code), answer.Code, answer.Remark.V)
	}
	addrs := map[int64]string{}
	if old {
		var route protocol.TopicRouteData
		if err := fastjson.Unmarshal(answer.Body, &route); err != nil {
			return nil, err
		}
		for i := range route.BrokerDatas {
			if d := &route.BrokerDatas[i]; d.BrokerName == b.Name {
				for id, addr := range d.BrokerAddrs.All() {
					addrs[id] = addr
				}
			}
		}
		return addrs, nil
	}
	var body protocol.GetBrokerMemberGroupResponseBody
	if err := fastjson.Unmarshal(answer.Body, &body); err != nil {
		return nil, err
	}
	if body.BrokerMemberGroup != nil {
		for id, addr := range body.BrokerMemberGroup.BrokerAddrs.All() {
			addrs[id] = addr
		}
	}
	return addrs, nil
}
