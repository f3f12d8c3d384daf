// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package assignment

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"rocketmq-go/compat/fastjson"
	"rocketmq-go/remoting/protocol"
)

const (
	fresh      = 30 * time.Second // how long a route is taken for true, as in Java
	askTimeout = 3 * time.Second
	maxRoutes  = 4096
	maxQueues  = 65536 // of a topic on one broker; no topic of ours has more
	permRead   = 4
)

// Routes knows the queues of topics on all brokers, from the name servers. It is safe for concurrent use.
type Routes struct {
	// Servers are the addresses of the name servers.
	Servers func() []string
	// Call sends a request to one of them.
	Call func(ctx context.Context, addr string, c *protocol.Command) (*protocol.Command, error)
	Now  func() time.Time

	asking singleflight.Group
	mu     sync.Mutex
	routes map[string]route
}

type route struct {
	queues []protocol.MessageQueue
	at     time.Time
}

// errNoRoute tells that the name servers do not know a topic.
var errNoRoute = errors.New("no route")

// Queues are the queues of a topic that may be read; false if no name server knows it. While none can be asked, what was
// known last goes on to hold.
func (r *Routes) Queues(ctx context.Context, topic string) ([]protocol.MessageQueue, bool) {
	r.mu.Lock()
	known, ok := r.routes[topic]
	r.mu.Unlock()
	if ok && r.Now().Sub(known.at) < fresh {
		return known.queues, true
	}
	topic = strings.Clone(topic)
	result := r.asking.DoChan(topic, func() (any, error) { return r.ask(topic) })
	select {
	case a := <-result:
		switch {
		case a.Err == nil:
			return a.Val.([]protocol.MessageQueue), true
		case errors.Is(a.Err, errNoRoute):
			return nil, false
		}
	case <-ctx.Done():
	}
	return known.queues, ok
}

// ask asks one name server after the other and keeps the answer.
func (r *Routes) ask(topic string) ([]protocol.MessageQueue, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	err := errors.New("no name server")
	for _, addr := range r.Servers() {
		var queues []protocol.MessageQueue
		if queues, err = r.askOne(ctx, addr, topic); err == nil {
			r.keep(topic, &route{queues, r.Now()})
			return queues, nil
		}
		if errors.Is(err, errNoRoute) {
			r.keep(topic, nil)
			return nil, err
		}
	}
	return nil, err
}

func (r *Routes) askOne(ctx context.Context, addr, topic string) ([]protocol.MessageQueue, error) {
	cmd := &protocol.Command{Code: protocol.ReqGetRouteinfoByTopic}
	header := protocol.GetRouteInfoRequestHeader{Topic: protocol.Some(topic)}
	header.AppendFields(&cmd.Fields)
	answer, err := r.Call(ctx, addr, cmd)
	if err != nil {
		return nil, err
	}
	switch answer.Code {
	case protocol.RespSuccess:
	case protocol.RespTopicNotExist:
		return nil, errNoRoute
	default:
		return nil, protocol.Errorf(answer.Code, "%s", answer.Remark.V)
	}
	var data protocol.TopicRouteData
	if err := fastjson.Unmarshal(answer.Body, &data); err != nil {
		return nil, err
	}
	var queues []protocol.MessageQueue
	for _, d := range data.QueueDatas {
		if d.Perm&permRead == 0 {
			continue
		}
		for id := range min(max(d.ReadQueueNums, 0), maxQueues) {
			queues = append(queues, protocol.MessageQueue{Topic: topic, BrokerName: d.BrokerName, QueueID: id})
		}
	}
	return queues, nil
}

// keep remembers a route, or with nil forgets it. What is no longer true is dropped when there are many.
func (r *Routes) keep(topic string, to *route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to == nil {
		delete(r.routes, topic)
		return
	}
	if len(r.routes) >= maxRoutes {
		for name, known := range r.routes {
			if r.Now().Sub(known.at) >= fresh {
				delete(r.routes, name)
			}
		}
	}
	if r.routes == nil {
		r.routes = map[string]route{}
	}
	if len(r.routes) < maxRoutes {
		r.routes[topic] = *to
	}
}
