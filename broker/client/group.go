// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/broker/filter"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
	"rocketmq-go/store"
)

// Client is one member of a group: a connection and what its newest heartbeat says of it.
type Client struct {
	Channel  remoting.Channel
	ClientID string
	Language protocol.Language
	Version  int32

	seen atomic.Int64 // unix ns of the newest heartbeat
}

func (c *Client) touch(now time.Time) { c.seen.Store(now.UnixNano()) }
func (c *Client) silent(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() - c.seen.Load())
}

// LastUpdate is the time of the newest heartbeat.
func (c *Client) LastUpdate() time.Time { return time.Unix(0, c.seen.Load()) }

// connection is the member as codes 203 and 204 show it.
func (c *Client) connection() protocol.Connection {
	return protocol.Connection{
		ClientID: c.ClientID, ClientAddr: c.Channel.RemoteAddr().String(), Language: c.Language, Version: c.Version,
	}
}

// Subscription is what a group wants of a topic. It is immutable.
type Subscription struct {
	protocol.SubscriptionData
	// Matcher chooses the messages; nil means all.
	Matcher store.Matcher
	// Popped tells that a pop brought it, and no heartbeat or pull.
	Popped bool
}

// ConsumerGroup is an online group. Reading the kind and the subscriptions takes no lock.
type ConsumerGroup struct {
	Name string
	view atomic.Pointer[view]

	mu       sync.RWMutex
	members  []*Client // in the order of joining
	channels map[remoting.Channel]*Client

	// Guarded by the table's lock.
	fingerprint   int32
	fingerprinted bool
}

// view is an immutable snapshot of what the newest heartbeat says of the group.
type view struct {
	consumeType   protocol.ConsumeType
	model         protocol.MessageModel
	fromWhere     protocol.ConsumeFromWhere
	subscriptions map[string]*Subscription
}

func newConsumerGroup(name string) *ConsumerGroup {
	g := &ConsumerGroup{Name: name, channels: map[remoting.Channel]*Client{}}
	g.view.Store(&view{})
	return g
}

// Type is how the group consumes; it is overwritten by each heartbeat.
func (g *ConsumerGroup) Type() protocol.ConsumeType { return g.view.Load().consumeType }

// Model is clustering or broadcasting; it is overwritten by each heartbeat.
func (g *ConsumerGroup) Model() protocol.MessageModel { return g.view.Load().model }

// FromWhere is where new members start; it is overwritten by each heartbeat.
func (g *ConsumerGroup) FromWhere() protocol.ConsumeFromWhere { return g.view.Load().fromWhere }

// Subscription is what the group wants of a topic, nil if it does not subscribe to it. The name may be a view.
func (g *ConsumerGroup) Subscription(topic string) *Subscription {
	return g.view.Load().subscriptions[topic]
}

// AllSubscriptions are sorted by topic.
func (g *ConsumerGroup) AllSubscriptions() []*Subscription {
	subs := g.view.Load().subscriptions
	all := make([]*Subscription, 0, len(subs))
	for _, topic := range slices.Sorted(maps.Keys(subs)) {
		all = append(all, subs[topic])
	}
	return all
}

// Clients are the members in the order in which they joined.
func (g *ConsumerGroup) Clients() []*Client {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Clone(g.members)
}

// ClientIDs are those of the members, one for each connection.
func (g *ConsumerGroup) ClientIDs() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	ids := make([]string, len(g.members))
	for i, m := range g.members {
		ids[i] = m.ClientID
	}
	return ids
}

// Client finds a member by its client id, nil if it is not connected.
func (g *ConsumerGroup) Client(clientID string) *Client {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, m := range g.members {
		if m.ClientID == clientID {
			return m
		}
	}
	return nil
}

// ClientOf finds the member that uses a connection, nil if it is none.
func (g *ConsumerGroup) ClientOf(ch remoting.Channel) *Client {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.channels[ch]
}

