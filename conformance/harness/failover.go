// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
)

// Two of Apache's brokers in controller mode, with our controller and name server: the master is killed, the other one takes
// over with all that was acknowledged, and the killed one comes back as its slave.

// failOver plays it with brokers of a release.
func failOver(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("failover", flag.ExitOnError)
	clusterFlags(fs, &s)
	if err := fs.Parse(args); err != nil {
		return err
	}
	for _, release := range fs.Args() {
		took, err := playFailOver(ctx, s, "apache-"+release)
		if err != nil {
			return fmt.Errorf("failover %s: %w", release, err)
		}
		fmt.Printf("failover %s: ok, a send was acknowledged %d ms after the master was killed\n", release, took.Milliseconds())
	}
	return nil
}

func playFailOver(ctx context.Context, s settings, kind string) (took time.Duration, err error) {
	s.namesrvKind, s.brokerKind = "ours", kind
	if err := s.complete(); err != nil {
		return 0, err
	}
	ports, err := freeTriples(2)
	if err != nil {
		return 0, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	s.extra = map[string]string{
		"enableControllerMode": "true", "controllerAddr": address, "brokerRole": "SLAVE", "brokerId": "-1",
		"allAckInSyncStateSet": "true", "haHousekeepingInterval": "20000",
	}
	c := &cluster{settings: s}
	if c.work, err = os.MkdirTemp("", "rocketmq-conformance-"); err != nil {
		return 0, err
	}
	c.tempWork = true
	p := &pairOf{cluster: c, sent: map[string]bool{}}
	var controller *server
	defer func() {
		err = errors.Join(err, p.end())
		if controller != nil {
			err = errors.Join(err, controller.stop(syscall.SIGKILL))
		}
		if err == nil {
			c.removeWork()
		} else {
			fmt.Fprintln(os.Stderr, "kept:", c.work)
		}
	}()
	dir := filepath.Join(c.work, "controller")
	if controller, err = c.newServer(ctx, "ours", "controller", dir, ports[0], "", map[string]string{
		"controllerDLegerGroup": "group", "controllerDLegerPeers": "n0-" + address, "controllerDLegerSelfId": "n0",
		"controllerStorePath": filepath.Join(dir, "state"),
	}); err == nil {
		err = controller.start(ctx)
	}
	if err != nil {
		return 0, err
	}
	more, err := freeTriples(3)
	if err != nil {
		return 0, err
	}
	if err := c.configure(ctx, more[0], more[1]); err != nil {
		return 0, err
	}
	if err := c.namesrv.start(ctx); err != nil {
		return 0, err
	}
	if err := c.startBroker(ctx); err != nil {
		return 0, err
	}
	p.tool = client.New(client.Options{Namesrv: []string{c.namesrv.addr()}, Timeout: 10 * time.Second})
	defer p.tool.Close()
	if err := p.send(ctx, 100); err != nil {
		return 0, err
	}
	if p.slave, err = p.brokerIn(ctx, kind, "second", more[2], map[string]string{}); err != nil {
		return 0, err
	}
	if err := errors.Join(p.slave.start(ctx), p.inSync(ctx, address, 2)); err != nil {
		return 0, err
	}
	for range 100 {
		if err := p.sendOne(ctx, p.message(), 0); err != nil {
			return 0, err
		}
	}
	killed := time.Now()
	if err := p.broker.stop(syscall.SIGKILL); err != nil {
		return 0, err
	}
	if err := p.sendSomehow(ctx); err != nil {
		return 0, err
	}
	took = time.Since(killed)
	if err := p.send(ctx, 50); err != nil {
		return 0, err
	}
	if err := errors.Join(p.broker.start(ctx), p.inSync(ctx, address, 2)); err != nil {
		return 0, err
	}
	return took, p.readAll(ctx)
}

// sendSomehow sends a message until it is acknowledged.
func (p *pairOf) sendSomehow(ctx context.Context) error {
	m := p.message()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		once, cancel := context.WithTimeout(ctx, time.Second)
		sent, err := p.tool.Send(once, m)
		cancel()
		if err == nil && sent.Code == 0 {
			p.sent[string(m.Body)] = true
			return nil
		}
		if time.Since(began) > startLimit {
			return fmt.Errorf("nobody takes messages: %w", err)
		}
	}
}

// inSync waits until the controller knows of so many brokers that have all messages.
func (p *pairOf) inSync(ctx context.Context, controller string, n int) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		answer, err := p.tool.Call(ctx, controller, &protocol.Command{Code: protocol.ReqControllerGetSyncStateData, Body: []byte(`["broker-a"]`)})
		if err == nil {
			_, in, _ := strings.Cut(string(answer.Body), `"inSyncReplicas":[`)
			in, _, _ = strings.Cut(in, "]")
			if strings.Count(in, `"alive":true`) == n {
				return nil
			}
		}
		if time.Since(began) > startLimit {
			return fmt.Errorf("not %d brokers in sync: %v %v", n, answer, err)
		}
		if err := errors.Join(p.broker.alive(), p.slave.alive()); err != nil {
			return err
		}
	}
}
