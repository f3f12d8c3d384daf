// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package client

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"rocketmq-go/broker/filter"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeChannel is a connection that remembers what was sent over it.
type fakeChannel struct {
	remoting.Channel
	addr netip.AddrPort

	mu     sync.Mutex
	sent   []string
	closed bool
	done   chan struct{}
}

func newChannel(port uint16) *fakeChannel {
	return &fakeChannel{addr: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port), done: make(chan struct{})}
}

func (c *fakeChannel) SocketAddr() netip.AddrPort { return c.addr }
func (c *fakeChannel) RemoteAddr() netip.AddrPort { return c.addr }
func (c *fakeChannel) Done() <-chan struct{}      { return c.done }

func (c *fakeChannel) Oneway(cmd *protocol.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return remoting.ErrClosed
	}
	group, _ := cmd.Fields.Get("consumerGroup")
	c.sent = append(c.sent, fmt.Sprintf("%d/%d %s", cmd.Code, cmd.Flag, group))
	return nil
}

func (c *fakeChannel) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.done)
	}
}

// take returns what was sent since the last call.
func (c *fakeChannel) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := strings.Join(c.sent, ", ")
	c.sent = nil
	if sent == "" {
		return "nothing"
	}
	return sent
}

// world is what a scenario acts on.
type world struct {
	now       time.Time
	rules     Rules
	groups    map[string]*protocol.SubscriptionGroupConfig
	channels  map[string]*fakeChannel
	joined    []string
	changes   []string
	consumers *Consumers
	producers *Producers
	said      bytes.Buffer
}

func newWorld() *world {
	w := &world{
		now:      time.UnixMilli(1_700_000_000_000),
		groups:   map[string]*protocol.SubscriptionGroupConfig{},
		channels: map[string]*fakeChannel{},
	}
	o := Options{
		Group: w.group,
		Joined: func(cfg *protocol.SubscriptionGroupConfig, _ *protocol.ConsumerData) {
			w.joined = append(w.joined, cfg.GroupName)
		},
		Subscribed: func(group, topic string, s *Subscription) {
			sign := "+"
			if s == nil {
				sign = "-"
			}
			w.changes = append(w.changes, sign+group+"/"+topic)
		},
		Rules: func() Rules { return w.rules },
		Now:   func() time.Time { return w.now },
		Log:   slog.New(slog.NewTextHandler(&w.said, nil)),
	}
	w.consumers, w.producers = NewConsumers(o), NewProducers(o)
	return w
}

func (w *world) group(name string) *protocol.SubscriptionGroupConfig {
	if strings.Contains(name, "!") {
		return nil
	}
	cfg := w.groups[name]
	if cfg == nil {
		cfg = protocol.NewSubscriptionGroupConfig()
		cfg.GroupName = name
		w.groups[name] = cfg
	}
	return cfg
}

func (w *world) channel(name string) *fakeChannel {
	if w.channels[name] == nil {
		w.channels[name] = newChannel(uint16(1000 + len(w.channels)))
	}
	return w.channels[name]
}

