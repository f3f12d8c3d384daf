// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"bytes"
	"net/netip"
	"strings"

	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// anyAddress stands in a body where a broker registered the wildcard address, as one with brokerIP1=auto does at a name
// server on its own machine.
var anyAddress = []byte(`"0.0.0.0:`)

// reachable names to each client the broker address that this client can reach: a broker on this machine that listens
// on all addresses is reached where the client reached us. Java hands out 0.0.0.0 as it stands.
func reachable(ch remoting.Channel, body []byte) []byte {
	if !bytes.Contains(body, anyAddress) {
		return body
	}
	return bytes.ReplaceAll(body, anyAddress, []byte(`"`+localHost(ch)+`:`))
}

// reachableAddr does it for the address of a slave's master.
func reachableAddr(ch remoting.Channel, addr protocol.Opt[string]) protocol.Opt[string] {
	if port, ok := strings.CutPrefix(addr.V, "0.0.0.0:"); ok {
		addr.V = localHost(ch) + ":" + port
	}
	return addr
}

// localHost is where a client has reached us, with brackets if it is an IPv6 address.
func localHost(ch remoting.Channel) string {
	local := ch.LocalAddr().Addr().Unmap().WithZone("")
	if !local.IsValid() || local.IsUnspecified() {
		local = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if local.Is6() {
		return "[" + local.String() + "]"
	}
	return local.String()
}