// Connection is the body of code 203.
func (g *ConsumerGroup) Connection() *protocol.ConsumerConnection {
	v := g.view.Load()
	body := &protocol.ConsumerConnection{ConsumeType: v.consumeType, MessageModel: v.model, ConsumeFromWhere: v.fromWhere}
	for _, m := range g.Clients() {
		body.ConnectionSet = append(body.ConnectionSet, m.connection())
	}
	for _, s := range g.AllSubscriptions() {
		body.SubscriptionTable.Set(s.Topic, &s.SubscriptionData)
	}
	return body
}

// join enters or refreshes a member. joined: the connection is new to the group, which is a change of the group;
// a connection that comes with another client id is replaced without one.
func (g *ConsumerGroup) join(c *Client) (joined, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.channels[c.Channel]
	if old == nil {
		c.ClientID = strings.Clone(c.ClientID)
		g.members = append(g.members, c)
		g.channels[c.Channel] = c
		return true, false
	}
	if old.ClientID == c.ClientID && old.Version == c.Version && old.Language == c.Language {
		old.seen.Store(c.seen.Load())
		return false, true
	}
	c.ClientID = strings.Clone(c.ClientID)
	g.members[slices.Index(g.members, old)] = c
	g.channels[c.Channel] = c
	return false, true
}

func (g *ConsumerGroup) leave(ch remoting.Channel) *Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.channels[ch]
	if old == nil {
		return nil
	}
	delete(g.channels, ch)
	i := slices.Index(g.members, old)
	g.members = slices.Delete(g.members, i, i+1)
	return old
}

func (g *ConsumerGroup) empty() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.members) == 0
}

func (g *ConsumerGroup) channelsLocked() []remoting.Channel {
	if g == nil {
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	channels := make([]remoting.Channel, len(g.members))
	for i, m := range g.members {
		channels[i] = m.Channel
	}
	return channels
}

// setKind overwrites type, model and start of the group. The table's lock is held.
func (g *ConsumerGroup) setKind(d *protocol.ConsumerData) *view {
	old := g.view.Load()
	if old.consumeType == d.ConsumeType && old.model == d.MessageModel && old.fromWhere == d.ConsumeFromWhere {
		return old
	}
	v := &view{d.ConsumeType, d.MessageModel, d.ConsumeFromWhere, old.subscriptions}
	g.view.Store(v)
	return v
}

// subscriptionChange is one difference that a heartbeat made: added, replaced, or (sub nil) gone.
type subscriptionChange struct {
	topic string
	sub   *Subscription
	added bool
}

// subscribe makes the group's subscriptions those of the heartbeat. A known topic is replaced only by a larger
// subVersion. The table's lock is held.
func (g *ConsumerGroup) subscribe(d *protocol.ConsumerData, compile filter.Compiler) []subscriptionChange {
	old := g.setKind(d)
	var changes []subscriptionChange
	wanted := make(map[string]bool, len(d.SubscriptionDataSet))
	for i := range d.SubscriptionDataSet {
		s := &d.SubscriptionDataSet[i]
		wanted[s.Topic] = true
		have := old.subscriptions[s.Topic]
		if have != nil && have.SubVersion >= s.SubVersion {
			continue
		}
		n := &Subscription{SubscriptionData: *s, Matcher: filter.Of(s, compile)}
		changes = append(changes, subscriptionChange{topic: s.Topic, sub: n, added: have == nil})
	}
	for topic := range old.subscriptions {
		if !wanted[topic] {
			changes = append(changes, subscriptionChange{topic: topic})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	subs := maps.Clone(old.subscriptions)
	if subs == nil {
		subs = map[string]*Subscription{}
	}
	for _, c := range changes {
		if c.sub == nil {
			delete(subs, c.topic)
		} else {
			subs[c.topic] = c.sub
		}
	}
	g.view.Store(&view{old.consumeType, old.model, old.fromWhere, subs})
	return changes
}
