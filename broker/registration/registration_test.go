// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package registration

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/namesrv/registration"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// namesrv notes what it is told.
type namesrv struct {
	t      *testing.T
	mu     sync.Mutex
	server *remoting.Server // nil: nobody listens
	heard  []string         // "103 T1,T2", "104", …
	hang   chan struct{}    // not nil: handles nothing before it is closed
	answer func(code int32, topics int) *protocol.Response
	plain  bool // refuses what is compressed, as one of 4.9 refuses that of a 5.x broker
}

func (n *namesrv) Dispatch(r *remoting.Request) {
	n.mu.Lock()
	hang := n.hang
	n.mu.Unlock()
	if hang != nil {
		<-hang
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if compressed, _ := r.Fields.Get("compressed"); compressed == "true" && n.plain {
		n.heard = append(n.heard, "refused")
		r.Reply(&protocol.Response{Code: protocol.RespSystemError, Remark: protocol.Some("Failed to decode RegisterBrokerBody")})
		return
	}
	topics := n.topicsOf(r)
	n.heard = append(n.heard, strings.TrimSpace(fmt.Sprint(r.Code, " ", strings.Join(topics, ","))))
	resp := &protocol.Response{}
	if n.answer != nil {
		resp = n.answer(r.Code, len(topics))
	}
	r.Reply(resp)
}

// set changes the name server.
func (n *namesrv) set(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *namesrv) topicsOf(r *remoting.Request) (names []string) {
	switch r.Code {
	case protocol.ReqRegisterBroker:
		var h protocol.RegisterBrokerRequestHeader
		if err := h.ParseFields(&r.Fields); err != nil {
			n.t.Error(err)
		}
		if crc32.ChecksumIEEE(r.Body)&0x7fffffff != uint32(h.BodyCrc32.V) {
			n.t.Error("wrong checksum")
		}
		b, err := registration.Decode(r.Body, r.Version, h.Compressed)
		if err != nil {
			n.t.Error(err)
		}
		for _, t := range b.Topics {
			name := t.Name
			if t.Queues.Perm != 6 {
				name += fmt.Sprintf("(perm %d)", t.Queues.Perm)
			}
			names = append(names, name)
		}
		slices.Sort(names)
	case protocol.ReqRegisterTopicInNamesrv:
		name, _ := r.Fields.Get("topic")
		names = append(names, name)
	}
	return names
}

func (n *namesrv) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = remoting.NewServer(remoting.ServerConfig{Dispatcher: n, Version: 479})
}

func (n *namesrv) stop() {
	n.mu.Lock()
	s := n.server
	n.server = nil
	n.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

func (n *namesrv) said() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	heard := n.heard
	n.heard = nil
	return heard
}

func (n *namesrv) expect(want ...string) {
	n.t.Helper()
	if got := n.said(); !slices.Equal(got, want) {
		n.t.Errorf("the name server heard %q, want %q", got, want)
	}
}

// cast is a broker and its name servers, all in one bubble.
type cast struct {
	*Registrar

	mu      sync.Mutex
	names   []string
	servers map[string]*namesrv
	topics  fastjson.Map[string, *protocol.TopicConfig]
	order   []string
	broker  Broker
	masters []string // that the name servers told
	stop    func()
}

func start(t *testing.T, release string, change func(*Broker), names ...string) *cast {
	c := &cast{servers: map[string]*namesrv{}, names: names}
	for _, name := range names {
		c.servers[name] = &namesrv{t: t}
		c.servers[name].start()
	}
	c.topics.Clear()
	c.add("A", "B")
	c.broker = Broker{
		Cluster: "C", Name: "b", Permission: 6,
		Address:   func(host string) string { return "10.0.0.1:10911" },
		HAAddress: func(host string) string { return "10.0.0.1:10912" },
	}
	if change != nil {
		change(&c.broker)
	}
	client := remoting.NewClient(remoting.ClientConfig{
		Version: compat.For(release).Version, MaxBackoff: 500 * time.Millisecond,
		Dial: func(_ context.Context, addr string) (net.Conn, error) {
			c.mu.Lock()
			n := c.servers[addr]
			c.mu.Unlock()
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.server == nil {
				return nil, errors.New("connection refused")
			}
			return n.server.Pipe(), nil
		},
	})
	c.Registrar = New(Options{
		Client: client, Profile: compat.For(release), Broker: func() Broker {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.broker
		},
		Servers: func() []string {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.names
		},
		Topics: func() *protocol.TopicConfigSerializeWrapper {
			c.mu.Lock()
			defer c.mu.Unlock()
			return &protocol.TopicConfigSerializeWrapper{TopicConfigTable: c.topics.Clone()}
		},
		Order: func(topics []string) { c.set(func() { c.order = topics }) },
		Master: func(namesrv, addr, ha string) {
			c.set(func() { c.masters = append(c.masters, namesrv+" "+addr+" "+ha) })
		},
		Period:  func() time.Duration { return 30 * time.Second },
		Timeout: func() time.Duration { return 24 * time.Second },
		Log:     slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	c.Start(ctx)
	go func() { done <- c.Run(ctx) }()
	c.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		c.stop()
		client.Close()
		for _, n := range c.servers {
			n.stop()
		}
	})
	return c
}

