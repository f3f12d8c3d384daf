// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// producerExpiry is fixed in Java.
const producerExpiry = 120 * time.Second

// Producers is the table of producer groups. It is safe for concurrent use.
type Producers struct {
	o Options

	mu      sync.RWMutex
	groups  map[string]*producerGroup
	of      map[remoting.Channel][]*producerGroup
	clients map[string]*Client // by client id, the newest connection
}

type producerGroup struct {
	name    string
	members []*Client
	next    int // round robin of ChannelOf
}

// NewProducers makes an empty table. Of the options only Rules, Now and Log are used.
func NewProducers(o Options) *Producers {
	o.complete()
	return &Producers{
		o: o, groups: map[string]*producerGroup{}, of: map[remoting.Channel][]*producerGroup{},
		clients: map[string]*Client{},
	}
}

func (g *producerGroup) index(ch remoting.Channel) int {
	return slices.IndexFunc(g.members, func(c *Client) bool { return c.Channel == ch })
}

// Heartbeat enters the producers of a heartbeat.
func (p *Producers) Heartbeat(ch remoting.Channel, hb *protocol.HeartbeatData, lang protocol.Language, version int32) {
	if len(hb.ProducerDataSet) == 0 {
		return
	}
	if news := p.enter(ch, hb, lang, version); len(news) > 0 {
		p.o.Log.Info("producer joined", "groups", few(news), "client", hb.ClientID, "addr", ch.RemoteAddr(), "language", lang)
	}
}

// enter returns the groups that the client was not in.
func (p *Producers) enter(ch remoting.Channel, hb *protocol.HeartbeatData, lang protocol.Language, version int32) (news []string) {
	refuseNew, now := p.o.Rules().RefuseNewProducers, p.o.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if gone(ch) {
		return nil
	}
	for i := range hb.ProducerDataSet {
		name := hb.ProducerDataSet[i].GroupName
		g := p.groups[name]
		at := -1
		if g != nil {
			at = g.index(ch)
		}
		if at >= 0 {
			me := g.members[at]
			me.touch(now)
			if p.clients[me.ClientID] == nil { // a newer connection of the client is gone
				p.clients[me.ClientID] = me
			}
			continue
		}
		if refuseNew {
			continue
		}
		if g == nil {
			g = &producerGroup{name: strings.Clone(name)}
			p.groups[g.name] = g
		}
		me := &Client{Channel: ch, ClientID: strings.Clone(hb.ClientID), Language: lang, Version: version}
		me.touch(now)
		g.members = append(g.members, me)
		p.of[ch] = append(p.of[ch], g)
		p.clients[me.ClientID] = me
		news = append(news, g.name)
	}
	return news
}

// Unregister takes the connection out of a group (code 35).
func (p *Producers) Unregister(ch remoting.Channel, group string) {
	p.mu.Lock()
	var left []string
	if g := p.groups[group]; g != nil {
		left = p.leaveLocked(ch, g)
	}
	p.mu.Unlock()
	p.report(ch, left, "it said so")
}

// Closed takes a connection that is gone out of all its groups.
func (p *Producers) Closed(ch remoting.Channel) {
	p.mu.Lock()
	left := p.leaveLocked(ch, slices.Clone(p.of[ch])...)
	p.mu.Unlock()
	p.report(ch, left, "its connection ended")
}

// report says that a client has left groups.
func (p *Producers) report(ch remoting.Channel, groups []string, why string) {
	if len(groups) > 0 {
		p.o.Log.Info("producer left: "+why, "groups", few(groups), "addr", ch.RemoteAddr())
	}
}

// leaveLocked takes a connection out of groups and names those that it was in. A client may have sent hundreds of
// thousands: each is looked at once.
func (p *Producers) leaveLocked(ch remoting.Channel, groups ...*producerGroup) (names []string) {
	left := make(map[*producerGroup]bool, len(groups))
	var ids []string
	for _, g := range groups {
		if at := g.index(ch); at >= 0 {
			ids = append(ids, g.members[at].ClientID)
			names = append(names, g.name)
			g.members = slices.Delete(g.members, at, at+1)
			left[g] = true
			if len(g.members) == 0 {
				delete(p.groups, g.name)
			}
		}
	}
	rest := slices.DeleteFunc(p.of[ch], func(x *producerGroup) bool { return left[x] })
	if len(rest) > 0 {
		p.of[ch] = rest
		return names
	}
	delete(p.of, ch)
	for _, id := range ids {
		if c := p.clients[id]; c != nil && c.Channel == ch {
			delete(p.clients, id)
		}
	}
	return names
}

// ChannelOf picks an open connection of a group, each time another one; nil if there is none. Transaction check-backs
// go there.
func (p *Producers) ChannelOf(group string) remoting.Channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[group]
	if g == nil {
		return nil
	}
	for range g.members {
		g.next = (g.next + 1) % len(g.members)
		if ch := g.members[g.next].Channel; !gone(ch) {
			return ch
		}
	}
	return nil
}

// ChannelByClient finds the connection of a producer by its client id, nil if there is none: replies go there.
func (p *Producers) ChannelByClient(clientID string) remoting.Channel {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if c := p.clients[clientID]; c != nil {
		return c.Channel
	}
	return nil
}

// Clients are the members of a group, nil for an unknown one.
func (p *Producers) Clients(group string) []*Client {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if g := p.groups[group]; g != nil {
		return slices.Clone(g.members)
	}
	return nil
}

// Each visits all members of all groups.
func (p *Producers) Each(visit func(*Client)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, g := range p.groups {
		for _, m := range g.members {
			visit(m)
		}
	}
}

// Connection is the body of code 204, nil for an unknown group.
func (p *Producers) Connection(group string) *protocol.ProducerConnection {
	members := p.Clients(group)
	if members == nil {
		return nil
	}
	body := &protocol.ProducerConnection{}
	for _, m := range members {
		body.ConnectionSet = append(body.ConnectionSet, m.connection())
	}
	return body
}

// All is the body of code 328.
func (p *Producers) All() *protocol.ProducerTableInfo {
	p.mu.RLock()
	defer p.mu.RUnlock()
	body := &protocol.ProducerTableInfo{}
	body.Data.Clear()
	for _, name := range slices.Sorted(maps.Keys(p.groups)) {
		var list []protocol.ProducerInfo
		for _, m := range p.groups[name].members {
			list = append(list, protocol.ProducerInfo{
				ClientID: m.ClientID, RemoteIP: "/" + m.Channel.RemoteAddr().String(), Language: m.Language, Version: m.Version,
				LastUpdateTimestamp: m.LastUpdate().UnixMilli(),
			})
		}
		body.Data.Set(name, list)
	}
	return body
}

// Run looks for silent channels every 10 s, until ctx ends.
func (p *Producers) Run(ctx context.Context) error {
	scan := time.NewTicker(scanInterval)
	defer scan.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-scan.C:
			p.Scan()
		}
	}
}

// Scan drops members that have been silent for too long and closes their connections.
func (p *Producers) Scan() {
	now := p.o.Now()
	silent := map[remoting.Channel][]*producerGroup{}
	p.mu.Lock()
	for _, g := range p.groups {
		for _, m := range g.members {
			if m.silent(now) > producerExpiry {
				silent[m.Channel] = append(silent[m.Channel], g)
			}
		}
	}
	for ch, groups := range silent {
		p.leaveLocked(ch, groups...)
	}
	p.mu.Unlock()
	for ch, groups := range silent {
		p.o.Log.Warn("producer silent for too long, connection closed", "group", groups[0].name, "groups", len(groups),
			"client", ch.RemoteAddr())
		ch.Close()
	}
}
