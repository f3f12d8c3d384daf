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

// A master and a slave that acts as master while the master is away, one of them Apache's and the other one ours, beside a master
// of another name. The master is killed: a consumer goes on from the slave, and what is due comes to the other master. The master
// comes back: it goes on where the consumer was, nothing comes twice, and the logs are the same.

// standIn plays pairs like apache-5.3.3/ours, the master first.
func standIn(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("acting", flag.ExitOnError)
	clusterFlags(fs, &s)
	if err := fs.Parse(args); err != nil {
		return err
	}
	return eachPair("acting", fs.Args(), func(pair string) (string, error) {
		paused, err := playStandIn(ctx, s, pair)
		return fmt.Sprintf("ok, read from the slave %d ms after the master was killed", paused.Milliseconds()), err
	})
}

const (
	actingTopic = "Acting"
	actingGroup = "ActingReader"
	// actingDelay is how long the delayed messages wait: longer than everything that is done before the master is killed.
	actingDelay = 20 * time.Second
)

// actors are the brokers, and what was sent and read.
type actors struct {
	pairOf
	other *server
	times map[string]int // how often a body was read
}

func playStandIn(ctx context.Context, s settings, pair string) (paused time.Duration, err error) {
	master, slave, ok := strings.Cut(pair, "/")
	if !ok {
		return 0, fmt.Errorf("%q is not like apache-5.3.3/ours", pair)
	}
	s.namesrvKind, s.brokerKind = "ours", master
	if err := s.complete(); err != nil {
		return 0, err
	}
	s.namesrvExtra = map[string]string{"supportActingMaster": "true"}
	s.extra = map[string]string{
		"enableSlaveActingMaster": "true", "totalReplicas": "2", "slaveReadEnable": "true", "enableRemoteEscape": "true", "brokerIP2": "127.0.0.1",
		"messageDelayLevel": fmt.Sprintf("%ds", int(actingDelay.Seconds())), "flushDiskType": "ASYNC_FLUSH", "mappedFileSizeCommitLog": "1048576",
	}
	c, err := startCluster(ctx, s)
	if err != nil {
		return 0, err
	}
	a := &actors{pairOf: pairOf{cluster: c, sent: map[string]bool{}}, times: map[string]int{}}
	defer func() {
		err = errors.Join(err, a.end())
		if a.other != nil {
			err = errors.Join(err, a.other.stop(syscall.SIGKILL))
		}
		if err == nil {
			c.removeWork()
		} else {
			fmt.Fprintln(os.Stderr, "kept:", c.work)
		}
	}()
	a.tool = client.New(client.Options{Namesrv: []string{c.namesrv.addr()}, Timeout: 10 * time.Second})
	defer a.tool.Close()
	return paused, a.play(ctx, slave, &paused)
}

func (a *actors) play(ctx context.Context, slave string, paused *time.Duration) error {
	ports, err := freeTriples(1)
	if err != nil {
		return err
	}
	if a.other, err = a.brokerIn(ctx, "ours", "other", ports[0], map[string]string{
		"brokerName": "broker-b", "enableSlaveActingMaster": "false", "totalReplicas": "1",
	}); err != nil {
		return err
	}
	if err := a.other.start(ctx); err != nil {
		return err
	}
	for _, at := range []*server{a.broker, a.other} {
		if err := a.create(ctx, at); err != nil {
			return err
		}
	}
	if err := a.giveTables(slave); err != nil {
		return err
	}
	if err := a.addSlave(ctx, slave, map[string]string{"brokerRole": "SLAVE", "brokerId": "1"}); err != nil {
		return err
	}
	queue := client.Queue{Broker: "broker-a", Addr: a.broker.addr()}
	for n := range 200 {
		m := a.message()
		m.Topic, m.Queue = actingTopic, &queue
		if n >= 190 {
			m.DelayLevel = "1"
		}
		if err := a.sendOne(ctx, m, 0); err != nil {
			return err
		}
	}
	if err := a.wait(ctx, false); err != nil {
		return err
	}
	if _, err := a.take(ctx, queue, 0, 90); err != nil {
		return err
	}
	if err := a.tool.Commit(ctx, actingGroup, actingTopic, queue, 90); err != nil {
		return err
	}
	killed := time.Now()
	if err := a.broker.stop(syscall.SIGKILL); err != nil {
		return err
	}
	queue.Addr = a.slave.addr()
	if err := a.route(ctx, queue.Addr, false); err != nil {
		return fmt.Errorf("the slave is not shown as master: %w", err)
	}
	if _, err := a.take(ctx, queue, 90, 190); err != nil {
		return fmt.Errorf("from the slave: %w", err)
	}
	*paused = time.Since(killed)
	if err := a.tool.Commit(ctx, actingGroup, actingTopic, queue, 190); err != nil {
		return err
	}
	other := client.Queue{Broker: "broker-b", Addr: a.other.addr()}
	if _, err := a.take(ctx, other, 0, 10); err != nil {
		return fmt.Errorf("delayed messages: %w", err)
	}
	if err := a.startBroker(ctx); err != nil {
		return err
	}
	queue.Addr = a.broker.addr()
	if err := a.route(ctx, queue.Addr, true); err != nil {
		return fmt.Errorf("the master is not shown again: %w", err)
	}
	offset, _, err := a.tool.Offset(ctx, actingGroup, actingTopic, queue)
	if err != nil || offset != 190 {
		return fmt.Errorf("the master goes on at %d, the slave was at 190 (%v)", offset, err)
	}
	m := a.message()
	m.Topic, m.Queue = actingTopic, &queue
	if err := errors.Join(a.sendOne(ctx, m, 0), a.wait(ctx, false), a.compare()); err != nil {
		return err
	}
	if _, err := a.take(ctx, queue, 190, 191); err != nil {
		return err
	}
	return a.once(ctx, other)
}

