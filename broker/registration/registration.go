// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package registration makes a broker known to its name servers.
//
// Each name server has its own goroutine, which registers the whole topic table (code 103) at the start, every period,
// and at once when the connection was lost. A change of topics is told to all at once with the changed topics only; a
// name server that refuses that, because it has just been started and knows nothing, gets the whole table. At the end
// the broker unregisters (104).
package registration

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Options of a Registrar.
type Options struct {
	Client  *remoting.Client
	Profile *compat.Profile
	Broker  func() Broker
	// Servers are the addresses of the name servers at this moment; host names are resolved at each connect.
	Servers func() []string
	// Topics gives the whole table with its version, to be sent as it is. The registrar does not change it.
	Topics func() *protocol.TopicConfigSerializeWrapper
	// Master is told what a name server answers to a slave: where its master is, empty if it does not know. nil: not wanted.
	Master func(namesrv, addr, haAddr string)
	// Order is told which topics the name servers' ORDER_TOPIC_CONFIG lists.
	Order   func(topics []string)
	Period  func() time.Duration // between two registrations; Java keeps it within 10 s and 60 s
	Timeout func() time.Duration // of one registration
	Log     *slog.Logger
}

// Broker is who registers.
type Broker struct {
	Cluster, Name string
	ID            int64
	// Address gives the address that clients shall use, given the local host of the connection to the name server.
	Address   func(localHost string) string
	HAAddress func(localHost string) string
	// Permission limits that of each topic when it is not both 4 (read) and 2 (write).
	Permission int32
	// Started is what the version of the table of static topics says, which nobody reads; ms.
	Started int64
	// Mapping is that of a topic, nil if it is not static; nil: none is.
	Mapping func(topic string) *protocol.TopicQueueMappingInfo

	Acting     *Acting // nil: no slave acts as master
	AskFirst   bool    // forceRegister=false: the periodic registration is left out where the name server has this version
	Compressed bool    // compressedRegister
	Single     bool    // enableSingleTopicRegister: changed topics are sent one by one (217)
}

const (
	minPeriod = 10 * time.Second
	maxPeriod = 60 * time.Second
	// retryMin and retryMax bound the pause after a registration that failed. A name server that comes back shall
	// know its brokers within a second.
	retryMin = 50 * time.Millisecond
	retryMax = 800 * time.Millisecond
	// announceTimeout is how long a change of topics waits for the name servers. Who is slower gets the whole table.
	announceTimeout = time.Second
)

// Registrar keeps a broker registered.
type Registrar struct {
	o Options

	mu      sync.Mutex
	servers map[string]*server
	order   map[string][]string // what each server's ORDER_TOPIC_CONFIG lists
	ctx     context.Context     // of Run
	running sync.WaitGroup
}

// server is one name server.
type server struct {
	r     *Registrar
	addr  string
	turn  chan struct{} // holds a token: one registration at a time, so that they arrive in order
	again chan struct{} // asks for a whole registration
	stop  context.CancelFunc
	first chan struct{} // closed after the first attempt
	// slow tells that somebody has waited for it in vain. Until it has answered, nobody waits for it again: a name server
	// that hangs must not cost each new topic a second.
	slow atomic.Bool
	// registered tells whether the last attempt succeeded.
	registered atomic.Bool

	// With the token:
	known bool // it has had the whole table over the present connection
	plain bool // it refused a compressed registration: those of 5.x have more than a name server of 4.9 can read
	host  string
	// told is the table as it was when this server was last told of it. A change is what differs from it, not what
	// its author names: a name server passes over topics that come under a version it has, so no registration may
	// leave out a topic that its version covers.
	told *protocol.TopicConfigSerializeWrapper
}

// New makes a registrar; it does nothing before Run.
func New(o Options) *Registrar {
	return &Registrar{o: o, servers: map[string]*server{}, order: map[string][]string{}}
}

// Run keeps the broker registered until ctx ends.
func (r *Registrar) Run(ctx context.Context) error {
	defer func() {
		r.mu.Lock() // who reconciles now still starts goroutines
		defer r.running.Wait()
		r.mu.Unlock()
	}()
	r.Start(ctx)
	check := time.NewTicker(minPeriod)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-check.C:
			r.reconcile()
		}
	}
}