// TestScenarios runs the stories under testdata. The input of heartbeat is the JSON body without what is the same
// everywhere. Notices are shown by `pushed`, as code/flag and group.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.run(t, d) })
	})
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	arg := func(name string) (v string) { d.MaybeScanArgs(t, name, &v); return v }
	conn := w.channel(arg("conn"))
	switch d.Cmd {
	case "heartbeat":
		hb := &protocol.HeartbeatData{}
		if err := fastjson.Unmarshal([]byte(d.Input), hb); err != nil {
			return err.Error()
		}
		w.producers.Heartbeat(conn, hb, protocol.LanguageJava, 475)
		return fmt.Sprintf("IS_SUB_CHANGE=%v\n", w.consumers.Heartbeat(conn, hb, protocol.LanguageJava, 475))
	case "pushed":
		return conn.take()
	case "unregister":
		w.consumers.Unregister(conn, arg("consumer"))
		w.producers.Unregister(conn, arg("producer"))
		return ""
	case "close":
		conn.Close()
		w.consumers.Closed(conn)
		w.producers.Closed(conn)
		return ""
	case "rules":
		d.MaybeScanArgs(t, "disableNotify", &w.rules.DisableNotify)
		d.MaybeScanArgs(t, "rejectPull", &w.rules.RejectPullConsumer)
		d.MaybeScanArgs(t, "collect", &w.rules.CollectNotices)
		d.MaybeScanArgs(t, "refuseProducers", &w.rules.RefuseNewProducers)
		return ""
	case "group":
		cfg := *w.group(arg("name"))
		d.MaybeScanArgs(t, "notify", &cfg.NotifyConsumerIdsChangedEnable)
		w.groups[cfg.GroupName] = &cfg
		return ""
	case "scan":
		var after string
		d.ScanArgs(t, "after", &after)
		step, err := time.ParseDuration(after)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(step)
		w.consumers.Scan()
		w.producers.Scan()
		return ""
	case "changes":
		changes := slices.Clone(w.changes)
		slices.Sort(changes)
		w.changes = nil
		return strings.Join(changes, " ")
	}
	return w.show(d, arg)
}

// show answers the queries.
func (w *world) show(d *datadriven.TestData, arg func(string) string) string {
	switch d.Cmd {
	case "ids":
		g := w.consumers.Group(arg("group"))
		if g == nil {
			return "no consumer"
		}
		return strings.Join(g.ClientIDs(), " ")
	case "connection":
		if g := w.consumers.Group(arg("group")); g != nil {
			return string(fastjson.Marshal(g.Connection()))
		}
		if c := w.producers.Connection(arg("producer")); c != nil {
			return string(fastjson.Marshal(c))
		}
		return "unknown"
	case "producers":
		return string(fastjson.Marshal(w.producers.All()))
	case "subscription":
		s := w.consumers.FindSubscription(arg("group"), arg("topic"))
		if s == nil {
			return "none"
		}
		return fmt.Sprintf("%s version %d, all=%v", s.SubString, s.SubVersion, s.Matcher == nil)
	case "groupsOf":
		return strings.Join(w.consumers.GroupsOf(arg("topic")), " ")
	}
	return "unknown command"
}

// A connection with many groups leaves all of them when it closes; nothing stays behind.
func TestManyGroups(t *testing.T) {
	w := newWorld()
	a, b := w.channel("a"), w.channel("b")
	hb := &protocol.HeartbeatData{ClientID: "id"}
	for i := range 200 {
		hb.ConsumerDataSet = append(hb.ConsumerDataSet, protocol.ConsumerData{
			GroupName: fmt.Sprint("g", i), MessageModel: protocol.Clustering,
			SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*", SubVersion: 1}},
		})
		hb.ProducerDataSet = append(hb.ProducerDataSet, protocol.ProducerData{GroupName: fmt.Sprint("p", i)})
	}
	for _, ch := range []*fakeChannel{a, b} {
		w.consumers.Heartbeat(ch, hb, protocol.LanguageGo, 1)
		w.producers.Heartbeat(ch, hb, protocol.LanguageGo, 1)
	}
	b.take()
	w.consumers.Closed(a)
	w.producers.Closed(a)
	if n := strings.Count(b.take(), "40/2"); n != 200 {
		t.Errorf("%d notices", n)
	}
	if len(w.joined) != 400 || len(w.consumers.GroupsOf("T")) != 200 {
		t.Error(len(w.joined), len(w.consumers.GroupsOf("T")))
	}
	w.consumers.Closed(b)
	w.producers.Closed(b)
	if n := len(w.consumers.groups) + len(w.consumers.of) + len(w.producers.groups) + len(w.producers.of) + len(w.producers.clients); n != 0 {
		t.Errorf("%d things left behind", n)
	}
}

