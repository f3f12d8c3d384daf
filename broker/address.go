// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"time"

	"rocketmq-go/broker/registration"
	"rocketmq-go/config"
	"rocketmq-go/remoting"
)

// unspecified is the host that a broker with brokerIP1=auto registers at a name server on its own machine, which names
// to each client the address that this client has reached. (Where a name server does not, clients on this machine reach
// the broker by it all the same.)
const unspecified = "0.0.0.0"

// storeHost is the address under which a connection's messages are stored, and which their ids name.
func (b *Broker) storeHost(ch remoting.Channel) netip.AddrPort {
	ip := b.values().BrokerIP1
	if ip == config.AutoIP {
		return netip.AddrPortFrom(ch.LocalAddr().Addr().Unmap(), uint16(b.port))
	}
	return netip.AddrPortFrom(b.hostIP(ip), uint16(b.port))
}

// host is the address of messages that the broker itself writes.
func (b *Broker) host() netip.AddrPort { return netip.AddrPortFrom(b.idHost(), uint16(b.port)) }

// hostIP is the address of brokerIP1, which may also be a name: records and ids carry addresses.
func (b *Broker) hostIP(ip string) netip.Addr {
	if known := b.resolved.Load(); known != nil && known.name == ip {
		return known.addr
	}
	addr, err := netip.ParseAddr(trimBrackets(ip))
	if err != nil {
		addr = lookup(ip)
		if !addr.IsValid() {
			b.log.Warn("brokerIP1 has no address; messages are stored under the loopback address", "brokerIP1", ip)
			addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
	}
	addr = addr.Unmap().WithZone("")
	b.resolved.Store(&resolvedHost{ip, addr})
	return addr
}

type resolvedHost struct {
	name string
	addr netip.Addr
}

func lookup(name string) netip.Addr {
	list, err := net.LookupIP(name)
	if err != nil || len(list) == 0 {
		return netip.Addr{}
	}
	for _, ip := range list {
		if v4 := ip.To4(); v4 != nil {
			addr, _ := netip.AddrFromSlice(v4)
			return addr
		}
	}
	addr, _ := netip.AddrFromSlice(list[0])
	return addr
}

func trimBrackets(host string) string {
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		return host[1 : n-1]
	}
	return host
}

// idHost is the address in the unique ids that the broker makes.
func (b *Broker) idHost() netip.Addr {
	if ip := b.values().BrokerIP1; ip != config.AutoIP {
		return b.hostIP(ip)
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// dial is how connections to name servers are opened; nil: as usual. Hosts are resolved at each connect.
func (b *Broker) dial() func(ctx context.Context, addr string) (net.Conn, error) {
	if b.o.Dial != nil || b.o.Resolver == nil {
		return b.o.Dial
	}
	d := &net.Dialer{KeepAlive: -1, Resolver: b.o.Resolver}
	return func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
}

// registration tells the registrar who it registers.
func (b *Broker) registration() registration.Options {
	o := registration.Options{
		Client:  b.client,
		Profile: b.profile,
		Broker: func() registration.Broker {
			v := b.values()
			return registration.Broker{
				Cluster: v.BrokerClusterName, Name: v.BrokerName, ID: v.BrokerID, Permission: int32(v.BrokerPermission),
				Started: b.started.UnixMilli(), Acting: b.actingRegistration(),
				AskFirst: !v.ForceRegister && !b.isSlave(), Compressed: v.CompressedRegister,
				Mapping:   b.mappingInfo(),
				Single:    v.EnableSingleTopicRegister && !b.compat49(),
				Address:   func(local string) string { return b.registered(v.BrokerIP1, local, b.port) },
				HAAddress: func(local string) string { return b.registered(v.BrokerIP2, local, v.Store.HaListenPort) },
			}
		},
		Servers: b.discovery.Servers,
		Topics:  b.topics.Body,
		Order:   b.topics.SetOrder,
		Period:  func() time.Duration { return config.Millis(b.values().RegisterNameServerPeriod) },
		Timeout: func() time.Duration { return config.Millis(b.values().RegisterBrokerTimeoutMills) },
		Log:     b.log,
	}
	if b.isSlave() { // which has its master's topics
		o.Order, o.Master = func([]string) {}, b.slave.Found
	}
	return o
}

// registered is an address as a name server is told. For "auto" it is the local address of the connection to the name
// server: who reaches the one from there reaches the other.
func (b *Broker) registered(ip, local string, port int) string {
	if ip == config.AutoIP {
		ip = local
		if addr, err := netip.ParseAddr(local); err == nil && addr.IsLoopback() {
			ip = unspecified
		}
	}
	return net.JoinHostPort(trimBrackets(ip), strconv.Itoa(port))
}