// Start begins to register; Run does so too. It is there for callers that want to wait for the first registration.
func (r *Registrar) Start(ctx context.Context) {
	r.mu.Lock()
	started := r.ctx != nil
	if !started {
		r.ctx = ctx
	}
	r.mu.Unlock()
	if !started {
		r.reconcile()
	}
}

// Refresh looks at once whether the list of name servers is another one; Run does so every 10 s.
func (r *Registrar) Refresh() { r.reconcile() }

// reconcile starts and ends the goroutines of name servers that came or went.
func (r *Registrar) reconcile() {
	want := r.o.Servers()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx == nil || r.ctx.Err() != nil {
		return
	}
	for addr, s := range r.servers {
		if !slices.Contains(want, addr) {
			s.stop()
			delete(r.servers, addr)
			delete(r.order, addr)
		}
	}
	for _, addr := range want {
		if r.servers[addr] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(r.ctx)
		s := &server{
			r: r, addr: addr, turn: make(chan struct{}, 1), again: make(chan struct{}, 1), first: make(chan struct{}),
			stop: cancel,
		}
		s.turn <- struct{}{}
		r.servers[addr] = s
		r.running.Go(func() {
			defer cancel()
			s.run(ctx)
		})
	}
}

func (r *Registrar) all() []*server {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*server, 0, len(r.servers))
	for _, s := range r.servers {
		all = append(all, s)
	}
	return all
}

// Wait returns when every name server has been tried once, or ctx ends.
func (r *Registrar) Wait(ctx context.Context) {
	for _, s := range r.all() {
		select {
		case <-s.first:
		case <-ctx.Done():
			s.slow.Store(true)
		}
	}
}

// Registered is how many name servers know the broker, and how many there are.
func (r *Registrar) Registered() (ok, all int) {
	servers := r.all()
	for _, s := range servers {
		if s.registered.Load() {
			ok++
		}
	}
	return ok, len(servers)
}

// Again asks for a whole registration at all name servers, soon.
func (r *Registrar) Again() {
	for _, s := range r.all() {
		s.wantAll()
	}
}

func (s *server) wantAll() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// run registers until ctx ends.
func (s *server) run(ctx context.Context) {
	pause := retryMin
	first := s.first
	periodic := false
	for {
		ch, err := s.registerAll(ctx, periodic)
		periodic = false
		if first != nil {
			close(first)
			first = nil
		}
		wait := min(max(s.r.o.Period(), minPeriod), maxPeriod)
		var lost <-chan struct{}
		if err != nil {
			s.registered.Store(false)
			if pause == retryMin && ctx.Err() == nil {
				s.r.o.Log.Warn("registration at the name server failed, will be tried again", "namesrv", s.addr, "error", err)
			}
			wait = pause
			pause = min(2*pause, retryMax)
		} else {
			if !s.registered.Swap(true) {
				s.r.o.Log.Info("registered at the name server", "namesrv", s.addr)
			}
			pause = retryMin
			lost = ch.Done()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			periodic = err == nil
		case <-s.again:
		case <-lost:
			s.registered.Store(false)
			s.r.o.Log.Warn("connection to the name server lost", "namesrv", s.addr)
		}
		timer.Stop()
	}
}

func (s *server) lock(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) unlock() { s.turn <- struct{}{} }

// registerAll sends the whole table. periodic tells that nothing but the time asks for it.
func (s *server) registerAll(ctx context.Context, periodic bool) (remoting.Channel, error) {
	ctx, cancel := context.WithTimeout(ctx, s.r.o.Timeout())
	defer cancel()
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	s.known, s.plain = false, false
	ch, err := s.r.o.Client.Channel(ctx, s.addr)
	if err != nil {
		s.unlock()
		return nil, err
	}
	s.host = ch.LocalAddr().Addr().Unmap().String()
	table, b := s.r.o.Topics(), s.r.o.Broker()
	var answer *protocol.Command
	if !periodic || !b.AskFirst || s.changed(ctx, ch, &b, table) {
		answer, err = s.register(ctx, ch, s.request(&b, table))
		var refusal *protocol.Error
		if b.Compressed && errors.As(err, &refusal) {
			s.r.o.Log.Info("name server refuses the compressed registration, it gets a plain one", "namesrv", s.addr, "error", err)
			s.plain = true
			answer, err = s.register(ctx, ch, s.request(&b, table))
		}
	}
	s.known, s.told = err == nil, table
	if err == nil {
		s.slow.Store(false)
	}
	s.unlock()
	if answer != nil {
		// The order topics may change topics, which are then announced: not with the token in hand.
		s.r.ordered(s.addr, answer.Body)
		s.r.toldMaster(s.addr, answer)
	}
	return ch, err
}

