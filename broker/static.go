// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"rocketmq-go/auth"
	"rocketmq-go/broker/mapping"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

// openMappings loads the mappings of static topics, which 4.9 does not have.
func (b *Broker) openMappings() (err error) {
	if b.compat49() {
		return nil
	}
	v := b.values()
	b.mappings, err = mapping.New(mapping.Options{
		Dir: v.Store.StorePathRootDir, Broker: v.BrokerName, Now: b.o.Now, Log: b.log, Changed: b.topics.Touch,
	})
	return err
}

// mappingInfo is what the registration asks; nil in 4.9.
func (b *Broker) mappingInfo() func(topic string) *protocol.TopicQueueMappingInfo {
	if b.mappings == nil {
		return nil
	}
	return b.mappings.Info
}

// peersFresh is how long the addresses of other brokers are taken for true, as in Java.
const peersFresh = 30 * time.Second

// peers knows the addresses of other brokers, from the name servers.
type peers struct {
	servers func() []string
	send    func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error)
	now     func() time.Time

	asking  singleflight.Group
	mu      sync.Mutex
	masters map[string]string
	at      time.Time
}

func (b *Broker) peers() *peers {
	return &peers{
		servers: func() []string { return b.discovery.Servers() },
		send: func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error) {
			return b.client.Call(ctx, addr, c)
		},
		now: b.o.Now,
	}
}

// call sends a client's request, which the broker has changed, to the master of another one. What the client signed no
// longer fits: the broker itself signs it, if it has credentials.
func (p *peers) call(ctx context.Context, broker string, cmd *protocol.Command) (*protocol.Command, error) {
	addr, err := p.master(ctx, broker)
	if err != nil {
		return nil, err
	}
	unsigned := *cmd
	unsigned.Fields.List = slices.DeleteFunc(slices.Clone(cmd.Fields.List), func(f protocol.Field) bool {
		return f.Key == auth.AccessKeyField || f.Key == auth.SignatureField || f.Key == auth.SecurityTokenField
	})
	return p.send(ctx, addr, &unsigned)
}

// master is the address of a broker's master. While no name server answers, what was known last goes on to hold.
func (p *peers) master(ctx context.Context, broker string) (string, error) {
	addr, fresh := p.known(broker)
	if addr != "" && fresh {
		return addr, nil
	}
	select {
	case a := <-p.asking.DoChan("", func() (any, error) { return nil, p.ask(context.WithoutCancel(ctx)) }):
		if known, _ := p.known(broker); known != "" {
			return known, nil
		}
		return "", errors.Join(errors.New("no name server knows it"), a.Err)
	case <-ctx.Done():
		return addr, ctx.Err()
	}
}

func (p *peers) known(broker string) (addr string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.masters[broker], p.now().Sub(p.at) < peersFresh
}

// ask asks one name server after the other for all brokers.
func (p *peers) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, peersTimeout)
	defer cancel()
	err := errors.New("there is no name server")
	for _, addr := range p.servers() {
		var answer *protocol.Command
		if answer, err = p.send(ctx, addr, &protocol.Command{Code: protocol.ReqGetBrokerClusterInfo}); err != nil {
			continue
		}
		var info protocol.ClusterInfo
		if err = fastjson.Unmarshal(answer.Body, &info); err != nil {
			err = fmt.Errorf("name server %s: %w", addr, err)
			continue
		}
		masters := map[string]string{}
		for name, data := range info.BrokerAddrTable.All() {
			if master := masterOf(data); master != "" {
				masters[name] = master
			}
		}
		p.mu.Lock()
		p.masters, p.at = masters, p.now()
		p.mu.Unlock()
		return nil
	}
	return err
}

// masterOf is the address of a broker's master, or of the slave that acts as such.
func masterOf(data *protocol.BrokerData) string {
	if addr, ok := data.BrokerAddrs.Get(0); ok || !data.EnableActingMaster {
		return addr
	}
	least, at := int64(0), ""
	for id, addr := range data.BrokerAddrs.All() {
		if at == "" || id < least {
			least, at = id, addr
		}
	}
	return at
}

// peersTimeout bounds the question for the addresses of other brokers.
const peersTimeout = 3 * time.Second
