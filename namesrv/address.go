// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package namesrv

import (
	"bytes"
	"net/netip"

	"rocketmq-go/remoting"
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
	local := ch.LocalAddr().Addr().Unmap().WithZone("")
	if !local.IsValid() || local.IsUnspecified() {
		local = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	host := local.String()
	if local.Is6() {
		host = "[" + host + "]"
	}
	return bytes.ReplaceAll(body, anyAddress, []byte(`"`+host+`:`))
}