// toldMaster reads where a slave's master is.
func (r *Registrar) toldMaster(addr string, answer *protocol.Command) {
	if r.o.Master == nil {
		return
	}
	var h protocol.RegisterBrokerResponseHeader
	if err := h.ParseFields(&answer.Fields); err != nil {
		r.o.Log.Warn("answer of the name server not understood", "namesrv", addr, "error", err)
		return
	}
	r.o.Master(addr, strings.Clone(h.MasterAddr.V), strings.Clone(h.HaServerAddr.V))
}

// register sends a registration and returns the answer. The token is held.
func (s *server) register(ctx context.Context, ch remoting.Channel, cmd *protocol.Command) (*protocol.Command, error) {
	answer, err := ch.Call(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if answer.Code != protocol.RespSuccess {
		return nil, protocol.Errorf(answer.Code, "%s", answer.Remark.V)
	}
	return answer, nil
}

// ordered takes the list of order topics from an answer; an empty body means that the name server has none.
func (r *Registrar) ordered(addr string, body []byte) {
	if len(body) == 0 {
		return
	}
	var kv protocol.KVTable
	if err := fastjson.Unmarshal(body, &kv); err != nil {
		r.o.Log.Warn("order topics of the name server not understood", "namesrv", addr, "error", err)
		return
	}
	topics := []string{}
	for name := range kv.Table.All() {
		if name != "" {
			topics = append(topics, name)
		}
	}
	r.mu.Lock()
	r.order[addr] = topics
	var all []string
	for _, list := range r.order {
		all = append(all, list...)
	}
	r.mu.Unlock()
	slices.Sort(all)
	r.o.Order(slices.Compact(all))
}

// Changed tells the name servers that topics were changed, and waits for them for a short time. Which ones each has to
// hear of is found out by comparing, so the names do not matter.
func (r *Registrar) Changed([]string) {
	all := r.all()
	if len(all) == 0 {
		return
	}
	r.mu.Lock()
	ctx, cancel := context.WithTimeout(r.ctx, min(announceTimeout, r.o.Timeout()))
	r.mu.Unlock()
	defer cancel()
	var told sync.WaitGroup
	for _, s := range all {
		if s.slow.Load() {
			s.wantAll()
			continue
		}
		told.Go(func() {
			if err := s.announce(ctx); err != nil {
				s.slow.Store(ctx.Err() != nil)
				s.wantAll()
			}
		})
	}
	told.Wait()
}

// announce sends what changed. A name server that has not had the whole table yet will get it anyway.
func (s *server) announce(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if !s.known {
		return nil
	}
	table := s.r.o.Topics()
	part := &protocol.TopicConfigSerializeWrapper{DataVersion: table.DataVersion}
	part.TopicConfigTable.Clear()
	for name, cfg := range table.TopicConfigTable.All() {
		if old, ok := s.told.TopicConfigTable.Get(name); !ok || old != cfg {
			part.TopicConfigTable.Set(name, cfg)
		}
	}
	if part.TopicConfigTable.Len() == 0 {
		return nil
	}
	ch, err := s.r.o.Client.Channel(ctx, s.addr)
	if err == nil {
		b := s.r.o.Broker()
		for _, cmd := range s.changes(&b, part) {
			if _, err = s.register(ctx, ch, cmd); err != nil {
				break
			}
		}
	}
	if err != nil {
		s.r.o.Log.Info("name server does not take changed topics, it gets all of them", "namesrv", s.addr, "error", err)
		return err
	}
	s.told = table
	return nil
}

// Unregister takes the broker out of the name servers' tables. Call it when Run has ended.
func (r *Registrar) Unregister(ctx context.Context) {
	var told sync.WaitGroup
	for _, s := range r.all() {
		told.Go(func() {
			if err := s.unregister(ctx); err != nil {
				r.o.Log.Warn("not unregistered at the name server", "namesrv", s.addr, "error", err)
			}
		})
	}
	told.Wait()
}

func (s *server) unregister(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if !s.known {
		return nil
	}
	b := s.r.o.Broker()
	_, err := s.r.o.Client.Call(ctx, s.addr, s.farewell(&b))
	return err
}