// create makes the topic, with one queue, and the group.
func (a *actors) create(ctx context.Context, at *server) error {
	was := a.broker
	defer func() { a.broker = was }()
	a.broker = at
	_, err := a.tool.Call(ctx, at.addr(), &protocol.Command{
		Code: protocol.ReqUpdateAndCreateSubscriptiongroup, Body: []byte(`{"groupName":"` + actingGroup + `","consumeEnable":true,"retryQueueNums":1}`),
	})
	if err != nil {
		return err
	}
	return a.ask(ctx, protocol.ReqUpdateAndCreateTopic, "topic="+actingTopic, "defaultTopic=TBW102", "readQueueNums=1", "writeQueueNums=1", "perm=6",
		"topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=false")
}

// giveTables writes the master's topics and groups into the slave's store: Apache's slave copies the tables of its master a minute after its
// start for the first time.
func (a *actors) giveTables(kind string) error {
	if kind == "ours" {
		return nil
	}
	from, to := filepath.Join(a.broker.dir, "store", "config"), filepath.Join(a.work, "slave", "store", "config")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for name, has := range map[string]string{"topics.json": actingTopic, "subscriptionGroup.json": actingGroup} {
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // the master writes it soon
			data, err := os.ReadFile(filepath.Join(from, name))
			if err == nil && strings.Contains(string(data), `"`+has+`"`) {
				if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
					return err
				}
				break
			}
			if time.Since(began) > startLimit {
				return fmt.Errorf("the master does not write %s: %w", name, err)
			}
		}
	}
	return nil
}

// route waits until the name server gives an address as that of broker-a's master, with or without permission to write.
func (a *actors) route(ctx context.Context, addr string, write bool) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r, err := a.tool.Route(ctx, actingTopic)
		if err == nil {
			for _, b := range r.BrokerDatas {
				for _, q := range r.QueueDatas {
					if at, _ := b.BrokerAddrs.Get(0); b.BrokerName == "broker-a" && q.BrokerName == "broker-a" && at == addr && q.Perm&2 != 0 == write {
						return nil
					}
				}
			}
		}
		if time.Since(began) > startLimit {
			return fmt.Errorf("route %+v %v", r, err)
		}
		if err := a.slave.alive(); err != nil {
			return err
		}
	}
}

// take reads a queue from one offset to another.
func (a *actors) take(ctx context.Context, q client.Queue, from, to int64) (next int64, err error) {
	for began := time.Now(); from < to; time.Sleep(20 * time.Millisecond) {
		got, err := a.tool.Pull(ctx, client.PullRequest{Topic: actingTopic, Queue: q, Group: actingGroup, Offset: from, Max: int32(min(to-from, 32))})
		if err == nil {
			for i := range got.Messages {
				a.times[string(got.Messages[i].Body)]++
				from = got.Messages[i].QueueOffset + 1
			}
		}
		if time.Since(began) > startLimit {
			return from, fmt.Errorf("nothing comes from %d on: %+v %v", from, got, err)
		}
	}
	return from, nil
}

// once wants each message to have been read once, and no more to be there.
func (a *actors) once(ctx context.Context, other client.Queue) error {
	for body := range a.sent {
		if n := a.times[body]; n != 1 {
			return fmt.Errorf("message %.6s was read %d times", body, n)
		}
	}
	if end, err := a.tool.MaxOffset(ctx, actingTopic, other); err != nil || end != 10 {
		return fmt.Errorf("the other master has %d delayed messages (%v)", end, err)
	}
	return nil
}
