// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rocketmq-go/broker/filter"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

const (
	// scanInterval is the pause between two searches for silent channels.
	scanInterval = 10 * time.Second
	// collectNotices is the pause between notices that are not sent at once.
	collectNotices = 15 * time.Second
)

// Rules are the configuration keys that Consumers and Producers follow. They are asked for at each use.
type Rules struct {
	RejectPullConsumer   bool          // rejectPullConsumerEnable: entries with CONSUME_ACTIVELY are skipped
	DisableNotify        bool          // notifyConsumerIdsChangedEnable=false of the broker
	CollectNotices       bool          // realTimeNotifyConsumerChange=false: notices go out every 15 s
	RefuseNewProducers   bool          // enableRegisterProducer=false together with rejectTransactionMessage=true
	ChannelExpiry        time.Duration // channelExpiredTimeout, 0: 120 s. A longer silence ends the connection
	CompensationLifetime time.Duration // subscriptionExpiredTimeout, 0: 10 min
}

// Options are the neighbours of Consumers and Producers; each may be nil.
type Options struct {
	// Group finds or creates a group's configuration. When it gives nil the heartbeat's entry is skipped.
	Group func(name string) *protocol.SubscriptionGroupConfig
	// Joined runs for each consumer entry that is accepted, before it is entered: the retry topic is made there.
	Joined func(cfg *protocol.SubscriptionGroupConfig, data *protocol.ConsumerData)
	// Subscribed is told of each new or replaced subscription, and with a nil subscription of each one that is gone.
	Subscribed func(group, topic string, s *Subscription)
	Compile    filter.Compiler // for expressions that are not tags; without it they match everything
	Rules      func() Rules
	Now        func() time.Time
	Log        *slog.Logger
}

