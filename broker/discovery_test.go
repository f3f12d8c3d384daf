// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"rocketmq-go/broker"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// zone is a name server of the other kind: it answers for one host, on a UDP port of the loopback.
type zone struct {
	mu   sync.Mutex
	name string
	addr netip.Addr // of the host; invalid: there is no such host
}

func (z *zone) set(addr netip.Addr) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.addr = addr
}

// resolver asks the zone and nobody else.
func (z *zone) resolver(t *testing.T) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := z.answer(buf[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	})
	t.Cleanup(func() {
		conn.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer makes the answer to a DNS query with one question: the address for A, nothing for other types, and "no such
// name" for other hosts.
func (z *zone) answer(query []byte) []byte {
	const header, typeA = 12, 1
	var labels []string
	i := header
	for i < len(query) && query[i] != 0 {
		n := int(query[i])
		if i+1+n >= len(query) {
			return nil
		}
		labels = append(labels, string(query[i+1:i+1+n]))
		i += 1 + n
	}
	end := i + 5
	if len(query) < end {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	known := z.addr.IsValid() && strings.EqualFold(strings.Join(labels, "."), z.name)
	flags, answers := uint16(0x8180), uint16(0)
	if !known {
		flags |= 3
	} else if binary.BigEndian.Uint16(query[i+1:]) == typeA {
		answers = 1
	}
	out := append([]byte(nil), query[:2]...)
	for _, field := range []uint16{flags, 1, answers, 0, 0} {
		out = binary.BigEndian.AppendUint16(out, field)
	}
	out = append(out, query[header:end]...)
	if answers == 1 {
		out = append(out, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, z.addr.AsSlice()...)
	}
	return out
}

// registry is a name server of ours that notes who registers.
type registry struct {
	addr   string
	server *remoting.Server
	got    chan string // addresses of brokers
}

func (r *registry) Dispatch(q *remoting.Request) {
	if q.Code == protocol.ReqRegisterBroker {
		addr, _ := q.Fields.Get("brokerAddr")
		select {
		case r.got <- strings.Clone(addr):
		default:
		}
	}
	q.Reply(&protocol.Response{})
}

// listen starts one; it ends with the test, or with stop.
func listen(t *testing.T, addr string) (r *registry, stop func()) {
	t.Helper()
	l, err := remoting.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	r = &registry{addr: l.Addr().String(), got: make(chan string, 1)}
	r.server = remoting.NewServer(remoting.ServerConfig{Dispatcher: r, Version: 479})
	var serving sync.WaitGroup
	serving.Go(func() { _ = r.server.Serve(l, false) })
	stop = func() {
		r.server.Close()
		serving.Wait()
	}
	t.Cleanup(stop)
	return r, stop
}

func (r *registry) expect(t *testing.T, what string) {
	t.Helper()
	select {
	case <-r.got:
	case <-time.After(time.Minute):
		t.Fatalf("the broker does not register: %s", what)
	}
}

// run starts a broker that stands for itself.
func run(t *testing.T, resolver *net.Resolver, keys map[string]string) {
	t.Helper()
	keys["storePathRootDir"], keys["listenPort"], keys["brokerIP1"] = t.TempDir(), "0", "127.0.0.1"
	keys["mappedFileSizeCommitLog"] = "1048576"
	cfg, _, err := config.LoadBroker(config.Options{Set: keys, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.New(broker.Options{Config: cfg, Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A name server comes back under another address of the same name: the broker finds it without a restart of its own
// (U021).
func TestNameServerMovesBehindItsName(t *testing.T) {
	first, stop := listen(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(first.addr)
	for _, byDNS := range []string{"false", "true"} {
		t.Run("fetchNameSrvAddrByDnsLookup="+byDNS, func(t *testing.T) {
			z := &zone{name: "ns.test", addr: netip.MustParseAddr("127.0.0.1")}
			run(t, z.resolver(t), map[string]string{
				"namesrvAddr": "ns.test:" + port, "fetchNameSrvAddrByDnsLookup": byDNS, "updateNameServerAddrPeriod": "1000",
			})
			first.expect(t, "at the first address")
			stop()
			z.set(netip.Addr{}) // between two pods there may be no such name
			second, stopSecond := listen(t, "127.0.0.2:"+port)
			z.set(netip.MustParseAddr("127.0.0.2"))
			second.expect(t, "at the second address")
			stopSecond()
		})
		if byDNS == "false" {
			first, stop = listen(t, "127.0.0.1:"+port)
		}
	}
}

// Without namesrvAddr an address server tells where the name servers are.
func TestNameServersOfAnAddressServer(t *testing.T) {
	one, _ := listen(t, "127.0.0.1:0")
	two, _ := listen(t, "127.0.0.1:0")
	var mu sync.Mutex
	list := one.addr
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/rocketmq/ours" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintln(w, list)
	}))
	defer server.Close()
	run(t, nil, map[string]string{
		"fetchNamesrvAddrByAddressServer": "true", "fetchNamesrvAddrInterval": "1000",
		"rmqAddressServerDomain": strings.TrimPrefix(server.URL, "http://"), "rmqAddressServerSubGroup": "ours",
	})
	one.expect(t, "at what the address server names")
	mu.Lock()
	list = one.addr + ";" + two.addr
	mu.Unlock()
	two.expect(t, "at what the address server names later")
}
