// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

// Package client is a small producer and puller for tools, demonstrations and tests. It asks a name server for routes
// and talks to the brokers of a topic; it does not balance queues among consumers.
//
//	c := client.New(client.Options{Namesrv: []string{"127.0.0.1:9876"}})
//	defer c.Close()
//	sent, err := c.Send(ctx, &client.Message{Topic: "T", Body: []byte("hello")})
//	got, err := c.Pull(ctx, client.PullRequest{Topic: "T", Queue: sent.Queue, Group: "G", Offset: sent.QueueOffset})
//
// Answers that are no success come back as *protocol.Error.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"rocketmq-go/compat"
	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting"
	"rocketmq-go/remoting/protocol"
)

// Options of a Client. Only Namesrv is required.
type Options struct {
	Namesrv []string
	// Group is the producer's name, and the client id's beginning.
	Group string
	// Dial opens connections; nil: over TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Dispatcher handles what brokers send, such as notices; nil: it is refused.
	Dispatcher remoting.Dispatcher
	TLS        *tls.Config             // nil: plain
	Sign       func(*protocol.Command) // adds a signature to each request; nil: none
	Timeout    time.Duration           // of a request without its own deadline, default 3 s
	Log        *slog.Logger
}

// Client is safe for concurrent use.
type Client struct {
	o      Options
	remote *remoting.Client
	next   atomic.Uint32 // name server, and queue of the next message

	mu     sync.Mutex
	routes map[string]*protocol.TopicRouteData
}

// defaultTopic is the template of topics that a send makes.
const (
	defaultTopic  = "TBW102"
	defaultQueues = 4
	masterID      = 0
)

// New makes a client.
func New(o Options) *Client {
	if o.Timeout <= 0 {
		o.Timeout = 3 * time.Second
	}
	if o.Group == "" {
		o.Group = "CLIENT_INNER_PRODUCER"
	}
	return &Client{
		o: o,
		remote: remoting.NewClient(remoting.ClientConfig{
			Dial: o.Dial, Dispatcher: o.Dispatcher, TLS: o.TLS, Version: compat.For("").Version,
			Language: protocol.LanguageGo, Log: o.Log,
		}),
		routes: map[string]*protocol.TopicRouteData{},
	}
}

// Close closes the connections.
func (c *Client) Close() error { return c.remote.Close() }

// Queue is one queue of a topic, with the address of the broker that has it.
type Queue struct {
	Broker string // name
	Addr   string
	ID     int32
}

// Call sends a request to an address and returns the answer if it is a success.
func (c *Client) Call(ctx context.Context, addr string, cmd *protocol.Command) (*protocol.Command, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
	}
	if c.o.Sign != nil {
		c.o.Sign(cmd)
	}
	answer, err := c.remote.Call(ctx, addr, cmd)
	if err != nil {
		return nil, err
	}
	if answer.Code != protocol.RespSuccess {
		return answer, &protocol.Error{Code: answer.Code, Remark: answer.Remark.V}
	}
	return answer, nil
}

func command(code int32, h protocol.Header, body []byte) *protocol.Command {
	cmd := &protocol.Command{Code: code, Body: body}
	if h != nil {
		h.AppendFields(&cmd.Fields)
	}
	return cmd
}

// Route asks a name server, each in turn, where a topic is.
func (c *Client) Route(ctx context.Context, topic string) (*protocol.TopicRouteData, error) {
	if len(c.o.Namesrv) == 0 {
		return nil, errors.New("no name server given")
	}
	var err error
	for range c.o.Namesrv {
		addr := c.o.Namesrv[int(c.next.Load())%len(c.o.Namesrv)]
		header := &protocol.GetRouteInfoRequestHeader{
			Topic: protocol.Some(topic), AcceptStandardJsonOnly: protocol.Some(true),
		}
		var answer *protocol.Command
		answer, err = c.Call(ctx, addr, command(protocol.ReqGetRouteinfoByTopic, header, nil))
		if err == nil {
			route := &protocol.TopicRouteData{}
			return route, fastjson.Unmarshal(answer.Body, route)
		}
		var refusal *protocol.Error
		if errors.As(err, &refusal) {
			return nil, err
		}
		c.next.Add(1)
	}
	return nil, err
}

// Queues lists the queues of a topic that have a permission: 2 to write, 4 to read.
func (c *Client) Queues(ctx context.Context, topic string, perm int32) ([]Queue, error) {
	route, err := c.Route(ctx, topic)
	if err != nil {
		return nil, err
	}
	return queues(route, perm), nil
}

func queues(route *protocol.TopicRouteData, perm int32) []Queue {
	var list []Queue
	for _, q := range route.QueueDatas {
		n := q.WriteQueueNums
		if perm&2 == 0 {
			n = q.ReadQueueNums
		}
		addr := masterOf(route, q.BrokerName)
		if q.Perm&perm != perm || addr == "" {
			continue
		}
		for id := range max(n, 0) {
			list = append(list, Queue{q.BrokerName, addr, id})
		}
	}
	return list
}

func masterOf(route *protocol.TopicRouteData, name string) string {
	for i := range route.BrokerDatas {
		if b := &route.BrokerDatas[i]; b.BrokerName == name {
			addr, _ := b.BrokerAddrs.Get(masterID)
			return addr
		}
	}
	return ""
}

// cached is the route of a topic to send to; an unknown topic goes where the template of new topics is.
func (c *Client) cached(ctx context.Context, topic string) (*protocol.TopicRouteData, error) {
	c.mu.Lock()
	route := c.routes[topic]
	c.mu.Unlock()
	if route != nil {
		return route, nil
	}
	route, err := c.Route(ctx, topic)
	var refusal *protocol.Error
	if errors.As(err, &refusal) && refusal.Code == protocol.RespTopicNotExist {
		template, templateErr := c.Route(ctx, defaultTopic)
		if templateErr != nil {
			return nil, err
		}
		for i := range template.QueueDatas {
			template.QueueDatas[i].WriteQueueNums = min(template.QueueDatas[i].WriteQueueNums, defaultQueues)
		}
		return template, nil
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.routes[topic] = route
	c.mu.Unlock()
	return route, nil
}

func (c *Client) forget(topic string) {
	c.mu.Lock()
	delete(c.routes, topic)
	c.mu.Unlock()
}

// pick chooses a queue, each time the next one.
func (c *Client) pick(ctx context.Context, topic string) (Queue, error) {
	route, err := c.cached(ctx, topic)
	if err != nil {
		return Queue{}, err
	}
	list := queues(route, 2)
	if len(list) == 0 {
		c.forget(topic)
		return Queue{}, fmt.Errorf("topic %s has no queue to write to", topic)
	}
	return list[int(c.next.Add(1))%len(list)], nil
}
