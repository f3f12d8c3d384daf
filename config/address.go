// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package config

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
)

// netInterface is what the choice of an address needs to know of an interface.
type netInterface struct {
	name      string
	usable    bool // up, no bridge, not point-to-point
	addresses []netip.Addr
}

// systemInterfaces lists the interfaces in the order in which Java enumerates them on Linux: the reverse of the
// kernel's.
func systemInterfaces() []netInterface {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	list := make([]netInterface, 0, len(interfaces))
	for _, i := range slices.Backward(interfaces) {
		_, notBridge := os.Stat(filepath.Join("/sys/class/net", i.Name, "bridge"))
		n := netInterface{
			name:   i.Name,
			usable: i.Flags&net.FlagUp != 0 && i.Flags&net.FlagPointToPoint == 0 && notBridge != nil,
		}
		addresses, _ := i.Addrs()
		for _, a := range slices.Backward(addresses) {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				n.addresses = append(n.addresses, prefix.Addr().Unmap())
			}
		}
		list = append(list, n)
	}
	return list
}

// chooseAddress picks the default of brokerIP1 by Java's rule, and says why: the first public IPv4 address, else the
// last private one, then the same for IPv6, then the loopback address.
func chooseAddress(interfaces []netInterface) (address, why string) {
	type candidate struct {
		netip.Addr
		from string
	}
	var v4, v6 []candidate
	for _, i := range interfaces {
		if !i.usable {
			continue
		}
		for _, a := range i.addresses {
			switch {
			case a.IsLoopback(), a.Is6() && a.IsLinkLocalUnicast(): // the latter is no address without its interface
			case a.Is4():
				v4 = append(v4, candidate{a, i.name})
			default:
				v6 = append(v6, candidate{a, i.name})
			}
		}
	}
	for _, family := range [][]candidate{v4, v6} {
		for _, c := range family {
			if !c.IsPrivate() && !c.IsLinkLocalUnicast() {
				return c.String(), fmt.Sprintf("first public address (interface %s)", c.from)
			}
		}
		if n := len(family); n > 0 {
			c := family[n-1]
			return c.String(), fmt.Sprintf("last private address (interface %s)", c.from)
		}
	}
	return "127.0.0.1", "no interface with an address"
}
