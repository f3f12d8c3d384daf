// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"

	"rocketmq-go/broker/assignment"
	"rocketmq-go/remoting/protocol"
)

// openAssignment makes the service that divides queues among clients, which 4.9 does not have.
func (b *Broker) openAssignment() (err error) {
	if b.compat49() {
		return nil
	}
	routes := &assignment.Routes{
		Servers: b.discovery.Servers,
		Call: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
			return b.client.Call(ctx, addr, c)
		},
		Now: b.o.Now,
	}
	b.assignment, err = assignment.New(assignment.Options{
		Dir: b.values().Store.StorePathRootDir, Rules: b.assignmentRules, Queues: routes.Queues, Log: b.log,
		Clients: b.clientsOf, Pop: b.pops != nil,
	})
	return err
}

func (b *Broker) assignmentRules() assignment.Rules {
	v := b.values()
	return assignment.Rules{
		BrokerName: v.BrokerName, Unbalanced: !v.ServerLoadBalancerEnable,
		DefaultMode: protocol.MessageRequestMode(v.DefaultMessageRequestMode), PopShare: int32(v.DefaultPopShareQueueNum),
	}
}