func TestProducerChannels(t *testing.T) {
	w := newWorld()
	if w.producers.ChannelOf("p") != nil || w.producers.ChannelByClient("x") != nil {
		t.Error("a channel out of nothing")
	}
	for _, name := range []string{"a", "b", "c"} {
		hb := &protocol.HeartbeatData{ClientID: name, ProducerDataSet: []protocol.ProducerData{{GroupName: "p"}}}
		w.producers.Heartbeat(w.channel(name), hb, 0, 0)
	}
	seen := map[remoting.Channel]int{}
	for range 6 {
		seen[w.producers.ChannelOf("p")]++
	}
	if len(seen) != 3 || seen[w.channel("a")] != 2 {
		t.Error("not each in turn", seen)
	}
	w.channel("b").Close()
	for range 6 {
		if w.producers.ChannelOf("p") == remoting.Channel(w.channel("b")) {
			t.Error("a closed channel was chosen")
		}
	}
	w.channel("a").Close()
	w.channel("c").Close()
	if w.producers.ChannelOf("p") != nil {
		t.Error("a closed channel was chosen")
	}
	if w.producers.ChannelByClient("c") != remoting.Channel(w.channel("c")) {
		t.Error("ChannelByClient")
	}
}

// When many members of a group go at once, those that are gone already need not know, and nobody has to read of it.
func TestManyGoAtOnce(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"a", "b", "c", "d"} {
		w.consumers.Heartbeat(w.channel(name), &protocol.HeartbeatData{
			ClientID: name, ConsumerDataSet: []protocol.ConsumerData{{GroupName: "g", MessageModel: protocol.Clustering}},
		}, 0, 0)
	}
	for _, name := range []string{"a", "b", "c"} {
		w.channel(name).Close()
	}
	w.channel("d").take()
	for _, name := range []string{"a", "b", "c"} {
		w.consumers.Closed(w.channel(name))
	}
	if sent := w.channel("d").take(); strings.Count(sent, " g") != 3 {
		t.Errorf("who stays is told %s", sent)
	}
	if strings.Contains(w.said.String(), "not told") {
		t.Error(w.said.String())
	}
}