func (o *Options) complete() {
	if o.Group == nil {
		o.Group = func(name string) *protocol.SubscriptionGroupConfig {
			return &protocol.SubscriptionGroupConfig{GroupName: name, NotifyConsumerIdsChangedEnable: true}
		}
	}
	if o.Joined == nil {
		o.Joined = func(*protocol.SubscriptionGroupConfig, *protocol.ConsumerData) {}
	}
	if o.Subscribed == nil {
		o.Subscribed = func(string, string, *Subscription) {}
	}
	if o.Rules == nil {
		o.Rules = func() Rules { return Rules{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
}

func (r Rules) channelExpiry() time.Duration {
	if r.ChannelExpiry > 0 {
		return r.ChannelExpiry
	}
	return 120 * time.Second
}

// Consumers is the table of consumer groups. It is safe for concurrent use.
type Consumers struct {
	o Options

	mu      sync.RWMutex
	groups  map[string]*ConsumerGroup
	of      map[remoting.Channel][]*ConsumerGroup // the groups of a channel
	pending map[string]struct{}                   // groups whose members wait for a collected notice

	compensations compensations
}

// NewConsumers makes an empty table.
func NewConsumers(o Options) *Consumers {
	o.complete()
	return &Consumers{
		o:             o,
		groups:        map[string]*ConsumerGroup{},
		of:            map[remoting.Channel][]*ConsumerGroup{},
		pending:       map[string]struct{}{},
		compensations: compensations{groups: map[string]map[string]*compensation{}},
	}
}

// Group finds an online group, nil if no member is connected. The name may be a view.
func (c *Consumers) Group(name string) *ConsumerGroup {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.groups[name]
}

// Heartbeat enters the consumers of a heartbeat. subChanged is what the client must be told in IS_SUB_CHANGE: always
// true for a heartbeat without fingerprint; else whether another fingerprint was seen for one of the groups, or the
// broker lacks the subscriptions that this heartbeat leaves out (after a restart), so that the client sends them.
func (c *Consumers) Heartbeat(ch remoting.Channel, hb *protocol.HeartbeatData, lang protocol.Language, version int32) (subChanged bool) {
	rules := c.o.Rules()
	var news []string // groups that the client was not in
	for i := range hb.ConsumerDataSet {
		data := &hb.ConsumerDataSet[i]
		if rules.RejectPullConsumer && data.ConsumeType == protocol.ConsumeActively {
			continue
		}
		cfg := c.o.Group(data.GroupName)
		if cfg == nil {
			continue
		}
		c.o.Joined(cfg, data)
		me := &Client{Channel: ch, ClientID: hb.ClientID, Language: lang, Version: version}
		joined, changed := c.enter(me, hb, data, cfg.NotifyConsumerIdsChangedEnable, rules)
		subChanged = subChanged || changed
		if joined {
			news = append(news, cfg.GroupName)
		}
	}
	if len(news) > 0 {
		c.o.Log.Info("consumer joined", "groups", few(news), "client", hb.ClientID, "addr", ch.RemoteAddr(), "language", lang)
	}
	return subChanged || hb.HeartbeatFingerprint == 0
}

// enter puts one entry of a heartbeat into the table and sends the notice if the group changed.
func (c *Consumers) enter(me *Client, hb *protocol.HeartbeatData, data *protocol.ConsumerData, notify bool, rules Rules) (joined, subChanged bool) {
	c.mu.Lock()
	if gone(me.Channel) {
		c.mu.Unlock()
		return false, false
	}
	g := c.groups[data.GroupName]
	if g == nil {
		g = newConsumerGroup(strings.Clone(data.GroupName))
		c.groups[g.Name] = g
	}
	me.touch(c.o.Now())
	var known bool
	joined, known = g.join(me)
	if !known {
		c.of[me.Channel] = append(c.of[me.Channel], g)
	}
	if fp := hb.HeartbeatFingerprint; fp != 0 {
		subChanged = g.fingerprinted && g.fingerprint != fp
	}
	g.fingerprint, g.fingerprinted = hb.HeartbeatFingerprint, true
	var changes []subscriptionChange
	if v := g.view.Load(); hb.WithoutSub && hb.HeartbeatFingerprint != 0 {
		subChanged = subChanged || len(v.subscriptions) == 0
		g.setKind(data)
	} else {
		changes = g.subscribe(data, c.o.Compile)
	}
	changed := joined
	for _, s := range changes {
		changed = changed || s.added || s.sub == nil
	}
	var tell []remoting.Channel
	if changed && notify {
		tell = c.noticeLocked(g, rules)
	}
	c.mu.Unlock()

	for _, s := range changes {
		c.o.Subscribed(g.Name, s.topic, s.sub)
	}
	c.tell(g.Name, tell)
	return joined, subChanged
}

// gone tells whether a connection is closed. It is asked under the table's lock: a channel that is not gone then will
// be taken out by Closed, which follows.
func gone(ch remoting.Channel) bool {
	select {
	case <-ch.Done():
		return true
	default:
		return false
	}
}

// Unregister takes the connection out of a group (code 35) and tells the others. As in Java they are told also when the
// connection is not a member.
func (c *Consumers) Unregister(ch remoting.Channel, group string) {
	if c.Group(group) == nil {
		return // and the group is not created for this
	}
	cfg := c.o.Group(group)
	notify := cfg == nil || cfg.NotifyConsumerIdsChangedEnable
	c.mu.Lock()
	g := c.groups[group]
	if g == nil {
		c.mu.Unlock()
		return
	}
	rules := c.o.Rules()
	l := c.leaveLocked(g, ch, notify, rules)
	if notify && l.tell == nil {
		l.tell = c.noticeLocked(g, rules)
	}
	c.mu.Unlock()
	c.report("it said so", l)
	c.after(l)
}

// report says that a client has left groups.
func (c *Consumers) report(why string, leaves ...left) {
	var groups []string
	var client *Client
	for _, l := range leaves {
		if l.client != nil {
			groups, client = append(groups, l.group), l.client
		}
	}
	if client != nil {
		c.o.Log.Info("consumer left: "+why, "groups", few(groups), "client", client.ClientID, "addr", client.Channel.RemoteAddr())
	}
}

// few names the first of what may be a great many.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ","), len(names)-most)
}

// Closed takes a connection that is gone out of all its groups and tells their other members.
func (c *Consumers) Closed(ch remoting.Channel) {
	rules := c.o.Rules()
	var leaves []left
	c.mu.Lock()
	groups := c.of[ch]
	delete(c.of, ch) // at once: a client may have sent a great many
	for _, g := range groups {
		leaves = append(leaves, c.leaveLocked(g, ch, true, rules))
	}
	c.mu.Unlock()
	for _, l := range leaves {
		c.after(l)
	}
	c.report("its connection ended", leaves...)
}

// left is what has to be done, outside the lock, after a channel left a group.
type left struct {
	group  string
	client *Client // nil: it was no member
	tell   []remoting.Channel
	gone   []string // topics, when the group is gone
}

func (c *Consumers) leaveLocked(g *ConsumerGroup, ch remoting.Channel, notify bool, rules Rules) left {
	l := left{group: g.Name}
	if l.client = g.leave(ch); l.client == nil {
		return l
	}
	c.of[ch] = removeGroup(c.of[ch], g)
	if len(c.of[ch]) == 0 {
		delete(c.of, ch)
	}
	if g.empty() {
		delete(c.groups, g.Name)
		delete(c.pending, g.Name)
		for topic := range g.view.Load().subscriptions {
			l.gone = append(l.gone, topic)
		}
		return l
	}
	if notify {
		l.tell = c.noticeLocked(g, rules)
	}
	return l
}

func (c *Consumers) after(l left) {
	for _, topic := range l.gone {
		c.o.Subscribed(l.group, topic, nil)
	}
	c.tell(l.group, l.tell)
}

func removeGroup(list []*ConsumerGroup, g *ConsumerGroup) []*ConsumerGroup {
	for i := range list {
		if list[i] == g {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}

// noticeLocked gives the channels that must be told now of a change in g.
func (c *Consumers) noticeLocked(g *ConsumerGroup, rules Rules) []remoting.Channel {
	if rules.DisableNotify || g.empty() || g.Model() == protocol.Broadcasting {
		return nil
	}
	if rules.CollectNotices {
		c.pending[g.Name] = struct{}{}
		return nil
	}
	return g.channelsLocked()
}

// tell sends code 40. A connection whose write queue is full is dropped by Oneway, nothing else can fail usefully.
func (c *Consumers) tell(group string, channels []remoting.Channel) {
	for _, ch := range channels {
		cmd := &protocol.Command{Code: protocol.ReqNotifyConsumerIdsChanged, Flag: protocol.FlagOneway}
		cmd.Fields.Add("consumerGroup", group)
		if err := ch.Oneway(cmd); err != nil && !errors.Is(err, remoting.ErrClosed) { // who goes as well need not know
			c.o.Log.Warn("consumer not told that its group changed", "group", group, "client", ch.RemoteAddr(), "err", err)
		}
	}
}

// Run looks for silent channels every 10 s and sends collected notices every 15 s, until ctx ends.
func (c *Consumers) Run(ctx context.Context) error {
	scan, collect := time.NewTicker(scanInterval), time.NewTicker(collectNotices)
	defer scan.Stop()
	defer collect.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-scan.C:
			c.Scan()
		case <-collect.C:
			c.flushNotices()
		}
	}
}

// Scan drops members that have been silent for too long and closes their connections, and forgets old compensations.
func (c *Consumers) Scan() {
	rules, now := c.o.Rules(), c.o.Now()
	type silent struct {
		g  *ConsumerGroup
		ch remoting.Channel
	}
	var found []silent
	c.mu.RLock()
	for _, g := range c.groups {
		for _, m := range g.Clients() {
			if m.silent(now) > rules.channelExpiry() {
				found = append(found, silent{g, m.Channel})
			}
		}
	}
	c.mu.RUnlock()
	for _, s := range found {
		c.mu.Lock()
		l := c.leaveLocked(s.g, s.ch, true, rules)
		c.mu.Unlock()
		c.o.Log.Warn("consumer silent for too long, connection closed", "group", s.g.Name, "client", s.ch.RemoteAddr())
		s.ch.Close()
		c.after(l)
	}
	c.compensations.expire(now, rules.CompensationLifetime)
}

func (c *Consumers) flushNotices() {
	type notice struct {
		group    string
		channels []remoting.Channel
	}
	var notices []notice
	c.mu.Lock()
	for name := range c.pending {
		notices = append(notices, notice{name, c.groups[name].channelsLocked()})
	}
	clear(c.pending)
	c.mu.Unlock()
	for _, n := range notices {
		c.tell(n.group, n.channels)
	}
}

// All is a snapshot of the online groups, in no particular order.
func (c *Consumers) All() []*ConsumerGroup {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*ConsumerGroup, 0, len(c.groups))
	for _, g := range c.groups {
		all = append(all, g)
	}
	return all
}

// GroupsOf names the online groups that subscribe to a topic.
func (c *Consumers) GroupsOf(topic string) []string {
	var names []string
	for _, g := range c.All() {
		if g.Subscription(topic) != nil {
			names = append(names, g.Name)
		}
	}
	return names
}
