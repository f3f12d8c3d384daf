// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Listen opens a TCP listener as Java's servers do: no keep-alive probes (idle connections are closed anyway).
func Listen(addr string) (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1}
	return lc.Listen(context.Background(), "tcp", addr)
}

// Listeners are the three of a broker: main on its port p, Fast ("VIP") on p−2, HA on p+1.
type Listeners struct{ Fast, Main, HA net.Listener }

// Port is the main port.
func (l *Listeners) Port() int { return l.Main.Addr().(*net.TCPAddr).Port }

// Close closes all three.
func (l *Listeners) Close() error { return errors.Join(l.Fast.Close(), l.Main.Close(), l.HA.Close()) }

// ListenBroker opens a broker's listeners; port 0 finds three ports that are free.
func ListenBroker(host string, port int) (*Listeners, error) {
	if port != 0 {
		return listenAt(host, port)
	}
	var err error
	for range 100 {
		var probe net.Listener
		if probe, err = Listen(net.JoinHostPort(host, "0")); err != nil {
			return nil, err
		}
		p := probe.Addr().(*net.TCPAddr).Port
		probe.Close()
		var l *Listeners
		if l, err = listenAt(host, p); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("no three free ports found: %w", err)
}

func listenAt(host string, port int) (*Listeners, error) {
	var opened []net.Listener
	for _, p := range []int{port - 2, port, port + 1} {
		l, err := Listen(net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			for _, o := range opened {
				o.Close()
			}
			return nil, err
		}
		opened = append(opened, l)
	}
	return &Listeners{Fast: opened[0], Main: opened[1], HA: opened[2]}, nil
}
