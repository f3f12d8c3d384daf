// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"net/netip"
	"strings"
	"testing"
)

// Interfaces are given as "name[!]: address, …", ! for one that is no candidate.
func interfacesOf(texts ...string) []netInterface {
	var list []netInterface
	for _, text := range texts {
		name, addresses, _ := strings.Cut(text, ":")
		i := netInterface{name: strings.TrimSuffix(name, "!"), usable: !strings.HasSuffix(name, "!")}
		for a := range strings.FieldsSeq(strings.ReplaceAll(addresses, ",", " ")) {
			i.addresses = append(i.addresses, netip.MustParseAddr(a))
		}
		list = append(list, i)
	}
	return list
}

func TestChooseAddress(t *testing.T) {
	for _, c := range []struct {
		name       string
		interfaces []netInterface
		want, why  string
	}{
		{"last private", interfacesOf("eth1: 192.168.1.5", "eth0: 10.0.0.4", "lo: 127.0.0.1"), "10.0.0.4", "last private address (interface eth0)"},
		{"first public", interfacesOf("eth1: 10.0.0.4, 8.8.4.4", "eth0: 1.1.1.1"), "8.8.4.4", "first public address (interface eth1)"},
		{"unusable", interfacesOf("docker0!: 8.8.4.4", "eth0: 172.16.0.9"), "172.16.0.9", "last private address (interface eth0)"},
		{"IPv4 before IPv6", interfacesOf("eth0: 2001:db8::1, fe80::1%eth0, 10.0.0.4"), "10.0.0.4", "last private address (interface eth0)"},
		{"public IPv6", interfacesOf("eth0: fd00::1, 2001:db8::1, fe80::1%eth0"), "2001:db8::1", "first public address (interface eth0)"},
		{"private IPv6", interfacesOf("eth0: fd00::1, fe80::1%eth0"), "fd00::1", "last private address (interface eth0)"},
		{"loopback only", interfacesOf("lo: 127.0.0.1, ::1"), "127.0.0.1", "no interface with an address"},
		{"nothing", nil, "127.0.0.1", "no interface with an address"},
	} {
		if got, why := chooseAddress(c.interfaces); got != c.want || why != c.why {
			t.Errorf("%s: got %s, %s", c.name, got, why)
		}
	}
}
