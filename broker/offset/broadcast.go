// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package offset

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	broadcastSuffix = "@broadcast"
	broadcastScan   = 5 * time.Second
	// maxBroadcastClients bounds the clients whose offsets are kept, and maxClientID their names: anybody can name
	// clients. Those beyond are served all the same, and begin anew where others would go on.
	maxBroadcastClients = 100_000
	maxClientID         = 1024
)

// A Broadcast keeps how far each client of broadcasting groups has come, for clients that change between the broker and a
// proxy, which has no files of theirs. (5.x, enableBroadcastOffsetStore.) A client's offset of a queue only grows. Every
// 5 s the smallest of a group's clients is committed in the name of group "<group>@broadcast": there begins who has none.
//
// It is safe for concurrent use and allocates nothing for a queue that a client has pulled before.
type Broadcast struct {
	o BroadcastOptions

	mu      sync.RWMutex // held for reading while a group is changed
	groups  map[key]*broadcastGroup
	clients atomic.Int64
}

// BroadcastOptions of a Broadcast; all are required.
type BroadcastOptions struct {
	Offsets *Store
	// Online are the client ids of a group's connections.
	Online func(group string) []string
	// Start is where a client begins that has no offset, in a group that has none.
	Start func(topic string, queueID int32) int64
	// Expiry is how long the offsets of a silent client are kept, by whether it is online.
	Expiry func() (offline, online time.Duration)
	Now    func() time.Time
}

// BroadcastPull is a pull of one client of a broadcasting group. Its strings may be views.
type BroadcastPull struct {
	Topic, Group, Client string
	QueueID              int32
	Offset               int64
	Proxy                bool // it comes through a proxy, for the client
}

type broadcastGroup struct {
	key
	committer string // the group in whose name the smallest offsets are committed

	mu      sync.Mutex
	gone    bool
	clients map[string]*broadcastClient
}

type broadcastClient struct {
	seen   time.Time
	proxy  bool
	queues map[int32]int64
}

// NewBroadcast makes one that keeps nothing yet.
func NewBroadcast(o BroadcastOptions) *Broadcast {
	return &Broadcast{o: o, groups: map[key]*broadcastGroup{}}
}

// Begin tells whether the client has to go on from another offset than the one it asks for: it has changed between
// broker and proxy, or comes through the proxy and has none.
func (b *Broadcast) Begin(p *BroadcastPull) (offset int64, ok bool) {
	b.mu.RLock()
	g := b.groups[key{p.Topic, p.Group}]
	b.mu.RUnlock()
	proxy, own := p.Proxy, int64(-1)
	if g != nil {
		g.mu.Lock()
		if c := g.clients[p.Client]; c != nil {
			proxy = c.proxy
			if known, ok := c.queues[p.QueueID]; ok {
				own = known
			}
		}
		g.mu.Unlock()
	}
	if proxy == p.Proxy && (!proxy || p.Offset >= 0) {
		return 0, false
	}
	if own >= 0 {
		return own, true
	}
	if common, ok := b.o.Offsets.Query(p.Group+broadcastSuffix, p.Topic, p.QueueID); ok {
		return common, true
	}
	return b.o.Start(p.Topic, p.QueueID), true
}

// Pulled notes that the client has everything before offset.
func (b *Broadcast) Pulled(p *BroadcastPull, offset int64) {
	now := b.o.Now()
	b.mu.RLock()
	g := b.groups[key{p.Topic, p.Group}]
	if g != nil {
		b.note(g, p, offset, now)
		b.mu.RUnlock()
		return
	}
	b.mu.RUnlock()

	b.mu.Lock()
	defer b.mu.Unlock()
	k := key{p.Topic, p.Group}
	if g = b.groups[k]; g == nil {
		k = key{strings.Clone(p.Topic), strings.Clone(p.Group)}
		g = &broadcastGroup{key: k, committer: k.group + broadcastSuffix, clients: map[string]*broadcastClient{}}
		b.groups[k] = g
	}
	b.note(g, p, offset, now)
}

func (b *Broadcast) note(g *broadcastGroup, p *BroadcastPull, offset int64, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.clients[p.Client]
	if c == nil {
		if len(p.Client) > maxClientID || b.clients.Load() >= maxBroadcastClients {
			return
		}
		c = &broadcastClient{queues: map[int32]int64{}}
		g.clients[strings.Clone(p.Client)] = c
		b.clients.Add(1)
	}
	c.seen, c.proxy = now, p.Proxy
	if known, ok := c.queues[p.QueueID]; !ok || offset > known {
		c.queues[p.QueueID] = offset
	}
}

// Forget drops what is kept of the topics and groups that which tells, before their offsets are removed. A nil Broadcast
// keeps nothing.
func (b *Broadcast) Forget(which func(topic, group string) bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, g := range b.groups {
		if which(k.topic, k.group) {
			b.dropLocked(g)
		}
	}
}

func (b *Broadcast) dropLocked(g *broadcastGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = true
	b.clients.Add(-int64(len(g.clients)))
	delete(b.groups, g.key)
}

// Run commits the smallest offsets and drops silent clients, until ctx ends. A nil Broadcast has nothing to do.
func (b *Broadcast) Run(ctx context.Context) error {
	if b == nil {
		return nil
	}
	tick := time.NewTicker(broadcastScan)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			b.scan()
		}
	}
}

func (b *Broadcast) scan() {
	b.mu.RLock()
	groups := make([]*broadcastGroup, 0, len(b.groups))
	for _, g := range b.groups {
		groups = append(groups, g)
	}
	b.mu.RUnlock()
	now := b.o.Now()
	for _, g := range groups {
		if !b.settle(g, now) {
			continue
		}
		b.mu.Lock()
		// Notes are taken under the table's lock, so nobody has come meanwhile unless the group shows it.
		if b.groups[g.key] == g && len(g.clients) == 0 {
			b.dropLocked(g)
		}
		b.mu.Unlock()
	}
}

// settle commits what the clients of a group have in common and drops those that are silent; empty tells that nobody is
// left. A client that is dropped counts once more if it is online.
func (b *Broadcast) settle(g *broadcastGroup, now time.Time) (empty bool) {
	online := map[string]bool{}
	for _, id := range b.o.Online(g.group) {
		online[id] = true
	}
	offlineExpiry, onlineExpiry := b.o.Expiry()

	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return false
	}
	least := map[int32]int64{}
	for id, c := range g.clients {
		silent, expiry := now.Sub(c.seen), offlineExpiry
		if online[id] {
			expiry = onlineExpiry
		}
		if online[id] || silent < offlineExpiry {
			for queue, offset := range c.queues {
				if known, ok := least[queue]; !ok || offset < known {
					least[queue] = offset
				}
			}
		}
		if silent >= expiry {
			delete(g.clients, id)
			b.clients.Add(-1)
		}
	}
	for queue, offset := range least {
		if known, ok := b.o.Offsets.Query(g.committer, g.topic, queue); !ok || known != offset {
			b.o.Offsets.Commit("", g.committer, g.topic, queue, offset)
		}
	}
	return len(g.clients) == 0
}
