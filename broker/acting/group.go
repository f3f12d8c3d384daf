// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package acting

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/config"
)

const (
	// MasterID is the id of a master.
	MasterID = 0
	// lookTimeout bounds one question for the members, as in Java.
	lookTimeout = 3 * time.Second
	// handOver is how long a slave does not act after a master has said that it returns: it has to be known by then.
	handOver = 15 * time.Second
	// lookAgain is the longest pause before a slave looks again whether it has to act.
	lookAgain = time.Second
	// shortest keeps a mistyped period from being a busy loop.
	shortest = 10 * time.Millisecond
)

// GroupOptions are what a Group needs.
type GroupOptions struct {
	Config func() *config.BrokerValues
	ID     int64 // of this broker
	// Members asks the name servers who lives: addresses by id.
	Members func(ctx context.Context) (map[int64]string, error)
	// Heartbeat tells them that this broker does.
	Heartbeat func(ctx context.Context)
	// Hears tells whether a slave hears from its master, whatever name servers say. nil: this is the master.
	Hears func() bool
	// Told is told who has the smallest id, each time that it was asked for, before it is decided who acts.
	Told func(min int64)
	Log  *slog.Logger
}

// Group watches the brokers of one name. It is safe for concurrent use.
type Group struct {
	o    GroupOptions
	look chan struct{} // has an element when somebody says that there is news

	mu      sync.Mutex
	min     int64 // smallest id that lives
	alive   int   // brokers that live, this one included
	lost    bool  // no name server answered the last question
	handed  time.Time
	acts    bool
	turned  chan struct{} // closed when acts changes
	serving chan struct{} // closed when what an acting master runs has ended; nil: it does not run
}

// NewGroup makes a group. Until Run has asked it holds that the master lives.
func NewGroup(o GroupOptions) *Group {
	return &Group{o: o, look: make(chan struct{}, 1), alive: 1, turned: make(chan struct{})}
}

// Run asks, and tells that this broker lives, until ctx ends.
func (g *Group) Run(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		for {
			v := g.o.Config()
			once, cancel := context.WithTimeout(ctx, max(config.Millis(int64(v.SendHeartbeatTimeoutMillis)), shortest))
			g.o.Heartbeat(once)
			cancel()
			if !g.pause(ctx, config.Millis(int64(v.BrokerHeartbeatInterval)), nil) {
				return nil
			}
		}
	})
	all.Go(func() error {
		for {
			g.ask(ctx)
			wait := config.Millis(int64(g.o.Config().SyncBrokerMemberGroupPeriod))
			if g.waits() {
				wait = min(wait, lookAgain)
			}
			if !g.pause(ctx, wait, g.look) {
				return nil
			}
		}
	})
	return all.Wait()
}

// waits tells whether this broker would act if it did not hear from its master, or had not just handed over to it.
func (g *Group) waits() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.o.Hears != nil && g.min == g.o.ID && !g.acts
}

// pause waits; false if ctx ends.
func (g *Group) pause(ctx context.Context, d time.Duration, news <-chan struct{}) bool {
	t := time.NewTimer(max(d, shortest))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-news:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// Look has the name servers asked at once: one of them says that another broker has the smallest id (905).
func (g *Group) Look() {
	select {
	case g.look <- struct{}{}:
	default:
	}
}

func (g *Group) ask(ctx context.Context) {
	once, cancel := context.WithTimeout(ctx, lookTimeout)
	members, err := g.o.Members(once)
	cancel()
	if ctx.Err() != nil {
		return
	}
	lost, least := err != nil, g.o.ID
	if !lost {
		members[g.o.ID] = "" // it lives, whoever knows
		for id := range members {
			least = min(least, id)
		}
		g.o.Told(least)
	}
	g.mu.Lock()
	news := lost != g.lost
	g.lost = lost
	if !lost {
		if least != g.min {
			g.o.Log.Info("another broker has the smallest id", "was", g.min, "is", least, "alive", len(members))
		}
		g.min, g.alive = least, len(members)
	}
	g.decideLocked()
	g.mu.Unlock()
	switch {
	case news && lost:
		g.o.Log.Warn("no name server tells which brokers of this name live; it stays as it is", "error", err)
	case news:
		g.o.Log.Info("name servers tell again which brokers of this name live")
	}
}

// decideLocked decides whether this broker acts as master.
func (g *Group) decideLocked() {
	acts := g.o.Hears != nil && g.min == g.o.ID && time.Since(g.handed) >= handOver && !g.o.Hears()
	if acts == g.acts {
		return
	}
	if g.acts = acts; acts {
		g.o.Log.Warn("there is no master: this slave acts as master", "id", g.o.ID)
	} else {
		g.o.Log.Info("the master is back: this slave acts no more", "id", g.o.ID)
	}
	close(g.turned)
	g.turned = make(chan struct{})
}

// Min is the smallest id that lives.
func (g *Group) Min() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.min
}

// Alive is how many brokers live, this one included.
func (g *Group) Alive() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.alive
}

// Acts tells whether this broker is a slave that acts as master.
func (g *Group) Acts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.acts
}

// HandOver is told by a master that returns. When it has returned, nothing that acts runs any more, and nothing will for a
// while: the master is there by then, or another one acts.
func (g *Group) HandOver(ctx context.Context) error {
	g.mu.Lock()
	g.handed = time.Now()
	g.decideLocked()
	serving := g.serving
	g.mu.Unlock()
	if serving == nil {
		return nil
	}
	select {
	case <-serving:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Serve runs act while this broker acts as master, and follow while it does not, never both, until ctx ends. Both have to end
// with their context only.
func (g *Group) Serve(ctx context.Context, act, follow func(context.Context) error) error {
	for ctx.Err() == nil {
		g.mu.Lock()
		run, turned := follow, g.turned
		var ended chan struct{}
		if g.acts {
			run, ended = act, make(chan struct{})
		}
		g.serving = ended
		g.mu.Unlock()
		once, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- run(once) }()
		var err error
		select {
		case err = <-done:
		case <-turned:
			cancel()
			err = <-done
		}
		cancel()
		if ended != nil {
			g.mu.Lock()
			g.serving = nil
			g.mu.Unlock()
			close(ended)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
