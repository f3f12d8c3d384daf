// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
)

// A master and a slave, one of them Apache's and the other one ours: each of them is killed and comes back, then the
// slave's store is a master's. Whatever was acknowledged is there, byte for byte in the same place.

// pairOf is a pair with what was sent to it.
type pairOf struct {
	*cluster
	slave *server
	tool  *client.Client
	sent  map[string]bool // bodies of what was acknowledged
	next  int
}

// replicate plays pairs like apache-5.3.3/ours, the master first.
func replicate(ctx context.Context, args []string) error {
	var s settings
	fs := flag.NewFlagSet("replicate", flag.ExitOnError)
	clusterFlags(fs, &s)
	if err := fs.Parse(args); err != nil {
		return err
	}
	return eachPair("replication", fs.Args(), func(pair string) (string, error) {
		n, err := playPair(ctx, s, pair)
		return fmt.Sprintf("%d messages, ok", n), err
	})
}

// eachPair plays one pair after the other and tells what became of it.
func eachPair(what string, pairs []string, play func(pair string) (string, error)) error {
	var failed []error
	for _, pair := range pairs {
		began := time.Now()
		outcome, err := play(pair)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", pair, err))
			outcome = fmt.Sprint("FAIL: ", err)
		}
		fmt.Printf("%s %s: %s (%d s)\n", what, pair, outcome, int(time.Since(began).Seconds()))
	}
	return errors.Join(failed...)
}

func playPair(ctx context.Context, s settings, pair string) (n int, err error) {
	master, slave, ok := strings.Cut(pair, "/")
	if !ok {
		return 0, fmt.Errorf("%q is not like apache-5.3.3/ours", pair)
	}
	s.namesrvKind, s.brokerKind = "ours", master
	for _, kind := range []string{master, slave} {
		if v := apacheVersion(kind); strings.HasPrefix(v, "4.") {
			s.compat = v
		}
	}
	if err := s.complete(); err != nil {
		return 0, err
	}
	const role = "brokerRole"
	s.extra = map[string]string{role: "SYNC_MASTER", "mappedFileSizeCommitLog": "1048576", "flushDiskType": "ASYNC_FLUSH"}
	if s.compat == "" {
		s.extra["inSyncReplicas"] = "2"
	}
	c, err := startCluster(ctx, s)
	if err != nil {
		return 0, err
	}
	p := &pairOf{cluster: c, sent: map[string]bool{}}
	defer func() {
		err = errors.Join(err, p.end())
		if err == nil {
			c.removeWork()
		} else {
			fmt.Fprintln(os.Stderr, "kept:", c.work)
		}
	}()
	p.tool = client.New(client.Options{Namesrv: []string{c.namesrv.addr()}, Timeout: 10 * time.Second})
	defer p.tool.Close()
	if err := p.addSlave(ctx, slave, map[string]string{role: "SLAVE", "brokerId": "1"}); err != nil {
		return 0, err
	}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{"the slave follows", func(ctx context.Context) error { return p.wait(ctx, true) }},
		{"sends wait for the slave", p.sendWaiting},
		{"a topic is made again", func(ctx context.Context) error {
			if slave != "ours" { // Apache's puts the first new message behind the old ones and the others nowhere
				return nil
			}
			return p.makeAgain(ctx)
		}},
		{"the slave is killed", func(ctx context.Context) error { return errors.Join(p.slave.stop(syscall.SIGKILL), p.send(ctx, 600)) }},
		{"it comes back", func(ctx context.Context) error { return errors.Join(p.slave.start(ctx), p.wait(ctx, false)) }},
		{"the master is killed and comes back", func(ctx context.Context) error {
			err := errors.Join(p.broker.stop(syscall.SIGKILL), p.startBroker(ctx))
			return errors.Join(err, p.send(ctx, 100), p.wait(ctx, false))
		}},
		{"the logs are the same", func(context.Context) error { return p.compare() }},
		{"the slave's store is a master's", func(ctx context.Context) error { return p.takeOver(ctx, slave) }},
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return len(p.sent), nil
}

func (p *pairOf) end() error {
	var errs []error
	for _, s := range []*server{p.slave, p.broker, p.namesrv} {
		if s != nil {
			errs = append(errs, s.stop(syscall.SIGKILL))
		}
	}
	return errors.Join(errs...)
}

// addSlave starts a broker beside the master, of the same name.
func (p *pairOf) addSlave(ctx context.Context, kind string, keys map[string]string) error {
	ports, err := freeTriples(1)
	if err != nil {
		return err
	}
	p.slave, err = p.brokerIn(ctx, kind, "slave", ports[0], keys)
	if err != nil {
		return err
	}
	return p.slave.start(ctx)
}