// Pulls with an expression of their own are remembered for ten minutes.
func TestCompensation(t *testing.T) {
	w := newWorld()
	c := w.consumers
	if c.Compensated("g", "T", "A", "TAG", false) != nil || c.FindSubscription("g", "T") != nil {
		t.Error("a subscription out of nothing")
	}
	data, err := filter.Build("T", "A", "TAG")
	if err != nil {
		t.Fatal(err)
	}
	c.Compensate("g", "T", &Subscription{SubscriptionData: *data, Matcher: filter.Of(data, nil)})
	if s := c.Compensated("g", "T", "A", "TAG", false); s == nil || c.FindSubscription("g", "T") != s || c.SubscriptionCount("g") != 1 {
		t.Error("not remembered")
	}
	if c.Compensated("g", "T", "B", "TAG", false) != nil {
		t.Error("another expression")
	}
	long := &Subscription{SubscriptionData: protocol.SubscriptionData{SubString: strings.Repeat("x", rememberedUpTo+1)}}
	if c.Compensate("long", "T", long); c.FindSubscription("long", "T") != nil {
		t.Error("a huge expression is remembered")
	}
	w.now = w.now.Add(9 * time.Minute)
	if n := testing.AllocsPerRun(10, func() { c.Compensated("g", "T", "A", "TAG", false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	w.now = w.now.Add(9 * time.Minute)
	c.Scan()
	if c.FindSubscription("g", "T") == nil {
		t.Error("forgotten although it was used")
	}
	w.now = w.now.Add(11 * time.Minute)
	c.Scan()
	if c.FindSubscription("g", "T") != nil || len(c.compensations.groups) != 0 {
		t.Error("not forgotten")
	}
}

// Run scans every 10 s and sends collected notices every 15 s.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.rules.CollectNotices = true
		w.consumers.o.Now, w.producers.o.Now = time.Now, time.Now
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = w.consumers.Run(ctx) })
		wg.Go(func() { _ = w.producers.Run(ctx) })
		hb := &protocol.HeartbeatData{
			ClientID:        "id",
			ProducerDataSet: []protocol.ProducerData{{GroupName: "p"}},
			ConsumerDataSet: []protocol.ConsumerData{{GroupName: "g", MessageModel: protocol.Clustering}},
		}
		ch := w.channel("a")
		w.consumers.Heartbeat(ch, hb, 0, 0)
		w.producers.Heartbeat(ch, hb, 0, 0)
		time.Sleep(14 * time.Second)
		if got := ch.take(); got != "nothing" {
			t.Error(got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := ch.take(); got != "40/2 g" {
			t.Error(got)
		}
		time.Sleep(103 * time.Second)
		if w.consumers.Group("g") == nil || w.producers.Clients("p") == nil {
			t.Error("dropped too early")
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if w.consumers.Group("g") != nil || w.producers.Clients("p") != nil || !ch.closed {
			t.Error("not dropped after 130 s of silence")
		}
		cancel()
		wg.Wait()
	})
}

// A heartbeat that is handled after its connection closed leaves nothing behind.
func TestHeartbeatOfClosedConnection(t *testing.T) {
	w := newWorld()
	ch := w.channel("a")
	ch.Close()
	w.consumers.Closed(ch)
	w.producers.Closed(ch)
	hb := &protocol.HeartbeatData{
		ClientID: "id", ProducerDataSet: []protocol.ProducerData{{GroupName: "p"}}, ConsumerDataSet: []protocol.ConsumerData{{GroupName: "g"}},
	}
	w.consumers.Heartbeat(ch, hb, 0, 0)
	w.producers.Heartbeat(ch, hb, 0, 0)
	if w.consumers.Group("g") != nil || w.producers.Clients("p") != nil {
		t.Error("entered")
	}
}

func TestConcurrentUse(t *testing.T) {
	w := newWorld()
	w.consumers.o.Group, w.consumers.o.Joined, w.consumers.o.Subscribed = nil, nil, nil
	w.consumers.o.complete()
	var wg sync.WaitGroup
	for i := range 8 {
		ch := newChannel(uint16(i))
		wg.Go(func() {
			for n := range 100 {
				hb := &protocol.HeartbeatData{ClientID: fmt.Sprint(i), ConsumerDataSet: []protocol.ConsumerData{{
					GroupName:           "g",
					SubscriptionDataSet: []protocol.SubscriptionData{{Topic: fmt.Sprint("T", n%3), SubString: "*", SubVersion: int64(n)}},
				}}}
				w.consumers.Heartbeat(ch, hb, 0, 0)
				if g := w.consumers.Group("g"); g != nil {
					g.Connection()
					g.Subscription("T1")
				}
				if n%10 == 0 {
					w.consumers.Closed(ch)
				}
			}
			w.consumers.Closed(ch)
		})
	}
	wg.Wait()
	if len(w.consumers.groups) != 0 || len(w.consumers.of) != 0 {
		t.Error("groups left behind")
	}
}

// What a pull looks up allocates nothing.
func BenchmarkSubscription(b *testing.B) {
	w := newWorld()
	hb := &protocol.HeartbeatData{ClientID: "id", ConsumerDataSet: []protocol.ConsumerData{{
		GroupName: "g", SubscriptionDataSet: []protocol.SubscriptionData{{Topic: "T", SubString: "*"}},
	}}}
	w.consumers.Heartbeat(newChannel(1), hb, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		if g := w.consumers.Group("g"); g.Model() != "" || g.Subscription("T") == nil {
			b.Fatal("not found")
		}
	}
}
