// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"rocketmq-go/admin/client"
	"rocketmq-go/remoting/protocol"
)

const (
	demoTopic = "DemoTopic"
	demoGroup = "DemoGroup"
	demoWait  = 10 * time.Second
)

// demo sends a handful of messages of different kinds and receives them again.
type demo struct {
	env
	client *client.Client
	key    string                 // of this run; other runs share the topic
	next   map[client.Queue]int64 // where to read on
}

func runDemo(ctx context.Context, e env) int {
	const name = "rocketmq demo"
	fs := newFlags(name, name+" [-n ADDR] [--tls] [--access-key KEY --secret-key KEY]", e)
	namesrv := fs.StringP("namesrvAddr", "n", defaultNamesrv(e), "name server list, host:port separated by semicolons")
	var c connectFlags
	c.define(fs)
	if code, finished := fs.parse(); finished {
		return code
	}
	if code, finished := fs.noMore(); finished {
		return code
	}
	options := client.Options{Namesrv: strings.Split(*namesrv, ";"), Group: demoGroup}
	if err := c.apply(e, &options); err != nil {
		fmt.Fprintf(e.stderr, "%s: %v\n", name, err)
		return exitUsage
	}
	d := demo{
		env: e, key: fmt.Sprintf("demo-%d", time.Now().UnixMilli()), next: map[client.Queue]int64{}, client: client.New(options),
	}
	defer d.client.Close()
	if err := d.run(ctx); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(e.stderr, "%s: %s%s\n", name, text, demoHint(err, *namesrv))
		return exitFailed
	}
	return exitOK
}

// connectFlags say how a tool's connections are secured and its requests signed.
type connectFlags struct {
	tls               bool
	files             client.Files
	accessKey, secret string
}

func (c *connectFlags) define(fs *flagSet) {
	fs.BoolVar(&c.tls, "tls", false, "connect with TLS (also ROCKETMQ_TLS=true)")
	fs.StringVar(&c.files.CA, "tls-ca", "", "file of the authorities that servers' certificates are checked with")
	fs.StringVar(&c.files.Cert, "tls-cert", "", "file of a certificate for servers that ask for one")
	fs.StringVar(&c.files.Key, "tls-key", "", "file of its key")
	fs.StringVar(&c.accessKey, "access-key", "", "name of a user, with whose secret requests are signed")
	fs.StringVar(&c.secret, "secret-key", "", "the secret (also ROCKETMQ_SECRET_KEY, which other users of the machine cannot see)")
}

func (c *connectFlags) apply(e env, o *client.Options) (err error) {
	if c.tls || c.files != (client.Files{}) || e.getenv("ROCKETMQ_TLS") == "true" {
		if o.TLS, err = c.files.TLS(); err != nil {
			return err
		}
	}
	if c.secret == "" {
		c.secret = e.getenv("ROCKETMQ_SECRET_KEY")
	}
	switch {
	case c.accessKey == "":
		return nil
	case c.secret == "":
		return errors.New("--access-key needs --secret-key")
	}
	o.Sign = client.Signer(c.accessKey, c.secret, "")
	return nil
}

func demoHint(err error, namesrv string) string {
	refusal := (*protocol.Error)(nil)
	switch {
	case !errors.As(err, &refusal):
		return fmt.Sprintf(" (is a server running at %s? 'make run' starts one)", namesrv)
	case refusal.Code == protocol.RespTopicNotExist:
		return fmt.Sprintf(" (has a broker that creates topics registered at %s?)", namesrv)
	}
	return ""
}

func defaultNamesrv(e env) string {
	if list := e.getenv("NAMESRV_ADDR"); list != "" {
		return list
	}
	return "127.0.0.1:9876"
}

func (d *demo) run(ctx context.Context) error {
	sent := map[string]bool{}
	for _, m := range []*client.Message{
		{Body: []byte("hello"), Tags: "TagA"},
		{Body: []byte("world"), Tags: "TagB"},
		{Body: []byte("one second later"), Tags: "TagA", DelayLevel: "1"},
	} {
		m.Topic, m.Keys = demoTopic, []string{d.key}
		at, err := d.client.Send(ctx, m)
		if err != nil {
			return err
		}
		if len(d.next) == 0 {
			if err := d.readFromHere(ctx, at); err != nil {
				return err
			}
		}
		what := "sent"
		if m.DelayLevel != "" {
			what = "sent with delay level " + m.DelayLevel
		}
		fmt.Fprintf(d.stdout, "%-26s %-18q to queue %d of broker %s, id %s\n", what, m.Body, at.Queue.ID, at.Queue.Broker, at.OffsetID)
		sent[string(m.Body)] = true
	}
	if err := d.receive(ctx, sent); err != nil {
		return err
	}
	for q, offset := range d.next {
		if err := d.client.Commit(ctx, demoGroup, demoTopic, q, offset); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.stdout, "All messages of topic %s came back; the offsets of group %s are stored.\n", demoTopic, demoGroup)
	return nil
}

// readFromHere notes where each queue ended before the first message of this run.
func (d *demo) readFromHere(ctx context.Context, first *client.Sent) error {
	const read = 4
	queues, err := d.client.Queues(ctx, demoTopic, read)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if d.next[q], err = d.client.MaxOffset(ctx, demoTopic, q); err != nil {
			return err
		}
		if q == first.Queue {
			d.next[q] = first.QueueOffset
		}
	}
	return nil
}

// arrival is what one pull of a queue brought.
type arrival struct {
	queue client.Queue
	got   *client.Pulled
}

// receive pulls from all queues at once, as a consumer does, until everything that was sent has come.
func (d *demo) receive(ctx context.Context, missing map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	arrivals := make(chan arrival)
	pulls, pulling := errgroup.WithContext(ctx)
	for q, offset := range d.next {
		pulls.Go(func() error { return d.follow(pulling, q, offset, arrivals) })
	}
	for len(missing) > 0 {
		select {
		case a := <-arrivals:
			d.next[a.queue] = a.got.Next
			d.show(a.got, missing)
		case <-pulling.Done():
			if err := pulls.Wait(); err != nil {
				return err
			}
			return fmt.Errorf("%d messages did not come within %v", len(missing), demoWait)
		}
	}
	cancel()
	_ = pulls.Wait() // what they were waiting for is not needed any more
	return nil
}

// follow pulls from one queue; the broker holds each pull until there is a message.
func (d *demo) follow(ctx context.Context, q client.Queue, offset int64, to chan<- arrival) error {
	for {
		got, err := d.client.Pull(ctx, client.PullRequest{
			Topic: demoTopic, Queue: q, Group: demoGroup, Offset: offset, Suspend: demoWait,
		})
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return nil
		} else if err != nil {
			return err
		}
		offset = got.Next
		select {
		case to <- arrival{q, got}:
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *demo) show(got *client.Pulled, missing map[string]bool) {
	for _, m := range got.Messages {
		if body := string(m.Body); missing[body] {
			fmt.Fprintf(d.stdout, "%-26s %-18q from queue %d, offset %d\n", "received", body, m.QueueID, m.QueueOffset)
			delete(missing, body)
		}
	}
}