// brokerIn is a broker with the master's configuration but for some keys.
func (p *pairOf) brokerIn(ctx context.Context, kind, folder string, port int, keys map[string]string) (*server, error) {
	common, err := os.ReadFile(filepath.Join(p.root, "conformance", "broker.conf"))
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.work, folder)
	all := map[string]string{
		"namesrvAddr": p.namesrv.addr(), "listenPort": fmt.Sprint(port), "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1",
		"storePathRootDir": filepath.Join(dir, "store"), "storePathCommitLog": filepath.Join(dir, "store", "commitlog"),
	}
	maps.Copy(all, p.extra)
	if p.compat != "" {
		all["compatVersion"] = p.compat
	}
	maps.Copy(all, keys)
	return p.newServer(ctx, kind, "broker", dir, port, string(common), all)
}

// send sends messages that do not wait for slaves, of every kind that leaves something of its own in the log.
func (p *pairOf) send(ctx context.Context, n int) error {
	for range n {
		m := p.message()
		m.Properties = map[string]string{"WAIT": "false"}
		if p.next%10 == 0 {
			m.DelayLevel = "1"
		}
		if err := p.sendOne(ctx, m, 0); err != nil {
			return err
		}
	}
	return nil
}

func (p *pairOf) message() *client.Message {
	p.next++
	body := fmt.Sprintf("%06d %s", p.next, strings.Repeat("x", p.next*37%4000))
	return &client.Message{Topic: "Replica", Body: []byte(body), Tags: fmt.Sprint("t", p.next%3), Keys: []string{fmt.Sprint("k", p.next)}}
}

func (p *pairOf) sendOne(ctx context.Context, m *client.Message, want int32) error {
	sent, err := p.tool.Send(ctx, m)
	for tries := 0; err != nil && tries < 50; tries++ { // the route is that of the broker before
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		sent, err = p.tool.Send(ctx, m)
	}
	if err != nil {
		return err
	}
	if sent.Code != want {
		return fmt.Errorf("a send is answered %d, want %d", sent.Code, want)
	}
	p.sent[string(m.Body)] = true
	return nil
}

// sendWaiting sends messages that are answered when the slave has them.
func (p *pairOf) sendWaiting(ctx context.Context) error {
	for range 50 {
		if err := p.sendOne(ctx, p.message(), 0); err != nil {
			return err
		}
		if end, err := logEnd(p.slave.dir); err != nil || end == 0 {
			return fmt.Errorf("answered, and the slave has nothing: %v", err)
		}
	}
	return nil
}

// makeAgain deletes a topic and makes it again, before the slave copies the master's tables the next time.
func (p *pairOf) makeAgain(ctx context.Context) error {
	create := []string{
		"topic=Again", "defaultTopic=TBW102", "readQueueNums=1", "writeQueueNums=1", "perm=6", "topicFilterType=SINGLE_TAG",
		"topicSysFlag=0", "order=false",
	}
	if err := p.ask(ctx, protocol.ReqUpdateAndCreateTopic, create...); err != nil {
		return err
	}
	queue := &client.Queue{Broker: "broker-a", Addr: p.broker.addr()}
	fill := func(n int) error {
		for range n {
			m := p.message()
			m.Topic, m.Queue = "Again", queue
			if sent, err := p.tool.Send(ctx, m); err != nil || sent.Code != 0 {
				return fmt.Errorf("a send: %+v %w", sent, err)
			}
		}
		return nil
	}
	return errors.Join(fill(20), p.ask(ctx, protocol.ReqDeleteTopicInBroker, "topic=Again"),
		p.ask(ctx, protocol.ReqUpdateAndCreateTopic, create...), fill(5), p.wait(ctx, false))
}

// ask sends a request to the master.
func (p *pairOf) ask(ctx context.Context, code int32, fields ...string) error {
	cmd := &protocol.Command{Code: code}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		cmd.Fields.Add(name, value)
	}
	_, err := p.tool.Call(ctx, p.broker.addr(), cmd)
	return err
}

// wait returns when the slave has all of the master's log. With probe it sends until a message is answered as on the slave.
func (p *pairOf) wait(ctx context.Context, probe bool) error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if probe {
			sent, err := p.tool.Send(ctx, p.message())
			if err == nil && sent.Code == 0 {
				return nil
			}
		} else if ends, err := p.ends(ctx); err == nil && ends[0] == ends[1] {
			return nil
		}
		if time.Since(began) > startLimit {
			ends, err := p.ends(ctx)
			return fmt.Errorf("the slave does not follow: ends %v, %v", ends, err)
		}
		if err := errors.Join(p.slave.alive(), p.broker.alive()); err != nil {
			return err
		}
	}
}

