// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/config"
	"rocketmq-go/remoting"
)

const (
	// registerWait is how long Start waits for the name servers; those that are slower get to know the broker later.
	registerWait = time.Second
	// unregisterWait is how long Close waits for them.
	unregisterWait = 500 * time.Millisecond
	// portTries bounds the search for three free ports.
	portTries = 50
)

// Start opens the ports, starts the services and registers at the name servers. When it returns the broker is ready.
// ctx bounds the start only.
func (b *Broker) Start(ctx context.Context) error {
	if !b.o.NoListen {
		if err := b.listen(); err != nil {
			return err
		}
	}
	if b.master != nil {
		b.master.Alone(b.returns())
	}
	running, stop := context.WithCancel(context.Background())
	b.stopServices = stop
	b.services, running = errgroup.WithContext(running)
	services := []func(context.Context) error{
		b.offsets.Run, b.broadcast.Run, b.consumers.Run, b.producers.Run, b.filters.Run, b.stats.Run, b.table.Holder.Run,
		b.runCompaction, b.runPlain, b.runPop,
	}
	if b.isSlave() {
		services = append(services, b.follow()...)
	} else {
		services = append(services, b.lead()...)
	}
	for _, run := range services {
		b.services.Go(func() error {
			err := run(running)
			if err != nil {
				b.log.Error("a service of the broker ended", "error", err)
			}
			return err
		})
	}
	if b.main != nil {
		b.services.Go(func() error { return b.server.Serve(b.main, false) })
		b.services.Go(func() error { return b.server.Serve(b.fast, true) })
	}
	b.register(ctx)
	b.log.Info("broker ready", "name", b.values().BrokerName, "addr", b.Addr(), "store", b.values().Store.StorePathRootDir)
	return nil
}

// register starts to keep the broker registered, and waits a moment for the first time.
func (b *Broker) register(ctx context.Context) {
	running, stop := context.WithCancel(context.Background())
	b.stopRegistrar = stop
	wait, cancel := context.WithTimeout(ctx, registerWait)
	defer cancel()
	b.discovery.Look(wait)
	b.registering.Go(func() { _ = b.discovery.Run(running) })
	known := make(chan struct{})
	if b.group == nil {
		b.keepRegistered(running)
		close(known)
	} else {
		b.registering.Go(func() {
			if err := b.join(running, known); err != nil {
				b.log.Error("a service of the broker ended", "error", err)
			}
		})
	}
	select {
	case <-known:
		b.registrar.Wait(wait)
	case <-wait.Done():
	}
}

// keepRegistered has name servers told of the broker until ctx ends.
func (b *Broker) keepRegistered(ctx context.Context) {
	b.registrar.Start(ctx)
	b.registering.Go(func() { _ = b.registrar.Run(ctx) })
}

// listen opens the main port, the fast one, two below, and a master's for slaves, by default one above. With listenPort=0 it
// takes three that are free.
func (b *Broker) listen() error {
	v := b.values()
	if v.Server.ListenPort != 0 {
		return b.listenAt(v.Server.BindAddress, v.Server.ListenPort, v.Store.HaListenPort)
	}
	var err error
	for range portTries {
		var port int
		if port, err = freePort(v.Server.BindAddress); err != nil {
			return err
		}
		if err = b.listenAt(v.Server.BindAddress, port, port+1); err == nil {
			b.cfg.Adjust(func(v *config.BrokerValues) { v.Server.ListenPort, v.Store.HaListenPort = port, port+1 })
			return nil
		}
	}
	return fmt.Errorf("no three free ports in a row: %w", err)
}

// freePort finds a port with free ones two below and one above it. It prefers ports below those that systems give to
// outgoing connections, where another process may take the neighbours at any time.
func freePort(host string) (int, error) {
	l, err := remoting.Listen(net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	const lowest, outgoing = 10240, 32768
	if port >= outgoing {
		port = lowest + (port-outgoing)%(outgoing-lowest-4) + 2
	}
	for _, p := range []int{port - 2, port, port + 1} {
		l, err := remoting.Listen(net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			return freePortAbove(host, port)
		}
		l.Close()
	}
	return port, nil
}

// freePortAbove searches upwards from a port that is taken.
func freePortAbove(host string, port int) (int, error) {
	var err error
	for p := port + 4; p < port+4*portTries && p < 65533; p += 4 {
		free := true
		for _, q := range []int{p - 2, p, p + 1} {
			var l net.Listener
			if l, err = remoting.Listen(net.JoinHostPort(host, strconv.Itoa(q))); err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return p, nil
		}
	}
	return 0, err
}

func (b *Broker) listenAt(host string, port, ha int) error {
	ports := []int{port, port - 2, ha}
	if b.isSlave() {
		ports = ports[:2]
	}
	var open []net.Listener
	for _, p := range ports {
		l, err := remoting.Listen(net.JoinHostPort(host, strconv.Itoa(p)))
		if err != nil {
			for _, l := range open {
				l.Close()
			}
			return err
		}
		open = append(open, l)
	}
	b.main, b.fast, b.port = open[0], open[1], port
	if !b.isSlave() {
		b.ha = open[2]
	}
	return nil
}

// Close stops the broker in the reverse order: it unregisters, answers what is being handled, and writes everything to
// disk. Held pulls are not answered. ctx bounds the waiting for name servers and clients, not the writing.
func (b *Broker) Close(ctx context.Context) error {
	b.closing.Do(func() {
		if b.stopRegistrar != nil {
			b.stopRegistrar()
			b.registering.Wait()
			wait, cancel := context.WithTimeout(ctx, unregisterWait)
			b.registrar.Unregister(wait)
			cancel()
		}
		err := errors.Join(b.server.Close(), b.table.Close())
		b.replies.Wait()
		if b.stopServices != nil {
			b.stopServices()
			err = errors.Join(err, b.services.Wait())
		}
		b.closed = errors.Join(err, b.closeFiles(), b.client.Close())
		b.log.Info("broker stopped", "name", b.values().BrokerName, "error", b.closed)
	})
	return b.closed
}

// closeFiles closes the store and then the metadata, so that no offset is ahead of its messages.
func (b *Broker) closeFiles() error {
	var err error
	if b.transactions != nil {
		err = b.transactions.Close()
	}
	if b.store != nil {
		err = errors.Join(err, b.store.Close())
	}
	if b.compaction != nil {
		err = errors.Join(err, b.compaction.Close())
	}
	if b.schedule != nil {
		err = errors.Join(err, b.schedule.Close())
	}
	if b.timers != nil {
		err = errors.Join(err, b.timers.Close())
	}
	if b.pops != nil {
		err = errors.Join(err, b.pops.Close())
	}
	if b.offsets != nil {
		err = errors.Join(err, b.offsets.Close())
	}
	if b.mappings != nil {
		err = errors.Join(err, b.mappings.Close())
	}
	if b.filters != nil {
		err = errors.Join(err, b.filters.Close())
	}
	if b.assignment != nil {
		err = errors.Join(err, b.assignment.Close())
	}
	if b.groups != nil {
		err = errors.Join(err, b.groups.Close())
	}
	if b.topics != nil {
		err = errors.Join(err, b.topics.Close())
	}
	return err
}