// set changes the broker or the cast.
func (c *cast) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *cast) add(names ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		cfg := protocol.NewTopicConfig()
		cfg.TopicName, cfg.Perm = name, 6
		cfg.Attributes.Clear()
		c.topics.Set(name, cfg)
	}
}

func TestPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1", "n2")
		n1, n2 := c.servers["n1"], c.servers["n2"]
		n1.expect("103 A,B")
		n2.expect("103 A,B")
		time.Sleep(29 * time.Second)
		n1.expect()
		time.Sleep(2 * time.Second)
		n1.expect("103 A,B")
		n2.expect("103 A,B")
		c.stop()
		c.Unregister(t.Context())
		n1.expect("104")
		n2.expect("104")
		c.stop = func() {}
	})
}

// A slave hears with each registration where its master is.
func TestMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", func(b *Broker) { b.ID = 1 }, "n1")
		told := func(want ...string) {
			t.Helper()
			synctest.Wait()
			c.set(func() {
				if !slices.Equal(c.masters, want) {
					t.Errorf("the slave was told %q, want %q", c.masters, want)
				}
				c.masters = nil
			})
		}
		told("n1  ")
		n := c.servers["n1"]
		n.set(func() {
			n.answer = func(int32, int) *protocol.Response {
				return &protocol.Response{Header: &protocol.RegisterBrokerResponseHeader{
					MasterAddr: protocol.Some("10.0.0.1:10911"), HaServerAddr: protocol.Some("10.0.0.1:10912"),
				}}
			}
		})
		c.Again()
		told("n1 10.0.0.1:10911 10.0.0.1:10912")
		time.Sleep(31 * time.Second)
		told("n1 10.0.0.1:10911 10.0.0.1:10912")
	})
}

func TestChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1")
		n := c.servers["n1"]
		n.expect("103 A,B")
		c.add("New")
		c.Changed([]string{"New"})
		n.expect("103 New")
		c.Changed([]string{"Deleted"})
		n.expect()
		c.set(func() { c.broker.Permission = 4 })
		c.Again()
		n.expect("103 A(perm 4),B(perm 4),New(perm 4)")
	})
}

// Two topics are created at the same moment: the first announcement already has the version of both, so it must bring
// both. A 4.9 name server would pass over the second topic under a version that it has, for good.
func TestChangesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1")
		n := c.servers["n1"]
		n.expect("103 A,B")
		c.add("New")
		c.add("New2")
		c.Changed([]string{"New"})
		c.Changed([]string{"New2"})
		n.expect("103 New,New2")
		c.add("New")
		c.Changed([]string{"New"})
		n.expect("103 New")
	})
}

// A name server that was restarted refuses single topics: it gets all of them at once.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1")
		n := c.servers["n1"]
		n.expect("103 A,B")
		n.set(func() {
			n.answer = func(_ int32, topics int) *protocol.Response {
				if topics == 1 {
					return &protocol.Response{Code: 1, Remark: protocol.Some("register broker failed")}
				}
				return &protocol.Response{}
			}
		})
		c.add("New")
		c.Changed([]string{"New"})
		n.expect("103 New", "103 A,B,New")
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1", "n2")
		n1, n2 := c.servers["n1"], c.servers["n2"]
		n1.said()
		n2.said()
		n1.stop()
		time.Sleep(10 * time.Second)
		n1.start()
		time.Sleep(time.Second)
		n1.expect("103 A,B")
		n2.expect()
	})
}

func TestNameServerComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1")
		n := c.servers["n1"]
		n.said()
		n.stop()
		time.Sleep(5 * time.Minute)
		c.add("New")
		begin := time.Now()
		c.Changed([]string{"New"})
		if took := time.Since(begin); took > announceTimeout {
			t.Errorf("a change of topics waited %v for a name server that is not there", took)
		}
		n.start()
		time.Sleep(time.Second)
		n.expect("103 A,B,New")
	})
}

// A name server that is connected and silent keeps neither topics nor other name servers waiting.
func TestSilentNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1", "n2")
		n1, n2 := c.servers["n1"], c.servers["n2"]
		n1.said()
		n2.said()
		hang := make(chan struct{})
		n1.set(func() { n1.hang = hang })
		c.add("New")
		begin := time.Now()
		c.Changed([]string{"New"})
		if took := time.Since(begin); took != announceTimeout {
			t.Errorf("waited %v", took)
		}
		c.add("Newer")
		begin = time.Now()
		c.Changed([]string{"Newer"})
		if took := time.Since(begin); took != 0 {
			t.Errorf("waited %v for one that was waited for in vain", took)
		}
		n1.set(func() { n1.hang = nil })
		close(hang)
		n2.expect("103 New", "103 Newer")
		if heard := n1.said(); len(heard) == 0 || heard[len(heard)-1] != "103 A,B,New,Newer" {
			t.Errorf("the silent one heard %q", heard)
		}
		c.add("Newest")
		c.Changed([]string{"Newest"})
		n1.expect("103 Newest")
		n2.expect("103 Newest")
	})
}

func TestOrderTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1", "n2")
		n := c.servers["n1"]
		for _, step := range []struct {
			body string
			want []string
		}{
			{`{"table":{"T2":"b:4","T1":"b:4","":"x"}}`, []string{"T1", "T2"}},
			{`{"table":{null:"b:4"`, []string{"T1", "T2"}},
			{``, []string{"T1", "T2"}},
			{`{"table":{}}`, nil},
		} {
			n.set(func() {
				n.answer = func(int32, int) *protocol.Response { return &protocol.Response{Body: []byte(step.body)} }
			})
			c.Again()
			synctest.Wait()
			c.set(func() {
				if !slices.Equal(c.order, step.want) {
					t.Errorf("%s: order topics %q", step.body, c.order)
				}
			})
		}
	})
}

func TestAskFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := false
		c := start(t, "", func(b *Broker) { b.AskFirst = true }, "n1")
		n := c.servers["n1"]
		n.expect("103 A,B")
		n.set(func() {
			n.answer = func(code int32, _ int) *protocol.Response {
				if code == protocol.ReqQueryDataVersion {
					return &protocol.Response{Header: &protocol.QueryDataVersionResponseHeader{Changed: protocol.Some(changed)}}
				}
				return &protocol.Response{}
			}
		})
		time.Sleep(31 * time.Second)
		n.expect("322")
		n.set(func() { changed = true })
		time.Sleep(30 * time.Second)
		n.expect("322", "103 A,B")
	})
}

func TestCompressedAndSingle(t *testing.T) {
	for _, release := range []string{compat.Release533, compat.Release497} {
		synctest.Test(t, func(t *testing.T) {
			c := start(t, release, func(b *Broker) { b.Compressed, b.Single = true, true }, "n1")
			n := c.servers["n1"]
			n.expect("103 A,B")
			c.add("New", "New2")
			c.Changed([]string{"New", "New2"})
			n.expect("217 New", "217 New2")
		})
	}
}

func TestServersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", nil, "n1")
		n2 := &namesrv{t: t}
		n2.start()
		c.set(func() {
			c.servers["n2"] = n2
			c.names = []string{"n2"}
		})
		time.Sleep(minPeriod)
		n2.expect("103 A,B")
		c.servers["n1"].said()
		time.Sleep(time.Minute)
		c.servers["n1"].expect()
	})
}

// U016, the other way round: a name server of 4.9 cannot read the compressed registration of a 5.x broker.
func TestCompressedRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, "", func(b *Broker) { b.Compressed = true }, "old", "new")
		c.servers["new"].expect("103 A,B")
		old := c.servers["old"]
		old.stop()
		old.said()
		old.set(func() { old.plain = true })
		old.start()
		time.Sleep(2 * time.Second)
		old.expect("refused", "103 A,B")
		c.add("New")
		c.Changed([]string{"New"})
		old.expect("103 New")
		c.servers["new"].expect("103 New")
	})
}