// ends are those of the master's and the slave's logs, as they tell.
func (p *pairOf) ends(ctx context.Context) (ends [2]string, err error) {
	for i, s := range []*server{p.broker, p.slave} {
		answer, err := p.tool.Call(ctx, s.addr(), &protocol.Command{Code: protocol.ReqGetBrokerRuntimeInfo})
		if err != nil {
			return ends, err
		}
		_, rest, _ := bytes.Cut(answer.Body, []byte(`"commitLogMaxOffset":"`))
		end, _, _ := bytes.Cut(rest, []byte(`"`))
		ends[i] = string(end)
	}
	return ends, nil
}

// logEnd is where the last file of the commit log of a server begins, or behind what is in the first one.
func logEnd(dir string) (int, error) {
	files, err := os.ReadDir(filepath.Join(dir, "store", "commitlog"))
	if err != nil || len(files) == 0 {
		return 0, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "store", "commitlog", files[0].Name()))
	return len(bytes.TrimRight(data, "\x00")), err
}

// compare compares the files of both stores.
func (p *pairOf) compare() error {
	var differ []string
	for _, part := range []string{"commitlog", "consumequeue"} {
		of := func(s *server) (map[string][]byte, error) {
			files := map[string][]byte{}
			root := filepath.Join(s.dir, "store", part)
			return files, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				name, _ := filepath.Rel(root, path)
				// Java makes files ahead.
				if data = bytes.TrimRight(data, "\x00"); len(data) > 0 {
					files[name] = data
				}
				return err
			})
		}
		master, err := of(p.broker)
		if err != nil {
			return err
		}
		var slave map[string][]byte
		for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // its queues follow its log
			if slave, err = of(p.slave); err != nil {
				return err
			}
			if differ = unequal(part, master, slave); len(differ) == 0 {
				break
			}
			if time.Since(began) > 30*time.Second {
				return fmt.Errorf("differ: %s", strings.Join(differ, ", "))
			}
		}
	}
	return nil
}

func unequal(part string, master, slave map[string][]byte) (names []string) {
	for name := range master {
		if !bytes.Equal(master[name], slave[name]) {
			names = append(names, part+"/"+name)
		}
	}
	for name := range slave {
		if master[name] == nil {
			names = append(names, "only the slave's: "+part+"/"+name)
		}
	}
	return names
}

// takeOver ends both brokers and starts a master on the slave's store, from which all is read.
func (p *pairOf) takeOver(ctx context.Context, kind string) error {
	sig := syscall.SIGTERM
	if kind != "ours" { // Apache's takes a quarter of a minute
		sig = syscall.SIGKILL
	}
	err := errors.Join(p.broker.stop(syscall.SIGKILL), p.slave.stop(sig))
	if err != nil {
		return err
	}
	if p.broker, err = p.brokerIn(ctx, kind, "slave", p.slave.port, map[string]string{"brokerRole": "ASYNC_MASTER", "brokerId": "0"}); err != nil {
		return err
	}
	if err := p.startBroker(ctx); err != nil {
		return err
	}
	if err := p.send(ctx, 20); err != nil {
		return err
	}
	return p.readAll(ctx)
}

// readAll wants everything that was acknowledged.
func (p *pairOf) readAll(ctx context.Context) error {
	left := maps.Clone(p.sent)
	for began := time.Now(); len(left) > 0; time.Sleep(100 * time.Millisecond) { // delayed messages come when they are due
		queues, err := p.tool.Queues(ctx, "Replica", 4)
		if err != nil {
			return err
		}
		for _, q := range queues {
			if err := p.read(ctx, q, left); err != nil {
				return err
			}
		}
		if time.Since(began) > time.Minute {
			return fmt.Errorf("%d of %d acknowledged messages are not there", len(left), len(p.sent))
		}
	}
	return nil
}

// read takes what a queue has out of the bodies that are left.
func (p *pairOf) read(ctx context.Context, q client.Queue, left map[string]bool) error {
	for offset := int64(0); ; {
		got, err := p.tool.Pull(ctx, client.PullRequest{Topic: "Replica", Queue: q, Group: "ReplicaReader", Offset: offset})
		if err != nil {
			return err
		}
		for i := range got.Messages {
			delete(left, string(got.Messages[i].Body))
		}
		if got.Next <= offset {
			return nil
		}
		offset = got.Next
	}
}
